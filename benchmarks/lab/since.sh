#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ccoll::since: weights in bf16 of which a step has changed 1 and 3 %, beside plain MPI with its best settings and all weights, on 4 ranks whose
# links let 1 Gb/s through in each direction. A row per kind of change, and JSON lines in out/since.jsonl.
#   benchmarks/run.sh since [--quick] [openmpi|mpich]
#       --quick   64 MiB in place of 256, three calls of each
#   Environment: RANKS (4), RATE (1gbit), REPETITIONS (5; 3 with --quick)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

ranks=${RANKS:-4} rate=${RATE:-1gbit}
read_arguments since 3,7 "$@"
repetitions=${REPETITIONS:-5} mib=256
if [ $quick = yes ]; then repetitions=${REPETITIONS:-3} mib=64; fi

mkdir -p out build/since
json=out/since.jsonl
conditions "benchmarks/run.sh since" >"$json"
measured=no
for mpi in "${mpis[@]}"; do
    program=build/since/$mpi
    build_for "$mpi" since "$program" || continue
    measured=yes
    find_links "$ranks" "$rate"
    printf '\n== %s, tuned (%s), %s\n' "$mpi" "$lab/tuned.$mpi" "$link"
    settings=$(grep -v '^#' "$lab/tuned.$mpi" | tr '\n' ' ')
    over_links "$ranks" "$rate" "$mpi" "$settings" "$program" --mib $mib --repetitions "$repetitions" --link "$link" --json "$json"
done
[ $measured = yes ]
