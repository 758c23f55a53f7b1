#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# To be sourced: says where a measurement would share the processors with other programs.
#   say_if_busy [what]     one sentence on stderr if more than a tenth of a core was busy for half a second; what: the command to run again
#   idle.sh --check-itself

# busy_cores <cores> <line> <line>: how many were busy between two readings of the first line of /proc/stat
busy_cores() {
    printf '%s\n%s\n' "$2" "$3" | awk -v cores="$1" '
        { all = 0; for (i = 2; i <= 9; i++) all += $i; idle = $5 + $6 }
        NR == 1 { all0 = all; idle0 = idle }
        END { if (all > all0) printf "%.1f", cores * (1 - (idle - idle0) / (all - all0)); else printf "0.0" }'
}

say_if_busy() {
    [ -r /proc/stat ] || return 0
    local before after busy others cores
    cores=$(nproc 2>/dev/null || echo 1)
    read -r before </proc/stat
    sleep 0.5
    read -r after </proc/stat
    busy=$(busy_cores "$cores" "$before" "$after")
    if awk -v busy="$busy" 'BEGIN { exit !(busy > 0.1) }'; then
        others=$(ps -eo pcpu=,comm= --sort=-pcpu 2>/dev/null | awk '$1 > 10 && $2 != "ps" && n < 3 { printf "%s%s", (n++ ? ", " : ""), $2 }') || others=''
        echo "This machine is not idle: $busy of its $cores cores are busy${others:+ ($others)}. The figures below are worse than they could be." >&2
    fi
}

if [ "${1:-}" = --check-itself ] && [ "${BASH_SOURCE[0]}" = "$0" ]; then
    #                   user nice system idle iowait irq softirq steal
    [ "$(busy_cores 2 'cpu 100 0 0 900 0 0 0 0' 'cpu 100 0 0 1000 0 0 0 0')" = 0.0 ] || exit 1
    [ "$(busy_cores 2 'cpu 100 0 0 900 0 0 0 0' 'cpu 150 0 0 950 0 0 0 0')" = 1.0 ] || exit 1
    [ "$(busy_cores 4 'cpu 100 0 0 900 0 0 0 0' 'cpu 120 20 10 940 10 0 0 0')" = 2.0 ] || exit 1
    [ "$(busy_cores 2 'cpu 1 0 0 9 0 0 0 0' 'cpu 1 0 0 9 0 0 0 0')" = 0.0 ] || exit 1
fi
