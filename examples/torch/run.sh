#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Trains a small net on ranks of MPI with PyTorch, whose gradients ccoll averages. Builds the extension first, which takes minutes.
#   examples/torch/run.sh [openmpi|mpich] [options of train.py]      --help lists them
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
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' examples/torch/run.sh ;;
esac

mpi=''
case ${1:-} in openmpi | mpich) mpi=$1 && shift ;; esac
if ! python=$(torch_python); then
    echo "PyTorch is not installed for python3: call examples/torch/run.sh --install, or set CCOLL_TORCH_PYTHON to a Python that has torch" >&2
    exit 2
fi
bootstrap g++ ninja-build '?libopenmpi-dev' '?openmpi-bin'
if [ -z "$mpi" ]; then
    for mpi in openmpi mpich none; do
        if [ $mpi = none ] || command -v mpicxx.$mpi >/dev/null; then break; fi
    done
fi
if ! command -v "mpicxx.$mpi" >/dev/null; then
    echo "MPI is not installed: install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich (Debian names)" >&2
    exit 2
fi
extension=$("$python" examples/torch/build.py "$mpi")
torch_ranks "$mpi" "${RANKS:-2}" "$extension" "$python" examples/torch/train.py "$@"
