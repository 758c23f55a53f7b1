# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds ccoll_torch for pip: a wheel for the torch that is installed, or an sdist with the headers of ccoll.

pip builds in isolation, where torch cannot be imported. The extension must be compiled with the torch that will load it, and a second one for
the build alone would take 5 GB. So the Python that runs pip is asked for its torch in a process without the isolation.

UCX is that of the system if pkg-config knows it, or the package libucx of PyPI, which then is required by this one.

    CCOLL_TORCH_UCX    system, or pypi: which UCX; not set: the first that there is
    CCOLL_TORCH_CUDA   1: nvcc compiles what works in the memory of GPUs, 0: it does not; not set: if there are nvcc and a GPU. The GPUs are
                       those of this machine, or those of TORCH_CUDA_ARCH_LIST ("8.0;9.0")
    CCOLL_TORCH_LINK   ucx (also if it is not set), openmpi, mpich, or the compiler wrapper of an MPI: what moves the messages
    MAX_JOBS           how many files are compiled at a time; not set: as many as there are cores. Each takes up to 2 GB of memory
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
IN_REPOSITORY = not (HERE / "include").exists()  # an sdist has the headers beside this file
ROOT = HERE.parent.parent if IN_REPOSITORY else HERE
LINK = os.environ.get("CCOLL_TORCH_LINK") or "ucx"


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


sources = module(HERE / "build.py")

ASK = """
import json, pathlib, torch
try:
    from torch.utils.cpp_extension import CUDA_HOME as home
except ImportError:
    home = None
print(json.dumps({"version": torch.__version__, "folder": str(pathlib.Path(torch.__file__).parent), "cuda": torch.version.cuda, "home": home,
                  "gpu": torch.cuda.is_available(), "abi": int(torch._C._GLIBCXX_USE_CXX11_ABI)}))
"""


def torch_of_this_python():
    """Facts about the torch of the Python that runs pip, or None."""
    without_isolation = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONNOUSERSITE")}
    for environment in (os.environ, without_isolation):
        asked = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, cwd="/")
        if asked.returncode == 0:
            return json.loads(asked.stdout.splitlines()[-1])
    return None


def version():
    text = (ROOT / "include/ccoll/version.hpp").read_text()
    return ".".join(re.search(rf"define CCOLL_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


class Ucx:
    """Where UCX is: flags of the system's, or the folder of the package libucx. `requirement` names that package if it is needed."""

    def __init__(self, torch):
        wanted = os.environ.get("CCOLL_TORCH_UCX") or ""
        if wanted not in ("", "system", "pypi"):
            raise SystemExit(f"ccoll_torch: CCOLL_TORCH_UCX is '{wanted}', and can be 'system' or 'pypi'")
        self.requirement, self.folder, self.flags = None, None, None
        if wanted != "pypi":
            try:
                self.flags = sources.flags_of("ucx")
                return
            except sources.Missing as missing:
                if wanted == "system":
                    raise SystemExit(f"ccoll_torch: {missing}") from None
        cuda = "12" if torch is not None and (torch["cuda"] or "").startswith("12.") else "13"
        self.requirement = f"libucx-cu{cuda}>=1.17,<2"
        found = importlib.util.find_spec("libucx")
        if found is not None:
            self.folder = pathlib.Path(found.submodule_search_locations[0])

    def compiler(self):
        """(include folders, options of the compiler, options of the linker)"""
        if self.flags is not None:
            return self.flags[1:]
        if self.folder is None:
            raise SystemExit("ccoll_torch: neither UCX (Debian: libucx-dev pkg-config) nor the package libucx is installed; "
                             f"pip install '{self.requirement}'")
        # The package's libraries are loaded before the extension (ccoll_torch/_load.py), so it needs no path to them.
        libraries = [str(self.folder / "lib" / f"lib{name}.so.0") for name in ("ucp", "ucs")]
        return [str(self.folder / "include")], ["-DCCOLL_NO_MPI"], libraries


command = sys.argv[1] if len(sys.argv) > 1 else ""
compiles = command in ("bdist_wheel", "build", "build_ext", "develop", "dist_info", "editable_wheel", "install")
torch = torch_of_this_python() if compiles or command == "egg_info" else None
ucx = Ucx(torch) if LINK == "ucx" and command != "sdist" else None
if compiles and torch is None:
    raise SystemExit(
        f"ccoll_torch: {sys.executable} has no torch, and the extension is compiled for the torch that is installed; first: pip install torch numpy. "
        "Where it has one (uv, and other tools that build with a Python of their own): --no-build-isolation, with setuptools installed"
    )


def gpus():
    try:
        return sources.builds_for_gpus(torch["cuda"], torch["gpu"], torch["home"])
    except sources.Missing as missing:
        raise SystemExit(f"ccoll_torch: {missing}") from None


def architectures():
    """Options of nvcc."""
    named = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    if not named:
        return ["-arch=native"]
    options = []
    for each in named:
        number = each.removesuffix("+PTX").replace(".", "")
        options += ["-gencode", f"arch=compute_{number},code=sm_{number}"]
        if each.endswith("+PTX"):
            options += ["-gencode", f"arch=compute_{number},code=compute_{number}"]
    return options


def extension():
    include, options, libraries = ucx.compiler() if ucx is not None else sources.flags_of(LINK)[1:]
    folder = pathlib.Path(torch["folder"])
    if gpus():
        toolkit = pathlib.Path(torch["home"])
        include, options = [*include, str(toolkit / "include")], [*options, "-DCCOLL_TORCH_CUDA"]
        libraries = ["-lc10_cuda", f"-L{toolkit / 'lib64'}", "-lcudart", *libraries]
    return Extension(
        "ccoll_torch._C",
        [os.path.relpath(source, HERE) for source in sources.sources_of(LINK)],
        include_dirs=[str(ROOT / "include"), *include, str(folder / "include"), str(folder / "include/torch/csrc/api/include")],
        define_macros=[("TORCH_EXTENSION_NAME", "_C"), ("TORCH_API_INCLUDE_EXTENSION_H", None), ("_GLIBCXX_USE_CXX11_ABI", str(torch["abi"]))],
        extra_compile_args=[*sources.FLAGS, *options, "-g0"],
        extra_link_args=[f"-L{folder / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python", *libraries],
        depends=[str(path) for path in [*HERE.glob("*.hpp"), *(ROOT / "include").rglob("*.hpp")]],
        language="c++",
    )


class Build(build_ext):
    """Several files at a time."""

    def build_extension(self, ext):
        compile_one = self.compiler.compile

        def compile_all(files, **options):
            with ThreadPoolExecutor(int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)) as pool:
                return [name for names in pool.map(lambda file: compile_one([file], **options), files) for name in names]

        self.compiler.compile = compile_all
        if gpus():
            ext.extra_objects = self.compile_for_gpus(ext)
        super().build_extension(ext)

    def compile_for_gpus(self, ext):
        """setuptools does not know nvcc. @return the object files"""
        folder = pathlib.Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        options = [word for word in ext.extra_compile_args if word.startswith(("-D", "-std", "-O"))]
        command = [str(pathlib.Path(torch["home"], "bin", "nvcc")), *options, *architectures(), "-Xcompiler", "-fPIC,-fvisibility=hidden",
                   *(f"-I{path}" for path in ext.include_dirs), "-c"]

        def compile_one(name):
            made = folder / f"{name}.o"
            subprocess.run([*command, str(HERE / f"{name}.cu"), "-o", str(made)], check=True)
            return str(made)

        with ThreadPoolExecutor(int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)) as pool:
            return list(pool.map(compile_one, sources.GPU_SOURCES))


class Modules(build_py):
    """Adds what the extension was built for, and the licence."""

    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib) / "ccoll_torch"
        facts = {"gpus": gpus(), "torch": torch["version"], "link": LINK, "libucx": ucx is not None and ucx.requirement is not None}
        (package / "_built.py").write_text("".join(f"{name} = {value!r}\n" for name, value in facts.items()))
        shutil.copy(ROOT / "LICENSE", package)


class Sources(sdist):
    """With the headers of ccoll and the licence."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        shutil.copytree(ROOT / "include", pathlib.Path(base_dir) / "include", dirs_exist_ok=True)
        shutil.copy(ROOT / "LICENSE", base_dir)


def dependencies():
    if torch is None:
        return ["torch", "numpy"]
    exact = torch["version"].split("+")[0]  # torch promises no binary interface to extensions across versions
    return [f"torch=={exact}", "numpy", *([ucx.requirement] if ucx is not None and ucx.requirement else [])]


def folders():
    """Where setuptools builds: not beside the sources of the repository."""
    if not IN_REPOSITORY:
        return {}
    kind = f"{torch['version'] if torch else 'none'}-{pathlib.Path(LINK).name}-{'pypi' if ucx is not None and ucx.requirement else 'system'}"
    if compiles and gpus():
        kind += "-cuda"
    base = ROOT / "build" / "torch" / "wheel" / kind
    base.mkdir(parents=True, exist_ok=True)
    return {"build": {"build_base": str(base)}, "egg_info": {"egg_base": str(base)}}


setup(
    version=version(),
    install_requires=dependencies(),
    setup_requires=[ucx.requirement] if command == "egg_info" and ucx is not None and ucx.requirement else [],
    ext_modules=[extension()] if compiles and command != "dist_info" else [],
    cmdclass={"build_ext": Build, "build_py": Modules, "sdist": Sources},
    options=folders(),
)
