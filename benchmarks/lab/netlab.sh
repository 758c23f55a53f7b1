#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs an MPI program with one rank per virtual machine of a small network inside this machine. Each virtual machine is a network namespace
# whose link to a common switch lets RATE through in each direction. MPI uses TCP over these links.
#
#   netlab.sh N RATE openmpi|mpich [launcher options...] -- PROGRAM [ARGUMENTS...]
#   netlab.sh --check         can this user make such networks here? Exit code 3 and a reason if not
#
# RATE is what tc reads: 100mbit, 1gbit. Works without root where the system lets users make namespaces. Everything that it makes lives in
# namespaces of its own, and disappears with the last process in them, however that ends.
# Environment:  NETLAB_TIMEOUT  seconds after which a run is killed, with exit code 124 (300)
#               NETLAB_BURST    bytes that a link lets pass at once after a pause (half a millisecond of RATE, from 1 Gb/s on at least 68 KiB)
#               NETLAB_SPIN=1   waiting ranks spin (sleep_in_poll.c says why they sleep otherwise)
# Exit code: that of the program; 2 for wrong arguments, 3 where networks cannot be made.
set -u
self=$(readlink -f "${BASH_SOURCE[0]}")
here=$(dirname "$self")
subnet=10.77.0
files=/run/netlab  # in a file system that only the namespaces see
export PATH=$PATH:/usr/sbin:/sbin

die() {
    echo "netlab: $2" >&2
    exit "$1"
}

# ---- outside: a private set of namespaces, in which this script goes on ----

enter() {
    local options=(--mount --net --pid --uts --ipc --fork --kill-child=KILL --mount-proc)
    if [ "$(id -u)" != 0 ]; then options+=(--map-root-user); fi
    exec setpriv --pdeathsig KILL unshare "${options[@]}" -- "$self" --inside "$@"
}

need_tools() {
    local tool
    for tool in ip tc unshare setpriv sysctl awk; do
        command -v $tool >/dev/null || die 3 "needs the command $tool (Debian packages iproute2, util-linux, procps)"
    done
}

# ---- inside ----

# The longest packet that the kernel hands to a link must fit its bucket. A slow link has a small bucket, so its packets are cut smaller.
shape_of() {
    local rate=$1 bits least
    bits=$(awk -v r="$rate" 'BEGIN { unit = substr(r, length(r) - 3, 1); printf "%.0f", r * (unit == "g" ? 1e9 : unit == "m" ? 1e6 : 1e3) }')
    burst=$((bits / 16000))
    least=$((burst >= 62500 ? 69632 : 9216))
    if [ $burst -lt $least ]; then burst=$least; fi
    burst=${NETLAB_BURST:-$burst}
    packet=$((burst >= 69632 ? 65536 : burst * 7 / 8))
}

# In every namespace. A kernel that lacks one of these settings does without it.
set_tcp() {
    sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_slow_start_after_idle=0 \
        net.ipv4.tcp_rmem="4096 131072 4194304" net.ipv4.tcp_wmem="4096 131072 4194304" net.ipv4.tcp_limit_output_bytes=262144 2>/dev/null
    ip link set lo up
}

build_network() {
    local n=$1 rate=$2 i burst packet
    shape_of "$rate"
    local bucket=(root tbf rate "$rate" burst "$burst" limit 16777216)
    mount --make-rprivate / && mount -t tmpfs -o mode=755 tmpfs /run && mount -t tmpfs -o mode=1777 tmpfs /dev/shm || return 1
    mkdir -p /run/netns $files/tmp || return 1
    {
        echo "127.0.0.1 localhost"
        echo "$subnet.254 switch"
        for ((i = 0; i < n; i++)); do echo "$subnet.$((i + 1)) r$i"; done
    } >$files/hosts
    mount --bind $files/hosts /etc/hosts || return 1
    hostname switch
    set_tcp
    ip link add switch type bridge forward_delay 0 mcast_snooping 0 && ip addr add $subnet.254/24 dev switch && ip link set switch up || return 1
    for ((i = 0; i < n; i++)); do
        ip netns add r$i &&
            ip link add port$i gso_max_size "$packet" type veth peer name eth0 gso_max_size "$packet" netns r$i &&
            ip link set port$i master switch up && ip -n r$i addr add $subnet.$((i + 1))/24 dev eth0 && ip -n r$i link set eth0 up &&
            tc -n r$i qdisc add dev eth0 "${bucket[@]}" && tc qdisc add dev port$i "${bucket[@]}" || return 1
        ip netns exec r$i "$self" --set-tcp
    done
    # Launchers call this in place of rsh, as HOST COMMAND...
    cat >$files/rsh <<'RSH'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
RSH
    chmod +x $files/rsh
    for i in sleep_in_poll mpich_finalize; do
        "${CC:-cc}" -O2 -shared -fPIC -o $files/$i.so "$here/$i.c" -ldl || echo "netlab: goes on without $i" >&2
    done
}

run_program() {
    local n=$1 mpi=$2 hosts='' preload='' i
    shift 2
    local options=() limit=(timeout --foreground -k 5 "${NETLAB_TIMEOUT:-300}")
    while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    for ((i = 0; i < n; i++)); do hosts+=${hosts:+,}r$i; done
    if [ -e $files/sleep_in_poll.so ] && [ "${NETLAB_SPIN:-0}" != 1 ]; then preload=$files/sleep_in_poll.so; fi
    if [ "$mpi" = openmpi ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        "${limit[@]}" mpirun.openmpi --mca plm rsh --mca plm_rsh_agent $files/rsh --mca plm_rsh_no_tree_spawn 1 --mca orte_tmpdir_base $files/tmp \
            --mca oob_tcp_if_include $subnet.0/24 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include $subnet.0/24 \
            --mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0 --bind-to none --map-by node --host "${hosts//,/:1,}:1" -np "$n" \
            ${preload:+-x LD_PRELOAD=$preload} "${options[@]+"${options[@]}"}" "$@"
    else
        if [ -e $files/mpich_finalize.so ]; then preload+=${preload:+:}$files/mpich_finalize.so; fi
        export UCX_TLS=${UCX_TLS:-tcp,self} UCX_NET_DEVICES=${UCX_NET_DEVICES:-eth0} UCX_WARN_UNUSED_ENV_VARS=n MPIR_CVAR_NOLOCAL=1
        "${limit[@]}" mpiexec.mpich -launcher rsh -launcher-exec $files/rsh -localhost $subnet.254 -hosts "$hosts" -ppn 1 -n "$n" \
            ${preload:+-genv LD_PRELOAD "$preload"} "${options[@]+"${options[@]}"}" "$@"
    fi
}

case ${1:-} in
    --set-tcp) set_tcp ;;
    --inside)
        shift
        build_network "$1" "$2" >&2 || die 3 "cannot make a network here: namespaces, virtual links or traffic control are not allowed"
        if [ "$3" = check ]; then exit 0; fi
        run_program "$1" "${@:3}"
        ;;
    --check)
        need_tools
        (enter 2 100mbit check) || exit 3
        ;;
    *)
        if [ $# -lt 5 ] || [[ " $* " != *" -- "* ]]; then
            sed -n '3,14s/^# \{0,1\}//p' "$self" >&2
            exit 2
        fi
        [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -ge 1 ] && [ "$1" -le 64 ] || die 2 "N must be 1 to 64, not '$1'"
        [[ $2 =~ ^[0-9.]+[kmg]bit$ ]] || die 2 "RATE must look like 100mbit or 1gbit, not '$2'"
        [ "$3" = openmpi ] || [ "$3" = mpich ] || die 2 "the MPI must be openmpi or mpich, not '$3'"
        need_tools
        enter "$@"
        ;;
esac
