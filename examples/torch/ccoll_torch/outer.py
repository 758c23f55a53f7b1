# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outer steps: ranks train by themselves, and from time to time average how far they have come (DiLoCo)."""
import time

import torch
import torch.distributed as dist

from ._load import _C
from .ddp import Average


class OuterSteps:
    """Training over slow links. Each rank makes many steps of its own; then step() makes the parameters the same on all ranks again.

    outer = OuterSteps(model.parameters(), Bits(4))
    for k, batch in enumerate(data):
        train(batch)                        # any optimizer; no communication
        if k % 100 == 99: outer.step()

    What is sent is the difference of the parameters since the last step, with error feedback. With its average d and a velocity v, which begins
    as 0:  v = momentum v + d;  parameters -= rate (momentum v + d if nesterov else v).  rate=1, momentum=0, nesterov=False: their average.

    parameters  the same on all ranks as training begins; dense, all on one device
    bound       Bits(b): 2^-b times the largest difference on any rank. A number: an absolute bound
    group       of torch.distributed; None: all ranks

    Memory: about seven vectors of float32 (float64, if a parameter is) as long as all parameters, where these are.
    ccoll::outer_steps is the same in C++.
    """

    def __init__(self, parameters, bound=_C.Bits(8), rate=0.7, momentum=0.9, nesterov=True, group=None):
        if bound is None:
            raise ValueError("ccoll: outer steps have a bound: Bits(8), or a number")
        self._parameters = list(parameters)
        if not self._parameters or len({p.device for p in self._parameters}) > 1:
            raise ValueError("ccoll: the parameters of outer steps are on one device")
        self.rate, self.momentum, self.nesterov, self.steps = rate, momentum, nesterov, 0
        double = any(p.dtype == torch.float64 for p in self._parameters)
        self._start = torch.empty(
            sum(p.numel() for p in self._parameters), dtype=torch.float64 if double else torch.float32, device=self._parameters[0].device
        )
        with torch.no_grad():
            for part, p in zip(self._parts(self._start), self._parameters):
                part.copy_(p)
        self._velocity = torch.zeros_like(self._start)
        self._attempt = 0.0  # the last one in which this rank took part, or that of the state that it was given
        self._torch_group = group
        self._average = Average(bound, True, group)

    @torch.no_grad()
    def step(self):
        """Collective. A step that fails on a rank changes nothing there; then settle() over a group of those that are left, and step again."""
        difference = torch.empty_like(self._start)
        for start, part, p in zip(self._parts(self._start), self._parts(difference), self._parameters):
            part.copy_(start.to(p.dtype)).sub_(p)
        most, least, attempt = self._agree()
        if most != least:
            raise RuntimeError("ccoll: not all ranks have made the same number of outer steps; call settle() first")
        self._attempt = attempt
        self._average._averages.begin(difference, 0, 1).wait()
        # One rounding in each of these, so that all processors and GPUs have the same bits.
        self._velocity.mul_(self.momentum).add_(difference)
        by = self._velocity
        if self.nesterov:
            by = (self._velocity * self.momentum).add_(difference)
        self._start.sub_(by * self.rate)
        self._give()
        self.steps += 1

    @torch.no_grad()
    def settle(self, group=None):
        """Collective over a group that has changed: ranks were lost, have come, or do not know whether a step that failed here succeeded elsewhere.

        Parameters of a rank that has made fewer steps than others become those after the last one; others keep what they have trained since then.
        The state is sent exactly. What was cut off stays with the rank that has it. -> whether this rank was given other parameters
        """
        self._torch_group = group
        self._average._change_group(group)
        most, _, _ = self._agree()
        behind = self.steps < most
        me, p = dist.get_rank(group), dist.get_world_size(group)
        leader = -int(self._maxima([-float(p if behind else me)])[0])
        source = leader if group is None else dist.get_global_rank(group, leader)
        attempt = torch.tensor([self._attempt], dtype=torch.float64, device=self._start.device)
        came = [self._start.clone(), self._velocity.clone(), attempt]
        for each in came:  # as bytes, since a group may have a bound for floats
            dist.broadcast(each.view(torch.uint8), source, group=group)
        self._start, self._velocity = came[0], came[1]
        if not behind:
            return False
        if attempt.item() == self._attempt:  # in the average that this rank did not see is what it contributed
            self._average._averages.assume_success(0)
        self._attempt, self.steps = attempt.item(), int(most)
        self._give()
        return True

    def report(self):
        """A dict of what this rank has sent, and of the largest error that was promised."""
        return self._average.report()

    def state_dict(self):
        """What was cut off is not in it: load_state_dict() begins with an empty memory."""
        return {"start": self._start.clone(), "velocity": self._velocity.clone(), "steps": self.steps}

    def load_state_dict(self, state):
        """On all ranks, with the same state. Parameters stay as they are."""
        self._start.copy_(state["start"])
        self._velocity.copy_(state["velocity"])
        self.steps, self._attempt = state["steps"], 0.0
        self._average.forget()

    def _parts(self, whole):
        at = 0
        for p in self._parameters:
            yield whole[at : at + p.numel()].view(p.shape)
            at += p.numel()

    def _give(self):
        for part, p in zip(self._parts(self._start), self._parameters):
            p.copy_(part)

    def _maxima(self, numbers):
        together = torch.tensor(numbers, dtype=torch.float64, device=self._start.device)
        dist.all_reduce(together, dist.ReduceOp.MAX, group=self._torch_group)
        return together.tolist()

    def _agree(self):
        """The most and the least steps of a rank, and a number that only the ranks of this call have in common."""
        n = float(self._start.numel())
        most, least, longest, shortest, attempt = self._maxima([float(self.steps), -float(self.steps), n, -n, time.monotonic()])
        if longest != -shortest:
            raise RuntimeError(f"ccoll: ranks have {int(-shortest)} to {int(longest)} elements in their parameters")
        return most, -least, attempt
