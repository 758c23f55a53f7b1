# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Conan 2 recipe of the source tree that it is in:  conan create cmake/packaging/conan -s compiler.cppstd=20
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class CcollRecipe(ConanFile):
    name = "ccoll"
    description = "Compression-accelerated MPI collectives, header-only"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("mpi", "compression", "collectives", "hpc", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _checkout(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        text = load(self, os.path.join(self._checkout, "include", "ccoll", "version.hpp"))
        self.version = ".".join(re.search(rf"CCOLL_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"CCOLL_BUILD_{part}"] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # The package's own CMake files are used, because they also have ccoll::compiled.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "ccoll")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
