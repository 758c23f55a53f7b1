# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An overlay port of the source tree that it is in: vcpkg install ccoll --overlay-ports=<ccoll>/cmake/packaging/vcpkg
# A port of a release takes SOURCE_PATH from vcpkg_from_git or vcpkg_from_github instead.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # there are only headers
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_EXAMPLES=OFF -DCCOLL_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ccoll)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/ccoll")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
