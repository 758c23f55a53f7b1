#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The cost model beside what calls take, on 2, 4 and 8 ranks whose links let 1 Gb/s and 100 Mb/s through. A row per call, and JSON lines in
# out/model_lab.jsonl.
#   benchmarks/run.sh model --lab [--quick] [openmpi|mpich]
#       --quick   4 ranks on links of 1 Gb/s alone, a minute per MPI; otherwise some ten
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

read_arguments model 3,6 "$@"

json=out/model_lab.jsonl
mkdir -p out build/model
: >"$json"
measured=no
for mpi in "${mpis[@]}"; do
    program=build/model/$mpi
    build_for "$mpi" model_lab "$program" || continue
    measured=yes
    # measure <ranks> <rate> [options of the program]
    measure() {
        find_links "$1" "$2"
        printf '\n== %s, %s\n' "$mpi" "$link"
        over_links "$1" "$2" "$mpi" '' "$program" --link "$link" --json "$json" "${@:3}"
    }
    measure 4 1gbit --elements 262144 1048576 4194304
    if [ $quick = yes ]; then continue; fi
    measure 2 1gbit --elements 262144 1048576 4194304
    measure 8 1gbit --elements 262144 1048576 4194304
    measure 4 100mbit --elements 16384 262144 1048576
    measure 2 100mbit --elements 16384 262144 1048576
    measure 8 100mbit --elements 16384 262144 1048576
done
[ $measured = yes ]
