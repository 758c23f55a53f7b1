# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outer steps: the same parameters on all ranks, near those of exact steps; groups that change; training."""
import torch
import torch.distributed as dist

import ccoll_torch
from ccoll_torch import Bits, OuterSteps
from checks import check, error_of, rounding, same_on_all_ranks, values


def parameters(dtype=torch.float32):
    return [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in [(300, 20), (), (0, 7), (4001,)]]


def flat(parameters):
    return torch.cat([p.detach().flatten() for p in parameters])


def train(parameters, rank, k):
    """A rank's own steps."""
    with torch.no_grad():
        for i, p in enumerate(parameters):
            p.add_(values(rank, p.numel(), scale=0.1 * (k + 1) * (1 + i)).view(p.shape).to(p.dtype))


def near_exact_steps():
    ranks = range(dist.get_world_size())
    for dtype in [torch.float32, torch.float64, torch.bfloat16, torch.float16]:
        for bound in [Bits(8), 1e-2]:
            for settings in [{}, {"rate": 1, "momentum": 0, "nesterov": False}]:
                how = {"rate": 0.7, "momentum": 0.9, "nesterov": True} | settings
                mine = parameters(dtype)
                outer = OuterSteps(mine, bound, **settings)
                exact, velocity, allowed = torch.zeros(flat(mine).numel(), dtype=torch.float64), 0, 0
                for k in range(4):
                    moved = []
                    for rank in ranks:
                        theirs = parameters(torch.float64)
                        train(theirs, rank, k)
                        moved.append(flat(theirs))
                    train(mine, dist.get_rank(), k)
                    outer.step()
                    check(same_on_all_ranks(flat(mine)), f"{dtype} {bound}: the same bits on all ranks")
                    d = -sum(moved) / len(ranks)
                    velocity = how["momentum"] * velocity + d
                    exact -= how["rate"] * (how["momentum"] * velocity + d if how["nesterov"] else velocity)
                    largest = max(m.abs().max().item() for m in moved) * 1.1
                    # An average is within a bound, and what was kept another one; momentum makes at most 10 of an error. Of two bytes each rank
                    # begins and ends a step with a rounded number.
                    one = 2**-8 * largest if isinstance(bound, Bits) else bound
                    allowed += 2 * one + 4 * rounding(dtype, exact.abs().max().item() + largest)
                error = (flat(mine).double() - exact).abs().max().item()
                check(error <= (10 if how["momentum"] else 1) * allowed, f"{dtype} {bound} {settings}: {error} and not {allowed}")
                check(outer.steps == 4, "steps are counted")


def groups_change():
    """A rank that was not there for a step is given what the others have, and a new one as well."""
    me, p = dist.get_rank(), dist.get_world_size()
    part = dist.new_group(list(range(p - 1)))
    mine = parameters()
    outer = OuterSteps(mine, Bits(4), group=None)
    train(mine, me, 0)
    outer.step()
    if me < p - 1:
        check(not outer.settle(part), "nobody is behind")
        train(mine, me, 1)
        outer.step()
        check(outer.steps == 2, "a step of a part of the ranks")
    dist.barrier()
    if me < p - 1:
        outer._torch_group = None  # the members of the part come back without settle()
    said = error_of(outer.step)
    check("call settle() first" in said, f"ranks with other numbers of steps are told: {said}")
    check(outer.settle() == (me == p - 1), "who was behind")
    check(same_on_all_ranks(flat(mine)) and outer.steps == 2, "the same parameters")
    train(mine, me, 2)
    outer.step()
    check(same_on_all_ranks(flat(mine)) and outer.steps == 3, "a step of all")
    state = outer.state_dict()
    again = parameters()
    with torch.no_grad():
        for p_again, p_mine in zip(again, mine):
            p_again.copy_(p_mine)
    loaded = OuterSteps(again, Bits(8))
    loaded.load_state_dict(state)
    train(again, me, 3)
    loaded.step()
    check(same_on_all_ranks(flat(again)) and loaded.steps == 4, "a step after load_state_dict()")


def errors():
    check("have a bound" in error_of(lambda: OuterSteps(parameters(), None)), "no bound")
    check("on one device" in error_of(lambda: OuterSteps([], Bits(4))), "no parameters")
    me = dist.get_rank()
    uneven = [torch.nn.Parameter(torch.zeros(100 + (me == 0)))]
    said = error_of(OuterSteps(uneven, Bits(4)).step)
    check("100 to 101 elements" in said, f"other lengths: {said}")


def training():
    """A net on data of which each rank has another part: 10 outer steps of 30 steps each end near 300 steps with exact gradients."""

    def data(rank):
        made = torch.Generator().manual_seed(rank)
        x = torch.randn(400, 12, generator=made)
        w = torch.randn(12, 3, generator=torch.Generator().manual_seed(99))
        return x, torch.tanh(x @ w)

    def net():
        torch.manual_seed(5)
        return torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.Tanh(), torch.nn.Linear(32, 3))

    def loss_of_all(model):
        return sum(torch.nn.functional.mse_loss(model(x), y).item() for x, y in map(data, range(dist.get_world_size()))) / dist.get_world_size()

    def descend(model, steps, exact):
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x, y = data(dist.get_rank())
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            if exact:
                for p in model.parameters():
                    dist.all_reduce(p.grad)
                    p.grad /= dist.get_world_size()
            optimizer.step()

    synchronous, local = net(), net()
    descend(synchronous, 300, True)
    before, exact = loss_of_all(net()), loss_of_all(synchronous)
    for bits in [4, 8]:
        local = net()
        outer = OuterSteps(local.parameters(), Bits(bits))
        for _ in range(10):
            descend(local, 30, False)
            outer.step()
        ours = loss_of_all(local)
        check(same_on_all_ranks(flat(local.parameters())), "the same bits on all ranks")
        check(ours <= exact + 0.05 * (before - exact), f"{bits} bits: loss {ours}; exact {exact}, at first {before}")
        check(outer.report()["ratio"] > 2, f"{bits} bits: {outer.report()['ratio']} times fewer bytes")


def page():
    """What docs/pytorch.md shows."""
    model, me = torch.nn.Linear(64, 300), dist.get_rank()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batches = [values(me + k, 64).view(1, 64) for k in range(8)]
    with torch.no_grad():
        model.weight.zero_()
        model.bias.fill_(1)
    # [doc:outer]
    outer = ccoll_torch.OuterSteps(model.parameters(), ccoll_torch.Bits(4))  # after the parameters are the same on all ranks
    for k, batch in enumerate(batches):
        model(batch).square().sum().backward()  # the model itself, without DistributedDataParallel
        optimizer.step()
        if k % 4 == 3:
            outer.step()
    # [/doc:outer]
    check(same_on_all_ranks(model.weight) and outer.steps == 2, "the outer steps of the page")


def all_parts():
    return [near_exact_steps, groups_change, errors, training, page]
