# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the extension that build.py has built, and starts MPI."""
import atexit
import importlib.machinery
import importlib.util
import os
import pathlib
import sys

import torch  # noqa: F401  (the extension uses its libraries)


def _file():
    if named := os.environ.get("CCOLL_TORCH_EXTENSION"):
        return named
    default = pathlib.Path(__file__).resolve().parents[3] / "build" / "torch"
    built = sorted(pathlib.Path(os.environ.get("CCOLL_TORCH_BUILD", default)).glob("*/_C.so"))
    if not built:
        raise ImportError("ccoll_torch: the extension is not built; run examples/torch/run.sh, or examples/torch/build.py")
    # The extension must be that of the launcher's MPI.
    launcher = "openmpi" if "OMPI_COMM_WORLD_SIZE" in os.environ else "mpich" if "PMI_SIZE" in os.environ else ""
    return str(next((file for file in built if launcher and launcher in file.parent.name), built[0]))


def _load():
    loader = importlib.machinery.ExtensionFileLoader("_C", _file())
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_C", loader.path, loader=loader))
    loader.exec_module(module)
    return module


_C = _load()
_C.start()
atexit.register(_C.stop)

# MPI does not end by itself when one of its ranks does: the others would wait for it.
_usual_hook = sys.excepthook


def _end_all_ranks(kind, value, trace):
    _usual_hook(kind, value, trace)
    sys.stderr.flush()
    if _C.started() and _C.size() > 1 and not issubclass(kind, SystemExit):
        _C.abort(1)


sys.excepthook = _end_all_ranks
