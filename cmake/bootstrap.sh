# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by the run.sh scripts:  bootstrap <package> ...
#
# Makes sure that the packages are there. They carry their Debian names; a '?' in front marks one that is useful but not required.
# It looks for the tool or header itself and not for the package, so any system that has them will do. What is missing is installed
# with apt-get if that exists and may be called; otherwise the list is printed. If a required package is still missing, the script ends
# with exit code 2. When everything is there, this takes a fraction of a second and changes nothing.

bootstrap_header() { printf '#include <%s>\n' "$1" | "${CXX:-g++}" -x c++ -E -o /dev/null - >/dev/null 2>&1; }

# A python3 that has matplotlib: the first on the PATH, or the distribution's.
bootstrap_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("matplotlib") is None)' >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    return 1
}

# The sanitizers and libFuzzer: clang's package only recommends theirs.
bootstrap_sanitizer() {
    local version=${1#libclang-rt-}
    echo 'int main() {}' | "clang++-${version%-dev}" -fsanitize=address -x c++ - -o /dev/null
}

bootstrap_has() {
    case $1 in
        g++) command -v "${CXX:-g++}" ;;
        libopenmpi-dev) command -v mpicxx.openmpi || { command -v mpicxx && ! command -v apt-get; } ;;
        openmpi-bin) command -v mpiexec.openmpi || { command -v mpiexec && ! command -v apt-get; } ;;
        libmpich-dev) command -v mpicxx.mpich ;;
        mpich) command -v mpiexec.mpich ;;
        ninja-build) command -v ninja ;;
        catch2) bootstrap_header catch2/catch.hpp || bootstrap_header catch2/catch_all.hpp ;;
        libcli11-dev) bootstrap_header CLI/CLI.hpp ;;
        nlohmann-json3-dev) bootstrap_header nlohmann/json.hpp ;;
        libfmt-dev) bootstrap_header fmt/format.h ;;
        libfftw3-dev) bootstrap_header fftw3.h ;;
        libeigen3-dev) bootstrap_header Eigen/Core || bootstrap_header eigen3/Eigen/Core ;;
        libxtensor-dev) bootstrap_header xtensor/xtensor.hpp ;;
        libzfp-dev) bootstrap_header zfp.h ;;
        libucx-dev) bootstrap_header ucp/api/ucp.h ;;
        libsimde-dev) bootstrap_header simde/x86/avx512.h ;;
        python3-matplotlib) bootstrap_python ;;
        python3-yaml) python3 -c 'import yaml' || /usr/bin/python3 -c 'import yaml' ;;
        python3-mpi4py | python3-numpy) /usr/bin/python3 -c "import ${1#python3-}" ;;
        g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ ;;
        qemu-user) command -v qemu-aarch64 ;;
        clang) command -v clang++ ;;
        iproute2) PATH=$PATH:/usr/sbin:/sbin command -v tc ;;
        clang-format-* | clang-tidy-*) command -v "$1" ;;
        clang-*) command -v "clang++-${1#clang-}" ;;
        libclang-rt-*-dev) bootstrap_sanitizer "$1" ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

bootstrap_missing() {
    local package
    for package in "$@"; do bootstrap_has "${package#\?}" || echo "$package"; done
}

bootstrap() {
    local missing package sudo='' install=()
    missing=$(bootstrap_missing "$@")
    [ -n "$missing" ] || return 0

    if command -v apt-get >/dev/null 2>&1; then
        if [ "$(id -u)" != 0 ]; then
            sudo='sudo -n'
            $sudo true >/dev/null 2>&1 || sudo=none
        fi
        if [ "$sudo" != none ]; then
            export DEBIAN_FRONTEND=noninteractive
            # Package lists are fresh enough if they know every required package. An optional one may not exist in this release at all.
            for package in $missing; do
                if [ "$package" = "${package#\?}" ] && ! bootstrap_in_distribution "$package" || ! bootstrap_in_distribution g++; then
                    $sudo apt-get update -qq </dev/null || true
                    break
                fi
            done
            for package in $missing; do
                if bootstrap_in_distribution "${package#\?}"; then install+=("${package#\?}"); fi
            done
            if [ ${#install[@]} -gt 0 ]; then
                echo "installing: ${install[*]}"
                bootstrap_install || { $sudo apt-get update -qq </dev/null && bootstrap_install; } || true
            fi
        fi
    fi

    missing=$(bootstrap_missing "$@")
    local needed='' wanted=''
    for package in $missing; do
        case $package in
            \?*) wanted+=" ${package#\?}" ;;
            *) needed+=" $package" ;;
        esac
    done
    if [ -n "$wanted" ]; then echo "continuing without these packages (Debian names):$wanted" >&2; fi
    if [ -n "$needed" ]; then
        echo "please install first (Debian names):$needed" >&2
        exit 2
    fi
}

# Not piped into grep -q, which ends at the first match: apt-cache would then fail to write the rest, and pipefail counts that.
bootstrap_in_distribution() { [[ $(apt-cache policy "$1" 2>/dev/null) == *'Candidate: '[!\(]* ]]; }

bootstrap_install() {
    # shellcheck disable=SC2086 # sudo is a word list
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${install[@]}" </dev/null >/dev/null
}
