# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzz targets. They are built only if the compiler is a clang with a working libFuzzer. As tests they run for a short time. Runs are never
# quite the same, because libFuzzer also learns from addresses. To run one for hours:
#   build/asan/tests/fuzz_<target> -max_total_time=36000 build/asan/tests/fuzz/<target>
# The codecs are those that the unit tests of this tree link: watched by the sanitizers, and by the fuzzer. Comparisons are not traced: that
# would halve the speed, of unit tests as well, so inputs are twice as many instead.
set(fuzzed "")
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT CCOLL_TEST_SANITIZE MATCHES "address")
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

set(fuzzed -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)

add_library(ccoll_fuzz INTERFACE)
target_link_libraries(ccoll_fuzz INTERFACE ccoll_test ccoll_compiled_szp ccoll_compiled_codecs)
target_compile_definitions(ccoll_fuzz INTERFACE CCOLL_NO_MPI)
target_compile_options(ccoll_fuzz INTERFACE -O1 -fsanitize=${CCOLL_TEST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)

add_executable(fuzz_seeds ${here}/fuzz/seeds.cpp)
target_link_libraries(fuzz_seeds PRIVATE ccoll_fuzz)
target_link_options(fuzz_seeds PRIVATE -fsanitize=${CCOLL_TEST_SANITIZE})
set(corpus ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
add_test(NAME fuzz/seeds COMMAND fuzz_seeds ${corpus})
set_tests_properties(fuzz/seeds PROPERTIES TIMEOUT 300 LABELS fuzz FIXTURES_SETUP fuzz_corpus)
set(targets fuzz_seeds)

foreach(target decode reduce_encoded encode messages texts)
  add_executable(fuzz_${target} ${here}/fuzz/${target}.cpp)
  target_link_libraries(fuzz_${target} PRIVATE ccoll_fuzz)
  target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(fuzz_${target} PRIVATE ${fuzz_flags})
  # -timeout is the limit for one input in seconds; an input takes milliseconds. Inputs that fail are written next to the corpus.
  add_test(NAME fuzz/${target}
           COMMAND fuzz_${target} -runs=10000 -seed=1 -max_len=20000 -timeout=20 -rss_limit_mb=4096 -artifact_prefix=${corpus}/${target}_fails_on_ ${corpus}/${target})
  set_tests_properties(fuzz/${target} PROPERTIES TIMEOUT 300 COST 60 LABELS fuzz FIXTURES_REQUIRED fuzz_corpus)
  list(APPEND targets fuzz_${target})
endforeach()
add_area(fuzz ${targets})
