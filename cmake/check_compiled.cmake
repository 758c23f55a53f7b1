# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake "-DCOMPILE=<compiler;flags>" -DSOURCE=tests/consumers/compiled.cpp "-DLIBRARIES=<a|...>" -DNM=<nm> -DWORK=<folder> -P check_compiled.cmake
# A unit that is compiled for ccoll::compiled contains no code of engine and codecs. The libraries of that target do, or else this test could
# not fail.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${WORK})
string(REPLACE "|" ";" LIBRARIES "${LIBRARIES}")
execute_process(COMMAND ${COMPILE} -DCCOLL_COMPILED -c ${SOURCE} -o ${WORK}/unit.o RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(failed)
  message(FATAL_ERROR "does not compile with ccoll::compiled:\n${text}")
endif()
execute_process(COMMAND ${NM} -C --defined-only ${WORK}/unit.o OUTPUT_VARIABLE in_unit)
execute_process(COMMAND ${NM} -C --defined-only ${LIBRARIES} OUTPUT_VARIABLE in_libraries)
foreach(piece "executor<float[^\n]*::begin_step" "begin_plain" "p2p_call<float[^\n]*::advance" "detail::szp::encode" "detail::zfp::" "detail::sze::")
  if(NOT in_libraries MATCHES "${piece}")
    message(FATAL_ERROR "${piece} is not even in the libraries of ccoll::compiled: this test cannot fail")
  elseif(in_unit MATCHES "${piece}")
    message(FATAL_ERROR "a unit with ccoll::compiled defines ${piece}")
  endif()
endforeach()
