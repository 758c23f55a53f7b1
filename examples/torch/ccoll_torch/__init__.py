# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of ccoll for PyTorch: tensors on the CPU or on GPUs of CUDA, messages over UCX or MPI.

    average_hook, Average     a communication hook for DistributedDataParallel
    AllGather, ReduceScatter  for set_custom_all_gather and set_custom_reduce_scatter of FSDP2
    OuterSteps                training over slow links, with an average from time to time
    "ccoll"                   a backend of torch.distributed, with Options
    init_process_group        that of torch.distributed, also with the ranks of mpirun

A bound is None (exact), a number (no element is farther from the exact result than the report says), or Bits(8). docs/pytorch.md has more.
"""
from ._load import _C
from .launch import init_process_group, rank, size
from .ddp import Average, average_hook
from .fsdp import AllGather, ReduceScatter
from .outer import OuterSteps
from .backend import ExactWarning, Options, report

Bits = _C.Bits
library = _C.library
works_on_gpus = _C.works_on_gpus  # False: tensors of GPUs go through memory of the host

__all__ = [
    "AllGather", "Average", "Bits", "ExactWarning", "Options", "OuterSteps", "ReduceScatter", "average_hook", "init_process_group",
    "library", "rank", "report", "size", "works_on_gpus",
]
