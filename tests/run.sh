#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds and runs every test: with g++ and every MPI, then with clang, then under the sanitizers, then the kernels for aarch64 in an emulator.
# Every compiler checks the headers and the programs that must not compile. Installs what is missing on Debian and Ubuntu. The last line is
# '<n> passed, <n> failed'.
#   tests/run.sh [--quick] [ctest options]      --quick: no sanitizers, no second compiler for the unit tests
# Build trees: build/tests, build/clang, build/asan, build/tsan, build/neon. The exit code is 0 if something ran and nothing failed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
exec </dev/null

quick=no
ctest_options=()
for argument in "$@"; do
    case $argument in
        --quick) quick=yes ;;
        -h | --help)
            sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) ctest_options+=("$argument") ;;
    esac
done

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
bootstrap g++ cmake make catch2 '?libzfp-dev' '?ninja-build' '?ccache' '?libopenmpi-dev' '?openmpi-bin' '?libmpich-dev' '?mpich' '?clang' '?clang-19' '?clang-format-19' \
    '?libclang-rt-19-dev' '?libcli11-dev' '?nlohmann-json3-dev' '?libfmt-dev' '?g++-aarch64-linux-gnu' '?qemu-user'

jobs=$(nproc 2>/dev/null || echo 2)
if command -v ninja >/dev/null; then export CMAKE_GENERATOR=Ninja; fi
# With CCACHE_DEPEND a file that is not in the cache is not preprocessed first, which matters because at first none is.
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1; fi
# A clang that is newer than the distribution's default has better diagnostics.
clang=$(command -v clang++-19 || command -v clang++ || true)

passed=0 failed=0 skipped=0
failures=()
note_failure() { failed=$((failed + 1)); failures+=("$1"); }
count() { grep -c "$2" "$1" || true; }

# suite <preset> <build tree> [cache variables]: builds a tree and runs its tests. A tree that does not configure, or whose build has an
# error, counts as one more failure.
suite() {
    local preset=$1 tree=build/$2 junit=$PWD/build/$2/junit.xml
    shift 2
    local begin=$SECONDS
    echo "== $preset: $tree"
    if ! cmake --preset "$preset" -B "$tree" "$@" >"build/$preset.configure.log" 2>&1; then
        cat "build/$preset.configure.log"
        note_failure "$preset: does not configure"
        return
    fi
    local keep_going=(-k)
    if grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja' "$tree/CMakeCache.txt"; then keep_going=(-k 0); fi
    if ! cmake --build "$tree" -j "$jobs" -- "${keep_going[@]}" >"build/$preset.build.log" 2>&1; then
        grep -v '^\[[0-9]*/[0-9]*\] ' "build/$preset.build.log" | tail -n 200
        note_failure "$preset: does not build (build/$preset.build.log)"
    fi
    echo "   built in $((SECONDS - begin)) s"
    rm -f "$junit"
    (cd "$tree" && ctest -j "$jobs" --output-on-failure --output-junit "$junit" "${ctest_options[@]+"${ctest_options[@]}"}") |
        grep --line-buffered -v -e ' *Start *[0-9]*: ' -e ' Passed  *[0-9.]* sec$'
    if [ ! -s "$junit" ]; then
        note_failure "$preset: ctest reports nothing"
        return
    fi
    # 'notrun' means skipped only if the test or its properties asked for it. If a program does not exist, its test has failed.
    local ran bad skips
    ran=$(count "$junit" '<testcase .*status="run"')
    skips=$(count "$junit" '<skipped message="SKIP_')
    bad=$(($(count "$junit" '<testcase ') - ran - skips))
    passed=$((passed + ran)) skipped=$((skipped + skips)) failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then failures+=("$preset: $bad"); fi
    echo "   $ran passed, $bad failed, $skips skipped in $((SECONDS - begin)) s"
}

# sanitizer_compiler <sanitizers>: the first compiler whose sanitizers are installed and work on this kernel.
sanitizer_compiler() {
    local compiler
    mkdir -p build/probe
    printf '#include <thread>\nint main() { std::thread([] {}).join(); }\n' >build/probe/thread.cpp
    for compiler in $clang "${CXX:-g++}"; do
        if "$compiler" -fsanitize="$1" -pthread build/probe/thread.cpp -o build/probe/thread >/dev/null 2>&1 && build/probe/thread >/dev/null 2>&1; then
            echo "$compiler"
            return
        fi
    done
}
# sanitized <preset> <build tree> <sanitizers>: runs a suite under sanitizers. clang is preferred: its sanitizers find more, and it builds in
# half the time.
sanitized() {
    local compiler
    compiler=$(sanitizer_compiler "$3")
    if [ -n "$compiler" ]; then
        suite "$1" "$2" "-DCMAKE_CXX_COMPILER=$compiler"
    else
        echo "== $1: skipped, because no installed compiler has a working -fsanitize=$3"
        skipped=$((skipped + 1))
    fi
}

# The kernels of aarch64, on all other machines: there the suites above run them.
other_machine() {
    if [ "$(uname -m)" = aarch64 ]; then return; fi
    if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null && [ -e /usr/include/catch2/catch.hpp ]; then
        suite neon neon
    else
        echo "== neon: no cross compiler for aarch64, no qemu-aarch64, or no Catch2 2 in /usr/include"
        skipped=$((skipped + 1))
    fi
}

mkdir -p build
suite dev tests
if [ $quick = no ]; then
    if [ -n "$clang" ]; then suite clang clang "-DCMAKE_CXX_COMPILER=$clang"; fi
    sanitized asan-ubsan asan address,undefined
    sanitized tsan tsan thread
    other_machine
fi

echo "took $SECONDS s"
for failure in "${failures[@]+"${failures[@]}"}"; do echo "failed: $failure"; done
if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed = 0 ] && [ $passed -gt 0 ]
