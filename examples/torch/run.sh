#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Trains a small net on several ranks with PyTorch, whose gradients ccoll averages. Builds the extension first in build/torch, which takes minutes;
# pip install ./examples/torch installs it.
#   examples/torch/run.sh [ucx|openmpi|mpich] [options of train.py]  --help lists them. Without one of these: ucx, started by torchrun
#   examples/torch/run.sh --install      a virtual environment in build/torch/venv with PyPI's torch and numpy (some 5 GB with their packages)
# Python is $CCOLL_TORCH_PYTHON, or python3 if it has torch, or that of the virtual environment. RANKS=<n> sets the number of ranks (2).
# Exit code 2, and a sentence, if something must be installed first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
# shellcheck source=examples/torch/python.sh
. examples/torch/python.sh

case ${1:-} in
    --install)
        [ -x build/torch/venv/bin/python ] || python3 -m venv build/torch/venv
        build/torch/venv/bin/python -m pip install torch numpy
        exit
        ;;
    -h | --help) sed -n '3,9s/^# \{0,1\}//p' examples/torch/run.sh ;;
esac

link=ucx
case ${1:-} in ucx | openmpi | mpich) link=$1 && shift ;; esac
if ! python=$(torch_python); then
    echo "PyTorch is not installed for python3: call examples/torch/run.sh --install, or set CCOLL_TORCH_PYTHON to a Python that has torch" >&2
    exit 2
fi
case $link in
    ucx) bootstrap g++ ninja-build pkg-config libucx-dev ;;
    openmpi) bootstrap g++ ninja-build libopenmpi-dev openmpi-bin ;;
    mpich) bootstrap g++ ninja-build libmpich-dev mpich ;;
esac
extension=$("$python" examples/torch/build.py "$link")
torch_ranks "$link" "${RANKS:-2}" "$extension" "$python" examples/torch/train.py "$@"
