#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Seconds per step of PyTorch's DistributedDataParallel on 4 ranks whose links let 1 Gb/s through: gloo, and the hook of examples/torch
# over UCX and over MPI.
# A row per variant, and JSON lines in out/torch.jsonl. Needs a Python with torch: examples/torch/run.sh --install.
#   benchmarks/run.sh torch [--quick] [ucx|openmpi|mpich]
#       --quick   five variants, some 40 s; otherwise all, some two minutes each
#   Environment: RANKS (4), RATE (1gbit), STEPS (8), BATCH (32, points of a rank in a step)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
# shellcheck source=examples/torch/python.sh
. examples/torch/python.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

known_parts=ucx
read_arguments torch 3,9 "$@"
case " $* " in
    *" openmpi "* | *" mpich "*) ;;
    *" ucx "*) mpis=() ;;
    *) parts=(ucx) ;;
esac

if ! python=$(torch_python); then
    echo "PyTorch is not installed for python3: call examples/torch/run.sh --install, or set CCOLL_TORCH_PYTHON to a Python that has torch" >&2
    exit 2
fi
ranks=${RANKS:-4} rate=${RATE:-1gbit} json=out/torch.jsonl options=(--steps "${STEPS:-8}" --batch "${BATCH:-32}")
if [ $quick = yes ]; then options+=(--steps 4 --only gloo exact 'Bits(8)'); fi
mkdir -p out
: >"$json"
find_links "$ranks" "$rate"
export OMP_NUM_THREADS=1 PYTHONPATH=$PWD/examples/torch PYTHONWARNINGS=ignore
if [ "$limited" = yes ]; then export GLOO_SOCKET_IFNAME=eth0; fi
measured=no
if [ ${#parts[@]} = 1 ]; then
    CCOLL_TORCH_EXTENSION=$("$python" examples/torch/build.py ucx) || exit
    # A launcher of MPI starts the ranks, and that is all it does. UCX must not find that they share a machine.
    export CCOLL_TORCH_EXTENSION MASTER_ADDR=127.0.0.1 MASTER_PORT=29517
    if [ "$limited" = yes ]; then export MASTER_ADDR=r0 UCX_TLS=tcp UCX_NET_DEVICES=eth0; fi
    for mpi in mpich openmpi; do
        command -v "mpicxx.$mpi" >/dev/null || continue
        settings=''
        if [ "$mpi" = openmpi ]; then
            for name in CCOLL_TORCH_EXTENSION OMP_NUM_THREADS PYTHONPATH PYTHONWARNINGS GLOO_SOCKET_IFNAME MASTER_ADDR MASTER_PORT UCX_TLS UCX_NET_DEVICES; do
                settings+=" -x $name"
            done
        fi
        over_links "$ranks" "$rate" "$mpi" "$settings" "$python" benchmarks/torch_step.py --link "$link" --json "$json" "${options[@]}"
        measured=yes
        break
    done
    unset MASTER_ADDR MASTER_PORT UCX_TLS UCX_NET_DEVICES
fi
for mpi in "${mpis[@]}"; do
    command -v "mpicxx.$mpi" >/dev/null || continue
    CCOLL_TORCH_EXTENSION=$("$python" examples/torch/build.py "$mpi") || exit
    export CCOLL_TORCH_EXTENSION
    settings=''
    if [ "$mpi" = openmpi ]; then settings='-x CCOLL_TORCH_EXTENSION -x OMP_NUM_THREADS -x PYTHONPATH -x PYTHONWARNINGS -x GLOO_SOCKET_IFNAME'; fi
    over_links "$ranks" "$rate" "$mpi" "$settings" "$python" benchmarks/torch_step.py --link "$link" --json "$json" "${options[@]}"
    measured=yes
done
[ $measured = yes ]
