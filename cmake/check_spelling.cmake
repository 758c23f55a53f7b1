# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=<repository> -DCODESPELL=<program> -P check_spelling.cmake
# codespell finds no misspelt word. .codespellrc has the words that it takes for such and are not.
cmake_minimum_required(VERSION 3.22)
if(NOT CODESPELL)
  message("SKIPPED: no codespell; on Debian and Ubuntu it is in the package codespell")
  return()
endif()
get_filename_component(ROOT ${ROOT} ABSOLUTE)
get_filename_component(settings ${CMAKE_CURRENT_LIST_DIR}/../.codespellrc ABSOLUTE)
execute_process(COMMAND ${CODESPELL} --config ${settings} --check-hidden . WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE warned)
if(failed)
  message(FATAL_ERROR "misspelt words, or words for the list in .codespellrc:\n${said}${warned}")
endif()
