# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Toolchain file: Debian's and Ubuntu's cross compiler for aarch64 (g++-aarch64-linux-gnu), programs run by qemu-user. For the kernels with NEON,
# on machines that have none:  cmake --preset neon && cmake --build build/neon && ctest --test-dir build/neon
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Headers and libraries are the target's; programs are the host's.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Catch2 2 is one header for all machines. It is taken from its own folder, because the host's other headers must not be found.
if(NOT DEFINED CCOLL_CATCH2_INCLUDE AND EXISTS /usr/include/catch2/catch.hpp)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/catch2-header)
  file(CREATE_LINK /usr/include/catch2 ${CMAKE_BINARY_DIR}/catch2-header/catch2 SYMBOLIC RESULT ignored)
  set(CCOLL_CATCH2_INCLUDE ${CMAKE_BINARY_DIR}/catch2-header CACHE PATH "Where catch2/catch.hpp is")
endif()
