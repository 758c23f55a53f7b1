# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags>" -DOUTPUT=<file>.hpp -P precompile_standard.cmake
# Precompiles what the library reads of the standard library: with '-include <file>.hpp' g++ and clang++ take <file>.hpp.gch.
cmake_minimum_required(VERSION 3.22)
set(text "")
foreach(name algorithm array atomic bit chrono climits cmath complex concepts condition_variable cstddef cstdint cstdlib cstring exception functional
             iterator limits list map memory mutex new numeric optional span string system_error thread tuple type_traits utility variant vector)
  string(APPEND text "#include <${name}>\n")
endforeach()
string(APPEND text "#if defined(__x86_64__)\n#include <immintrin.h>\n#endif\n")
file(WRITE ${OUTPUT} "${text}")
execute_process(COMMAND ${COMPILE} -x c++-header ${OUTPUT} -o ${OUTPUT}.gch RESULT_VARIABLE failed ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "the standard library does not compile:\n${said}")
endif()
