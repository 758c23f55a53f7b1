#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing (Debian and Ubuntu), builds a benchmark as a user would (-O2, no -march), and runs it.
#   benchmarks/run.sh codec [options]     codecs without collectives, against memcpy and libzfp; --help lists the options. Draws out/codec.png.
#   benchmarks/run.sh codec --quick       the table of docs/performance.md
#   benchmarks/run.sh codec --weights     Lossless on weights: f32, bf16, and a file of raw f32 that --model names
#   benchmarks/run.sh ratio [options]     bits per value of SZp and of other layouts, and true maximum errors
#   benchmarks/run.sh ratio --papers      ratios of the papers' codecs on data of their kinds
#   benchmarks/run.sh sums [options]      what sums of two-byte numbers over 2 to 1,024 simulated ranks have lost: docs/deep_learning.md
#   benchmarks/run.sh threads [options]   codecs on several threads, against one thread
#   benchmarks/run.sh collectives [options]  collectives against tuned plain MPI, 4 ranks on links of 1 Gb/s; --osu: in OSU's layout; --help
#   benchmarks/run.sh auto [options]      Codec::Auto against plain MPI, and against the plans that it chooses from; --help lists the options
#   benchmarks/run.sh papers [options]    the figures of the five papers, on links of 1 Gb/s and in models; draws out/papers_*.png; --help
#   benchmarks/run.sh model [options]     a model: where compression pays on up to 65,536 ranks and links of 400 Gb/s; draws out/model.png
#   benchmarks/run.sh model --lab [options]  the model beside measurements on links of 1 Gb/s and 100 Mb/s; --help lists the options
#   benchmarks/run.sh apps [options]      the applications, plain and compressed: examples/run.sh apps
#   benchmarks/run.sh readme [part ...]   measures what README, docs/performance.md and docs/szp.md show, and prints their tables: ten minutes; --help
#   benchmarks/run.sh torch [options]     steps of PyTorch's DistributedDataParallel with gloo, MPI and our hook, on links of 1 Gb/s; --help lists the options
#   benchmarks/run.sh outer [options]     outer steps in few bits, against the same with an exact average by plain MPI, on slow links; --help
#   benchmarks/run.sh since [options]     what has changed in weights since the last step, against all weights by plain MPI; --help lists the options
#   benchmarks/run.sh unmodified [options]  programs in Fortran and Python without and with examples/preload, on links of 1 Gb/s; --help
#   benchmarks/run.sh all                 codec, collectives, auto, papers, model and apps, each in its short form, one after another
#   benchmarks/run.sh compare <before> <after>  two runs, as JSON lines: what has moved beyond its spread
#   benchmarks/run.sh compile             seconds that a compiler takes for programs that use ccoll, also in out/compile.jsonl
# Paths in options are relative to the folder of the repository. The exit code is 2 for wrong options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
# shellcheck source=benchmarks/lab/idle.sh
. benchmarks/lab/idle.sh

usage() {
    sed -n '3,/^set /s/^# \{0,1\}//p' benchmarks/run.sh
    exit "$1"
}

# build <target>: leaves the program in build/benchmarks/benchmarks/.
build() {
    local tree=build/benchmarks log options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_EXAMPLES=OFF)
    if command -v ninja >/dev/null && [ ! -f $tree/CMakeCache.txt ]; then options+=(-G Ninja); fi
    [ -x "$tree/benchmarks/$1" ] || echo "building $1, which may take a minute" >&2
    log=$(mktemp)
    if ! { cmake -S . -B $tree "${options[@]}" && cmake --build $tree --target "$1" -j "$(nproc 2>/dev/null || echo 2)"; } >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

# run <program> [options]: CLI11 has a code of its own for every kind of mistake in options, all of them from 100 on.
run() {
    local code=0
    asks_for_help "$@" || say_if_busy
    "$@" || code=$?
    [ $code -lt 100 ] || code=2
    return $code
}

# asks_for_help [options]
asks_for_help() {
    local argument
    for argument in "$@"; do
        case $argument in -h | --help) return 0 ;; esac
    done
    return 1
}

codec() {
    bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build' '?libzfp-dev' '?python3-matplotlib'
    build benchmark_codec
    local program=build/benchmarks/benchmarks/benchmark_codec json='' previous='' argument python bounded=yes
    for argument in "$@"; do
        case $previous=$argument in
            *=--help | *=-h)
                "$program" --help
                return
                ;;
            --json=*) json=$argument ;;
            *=--json=*) json=${argument#--json=} ;;
        esac
        case $argument in --weights) bounded= ;; esac  # there is nothing to draw over bounds
        previous=$argument
    done
    mkdir -p out
    if [ -z "$json" ]; then
        json=out/codec.jsonl
        set -- --json "$json" "$@"  # in front, so that an option without its value cannot take it for one
    fi
    run "$program" "$@"
    [ -n "$bounded" ] || return 0
    if python=$(bootstrap_python); then
        "$python" benchmarks/plot_codec.py "$json" out
    else
        echo "no picture: python3-matplotlib is not installed" >&2
    fi
}

what=${1:-}
[ $# -eq 0 ] || shift
if asks_for_help "$@"; then
    case $what in
        codec | ratio | sums | threads | model) [ "${1:-}" = --lab ] || printf 'Options of benchmarks/run.sh %s (the program is built first, which may take a minute):\n\n' "$what" ;;
        compile)
            sed -n '3,7s/^# \{0,1\}//p' benchmarks/compile_time.sh
            exit 0
            ;;
    esac
fi
case $what in
    codec) codec "$@" ;;
    ratio)
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build'
        build benchmark_ratio
        run build/benchmarks/benchmarks/benchmark_ratio "$@"
        ;;
    sums)
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build'
        build benchmark_sums
        run build/benchmarks/benchmarks/benchmark_sums "$@"
        ;;
    threads)
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build'
        build benchmark_threads
        run build/benchmarks/benchmarks/benchmark_threads "$@"
        ;;
    compile)
        if [ $# -gt 0 ]; then
            echo "benchmarks/run.sh compile takes no options, and found '$1'; benchmarks/run.sh compile --help has its variables" >&2
            exit 2
        fi
        bootstrap g++ '?libopenmpi-dev'
        benchmarks/compile_time.sh "$@"
        ;;
    model)
        if [ "${1:-}" = --lab ]; then exec benchmarks/lab/model.sh "${@:2}"; fi
        bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build' '?python3-matplotlib'
        build benchmark_model
        if asks_for_help "$@"; then exec build/benchmarks/benchmarks/benchmark_model --help; fi
        mkdir -p out
        rm -f out/model.jsonl
        run build/benchmarks/benchmarks/benchmark_model --json out/model.jsonl "$@"
        if python=$(bootstrap_python); then "$python" benchmarks/plot_model.py; else echo "no picture: python3-matplotlib is not installed" >&2; fi
        ;;
    collectives) exec benchmarks/lab/collectives.sh "$@" ;;
    auto) exec benchmarks/lab/auto.sh "$@" ;;
    apps) exec examples/run.sh apps "$@" ;;
    all)
        for each in 'codec --quick' 'collectives --quick' 'auto --quick' 'papers --quick' model 'model --lab --quick' 'apps --quick'; do
            printf '\n=== benchmarks/run.sh %s\n' "$each"
            # shellcheck disable=SC2086 # words
            benchmarks/run.sh $each
        done
        ;;
    compare) exec python3 benchmarks/compare.py "$@" ;;
    papers) exec benchmarks/lab/papers.sh "$@" ;;
    readme) exec benchmarks/lab/readme.sh "$@" ;;
    since) exec benchmarks/lab/since.sh "$@" ;;
    outer) exec benchmarks/lab/outer.sh "$@" ;;
    torch) exec benchmarks/lab/torch.sh "$@" ;;
    unmodified) exec benchmarks/lab/unmodified.sh "$@" ;;
    -h | --help | help) usage 0 ;;
    *) usage 2 >&2 ;;
esac
