# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the extension, and starts what it has once in a process."""
import atexit
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import time

import torch  # noqa: F401  (the extension uses its libraries)

# How long a program that ends waits for its calls under way.
_PATIENCE_S = 10


def _prepare():
    """What pip has installed fits one torch, and may need UCX from PyPI."""
    from . import _built

    if _built.torch != torch.__version__:
        raise ImportError(f"ccoll_torch: compiled for torch {_built.torch}, and this is torch {torch.__version__}; install it again "
                          "(pip install --force-reinstall --no-deps --no-cache-dir)")
    if _built.libucx:
        import libucx

        libucx.load_library()


def _file():
    if named := os.environ.get("CCOLL_TORCH_EXTENSION"):
        return named
    here = pathlib.Path(__file__).resolve()
    if installed := sorted(here.parent.glob("_C*.so")):
        _prepare()
        return str(installed[0])
    built = sorted(pathlib.Path(os.environ.get("CCOLL_TORCH_BUILD", here.parents[3] / "build" / "torch")).glob("*/_C.so"))
    if not built:
        raise ImportError("ccoll_torch: the extension is not built; run examples/torch/run.sh, or examples/torch/build.py")
    # Ranks of mpirun use the extension of its MPI; others need none.
    launcher = "openmpi" if "OMPI_COMM_WORLD_SIZE" in os.environ else "mpich" if "PMI_SIZE" in os.environ else "ucx"
    return str(next((file for file in built if launcher in file.parent.name), built[0]))


def _load():
    loader = importlib.machinery.ExtensionFileLoader("_C", _file())
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_C", loader.path, loader=loader))
    loader.exec_module(module)
    return module


_C = _load()
_C.start()

# Other ranks must hear of it when this one ends with an exception. Other hooks may stand before this one, such as that of torch.distributed, and
# they print what has happened; so the others are told later, at exit.
_usual_hook = sys.excepthook
_failed = False


def _note_failure(kind, value, trace):
    global _failed
    _failed = True
    _usual_hook(kind, value, trace)


def _stop():
    # MPI does not end by itself when one of its ranks does: the others would wait for it.
    if _failed and _C.started() and (_C.launched() or (0, 1))[1] > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)  # launchers drop what they have not read yet
        _C.end_all(1)
    _C.stop(0 if _failed else _PATIENCE_S)


sys.excepthook = _note_failure
atexit.register(_stop)
