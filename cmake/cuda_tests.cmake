# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Device tests. nvcc is called directly, for two reasons: a project that does not enable CUDA as a language can be configured everywhere, and
# CMake 3.25 does not know about C++20 in nvcc. Running a program needs a GPU; without one, the test is that it builds. Programs are built as
# users and tests/gpu.sh do, without what ccoll::compiled defines: nvcc has to read the kernels of the host, too.
# add_nvcc_program(<target> <source> [flags...])
function(add_nvcc_program target source)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${target}.out)  # not the target's name: Ninja takes both for one thing
  add_custom_command(OUTPUT ${program} VERBATIM DEPENDS ${source} DEPFILE ${program}.d COMMENT "Building CUDA program ${target}"
    COMMAND ${nvcc} -std=c++20 ${optimise} ${last_step} -I${include} -I${here} -MD -MF ${program}.d -MT ${program} ${ARGN} ${source} -o ${program})
  add_custom_target(${target} ALL DEPENDS ${program})
endfunction()

find_program(CCOLL_NVIDIA_SMI nvidia-smi)
mark_as_advanced(CCOLL_NVIDIA_SMI)
set(gpus "")
if(CCOLL_NVIDIA_SMI)
  execute_process(COMMAND ${CCOLL_NVIDIA_SMI} -L OUTPUT_VARIABLE gpus ERROR_QUIET)
endif()
set(arch -gencode=arch=compute_90,code=compute_90 -Xcicc -O0)  # half the time to compile what is not going to run
set(optimise -O0)
set(last_step -cuda)  # all that nvcc itself does: what its front end makes for g++ is not compiled and linked
if(gpus MATCHES "GPU 0")
  set(arch -arch=native)
  set(optimise -O2)
  set(last_step "")
endif()
file(GLOB programs CONFIGURE_DEPENDS RELATIVE ${here}/cuda ${here}/cuda/*.cu)
foreach(file ${programs})
  get_filename_component(subject ${file} NAME_WE)
  add_nvcc_program(cuda_${subject} ${here}/cuda/${file} -DCCOLL_NO_MPI ${arch})
  list(APPEND nvcc_programs cuda_${subject})
  if(gpus MATCHES "GPU 0")
    add_test(NAME cuda/${subject} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/cuda_${subject}.out)
    set_tests_properties(cuda/${subject} PROPERTIES TIMEOUT 300 LABELS nvcc RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  else()
    add_test(NAME cuda/${subject}/builds COMMAND ${CMAKE_COMMAND} -E md5sum ${CMAKE_CURRENT_BINARY_DIR}/cuda_${subject}.out)
    set_tests_properties(cuda/${subject}/builds PROPERTIES TIMEOUT 10 LABELS nvcc)
  endif()
endforeach()

# What else tests/gpu.sh builds, and runs where there is a GPU.
file(GLOB benchmarks CONFIGURE_DEPENDS RELATIVE ${here}/cuda/benchmark ${here}/cuda/benchmark/*.cu)
foreach(file ${benchmarks})
  get_filename_component(subject ${file} NAME_WE)
  add_nvcc_program(cuda_benchmark_${subject} ${here}/cuda/benchmark/${file} -DCCOLL_NO_MPI ${arch})
  list(APPEND nvcc_programs cuda_benchmark_${subject})
endforeach()
add_area(nvcc ${nvcc_programs})
add_area(registers)

add_test(NAME "cuda/older devices are refused with a sentence" COMMAND ${nvcc} -std=c++20 -arch=sm_75 -I${include} -I${here} -ptx
  ${here}/cuda/kernels/messages.cu -o ${CMAKE_CURRENT_BINARY_DIR}/older.ptx)
set_tests_properties("cuda/older devices are refused with a sentence" PROPERTIES TIMEOUT 60 LABELS nvcc
  PASS_REGULAR_EXPRESSION "ccoll: kernels need a device of compute capability 8.0 or later")

# Registers and spills of the kernels; their data are in tests/cuda/kernels. Only those of SZp are compared on all architectures, because a
# change that costs registers on one does so on the others, too.
foreach(codec szp szx zfp half bfloat16 messages)
  set(architectures 80 90 100)
  if(NOT codec STREQUAL szp)
    set(architectures 90)
  endif()
  add_test(NAME cuda/registers/${codec} COMMAND ${CMAKE_COMMAND} -DNVCC=${nvcc} -DINCLUDE=${include} -DSOURCE=${here}/cuda/kernels/${codec}.cu
    -DEXPECTED=${here}/cuda/kernels/${codec}_registers.txt "-DARCHITECTURES=${architectures}" -DWORK=${CMAKE_CURRENT_BINARY_DIR}/${codec}_registers
    -P ${root}/cmake/check_registers.cmake)
  set_tests_properties(cuda/registers/${codec} PROPERTIES TIMEOUT 600 LABELS registers)
endforeach()
