# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags>" -DSOURCE=<file> -DCASE=<n> -P expect_error.cmake
# Case 0 is the control and must compile. Every other case must fail with the sentence after its '// expect: ', and with no other error,
# because a user who made one mistake should read one sentence.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${COMPILE} -DCCOLL_CASE=${CASE} ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(CASE EQUAL 0)
  if(failed)
    message(FATAL_ERROR "the control does not compile:\n${text}")
  endif()
  return()
endif()
file(STRINGS ${SOURCE} line REGEX "CCOLL_CASE == ${CASE} +// expect: ")
if(NOT line MATCHES "// expect: (.+)$")
  message(FATAL_ERROR "case ${CASE} of ${SOURCE} has no '// expect: <sentence>' on its line")
endif()
string(REPLACE "\\;" ";" sentence "${CMAKE_MATCH_1}")  # file(STRINGS) escapes it
string(STRIP "${sentence}" sentence)
string(FIND "${text}" "${sentence}" at)
string(REGEX MATCHALL "error: |error #[0-9-]+" errors "${text}")
list(LENGTH errors count)
if(NOT failed)
  message(FATAL_ERROR "compiles, but should fail with '${sentence}'")
elseif(at LESS 0)
  message(FATAL_ERROR "should say '${sentence}', says:\n${text}")
elseif(NOT count EQUAL 1)
  message(FATAL_ERROR "should give one error, gives ${count}:\n${text}")
endif()
