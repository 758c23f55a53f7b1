# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of ranks with a communicator of their own, for groups of torch.distributed. Over UCX the ranks find each other by torch's store; over
MPI they are those of mpirun."""
import os
import socket
import weakref
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from ._load import _C

_over_mpi = _C.link == "mpi"


def rank():
    return _C.launched()[0] if _over_mpi else dist.get_rank()


def size():
    return _C.launched()[1] if _over_mpi else dist.get_world_size()


def init_process_group(backend="gloo", **options):
    """torch.distributed.init_process_group, also for a program that mpirun has started. backend: "gloo" or "ccoll", or another one."""
    if _over_mpi:
        _set_environment()
        _check_launcher(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    dist.init_process_group(backend, **options)


def _set_environment():
    """What torch.distributed reads (env://). Variables that are set stay as they are."""
    port = ""
    if rank() == 0:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = str(probe.getsockname()[1])
    address, port = _C.bcast(make_group(None, rank(), size(), None, None, 0), f"{socket.gethostname()} {port}").split(" ")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1" if size() == 1 else address)
    os.environ.setdefault("MASTER_PORT", port)
    os.environ.setdefault("RANK", str(rank()))
    os.environ.setdefault("WORLD_SIZE", str(size()))


def _check_launcher(their_rank, their_size):
    if (their_rank, their_size) != _C.launched():
        raise RuntimeError(
            f"ccoll: torch.distributed says rank {their_rank} of {their_size}, and MPI says rank {rank()} of {size()}; "
            "start the program with mpirun, not with torchrun, and call ccoll_torch.init_process_group()"
        )


class _World:
    """The group of all ranks that the others are parts of, so that all share what UCX has once. It belongs to one
    torch.distributed.init_process_group()."""

    def __init__(self):
        self.group = None
        self.of = None  # the default group of torch, weakly; None while that is being made

    def get(self):
        if self.group is not None and (self.group.closed or (self.of is not None and self.of() is not c10d.GroupMember.WORLD)):
            self.group.close(0, "torch.distributed was destroyed")
            self.group = None
        if self.group is not None and self.of is None:
            self._belongs()
        return self.group

    def set(self, group):
        self.group = group
        self._belongs()

    def _belongs(self):
        default = c10d.GroupMember.WORLD
        self.of = weakref.ref(default) if default is not None else None


_world = _World()


def make_group(store, rank, size, ranks, name, seconds):
    """Collective over the ranks of the new group.

    ranks    of the default group of torch, or None: all of them
    store    by which they find each other; their own
    seconds  how long to wait for each other, and how long each call may take
    """
    if _over_mpi:
        return _C.Group(None, list(range(size)) if ranks is None else list(ranks), rank, size, None, name or "all", seconds or 1e9)
    # Keys are used once. A store may have seen such ranks before: an earlier group, or ranks that torchrun has started again.
    store = dist.PrefixStore(f"ccoll/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    store = dist.PrefixStore(str(store.add(f"groups of rank {rank}", 1)), store)
    whole = _world.get()
    if ranks is None:
        if whole is not None:
            return _C.Group(whole, list(range(size)), rank, size, store, name, seconds)
        made = _C.Group(None, [], rank, size, store, name, seconds)
        _world.set(made)
        return made
    return _C.Group(whole, list(ranks) if whole is not None else [], rank, size, store, name, seconds)


def _limit_of(group):
    """Seconds: the time-out of a group of torch."""
    try:
        return group._get_backend(torch.device("cpu")).options._timeout.total_seconds()
    except (AttributeError, RuntimeError):  # it has none for tensors on the CPU, or tells no time-out
        return c10d._get_default_timeout("gloo").total_seconds()


def new_communicator(group=None):
    """A communicator for the ranks of a group of torch.distributed (None: the default group). Collective over them."""
    if not dist.is_initialized():
        if _over_mpi and group is None:
            return make_group(None, rank(), size(), None, None, 0)
        raise RuntimeError("ccoll: a group needs torch.distributed; call torch.distributed.init_process_group() first")
    if _over_mpi:
        _check_launcher(dist.get_rank(), dist.get_world_size())
    group = c10d._get_default_group() if group is None else group
    everybody = group is c10d._get_default_group()
    ranks = None if everybody else dist.get_process_group_ranks(group)
    _, store = c10d._world.pg_map[group]
    return make_group(store, dist.get_rank(group), dist.get_world_size(group), ranks, group.group_name, _limit_of(group))


def seconds_of(timeout):
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
