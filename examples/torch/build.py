# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the extension with torch's own tools, or finds it built:  python build.py [ucx|openmpi|mpich|<compiler wrapper of an MPI>]

Without an argument: over UCX, without MPI. Prints the file of the extension. What is missing is said in one sentence, with exit code 2.
"""
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = ["plans_f32", "plans_f64", "plans_halves", "plans_integers", "averages", "calls", "group", "backend", "module"]
FLAGS = ["-std=c++20", "-O2", "-fvisibility=hidden"]  # loops of codecs are compiled with -O3 whatever this says


class Missing(Exception):
    """A sentence about what must be installed."""


def sources_of(link):
    return [str(HERE / f"{name}.cpp") for name in [*SOURCES, "link_ucx" if link == "ucx" else "link_mpi"]]


def wrapper_of(mpi):
    """The C++ compiler wrapper of an MPI: 'openmpi', 'mpich', or a wrapper's name."""
    for name in [f"mpicxx.{mpi}", mpi]:
        if shutil.which(name):
            return shutil.which(name)
    raise Missing(f"there is no compiler wrapper of '{mpi}' (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)")


def _words(*command):
    return shlex.split(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def flags_of(link):
    """(folder's name, include folders, options of the compiler, options of the linker)"""
    if link == "ucx":
        try:
            include, libraries = _words("pkg-config", "--cflags-only-I", "ucx"), _words("pkg-config", "--libs", "ucx")
        except (OSError, subprocess.CalledProcessError):
            raise Missing("UCX is not installed, or pkg-config does not know it (Debian: libucx-dev pkg-config); with MPI: "
                          "build.py openmpi") from None
        return "ucx", [word[2:] for word in include], ["-DCCOLL_NO_MPI"], libraries
    wrapper = wrapper_of(link)
    words = _words(wrapper, "-show")[1:]
    include = [word[2:] for word in words if word.startswith("-I")]
    libraries = [word for word in words if word.startswith(("-L", "-l", "-Wl,"))]
    return pathlib.Path(wrapper).name, include, ["-DCCOLL_TORCH_MPI", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1"], libraries


def build(link="ucx", verbose=False):
    """The file of the extension, built if something has changed. @raise Missing"""
    if importlib.util.find_spec("torch") is None:
        raise Missing(f"torch is not installed for {sys.executable}; examples/torch/run.sh gets it, or: {sys.executable} -m pip install torch numpy")
    name, include, flags, libraries = flags_of(link)
    if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
        raise Missing(f"the headers of {sys.executable} are not installed (Debian: python3-dev)")
    if shutil.which("ninja") is None:
        raise Missing("torch builds extensions with ninja, which is not installed (Debian: ninja-build)")
    from torch.utils import cpp_extension

    folder = pathlib.Path(os.environ.get("CCOLL_TORCH_BUILD", ROOT / "build" / "torch")) / name
    folder.mkdir(parents=True, exist_ok=True)
    return cpp_extension.load(
        name="_C",
        sources=sources_of(link),
        extra_include_paths=[str(ROOT / "include"), *include],
        extra_cflags=FLAGS + flags,
        extra_ldflags=libraries,
        build_directory=str(folder),
        verbose=verbose,
        is_python_module=False,
        is_standalone=False,
    ) or str(folder / "_C.so")


if __name__ == "__main__":
    try:
        named = [word for word in sys.argv[1:] if word != "-v"]
        print(build(named[0] if named else "ucx", verbose="-v" in sys.argv))
    except Missing as missing:
        print(f"ccoll_torch: {missing}", file=sys.stderr)
        sys.exit(2)
