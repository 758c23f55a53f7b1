# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the extension with torch's own tools, or finds it built:  python build.py [ucx|openmpi|mpich|<compiler wrapper of an MPI>]

Without an argument: over UCX, without MPI. Prints the file of the extension. What is missing is said in one sentence, with exit code 2.

    CCOLL_TORCH_CUDA   1: nvcc compiles what works in the memory of GPUs, 0: it does not; not set: if there are nvcc and a GPU
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
GPU_SOURCES = ["plans_gpu_f32", "plans_gpu_f64", "plans_gpu_halves", "plans_gpu_bytes", "averages_gpu"]
SOURCES = ["plans_f32", "plans_f64", "plans_halves", "plans_integers", "averages", "calls", "group", "backend", "module"]
FLAGS = ["-std=c++20", "-O2", "-fvisibility=hidden"]  # loops of codecs are compiled with -O3 whatever this says


class Missing(Exception):
    """A sentence about what must be installed."""


def sources_of(link):
    return [str(HERE / f"{name}.cpp") for name in [*SOURCES, "link_ucx" if link == "ucx" else "link_mpi"]]


def builds_for_gpus(torch_cuda, has_gpu, cuda_home):
    """Is nvcc to compile GPU_SOURCES?

    torch_cuda, has_gpu, cuda_home: what torch says: its version of CUDA, whether there is a GPU, and where the toolkit is. @raise Missing
    """
    wanted = os.environ.get("CCOLL_TORCH_CUDA") or ""
    if wanted not in ("", "0", "1"):
        raise Missing(f"CCOLL_TORCH_CUDA is '{wanted}', and can be 0 or 1")
    has_nvcc = bool(cuda_home) and pathlib.Path(cuda_home, "bin", "nvcc").exists()
    if wanted == "1" and not torch_cuda:
        raise Missing("CCOLL_TORCH_CUDA is 1, and this torch was built without CUDA")
    if wanted == "1" and not has_nvcc:
        raise Missing("CCOLL_TORCH_CUDA is 1, and nvcc is not installed, or CUDA_HOME does not say where")
    return wanted == "1" or (wanted == "" and bool(torch_cuda) and has_gpu and has_nvcc)


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
    import torch
    from torch.utils import cpp_extension

    gpus = builds_for_gpus(torch.version.cuda, torch.cuda.is_available(), cpp_extension.CUDA_HOME)
    if gpus:
        name, flags = f"{name}-cuda", [*flags, "-DCCOLL_TORCH_CUDA"]
    folder = pathlib.Path(os.environ.get("CCOLL_TORCH_BUILD", ROOT / "build" / "torch")) / name
    folder.mkdir(parents=True, exist_ok=True)
    return cpp_extension.load(
        name="_C",
        sources=sources_of(link) + [str(HERE / f"{source}.cu") for source in GPU_SOURCES if gpus],
        extra_include_paths=[str(ROOT / "include"), *include],
        # A header that changes must be noticed, and compilers do not list headers of the system, as those of ccoll are without the macro.
        extra_cflags=[*FLAGS, *flags, "-DCCOLL_SHOW_WARNINGS"],
        extra_cuda_cflags=["-std=c++20", "-O2", *flags],
        extra_ldflags=[*libraries, *(["-lc10_cuda"] if gpus else [])],
        with_cuda=gpus,
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
