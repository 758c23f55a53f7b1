#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A test of examples/torch:  run.sh <mpi> <ranks> hook|backend|compiled|parallel [part...]      run.sh <mpi> build: builds the extension
# Exit code 77 (skipped) where no Python has torch: see examples/torch/run.sh.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
# shellcheck source=examples/torch/python.sh
. examples/torch/python.sh
python=$(torch_python) || {
    echo "skipped: no Python has torch (examples/torch/run.sh --install)"
    exit 77
}
extension=$("$python" examples/torch/build.py "$1")
case $? in
    0) ;;
    2) exit 77 ;;
    *) exit 1 ;;
esac
[ "$2" != build ] || exit 0
torch_ranks "$1" "$2" "$extension" "$python" tests/torch/program.py "${@:3}"
