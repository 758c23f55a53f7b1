# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DPROGRAM=<Catch2 program> [-DEMULATOR=<command;options>] -DLIST=<its option> -DSTRICT=<option> -DPREFIX=<of the names> -DLABEL=<area> -DSECONDS=<limit> [-DENVIRONMENT=<NAME=value;...>] -DOUTPUT=<file> -P discover_cases.cmake
# Writes one add_test per TEST_CASE. Catch2's own helper splits names at semicolons, but names here are sentences that may contain them.
cmake_minimum_required(VERSION 3.22)
file(REMOVE ${OUTPUT})
# The exit code is not checked, because with Catch2 version 2 it is the number of cases.
execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ENVIRONMENT} ${EMULATOR} ${PROGRAM} ${LIST} OUTPUT_FILE ${OUTPUT}.list ERROR_VARIABLE errors TIMEOUT 60)
if(NOT "${errors}" STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} does not list its cases:\n${errors}")
endif()
file(STRINGS ${OUTPUT}.list names)
set(text "")
string(REPLACE ";" " " emulator "${EMULATOR}")
string(REPLACE ";" " " strict "${STRICT}")  # if no case has this name any more, the test fails
set(environment "")
if(ENVIRONMENT)
  set(environment " ENVIRONMENT [==[${ENVIRONMENT}]==]")
endif()
foreach(name IN LISTS names)
  string(REGEX REPLACE "([][\\,*\"~])" "\\\\\\1" pattern "${name}")
  string(APPEND text "add_test([==[${PREFIX}: ${name}]==] ${emulator} [==[${PROGRAM}]==] [==[${pattern}]==] ${strict})\n"
                     "set_tests_properties([==[${PREFIX}: ${name}]==] PROPERTIES TIMEOUT ${SECONDS} LABELS ${LABEL}${environment})\n")
endforeach()
if(text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no test case")
endif()
file(WRITE ${OUTPUT} "${text}")
