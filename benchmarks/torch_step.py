# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds per step of DistributedDataParallel: gloo and the hook of examples/torch, over UCX or MPI, step by step in turn.

    benchmarks/run.sh torch                                                     over links of 1 Gb/s
    torchrun --nproc-per-node 4 benchmarks/torch_step.py --only gloo 'Bits(8)'  over UCX, on one machine; the extension must be installed

Each variant has a net and an optimiser of its own, with the same first weights. A step is timed on the slowest rank, from a barrier to the
end of the optimiser's step. Data are points that a random net labels; each rank has others.
"""
import argparse
import json
import os
import resource
import statistics
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch
from ccoll_torch import Average, Bits, average_hook


def variants():
    """name -> what registers the hook, or nothing"""
    hook = lambda state: lambda model: model.register_comm_hook(state, average_hook)  # noqa: E731
    return {
        "gloo": lambda model: None,
        "gloo, fp16 on the wire (torch's hook)": lambda model: model.register_comm_hook(None, default_hooks.fp16_compress_hook),
        "exact": hook(Average(None)),
        "Bits(10)": hook(Average(Bits(10), feedback=False)),
        "Bits(8)": hook(Average(Bits(8), feedback=False)),
        "Bits(8), feedback": hook(Average(Bits(8))),
        "Bits(6), feedback": hook(Average(Bits(6))),
        "Bits(4), feedback": hook(Average(Bits(4))),
    }


def make(width):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(1024, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1024),
        torch.nn.ReLU(), torch.nn.Linear(1024, 10),
    )


class Trained:
    def __init__(self, register, width):
        self.model = DistributedDataParallel(make(width), gradient_as_bucket_view=True, init_sync=False)
        self.state = register(self.model)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.02)
        self.seconds, self.cpu = [], []

    def step(self, points, labels, timed):
        dist.barrier()
        began, used = time.monotonic(), time.process_time()
        self.optimiser.zero_grad()
        torch.nn.functional.cross_entropy(self.model(points), labels).backward()
        self.optimiser.step()
        took = torch.tensor([time.monotonic() - began, time.process_time() - used])
        both = took.clone()
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        dist.all_reduce(both)
        if timed:
            self.seconds.append(took[0].item())
            self.cpu.append(both[1].item() / dist.get_world_size())


def take_rank_of_launcher():
    """A launcher of MPI can start ranks that need no MPI; MASTER_ADDR and MASTER_PORT are then set by who calls it."""
    for rank, size in [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")]:
        if rank in os.environ:
            os.environ.setdefault("RANK", os.environ[rank])
            os.environ.setdefault("WORLD_SIZE", os.environ[size])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--width", type=int, default=3072, help="of the hidden layers")
    parser.add_argument("--batch", type=int, default=32, help="of each rank")
    parser.add_argument("--steps", type=int, default=8, help="timed steps of each variant")
    parser.add_argument("--only", nargs="+", default=[""], help="variants whose names begin with one of these")
    parser.add_argument("--link", default="", help="the links, as people read it")
    parser.add_argument("--json", help="a file to which rows are added")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    take_rank_of_launcher()
    ccoll_torch.init_process_group("gloo")
    me, p = dist.get_rank(), dist.get_world_size()

    made = torch.Generator().manual_seed(100 + me)
    teacher = torch.randn(1024, 10, generator=torch.Generator().manual_seed(1))
    every = {name: Trained(register, chosen.width) for name, register in variants().items() if name.startswith(tuple(chosen.only))}
    for step in range(chosen.steps + 3):  # buckets are made anew after the first
        points = torch.randn(chosen.batch, 1024, generator=made)
        labels = (points @ teacher).argmax(1)
        for one in every.values():
            one.step(points, labels, step > 2)

    if me != 0:
        dist.destroy_process_group()
        return
    parameters = sum(q.numel() for q in next(iter(every.values())).model.parameters())
    print(f"{p} ranks, {chosen.link}, {parameters / 1e6:.1f} million parameters, {chosen.batch} points per rank, {chosen.steps} steps in turn")
    print(f"{'variant':42} {'s per step':>10} {'quartiles':>15} {'cpu s':>6} {'gloo / it':>9}")
    usual = statistics.median(every["gloo"].seconds) if "gloo" in every else None
    library = " ".join(ccoll_torch.library().split("\n")[0].split(",")[0].split())
    for name, one in every.items():
        quarters = statistics.quantiles(one.seconds, n=4) if len(one.seconds) > 1 else one.seconds * 3
        middle = statistics.median(one.seconds)
        row = {
            "variant": name, "ranks": p, "link": chosen.link, "mpi": library, "torch": torch.__version__, "parameters": parameters,
            "batch": chosen.batch, "s": round(middle, 4), "s_quartiles": [round(quarters[0], 4), round(quarters[2], 4)],
            "cpu_s": round(statistics.median(one.cpu), 4), "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        of_gloo = f"{usual / middle:9.2f}" if usual else ""
        print(f"{name:42} {middle:10.3f} {quarters[0]:7.3f} {quarters[2]:7.3f} {row['cpu_s']:6.3f} {of_gloo}")
        if chosen.json:
            with open(chosen.json, "a") as file:
                file.write(json.dumps(row) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
