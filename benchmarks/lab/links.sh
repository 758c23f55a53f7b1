# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# To be sourced: runs MPI programs over limited links, or over this machine's memory where such links cannot be made.
#   find_links <ranks> <rate>                                sets limited (yes, no) and link (for people)
#   over_links <ranks> <rate> <mpi> <settings> <program> [options]
#       settings: options of mpirun for Open MPI, environment for MPICH; they count on limited links alone
#   build_for <mpi> <source> <program>                       builds benchmarks/<source>.cpp; fails where that MPI is not installed
#   read_arguments <name> <lines> <arguments...>             sets quick, mpis, parts and flags, or ends the program; installs what is missing
#       lines: of <name>.sh, which are its help. known_parts, known_flags: what it takes besides, words; these may be unset
#   conditions <what>                                        a JSON line: machine, compiler, libraries, version and commit

# shellcheck source=benchmarks/lab/idle.sh
. benchmarks/lab/idle.sh

read_arguments() {
    local name=$1 help=$2 argument
    shift 2
    quick=no mpis=() parts=() flags=' '
    for argument in "$@"; do
        if [[ " ${known_parts:-} " == *" $argument "* ]]; then parts+=("$argument") && continue; fi
        if [[ " ${known_flags:-} " == *" $argument "* ]]; then flags+="$argument " && continue; fi
        case $argument in
            --quick) quick=yes ;;
            openmpi | mpich) mpis+=("$argument") ;;
            -h | --help)
                sed -n "$help s/^# \\{0,1\\}//p" "$lab/$name.sh"
                exit 0
                ;;
            *)
                echo "benchmarks/run.sh $name takes --quick, openmpi, mpich${known_flags:+, $known_flags}${known_parts:+, $known_parts}, and found '$argument'" >&2
                exit 2
                ;;
        esac
    done
    bootstrap g++ libcli11-dev nlohmann-json3-dev libfmt-dev '?libopenmpi-dev' '?openmpi-bin' '?libmpich-dev' '?mpich' '?iproute2'
    if [ ${#mpis[@]} = 0 ]; then mpis=(openmpi mpich); fi
}

build_for() {
    if ! command -v "mpicxx.$1" >/dev/null; then
        echo "$1 is not installed" >&2
        return 1
    fi
    echo "building for $1, which may take a minute" >&2
    "mpicxx.$1" -std=c++20 -O2 -Iinclude -DFMT_SHARED "benchmarks/$2.cpp" -o "$3" -lfmt || exit
}

conditions() {
    local commit
    commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
    printf '{"conditions": {"what": "%s", "machine": "%s, %s cores", "compiler": "%s -O2", "openmpi": "%s", "mpich": "%s", "version": "%s", "wire": %s, "commit": "%s", "date": "%s"}}\n' \
        "$1" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)" "$(nproc 2>/dev/null)" "$(g++ --version 2>/dev/null | sed -n 1p)" \
        "$(mpiexec.openmpi --version 2>/dev/null | sed -n '1s/.* //p')" "$(mpiexec.mpich --version 2>/dev/null | sed -n 's/ *Version: *//p')" \
        "$(sed -n 's/^#define CCOLL_VERSION_[A-Z]* \([0-9]*\)/\1/p' include/ccoll/version.hpp | paste -sd .)" "$(sed -n 's/.*wire_version = \([0-9]*\);.*/\1/p' include/ccoll/wire/frame.hpp | head -1)" \
        "$commit" "$(date -u +%F)"
}

find_links() {
    local reason
    say_if_busy
    link="$1 x $2" limited=yes
    if ! reason=$("$lab/netlab.sh" --check 2>&1); then
        echo "No limited links here: ${reason#netlab: }. The rows below are for ranks that talk through memory." >&2
        link="$1 ranks on one machine" limited=no
    fi
}

over_links() {
    local ranks=$1 rate=$2 mpi=$3 settings=$4
    shift 4
    # shellcheck disable=SC2086 # a list of words
    case $mpi.$limited in
        openmpi.yes) "$lab/netlab.sh" "$ranks" "$rate" openmpi $settings -- "$@" ;;
        mpich.yes) env $settings "$lab/netlab.sh" "$ranks" "$rate" mpich -- "$@" ;;
        *) in_memory "$ranks" "$mpi" "$@" ;;
    esac
}

# in_memory <ranks> <mpi> <program> [options]
in_memory() {
    local ranks=$1 mpi=$2
    shift 2
    case $mpi in
        openmpi) OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpiexec.openmpi --oversubscribe -n "$ranks" "$@" ;;
        mpich) mpiexec.mpich -n "$ranks" "$@" ;;
    esac
}
