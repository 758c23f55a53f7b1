#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A test of examples/torch:
#   run.sh ucx|<mpi> build                                builds the extension
#   run.sh ucx|<mpi> <ranks> hook|backend|outer|notices|compiled|parallel [part...]
#   run.sh ucx <ranks> faults [scenario...]
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
if [ "$3" = faults ]; then
    export CCOLL_TORCH_EXTENSION=$extension OMP_NUM_THREADS=1 PYTHONPATH=$PWD/examples/torch
    exec "$python" tests/torch/faults.py "$2" "${@:4}"
fi
torch_ranks "$1" "$2" "$extension" "$python" tests/torch/program.py "${@:3}"
