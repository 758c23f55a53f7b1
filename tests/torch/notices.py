# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a call is exact in a group with bounds is said once for each reason, by the group's first rank, and not at all where that is turned off."""
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

import ccoll_torch
from ccoll_torch import Bits, Options
from checks import check, values


def told_by(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is ccoll_torch.ExactWarning]


def reasons():
    me, p = dist.get_rank(), dist.get_world_size()
    n = 60000

    def group(**others):
        return dist.new_group(backend="ccoll", pg_options=Options(all_reduce=Bits(8), all_to_all=1e-3, **others))

    part, ones = torch.empty(n), torch.ones(p, dtype=torch.int64)
    calls = {
        "with bounds: tensors below least_bytes are, and found 4000 of 65536 bytes": lambda g: dist.all_reduce(values(me, 1000), group=g),
        "exact in a group with bounds: bounds are for floats, and found Long": lambda g: dist.all_reduce(torch.arange(n), group=g),
        "bounds are for SUM, AVG, MIN, MAX and PREMUL_SUM": lambda g: dist.all_reduce(values(me, n), op=dist.ReduceOp.PRODUCT, group=g),
        "name none for all_gather": lambda g: dist.all_gather_into_tensor(torch.empty(p * n), values(me, n), group=g),
        "name none for reduce_scatter": lambda g: dist.reduce_scatter_tensor(part, values(me, p * n), group=g),
        "name none for broadcast": lambda g: dist.broadcast(values(me, n), 0, group=g),
        "name none for gather": lambda g: dist.gather(part, [torch.empty(n) for _ in range(p)] if me == 0 else None, 0, group=g),
        "all_to_all is exact in a group with bounds: bounds are for floats": lambda g: dist.all_to_all_single(ones.clone(), ones, group=g),
    }
    loud, quiet = group(), group(warn=False)
    for sentence, call in calls.items():
        told = told_by(lambda: [call(loud), call(loud)])
        check(len(told) == (1 if me == 0 else 0), f"'{sentence}' is said once by the first rank: {told}")
        check(me != 0 or sentence in told[0], f"'{sentence}': {told}")
        check(told_by(lambda: call(quiet)) == [], f"'{sentence}': not with warn=False")
        check(told_by(lambda: call(dist.group.WORLD)) == [], f"'{sentence}': not in a group without bounds")
    for call in [
        lambda: dist.all_reduce(values(me, n), group=loud),
        lambda: dist.all_reduce(values(me, n), op=dist.ReduceOp.MAX, group=loud),
        lambda: dist.all_to_all_single(torch.empty(p * 4), values(me, p * 4), group=loud),
        lambda: dist.barrier(group=loud),
    ]:
        check(told_by(call) == [], "nothing is said of compressed calls and barriers")


def in_a_graph():
    lossy = dist.new_group(backend="ccoll", pg_options=Options(all_reduce=Bits(8)))
    run = torch.compile(lambda x: funcol.all_reduce(x, "sum", lossy) + 1, fullgraph=True, backend="aot_eager")
    told = told_by(lambda: [run(values(dist.get_rank(), 1000)).sum(), run(values(dist.get_rank(), 1000)).sum()])
    check(len(told) == (1 if dist.get_rank() == 0 else 0), f"a short tensor in a graph: {told}")


def as_errors():
    """A program that turns warnings into errors gets one from the call, on the first rank."""
    alone = dist.new_group([dist.get_rank()], backend="ccoll", pg_options=Options(all_reduce=Bits(8)), use_local_synchronization=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ccoll_torch.ExactWarning)
        try:
            dist.all_reduce(torch.ones(3), group=alone)
            thrown = ""
        except Exception as error:  # noqa: BLE001  (its kind is torch's affair)
            thrown = str(error)
    check("least_bytes" in thrown, f"a warning as an error: '{thrown}'")


def all_parts():
    return [reasons, in_a_graph, as_errors]
