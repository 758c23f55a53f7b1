#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu.sh [result.jsonl]: everything that needs a GPU, on a machine with a GPU, its driver and the CUDA toolkit, and nothing else. Builds the
# device tests, runs them, runs a small part under compute-sanitizer where that is installed, then the benchmarks. Prints what failed; exits
# with 0 if nothing did, 77 if something is missing that it cannot do without. Takes under ten minutes on 16 cores.
#   NVCC=path of nvcc    ARCH=sm_90 (default: native)    MIB=256 (raw data of the benchmarks)    ONLY=tests | benchmarks
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
result=${1:-$root/build/gpu/result.jsonl}
work=$root/build/gpu
mkdir -p "$work" "$(dirname "$result")"

missing() { echo "gpu.sh: $1"; exit 77; }
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc 2> /dev/null | head -1)}
[ -x "$nvcc" ] || missing "there is no nvcc; install the CUDA toolkit, or set NVCC"
command -v nvidia-smi > /dev/null && nvidia-smi -L > "$work/gpus" 2>&1 && grep -q "GPU 0" "$work/gpus" || missing "nvidia-smi finds no GPU"
command -v g++ > /dev/null || missing "there is no g++, which nvcc needs"

flags=(-std=c++20 -O2 "-arch=${ARCH:-native}" -DCCOLL_NO_MPI "-I$root/include" "-I$root/tests" -lineinfo)
failed=0
run() { # run <seconds> <name> <command...>
    local seconds=$1 name=$2; shift 2
    if timeout "$seconds" "$@" > "$work/$name.log" 2>&1; then echo "passed  $name"
    else local rc=$?; [ $rc = 77 ] && { echo "skipped $name"; return; }; echo "FAILED  $name (exit $rc): $work/$name.log"; tail -20 "$work/$name.log"; failed=1; fi
}

echo "gpu.sh: $(head -1 "$work/gpus")"
"$nvcc" "${flags[@]}" "$root/tests/cuda/szp.cu" -o "$work/szp" > "$work/build_szp.log" 2>&1 &
tests=$!
"$nvcc" "${flags[@]}" "$root/tests/cuda/benchmark/szp.cu" -o "$work/benchmark" > "$work/build_benchmark.log" 2>&1 &
benchmark=$!
wait $tests || { echo "FAILED  szp.cu does not compile: $work/build_szp.log"; tail -20 "$work/build_szp.log"; failed=1; }
wait $benchmark || { echo "FAILED  benchmark/szp.cu does not compile: $work/build_benchmark.log"; tail -20 "$work/build_benchmark.log"; failed=1; }

if [ "${ONLY:-tests}" = tests ] && [ -x "$work/szp" ]; then
    run 240 szp "$work/szp"
    sanitizer=$(command -v compute-sanitizer || ls "$(dirname "$nvcc")/compute-sanitizer" 2> /dev/null)
    if [ -n "$sanitizer" ]; then
        for tool in memcheck racecheck initcheck synccheck; do
            run 90 "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 "$work/szp" brief
        done
    else
        echo "skipped compute-sanitizer: not installed"
    fi
fi

if [ "${ONLY:-benchmarks}" = benchmarks ] && [ -x "$work/benchmark" ]; then
    {
        printf '{"conditions": {"gpu": "%s", "driver": "%s", "clocks_mhz": "%s", "nvcc": "%s", "commit": "%s", "date": "%s", "mib": %s}}\n' \
            "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)" "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)" \
            "$(nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader,nounits | head -1)" \
            "$("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/\1/p')" "$(git -C "$root" rev-parse --short HEAD 2> /dev/null)" \
            "$(date -u +%FT%TZ)" "${MIB:-256}"
        timeout 180 "$work/benchmark" "${MIB:-256}"
    } > "$result" 2> "$work/benchmark.log" && echo "passed  benchmark: $result" || { echo "FAILED  benchmark: $work/benchmark.log"; failed=1; }
fi
exit $failed
