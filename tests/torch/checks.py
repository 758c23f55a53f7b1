# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of examples/torch share: checks that all ranks make together, and values that every rank can compute for every rank."""
import torch
import torch.distributed as dist

failures = []


def check(holds, sentence):
    """Counted, not thrown, so that ranks stay together."""
    if not holds:
        failures.append(sentence)
        print(f"rank {dist.get_rank()}: FAILED: {sentence}", flush=True)


def values(rank, n=20000, dtype=torch.float32, scale=1.0):
    """A rank's gradients: a smooth part that ranks share, and noise of its own."""
    made = torch.Generator().manual_seed(17 + rank)
    return (scale * (torch.sin(torch.arange(n) * 1e-3) + 0.1 * torch.randn(n, generator=made))).to(dtype)


def exact_average(n=20000, dtype=torch.float32, scale=1.0):
    """In double, from what the ranks have after rounding to their type."""
    return sum(values(rank, n, dtype, scale).double() for rank in range(dist.get_world_size())) / dist.get_world_size()


def same_on_all_ranks(tensor):
    """The same bits?"""
    bits = tensor.flatten().view(torch.uint8).long()
    digest = torch.stack([bits.sum(), (bits * (1 + torch.arange(bits.numel()) % 9973)).sum()])
    lowest, highest = digest.clone(), digest.clone()
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    return bool((lowest == highest).all())


def rounding(dtype, size):
    """Half the distance of neighbours of numbers up to `size`."""
    return torch.finfo(dtype).eps * size


def error_of(call):
    """What `call` throws on this rank, as text; empty if it does not."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  (every kind of error is looked at)
        return str(error)
    return ""


def on_all_ranks(yes):
    """True if it is on all ranks."""
    votes = torch.tensor(int(yes))
    dist.all_reduce(votes, op=dist.ReduceOp.MIN)
    return bool(votes.item())
