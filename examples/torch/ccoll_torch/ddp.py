# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A communication hook for DistributedDataParallel."""
import torch
import torch.distributed as dist

from ._load import _C
from .launch import new_communicator


class Average:
    """The state of average_hook: how gradients are averaged.

    bound     None: exact. A number: an absolute bound of one compression, so that the average of p ranks is within the same number.
              Bits(b): 2^-b times the largest gradient of a bucket, over all ranks
    feedback  what a step cuts off is added to the gradients of the next one, so that nothing is lost over time
    group     of torch.distributed; None: all ranks

    Making one is collective over the ranks of the group: it has communicators of its own.
    """

    def __init__(self, bound, feedback=True, group=None):
        _C.check(bound)
        self.bound, self.feedback = bound, feedback
        self._group, maxima = new_communicator(group), new_communicator(group)
        self._averages = _C.Averages(self._group, maxima, bound, feedback)

    def report(self):
        """A dict of what this rank has sent, and of the largest error that was promised."""
        return self._group.report()

    def _change_group(self, group):
        """Collective over the new group, when no average is under way. What was cut off stays."""
        self._group, maxima = new_communicator(group), new_communicator(group)
        self._averages.change_group(self._group, maxima)

    def forget(self):
        """Begins with an empty memory of what was cut off, for example after a checkpoint was loaded."""
        self._averages.forget()

    def begin(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        # Buckets are made anew after the first step. Then their parameters are others, and so is what was cut off.
        key = hash(tuple(parameter.data_ptr() for parameter in bucket.parameters())) & (2**63 - 1) if self.feedback else 0
        return self._averages.begin(bucket.buffer(), bucket.index(), key).get_future().then(lambda ended: ended.value()[0])


def average_hook(state: Average, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """model.register_comm_hook(Average(Bits(8)), average_hook). The averages are made on a thread of their own while backward goes on."""
    return state.begin(bucket)
