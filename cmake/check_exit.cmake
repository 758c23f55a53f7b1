# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMMAND=<program;arguments>" -DCODE=<exit code> -DSAYS=<text> -P check_exit.cmake
# Runs a program that must end with this exit code, and say this once, in a line of its own.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
string(REPLACE "\n" ";" lines "${text}")
list(FILTER lines INCLUDE REGEX "^${SAYS}")
list(LENGTH lines count)
if(NOT code EQUAL CODE OR NOT count EQUAL 1)
  message(FATAL_ERROR "exit code ${code} instead of ${CODE}, or not once '${SAYS}':\n${text}")
endif()
