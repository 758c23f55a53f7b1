# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags>" -DFOLDER=tests/consumers -DNM=<nm> -DWORK=<folder> -P check_extern.cmake
# A unit that declares the engine and a codec external (extern.hpp) must contain no code of them, and the unit that instantiates them must
# contain it.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
foreach(unit unit_without_engine unit_engine)
  execute_process(COMMAND ${COMPILE} -O2 -c ${FOLDER}/${unit}.cpp -o ${WORK}/${unit}.o RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${unit} does not compile:\n${text}")
  endif()
  execute_process(COMMAND ${NM} -C --defined-only ${WORK}/${unit}.o OUTPUT_VARIABLE symbols)
  foreach(piece "executor<float[^\n]*::begin_step" "begin_plain" "Codec::SZp, float[^\n]*encode_add" "detail::szp::[a-z_]*encode")
    string(REGEX MATCH "${piece}" found "${symbols}")
    if(unit STREQUAL unit_engine AND NOT found)
      message(FATAL_ERROR "${unit} does not define ${piece}")
    elseif(unit STREQUAL unit_without_engine AND found)
      message(FATAL_ERROR "${unit} defines ${piece}, although another unit has it")
    endif()
  endforeach()
endforeach()
