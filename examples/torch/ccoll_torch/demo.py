# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small net on some ranks of this machine, with gloo and with the averages of ccoll:  python -m ccoll_torch.demo --ranks 2

Prints the loss, the bytes of gradients that a rank has sent, and the time of a step. Starts the ranks itself (torchrun), or is one of them if
torchrun or mpirun has started it. The ranks share this machine, where bytes cost little: times say what compression takes, not what it saves.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def points():
    """Points and labels, the same on all ranks: handwritten digits if scikit-learn is installed, or points that a random net labels."""
    try:
        from sklearn.datasets import load_digits

        made, labels = load_digits(return_X_y=True)
        return torch.tensor(made, dtype=torch.float32) / 16, torch.tensor(labels), "digits of scikit-learn"
    except ImportError:
        generator = torch.Generator().manual_seed(1)
        made = torch.randn(2000, 64, generator=generator)
        teacher = torch.randn(64, 32, generator=generator), torch.randn(32, 10, generator=generator)
        return made, (torch.tanh(made @ teacher[0] / 4) @ teacher[1]).argmax(1), "points of a random net"


def net(width=256):
    """With the same first weights on all ranks."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)]
    return torch.nn.Sequential(*layers)


def descend(model, parameters, steps, batch):
    """SGD on random points, others on each rank. @return seconds of each step"""
    made, labels, _ = points()
    optimiser = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    mine = torch.Generator().manual_seed(dist.get_rank())
    seconds = []
    for _ in range(steps):
        rows = torch.randint(len(made), (batch,), generator=mine)
        dist.barrier()
        began = time.monotonic()
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(made[rows]), labels[rows]).backward()
        optimiser.step()
        seconds.append(time.monotonic() - began)
    return seconds


def score(model):
    """Loss over all points, and the share of right answers."""
    made, labels, _ = points()
    with torch.no_grad():
        scores = model(made)
        return torch.nn.functional.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":  ")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="processes on this machine")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="points of each rank in a step")
    parser.add_argument("--width", type=int, default=256, help="neurons of a hidden layer")
    parser.add_argument("--bits", type=int, nargs="+", default=[8, 4], help="of a gradient, below the largest one of a bucket")
    return parser.parse_args()


def start(chosen):
    """The ranks, by torchrun."""
    print(f"python -m torch.distributed.run --standalone --nproc-per-node {chosen.ranks} -m ccoll_torch.demo", flush=True)
    # Ranks that each start as many threads as there are cores would only wait for each other.
    environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // chosen.ranks)), **os.environ}
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(chosen.ranks), "-m", "ccoll_torch.demo"]
    return subprocess.run([*launcher, *sys.argv[1:]], env=environment).returncode


def compare(chosen):
    import ccoll_torch
    from ccoll_torch import Average, Bits

    ccoll_torch.init_process_group("gloo")
    p, me = dist.get_world_size(), dist.get_rank()
    model = net(chosen.width)
    parameters = sum(each.numel() for each in model.parameters())
    if me == 0:
        print(f"{p} ranks, {points()[2]}, {parameters} parameters, {chosen.steps} steps, torch {torch.__version__}, {ccoll_torch.library()}\n")
        print(f"{'gradients':24} {'loss':>8} {'right':>8} {'sent per step':>14} {'ms per step':>12}")
    variants = [("gloo", None), ("exact", Average(None)), *((f"Bits({bits}), feedback", Average(Bits(bits))) for bits in chosen.bits)]
    for name, state in variants:
        model = net(chosen.width)
        parallel = DistributedDataParallel(model)
        if state is not None:
            parallel.register_comm_hook(state, ccoll_torch.average_hook)
        seconds = descend(parallel, model.parameters(), chosen.steps, chosen.batch)
        loss, right = score(model)
        # gloo says nothing of what it sends; its ring sends each element 2 (p - 1) / p times.
        sent = state.report()["sent_bytes"] / chosen.steps if state is not None else 2 * (p - 1) / p * 4 * parameters
        if me == 0:
            bytes_sent = f"{sent / 1000:.0f} kB" if state is not None else f"({sent / 1000:.0f} kB)"
            print(f"{name:24} {loss:8.4f} {100 * right:6.1f} % {bytes_sent:>14} {1000 * statistics.median(seconds):12.2f}")
    if me == 0:
        print("\nBytes in parentheses are computed, others counted on rank 0. Times are medians; on one machine they show the work and not the link.")
    dist.destroy_process_group()


def main():
    chosen = options()
    launched = any(name in os.environ for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"))
    if not launched:
        return start(chosen)
    compare(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
