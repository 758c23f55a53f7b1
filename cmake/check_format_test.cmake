# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=<repository> -DCLANG_FORMAT=<program> -DWORK=<folder> -P check_format_test.cmake
# A file that is not formatted is refused by its name, and passes once it has been formatted.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/include)
configure_file(${ROOT}/.clang-format ${WORK}/.clang-format COPYONLY)
# checked(<-DWRITE=...>): sets `refused` and `said`
macro(checked)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} "-DCLANG_FORMAT=${CLANG_FORMAT}" ${ARGN} -P ${CMAKE_CURRENT_LIST_DIR}/check_format.cmake
                  RESULT_VARIABLE refused ERROR_VARIABLE said)
endmacro()
file(WRITE ${WORK}/include/a.hpp "int good();\n")
file(WRITE ${WORK}/include/b.hpp "int  bad( );\n")
checked()
if(said MATCHES "SKIPPED")
  message("${said}")
  return()
endif()
if(NOT refused OR NOT said MATCHES "include/b.hpp:1" OR said MATCHES "a.hpp")
  message(FATAL_ERROR "should name include/b.hpp and nothing else, says:\n${said}")
endif()
checked(-DWRITE=ON)
checked()
file(READ ${WORK}/include/b.hpp text)
if(refused OR NOT text STREQUAL "int bad();\n")
  message(FATAL_ERROR "is not formatted by -DWRITE=ON: ${text}\n${said}")
endif()
