# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The communication hook: averages, error feedback, errors, and training."""
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch import Average, Bits, average_hook
from checks import check, error_of, exact_average, on_all_ranks, rounding, same_on_all_ranks, values

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def begin(state, tensor, index=0, key=0):
    return state._averages.begin(tensor, index, key)


def averages():
    for dtype in TYPES:
        for bound in [None, 1e-2, Bits(8)]:
            for feedback in [False, True]:
                state = Average(bound, feedback)
                state._group.reset()
                mine = values(dist.get_rank(), dtype=dtype)
                result = begin(state, mine).get_future().wait()
                exact, name = exact_average(dtype=dtype), f"{dtype} {bound} feedback {feedback}"
                check(len(result) == 1 and result[0].data_ptr() == mine.data_ptr(), f"{name}: the future has the bucket")
                report = state.report()
                # Sums of two-byte floats are made with floats, and rounded once; those of others are rounded in each addition.
                allowed = report["worst_case_error"] + dist.get_world_size() * rounding(dtype, exact.abs().max().item())
                check((mine.double() - exact).abs().max().item() <= allowed, f"{name}: within the bound")
                check(same_on_all_ranks(mine), f"{name}: the same bits on all ranks")
                if bound is not None:
                    check(not report["exact"] and report["ratio"] > 1.5, f"{name}: {report['ratio']} times fewer bytes")
                    check(report["worst_case_error"] <= 1.01 * (1e-2 if bound == 1e-2 else 2**-8 * 2), f"{name}: what was promised")
    for bound in [None, Bits(8), 1.0]:
        mine = torch.full((1000,), 60000.0, dtype=torch.float16)  # whose sum no half holds
        begin(Average(bound), mine).wait()
        check(bool(torch.isfinite(mine).all()), f"{bound}: an average near the top of the range of half is finite")


def nothing_is_lost():
    """With feedback the averages of all steps add up to those of all gradients, less at most one bound."""
    steps, bound, n = 20, 0.5, 5000  # above most gradients, which one step alone therefore rounds to 0
    for feedback in [True, False]:
        state, total, exact = Average(bound, feedback), torch.zeros(n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
        for step in range(steps):
            mine = values(dist.get_rank(), n, scale=0.1 * (1 + step % 3))
            exact += exact_average(n, scale=0.1 * (1 + step % 3))
            begin(state, mine).wait()
            total += mine.double()
        worst = (total - exact).abs().max().item()
        if feedback:
            check(worst <= bound + steps * rounding(torch.float32, 1.0) * 4, f"with feedback {worst} is lost in {steps} steps")
        else:
            check(worst > bound, "without feedback more is lost than a bound, or this test shows nothing")
    # Another set of parameters does not get what these have kept, and neither does a bucket after forget().
    state = Average(bound)
    for key, fresh in [(1, True), (1, False), (2, True)]:
        mine = torch.full((n,), 0.3)  # rounded to 0, and kept
        begin(state, mine, key=key).wait()
        check(bool((mine == 0).all()) == fresh, f"memory of the bucket with key {key}")
    state.forget()
    mine = torch.full((n,), 0.3)
    begin(state, mine, key=2).wait()
    check(bool((mine == 0).all()), "forget() forgets")


def errors():
    me, last = dist.get_rank(), dist.get_world_size() - 1
    odd = me == last

    for name, call, sentence in [
        ("a bound that differs", lambda: begin(Average(2e-3 if odd else 1e-3, False), values(me)).wait(), "disagree on the error bound"),
        ("bits that differ", lambda: begin(Average(Bits(7 if odd else 8), False), values(me)).wait(), "disagree on"),
        ("feedback, a bound that differs", lambda: begin(Average(2e-3 if odd else 1e-3), values(me)).wait(), "disagree on the error bound"),
        ("types that differ", lambda: begin(Average(1e-3, False), values(me, dtype=torch.float64 if odd else torch.float32)).wait(), "disagree on"),
        ("lengths that differ", lambda: begin(Average(1e-3, False), values(me, 5000 if odd else 5001)).wait(), "disagree on the element count"),
        ("integers on one rank", lambda: begin(Average(1e-3, False), torch.ones(5000, dtype=torch.int32) if odd else values(me)).wait(),
         "is Int on cpu" if odd else "disagree on the plan"),
        ("integers on one rank, feedback", lambda: begin(Average(Bits(8)), torch.ones(5000, dtype=torch.int32) if odd else values(me)).wait(),
         "is Int on cpu" if odd else "another rank could not take part"),
    ]:
        told = error_of(call)
        check(sentence in told, f"{name}: '{sentence}' in '{told}'")
        mine = values(me)
        begin(Average(1e-3, False), mine).wait()
        check(on_all_ranks((mine.double() - exact_average()).abs().max().item() < 1.1e-3), f"after {name} the next call is right")

    check("disagree" in error_of(lambda: begin(Average(2e-3 if odd else 1e-3, False), values(me)).get_future().wait()), "the future has the error")
    for bound in [0.0, -1.0, float("inf"), float("nan")]:
        check("a bound is a number above 0" in error_of(lambda: Average(bound)), f"bound {bound}")
    check("Bits takes 2 to 8" in error_of(lambda: Bits(1)), "Bits(1)")
    check("incompatible" in error_of(lambda: Average("1e-3")), "a bound that is a text")

    if "MPI" in ccoll_torch.library():  # as if torchrun had started the ranks
        os.environ["WORLD_SIZE"] = str(dist.get_world_size() + 1)
        told = error_of(ccoll_torch.init_process_group)
        check("start the program with mpirun, not with torchrun" in told, f"other ranks: '{told}'")
        os.environ["WORLD_SIZE"] = str(dist.get_world_size())

    # The same through DDP: backward() throws on every rank.
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    model.register_comm_hook(Average(2e-3 if odd else 1e-3), average_hook)
    told = error_of(lambda: model(torch.ones(1, 64)).sum().backward())
    check("disagree on the error bound" in told, f"DDP: '{told}'")

    table = DistributedDataParallel(torch.nn.Embedding(100, 8, sparse=True))
    table.register_comm_hook(Average(1e-3), average_hook)
    told = error_of(lambda: table(torch.arange(10)).sum().backward())
    check("a sparse one of Float" in told and "sparse=False" in told, f"sparse gradients: '{told}'")


def gradients():
    """DDP with the hook and exact averages beside DDP alone; with gradients that are views of buckets, and several buckets."""
    torch.manual_seed(0)

    def net():
        layers = [torch.nn.Linear(64, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300), torch.nn.Tanh(), torch.nn.Linear(300, 8)]
        return torch.nn.Sequential(*layers)

    weights = net().state_dict()
    batch = values(dist.get_rank(), 64 * 16).view(16, 64)
    found = {}
    for name, bound in [("plain", None), ("exact", None), ("lossy", 1e-4)]:
        plain = net()
        plain.load_state_dict(weights)
        model = DistributedDataParallel(plain, bucket_cap_mb=0.1, gradient_as_bucket_view=name != "plain")
        if name != "plain":
            model.register_comm_hook(Average(bound), average_hook)
        for _ in range(3):  # buckets are made anew after the first
            model.zero_grad()
            model(batch).square().sum().backward()
        found[name] = torch.cat([p.grad.flatten() for p in plain.parameters()]).double()
    size = found["plain"].abs().max().item()
    rounded = 4 * dist.get_world_size() * rounding(torch.float32, size)
    check((found["exact"] - found["plain"]).abs().max().item() <= rounded, "exact hook as plain DDP")
    off = (found["lossy"] - found["plain"]).abs().max().item()
    # Feedback may add what the last step has cut off, so an average is off by two bounds at most.
    check(0 < off <= 2e-4 + rounded, f"lossy hook: {off}")


def points():
    made = torch.Generator().manual_seed(1)
    x = torch.randn(600, 20, generator=made)
    teacher = torch.randn(20, 8, generator=made), torch.randn(8, 4, generator=made)
    return x, (torch.tanh(x @ teacher[0] / 2) @ teacher[1]).argmax(1)


def descend(net, state, steps, rate, seed=None):
    """SGD on the rank's share of the points: all of it in each step, or with `seed` a random part. @return the loss over all points"""
    x, labels = points()
    share = slice(dist.get_rank() * (600 // dist.get_world_size()), (dist.get_rank() + 1) * (600 // dist.get_world_size()))
    model = DistributedDataParallel(net)
    if state is not None:
        model.register_comm_hook(state, average_hook)
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    mine = torch.Generator().manual_seed(100 * (seed or 0) + dist.get_rank())
    path = 0.0
    for _ in range(steps):
        rows = torch.randint(600 // dist.get_world_size(), (50,), generator=mine) if seed is not None else slice(None)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[share][rows]), labels[share][rows]).backward()
        path += max(p.grad.abs().max().item() for p in net.parameters())
        optimiser.step()
    with torch.no_grad():
        return torch.nn.functional.cross_entropy(net(x), labels).item(), path


def training():
    # A convex loss: with a rate of at most 2 / L a step brings two sets of weights no farther apart, so weights differ by no more than the sum
    # of what the steps were off by, and losses by that times the largest gradient. L of cross entropy is half the largest eigenvalue of the
    # points' second moments, the 1 for the bias included.
    x, _ = points()
    with_one = torch.cat([x, torch.ones(600, 1)], 1).double()
    rate = 0.9 * 2 / (0.5 * torch.linalg.eigvalsh(with_one.T @ with_one / 600).max().item() * 1.3)  # 1.3: the points of a rank
    steps, n = 60, 20 * 4 + 4
    steepest = math.sqrt(2) * with_one.norm(dim=1).max().item()
    for bits in [6, 10]:
        losses = {}
        for name, state in [("plain", None), ("hook", Average(Bits(bits), feedback=False))]:
            torch.manual_seed(3)
            losses[name], path = descend(torch.nn.Linear(20, 4), state, steps, rate)
        apart = rate * math.sqrt(n) * 2**-bits * path * 2  # largest gradient of any rank: at most a few times that of the average
        limit = steepest * apart
        check(abs(losses["hook"] - losses["plain"]) <= limit, f"softmax regression, {bits} bits: {losses} differ by more than {limit}")
        check(limit < 50 * 2**-bits * 60, "the limit says something")

    # A net: its loss with the hook is not worse than what another order of the batches makes of it.
    net = lambda: torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))  # noqa: E731
    plain = []
    for seed in range(4):
        torch.manual_seed(3)
        plain.append(descend(net(), None, 150, 0.5, seed)[0])
    limit = max(plain) + (max(plain) - min(plain))
    for state in [Average(Bits(4)), Average(Bits(6)), Average(1e-3), Average(Bits(8), feedback=False)]:
        torch.manual_seed(3)
        loss = descend(net(), state, 150, 0.5, 0)[0]
        check(loss <= limit, f"{state.bound} feedback {state.feedback}: loss {loss}, plain {plain}")


def page():
    """What docs/pytorch.md shows."""
    net, batch = torch.nn.Linear(64, 300), values(dist.get_rank(), 64).view(1, 64)
    # [doc:hook]
    model = DistributedDataParallel(net)
    state = ccoll_torch.Average(ccoll_torch.Bits(8))
    model.register_comm_hook(state, ccoll_torch.average_hook)
    model(batch).square().sum().backward()
    print(state.report()["ratio"], state.report()["worst_case_error"])
    # [/doc:hook]
    check(same_on_all_ranks(net.weight.grad) and state.report()["ratio"] > 1, "the hook of the page")


def all_parts():
    return [averages, nothing_is_lost, errors, gradients, training, page]
