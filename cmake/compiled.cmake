# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ccoll::compiled: the engine and the codecs, compiled once by the build that links it (include/ccoll/compiled.hpp). Part of the package, and
# of a build that adds ccoll as a subdirectory. Nothing is built if nobody links it.
#
#   ccoll_compiled_szp, _codecs   codecs of float and double: SZp and SZe, and all others
#   ccoll_compiled_threads        collectives of float and double among threads
#   ccoll_compiled_host           all of these
#   ccoll_compile_mpi(<t> <mpi>)  a static library <t> with the collectives over the MPI that the target <mpi> stands for, and the above
#   ccoll::compiled               ccoll_compiled_host, and the collectives over MPI::MPI_CXX if the including project has found it, in
#                                 whichever folder
#
# ccoll::compiled is an imported target, so that a static library that links it can be exported. The package of that library has to find
# ccoll, and MPI where it uses that, and the build that uses it compiles engine and codecs.
cmake_policy(VERSION 3.22)
set(ccoll_compiled_sources ${CMAKE_CURRENT_LIST_DIR}/compiled CACHE INTERNAL "")

# Does nothing as long as the project has not enabled C++.
function(ccoll_define_compiled_host)
  if(TARGET ccoll_compiled_host OR NOT CMAKE_CXX_COMPILER_LOADED)
    return()
  endif()
  find_package(Threads REQUIRED)
  set(files_szp szp_float szp_double)
  set(files_codecs codecs_float codecs_double)
  set(files_threads threads)
  add_library(ccoll_compiled_host INTERFACE)
  foreach(part szp codecs threads)
    list(TRANSFORM files_${part} REPLACE "(.+)" "${ccoll_compiled_sources}/\\1.cpp" OUTPUT_VARIABLE files)
    add_library(ccoll_compiled_${part} STATIC EXCLUDE_FROM_ALL ${files})
    target_link_libraries(ccoll_compiled_${part} PUBLIC ccoll::ccoll Threads::Threads)
    target_compile_definitions(ccoll_compiled_${part} PRIVATE CCOLL_NO_MPI INTERFACE CCOLL_COMPILED)
    # Whatever the program around it is compiled with: without optimisation a codec takes ten times as long.
    target_compile_options(ccoll_compiled_${part} PRIVATE $<$<CONFIG:Debug>:-O2>)
    set_target_properties(ccoll_compiled_${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)  # for shared libraries that link it
    target_link_libraries(ccoll_compiled_host INTERFACE ccoll_compiled_${part})
  endforeach()
endfunction()

function(ccoll_compile_mpi target mpi)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${ccoll_compiled_sources}/mpi.cpp)
  target_link_libraries(${target} PUBLIC ccoll_compiled_host ${mpi})
  target_compile_definitions(${target} INTERFACE CCOLL_COMPILED_MPI)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O2>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Sets `found` if this folder, or one below it, has found MPI. Such targets are seen in their folder and those below it alone.
function(ccoll_has_mpi folder found)
  get_property(targets DIRECTORY ${folder} PROPERTY IMPORTED_TARGETS)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  set(here OFF)
  if(MPI::MPI_CXX IN_LIST targets)
    set(here ON)
  endif()
  foreach(next IN LISTS below)
    if(NOT here)
      ccoll_has_mpi(${next} here)
    endif()
  endforeach()
  set(${found} ${here} PARENT_SCOPE)
endfunction()

# At the end of the folder that has found ccoll, and again at the end of the project: MPI, and C++, may come after ccoll.
function(ccoll_finish_compiled)
  ccoll_define_compiled_host()
  if(TARGET ccoll_compiled_mpi OR NOT CMAKE_CXX_COMPILER_LOADED)
    return()
  endif()
  if(NOT TARGET MPI::MPI_CXX AND CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
    ccoll_has_mpi(${CMAKE_SOURCE_DIR} elsewhere)
    if(elsewhere)
      find_package(MPI COMPONENTS CXX QUIET)  # what it found is in the cache
    endif()
  endif()
  if(TARGET MPI::MPI_CXX)
    ccoll_compile_mpi(ccoll_compiled_mpi MPI::MPI_CXX)
    target_link_libraries(ccoll_compiled INTERFACE ccoll_compiled_mpi)
  endif()
endfunction()

if(NOT TARGET ccoll::compiled)
  add_library(ccoll_compiled INTERFACE)
  target_link_libraries(ccoll_compiled INTERFACE ccoll_compiled_host)
  add_library(ccoll::compiled INTERFACE IMPORTED GLOBAL)
  target_link_libraries(ccoll::compiled INTERFACE ccoll_compiled)
  ccoll_define_compiled_host()
  cmake_language(DEFER CALL ccoll_finish_compiled)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL ccoll_finish_compiled)
endif()
