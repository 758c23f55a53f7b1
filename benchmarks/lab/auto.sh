#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Codec::Auto against plain MPI with its default settings, and against the plans that it chooses from: over links of 1 Gb/s and 100 Mb/s, and
# through this machine's memory. A row per kind of data and size, and JSON lines in out/auto.jsonl.
# Then with values whose kind changes from call to call: the sum of all calls, in out/auto_orders.jsonl.
#   benchmarks/run.sh auto [--quick] [openmpi|mpich] [fields] [orders]
#       --quick   4 ranks on links of 1 Gb/s alone, some two minutes per MPI; otherwise some twenty
#       fields, orders   one of the two parts alone
#   Environment: REPETITIONS (7)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

known_parts='fields orders'
read_arguments auto 3,9 "$@"

json=out/auto.jsonl orders=out/auto_orders.jsonl
mkdir -p out build/auto
if [ ${#parts[@]} = 0 ]; then parts=(fields orders); fi
has_part() { [[ " ${parts[*]} " == *" $1 "* ]]; }
measured=no
if has_part orders; then
    conditions 'benchmarks/run.sh auto orders: the sums of the times of calls with values of changing kinds, without the first twelve of each kind' >"$orders"
fi
for mpi in "${mpis[@]}"; do
    has_part orders || break
    program=build/auto/orders_$mpi
    build_for "$mpi" auto_orders "$program" || continue
    measured=yes
    find_links 4 1gbit
    printf '\n== %s, kinds of values that change, %s\n' "$mpi" "$link"
    over_links 4 1gbit "$mpi" '' "$program" --link "$link" --json "$orders" --elements 16384 262144
    if [ $quick = yes ]; then continue; fi
    printf '\n== %s, kinds of values that change, 2 ranks through memory\n' "$mpi"
    in_memory 2 "$mpi" "$program" --link "2 ranks on one machine" --json "$orders"
done
has_part fields || [ $measured = no ] || exit 0
: >"$json"
for mpi in "${mpis[@]}"; do
    program=build/auto/$mpi
    build_for "$mpi" auto "$program" || continue
    measured=yes
    # measure <ranks> <rate> [options of the program]
    # A link of 1 Gb/s lets 34 KiB pass at once after a pause. With its usual 68 KiB, an alltoall of 64 KiB would pass four times as fast as
    # the link can carry it.
    measure() {
        find_links "$1" "$2"
        printf '\n== %s, %s\n' "$mpi" "$link"
        if [ "$2" = 1gbit ]; then export NETLAB_BURST=34816; else unset NETLAB_BURST; fi
        over_links "$1" "$2" "$mpi" '' "$program" --repetitions "${REPETITIONS:-7}" --link "$link" --json "$json" "${@:3}"
    }
    measure 4 1gbit --seconds 1 --elements 2 4096 16384 65536 262144 2097152
    if [ $quick = yes ]; then continue; fi
    measure 4 1gbit --seconds 0.5 --together 10 --elements 4096 16384
    measure 4 1gbit --seconds 1 --operation bcast alltoall --elements 16384 262144 2097152
    measure 7 1gbit --seconds 1 --elements 16384 262144 2097152
    measure 2 1gbit --seconds 0.7 --elements 16384 262144 2097152
    measure 4 100mbit --elements 16384 262144
    measure 7 100mbit --field turbulence noise --elements 16384 262144
    printf '\n== %s, 2 ranks through memory\n' "$mpi"
    in_memory 2 "$mpi" "$program" --repetitions "${REPETITIONS:-7}" --link "2 ranks on one machine" --json "$json" --elements 2 4096 16384 262144 2097152 16777216
    in_memory 4 "$mpi" "$program" --repetitions "${REPETITIONS:-7}" --link "4 ranks on one machine" --json "$json" --elements 16384 262144 2097152
    in_memory 2 "$mpi" "$program" --decision
done
[ $measured = yes ]
