#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Measures the seconds of `g++ -std=c++20 -O2 -c`, median of 5, for translation units that use more and more of the library. Prints a table,
# and writes the same as JSON lines to out/compile.jsonl, one object per unit.
#   benchmarks/compile_time.sh          CXX=<compiler> measures another one, RUNS=<n> another number of times, JSON=<file> writes elsewhere,
#                                       FLAGS=<options> adds some, such as -march=native
# Goal: with ccoll::compiled a program of one file takes 2 s more than <mpi.h>, with any plans.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compiler=${CXX:-g++}
runs=${RUNS:-5}
json=${JSON:-out/compile.jsonl}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Where mpi.h is: both wrappers print the whole command for -show.
read -ra more_flags <<<"${FLAGS:-}"
flags=(-std=c++20 -O2 "${more_flags[@]}" -Iinclude)
for wrapper in mpicxx.openmpi mpicxx; do
    if command -v "$wrapper" >/dev/null; then
        for word in $("$wrapper" -show); do
            case $word in -I* | -D* | -pthread) flags+=("$word") ;; esac
        done
        break
    fi
done
with_mpi=yes
printf '#include <mpi.h>\n' | "$compiler" "${flags[@]}" -x c++ -E -o /dev/null - 2>/dev/null || with_mpi=no

mkdir -p "$(dirname "$json")"
: >"$json"
version=$("$compiler" --version | head -n 1)
baseline=''
in_seconds() { awk -v ms="$1" 'BEGIN { printf "%.3f", ms / 1000 }'; }
# measure <title> <source file>: one line of the table. The first call is what the others are compared with.
measure() {
    local times=() start seconds
    "$compiler" "${flags[@]}" -c "$2" -o "$folder/object.o"  # fills the page cache, and shows errors
    for _ in $(seq "$runs"); do
        start=$(date +%s%N)
        "$compiler" "${flags[@]}" -c "$2" -o "$folder/object.o"
        times+=($((($(date +%s%N) - start) / 1000000)))
    done
    mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    seconds=${times[$((runs / 2))]}
    baseline=${baseline:-$seconds}
    printf '{"benchmark": "compile", "unit": "%s", "compiler": "%s", "seconds": %s, "min": %s, "max": %s, "above_first": %s, "runs": %s, "object_bytes": %s}\n' \
        "${1//\"/\\\"}" "$version" "$(in_seconds "$seconds")" "$(in_seconds "${times[0]}")" "$(in_seconds "${times[-1]}")" "$(in_seconds $((seconds - baseline)))" \
        "$runs" "$(stat -c %s "$folder/object.o")" >>"$json"
    awk -v title="$1" -v now="$seconds" -v low="${times[0]}" -v high="${times[-1]}" -v base="$baseline" -v size="$(stat -c %s "$folder/object.o")" \
        'BEGIN { printf "%-52s %6.2f  (%.2f .. %.2f)  %+6.2f  %8.1f\n", title, now / 1000, low / 1000, high / 1000, (now - base) / 1000, size / 1024 }'
}

first_include='#include <mpi.h>'
if [ $with_mpi = no ]; then
    echo "no mpi.h here: measured without it" >&2
    first_include='#include <vector>'
fi
unit() {
    {
        echo "$first_include"
        cat
    } >"$folder/unit.cpp"
    measure "$1" "$folder/unit.cpp"
}

# One codec for float, as codec.hpp's user writes it.
round_trip() {
    unit "encode and decode float, Codec::$1" <<EOF
#include <ccoll/codec.hpp>
#include <vector>
ccoll::encode_result pack(const std::vector<float>& in, ccoll::byte_span to) { return ccoll::encode<ccoll::policies::Codec::$1>(in, to, 1e-3); }
ccoll::status unpack(ccoll::const_byte_span from, std::vector<float>& out) { return ccoll::decode<ccoll::policies::Codec::$1>(from, out); }
EOF
}

# A program with one allreduce of floats per plan. collective <title> <codec headers, or ''> <plan>...
collective() {
    local title=$1 header plan i=0
    shift
    {
        echo '#include <ccoll/allreduce.hpp>'
        for header in $1; do echo "#include <ccoll/codec/$header.hpp>"; done
        echo '#include <ccoll/transport/mpi.hpp>'
        echo '#include <vector>'
        echo 'using namespace ccoll::policies;'
        shift
        for plan in "$@"; do
            i=$((i + 1))
            echo "ccoll::report call_$i(const std::vector<float>& in, std::vector<float>& out) { return ccoll::allreduce<$plan>(in, out, MPI_COMM_WORLD); }"
        done
    } >"$folder/calls"
    unit "$title" <"$folder/calls"
}

printf '%s, %s, median of %s\n' "$version" '-std=c++20 -O2 -c' "$runs"
printf '%-52s %6s  %-14s %7s  %8s\n' 'translation unit' 's' '(min .. max)' 'more' 'KiB'
unit "$first_include" </dev/null
unit '#include <ccoll/codec.hpp>' <<<'#include <ccoll/codec.hpp>'
for codec in None SZx PipeSZx SZp; do round_trip "$codec"; done
unit 'add encoded float, Codec::SZp' <<'EOF'
#include <ccoll/codec.hpp>
#include <vector>
using namespace ccoll::policies;
ccoll::encode_result pack(const std::vector<float>& in, ccoll::byte_span to) { return ccoll::encode_addend<Codec::SZp>(in, to, 1e-3); }
ccoll::encode_result add(ccoll::const_byte_span a, ccoll::const_byte_span b, ccoll::byte_span to)
{
    return ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(a, b, to);
}
EOF
if [ $with_mpi = yes ]; then
    lossy='ErrorBound<1e-3>'
    collective 'allreduce float, Codec::None' '' ''
    collective 'allreduce float, Codec::None, two plans' '' '' 'Algo::Rabenseifner'
    collective 'allreduce float, Codec::SZp' szp "Codec::SZp, $lossy"
    collective 'allreduce float, Codec::SZp, two plans' szp "Codec::SZp, $lossy" "Codec::SZp, Algo::RecursiveDoubling, $lossy"
    collective 'allreduce float, Codec::SZp and None' szp "Codec::SZp, $lossy" ''
    collective 'allreduce float, Codec::PipeSZx' pipe_szx "Codec::PipeSZx, $lossy"
    unit 'allreduce float, a menu of Codec::None and SZp' <<'EOF'
#include <ccoll/allreduce.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/transport/mpi.hpp>
#include <vector>
using namespace ccoll::policies;
constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>> plans;
ccoll::report call(std::size_t i, const std::vector<float>& in, std::vector<float>& out) { return ccoll::allreduce(plans.at(i), in, out, MPI_COMM_WORLD); }
EOF
    unit '#include <ccoll/ccoll.hpp>' <<<'#include <ccoll/ccoll.hpp>'
    measure 'a whole program: examples/hello_allreduce.cpp' examples/hello_allreduce.cpp
    # What a file of a program sees that links ccoll::compiled.
    flags+=(-DCCOLL_COMPILED -DCCOLL_COMPILED_MPI)
    collective 'ccoll::compiled: Codec::None' '' ''
    collective 'ccoll::compiled: Codec::SZp' szp "Codec::SZp, $lossy"
    collective 'ccoll::compiled: Codec::SZp and None' szp "Codec::SZp, $lossy" ''
    unit 'ccoll::compiled: #include <ccoll/ccoll.hpp>' <<<'#include <ccoll/ccoll.hpp>'
    measure 'ccoll::compiled: examples/hello_allreduce.cpp' examples/hello_allreduce.cpp
    # The target itself, file by file.
    flags=("${flags[@]/-DCCOLL_COMPILED*/}")
    for file in cmake/compiled/*.cpp; do measure "$file" "$file"; done
fi
