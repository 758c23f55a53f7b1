# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DWAY=<find_package|add_subdirectory|fetch_content> -DROOT=<source> -DBUILD=<build tree> -DWORK=<folder> -DCXX=<compiler>
#       -DGENERATOR=<generator> -P check_consumer.cmake
# Another project uses the library in the given way, builds a program and runs it. With find_package it uses an installation, which must
# contain every header.
cmake_minimum_required(VERSION 3.22)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${text}")
  endif()
endfunction()
file(REMOVE_RECURSE ${WORK})
set(where -DCCOLL_SOURCE=${ROOT})
if(WAY STREQUAL find_package)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(where -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  file(GLOB_RECURSE ours RELATIVE ${ROOT}/include ${ROOT}/include/*)
  file(GLOB_RECURSE theirs RELATIVE ${WORK}/prefix/include ${WORK}/prefix/include/*)
  if(NOT ours STREQUAL theirs)
    message(FATAL_ERROR "the installed headers are not those of the source tree:\n${theirs}\ninstead of\n${ours}")
  endif()
endif()
run(${CMAKE_COMMAND} -S ${ROOT}/tests/consumers/${WAY} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Plain
    -DCMAKE_CXX_FLAGS=-DCCOLL_LESS_OPTIMISED ${where})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/sum)
if(WAY STREQUAL find_package)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target compiled)
endif()
