# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small net on the ranks of mpirun, with gradients that ccoll averages, and beside it with exact ones:

    examples/torch/run.sh --bits 6
    mpirun -n 2 python examples/torch/train.py --backend ccoll --bound 1e-4 --no-feedback

Data: handwritten digits of scikit-learn, if that is installed, or points that a random net labels.
"""
import argparse
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import ccoll_torch


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bits", type=int, help="of a gradient, below the largest one of a bucket")
    parser.add_argument("--bound", type=float, help="an absolute bound of the averages, in place of bits")
    parser.add_argument("--no-feedback", action="store_true", help="what a step cuts off is lost")
    parser.add_argument("--backend", choices=["gloo", "ccoll"], default="gloo", help="of torch.distributed, for everything but gradients")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="of each rank")
    return parser.parse_args()


def data():
    """Points and labels, the same on all ranks."""
    try:
        from sklearn.datasets import load_digits

        points, labels = load_digits(return_X_y=True)
        return torch.tensor(points, dtype=torch.float32) / 16, torch.tensor(labels), "digits of scikit-learn"
    except ImportError:
        made = torch.Generator().manual_seed(1)
        points = torch.randn(2000, 64, generator=made)
        teacher = torch.randn(64, 32, generator=made), torch.randn(32, 10, generator=made)
        return points, (torch.tanh(points @ teacher[0] / 4) @ teacher[1]).argmax(1), "points of a random net"


def train(chosen, points, labels, state):
    """@return the loss over all data after the last step"""
    torch.manual_seed(0)  # the same first weights
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    model = DistributedDataParallel(net)
    model.register_comm_hook(state, ccoll_torch.average_hook)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    mine = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(chosen.steps):
        rows = torch.randint(len(points), (chosen.batch,), generator=mine)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(points[rows]), labels[rows]).backward()
        optimiser.step()
    with torch.no_grad():
        scores = net(points)
        return torch.nn.functional.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()


def main():
    chosen = options()
    bound = ccoll_torch.Bits(chosen.bits) if chosen.bits else chosen.bound if chosen.bound else ccoll_torch.Bits(6)
    ccoll_torch.init_process_group(chosen.backend)
    points, labels, kind = data()
    exact = train(chosen, points, labels, ccoll_torch.Average(None))
    state = ccoll_torch.Average(bound, feedback=not chosen.no_feedback)
    lossy = train(chosen, points, labels, state)
    if dist.get_rank() == 0:
        report = state.report()
        print(f"{dist.get_world_size()} ranks, {kind}, {chosen.steps} steps, set up by {chosen.backend}")
        print(f"exact:  loss {exact[0]:.4f}, {100 * exact[1]:.1f} % right")
        print(f"{bound}{'' if chosen.no_feedback else ' with feedback'}:  loss {lossy[0]:.4f}, {100 * lossy[1]:.1f} % right, "
              f"{report['ratio']:.2f} times fewer bytes")
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
