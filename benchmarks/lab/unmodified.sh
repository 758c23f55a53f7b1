#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that know nothing of ccoll, in Fortran and Python, without and with examples/preload in front of MPI: 4 ranks whose links let
# 1 Gb/s through. What they print goes to the terminal, with the table of the preloaded library.
#   benchmarks/run.sh unmodified [openmpi|mpich]
#   Environment: RANKS (4), RATE (1gbit), REPETITIONS (3). Python runs under Open MPI alone, because Debian's mpi4py is for it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

read_arguments unmodified 3,6 "$@"
bootstrap cmake '?gfortran' '?python3-mpi4py' '?python3-numpy' nlohmann-json3-dev

mkdir -p build/unmodified
ranks=${RANKS:-4} rate=${RATE:-1gbit} programs=benchmarks/unmodified
find_links "$ranks" "$rate"
measured=no
for mpi in "${mpis[@]}"; do
    command -v "mpicxx.$mpi" >/dev/null || continue
    build=build/unmodified/$mpi
    echo "building for $mpi, which takes minutes" >&2
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_BENCHMARKS=OFF -DMPI_CXX_COMPILER="mpicxx.$mpi" >"$build.log" 2>&1 &&
        cmake --build "$build" --target ccoll_preload >>"$build.log" 2>&1 || { tail "$build.log" >&2 && exit 1; }
    library=$PWD/$build/examples/libccoll_preload.so
    # once <program...>: without and with the library. What netlab.sh preloads stays.
    once() {
        echo "plain MPI:   $(over_links "$ranks" "$rate" "$mpi" '' "$@")"
        echo "with a plan: $(over_links "$ranks" "$rate" "$mpi" '' env "CCOLL_PLAN=$PWD/$programs/plan.json" sh -c 'LD_PRELOAD=$0${LD_PRELOAD:+:$LD_PRELOAD} exec "$@"' "$library" "$@" 2>&1)"
    }
    if command -v "mpifort.$mpi" >/dev/null; then
        printf '\n== %s, %s: ensemble.f90\n' "$mpi" "$link"
        "mpifort.$mpi" -O2 $programs/ensemble.f90 -o "$build/ensemble"
        for _ in $(seq "${REPETITIONS:-3}"); do once "$build/ensemble"; done
        measured=yes
    fi
    if [ "$mpi" = openmpi ] && /usr/bin/python3 -c 'import mpi4py, numpy' 2>/dev/null; then
        printf '\n== %s, %s: covariance.py\n' "$mpi" "$link"
        export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
        for _ in $(seq "${REPETITIONS:-3}"); do once /usr/bin/python3 $programs/covariance.py; done
        measured=yes
    fi
done
[ $measured = yes ]
