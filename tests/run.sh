#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds and runs tests. Installs what they need on Debian and Ubuntu.
#   tests/run.sh                        every test: with g++ and every MPI, with clang under the sanitizers, the kernels for aarch64 in an
#                                       emulator. Every compiler checks the headers and the programs that must not compile
#   tests/run.sh --quick                the first of these alone
#   tests/run.sh --only <area> ...      the tests of an area, and what they need: codec, codec/szp, run, mpi, mpi/typed, docs, headers,
#                                       fuzz, ..., or of a header: codec/szp.hpp, include/ccoll/agree/agree.hpp. --only list shows all areas
#   tests/run.sh --install              installs what all tests need, and ends
#   ... [ctest options]                 such as -R <regex> and --repeat until-fail:10. They choose what runs, not what is built
# Build trees: build/tests (g++), build/asan, build/tsan, build/neon. The seconds of each stage are kept in build/stages.jsonl. The last line is
# '<n> passed, <n> failed'; the exit code is 0 if something ran and nothing failed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
exec </dev/null

quick=no
install_only=no
only=()
ctest_options=()
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=yes ;;
        --install) install_only=yes ;;
        --only)
            [ $# -gt 1 ] || { echo "--only needs an area; '--only list' shows all" >&2; exit 2; }
            only+=("$2")
            shift
            ;;
        -h | --help)
            sed -n '3,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) ctest_options+=("$1") ;;
    esac
    shift
done

# ---- what is installed ----
# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
clang_packages=('?clang-19' '?libclang-rt-19-dev')
mpi_packages=('?libopenmpi-dev' '?openmpi-bin' '?libmpich-dev' '?mpich')
packages=(g++ cmake make catch2 '?ninja-build' '?ccache' '?lld')
if [ ${#only[@]} = 0 ]; then
    packages+=('?libzfp-dev' '?libsimde-dev' '?libucx-dev' "${mpi_packages[@]}" '?gfortran' '?clang' "${clang_packages[@]}" '?clang-format-19' '?clang-tidy-19' '?codespell' '?python3' '?python3-yaml' '?pkg-config' '?libeigen3-dev' '?libxtensor-dev' '?libcli11-dev' '?nlohmann-json3-dev' '?libfmt-dev' '?libfftw3-dev'
        '?g++-aarch64-linux-gnu' '?qemu-user')
fi
for area in "${only[@]+"${only[@]}"}"; do
    case $area in
        mpi* | *transport/mpi*) packages+=("${mpi_packages[@]}") ;;
        preload*) packages+=("${mpi_packages[@]}" '?gfortran' '?nlohmann-json3-dev') ;;
        headers | compile_fail | consumers | flags | builds) packages+=("${mpi_packages[@]}" "${clang_packages[@]}" '?clang' '?python3' '?pkg-config') ;;
        signatures | fuzz*) packages+=("${clang_packages[@]}") ;;
        format) packages+=('?clang-format-19') ;;
        spelling) packages+=('?codespell') ;;
        tidy) packages+=('?clang-tidy-19' "${mpi_packages[@]}") ;;
        wire* | names | docs*) packages+=('?python3') ;;
        community) packages+=('?python3' '?python3-yaml') ;;
        extension*) packages+=('?libeigen3-dev' '?libxtensor-dev') ;;
        codec) packages+=('?libzfp-dev' '?libsimde-dev') ;;
        codec/zfp*) packages+=('?libzfp-dev') ;;
        transport*) packages+=('?libucx-dev') ;;
        codec/szp*) packages+=('?libsimde-dev') ;;
        neon) packages+=('?g++-aarch64-linux-gnu' '?qemu-user') ;;
        examples*) packages+=("${mpi_packages[@]}" '?libcli11-dev' '?nlohmann-json3-dev' '?libfmt-dev' '?libfftw3-dev') ;;
    esac
done
bootstrap "${packages[@]}"
if [ $install_only = yes ]; then exit 0; fi

jobs=$(nproc 2>/dev/null || echo 2)
if command -v ninja >/dev/null; then export CMAKE_GENERATOR=Ninja; fi
# With CCACHE_DEPEND a file that is not in the cache is not preprocessed first, which matters because at first none is. With a base folder
# another clone of the same files finds in the cache what this one compiled.
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
# A clang that is newer than the distribution's default has better diagnostics.
clang=$(command -v clang++-19 || command -v clang++ || true)

passed=0 failed=0 skipped=0
failures=()
note_failure() { failed=$((failed + 1)); failures+=("$1"); }
count() { grep -c "$2" "$1" || true; }
note_stage() { printf '{"stage": "%s", "seconds": %d}\n' "$1" "$2" >>build/stages.jsonl; }

# configure <preset> <build tree> [cache variables]
configure() {
    local preset=$1 tree=$2
    shift 2
    if cmake --preset "$preset" -B "$tree" "$@" >"build/$preset.configure.log" 2>&1; then return 0; fi
    cat "build/$preset.configure.log"
    note_failure "$preset: does not configure"
    return 1
}

# build <preset> <build tree> [targets]: without targets, everything. On a terminal the compiler's progress is shown, else every 30 s.
build() {
    local preset=$1 tree=$2 log=build/$1.build.log keep_going=(-k) targets=() target begin=$SECONDS
    shift 2
    for target in "$@"; do targets+=(--target "$target"); done
    if grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja' "$tree/CMakeCache.txt"; then keep_going=(-k 0); fi
    cmake --build "$tree" -j "$jobs" "${targets[@]+"${targets[@]}"}" -- "${keep_going[@]}" >"$log" 2>&1 &
    local pid=$! shown=''
    while kill -0 $pid 2>/dev/null; do
        sleep 1
        local now
        now=$(tail -n 1 "$log" 2>/dev/null | grep -o '^\[[^]]*\]' || true)
        if [ -t 1 ]; then
            printf '\r   %s %d s ' "$now" $((SECONDS - begin))
        elif [ "$now" != "$shown" ] && [ $(((SECONDS - begin) % 30)) = 0 ]; then
            echo "   $now $((SECONDS - begin)) s"
            shown=$now
        fi
    done
    if [ -t 1 ]; then printf '\r'; fi
    if ! wait $pid; then
        grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | tail -n 200
        note_failure "$preset: does not build ($log)"
    fi
    echo "   built in $((SECONDS - begin)) s"
    note_stage "$preset: build" $((SECONDS - begin))
}

# run_tests <preset> <build tree> [ctest options]: runs ctest and counts
run_tests() {
    local preset=$1 tree=$2 junit=$PWD/$2/junit.xml begin=$SECONDS
    shift 2
    rm -f "$junit"
    # Two tests per core: those whose ranks are threads wait half of the time. Tests that keep a core busy count as two (PROCESSORS).
    (cd "$tree" && ctest -j $((2 * jobs)) --output-on-failure --output-junit "$junit" "$@" "${ctest_options[@]+"${ctest_options[@]}"}") |
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
    note_stage "$preset: tests" $((SECONDS - begin))
}

# suite <preset> <build tree> [cache variables]: builds a tree and runs its tests. A tree that does not configure, or whose build has an
# error, counts as one more failure.
suite() {
    local preset=$1 tree=build/$2
    echo "== $preset: $tree"
    shift 2
    configure "$preset" "$tree" "$@" || return
    build "$preset" "$tree"
    run_tests "$preset" "$tree"
}

# areas_like <file of areas> <regex>: fails if there are none
areas_like() { cut -d' ' -f1 "$1" | grep -E "$2" | sort -u | grep .; }
# areas_of <file of areas> <what the user wrote>: the areas that are meant. A header that has no test of its own means its folder; a header that
# users include, the tests of its name.
areas_of() {
    local asked=${2#include/} name
    asked=${asked#ccoll/} asked=${asked#tests/} asked=${asked%/}
    asked=${asked%.hpp} asked=${asked%.cuh} asked=${asked%.inl} asked=${asked%.cpp}
    areas_like "$1" "^$asked(/|_|$)" && return
    name=${asked##*/}
    case $2 in *.hpp | *.cuh | *.inl) ;; *) return 1 ;; esac
    areas_like "$1" "/$name(_|$)" && return
    while [[ $asked = */* ]]; do
        asked=${asked%/*}
        areas_like "$1" "^$asked(/|_|$)" && return
    done
    return 1
}

# run_only <preset> <build tree> <areas...>
run_only() {
    local preset=$1 tree=build/$2 asked areas=() list=build/$2/tests/areas.txt
    shift 2
    echo "== $preset: $tree"
    configure "$preset" "$tree" -DCCOLL_TEST_PART= "${more[@]+"${more[@]}"}" || return
    for asked in "$@"; do
        if [ "$asked" = list ]; then
            cut -d' ' -f1 "$list" | sort -u
            exit 0
        fi
        if ! mapfile -t -O ${#areas[@]} areas < <(areas_of "$list" "$asked") || [ ${#areas[@]} = 0 ]; then
            echo "there is no area '$asked'; tests/run.sh --only list shows all" >&2
            exit 2
        fi
    done
    local area targets=() regex=''
    for area in "${areas[@]}"; do
        # shellcheck disable=SC2207 # names of targets have no spaces
        targets+=($(grep -E "^$area( |$)" "$list" | cut -d' ' -f2-))
        regex+="${regex:+|}^$area\$"
    done
    echo "   ${areas[*]}"
    if [ ${#targets[@]} -gt 0 ]; then build "$preset" "$tree" "${targets[@]}"; fi
    run_tests "$preset" "$tree" -L "$regex"
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
# half the time. Without -g1, which the presets have, reports name no lines, and building takes a tenth less.
sanitized() {
    local compiler
    compiler=$(sanitizer_compiler "$3")
    if [ -n "$compiler" ]; then
        suite "$1" "$2" "-DCMAKE_CXX_COMPILER=$compiler" -DCMAKE_CXX_FLAGS_RELEASE=-O1
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
rm -f build/stages.jsonl
if [ ${#only[@]} -gt 0 ]; then
    more=()
    case ${only[*]} in
        fuzz*)
            more=("-DCMAKE_CXX_COMPILER=$(sanitizer_compiler address,undefined)")
            run_only asan-ubsan asan "${only[@]}"
            ;;
        neon) other_machine ;;
        *) run_only dev tests "${only[@]}" ;;
    esac
else
    part=''
    if [ $quick = no ] && [ -n "$(sanitizer_compiler address,undefined)" ]; then part=rest; fi
    suite dev tests "-DCCOLL_TEST_PART=$part"
    if [ $quick = no ]; then
        sanitized asan-ubsan asan address,undefined
        sanitized tsan tsan thread
        other_machine
    fi
fi

note_stage all $SECONDS
echo "took $SECONDS s"
for failure in "${failures[@]+"${failures[@]}"}"; do echo "failed: $failure"; done
if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed = 0 ] && [ $passed -gt 0 ]
