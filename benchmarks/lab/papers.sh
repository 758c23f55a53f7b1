#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the five papers show, part by part, beside plain MPI with its default settings, on 4 ranks whose links let 1 Gb/s through. A row per
# plan, JSON lines in out/papers.jsonl, and pictures in out/. Everything takes some twenty minutes.
#   benchmarks/run.sh papers [--quick] [openmpi|mpich] [part ...]
#       --quick   allreduce and bcast of turbulence alone, some two minutes
#       C-Coll and ghZCCL, on links: sizes, fields, bounds (of allreduce), moved (reduce, bcast, scatter), ranks (2 and 8)
#       Zhou et al., on links: alltoall        Hu, Hu and Koibuchi, on links: faults, apps (2 ranks); stack: C-Coll's image stacking
#       on one core: codecs, errors            models, no measurements: torus (64 nodes), model (up to 128 nodes and 512 GPUs)
#   Files *.f32 in data/ are measured as well as generated fields, if that folder is there.
#   Environment: RANKS (4), RATE (1gbit), DATA (data)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck source=cmake/bootstrap.sh
. cmake/bootstrap.sh
lab=benchmarks/lab
# shellcheck source=benchmarks/lab/links.sh
. $lab/links.sh

known_parts='sizes fields bounds moved ranks alltoall faults apps stack codecs errors torus model'
read_arguments papers 3,12 "$@"
bootstrap '?python3-matplotlib' '?libfftw3-dev'

ranks=${RANKS:-4} rate=${RATE:-1gbit} json=out/papers.jsonl own=()
for file in "${DATA:-data}"/*.f32; do
    if [ -e "$file" ]; then own+=("$file"); fi
done
mpi=''
for each in "${mpis[@]}"; do
    if [ -z "$mpi" ] && command -v "mpicxx.$each" >/dev/null; then mpi=$each; fi
done
if [ -z "$mpi" ]; then
    echo "benchmarks/run.sh papers needs Open MPI or MPICH" >&2
    exit 2
fi
if [ ${#parts[@]} = 0 ]; then
    read -ra parts <<<"$known_parts"
    if [ $quick = yes ]; then parts=(quick); fi
fi
mkdir -p out build/papers
if [ ${#parts[@]} -gt 1 ] || [ ! -e $json ]; then conditions 'benchmarks/run.sh papers: what the five papers show' >$json; fi

built=' '
# program <source>: builds it once, for this MPI
program() {
    case $built in *" $1 "*) return ;; esac
    build_for "$mpi" "$1" "build/papers/$mpi-$1"
    built+="$1 "
}
# on_links <ranks> <source> [options]
on_links() {
    local n=$1 source=$2
    shift 2
    program "$source"
    find_links "$n" "$rate"
    over_links "$n" "$rate" "$mpi" '' "build/papers/$mpi-$source" --link "$link" --json $json "$@"
}
# on_a_core <source> [options]
on_a_core() {
    local source=$1
    shift
    program "$source"
    say_if_busy
    "build/papers/$mpi-$source" --json $json "$@"
}
# build_examples <target>
build_examples() {
    local log
    tree=build/papers/examples-$mpi log=$(mktemp)
    echo "building $1 of examples/, which may take minutes" >&2
    if ! { cmake -S . -B "$tree" -DCMAKE_BUILD_TYPE=Release -DCCOLL_BUILD_TESTS=OFF -DCCOLL_BUILD_BENCHMARKS=OFF \
        "-DMPI_CXX_COMPILER=$(command -v "mpicxx.$mpi")" && cmake --build "$tree" --target "$1" -j "$(nproc)"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
    mkdir -p out/papers_apps
}
# keep <file>: its lines, as rows of an application
keep() { sed "s/^{/{\"what\": \"app\", \"link\": \"$link\", /" "$1" >>$json; }
# applications: over links of two nodes, as Hu and Koibuchi measured them
applications() {
    local name plans bounds
    build_examples apps
    find_links 2 "$rate"
    for name in ${APPS:-pingpong himeno kmeans fft turbulence moe summa lu}; do
        plans=(SZp BitZip BitWise ByteZip) bounds=(1e-6 1e-4 1e-2)
        if [ "$name" = moe ]; then plans=(SZp Zfp16 Zfp8); fi
        if [ "$name" = turbulence ]; then plans=(SZp Zfp24 Zfp16); fi
        if [ ! -x "$tree/examples/apps/app_$name" ]; then echo "$name needs FFTW, and is left out" >&2 && continue; fi
        over_links 2 "$rate" "$mpi" '' "$tree/examples/apps/app_$name" --plan "${plans[@]}" --bound "${bounds[@]}" --out out/papers_apps
        keep "out/papers_apps/$name.jsonl"
    done
}
stack() {
    local codec bound
    build_examples image_stacking
    find_links "$ranks" "$rate"
    for codec in PipeSZx SZp; do
        for bound in 1e-2 1e-3 1e-4; do
            over_links "$ranks" "$rate" "$mpi" '' "$tree/examples/image_stacking" --nx 300 --nz 150 --shots 8 --codec $codec --bound $bound \
                --out out/papers_apps
            python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))))' out/papers_apps/image_stacking.json >out/papers_apps/line.json
            keep out/papers_apps/line.json
        done
    done
}

for part in "${parts[@]}"; do
    printf '\n== %s\n' "$part"
    case $part in
        quick) on_links "$ranks" papers --operation allreduce bcast --field turbulence ;;
        sizes) on_links "$ranks" papers --operation allreduce --field turbulence --elements 262144 1048576 4194304 16777216 ;;
        fields) on_links "$ranks" papers --operation allreduce --field wavefronts "${own[@]+"${own[@]}"}" ;;
        bounds) on_links "$ranks" papers --operation allreduce --field wavefronts turbulence --bound 1e-2 1e-4 ;;
        moved) on_links "$ranks" papers --operation reduce bcast scatter --field turbulence --elements 1048576 4194304 16777216 ;;
        ranks)
            for n in 2 8; do on_links $n papers --field turbulence; done
            ;;
        alltoall)
            on_links "$ranks" paper_alltoall
            on_links "$ranks" paper_alltoall --field points plasma --kib 1024
            ;;
        faults) on_links "$ranks" paper_faults ;;
        apps) applications ;;
        stack) stack ;;
        codecs) on_a_core paper_codecs --field wavefronts turbulence "${own[@]+"${own[@]}"}" ;;
        errors) on_a_core paper_errors --field wavefronts turbulence "${own[@]+"${own[@]}"}" ;;
        torus) on_a_core paper_torus ;;
        model) on_a_core paper_model ;;
    esac
done
if python=$(bootstrap_python); then
    "$python" benchmarks/plot_papers.py $json out
else
    echo "no picture: python3-matplotlib is not installed" >&2
fi
