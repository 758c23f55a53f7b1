# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Unit tests: a program per file of tests/<folder>, one ctest per TEST_CASE. What the files share of the library is linked (ccoll::compiled),
# and what they all read is precompiled once.

include(CheckCXXSourceRuns)
check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx512f\") ? 0 : 1; }" CCOLL_HAS_AVX512)

# ---- Catch2 ----
find_package(Catch2 QUIET)
if(Catch2_FOUND)
  target_link_libraries(ccoll_test INTERFACE Catch2::Catch2)
else()
  find_path(CCOLL_CATCH2_INCLUDE catch2/catch.hpp)
  if(NOT CCOLL_CATCH2_INCLUDE)
    message(FATAL_ERROR "ccoll: the tests need Catch2 (Debian and Ubuntu: catch2); or configure with -DCCOLL_BUILD_TESTS=OFF")
  endif()
  set(Catch2_VERSION 2)
  target_include_directories(ccoll_test SYSTEM INTERFACE ${CCOLL_CATCH2_INCLUDE})
endif()
if(Catch2_VERSION VERSION_LESS 3)
  set(list_cases --list-test-names-only)
  set(no_case_is_an_error --warn NoTests)
else()
  set(list_cases --list-tests --verbosity quiet)
  set(no_case_is_an_error --warn UnmatchedTestSpec)
endif()
# The main program. Where no package has it compiled, it is compiled once; it is not under test.
add_library(ccoll_catch_main INTERFACE)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(ccoll_catch_main INTERFACE Catch2::Catch2WithMain)
else()
  add_library(ccoll_catch_main_object STATIC EXCLUDE_FROM_ALL ${here}/support/main.cpp)
  target_include_directories(ccoll_catch_main_object SYSTEM PRIVATE ${CCOLL_CATCH2_INCLUDE})
  target_compile_features(ccoll_catch_main_object PRIVATE cxx_std_20)
  target_compile_options(ccoll_catch_main_object PRIVATE -O0 -g0)
  target_link_libraries(ccoll_catch_main INTERFACE ccoll_catch_main_object)
endif()

# ---- what programs have in common ----
# Unit tests do not use MPI; ranks are threads.
add_library(ccoll_unit INTERFACE)
target_link_libraries(ccoll_unit INTERFACE ccoll_test ccoll_catch_main)
target_compile_definitions(ccoll_unit INTERFACE CCOLL_NO_MPI)
# Their data and their oracle: compiled once and optimised, and not under test.
add_library(ccoll_test_support STATIC EXCLUDE_FROM_ALL ${here}/support/support.cpp)
target_include_directories(ccoll_test_support PRIVATE ${here})
target_compile_features(ccoll_test_support PRIVATE cxx_std_20)
target_compile_options(ccoll_test_support PRIVATE -O2 ${warnings})
target_link_libraries(ccoll_unit INTERFACE ccoll_test_support)
target_compile_definitions(ccoll_unit INTERFACE CCOLL_TEST_SUPPORT)
# The machine that kernels run on: optimised and not under test, either. It tells the sanitizer of the tests about its fibers.
add_library(ccoll_test_emulator STATIC EXCLUDE_FROM_ALL ${here}/cuda/emulator/machine.cpp)
target_compile_features(ccoll_test_emulator PRIVATE cxx_std_20)
target_compile_options(ccoll_test_emulator PRIVATE -O2 ${warnings})
if(CCOLL_TEST_SANITIZE MATCHES "address")
  target_compile_definitions(ccoll_test_emulator PRIVATE EMULATOR_ASAN)
elseif(CCOLL_TEST_SANITIZE MATCHES "thread")
  target_compile_definitions(ccoll_test_emulator PRIVATE EMULATOR_TSAN)
endif()
if(CCOLL_TEST_SANITIZE)
  set(sanitize -fsanitize=${CCOLL_TEST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CCOLL_TEST_SANITIZE MATCHES "address.*undefined")
    # What AddressSanitizer finds as well, and sums of addresses that leave the address space: a fifth to a third of the time to compile.
    list(APPEND sanitize -fno-sanitize=null,object-size,vptr,pointer-overflow)
  endif()
  target_compile_definitions(ccoll_unit INTERFACE CCOLL_TEST_SANITIZED)
  target_compile_options(ccoll_unit INTERFACE ${sanitize})
  target_link_options(ccoll_unit INTERFACE -fsanitize=${CCOLL_TEST_SANITIZE})
  # The library is watched as well, also by the fuzzer, whose targets link it.
  foreach(library ccoll_compiled_szp ccoll_compiled_codecs ccoll_compiled_threads)
    target_compile_options(${library} PRIVATE ${sanitize} ${fuzzed})
  endforeach()
  if(CCOLL_TEST_SANITIZE MATCHES "address" AND CCOLL_LLD)
    add_library(ccoll_test_arrays OBJECT EXCLUDE_FROM_ALL ${here}/support/large_arrays.cpp)
    target_compile_features(ccoll_test_arrays PRIVATE cxx_std_20)
    target_compile_options(ccoll_test_arrays PRIVATE -O2 ${warnings} -Wno-reserved-identifier)
    target_link_libraries(ccoll_unit INTERFACE $<TARGET_OBJECTS:ccoll_test_arrays>)
    target_link_options(ccoll_unit INTERFACE -Wl,--wrap=_Znam -Wl,--wrap=_ZdaPv)
  endif()
  # Kernels that this machine cannot run are compiled once, by g++.
  if(NOT CCOLL_HAS_AVX512 OR CCOLL_TEST_SANITIZE MATCHES "thread")  # threads do not depend on the instruction set
    foreach(library ccoll_compiled_szp ccoll_compiled_codecs ccoll_compiled_threads)
      target_compile_definitions(${library} PRIVATE CCOLL_NO_AVX512)
    endforeach()
    target_compile_definitions(ccoll_test INTERFACE CCOLL_NO_AVX512)
  endif()
endif()

# Programs are not optimised: most of their time goes into the compiler, and kernels and engine come from a library that is. Exceptions are
# files whose own loops are long.
set(optimised_files "base/.*|algo/.*|tune/.*|extension/user_codec|integrity/(crc32c|hamming)|codec/(szp_sums|szp_limits|szp_rows|half|szp_isa|szp_avx512|szx_isa|zfp_isa|zfp_streams|lossless|exceptions.*)|cuda/(mutants|szp.*|szx|zfp|emulator)|examples/.*")
# g++ optimises kernels whatever the options are. Other compilers are told to, for files that name kernels and so compile them.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  string(APPEND optimised_files "|codec/(szp.*|szx.*|zfp.*|lossless)|cuda/.*")
endif()
# What a program links of ccoll::compiled; those that name nothing here compile what they use.
function(compiled_for area result)
  set(${result} ccoll_compiled_host)
  if(area MATCHES "^(base|algo|wire|instrument|policy|tune)/|^(integrity/(crc32c|hamming)|transport/fragment|plan/error_model|docs/tables|codec/szp_(isa|avx512))$")
    set(${result} "")
  elseif(area MATCHES "^codec/(sze|szp|szp_rows|szp_sums)$")
    set(${result} ccoll_compiled_szp)
  elseif(area MATCHES "^codec/")
    set(${result} ccoll_compiled_szp ccoll_compiled_codecs)
  endif()
  set(${result} ${${result}} PARENT_SCOPE)
endfunction()

# g++ 12 forgets pragmas about warnings in headers that it reads precompiled. It then warns about its own AVX-512 headers. With g++, programs
# that are compiled without precompiled headers look for these two mistakes.
set(precompiled_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
if(CCOLL_TEST_PRECOMPILE)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/headers.cpp CONTENT "")
  add_library(ccoll_unit_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/headers.cpp)
  target_link_libraries(ccoll_unit_headers PRIVATE ccoll_unit)
  target_compile_definitions(ccoll_unit_headers PRIVATE CCOLL_COMPILED)
  target_compile_options(ccoll_unit_headers PRIVATE -O0 ${precompiled_warnings})
  target_precompile_headers(ccoll_unit_headers PRIVATE ${here}/support/precompiled.hpp)
endif()

# Freed memory is watched until 16 MiB more are freed, instead of 256 MiB: with so much new memory a sixth of the time goes to page faults.
# Each thread has 64 KiB of stack frames of each size that are watched after the end of their function, instead of 1 MiB, for the same reason.
set(sanitizer_options "")
if(CCOLL_TEST_SANITIZE MATCHES "address")
  set(sanitizer_options "ASAN_OPTIONS=quarantine_size_mb=16:max_uar_stack_size_log=16")
endif()

# ---- programs ----
# add_unit_test(<area> <files...>): the program unit_<folder>_<name> of the area <folder>/<name>
function(add_unit_test area)
  string(REPLACE "/" "_" program unit_${area})
  string(REGEX REPLACE "/.*" "" folder ${area})
  add_executable(${program} ${ARGN})
  target_link_libraries(${program} PRIVATE ccoll_unit)
  compiled_for(${area} compiled)
  target_link_libraries(${program} PRIVATE ${compiled})
  if(area MATCHES "^(${optimised_files})$")
    target_compile_options(${program} PRIVATE -O1)
    target_compile_definitions(${program} PRIVATE CCOLL_LESS_OPTIMISED)
  else()
    target_compile_options(${program} PRIVATE -O0)
    if(CCOLL_TEST_PRECOMPILE AND compiled AND NOT folder STREQUAL cuda)  # other flags
      target_compile_options(${program} PRIVATE ${precompiled_warnings})
      target_precompile_headers(${program} REUSE_FROM ccoll_unit_headers)
    endif()
  endif()
  set(cases ${CMAKE_CURRENT_BINARY_DIR}/${program}_cases.cmake)
  set(seconds 240)  # on two busy cores the longest take a quarter of it
  if(CCOLL_TEST_SANITIZE)
    set(seconds 300)
  endif()
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" "-DLIST=${list_cases}" "-DSTRICT=${no_case_is_an_error}"
            -DPREFIX=unit/${folder} -DLABEL=${area} -DSECONDS=${seconds} "-DENVIRONMENT=${sanitizer_options}" -DOUTPUT=${cases} -P ${root}/cmake/discover_cases.cmake
    BYPRODUCTS ${cases})
  # If the program was not built, a test that fails takes the place of its cases.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake
    "if(EXISTS \"${cases}\")\n  include(\"${cases}\")\nelse()\n  add_test([==[unit/${area} is built]==] \"${CMAKE_COMMAND}\" -E false)\n  set_tests_properties([==[unit/${area} is built]==] PROPERTIES LABELS ${area})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake)
  add_area(${area} ${program})
endfunction()

# A folder whose files make one program, because they share functions, is named here. So are files that share most of what they instantiate.
set(one_program matrix)
# Kernels of the device take long to compile, so they are compiled in two programs: one that runs under sanitizers, and the rest.
set(together_cuda "szx zfp" "collectives alltoall collectives_all direct errors operations small_floats small_floats_collectives streams
  codec_stream szx_zfp_collectives")

# Which compiler runs what, in a run of everything: under clang's sanitizers, what looks at memory and messages; there and with g++, what depends
# on the code that a compiler makes of kernels; with g++ alone, what looks at values and would take minutes under sanitizers, and what replaces
# operator new. Codecs that are tested twice have files that look at memory and at any bytes alone: these are not for g++.
set(sanitized "(agree|collectives|cuda|entry|exec|instrument|integrity|measure|plan|policy|run|transport|tune|wait|wire)/.*")
set(twice "(base|codec)/.*")
set(not_twice "codec/(exceptions|exceptions_sums|exceptions_wide|frame|homomorphic|in_place|szp_hostile)")
set(not_sanitized "collectives/(special_values|bitwise|homomorphic|foreign_floats|bounds|accounting|arguments)|cuda/(mutants|direct|collectives.*|streams|codec_stream|errors|alltoall|operations|szx_zfp_collectives|small_floats.*)|base/(half|config)|codec/(exceptions_golden|golden|szp_sums|szp_rows|half|stack)|collectives/(allocations|floating_point_modes)|plan/(auto_algo|error_model)|exec/no_memory")

# AVX-512 in an emulation, where the machine does not have it.
find_path(CCOLL_SIMDE_INCLUDE simde/x86/avx512.h)
mark_as_advanced(CCOLL_SIMDE_INCLUDE)
check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx2\") ? 0 : 1; }" CCOLL_HAS_AVX2)
if(CCOLL_SIMDE_INCLUDE AND CCOLL_HAS_AVX2 AND NOT CCOLL_HAS_AVX512 AND NOT CCOLL_TEST_SANITIZE)
  set(CCOLL_EMULATES_AVX512 ON)
endif()

set(no_unit_tests mpi compile_fail consumers flags support fuzz)
file(GLOB unit_files CONFIGURE_DEPENDS RELATIVE ${here} ${here}/*/*.cpp)
list(FILTER unit_files INCLUDE REGEX "^(${CCOLL_TEST_FILES})\\.cpp$")
if(CCOLL_TEST_PART STREQUAL "sanitized")
  list(FILTER unit_files INCLUDE REGEX "^(${sanitized}|${twice})\\.cpp$")
  list(FILTER unit_files EXCLUDE REGEX "^(${not_sanitized})\\.cpp$")
elseif(CCOLL_TEST_PART STREQUAL "rest")
  foreach(file ${unit_files})
    if(file MATCHES "^(${sanitized}|${not_twice})\\.cpp$" AND NOT file MATCHES "^(${not_sanitized})\\.cpp$")
      list(REMOVE_ITEM unit_files ${file})
    endif()
  endforeach()
endif()
if(NOT CCOLL_EMULATES_AVX512)
  list(REMOVE_ITEM unit_files codec/szp_avx512.cpp)
endif()
foreach(folder ${no_unit_tests})
  list(FILTER unit_files EXCLUDE REGEX "^${folder}/")
endforeach()
foreach(folder ${one_program})
  set(files ${unit_files})
  list(FILTER files INCLUDE REGEX "^${folder}/")
  list(FILTER unit_files EXCLUDE REGEX "^${folder}/")
  if(files)
    add_unit_test(${folder}/${folder} ${files})
  endif()
endforeach()
foreach(group ${together_cuda})
  string(REGEX MATCHALL "[a-z_]+" members ${group})
  list(TRANSFORM members REPLACE "(.+)" "cuda/\\1.cpp")
  set(files "")
  foreach(file ${members})
    if(file IN_LIST unit_files)
      list(APPEND files ${file})
      list(REMOVE_ITEM unit_files ${file})
    endif()
  endforeach()
  if(files)
    list(GET files 0 first)
    string(REPLACE ".cpp" "" area ${first})
    string(REPLACE "/" "_" program unit_${area})
    add_unit_test(${area} ${files})
    set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 100)
  endif()
endforeach()
foreach(file ${unit_files})
  string(REPLACE ".cpp" "" area ${file})
  add_unit_test(${area} ${file})
endforeach()

# ---- what single programs need ----
find_path(ZFP_INCLUDE_DIR zfp.h)
find_library(ZFP_LIBRARY zfp)
mark_as_advanced(ZFP_INCLUDE_DIR ZFP_LIBRARY)
get_property(programs DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
foreach(program ${programs})
  if(program MATCHES "^unit_codec_zfp" AND ZFP_INCLUDE_DIR AND ZFP_LIBRARY)  # libzfp is an oracle where it is installed
    target_include_directories(${program} SYSTEM PRIVATE ${ZFP_INCLUDE_DIR})
    target_link_libraries(${program} PRIVATE ${ZFP_LIBRARY})
    target_compile_definitions(${program} PRIVATE CCOLL_TEST_ZFP)
  elseif(program STREQUAL unit_codec_szp_avx512)
    target_include_directories(${program} SYSTEM PRIVATE ${CCOLL_SIMDE_INCLUDE})
    target_compile_options(${program} PRIVATE -mavx2 -Wno-psabi)
  elseif(program MATCHES "^unit_cuda_")  # kernels under the emulator: device code is not contracted either
    target_compile_options(${program} PRIVATE -ffp-contract=off)
    target_link_libraries(${program} PRIVATE ccoll_test_emulator)
    if(CCOLL_TEST_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # a second stack for each fiber takes 10 times as long
      target_compile_options(${program} PRIVATE -fsanitize-address-use-after-return=never)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # g++ 12 warns of the delete in the destructor of a vector that was returned by value
      target_compile_options(${program} PRIVATE -Wno-free-nonheap-object)
    endif()
  elseif(program MATCHES "^unit_examples_")
    target_include_directories(${program} PRIVATE ${root}/examples ${root}/benchmarks)
    if(program STREQUAL unit_examples_rtm)
      target_sources(${program} PRIVATE ${root}/examples/rtm.cpp)
    endif()
  endif()
endforeach()

# Kernels without a barrier, with ThreadSanitizer: not part of all, because it takes minutes.
if(TARGET unit_cuda_mutants AND NOT CCOLL_TEST_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_cxx_source_compiles("int main() {}" CCOLL_HAS_THREAD_SANITIZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(CCOLL_HAS_THREAD_SANITIZER)
    add_executable(cuda_barriers EXCLUDE_FROM_ALL ${here}/cuda/mutants.cpp ${here}/cuda/emulator/machine.cpp)
    target_link_libraries(cuda_barriers PRIVATE ccoll_unit)
    target_compile_options(cuda_barriers PRIVATE -O1 -g0 -ffp-contract=off -fsanitize=thread $<$<CXX_COMPILER_ID:GNU>:-Wno-free-nonheap-object>)
    target_link_options(cuda_barriers PRIVATE -fsanitize=thread)
  endif()
endif()
