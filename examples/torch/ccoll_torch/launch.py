# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ranks of mpirun as those of torch.distributed, and a communicator of MPI for a group of torch."""
import os
import socket

import torch.distributed as dist

from ._load import _C

rank, size = _C.rank, _C.size

_groups = {}  # ranks of MPI_COMM_WORLD -> Group


def _set_environment():
    """What torch.distributed reads (env://). Variables that are set stay as they are."""
    port = ""
    if rank() == 0:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = str(probe.getsockname()[1])
    address, port = _C.bcast(f"{socket.gethostname()} {port}").split(" ")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1" if size() == 1 else address)
    os.environ.setdefault("MASTER_PORT", port)
    os.environ.setdefault("RANK", str(rank()))
    os.environ.setdefault("WORLD_SIZE", str(size()))


def init_process_group(backend="gloo", **options):
    """torch.distributed.init_process_group for a program that mpirun has started. backend: "gloo" or "ccoll", or another one."""
    _set_environment()
    if int(os.environ["WORLD_SIZE"]) != size() or int(os.environ["RANK"]) != rank():
        raise RuntimeError(_other_ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])))
    dist.init_process_group(backend, **options)


def _other_ranks(their_rank, their_size):
    return (
        f"ccoll: torch.distributed says rank {their_rank} of {their_size}, and MPI says rank {rank()} of {size()}; "
        "start the program with mpirun, not with torchrun, and call ccoll_torch.init_process_group()"
    )


def _ranks_of(group):
    """Ranks of MPI_COMM_WORLD."""
    if dist.is_initialized():
        if dist.get_world_size() != size() or dist.get_rank() != rank():
            raise RuntimeError(_other_ranks(dist.get_rank(), dist.get_world_size()))
        return tuple(dist.get_process_group_ranks(group))
    if group is None:
        return tuple(range(size()))
    raise RuntimeError("ccoll: a group needs torch.distributed; call ccoll_torch.init_process_group() first")


def new_communicator(group=None):
    """A communicator for the ranks of a group of torch.distributed (None: the default group). Collective over them."""
    return _C.Group(list(_ranks_of(group)))


def communicator(group=None):
    """One that was made before for the same ranks, or a new one."""
    ranks = _ranks_of(group)
    if ranks not in _groups:
        _groups[ranks] = new_communicator(group)
    return _groups[ranks]
