#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing (Debian and Ubuntu), builds the image stacking example, runs it on 4 ranks, and draws the result.
#   examples/run.sh [options of the program]     --help lists them
#   examples/run.sh --transport threads          ranks are threads of one process, without MPI
#   examples/run.sh apps [options of all]        the applications of examples/apps in turn, such as --quick, --bound 1e-4 and --repeat 5
# Results go to out/ of the repository; --out <folder> changes that, relative to the repository. RANKS=<n> sets the number of MPI processes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

apps=no
if [ "${1:-}" = apps ]; then apps=yes; shift; fi
threads=no help=no out=out previous=''
for argument in "$@"; do
    case $previous=$argument in
        --transport=threads | *=--transport=threads) threads=yes ;;
        --out=*) out=$argument ;;
        *=--out=*) out=${argument#--out=} ;;
        *=--help | *=-h) help=yes ;;
    esac
    previous=$argument
done
if [ $help = yes ]; then
    sed -n '3,7s/^# \{0,1\}//p' examples/run.sh
    printf '\nOptions of the program (it is built first, which may take a minute):\n\n'
fi

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
bootstrap g++ cmake make libcli11-dev nlohmann-json3-dev libfmt-dev '?ninja-build' '?libopenmpi-dev' '?openmpi-bin' '?python3-matplotlib' '?libfftw3-dev'
target=image_stacking
if [ $apps = yes ]; then target=apps; fi

tree=build/example
options=(-DCMAKE_BUILD_TYPE=Release -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_BENCHMARKS=OFF)
if command -v ninja >/dev/null && [ ! -f $tree/CMakeCache.txt ]; then options+=(-G Ninja); fi
# Take compiler wrapper and launcher of the same MPI: if two are installed, the plain names need not belong together.
launcher=''
for suffix in .openmpi .mpich ''; do
    if command -v "mpicxx$suffix" >/dev/null && command -v "mpiexec$suffix" >/dev/null; then
        launcher=$(command -v "mpiexec$suffix")
        options+=("-DMPI_CXX_COMPILER=$(command -v "mpicxx$suffix")" "-DMPIEXEC_EXECUTABLE=$launcher")
        break
    fi
done

[ -x $tree/examples/$target ] || echo 'building, which may take minutes' >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S . -B $tree "${options[@]}" && cmake --build $tree --target $target -j "$(nproc 2>/dev/null || echo 2)"; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    exit 1
fi

# run <program> [options]: on 4 ranks. MPI's variables allow four ranks on fewer cores, and as root in a container; MPICH ignores them.
run() {
    if [ $threads = yes ]; then
        "$@"
        return
    fi
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 \
        OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
        "$launcher" -n "${RANKS:-4}" "$@"
}
draw() {
    if python=$(bootstrap_python); then
        "$python" "$1" "$out"
    else
        echo "no picture: python3-matplotlib is not installed" >&2
    fi
}

if [ $threads = no ] && [ -z "$launcher" ]; then
    echo "MPI was not found, so the ranks are threads" >&2
    set -- --transport threads "$@"
    threads=yes
fi

if [ $apps = yes ]; then
    # shellcheck source=benchmarks/lab/idle.sh
    . benchmarks/lab/idle.sh
    if [ $help = no ]; then say_if_busy; fi
    failed=()
    mapfile -t all < <(find "$tree/examples/apps" -maxdepth 1 -name 'app_*' -type f -perm -u+x | sort)
    if [ $help = no ]; then
        for program in "${all[@]}"; do "$program" --check "$@" || exit 2; done  # one message, before a launcher adds its own
    fi
    count=0
    for program in "${all[@]}"; do
        count=$((count + 1))
        if [ $help = yes ]; then
            "$program" --help
            continue
        fi
        echo "== $count of ${#all[@]}: ${program##*/app_}"
        code=0
        run "$program" "$@" || code=$?
        if [ $code != 0 ]; then failed+=("${program##*/app_}"); fi
        echo "   $SECONDS s"
    done
    if [ $help = no ]; then draw examples/apps/draw.py; fi
    if [ ${#failed[@]} -gt 0 ]; then
        echo "failed: ${failed[*]}" >&2
        exit 1
    fi
    exit 0
fi

program=$tree/examples/image_stacking
if [ $help = yes ]; then
    "$program" "$@"
    exit
fi
"$program" --check "$@" >/dev/null  # --check in front, so that an option without its value cannot take it for one; wrong options give one message here, before a launcher adds its own
run "$program" "$@"
draw examples/plot_stack.py
