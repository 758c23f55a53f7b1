# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ccoll_add_preload(<target> <mpi>): a library for LD_PRELOAD over the MPI that the target <mpi> stands for. It needs nlohmann-json and an MPI
# of version 3.1 or later. One library serves one MPI, because handles have other sizes in another.
set(ccoll_preload_folder ${CMAKE_CURRENT_LIST_DIR})
function(ccoll_add_preload target mpi)
  if(NOT TARGET ccoll_preload_plan)
    add_library(ccoll_preload_plan OBJECT EXCLUDE_FROM_ALL ${ccoll_preload_folder}/plan.cpp)
    set_target_properties(ccoll_preload_plan PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(ccoll_preload_plan PRIVATE cxx_std_20)
    target_link_libraries(ccoll_preload_plan PRIVATE ccoll::ccoll nlohmann_json::nlohmann_json)
  endif()
  set(sources run_float run_double buffers record route requests collectives waiting fortran)
  list(TRANSFORM sources REPLACE "(.+)" "${ccoll_preload_folder}/\\1.cpp")
  add_library(${target} MODULE ${sources} $<TARGET_OBJECTS:ccoll_preload_plan>)
  # The codecs are those of ccoll::compiled. The engine is not, because here it calls MPI by its profiling
  # names: so they are files to link, and their definitions do not count.
  target_link_libraries(${target} PRIVATE ccoll::ccoll ${mpi} $<TARGET_FILE:ccoll_compiled_szp> $<TARGET_FILE:ccoll_compiled_codecs> Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(${target} ccoll_compiled_szp ccoll_compiled_codecs)
  target_compile_definitions(${target} PRIVATE CCOLL_USE_PMPI CCOLL_ABI=v${ccoll_VERSION_MAJOR}_${ccoll_VERSION_MINOR})
  target_link_options(${target} PRIVATE -Wl,--version-script=${ccoll_preload_folder}/exported.map -Wl,--no-undefined -Wl,--as-needed)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${ccoll_preload_folder}/exported.map)
endfunction()
