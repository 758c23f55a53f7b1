# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DWAY=<find_package|cuda|add_subdirectory|fetch_content> -DROOT=<source> -DBUILD=<build tree> -DWORK=<folder> -DCXX=<compiler>
#       -DGENERATOR=<generator> [-DNVCC=<nvcc>] -P check_consumer.cmake
# Another project uses the library in the given way, builds a program and runs it. With find_package it uses an installation, which must
# contain every header, and further projects find that one: their makefiles are made and not used. The program of cuda is not run.
cmake_minimum_required(VERSION 3.22)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
endfunction()
file(REMOVE_RECURSE ${WORK})
set(where -DCCOLL_SOURCE=${ROOT})
if(WAY MATCHES "find_package|cuda")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(where -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  file(GLOB_RECURSE ours RELATIVE ${ROOT}/include ${ROOT}/include/*)
  list(FILTER ours EXCLUDE REGEX "README.md$")  # they are for readers of the source
  file(GLOB_RECURSE theirs RELATIVE ${WORK}/prefix/include ${WORK}/prefix/include/*)
  if(NOT ours STREQUAL theirs)
    message(FATAL_ERROR "the installed headers are not those of the source tree:\n${theirs}\ninstead of\n${ours}")
  endif()
endif()
# configure(<folder of tests/consumers> <build tree> [-D...])
function(configure project tree)
  run(${CMAKE_COMMAND} -S ${ROOT}/tests/consumers/${project} -B ${WORK}/${tree} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
      -DCMAKE_BUILD_TYPE=Plain -DCMAKE_CXX_FLAGS=-DCCOLL_LESS_OPTIMISED ${where} ${ARGN})
endfunction()
if(WAY STREQUAL cuda)
  # What a program does not notice but the test's clock: device code is not optimised, and left as PTX.
  configure(cuda build -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_ARCHITECTURES=90-virtual "-DCMAKE_CUDA_FLAGS=-Xcicc -O0 -Xcompiler -Werror")
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  return()
endif()
configure(${WAY} build)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/sum)
if(WAY STREQUAL find_package)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target compiled)
  configure(no_language no_language)
  configure(no_language later -DLATER=ON)
  configure(of_library of_library -DCALLING=${WORK}/build/calling.cmake)
endif()
