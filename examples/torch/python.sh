# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by scripts that run PyTorch on several ranks, in the root of the repository.

has_torch() { "$1" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' >/dev/null 2>&1; }

# Prints a Python that has torch; fails if there is none.
torch_python() {
    local python
    for python in "${CCOLL_TORCH_PYTHON:-}" python3 build/torch/venv/bin/python; do
        if [ -n "$python" ] && has_torch "$python"; then
            command -v "$python"
            return
        fi
    done
    return 1
}

# torch_ranks ucx|<mpi> <ranks> <extension> <python> <program...>: by torchrun, or by mpirun; with Open MPI also more ranks than cores, and as root
# in a container; MPICH allows both.
# Two ranks that each start as many threads as there are cores would only wait for each other, so OMP_NUM_THREADS is 1 unless it is set.
torch_ranks() {
    local link=$1 ranks=$2
    export CCOLL_TORCH_EXTENSION=$3 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONPATH=$PWD/examples/torch${PYTHONPATH:+:$PYTHONPATH}
    shift 3
    if [ "$link" = ucx ]; then
        "$1" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "${@:2}"
        return
    fi
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 \
        OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
        "mpirun.$link" -n "$ranks" "$@"
}
