# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DCLANG_TIDY=<program> -DWORK=<folder> -P check_tidy_test.cmake
# A fault in a header is found by its line and its check, and a header without one passes.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/a.cpp "#include <ccoll/a.hpp>\n")
# checked(<text of the header>): sets `refused` and `said`
macro(checked text)
  file(WRITE ${WORK}/include/ccoll/a.hpp "#pragma once\nstruct base {\n    virtual int f(int x);\n    virtual ~base() = default;\n};\n${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} "-DCLANG_TIDY=${CLANG_TIDY}" -DSOURCE=${WORK}/a.cpp "-DCOMPILE=-std=c++20;-I${WORK}/include"
                          -P ${CMAKE_CURRENT_LIST_DIR}/check_tidy.cmake RESULT_VARIABLE refused ERROR_VARIABLE said)
endmacro()
checked("struct derived : base {\n    int f(int x) override { return x != 0 ? x : 1; }\n};\n")
if(said MATCHES "SKIPPED")
  message("${said}")
  return()
endif()
if(refused)
  message(FATAL_ERROR "refuses a header without a fault:\n${said}")
endif()
checked("struct derived : base {\n    int f(int x) { return x; }\n};\n")
if(NOT refused OR NOT said MATCHES "a.hpp:7:.*modernize-use-override")
  message(FATAL_ERROR "should find that 'override' is missing in line 7, says:\n${said}")
endif()
checked("inline int g(int x)\n{\n    if (x > 0);\n    return x;\n}\n")
if(NOT refused OR NOT said MATCHES "a.hpp:8:.*bugprone-suspicious-semicolon")
  message(FATAL_ERROR "should find the semicolon in line 8, says:\n${said}")
endif()
