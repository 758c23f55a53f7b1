# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the compiler of the unit tests cannot see: every header compiles alone under every compiler, the floors hold, the code is
# formatted, a program with a mistake gets the right sentence, and other projects can use the library.

# structure_test(<name> <seconds> <script> [-D...]): runs a script of this folder as a test. A caller passes the lists COMPILE and HEADERS
# by setting them, because a list does not survive as an argument. A script that prints 'SKIPPED: <reason>' is skipped.
function(structure_test name seconds script)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DCOMPILE=${COMPILE}" "-DHEADERS=${HEADERS}" ${ARGN} -P ${root}/cmake/${script})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} LABELS structure SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()
set(COMPILE "")
set(HEADERS "")

# ---- floors ----
structure_test(floors 60 check_floors.cmake -DROOT=${include})
structure_test(docs 60 check_snippets.cmake -DROOT=${root})
structure_test("docs: a page with a mistake is caught" 60 check_snippets_test.cmake -DWORK=${CMAKE_CURRENT_BINARY_DIR}/docs)
structure_test("floors: a tree that breaks a rule is caught" 60 check_floors_test.cmake -DWORK=${CMAKE_CURRENT_BINARY_DIR}/floors)

# ---- the wire page suffices to write a reader ----
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  add_test(NAME "wire: a reader written from docs/wire_format.md reads the golden frames" COMMAND ${Python3_EXECUTABLE} ${here}/wire/reader.py
           ${here}/codec/golden)
  set_tests_properties("wire: a reader written from docs/wire_format.md reads the golden frames" PROPERTIES TIMEOUT 60 LABELS structure)
endif()

# ---- format ----
find_program(CCOLL_CLANG_FORMAT NAMES clang-format-19 clang-format-20 clang-format-21 clang-format)
mark_as_advanced(CCOLL_CLANG_FORMAT)
structure_test(format 120 check_format.cmake -DROOT=${root} -DCLANG_FORMAT=${CCOLL_CLANG_FORMAT})
structure_test("format: a file that is not formatted is caught" 60 check_format_test.cmake -DROOT=${root}
               -DCLANG_FORMAT=${CCOLL_CLANG_FORMAT} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/format)

# ---- instrumentation that is off leaves no trace in the object code ----
find_program(CCOLL_NM nm)
mark_as_advanced(CCOLL_NM)
if(CCOLL_NM AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(COMPILE ${CMAKE_CXX_COMPILER} -std=c++20 -DCCOLL_NO_MPI -I${include})
  structure_test("instrument: off leaves no clock in the object code" 120 check_instrument.cmake -DSOURCE=${here}/support/instrument.cpp
                 -DNM=${CCOLL_NM} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/instrument)
  set(COMPILE "")
endif()

# ---- every header alone and twice ----
set(alone ${CMAKE_CURRENT_BINARY_DIR}/alone)
set(alone_flags -std=c++20 -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only -I${include})
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${include} ${include}/ccoll/*.hpp)
file(GLOB_RECURSE device_headers CONFIGURE_DEPENDS RELATIVE ${include} ${include}/ccoll/*.cuh)
set(header_folders "")
foreach(header ${headers} ${device_headers})
  get_filename_component(folder ${header} DIRECTORY)
  list(APPEND header_folders ${folder})
  string(MAKE_C_IDENTIFIER ${folder} id)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${include}/${header})
  file(STRINGS ${include}/${header} mpi_lines REGEX "^ *# *include *<(mpi\\.h|ccoll/transport/mpi[a-z_]*\\.hpp)>")
  file(STRINGS ${include}/${header} asks REGEX "__has_include\\(<mpi\\.h>\\)")
  if(mpi_lines)
    list(APPEND with_mpi ${header})
    if(asks)
      list(APPEND host_${id} ${header})
    endif()
  elseif(header MATCHES "hpp$")
    list(APPEND host_${id} ${header})
  endif()
  if(NOT mpi_lines OR asks)
    list(APPEND device_${id} ${header})
  endif()
endforeach()
list(REMOVE_DUPLICATES header_folders)
foreach(folder ${header_folders})
  string(MAKE_C_IDENTIFIER ${folder} id)
  set(HEADERS ${host_${id}})
  if(HEADERS)
    foreach(compiler ${compilers})
      set(COMPILE ${compiler_${compiler}} ${alone_flags})
      structure_test(headers/${compiler}/${folder} 300 check_headers.cmake -DEXTENSION=cpp -DWORK=${alone}/${compiler})
    endforeach()
  endif()
  set(HEADERS ${device_${id}})
  if(nvcc AND HEADERS)
    set(COMPILE ${nvcc} -std=c++20 -Werror all-warnings -Xcompiler -Wall,-Wextra -I${include} -c -o ${alone}/nvcc-${id}.o)
    structure_test(headers/nvcc/${folder} 600 check_headers.cmake -DEXTENSION=cu -DWORK=${alone}/nvcc-${id} -DTOGETHER=ON)  # the other compilers see that each compiles alone
  endif()
endforeach()
set(HEADERS ${with_mpi})
foreach(mpi ${mpis})
  foreach(compiler ${compilers})
    set(COMPILE ${compiler_${compiler}} ${alone_flags} ${mpi_flags_${mpi}})
    structure_test(headers/${compiler}/${mpi} 300 check_headers.cmake -DEXTENSION=cpp -DWORK=${alone}/${compiler}-${mpi})
  endforeach()
endforeach()
set(HEADERS "")

# ---- bad programs ----
# clang++-14 (where there is a newer one) and nvcc only try the control: one compiler of each kind is enough to see that it prints the sentence.
set(bad_flags -std=c++20 -I${include} -I${here} -DCCOLL_NO_MPI)
file(GLOB bad_programs CONFIGURE_DEPENDS RELATIVE ${here}/compile_fail ${here}/compile_fail/*.cpp)
foreach(file ${bad_programs})
  get_filename_component(family ${file} NAME_WE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${here}/compile_fail/${file})
  file(STRINGS ${here}/compile_fail/${file} cases REGEX "CCOLL_CASE == [0-9]+")
  foreach(line IN LISTS cases)
    string(REGEX MATCH "CCOLL_CASE == ([0-9]+)" matched "${line}")
    set(case ${CMAKE_MATCH_1})
    set(case_args -DSOURCE=${here}/compile_fail/${file} -DCASE=${case})
    foreach(compiler ${compilers})
      if(compiler STREQUAL "clang++-14" AND "clang++-19" IN_LIST compilers AND NOT case EQUAL 0)
        continue()
      endif()
      set(COMPILE ${compiler_${compiler}} ${bad_flags} -fsyntax-only)
      structure_test(compile_fail/${compiler}/${family}/${case} 120 expect_error.cmake ${case_args})
    endforeach()
    if(nvcc AND case EQUAL 0)
      set(COMPILE ${nvcc} ${bad_flags} -x cu -c -o /dev/null)
      structure_test(compile_fail/nvcc/${family}/${case} 120 expect_error.cmake ${case_args})
    endif()
  endforeach()
endforeach()
set(COMPILE "")

# ---- consumers ----
set(work ${CMAKE_CURRENT_BINARY_DIR}/consumers)
set(consumers ${here}/consumers)
foreach(way find_package add_subdirectory fetch_content)
  structure_test(consumers/${way} 300 check_consumer.cmake -DWAY=${way} -DROOT=${root} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${work}/${way}
                 -DCXX=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR})
endforeach()
# consumer(<name> <flags and sources...>): one call of ${compiler}, no CMake
function(consumer name)
  set(COMPILE ${compiler_${compiler}} -std=c++20 -Wall -Wextra -Werror -pthread -I${include} ${ARGN})
  structure_test(consumers/${compiler}/${name} 300 check_program.cmake -DWORK=${work}/${compiler}-${name})
endfunction()
foreach(compiler ${compilers})
  consumer(plain ${consumers}/sum.cpp)
  consumer(two_units ${consumers}/unit_a.cpp ${consumers}/unit_b.cpp)
  consumer(two_versions ${consumers}/unit_this_version.cpp ${consumers}/unit_other_version.cpp)
  consumer(no_exceptions -fno-exceptions ${consumers}/no_exceptions.cpp)
  consumer(no_rtti -fno-rtti ${consumers}/sum.cpp)
  if(compiler MATCHES "clang")
    # On processors with AVX10, clang 19 warns about its own expansion of -march=native, even in an empty program.
    consumer(native -O3 -march=native -ffp-contract=fast -Wno-unknown-warning-option -Wno-invalid-feature-combination ${consumers}/sum.cpp)
  else()
    consumer(undefined_sanitizer -O1 -fsanitize=undefined -fno-sanitize-recover=all ${consumers}/sum.cpp)  # changes what g++ accepts as a constant expression
    consumer(native_fast_math -Ofast -march=native ${consumers}/sum.cpp)
    # At link time g++ 12 forgets that the warnings about its own AVX-512 headers were switched off.
    consumer(two_units_lto -O1 -flto -Wodr -Wno-maybe-uninitialized -Wno-uninitialized ${consumers}/unit_a.cpp ${consumers}/unit_b.cpp)
  endif()
endforeach()
if(nvcc)
  set(COMPILE ${nvcc} -std=c++20 -Xcompiler -pthread -I${include} -DCCOLL_NO_MPI ${consumers}/unit_a.cpp ${consumers}/unit_b.cu)
  structure_test(consumers/nvcc/cpp_and_cuda 600 check_program.cmake -DWORK=${work}/cuda)
endif()
set(COMPILE "")
