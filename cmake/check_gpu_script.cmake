# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=<source> -DBASH=<bash> "-DSOURCES=<a|...: what it must build, relative to ROOT>" -DWORK=<folder> -P check_gpu_script.cmake
# ONLY=build tests/gpu.sh builds these sources, header-only, and says whether that went well. What stands in for nvcc writes down how it was
# called; cmake/cuda_tests.cmake has the real one compile the same sources.
cmake_minimum_required(VERSION 3.22)
string(REPLACE "|" ";" SOURCES "${SOURCES}")
# gpu_script(<exit code of the compiler>): sets `failed`, `said` and `calls`
function(gpu_script code)
  file(REMOVE_RECURSE ${WORK})
  file(MAKE_DIRECTORY ${WORK})
  file(WRITE ${WORK}/nvcc "#!/bin/sh\necho \"$*\" >> '${WORK}/calls'\ncase $* in *probe*) exit 0 ;; esac\nexit ${code}\n")
  file(CHMOD ${WORK}/nvcc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env NVCC=${WORK}/nvcc ARCH=sm_90 ONLY=build WORK=${WORK}/gpu ${BASH} ${ROOT}/tests/gpu.sh
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  file(READ ${WORK}/calls calls)
  foreach(name failed said calls)
    set(${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

gpu_script(1)
if(NOT failed OR NOT said MATCHES "gpu.sh: SOMETHING FAILED\n$")
  message(FATAL_ERROR "nothing compiles, and gpu.sh ends with ${failed}:\n${said}")
endif()
gpu_script(0)
if(failed OR NOT said MATCHES "gpu.sh: nothing failed\n$")
  message(FATAL_ERROR "everything compiles, and gpu.sh ends with ${failed}:\n${said}")
endif()
if(calls MATCHES "CCOLL_COMPILED")
  message(FATAL_ERROR "gpu.sh hides the kernels of the host from nvcc:\n${calls}")
endif()
string(REGEX MATCHALL "${ROOT}/[^ ]+[.]cu" built "${calls}")
list(FILTER built EXCLUDE REGEX "probe")
list(TRANSFORM built REPLACE "^${ROOT}/" "")
list(SORT built)
list(SORT SOURCES)
if(NOT built STREQUAL SOURCES)
  message(FATAL_ERROR "gpu.sh builds\n${built}\nand not\n${SOURCES}")
endif()
