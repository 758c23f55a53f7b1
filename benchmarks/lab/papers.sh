#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What C-Coll and ghZCCL compare, idea by idea, beside plain MPI with its default settings, on 4 ranks whose links let 1 Gb/s through. A row
# per plan, and JSON lines in out/papers.jsonl.
#   benchmarks/run.sh papers [--quick] [openmpi|mpich]
#       --quick   allreduce and bcast of turbulence alone; otherwise some two minutes per MPI
#   Environment: RANKS (4), RATE (1gbit)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

read_arguments papers 3,7 "$@"

ranks=${RANKS:-4} rate=${RATE:-1gbit} json=out/papers.jsonl options=()
if [ $quick = yes ]; then options=(--operation allreduce bcast --field turbulence); fi
mkdir -p out build/papers
: >"$json"
measured=no
for mpi in "${mpis[@]}"; do
    program=build/papers/$mpi
    build_for "$mpi" papers "$program" || continue
    measured=yes
    find_links "$ranks" "$rate"
    over_links "$ranks" "$rate" "$mpi" '' "$program" --link "$link" --json "$json" "${options[@]+"${options[@]}"}"
done
[ $measured = yes ]
