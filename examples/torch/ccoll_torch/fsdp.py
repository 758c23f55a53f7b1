# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Communication of FSDP2 (torch.distributed.fsdp.fully_shard) over ccoll: gradients with a bound, parameters exact by default."""
import torch
import torch.distributed as dist
from torch.distributed.fsdp._fully_shard._fsdp_api import AllGather as _AllGather
from torch.distributed.fsdp._fully_shard._fsdp_api import ReduceScatter as _ReduceScatter

from ._load import _C
from .launch import new_communicator


class _Comm:
    """One object can serve all modules. It has a communicator of its own for each group, so that its report is about its calls alone."""

    def __init__(self, bound):
        _C.check(bound)
        self.bound = bound
        self._groups = {}

    def allocate(self, size, *, dtype, device):
        return torch.empty(*size, dtype=dtype, device=device)

    def _ranks(self, group):
        if group not in self._groups or self._groups[group].closed:
            self._groups[group] = new_communicator(group)
        return self._groups[group]

    def report(self):
        """A dict for each group that was used: what this rank has sent, and the largest error that was promised."""
        return [ranks.report() for ranks in self._groups.values()]


class AllGather(_Comm, _AllGather):
    """module.set_custom_all_gather(AllGather()). With a bound, each step computes with parameters that are off by up to the bound; the
    parameters that the optimiser keeps are not changed. None, the default, is exact."""

    def __init__(self, bound=None):
        super().__init__(bound)

    def __call__(self, output_tensor, input_tensor, group, async_op=False):
        work = _C.all_gather(self._ranks(group), output_tensor, input_tensor, self.bound)
        if async_op:
            return work
        work.wait()
        return None


class ReduceScatter(_Comm, _ReduceScatter):
    """module.set_custom_reduce_scatter(ReduceScatter(Bits(8))): gradients within a bound. None is exact."""

    def __init__(self, bound):
        super().__init__(bound)

    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        op = dist.ReduceOp(op) if isinstance(op, dist.ReduceOp.RedOpType) else op
        work = _C.reduce_scatter(self._ranks(group), output_tensor, input_tensor, op, self.bound)
        if async_op:
            return work
        work.wait()
        return None
