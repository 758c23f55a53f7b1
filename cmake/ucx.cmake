# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ccoll::ucx: ccoll::ccoll with the library UCX, for programs that include ccoll/transport/ucx.hpp. The target is there if UCX is found, in the
# folders of the compiler, in CMAKE_PREFIX_PATH, or where pkg-config knows it. Without UCX nothing else is missing. Part of the package.
# ccoll::compiled_ucx: ccoll::compiled, and the collectives over UCX compiled once as well. Nothing is built if nobody links it.
if(NOT TARGET ccoll::ucx)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(CCOLL_PKG_UCX QUIET ucx)
  endif()
  find_path(CCOLL_UCX_INCLUDE_DIR ucp/api/ucp.h HINTS ${CCOLL_PKG_UCX_INCLUDE_DIRS})
  find_library(CCOLL_UCP_LIBRARY ucp HINTS ${CCOLL_PKG_UCX_LIBRARY_DIRS})
  find_library(CCOLL_UCS_LIBRARY ucs HINTS ${CCOLL_PKG_UCX_LIBRARY_DIRS})
  mark_as_advanced(CCOLL_UCX_INCLUDE_DIR CCOLL_UCP_LIBRARY CCOLL_UCS_LIBRARY)
  if(CCOLL_UCX_INCLUDE_DIR AND CCOLL_UCP_LIBRARY AND CCOLL_UCS_LIBRARY)
    add_library(ccoll::ucx INTERFACE IMPORTED GLOBAL)
    target_link_libraries(ccoll::ucx INTERFACE ccoll::ccoll ${CCOLL_UCP_LIBRARY} ${CCOLL_UCS_LIBRARY})
    target_include_directories(ccoll::ucx SYSTEM INTERFACE ${CCOLL_UCX_INCLUDE_DIR})
    # As for ccoll::compiled, C++ may be enabled after the package was found: then there is no such target.
    if(CMAKE_CXX_COMPILER_LOADED)
      add_library(ccoll_compiled_ucx STATIC EXCLUDE_FROM_ALL ${ccoll_compiled_sources}/ucx.cpp)
      target_link_libraries(ccoll_compiled_ucx PUBLIC ccoll_compiled_host ccoll::ucx)
      target_compile_definitions(ccoll_compiled_ucx PRIVATE CCOLL_NO_MPI INTERFACE CCOLL_COMPILED_UCX)
      target_compile_options(ccoll_compiled_ucx PRIVATE $<$<CONFIG:Debug>:-O2>)
      set_target_properties(ccoll_compiled_ucx PROPERTIES POSITION_INDEPENDENT_CODE ON)
      add_library(ccoll::compiled_ucx INTERFACE IMPORTED GLOBAL)
      target_link_libraries(ccoll::compiled_ucx INTERFACE ccoll_compiled ccoll_compiled_ucx)
    endif()
  endif()
endif()
