#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing (Debian and Ubuntu), builds a benchmark as a user would (-O2, no -march), and runs it.
#   benchmarks/run.sh codec [options]     codecs without collectives, against memcpy and libzfp; --help lists the options. Draws out/codec.png.
#   benchmarks/run.sh codec --quick       the table of the README
#   benchmarks/run.sh ratio [options]     bits per value of SZp and of other layouts, and true maximum errors
#   benchmarks/run.sh ratio --papers      ratios of the papers' codecs on data of their kinds
#   benchmarks/run.sh threads [options]   codecs on several threads, against one thread
#   benchmarks/run.sh compile             seconds that a compiler takes for programs that use ccoll, also in out/compile.jsonl
# Paths in options are relative to the folder of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh

usage() {
    sed -n '3,10s/^# \{0,1\}//p' benchmarks/run.sh
    exit "$1"
}

# build <target>: leaves the program in build/benchmarks/benchmarks/. Prints nothing unless it fails.
build() {
    local tree=build/benchmarks log options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_EXAMPLES=OFF)
    if command -v ninja >/dev/null && [ ! -f $tree/CMakeCache.txt ]; then options+=(-G Ninja); fi
    log=$(mktemp)
    if ! { cmake -S . -B $tree "${options[@]}" && cmake --build $tree --target "$1" -j "$(nproc 2>/dev/null || echo 2)"; } >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

codec() {
    bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build' '?libzfp-dev' '?python3-matplotlib'
    build benchmark_codec
    local program=build/benchmarks/benchmarks/benchmark_codec json='' previous='' argument python
    for argument in "$@"; do
        case $previous=$argument in
            *=--help | *=-h)
                "$program" --help
                return
                ;;
            --json=*) json=$argument ;;
            *=--json=*) json=${argument#--json=} ;;
        esac
        previous=$argument
    done
    mkdir -p out
    if [ -z "$json" ]; then
        json=out/codec.jsonl
        set -- "$@" --json "$json"
    fi
    "$program" "$@"
    if python=$(bootstrap_python); then
        "$python" benchmarks/plot_codec.py "$json" out
    else
        echo "no picture: python3-matplotlib is not installed" >&2
    fi
}

what=${1:-}
[ $# -eq 0 ] || shift
case $what in
    codec) codec "$@" ;;
    ratio)
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build'
        build benchmark_ratio
        build/benchmarks/benchmarks/benchmark_ratio "$@"
        ;;
    threads)
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build'
        build benchmark_threads
        build/benchmarks/benchmarks/benchmark_threads "$@"
        ;;
    compile)
        bootstrap g++ '?libopenmpi-dev'
        benchmarks/compile_time.sh "$@"
        ;;
    -h | --help | help) usage 0 ;;
    *) usage 2 >&2 ;;
esac
