# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=<repository> -P check_public_names.cmake
# tests/public_names.txt has every name that the headers declare for users (public_names.py), so that a new one is seen in a diff.
# With -DWRITE=ON the list is written instead.
cmake_minimum_required(VERSION 3.22)
get_filename_component(ROOT ${ROOT} ABSOLUTE)
find_program(PYTHON python3)
if(NOT PYTHON)
  message("SKIPPED: no Python 3")
  return()
endif()
set(how "")
if(WRITE)
  set(how --write)
endif()
execute_process(COMMAND ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/public_names.py ${ROOT}/include ${ROOT}/tests/public_names.txt ${how}
                RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE fault)
if(failed)
  message(FATAL_ERROR "${fault}\nA name that users need not know belongs into a namespace detail. If the change is meant:\n"
                      "  cmake -DROOT=. -DWRITE=ON -P cmake/check_public_names.cmake\n")
endif()
string(STRIP "${said}" said)
if(said)
  message(STATUS "${said}")
endif()
