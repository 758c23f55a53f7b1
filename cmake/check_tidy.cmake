# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DCLANG_TIDY=<program> -DSOURCE=<file> "-DCOMPILE=<flags>" -P check_tidy.cmake
# clang-tidy finds nothing in the headers that SOURCE includes. .clang-tidy has the checks.
cmake_minimum_required(VERSION 3.22)
if(NOT CLANG_TIDY)
  message("SKIPPED: no clang-tidy-19; on Debian and Ubuntu it is in the package clang-tidy-19")
  return()
endif()
get_filename_component(settings ${CMAKE_CURRENT_LIST_DIR}/../.clang-tidy ABSOLUTE)
execute_process(COMMAND ${CLANG_TIDY} --quiet --config-file=${settings} ${SOURCE} -- ${COMPILE} -DCCOLL_SHOW_WARNINGS
                RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE warned)
if(failed)
  message(FATAL_ERROR "clang-tidy finds:\n${said}${warned}\nMend it, or say in .clang-tidy why the check does not fit.")
endif()
