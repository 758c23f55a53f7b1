# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile: functional collectives in a graph without breaks, DistributedDataParallel with the hook, and FSDP2, beside the same without it."""
import warnings

import torch
import torch._inductor.config
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch import Average, Bits, Options, average_hook
from checks import check, exact_average, rounding, same_on_all_ranks, values

torch._inductor.config.compile_threads = 1  # so that no rank starts processes of its own to compile in


def graph_of(group):
    """The four functional collectives that frameworks use, with arithmetic between them."""

    def run(x):
        p = dist.get_world_size(group)
        total = funcol.all_reduce(x * 2, "sum", group)
        parts = funcol.all_gather_tensor(x + 1, 0, group)
        own = funcol.reduce_scatter_tensor(parts.sin(), "avg", 0, group)
        dealt = funcol.all_to_all_single(x.view(p, -1) - 1, None, None, group)
        return total / p, parts, own, dealt

    return run


def functional():
    """Inductor and AOTAutograd make the same calls as the program without them, exact and within bounds, in one graph."""
    me, p = dist.get_rank(), dist.get_world_size()
    n = 12000 * p
    bound = 1e-3
    bounds = Options(all_reduce=bound, all_gather=bound, reduce_scatter=bound, all_to_all=bound, least_bytes=1024)
    lossy = dist.new_group(backend="ccoll", pg_options=bounds)
    for name, group, within in [("exact", dist.group.WORLD, 0.0), ("bounds", lossy, bound)]:
        run, x = graph_of(group), values(me, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # their names change
            plain = [torch.as_tensor(y).clone() for y in run(x)]
            for compiler in ["aot_eager", "inductor"]:
                torch._dynamo.reset()
                found = torch.compile(run, fullgraph=True, backend=compiler)(x)
                for what, a, b in zip(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"], plain, found):
                    # Inductor's sine and its fused arithmetic may round otherwise.
                    allowed = 0 if compiler == "aot_eager" else 2 * within + 8 * rounding(torch.float32, 4.0)
                    near = (a - b).abs().max().item() <= allowed
                    check(near, f"{name}, {compiler}: {what} as without torch.compile")
                check(same_on_all_ranks(found[0]), f"{name}, {compiler}: all_reduce has the same bits on all ranks")
        expected = 2 * exact_average(n)
        off = (plain[0].double() - expected).abs().max().item()
        check(off <= 1.01 * within + p * rounding(torch.float32, 4.0 * p) and (off > 1e-5) == (within > 0), f"{name}: all_reduce is off by {off}")
        everything = torch.cat([values(rank, n) for rank in range(p)]) + 1
        off = (plain[1] - everything).abs().max().item()
        check(off <= 1.01 * within and (off > 1e-5) == (within > 0), f"{name}: all_gather is off by {off}")
        mine = torch.cat([values(rank, n).view(p, -1)[me] - 1 for rank in range(p)])
        off = (plain[3].flatten() - mine).abs().max().item()
        check(off <= 1.01 * within and (off > 1e-5) == (within > 0), f"{name}: all_to_all is off by {off}")
        check((ccoll_torch.report(group)["ratio"] > 1.5) == (within > 0), f"{name}: {ccoll_torch.report(group)}")


def page():
    """What docs/pytorch.md shows."""
    gradients = values(dist.get_rank(), 60000)
    # [doc:compile]
    lossy = dist.new_group(backend="ccoll", pg_options=Options(all_reduce=Bits(8)))

    @torch.compile(fullgraph=True)
    def average(x):
        return funcol.all_reduce(x, "avg", lossy)

    mean = average(gradients)
    # [/doc:compile]
    off = (mean.double() - exact_average(60000)).abs().max().item()
    check(0 < off <= 2**-8 * 2 and same_on_all_ranks(torch.as_tensor(mean)), f"the graph of the page is off by {off}")


def net():
    return torch.nn.Sequential(torch.nn.Linear(20, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 4))


def points():
    made = torch.Generator().manual_seed(1)
    x = torch.randn(600, 20, generator=made)
    teacher = torch.randn(20, 8, generator=made), torch.randn(8, 4, generator=made)
    return x, (torch.tanh(x @ teacher[0] / 2) @ teacher[1]).argmax(1)


def descend(model, parameters, loss_of_all, seed, steps=60):
    """SGD on random points of the rank. @return the loss over all points at the end"""
    x, labels = points()
    share = 600 // dist.get_world_size()
    mine = torch.Generator().manual_seed(100 * seed + dist.get_rank())
    optimiser = torch.optim.SGD(parameters, lr=0.3)
    for _ in range(steps):
        rows = dist.get_rank() * share + torch.randint(share, (50,), generator=mine)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
        optimiser.step()
    with torch.no_grad():
        return torch.nn.functional.cross_entropy(loss_of_all(x), labels).item()


def noise():
    """Losses at the end for other orders of the points, exact and without torch.compile; and the highest loss that such noise explains."""
    losses = []
    for seed in range(4):
        torch.manual_seed(3)
        plain = net()
        losses.append(descend(DistributedDataParallel(plain), plain.parameters(), plain, seed))
    return losses, max(losses) + (max(losses) - min(losses))


def ddp():
    """The hook averages gradients within its bound when the model is compiled: the same bits on all ranks, and a loss within the noise of seeds."""
    losses, limit = noise()
    torch._dynamo.reset()
    torch.manual_seed(3)
    plain = net()
    model = DistributedDataParallel(plain, bucket_cap_mb=1)  # several buckets, at which torch.compile splits its graph
    state = Average(Bits(6))
    model.register_comm_hook(state, average_hook)
    loss = descend(torch.compile(model), plain.parameters(), plain, 0)
    check(loss <= limit, f"DDP, compiled, 6 bits: loss {loss}, exact {losses}")
    check(all(same_on_all_ranks(each.detach()) for each in plain.parameters()), "DDP, compiled: the same weights on all ranks")
    report = state.report()
    check(not report["exact"] and report["ratio"] > 2 and report["worst_case_error"] > 0, f"DDP, compiled: gradients are compressed: {report}")


def fsdp():
    """FSDP2 with compiled layers, and with all of the net compiled: gradients with 6 bits, a loss within the noise of seeds."""
    losses, limit = noise()
    for way in ["layers", "net"]:
        torch._dynamo.reset()
        torch.manual_seed(3)
        model = net()
        gather, scatter = ccoll_torch.AllGather(), ccoll_torch.ReduceScatter(Bits(6))
        for layer in (model[0], model[2], model[4]):
            if way == "layers":
                layer.compile()
            fully_shard(layer)
            layer.set_custom_all_gather(gather)
            layer.set_custom_reduce_scatter(scatter)
        fully_shard(model)
        trained = torch.compile(model) if way == "net" else model
        loss = descend(trained, model.parameters(), model, 0)
        check(loss <= limit, f"FSDP2, compiled {way}, 6 bits: loss {loss}, exact {losses}")
        whole = torch.cat([each.full_tensor().flatten() for each in model.parameters()]).detach()
        check(same_on_all_ranks(whole), f"FSDP2, compiled {way}: the same weights on all ranks")
        sent = scatter.report()
        check(len(sent) == 1 and not sent[0]["exact"] and sent[0]["ratio"] > 2, f"FSDP2, compiled {way}: gradients are compressed: {sent}")


def all_parts():
    return [page, functional, ddp, fsdp]
