# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend "ccoll" of torch.distributed."""
import warnings
from dataclasses import dataclass, fields

import torch
import torch.distributed as dist

from ._load import _C
from .launch import _check_launcher, _over_mpi, make_group, seconds_of


class ExactWarning(UserWarning):
    """Why a call is exact in a group with bounds. The first rank of a group says each reason once."""


_C.tell_notices_to(lambda sentence: warnings.warn(sentence, ExactWarning, stacklevel=2))


def report(group=None):
    """A dict of what this rank has sent in a group whose backend is "ccoll" (None: the default group), and of the largest error that was
    promised. `ratio` is 1 where nothing was compressed."""
    group = dist.distributed_c10d._get_default_group() if group is None else group
    kinds = [device.type for device in group._device_types]
    return _C.report_of(group._get_backend(torch.device("cpu" if "cpu" in kinds else "cuda")))


@dataclass(frozen=True)
class Options:
    """init_process_group("ccoll", pg_options=Options(all_reduce=Bits(8))): which collectives may be lossy, and how much. Tensors of less than
    least_bytes, integers, and collectives without a bound are exact. Each reason why a call is exact although there are bounds is said once, as
    an ExactWarning; warn=False turns that off."""

    all_reduce: object = None
    reduce_scatter: object = None
    all_gather: object = None
    all_to_all: object = None
    broadcast: object = None
    least_bytes: int = 64 * 1024
    warn: bool = True

    @property
    def _timeout(self):
        """init_device_mesh reads it of options of any kind. None: the usual time-out of groups."""
        return None


def _create(torchs, options):
    if options is None:
        options = Options()
    if not isinstance(options, Options):
        raise TypeError(f"ccoll: pg_options must be ccoll_torch.Options, and is {type(options).__name__}")
    bounds = {each.name: getattr(options, each.name) for each in fields(options)}
    for name, bound in bounds.items():
        if name not in ("least_bytes", "warn"):
            _C.check(bound)
    ranks = list(torchs.global_ranks_in_group) or None  # torch names none for the default group
    if _over_mpi and ranks is None:
        _check_launcher(torchs.group_rank, torchs.group_size)
    group = make_group(torchs.store, torchs.group_rank, torchs.group_size, ranks, torchs.group_id, seconds_of(torchs.timeout))
    return _C.create_backend(group, **bounds)


dist.Backend.register_backend("ccoll", _create, extended_api=True, devices=["cpu", "cuda"])
