# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags;sources>" -DWORK=<folder> -P check_program.cmake
# Compiles and links one program in one call, and runs it.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${COMPILE} -o ${WORK}/program RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(failed)
  message(FATAL_ERROR "does not compile:\n${text}")
endif()
execute_process(COMMAND ${WORK}/program RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the program ended with ${failed}")
endif()
