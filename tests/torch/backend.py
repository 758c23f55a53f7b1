# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend "ccoll" of torch.distributed beside what every rank can compute by itself, and FSDP2."""
import warnings

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch import Bits, Options
from checks import check, error_of, exact_average, on_all_ranks, rounding, same_on_all_ranks, values

OPS = {"SUM": lambda a: a.sum(0), "PRODUCT": lambda a: a.prod(0), "MIN": lambda a: a.amin(0), "MAX": lambda a: a.amax(0)}


def small(rank, dtype, n=12):
    """Small integers, so that sums and products are exact in every type."""
    return ((torch.arange(n) * 7 + rank) % 3 + 1).to(dtype)


def everywhere(dtype, n=12):
    return torch.stack([small(rank, dtype, n) for rank in range(dist.get_world_size())])


def reductions():
    me, p = dist.get_rank(), dist.get_world_size()
    floats = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
    for dtype in [*floats, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]:
        for name, reference in OPS.items():
            expected = reference(everywhere(dtype).double()).to(dtype)
            x = small(me, dtype)
            dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
            check(torch.equal(x, expected), f"all_reduce {name} {dtype}")
            x = small(me, dtype)
            dist.reduce(x, dst=p - 1, op=getattr(dist.ReduceOp, name))
            check(torch.equal(x, expected if me == p - 1 else small(me, dtype)), f"reduce {name} {dtype}")
            x, part = small(me, dtype, 4 * p), torch.empty(4, dtype=dtype)
            dist.reduce_scatter_tensor(part, x, op=getattr(dist.ReduceOp, name))
            expected = reference(everywhere(dtype, 4 * p).double()).to(dtype)[4 * me : 4 * me + 4]
            check(torch.equal(part, expected), f"reduce_scatter_tensor {name} {dtype}")
        x = small(me, dtype)
        told = error_of(lambda: dist.all_reduce(x, op=dist.ReduceOp.AVG))
        if dtype in floats:
            expected = everywhere(dtype).double().mean(0)
            check((x.double() - expected).abs().max().item() <= 2 * rounding(dtype, 3.0), f"average {dtype}")
        else:
            check("an average of" in told, f"average {dtype}: '{told}'")
    for name, reference in [("BAND", lambda a, b: a & b), ("BOR", lambda a, b: a | b), ("BXOR", lambda a, b: a ^ b)]:
        x, expected = small(me, torch.int32), small(0, torch.int32)
        for rank in range(1, p):
            expected = reference(expected, small(rank, torch.int32))
        dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
        check(torch.equal(x, expected), f"all_reduce {name}")
    x, part = small(me, torch.float32, 4 * p), torch.empty(4)
    dist.reduce_scatter_tensor(part, x, op=dist.ReduceOp.PREMUL_SUM(0.5))  # as FSDP2 does with a divide factor
    expected = everywhere(torch.float32, 4 * p).sum(0)[4 * me : 4 * me + 4] / 2
    check(torch.equal(part, expected) and torch.equal(x, small(me, torch.float32, 4 * p)), "PREMUL_SUM")
    dist.all_reduce(x, op=dist.ReduceOp.PREMUL_SUM(0.5))
    check(torch.equal(x, everywhere(torch.float32, 4 * p).sum(0) / 2), "PREMUL_SUM, all_reduce")
    x = values(me, 200000)  # long enough for the engine
    dist.all_reduce(x)
    check((x.double() - p * exact_average(200000)).abs().max().item() <= p * p * rounding(torch.float32, 2.0), "a long sum")
    check(same_on_all_ranks(x), "a long sum: the same bits")
    x = values(me, 200000)
    dist.reduce(x, dst=0)
    off = (x.double() - p * exact_average(200000)).abs().max().item()
    check(off <= p * p * rounding(torch.float32, 2.0) if me == 0 else torch.equal(x, values(me, 200000)), "a long sum at one rank")
    yes = torch.tensor([me == 0, True, False])
    dist.all_reduce(yes)
    check(yes.tolist() == [True, True, False], "a sum of bools is 'or'")
    z = torch.complex(small(me, torch.float32), -small(me, torch.float32))
    dist.all_reduce(z)
    check(torch.equal(z.imag, -everywhere(torch.float32).sum(0)), "all_reduce of complex numbers")
    columns = torch.zeros(4, 3, dtype=torch.float32)[:, ::2]  # with gaps
    columns += me
    dist.all_reduce(columns)
    check(bool((columns == p * (p - 1) / 2).all()), "all_reduce of elements with gaps")
    warnings.simplefilter("ignore", FutureWarning)  # all_reduce_coalesced will go, some day
    some = [small(me, torch.float32, 3), small(me, torch.float32, 5)]
    dist.all_reduce_coalesced(some)
    check(torch.equal(some[1], everywhere(torch.float32, 5).sum(0)), "all_reduce_coalesced")
    x = small(me, torch.float32)
    future = dist.all_reduce(x, async_op=True).get_future()
    check(torch.equal(future.wait()[0], everywhere(torch.float32).sum(0)), "the future of all_reduce")


def movements():
    me, p = dist.get_rank(), dist.get_world_size()
    for dtype in [torch.float32, torch.float16, torch.int64, torch.bool, torch.complex128, torch.float8_e4m3fn]:
        mine = [small(rank, torch.float32).to(dtype) for rank in range(p)]
        same = lambda a, b: torch.equal(a.view(torch.uint8), b.view(torch.uint8))  # noqa: E731
        x = mine[me].clone()
        dist.broadcast(x, src=p - 1)
        check(same(x, mine[p - 1]), f"broadcast {dtype}")
        all_of_them = [torch.empty_like(mine[0]) for _ in range(p)]
        dist.all_gather(all_of_them, mine[me])
        check(all(same(a, b) for a, b in zip(all_of_them, mine)), f"all_gather {dtype}")
        flat = torch.empty(p * 12, dtype=dtype)
        dist.all_gather_into_tensor(flat, mine[me])
        check(same(flat, torch.cat(mine)), f"all_gather_into_tensor {dtype}")
        dist.gather(mine[me], all_of_them if me == 0 else None, dst=0)
        check(me != 0 or all(same(a, b) for a, b in zip(all_of_them, mine)), f"gather {dtype}")
        x = torch.empty_like(mine[0])
        dist.scatter(x, mine if me == 0 else None, src=0)
        check(same(x, mine[me]), f"scatter {dtype}")
    x = torch.arange(p * 6, dtype=torch.float32).view(p * 2, 3) + 100 * me
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    check(torch.equal(y, torch.cat([torch.arange(p * 6, dtype=torch.float32).view(p * 2, 3)[2 * me : 2 * me + 2] + 100 * r for r in range(p)])),
          "all_to_all_single")
    # Rank r sends s + 1 rows to rank s.
    x = torch.full((p * (p + 1) // 2, 2), float(me))
    y = torch.empty(p * (me + 1), 2)
    dist.all_to_all_single(y, x, output_split_sizes=[me + 1] * p, input_split_sizes=[s + 1 for s in range(p)])
    check(torch.equal(y[:, 0], torch.arange(p).repeat_interleave(me + 1).float()), "all_to_all_single with split sizes")
    lists = [torch.empty(3) for _ in range(p)]
    dist.all_to_all(lists, [torch.full((3,), float(10 * me + s)) for s in range(p)])
    check([v[0].item() for v in lists] == [10 * r + me for r in range(p)], "all_to_all")
    part, parts = torch.empty(4), [torch.full((4,), float(me + s)) for s in range(p)]
    dist.reduce_scatter(part, parts)
    check(bool((part == sum(r + me for r in range(p))).all()), "reduce_scatter")
    objects = [None] * p
    dist.all_gather_object(objects, {"rank": me, "text": "x" * (me + 1)})
    check([o["rank"] for o in objects] == list(range(p)), "all_gather_object")
    dist.barrier()


def messages():
    me, p = dist.get_rank(), dist.get_world_size()
    n = 1 << 20  # no MPI sends so much before somebody receives it
    right, left = (me + 1) % p, (me - 1) % p
    out, into = torch.full((n,), float(me)), torch.empty(n)
    for call in dist.batch_isend_irecv([dist.P2POp(dist.isend, out, right), dist.P2POp(dist.irecv, into, left)]):
        call.wait()
    check(bool((into == left).all()), "isend and irecv")
    # A receive that is open does not keep collectives from their end.
    open_one = dist.irecv(into, left) if me == 0 else None
    x = torch.ones(1)
    dist.all_reduce(x)
    check(x.item() == p, "a collective beside an open receive")
    if me == p - 1:
        dist.send(torch.full((n,), 7.0), 0)
    if open_one is not None:
        open_one.wait()
        check(bool((into == 7).all()), "the open receive")
    if me == 0:
        found = sorted(dist.recv(torch.empty(2)) for _ in range(p - 1))
        check(found == list(range(1, p)), f"a message from any rank: {found}")
    else:
        dist.send(torch.ones(2), 0)


def groups():
    me, p = dist.get_rank(), dist.get_world_size()
    pair = dist.new_group([p - 1, 0])
    alone = dist.new_group([1])
    if me in (0, p - 1):
        x = torch.tensor([float(me)])
        dist.all_reduce(x, group=pair)
        check(x.item() == p - 1, "a sum in a group of two")
    if me == 1:
        x = torch.tensor([5.0])
        dist.all_reduce(x, group=alone)
        check(x.item() == 5, "a sum in a group of one")
    # Two groups at the same time, whose calls begin in another order on each rank.
    both = [dist.new_group(list(range(p))) for _ in range(2)]
    order = both if me == 0 else both[::-1]
    x = {group: torch.full((300000,), 1.0) for group in both}
    calls = [dist.all_reduce(x[group], group=group, async_op=True) for group in order]
    for call in calls:
        call.wait()
    check(all(bool((v == p).all()) for v in x.values()), "two groups, begun in another order")


def bounds():
    me = dist.get_rank()
    wanted = Options(all_reduce=1e-2, all_gather=Bits(8), all_to_all=1e-2, broadcast=1e-2, reduce_scatter=1e-2)
    lossy = dist.new_group(backend="ccoll", pg_options=wanted)
    p, n = dist.get_world_size(), 60000
    for dtype in [torch.float32, torch.bfloat16]:
        x = values(me, n, dtype)
        dist.all_reduce(x, op=dist.ReduceOp.AVG, group=lossy)
        off = (x.double() - exact_average(n, dtype)).abs().max().item()
        check(1e-4 < off <= 1e-2 + p * rounding(dtype, 2.0), f"all_reduce within a bound, {dtype}: {off}")
        check(same_on_all_ranks(x), f"all_reduce within a bound, {dtype}: the same bits")
        everything = torch.empty(p * n, dtype=dtype)
        dist.all_gather_into_tensor(everything, values(me, n, dtype), group=lossy)
        off = max((everything[r * n : r * n + n].double() - values(r, n, dtype).double()).abs().max().item() for r in range(p))
        check(1e-5 < off <= 2**-8 * 2, f"all_gather with bits, {dtype}: {off}")
        x = values(me, n, dtype)
        dist.broadcast(x, src=0, group=lossy)
        off = (x.double() - values(0, n, dtype).double()).abs().max().item()
        check(1e-4 < off <= 1e-2, f"broadcast within a bound, {dtype}: {off}")
        whole, part = values(me, p * n, dtype), torch.empty(n, dtype=dtype)
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG, group=lossy)
        off = (part.double() - exact_average(p * n, dtype)[me * n : me * n + n]).abs().max().item()
        check(1e-4 < off <= 1e-2 + p * rounding(dtype, 2.0), f"reduce_scatter within a bound, {dtype}: {off}")
        moved = torch.empty(p * n, dtype=dtype)
        dist.all_to_all_single(moved, values(me, p * n, dtype), group=lossy)
        off = max((moved[r * n : r * n + n].double() - values(r, p * n, dtype)[me * n : me * n + n].double()).abs().max().item() for r in range(p))
        check(1e-4 < off <= 1e-2, f"all_to_all within a bound, {dtype}: {off}")
    # What no bound was meant for stays exact.
    x = values(me, 1000)
    dist.all_reduce(x, group=lossy)
    check((x.double() - p * exact_average(1000)).abs().max().item() <= p * p * rounding(torch.float32, 2.0), "short tensors are exact")
    x = torch.arange(60000) + me
    dist.all_reduce(x, group=lossy)
    check(torch.equal(x, p * torch.arange(60000) + p * (p - 1) // 2), "integers are exact")
    x = values(me, n)
    dist.all_reduce(x, op=dist.ReduceOp.MAX, group=lossy)
    check(bool((torch.stack([values(r, n) for r in range(p)]).amax(0) - x).abs().max() <= 1.01e-2), "a maximum within a bound")


def refusals():
    me, p = dist.get_rank(), dist.get_world_size()
    for name, call, sentence in [
        ("sparse", lambda: dist.all_reduce(torch.eye(3).to_sparse()), "sparse"),
        ("float8", lambda: dist.all_reduce(torch.ones(3).to(torch.float8_e4m3fn)), "cannot compute with elements of"),
        ("parts", lambda: dist.all_gather_into_tensor(torch.empty(p * 4 + 1), torch.empty(4)), ""),
        ("options", lambda: dist.new_group(backend="ccoll", pg_options={"all_reduce": 1e-3}), "pg_options must be ccoll_torch.Options"),
        ("bound", lambda: dist.new_group(backend="ccoll", pg_options=Options(all_reduce=-1.0)), "a bound is a number above 0"),
    ]:
        told = error_of(call)
        check(told and sentence in told, f"{name}: '{told}'")
    lossy = dist.new_group(backend="ccoll", pg_options=Options(all_reduce=1e-3 if me else 2e-3))
    told = error_of(lambda: dist.all_reduce(values(me, 60000), group=lossy))
    check("disagree on the error bound" in told, f"bounds that differ: '{told}'")


def ddp_alone():
    """DDP without gloo: parameters are sent, and gradients averaged, by the backend."""
    torch.manual_seed(dist.get_rank())  # DDP gives all ranks the weights of rank 0
    net = torch.nn.Linear(64, 300)
    model = DistributedDataParallel(net)
    model(torch.ones(1, 64) * (1 + dist.get_rank())).sum().backward()
    check(same_on_all_ranks(net.weight.detach()), "DDP: weights")
    check(torch.allclose(net.weight.grad, torch.full((300, 64), (dist.get_world_size() + 1) / 2)), "DDP: gradients")


def fsdp():
    def gradients(gather, scatter, dtype):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64)).to(dtype)
        for layer in (net[0], net[2], net):
            fully_shard(layer)
        if gather is not None:
            for layer in (net[0], net[2]):
                layer.set_custom_all_gather(gather)
                layer.set_custom_reduce_scatter(scatter)
        out = net(values(dist.get_rank(), 64 * 8, dtype).view(8, 64))
        out.square().sum().backward()
        return out.detach().double(), torch.cat([p.grad.to_local().flatten() for p in net.parameters()]).double()

    for dtype in [torch.float32, torch.bfloat16]:
        plain = gradients(None, None, dtype)
        size = plain[1].abs().max().item()
        scatter = ccoll_torch.ReduceScatter(1e-2)
        lossy = gradients(ccoll_torch.AllGather(), scatter, dtype)
        check(torch.equal(plain[0], lossy[0]), f"FSDP {dtype}: parameters are exact")
        promised = max(r["worst_case_error"] for r in scatter.report())
        off = (plain[1] - lossy[1]).abs().max().item()
        allowed = promised + 2 * dist.get_world_size() * rounding(dtype, size)
        check(0 < off <= allowed and promised <= 1.01e-2, f"FSDP {dtype}: gradients off by {off}")
        gathered = gradients(ccoll_torch.AllGather(Bits(8)), ccoll_torch.ReduceScatter(None), dtype)
        check(not torch.equal(plain[0], gathered[0]), f"FSDP {dtype}: parameters with a bound")


def page():
    """What docs/pytorch.md shows."""
    gradients, activations, p = values(dist.get_rank(), 60000), values(dist.get_rank(), 60000), dist.get_world_size()
    # [doc:backend]
    lossy = dist.new_group(backend="ccoll", pg_options=Options(all_reduce=Bits(8), all_to_all=1e-3))
    dist.all_reduce(gradients, op=dist.ReduceOp.AVG, group=lossy)  # 8 bits
    dist.all_reduce(activations)  # exact, because the default group has no bounds
    # [/doc:backend]
    check(0 < (gradients.double() - exact_average(60000)).abs().max().item() <= 2**-7 + 1e-5, "the group of the page")
    check((activations.double() / p - exact_average(60000)).abs().max().item() <= p * rounding(torch.float32, 2.0), "exact on the page")
    net, batch = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64)), torch.ones(1, 64)
    # [doc:fsdp]
    gather, scatter = ccoll_torch.AllGather(), ccoll_torch.ReduceScatter(Bits(8))
    for layer in (net[0], net[2]):
        fully_shard(layer)
        layer.set_custom_all_gather(gather)  # parameters: exact
        layer.set_custom_reduce_scatter(scatter)  # gradients: 8 bits
    # [/doc:fsdp]
    net(batch).sum().backward()
    check(bool(net[0].weight.grad.to_local().isfinite().all()), "FSDP of the page")


def all_parts():
    return [page, reductions, movements, messages, groups, bounds, refusals, ddp_alone, fsdp]
