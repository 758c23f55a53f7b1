# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch builds on groups of the backend: meshes of two dimensions (HSDP), DTensor, tensor parallelism, checkpoints."""
import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch import Bits, Options
from checks import check, exact_average, rounding, same_on_all_ranks, values


def net(dtype=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 240), torch.nn.Tanh(), torch.nn.Linear(240, 64)).to(dtype)


def mesh_of_two(options=None):
    """Two dimensions; on an odd number of ranks the first has length 1. `options` count for the first, across replicas."""
    p = dist.get_world_size()
    rows = 2 if p % 2 == 0 else 1
    override = {"replicate": ("ccoll", options)} if options is not None else None
    return init_device_mesh("cpu", (rows, p // rows), mesh_dim_names=("replicate", "shard"), backend_override=override)


def loss_and_gradients(model):
    batch = values(dist.get_rank(), 64 * 8).view(8, 64)
    loss = model(batch).square().sum()
    loss.backward()
    whole = [each.grad.full_tensor() if isinstance(each.grad, DTensor) else each.grad for each in model.parameters()]
    return loss.item(), torch.cat([each.flatten() for each in whole])


def hsdp():
    """Shards within a node and replicas across nodes: exact, with custom communication within, and with a bound across replicas."""
    plain = net()
    expected = loss_and_gradients(DistributedDataParallel(plain))
    size, p = expected[1].abs().max().item(), dist.get_world_size()
    rounded = 4 * p * rounding(torch.float32, size)
    bound = 1e-2
    for name, options, scatter in [
        ("exact", None, None),
        ("a bound across replicas", Options(all_reduce=bound, least_bytes=1024), None),
        ("a bound within shards", None, ccoll_torch.ReduceScatter(bound)),
        ("both", Options(all_reduce=bound, least_bytes=1024), ccoll_torch.ReduceScatter(bound)),
    ]:
        mesh, model = mesh_of_two(options), net()
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
            if scatter is not None:
                layer.set_custom_all_gather(ccoll_torch.AllGather())
                layer.set_custom_reduce_scatter(scatter)
        fully_shard(model, mesh=mesh)
        loss, gradients = loss_and_gradients(model)
        # torch divides by the ranks before and after the sums, so the bound of a sum of 2 or p / 2 ranks is at most p bounds.
        lossy = (options is not None and mesh.size(0) > 1) or (scatter is not None and mesh.size(1) > 1)
        off, allowed = (gradients - expected[1]).abs().max().item(), (2 * p * bound if lossy else 0) + rounded
        check(abs(loss - expected[0]) <= 64 * rounding(torch.float32, abs(expected[0])), f"HSDP, {name}: loss {loss} and {expected[0]}")
        check(off <= allowed and (off > rounded) == lossy, f"HSDP, {name}: gradients are off by {off}, at most {allowed}")
        check(same_on_all_ranks(gradients), f"HSDP, {name}: the same gradients on all ranks")


def dtensor():
    """Every change of placement is the collective that it should be, exact and within bounds."""
    me, p = dist.get_rank(), dist.get_world_size()
    bound, rows, columns = 1e-3, 8 * p, 600 * p
    whole = values(0, rows * columns).view(rows, columns)
    bounds = Options(all_reduce=bound, all_gather=bound, reduce_scatter=bound, all_to_all=bound, least_bytes=1024)
    for name, options in [("exact", None), ("bounds", bounds)]:
        override = {"all": ("ccoll", options)} if options is not None else None
        mesh = init_device_mesh("cpu", (p,), mesh_dim_names=("all",), backend_override=override)
        allowed = 1.01 * bound if options is not None else 0.0
        split = distribute_tensor(whole, mesh, [Shard(0)], src_data_rank=None)
        check(torch.equal(split.to_local(), whole.chunk(p, 0)[me]), f"DTensor, {name}: Shard(0)")
        gathered = split.redistribute(mesh, [Replicate()]).to_local()
        check((gathered - whole).abs().max().item() <= allowed, f"DTensor, {name}: Shard to Replicate")
        check(options is None or not torch.equal(gathered, whole), f"DTensor, {name}: Shard to Replicate is compressed")
        # On the CPU torch does this with an all-gather and not with an all-to-all.
        turned = split.redistribute(mesh, [Shard(1)]).to_local()
        check((turned - whole.chunk(p, 1)[me]).abs().max().item() <= allowed, f"DTensor, {name}: Shard(0) to Shard(1)")
        mine = values(me, rows * columns).view(rows, columns)
        expected = p * exact_average(rows * columns).view(rows, columns)
        rounded = p * p * rounding(torch.float32, 2.0)
        partial = DTensor.from_local(mine, mesh, [Partial()], run_check=False)
        total = partial.redistribute(mesh, [Replicate()]).to_local()
        check((total - expected).abs().max().item() <= p * allowed + rounded, f"DTensor, {name}: Partial to Replicate")
        check(same_on_all_ranks(total), f"DTensor, {name}: Partial to Replicate has the same bits on all ranks")
        part = partial.redistribute(mesh, [Shard(0)]).to_local()
        check((part - expected.chunk(p, 0)[me]).abs().max().item() <= p * allowed + rounded, f"DTensor, {name}: Partial to Shard")
        product = torch.mm(split, distribute_tensor(whole.t().contiguous(), mesh, [Replicate()], src_data_rank=None)).full_tensor()
        reference = whole @ whole.t()
        near = (product - reference).abs().max().item() <= columns * (rounding(torch.float32, 4.0) + allowed)
        check(near, f"DTensor, {name}: a product of matrices")


def tensor_parallel():
    """A pair of layers split by columns and rows computes what one rank computes with all of it."""
    p = dist.get_world_size()
    mesh = init_device_mesh("cpu", (p,), mesh_dim_names=("tp",))

    def layers():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(64, 48 * p), torch.nn.GELU(), torch.nn.Linear(48 * p, 32))

    alone, split = layers(), parallelize_module(layers(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    batch = values(0, 64 * 8).view(8, 64)  # the same on all ranks
    expected, found = alone(batch), split(batch)
    check((expected - found).abs().max().item() <= 64 * rounding(torch.float32, expected.abs().max().item()), "tensor parallelism: forward")
    check(same_on_all_ranks(found.detach()), "tensor parallelism: the same bits on all ranks")
    expected.square().sum().backward()
    found.square().sum().backward()
    for one, other in zip(alone.parameters(), split.parameters()):
        off = (one.grad - other.grad.full_tensor()).abs().max().item()
        check(off <= 256 * rounding(torch.float32, one.grad.abs().max().item()), f"tensor parallelism: gradients are off by {off}")


def two_dimensions():
    """Tensor parallelism within, FSDP2 across."""
    p = dist.get_world_size()
    rows = 2 if p % 2 == 0 else 1
    mesh = init_device_mesh("cpu", (rows, p // rows), mesh_dim_names=("dp", "tp"))
    model = parallelize_module(net(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    scatter = ccoll_torch.ReduceScatter(1e-3)
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh["dp"])
        layer.set_custom_all_gather(ccoll_torch.AllGather())
        layer.set_custom_reduce_scatter(scatter)
    fully_shard(model, mesh=mesh["dp"])
    alone = net()
    # All ranks of a tensor-parallel group have the same batch.
    batches = [values(100 + row, 64 * 8).view(8, 64) for row in range(rows)]
    model(batches[mesh.get_local_rank("dp")]).square().sum().backward()
    (sum(alone(batch).square().sum() for batch in batches) / rows).backward()
    for one, other in zip(alone.parameters(), model.parameters()):
        off = (one.grad - other.grad.full_tensor()).abs().max().item()
        allowed = 2e-3 + 256 * rounding(torch.float32, one.grad.abs().max().item())
        check(off <= allowed, f"FSDP2 over tensor parallelism: gradients are off by {off}, at most {allowed}")


def checkpoints():
    """What FSDP2 saves over the backend comes back bit for bit, into a model with other weights."""
    def sharded(seed):
        torch.manual_seed(seed)
        model = net() if seed == 0 else torch.nn.Sequential(torch.nn.Linear(64, 240), torch.nn.Tanh(), torch.nn.Linear(240, 64))
        for layer in (model[0], model[2], model):
            fully_shard(layer)
        return model, torch.optim.AdamW(model.parameters())

    def state_of(model, optimiser):
        weights, moments = get_state_dict(model, optimiser)
        return {"model": weights, "optimiser": moments}

    def step(model, optimiser):
        model(values(dist.get_rank(), 64 * 8).view(8, 64)).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()

    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    saved = sharded(0)
    step(*saved)
    checkpoint.save(state_of(*saved), checkpoint_id=folder[0])
    loaded = sharded(1)
    step(*loaded)
    state = state_of(*loaded)
    checkpoint.load(state, checkpoint_id=folder[0])
    set_state_dict(*loaded, model_state_dict=state["model"], optim_state_dict=state["optimiser"])
    for one, other in [saved, loaded], [saved, loaded]:
        weights = [torch.cat([each.full_tensor().flatten() for each in model.parameters()]) for model, _ in (one, other)]
        check(torch.equal(*weights), "a checkpoint: weights come back, and so do the optimiser's moments")
        step(*one)
        step(*other)
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder[0])


def page():
    """What docs/pytorch.md shows."""
    p, model = dist.get_world_size(), net()
    replicas = 2 if p % 2 == 0 else 1
    shape = (replicas, p // replicas)
    # [doc:hsdp]
    bounds = Options(all_reduce=Bits(8))  # across replicas, over the slow links
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"), backend_override={"replicate": ("ccoll", bounds)})
    fully_shard(model, mesh=mesh)  # within a replica: exact
    # [/doc:hsdp]
    model(values(dist.get_rank(), 64).view(1, 64)).square().sum().backward()
    check(all(same_on_all_ranks(each.grad.full_tensor()) for each in model.parameters()), "HSDP of the page")


def all_parts():
    return [page, hsdp, dtensor, tensor_parallel, two_dimensions, checkpoints]
