#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu.sh [result.jsonl]: everything that needs a GPU, on a machine with a GPU, its driver and the CUDA toolkit, and nothing else. Builds the
# device tests and benchmarks, all at once, runs the tests, runs a small part under compute-sanitizer where that is installed, then the
# benchmarks. Needs neither CMake, Catch2 nor MPI: ranks are threads. Prints the last line of each program, and all of what failed; exits with
# 0 if nothing did, 77 if something is missing that it cannot do without. The last line says which: a log without it was cut.
#   NVCC=path of nvcc    ARCH=sm_90 (default: native)    MIB=256 (raw data of the benchmarks)    ONLY=build | tests | benchmarks
#   WORK=folder of programs and logs (default: build/gpu)
# ONLY=build needs no GPU, but an ARCH. A later call that finds build/gpu as that call left it, on a machine with a GPU, runs those programs
# and needs no nvcc, unless the sources have changed.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
work=${WORK:-$root/build/gpu}
result=${1:-$work/result.jsonl}
only=${ONLY:-everything}
mkdir -p "$work" "$(dirname "$result")"

missing() { echo "gpu.sh: $1"; exit 77; }
ended() { # ended <exit code>
    [ "$1" = 0 ] && echo "gpu.sh: nothing failed" || echo "gpu.sh: SOMETHING FAILED"
    exit "$1"
}
case $only in everything | build | tests | benchmarks) ;; *) missing "ONLY is '$only'; it can be build, tests or benchmarks" ;; esac
# Programs that were built elsewhere are used if they are of these sources. build/gpu/built has their sum, and the release of nvcc.
sources=$(cd "$root" && find include tests/cuda tests/support examples/cuda_allreduce.cu -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
sources=${sources%% *} built=no
if [ "$only" != build ] && [ "$(sed -n 1p "$work/built" 2> /dev/null)" = "$sources" ]; then built=yes; fi
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc 2> /dev/null | head -1)}
if [ $built = no ]; then
    [ -x "$nvcc" ] || missing "there is no nvcc, and build/gpu has no programs of these sources; install the CUDA toolkit, set NVCC, or build elsewhere (ONLY=build)"
    command -v g++ > /dev/null || missing "there is no g++, which nvcc needs"
fi
if [ "$only" = build ]; then
    [ -n "${ARCH:-}" ] || missing "ONLY=build needs an ARCH, such as ARCH=sm_90, because it does not look for a GPU"
else
    { command -v nvidia-smi > /dev/null && nvidia-smi -L > "$work/gpus" 2>&1 && grep -q "GPU 0" "$work/gpus"; } || missing "nvidia-smi finds no GPU"
    echo "gpu.sh: $(head -1 "$work/gpus")"
fi

# A program of a few lines: does nvcc get along with g++, and the driver with the toolkit?
cat > "$work/probe.cu" << 'end'
#include <concepts>
#include <cstdio>
#include <cuda_runtime.h>
__global__ void set(int* to) { *to = 7; }
int main()
{
    int *at = nullptr, found = 0;
    cudaError_t e = cudaMalloc(&at, sizeof *at);
    if (e == cudaSuccess) set<<<1, 1>>>(at);
    if (e == cudaSuccess) e = cudaGetLastError();
    if (e == cudaSuccess) e = cudaMemcpy(&found, at, sizeof found, cudaMemcpyDeviceToHost);
    if (e == cudaSuccess && found == 7) return 0;
    std::printf("%s\n", e == cudaSuccess ? "a kernel wrote nothing" : cudaGetErrorString(e));
    return 1;
}
end
[ $built = yes ] || "$nvcc" -std=c++20 "-arch=${ARCH:-native}" "$work/probe.cu" -o "$work/probe" > "$work/probe.log" 2>&1 ||
    missing "nvcc cannot compile a program of a few lines as C++20: $(tail -3 "$work/probe.log")"
if [ "$only" != build ]; then
    timeout 60 "$work/probe" > "$work/probe.log" 2>&1 || missing "a program of a few lines does not run on the GPU: $(tail -3 "$work/probe.log")"
fi

flags=(-std=c++20 -O2 "-arch=${ARCH:-native}" -DCCOLL_NO_MPI "-I$root/include" "-I$root/tests" -lineinfo -Xcompiler -pthread)
failed=0
programs=() sanitizing=()
build() { # build <name> <source>
    programs+=("$1")
    [ $built = yes ] && return
    ( "$nvcc" "${flags[@]}" "$root/$2" -o "$work/$1" > "$work/build_$1.log" 2>&1; echo $? > "$work/build_$1.rc" ) &
}
run() { # run <seconds> <name> <command...>
    local seconds=$1 name=$2; shift 2
    timeout "$seconds" "$@" > "$work/$name.log" 2>&1
    local rc=$?
    case $rc in
    0) echo "passed  $name: $(tail -1 "$work/$name.log")" ;;
    77) echo "skipped $name: $(tail -1 "$work/$name.log")" ;;
    *) echo "FAILED  $name (exit $rc): $work/$name.log"; tail -20 "$work/$name.log"; failed=1 ;;
    esac
}

for source in "$root"/tests/cuda/*.cu; do build "$(basename "$source" .cu)" "tests/cuda/$(basename "$source")"; done
for source in "$root"/tests/cuda/benchmark/*.cu; do build "benchmark_$(basename "$source" .cu)" "tests/cuda/benchmark/$(basename "$source")"; done
[ -e "$root/examples/cuda_allreduce.cu" ] && build cuda_allreduce examples/cuda_allreduce.cu
wait
[ $built = yes ] && echo "gpu.sh: uses the programs that were built before"
for name in "${programs[@]}"; do
    [ "$(cat "$work/build_$name.rc")" = 0 ] && continue
    echo "FAILED  $name does not compile: $work/build_$name.log"; tail -20 "$work/build_$name.log"; failed=1
    rm -f "$work/$name"
done
if [ $built = no ] && [ $failed = 0 ]; then
    printf '%s\n%s\n' "$sources" "$("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/\1/p')" > "$work/built"
fi
[ "$only" = build ] && ended $failed

if [ "$only" != benchmarks ]; then
    sanitizer=$(command -v compute-sanitizer || ls "$(dirname "${nvcc:-/usr/local/cuda/bin/nvcc}")/compute-sanitizer" 2> /dev/null)
    [ -n "$sanitizer" ] || echo "skipped compute-sanitizer: not installed"
    for name in "${programs[@]}"; do
        [[ $name == benchmark_* || ! -x $work/$name ]] && continue
        run 200 "$name" "$work/$name"
    done
    if [ -n "$sanitizer" ]; then  # all at once: each of them waits for itself most of the time
        for name in "${programs[@]}"; do
            [[ $name == benchmark_* || $name == cuda_allreduce || ! -x $work/$name ]] && continue
            for tool in memcheck racecheck initcheck synccheck; do
                [ $tool = racecheck ] && how=race || how=brief  # it is the slowest
                (run 150 "${name}_$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 "$work/$name" $how; exit $failed) &
                sanitizing+=($!)
            done
        done
        for job in "${sanitizing[@]}"; do wait "$job" || failed=1; done
    fi
fi

if [ "$only" != tests ]; then
    printf '{"conditions": {"gpu": "%s", "driver": "%s", "clocks_mhz": "%s", "nvcc": "%s", "commit": "%s", "date": "%s", "mib": %s}}\n' \
        "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)" "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)" \
        "$(nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader,nounits | head -1)" \
        "$(sed -n 2p "$work/built")" "$(git -C "$root" rev-parse --short HEAD 2> /dev/null)" \
        "$(date -u +%FT%TZ)" "${MIB:-256}" > "$result"
    for name in "${programs[@]}"; do
        [[ $name == benchmark_* && -x $work/$name ]] || continue
        if timeout 120 "$work/$name" "${MIB:-256}" >> "$result" 2> "$work/$name.log"; then echo "passed  $name: $result: $(tail -1 "$result" | cut -c 1-100)"
        else echo "FAILED  $name (exit $?): $work/$name.log"; tail -20 "$work/$name.log"; failed=1; fi
    done
fi
ended $failed
