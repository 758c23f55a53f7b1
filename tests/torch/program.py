# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of examples/torch on the ranks of torchrun or mpirun:  program.py hook|backend|outer|notices|compiled|parallel [part...]

run.sh starts it.
"""
import importlib
import sys
import time

import torch
import torch.distributed as dist

import ccoll_torch
import checks

if __name__ == "__main__":
    torch.set_num_threads(1)
    # The hook beside gloo, and the backend without it.
    ccoll_torch.init_process_group("gloo" if sys.argv[1] == "hook" else "ccoll")
    subject = importlib.import_module(sys.argv[1])
    for part in subject.all_parts():
        if len(sys.argv) > 2 and part.__name__ not in sys.argv[2:]:
            continue
        began = time.monotonic()
        part()
        if dist.get_rank() == 0:
            print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    failed = not checks.on_all_ranks(not checks.failures)
    dist.destroy_process_group()
    sys.exit(1 if failed else 0)
