# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Spack 1 package of the checkout that it is in:
#   spack repo add <ccoll>/cmake/packaging/spack/spack_repo/ccoll
#   spack install ccoll@main
# A package of releases has the address of the repository in `git`.
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Ccoll(CMakePackage):
    """MPI collectives that compress the data they send, with error bounds. Header-only, C++20."""

    git = pathlib.Path(__file__).resolve().parents[7].as_uri()
    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("mpi")

    conflicts("%gcc@:11", msg="ccoll needs a C++20 compiler: gcc 12 or newer")
    conflicts("%clang@:13", msg="ccoll needs a C++20 compiler: clang 14 or newer")

    def cmake_args(self):
        return [self.define(f"CCOLL_BUILD_{part}", False) for part in ("TESTS", "EXAMPLES", "BENCHMARKS")]
