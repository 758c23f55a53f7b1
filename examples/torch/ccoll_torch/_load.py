# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the extension that build.py has built, and starts MPI."""
import atexit
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import time

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

# MPI does not end by itself when one of its ranks does: the others would wait for it. Other hooks may stand before this one, such as that of
# torch.distributed, and they print what has happened; so the ranks are ended later, at exit.
_usual_hook = sys.excepthook
_failed = False


def _note_failure(kind, value, trace):
    global _failed
    _failed = True
    _usual_hook(kind, value, trace)


def _stop():
    if _failed and _C.started() and _C.size() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)  # launchers drop what they have not read yet
        _C.abort(1)
    _C.stop()


sys.excepthook = _note_failure
atexit.register(_stop)
