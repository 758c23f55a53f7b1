#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compressed collectives against plain MPI with its best settings, on 4 ranks whose links let 1 Gb/s through in each direction: a table per
# data set and size, and JSON lines in out/collectives.jsonl. Where such links cannot be made, ranks talk through this machine's memory
# instead, and the rows say so: codecs lose there, because memory is faster than they are.
#   benchmarks/run.sh collectives [--quick] [--shown] [--osu] [openmpi|mpich]
#       --quick   allreduce of 64 MiB and 4 MiB alone, three calls of each, some four minutes with both MPIs, of which the compiler takes half;
#                 otherwise all rows, some ten minutes per MPI
#       --shown   the rows that docs/performance.md shows, and no others; some five minutes with both MPIs
#       --osu     latencies from 8 bytes to 64 MiB of allreduce, bcast and alltoall, plain MPI beside plans of ccoll, in the layout of the
#                 OSU micro-benchmarks: average, least and most of the ranks; JSON lines in out/osu.jsonl. Some four minutes per MPI, and
#                 with --quick (up to 1 MiB) one
#   Environment: RANKS (4), RATE (1gbit), REPETITIONS (5; 3 with --quick)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

ranks=${RANKS:-4} rate=${RATE:-1gbit}
known_flags='--osu --shown'
read_arguments collectives 3,14 "$@"
repetitions=${REPETITIONS:-5}
if [ $quick = yes ]; then repetitions=${REPETITIONS:-3}; fi

mkdir -p out build/collectives

# settings <file>: a line is one setting, '#' begins a comment
settings() { grep -v '^#' "$lab/$1" | tr '\n' ' '; }

# measure <mpi> <source> <options of the program...>
measure() {
    local mpi=$1 source=$2
    shift 2
    find_links "$ranks" "$rate"
    over_links "$ranks" "$rate" "$mpi" "$(settings "tuned.$mpi")" "build/collectives/$mpi-$source" --link "$link" --json "$json" "$@"
}
rows() { measure "$1" collectives --repetitions "$repetitions" "${@:2}"; }

source=collectives json=out/collectives.jsonl
if [[ $flags == *--osu* ]]; then source=osu json=out/osu.jsonl; fi
conditions "benchmarks/run.sh collectives: $source" >"$json"
# Side by side, because each takes a minute, and before anything is measured.
compilers=() built=()
for mpi in "${mpis[@]}"; do
    if ! command -v "mpicxx.$mpi" >/dev/null; then echo "$mpi is not installed" >&2 && continue; fi
    build_for "$mpi" $source "build/collectives/$mpi-$source" &
    compilers+=($!) built+=("$mpi")
done
for each in "${compilers[@]+"${compilers[@]}"}"; do wait "$each" || exit 1; done
for mpi in "${built[@]+"${built[@]}"}"; do
    printf '\n== %s, tuned (%s)\n' "$mpi" "$lab/tuned.$mpi"
    if [ $source = osu ]; then
        if [ $quick = yes ]; then measure "$mpi" osu --most 1048576; else measure "$mpi" osu; fi
    elif [ $quick = yes ]; then
        rows "$mpi" --elements 16777216 1048576
    elif [[ $flags == *--shown* ]]; then  # as SHOWN in benchmarks/tables.py
        more=() moved=()
        if [ "$mpi" = openmpi ]; then
            more=('Rabenseifner SZp' 'Ring PipeSZx' 'Ring PerHop ZFP ABS') moved=('ScatterAllgather SZp' 'Binomial PipeSZx' 'Pairwise Lossless')
        fi
        rows "$mpi" --elements 16777216 --only 'Ring SZp' "${more[@]+"${more[@]}"}"
        rows "$mpi" --elements 1048576 65536 16384 --only 'Ring SZp' 'RecursiveDoubling SZp'
        rows "$mpi" --field wavefronts --elements 16777216 --only 'Ring SZp'
        rows "$mpi" --operation bcast --elements 16777216 --only 'Chain SZp' "${moved[@]+"${moved[@]}"}"
        rows "$mpi" --operation alltoall --elements 16777216 --only 'Pairwise SZp' "${moved[@]+"${moved[@]}"}"
    else
        rows "$mpi" --elements 16777216 1048576 65536 16384
        rows "$mpi" --field wavefronts --elements 16777216
        rows "$mpi" --operation bcast --elements 16777216
        rows "$mpi" --operation alltoall --elements 16777216
        rows "$mpi" --operation integrity --elements 16777216
    fi
done
[ ${#built[@]} -gt 0 ]
