# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzz targets. They are built only if the compiler is a clang with a working libFuzzer. As tests they run for a short time. Runs are never
# quite the same, because libFuzzer also learns from addresses. To run one for hours:
#   build/clang/tests/fuzz_<target> -max_total_time=36000 build/clang/tests/fuzz/<target>
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR CCOLL_TEST_SANITIZE)
  return()
endif()
set(fuzz_flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
if(NOT DEFINED CCOLL_FUZZER_RUNS)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_probe)
  file(WRITE ${probe}/probe.cpp "#include <cstddef>\n#include <cstdint>\nextern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }\n")
  try_run(runs compiles ${probe} ${probe}/probe.cpp COMPILE_DEFINITIONS ${fuzz_flags} LINK_OPTIONS ${fuzz_flags} ARGS -runs=1)
  if(compiles AND runs EQUAL 0)
    set(works TRUE)
  else()
    set(works FALSE)
    message(STATUS "ccoll: no fuzz tests, because this clang has no working libFuzzer")
  endif()
  set(CCOLL_FUZZER_RUNS ${works} CACHE INTERNAL "clang's libFuzzer works")
  unset(runs CACHE)
  unset(compiles CACHE)
endif()
if(NOT CCOLL_FUZZER_RUNS)
  return()
endif()

add_executable(fuzz_seeds ${here}/fuzz/seeds.cpp)
target_link_libraries(fuzz_seeds PRIVATE ccoll_test)
target_compile_definitions(fuzz_seeds PRIVATE CCOLL_NO_MPI)
target_compile_options(fuzz_seeds PRIVATE -O0 "SHELL:-include ${here}/coders_once.hpp")
target_link_libraries(fuzz_seeds PRIVATE ccoll_coders_once)
set(corpus ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
add_test(NAME fuzz/seeds COMMAND fuzz_seeds ${corpus})
set_tests_properties(fuzz/seeds PROPERTIES TIMEOUT 300 LABELS fuzz FIXTURES_SETUP fuzz_corpus)

add_library(ccoll_fuzz INTERFACE)
target_link_libraries(ccoll_fuzz INTERFACE ccoll_test)
target_compile_definitions(ccoll_fuzz INTERFACE CCOLL_NO_MPI)
target_compile_options(ccoll_fuzz INTERFACE ${fuzz_flags} -fno-omit-frame-pointer -g1)
target_link_options(ccoll_fuzz INTERFACE ${fuzz_flags})
# The coders, optimised and instrumented. The targets themselves are short, and not optimised.
add_library(ccoll_fuzz_coders OBJECT ${here}/coders_once_f32.cpp ${here}/coders_once_f64.cpp)
target_link_libraries(ccoll_fuzz_coders PRIVATE ccoll_fuzz)

foreach(target decode reduce_encoded encode)
  add_executable(fuzz_${target} ${here}/fuzz/${target}.cpp)
  target_link_libraries(fuzz_${target} PRIVATE ccoll_fuzz ccoll_fuzz_coders)
  target_compile_options(fuzz_${target} PRIVATE -O0 "SHELL:-include ${here}/coders_once.hpp")
  # -timeout is the limit for one input in seconds; an input takes milliseconds. Inputs that fail are written next to the corpus.
  add_test(NAME fuzz/${target}
           COMMAND fuzz_${target} -runs=20000 -seed=1 -max_len=20000 -timeout=20 -rss_limit_mb=4096 -artifact_prefix=${corpus}/${target}_fails_on_ ${corpus}/${target})
  set_tests_properties(fuzz/${target} PROPERTIES TIMEOUT 300 LABELS fuzz FIXTURES_REQUIRED fuzz_corpus)
endforeach()
