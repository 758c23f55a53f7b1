# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The pkg-config file, installed with the headers, and what cpack makes of the installation: a Debian package, or an archive (cpack -G TGZ).
#
# share/pkgconfig and share/cmake are for packages that do not depend on the machine. The pkg-config file says where the headers are
# relative to itself, so an installation can be moved.
file(RELATIVE_PATH CCOLL_INCLUDE_FROM_PC ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/ccoll.pc.in ${PROJECT_BINARY_DIR}/ccoll.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ccoll.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libccoll-dev)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "MPI collectives that compress the data they send")
set(CPACK_PACKAGE_CONTACT "The authors of ccoll <nobody@ccoll.invalid>" CACHE STRING "Maintainer of packages that cpack makes")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Header-only C++20 library of MPI collectives with error-bounded compression.\n\
 Algorithm, codec, error bound and placement are policies of each call, and\n\
 every call reports a worst-case error of its result.")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi-dev | libmpich-dev, cmake, pkg-config")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
# Debian wants the licence beside the package's name. Nothing else installs it there.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libccoll-dev RENAME copyright COMPONENT debian EXCLUDE_FROM_ALL)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};ccoll;ALL;/;${PROJECT_BINARY_DIR};ccoll;debian;/")
include(CPack)
