#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#   examples/ucx/run.sh <ranks> <program> [arguments ...]
# Starts a program on this machine as ranks that find each other through a directory. Each gets RANK, WORLD_SIZE and EXCHANGE. The exit code is
# that of the first rank that failed; ranks that still run are then ended.
set -u
[ $# -ge 2 ] || { sed -n '3,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
ranks=$1
shift
folder=$(mktemp -d)
running=()
trap 'kill "${running[@]}" 2>/dev/null; rm -rf "$folder"' EXIT
for ((rank = 0; rank < ranks; ++rank)); do
    RANK=$rank WORLD_SIZE=$ranks EXCHANGE=$folder/exchange "$@" &
    running+=($!)
done
for ((rank = 0; rank < ranks; ++rank)); do
    wait -n || exit
done
