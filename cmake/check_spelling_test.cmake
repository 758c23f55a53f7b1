# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DCODESPELL=<program> -DWORK=<folder> -P check_spelling_test.cmake
# A misspelt word is found by file and line; British and American words, and what .codespellrc lists, are not.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
# checked(): sets `refused` and `said`
macro(checked)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} "-DCODESPELL=${CODESPELL}" -P ${CMAKE_CURRENT_LIST_DIR}/check_spelling.cmake
                  RESULT_VARIABLE refused ERROR_VARIABLE said)
endmacro()
file(WRITE ${WORK}/docs/good.md "Quantised colours, quantized colors; `allreduce(inout)` goes to and fro.\n")
checked()
if(said MATCHES "SKIPPED")
  message("${said}")
  return()
endif()
if(refused)
  message(FATAL_ERROR "refuses what is right:\n${said}")
endif()
string(CONCAT word "reci" "eved")  # in one piece, it would be found here
file(WRITE ${WORK}/.github/bad.yml "a: b\nc: what was ${word}\n")
checked()
if(NOT refused OR NOT said MATCHES "bad.yml:2: ${word}" OR said MATCHES "good.md")
  message(FATAL_ERROR "should find '${word}' in bad.yml and nothing else, says:\n${said}")
endif()
