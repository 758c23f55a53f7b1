#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Measures what README.md, docs/performance.md and docs/szp.md show, and prints their tables as Markdown (benchmarks/tables.py), also in out/readme.md.
#   benchmarks/run.sh readme [part ...]
#       collectives (some five minutes), small (calls without a codec, overlap), codecs, threads; tables: prints what is there
#       Without a part, all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

known_parts='collectives small codecs threads tables'
read_arguments readme 3,6 "$@"
if [ ${#parts[@]} = 0 ]; then read -ra parts <<<"$known_parts"; fi

# Two ranks, with a core each if there are two: latencies through memory, overlap on links, where waiting ranks spin, because each has a core.
small() {
    local mpi program json=out/small.jsonl
    mkdir -p out build/collectives
    : >$json
    for mpi in "${mpis[@]}"; do
        program=build/collectives/$mpi-collectives
        build_for "$mpi" collectives "$program" || continue
        find_links 2 1gbit
        in_memory 2 "$mpi" "$program" --operation small --json $json
        NETLAB_SPIN=1 over_links 2 1gbit "$mpi" '' "$program" --operation overlap --json $json
    done
}

for part in "${parts[@]}"; do
    case $part in
        collectives) $lab/collectives.sh --shown "${mpis[@]}" ;;
        small) small ;;
        codecs) benchmarks/run.sh codec --quick --runs 25 ;;
        threads)
            rm -f out/threads.jsonl
            benchmarks/run.sh threads --json out/threads.jsonl
            ;;
    esac
done
printf '\n'
python3 benchmarks/tables.py out | tee out/readme.md
