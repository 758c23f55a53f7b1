# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags of C++17>" "-DHEADERS=<headers>" -DWORK=<folder> -P check_standard.cmake
# A program that includes any of these headers and is compiled as C++17 must get the sentence, and then nothing but the stop behind it.
cmake_minimum_required(VERSION 3.22)
foreach(header ${HEADERS})
  file(WRITE ${WORK}/old.cpp "#include <${header}>\n")
  execute_process(COMMAND ${COMPILE} ${WORK}/old.cpp RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX MATCHALL "error: " errors "${text}")
  list(LENGTH errors count)
  if(NOT failed OR NOT text MATCHES "error: .*ccoll: this file is compiled as an older C\\+\\+ than C\\+\\+20" OR count GREATER 2)
    message(FATAL_ERROR "${header} as C++17 should give one sentence and a stop, gives ${count} errors:\n${text}")
  endif()
endforeach()
