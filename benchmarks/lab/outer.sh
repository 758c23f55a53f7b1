#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ccoll::outer_steps in 4 and 8 bits, beside the same step with an exact average by plain MPI with its best settings, on 2 and 4 ranks whose links
# let 1 Gb/s, and then 100 Mb/s, through in each direction. A row per variant, and JSON lines in out/outer.jsonl. The last column is the time that
# the bytes need on a link, as a share of the time of a step.
#   benchmarks/run.sh outer [--quick] [openmpi|mpich]
#       --quick   2 million weights in place of 16, three steps of each
#   Environment: RANKS ("2 4"), RATES ("1gbit 100mbit"), REPETITIONS (5; 3 with --quick)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

read_arguments outer 3,8 "$@"
repetitions=${REPETITIONS:-5} millions=16
if [ $quick = yes ]; then repetitions=${REPETITIONS:-3} millions=2; fi

mkdir -p out build/outer
json=out/outer.jsonl
conditions "benchmarks/run.sh outer" >"$json"
measured=no
for mpi in "${mpis[@]}"; do
    program=build/outer/$mpi
    build_for "$mpi" outer "$program" || continue
    measured=yes
    settings=$(grep -v '^#' "$lab/tuned.$mpi" | tr '\n' ' ')
    for rate in ${RATES:-1gbit 100mbit}; do
        case $rate in
            *gbit) gbit=${rate%gbit} ;;
            *mbit) gbit=$(awk "BEGIN { print ${rate%mbit} / 1000 }") ;;
            *) echo "RATES: $rate is neither <n>gbit nor <n>mbit" >&2 && exit 2 ;;
        esac
        for ranks in ${RANKS:-2 4}; do
            find_links "$ranks" "$rate"
            [ "$limited" = yes ] || gbit=0
            printf '\n== %s, tuned (%s), %s\n' "$mpi" "$lab/tuned.$mpi" "$link"
            over_links "$ranks" "$rate" "$mpi" "$settings" "$program" --millions $millions --repetitions "$repetitions" --gbit "$gbit" \
                --link "$link" --json "$json"
        done
    done
done
[ $measured = yes ]
