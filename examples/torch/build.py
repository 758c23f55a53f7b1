# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the extension with torch's own tools, or finds it built:  python build.py [openmpi|mpich|<compiler wrapper>]

Prints the file of the extension. What is missing is said in one sentence, with exit code 2.
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


class Missing(Exception):
    """A sentence about what must be installed."""


def wrapper_of(mpi):
    """The C++ compiler wrapper of an MPI: 'openmpi', 'mpich', a wrapper's name, or None for the first that is found."""
    names = [f"mpicxx.{mpi}", mpi] if mpi else ["mpicxx.openmpi", "mpicxx.mpich", "mpicxx"]
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    wanted = f"of '{mpi}'" if mpi else "of an MPI"
    raise Missing(f"there is no compiler wrapper {wanted} (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)")


def flags_of(wrapper):
    """Include folders and options of the linker, as the wrapper says them."""
    words = shlex.split(subprocess.run([wrapper, "-show"], check=True, capture_output=True, text=True).stdout)[1:]
    include = [word[2:] for word in words if word.startswith("-I")]
    link = [word for word in words if word.startswith(("-L", "-l", "-Wl,"))]
    return include, link


def build(mpi=None, verbose=False):
    """The file of the extension, built if something has changed. @raise Missing"""
    if importlib.util.find_spec("torch") is None:
        raise Missing(f"torch is not installed for {sys.executable}; examples/torch/run.sh gets it, or: {sys.executable} -m pip install torch numpy")
    wrapper = wrapper_of(mpi)
    if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
        raise Missing(f"the headers of {sys.executable} are not installed (Debian: python3-dev)")
    if shutil.which("ninja") is None:
        raise Missing("torch builds extensions with ninja, which is not installed (Debian: ninja-build)")
    from torch.utils import cpp_extension

    include, link = flags_of(wrapper)
    folder = pathlib.Path(os.environ.get("CCOLL_TORCH_BUILD", ROOT / "build" / "torch")) / pathlib.Path(wrapper).name
    folder.mkdir(parents=True, exist_ok=True)
    return cpp_extension.load(
        name="_C",
        sources=[str(HERE / name) for name in ("calls.cpp", "group.cpp", "backend.cpp", "module.cpp")],
        extra_include_paths=[str(ROOT / "include"), *include],
        extra_cflags=["-std=c++20", "-O3", "-fvisibility=hidden", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1"],
        extra_ldflags=link,
        build_directory=str(folder),
        verbose=verbose,
        is_python_module=False,
        is_standalone=False,
    ) or str(folder / "_C.so")


if __name__ == "__main__":
    try:
        print(build(sys.argv[1] if len(sys.argv) > 1 else None, verbose="-v" in sys.argv))
    except Missing as missing:
        print(f"ccoll_torch: {missing}", file=sys.stderr)
        sys.exit(2)
