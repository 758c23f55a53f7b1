#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The covariance of samples that are dealt out to the ranks: a sum of matrices in each round. It knows nothing of ccoll.
    mpirun -n 4 python3 covariance.py"""
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
features, samples, rounds = 1024, 256, 12
mixing = np.random.default_rng(1).normal(size=(32, features)).astype(np.float32)
random = np.random.default_rng(100 + world.rank)
total = np.empty((features, features), np.float32)
in_mpi = 0.0
world.Barrier()
begin = MPI.Wtime()
for _ in range(rounds):
    x = random.normal(size=(samples, 32)).astype(np.float32) @ mixing
    own = x.T @ x / np.float32(samples)
    at = MPI.Wtime()
    world.Allreduce(own, total)
    in_mpi += MPI.Wtime() - at
    total /= world.size
slowest = np.empty(2)
world.Allreduce(np.array([MPI.Wtime() - begin, in_mpi]), slowest, MPI.MAX)
# How far the last sum is from that of double precision
exact = np.empty((features, features))
world.Allreduce(own.astype(np.float64), exact)
if world.rank == 0:
    error = np.abs(total * world.size - exact).max()
    print(f"seconds per step {slowest[0] / rounds:8.4f}, in MPI_Allreduce {slowest[1] / rounds:8.4f}, largest error of a sum {error:9.2e}")
