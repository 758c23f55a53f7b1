#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compressed collectives against plain MPI with its best settings, on 4 ranks whose links let 1 Gb/s through in each direction: a table per
# data set and size, and JSON lines in out/collectives.jsonl. Where such links cannot be made, ranks talk through this machine's memory
# instead, and the rows say so: codecs lose there, because memory is faster than they are.
#   benchmarks/run.sh collectives [--quick] [openmpi|mpich]
#       --quick   allreduce of 64 MiB and 4 MiB alone, some two minutes; otherwise all rows of the README, some ten minutes per MPI
#   Environment: RANKS (4), RATE (1gbit), REPETITIONS (5)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

ranks=${RANKS:-4} rate=${RATE:-1gbit} repetitions=${REPETITIONS:-5}
read_arguments collectives 3,8 "$@"

json=out/collectives.jsonl
mkdir -p out build/collectives
find_links "$ranks" "$rate"

# settings <file>: a line is one setting, '#' begins a comment
settings() { grep -v '^#' "$lab/$1" | tr '\n' ' '; }

# measure <mpi> <options of the program...>
measure() {
    local mpi=$1 program=build/collectives/$1 tuned
    shift
    set -- --repetitions "$repetitions" --link "$link" --json "$json" "$@"
    tuned=$(settings "tuned.$mpi")
    over_links "$ranks" "$rate" "$mpi" "$tuned" "$program" "$@"
}

: >"$json"
measured=no
for mpi in "${mpis[@]}"; do
    build_for "$mpi" collectives "build/collectives/$mpi" || continue
    measured=yes
    printf '\n== %s, tuned (%s), %s\n' "$mpi" "$lab/tuned.$mpi" "$link"
    if [ $quick = yes ]; then
        measure "$mpi" --elements 16777216 1048576
        continue
    fi
    measure "$mpi" --elements 16777216 1048576 65536 16384
    measure "$mpi" --field wavefronts --elements 16777216
    measure "$mpi" --operation bcast --elements 16777216
    measure "$mpi" --operation alltoall --elements 16777216
    measure "$mpi" --operation integrity --elements 16777216
done
[ $measured = yes ]
