# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small net whose gradients ccoll averages, and beside it the same net with exact ones:

    torchrun --nproc-per-node 4 examples/torch/train.py --bits 6
    torchrun --nproc-per-node 4 examples/torch/train.py --way fsdp --compile
    mpirun -n 4 python examples/torch/train.py --bound 1e-4 --no-feedback      an extension that was built for MPI

Says whether all ranks end with the same bits. Data: handwritten digits of scikit-learn, if that is installed, or points that a random net labels.
"""
import argparse
import hashlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch.demo import descend, net, points, score


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--way", choices=["ddp", "fsdp"], default="ddp", help="DistributedDataParallel with the hook, or FSDP2")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--bits", type=int, help="of a gradient, below the largest one of a bucket; 6 if there is no --bound")
    parser.add_argument("--bound", type=float, help="an absolute bound of the averages, in place of bits")
    parser.add_argument("--no-feedback", action="store_true", help="DistributedDataParallel: what a step cuts off is lost")
    parser.add_argument("--backend", choices=["gloo", "ccoll"], default="ccoll", help="of torch.distributed, for everything but gradients")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="of each rank")
    return parser.parse_args()


def same_on_all_ranks(parameters):
    digest = hashlib.sha256(b"".join(each.numpy().tobytes() for each in parameters)).hexdigest()
    digests = [None] * dist.get_world_size()
    dist.all_gather_object(digests, digest)
    return len(set(digests)) == 1


def with_ddp(chosen, bound):
    """@return loss and right answers, the same bits everywhere?, bytes and bytes without compression of rank 0"""
    model = net()
    state = ccoll_torch.Average(bound, feedback=not chosen.no_feedback)
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(state, ccoll_torch.average_hook)
    descend(torch.compile(parallel) if chosen.compile else parallel, model.parameters(), chosen.steps, chosen.batch)
    report = state.report()
    return score(model), same_on_all_ranks(each.detach() for each in model.parameters()), report


def with_fsdp(chosen, bound):
    model = net()
    gather, scatter = ccoll_torch.AllGather(), ccoll_torch.ReduceScatter(bound)
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer)
        layer.set_custom_all_gather(gather)  # parameters: exact
        layer.set_custom_reduce_scatter(scatter)  # gradients
    fully_shard(model)
    descend(torch.compile(model) if chosen.compile else model, model.parameters(), chosen.steps, chosen.batch)
    whole = [each.full_tensor().detach() for each in model.parameters()]
    alone = net()
    with torch.no_grad():
        for mine, trained in zip(alone.parameters(), whole):
            mine.copy_(trained)
    return score(alone), same_on_all_ranks(whole), scatter.report()[0]


def main():
    chosen = options()
    bound = ccoll_torch.Bits(chosen.bits) if chosen.bits else chosen.bound if chosen.bound else ccoll_torch.Bits(6)
    ccoll_torch.init_process_group(chosen.backend)
    train = with_ddp if chosen.way == "ddp" else with_fsdp
    if dist.get_rank() == 0:
        way = f"{chosen.way}, compiled" if chosen.compile else chosen.way
        print(f"{dist.get_world_size()} ranks, {points()[2]}, {chosen.steps} steps, {way}, {chosen.backend}, {ccoll_torch.library()}")
    failed = False
    for name, each in [("exact", None), (str(bound), bound)]:
        (loss, right), same, report = train(chosen, each)
        failed = failed or not same
        if dist.get_rank() == 0:
            print(f"{name + ':':12} loss {loss:.4f}, {100 * right:.1f} % right, {report['ratio']:.2f} times fewer bytes, "
                  f"{'the same bits on all ranks' if same else 'NOT THE SAME BITS on all ranks'}")
    dist.destroy_process_group()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
