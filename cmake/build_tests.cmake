# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every way to build that a page names, and flags that users have. What stands elsewhere: floating-point flags and sanitizers, CMake, packages
# and several units of one program (consumers in structure_tests.cmake), programs with device buffers (cuda_tests.cmake).
#
# Most of it is a compiler's front end on tests/consumers/everything.cpp, 4 to 6 s of one core each. nvcc takes 18 s for that or an example,
# and a minute for the project in CMake.
add_area(builds)
set(everything -Wall -Wextra -Werror -I${include} -DCCOLL_NO_MPI ${here}/consumers/everything.cpp)

# ---- flags of users: the list ----
set(user_flags_none "")
set(user_flags_debug_mode -D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC)
set(user_flags_newer_standard -std=c++2b -D_GLIBCXX_ASSERTIONS -fvisibility=hidden -fvisibility-inlines-hidden)
set(user_flags_less -fno-exceptions -fno-rtti -DCCOLL_NO_AVX512)
set(user_flags_this_machine -march=native -Wno-unknown-warning-option -Wno-invalid-feature-combination)  # clang 19 warns of its own expansion
# What else users ask compilers to warn of, for files that read ccoll's headers with -I.
set(user_flags_warnings -Wconversion -Wshadow -Weffc++ -Wfloat-equal -Wswitch-enum -Wold-style-cast -Wundef -Wcast-align)
set(more_warnings_g++ -Wcast-align=strict -Wuseless-cast -Wnull-dereference)
foreach(compiler ${compilers})
  set(lists warnings debug_mode newer_standard less this_machine)
  if(compiler STREQUAL older_clang)
    set(lists none)
  endif()
  foreach(flags ${lists})
    set(COMPILE ${compiler_${compiler}} -std=c++20 ${user_flags_${flags}} ${more_${flags}_${compiler}} ${everything})
    structure_test(builds/${compiler}/${flags} 120 check_program.cmake -DWORK=${work}/${compiler}-${flags} -DRUN=OFF)
  endforeach()
endforeach()

# One program with such flags is built and run. Optimisation at link time, with another compiler than in consumers/g++/two_units.
set(compiler ${first_compiler})
consumer(debug_mode_no_avx512 -O1 -D_GLIBCXX_DEBUG -fvisibility=hidden -DCCOLL_NO_AVX512 ${consumers}/sum.cpp)
find_program(CCOLL_LLD_14 ld.lld-14)
mark_as_advanced(CCOLL_LLD_14)
if("clang++-14" IN_LIST compilers AND CCOLL_LLD_14)  # a linker reads no code of a newer compiler
  set(compiler clang++-14)
  consumer(link_time_optimisation -O1 -flto -fuse-ld=lld-14 -Wno-unused-command-line-argument -fvisibility=hidden ${consumers}/unit_a.cpp ${consumers}/unit_b.cpp)
endif()
set(COMPILE "")

# ---- commands on pages ----
# command(<name> <page> <command> <word>|<word in its place>...)
function(command name page text)
  list(JOIN ARGN "|" instead)
  structure_test(builds/${name} 300 check_command.cmake -DPAGE=${root}/${page} "-DCOMMAND=${text}" "-DINSTEAD=${instead}" -DWORK=${work}/${name})
endfunction()
if(mpis)
  command(README.md README.md "mpicxx -std=c++20 -O2 -I /path/to/ccoll/include program.cpp" "mpicxx|${CCOLL_MPICXX_${first_mpi}} -DCCOLL_LESS_OPTIMISED"
          "/path/to/ccoll/include|${include}" "program.cpp|${root}/examples/hello_allreduce.cpp")
  list(GET mpis -1 last_mpi)
  command(hello_allreduce examples/hello_allreduce.cpp "mpicxx -std=c++20 -O2 -I include examples/hello_allreduce.cpp -o hello"
          "mpicxx|${CCOLL_MPICXX_${last_mpi}} -fsyntax-only" "include|${include}" "examples/hello_allreduce.cpp|${root}/examples/hello_allreduce.cpp")
endif()
command(error_feedback examples/error_feedback.cpp "g++ -std=c++20 -O2 -pthread -DCCOLL_NO_MPI -I include examples/error_feedback.cpp -o error_feedback"
        "g++|${CMAKE_CXX_COMPILER} -fsyntax-only" "include|${include}" "examples/error_feedback.cpp|${root}/examples/error_feedback.cpp")
if(NOT nvcc)
  return()
endif()

# ---- nvcc ----
# Its front ends only: -cuda ends where g++ would begin. Device code is not optimised.
set(front_ends ${nvcc} -cuda -Xcicc -O0)
set(flags --expt-relaxed-constexpr --extended-lambda)
set(COMPILE ${front_ends} -std=c++20 -arch=sm_90 ${flags} -DCCOLL_SHOW_WARNINGS -Werror all-warnings -x cu -I${include} -DCCOLL_NO_MPI
            ${here}/consumers/everything.cpp)
structure_test(builds/nvcc/everything 300 check_program.cmake -DWORK=${work}/nvcc-everything -DLINKS=OFF)
# Registers are counted, so device code is optimised.
set(COMPILE ${nvcc} -cuda -std=c++20 -O2 -arch=sm_90 -rdc=true ${flags} -I${include} -DCCOLL_NO_MPI ${here}/consumers/separable.cu)
structure_test(builds/nvcc/separable 300 check_program.cmake -DWORK=${work}/nvcc-separable -DLINKS=OFF)
set(COMPILE "")
list(JOIN front_ends " " instead_of_nvcc)
set(example "-I include examples/cuda_allreduce.cu -o cuda_allreduce")
set(here_and_now "nvcc|${instead_of_nvcc}" "-arch=native|-arch=sm_90" "include|${include}" "examples/cuda_allreduce.cu|${root}/examples/cuda_allreduce.cu")
command(nvcc/example_threads examples/cuda_allreduce.cu "nvcc -std=c++20 -O2 -arch=native -DCCOLL_NO_MPI ${example}" ${here_and_now})
if(mpis)
  command(nvcc/example_mpi examples/cuda_allreduce.cu "nvcc -std=c++20 -O2 -arch=native -ccbin mpicxx ${example}" ${here_and_now}
          "mpicxx|${CCOLL_MPICXX_${first_mpi}}")
endif()
if(mpis)
  structure_test(consumers/cuda 600 check_consumer.cmake -DWAY=cuda -DROOT=${root} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${work}/with_cuda
                 -DCXX=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR} -DNVCC=${nvcc})
endif()
if(CCOLL_BASH)
  file(GLOB sources RELATIVE ${root} ${here}/cuda/*.cu ${here}/cuda/benchmark/*.cu)
  list(APPEND sources examples/cuda_allreduce.cu)
  list(JOIN sources "|" sources)
  structure_test(builds/gpu.sh 60 check_gpu_script.cmake -DROOT=${root} -DBASH=${CCOLL_BASH} "-DSOURCES=${sources}" -DWORK=${work}/gpu.sh)
endif()
