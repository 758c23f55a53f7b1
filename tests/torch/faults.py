# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens when something goes wrong, or is done in an unusual order:  faults.py <ranks> [scenario...]

Starts the ranks itself, because torchrun ends all of them when one has failed. Each scenario is a function that runs on every rank and returns
what it has found; the one behind it with the name check_... looks at what all ranks have found. A rank that was killed has found nothing.
"""
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import tempfile
import time

SOON = 20  # seconds in which an error must have come that no time-out is needed for; machines are slow, and UCX asks its peers once a second
LIMIT = 4  # a time-out
LATER = LIMIT + SOON  # a rank that is not heard of any more may be noticed by one rank, which tells the others
MOST_BEGINNINGS = 3  # of torch.distributed in a scenario

ports = []  # of the scenario; the launcher has found them


# ---- on each rank ----


def start(timeout=60, backend="ccoll"):
    import torch
    import torch.distributed as dist

    import ccoll_torch  # noqa: F401  (registers the backend)

    torch.set_num_threads(1)
    # Each beginning has a port of its own. A rank that is early must not reach the store of the time before, which the first rank still has.
    os.environ["MASTER_PORT"] = ports.pop(0)
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=timeout))
    return torch, dist, dist.get_rank(), dist.get_world_size()


def error_of(call):
    """Its text, and after how many seconds it came."""
    began = time.monotonic()
    try:
        call()
    except Exception as error:  # noqa: BLE001  (every kind is looked at)
        return {"error": str(error), "seconds": time.monotonic() - began}
    return {"error": "", "seconds": time.monotonic() - began}


def warm_up(torch, dist):
    for n in (1, 100000):
        x = torch.ones(n)
        dist.all_reduce(x)
        assert x[0].item() == dist.get_world_size()


def killed(victim=-1, how="kill"):
    """A rank ends in the middle of the others' call."""
    torch, dist, me, p = start()
    warm_up(torch, dist)
    if me == victim % p:
        time.sleep(0.5)
        if how == "exit":
            sys.exit(0)
        if how == "raise":
            raise ValueError("on purpose")
        os.kill(os.getpid(), signal.SIGKILL)
    found = error_of(lambda: dist.all_reduce(torch.ones(1000000)))
    return found | {"again": error_of(lambda: dist.all_reduce(torch.ones(10)))}


def check_killed(found):
    assert len(found) >= 1, "no rank is left"
    for rank, each in found.items():
        assert "rank" in each["error"], f"rank {rank} was not told: {each}"
        assert each["seconds"] < SOON, f"rank {rank} was told after {each['seconds']} s"
        assert each["again"]["error"] and each["again"]["seconds"] < SOON, f"rank {rank}: the next call: {each['again']}"


def killed_first():
    return killed(victim=0)


check_killed_first = check_killed


def ended():
    return killed(how="exit")


check_ended = check_killed


def raised():
    return killed(how="raise")


check_raised = check_killed


def stopped():
    """A rank is stopped, so that nothing tells that it is gone: the time-out of the group is needed."""
    torch, dist, me, p = start(timeout=LIMIT)
    warm_up(torch, dist)
    if me == p - 1:
        os.setpgid(0, 0)  # or the launcher may get SIGHUP: its group would have a stopped process
        os.kill(os.getpid(), signal.SIGSTOP)
    found = error_of(lambda: dist.all_reduce(torch.ones(1000000)))
    return found


def check_stopped(found):
    for rank, each in found.items():
        assert "rank" in each["error"], f"rank {rank} was not told: {each}"
        assert each["seconds"] < LATER, f"rank {rank} was told after {each['seconds']} s"


def late():
    """A rank does not come in time. Later it hears that the others have given the call up, and all can go on."""
    torch, dist, me, p = start(timeout=LIMIT)
    warm_up(torch, dist)
    if me == 0:
        time.sleep(LIMIT + 3)
    found = error_of(lambda: dist.all_reduce(torch.ones(100000)))
    x = torch.ones(1000)
    dist.all_reduce(x)
    return found | {"sum": x[0].item() / p}


def check_late(found):
    for rank, each in found.items():
        assert each["error"] and each["seconds"] < LATER, f"rank {rank}: {each}"
        assert each["seconds"] > LIMIT - 0.5 or rank == 0, f"rank {rank} was told too soon: {each}"
        assert each["sum"] == 1, f"rank {rank}: the next sum is {each['sum']}"


def shapes():
    """One rank passes something else than the others: all get an error, and the next call is right."""
    torch, dist, me, p = start()
    odd = me == p - 1
    found = {}
    ones = torch.ones

    def gather(out, part):
        return lambda: dist.all_gather_into_tensor(ones(out), ones(part))

    cases = {
        "all_reduce, lengths": lambda: dist.all_reduce(ones(1001 if odd else 1000)),
        "all_reduce, long": lambda: dist.all_reduce(ones(1000001 if odd else 1000000)),
        "all_reduce, types": lambda: dist.all_reduce(ones(1000, dtype=torch.int32 if odd else torch.float32)),
        "all_reduce, operations": lambda: dist.all_reduce(ones(1000), op=dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM),
        "all_reduce, sparse": lambda: dist.all_reduce(torch.eye(3).to_sparse() if odd else ones(9)),
        "all_reduce, average of integers": lambda: dist.all_reduce(ones(9, dtype=torch.int32 if odd else torch.float32), op=dist.ReduceOp.AVG),
        "reduce": lambda: dist.reduce(ones(1001 if odd else 1000), dst=0),
        "broadcast": lambda: dist.broadcast(ones(1001 if odd else 1000), src=0),
        "all_gather, parts": gather(1001 * p if odd else 1000 * p, 1001 if odd else 1000),
        "all_gather, does not fit": gather(1000 * p + 1 if odd else 1000 * p, 1000),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(ones(1001 if odd else 1000), ones(p * (1001 if odd else 1000))),
        "reduce_scatter, does not fit": lambda: dist.reduce_scatter_tensor(ones(10), ones(p * 10 + (1 if odd else 0))),
        "gather": lambda: dist.gather(ones(11 if odd else 10), [ones(10) for _ in range(p)] if me == 0 else None, dst=0),
        "scatter": lambda: dist.scatter(ones(11 if odd else 10), [ones(10) for _ in range(p)] if me == 0 else None, src=0),
        "all_to_all": lambda: dist.all_to_all_single(ones(p * (11 if odd else 10)), ones(p * (11 if odd else 10))),
        "another collective": lambda: dist.broadcast(ones(10), src=0) if odd else dist.all_reduce(ones(10)),
    }
    for name, call in cases.items():
        found[name] = error_of(call)
        x = ones(1000)
        dist.all_reduce(x)
        found[name]["sum"] = x[0].item() / p
    return found


def check_shapes(found):
    for rank, cases in found.items():
        for name, each in cases.items():
            assert each["error"] and each["seconds"] < SOON, f"{name} on rank {rank}: {each}"
            assert each["sum"] == 1, f"after {name} on rank {rank}: {each}"


def waits():
    """work.wait with a time-out throws when that is over; the call goes on."""
    torch, dist, me, p = start()
    warm_up(torch, dist)
    if me == 0:
        time.sleep(3)
    x = torch.ones(1000)
    work = dist.all_reduce(x, async_op=True)
    found = error_of(lambda: work.wait(datetime.timedelta(seconds=0.5)))
    work.wait()
    return found | {"sum": x[0].item() / p}


def check_waits(found):
    for rank, each in found.items():
        assert (each["error"] != "") == (rank != 0), f"rank {rank}: {each}"
        assert each["seconds"] < 2.5 and each["sum"] == 1, f"rank {rank}: {each}"


def aborted():
    """A rank aborts a group while the others wait in it; another group lives on."""
    torch, dist, me, p = start()
    other = dist.new_group(list(range(p)))
    warm_up(torch, dist)
    if me == 0:
        time.sleep(1)
        dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu")).abort()
    found = error_of(lambda: dist.all_reduce(torch.ones(1000)))
    x = torch.ones(1000)
    dist.all_reduce(x, group=other)
    return found | {"sum": x[0].item() / p}


def check_aborted(found):
    for rank, each in found.items():
        assert each["error"] and each["seconds"] < SOON, f"rank {rank}: {each}"
        assert each["sum"] == 1, f"rank {rank}: {each}"


def begins_again():
    """init_process_group after destroy_process_group, several times; groups in between."""
    sums = []
    for turn in range(3):
        torch, dist, me, p = start()
        halves = [dist.new_group(list(range(0, p, 2))), dist.new_group(list(range(1, p, 2)))]
        for group in (None, halves[me % 2]):
            x = torch.full((5000,), float(me))
            dist.all_reduce(x, group=group)
            sums.append(x[0].item())
        if turn == 1:
            dist.destroy_process_group(halves[me % 2])
        dist.destroy_process_group()
    return {"sums": sums, "p": p}


def check_begins_again(found):
    for rank, each in found.items():
        p = each["p"]
        expected = [float(sum(range(p))), float(sum(range(rank % 2, p, 2)))] * 3
        assert each["sums"] == expected, f"rank {rank}: {each['sums']} and not {expected}"


def loads():
    """Workers of a data loader are forked from a rank; others end as programs do."""
    torch, dist, me, p = start()
    import ccoll_torch

    class Points(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            return torch.full((32,), float(i))

    state = ccoll_torch.Average(ccoll_torch.Bits(8))
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 4))
    net.register_comm_hook(state, ccoll_torch.average_hook)
    steps = 0
    for _ in range(2):
        for batch in torch.utils.data.DataLoader(Points(), batch_size=8, num_workers=2, multiprocessing_context="fork"):
            under_way = dist.all_reduce(torch.ones(300000), async_op=True)
            net(batch).sum().backward()
            under_way.wait()
            steps += 1
    child = os.fork()
    if child == 0:
        told = error_of(lambda: dist.all_reduce(torch.ones(3)))["error"]
        del state, net  # what belongs to the rank is destroyed here, too
        sys.exit(0 if "forked" in told else 9)  # and so are its objects at the end
    _, status = os.waitpid(child, 0)
    x = torch.ones(1000)
    dist.all_reduce(x)
    return {"steps": steps, "child": status, "sum": x[0].item() / p}


def check_loads(found):
    for rank, each in found.items():
        assert each == {"steps": 16, "child": 0, "sum": 1.0}, f"rank {rank}: {each}"


def absent():
    """A rank does not come to init_process_group."""
    if os.environ["RANK"] == str(int(os.environ["WORLD_SIZE"]) - 1):
        time.sleep(LIMIT + 6)
        return {"error": "was not there", "seconds": 0}
    return error_of(lambda: start(timeout=LIMIT))


def check_absent(found):
    for rank, each in found.items():
        assert each["error"] and each["seconds"] < LATER, f"rank {rank}: {each}"


def hook_alone():
    """gloo does everything but the gradients, also on a part of the ranks."""
    torch, dist, me, p = start(backend="gloo")
    import ccoll_torch

    part = dist.new_group([0, p - 1])
    results = []
    for group in ([part] if me in (0, p - 1) else []) + [None]:
        mine = torch.full((1000,), float(me))
        ccoll_torch.Average(1e-3, group=group)._averages.begin(mine, 0, 0).wait()
        results.append(mine[0].item())
    dist.destroy_process_group()
    start(backend="gloo")
    mine = torch.full((1000,), float(me))
    ccoll_torch.Average(1e-3)._averages.begin(mine, 0, 0).wait()
    results.append(mine[0].item())
    return {"results": results, "p": p}


def check_hook_alone(found):
    for rank, each in found.items():
        all_of_them = (each["p"] - 1) / 2
        for result in each["results"]:
            assert abs(result - all_of_them) < 2e-3, f"rank {rank}: {each}"


def outer_steps():
    """A rank is killed between two outer steps. The others go on without it."""
    torch, dist, me, p = start()
    import ccoll_torch

    weights = torch.nn.Parameter(torch.zeros(30000))
    outer = ccoll_torch.OuterSteps([weights], ccoll_torch.Bits(6))

    def train():
        with torch.no_grad():
            weights.add_(torch.linspace(0, me + 1, 30000))

    train()
    outer.step()
    train()
    trained = weights.detach().clone()
    if me == p - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    found = error_of(outer.step)
    found["unchanged"] = outer.steps == 1 and torch.equal(weights, trained)
    dist.destroy_process_group()
    os.environ["WORLD_SIZE"] = str(p - 1)
    start()
    found["behind"] = outer.settle()
    outer.step()
    whole = [torch.empty(30000) for _ in range(p - 1)]
    dist.all_gather(whole, weights.detach())
    found["equal"] = all(torch.equal(each, whole[0]) for each in whole)
    # With Nesterov's momentum the second step goes 0.7 (d + 0.9 (d + 0.9 d1)) from where the first one has led, 0.7 (d1 + 0.9 d1).
    first, second = sum(range(1, p + 1)) / p, sum(range(1, p)) / (p - 1)
    found["last"], found["wanted"] = weights[-1].item(), 0.7 * (1.9 * first + second + 0.9 * (second + 0.9 * first))
    dist.destroy_process_group()
    return found


def check_outer_steps(found):
    for rank, each in found.items():
        assert each["error"] and each["seconds"] < SOON, f"rank {rank} was told: {each}"
        assert each["unchanged"] and not each["behind"] and each["equal"], f"rank {rank}: {each}"
        assert abs(each["last"] - each["wanted"]) < 1, f"rank {rank}: {each}"


SCENARIOS = [killed, killed_first, ended, raised, stopped, late, shapes, waits, aborted, begins_again, loads, absent, hook_alone, outer_steps]


# ---- the launcher ----


def run(scenario, ranks, folder):
    """On the launcher. @return the sentence of what is wrong, or "" """
    with contextlib.ExitStack() as together:
        probes = [together.enter_context(socket.socket()) for _ in range(MOST_BEGINNINGS)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        ports[:] = [str(probe.getsockname()[1]) for probe in probes]
    began, alive = time.monotonic(), {}
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            become_rank(scenario, rank, ranks, folder)
        alive[pid] = rank
    # Ranks that have ended are asked for at once: until then their numbers are taken, and UCX takes them for alive over shared memory.
    awaited = {rank for rank in range(ranks) if scenario != "stopped" or rank < ranks - 1}
    gone, said = set(), ""
    while not awaited <= gone and time.monotonic() - began < 150:
        for pid in list(alive):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                gone.add(alive.pop(pid))
        time.sleep(0.02)
    for pid, rank in alive.items():
        said += f"rank {rank} hangs; " if rank in awaited else ""
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    found = {}
    for rank in awaited:
        text = pathlib.Path(folder, str(rank)).read_text()
        results = [line for line in text.splitlines() if line.startswith("FOUND ")]
        if results:
            found[rank] = json.loads(results[0][6:])
        if "Traceback" in text and "on purpose" not in text:
            said += f"rank {rank} has written: {text[-2000:]}; "
    try:
        globals()["check_" + scenario](found)
    except AssertionError as error:
        said += str(error)
    print(f"{scenario}, {ranks} ranks: {'FAILED: ' + said if said else 'ok'}, {time.monotonic() - began:.1f} s", flush=True)
    return said


def become_rank(scenario, rank, ranks, folder):
    """In a process of its own. It ends as programs do, so that what torch and the extension do at the end is seen as well."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(ranks), "RANK": str(rank)}
    said = os.open(os.path.join(folder, str(rank)), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    print("FOUND " + json.dumps(globals()[scenario]()), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    # Imported once: that takes longer than a scenario. The extension is loaded by each rank.
    import torch.distributed.fsdp  # noqa: F401
    import torch.utils.data  # noqa: F401

    chosen = sys.argv[2:] or [each.__name__ for each in SCENARIOS]
    written = tempfile.mkdtemp()  # not by `with`, which ranks would leave as well
    failed = any([run(scenario, int(sys.argv[1]), written) for scenario in chosen])
    shutil.rmtree(written)
    sys.exit(1 if failed else 0)
