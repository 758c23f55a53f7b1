#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/performance.md and docs/szp.md from what benchmarks/run.sh readme has measured.

usage: tables.py [folder]     reads collectives.jsonl, small.jsonl, codec.jsonl and threads.jsonl in <folder> (out), prints Markdown
"""
import json
import pathlib
import sys

ISAS = {"avx512_gfni": "AVX-512 with GFNI, VBMI, VNNI", "avx512": "AVX-512 without", "avx2": "AVX2", "portable": "portable", "neon": "NEON"}
SIZES = {2**24: "64 MiB", 2**20: "4 MiB", 2**16: "256 KiB", 2**14: "64 KiB"}
# What docs/performance.md shows, and README.md in part: operation, field, floats, plans by MPI. Names of plans as collectives.cpp has them.
SHOWN = [
    ("allreduce", "turbulence", 2**24, {"Open MPI": ["Ring SZp", "Rabenseifner SZp", "Ring PipeSZx", "Ring PerHop ZFP ABS"], "MPICH": ["Ring SZp"]}),
    ("allreduce", "wavefronts", 2**24, {"Open MPI": ["Ring SZp"], "MPICH": ["Ring SZp"]}),
    ("allreduce", "turbulence", 2**20, {"Open MPI": ["Ring SZp"], "MPICH": ["Ring SZp"]}),
    ("allreduce", "turbulence", 2**16, {"Open MPI": ["Ring SZp"], "MPICH": ["RecursiveDoubling SZp"]}),
    ("allreduce", "turbulence", 2**14, {"Open MPI": ["RecursiveDoubling SZp", "Ring SZp"], "MPICH": ["RecursiveDoubling SZp"]}),
    ("bcast", "turbulence", 2**24, {"Open MPI": ["Chain SZp", "ScatterAllgather SZp", "Binomial PipeSZx"], "MPICH": ["Chain SZp"]}),
    ("alltoall", "turbulence", 2**24, {"Open MPI": ["Pairwise SZp", "Pairwise Lossless"], "MPICH": ["Pairwise SZp"]}),
]
WRITTEN = {"Ring PerHop ZFP ABS": "`Ring, Zfp, PerHop` (fixed accuracy)"}


def rows_of(path):
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [r for r in rows if "conditions" not in r]


def short(mpi):
    return "Open MPI" if mpi.startswith("Open MPI") else "MPICH" if mpi.startswith("MPICH") else mpi


def digits(value):
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def collectives(rows):
    table = ["| call, data | MPI | plan | plain MPI, ms | ccoll, ms | speed-up | ratio | achieved / promised error |",
             "|---|---|---|--:|--:|--:|--:|---|"]
    for operation, field, elements, plans in SHOWN:
        call = f"{operation}, {SIZES[elements]} {field.replace('wavefronts', 'wave fronts')}"
        for mpi, names in plans.items():
            for name in names:
                # alltoall shortens its vector to a multiple of the number of ranks
                same = [r for r in rows if r["operation"] == operation and r["field"] == field and short(r["mpi"]) == mpi and
                        abs(r["elements"] - elements) < 64]
                ours = next((r for r in same if r["variant"] == name), None)
                plain = next((r for r in same if r["variant"] == "plain MPI"), None)
                if not ours or not plain:
                    continue
                speed = f"{ours['speed_up']:.2f}" if ours["speed_up"] >= 1 else f"**{ours['speed_up']:.2f}**"
                error = f"{ours['max_error']:.2g} / {ours['promised']:.2g}" if ours["promised"] else "exact"
                plan = WRITTEN.get(name, "`" + name.replace(" ", ", ") + "`")
                table.append(f"| {call} | {mpi} | {plan} | {digits(plain['ms'])} | {digits(ours['ms'])} | {speed} | {ours['ratio']:.2f} | {error} |")
                call = ""
    return table


def processor(rows):
    """Milliseconds of processor time of a rank, for the allreduce of 64 MiB."""
    text = []
    for mpi in ("Open MPI", "MPICH"):
        of = {r["variant"]: r["processor_ms"] for r in rows if r["operation"] == "allreduce" and r["field"] == "turbulence" and
              r["elements"] == 2**24 and short(r["mpi"]) == mpi}
        if "Ring SZp" in of:
            text.append(f"from {of['plain MPI']:.0f} to {of['Ring SZp']:.0f} ms ({mpi})")
    return text


def small(rows):
    text = []
    more = [r["ccoll_us"] - r["mpi_us"] for r in rows if r["operation"] == "small"]
    if more:
        text.append(f"A call that is handed to MPI: {min(more):.2f} to {max(more):.2f} us longer, for 8 B to 4 KiB between two ranks.")
    for r in rows:
        if r["operation"] == "overlap":
            text.append(f"Nonblocking allreduce of {r['elements'] * 4 // 2**20} MiB: {100 * r['hidden']:.0f} % hidden.")
    return text


def of_codec(rows, record, codec, isa, field, kind, operation, what="times_memcpy"):
    for r in rows:
        if (r.get("record"), r.get("codec"), r.get("isa"), r.get("field"), r.get("type")) == (record, codec, isa, field, kind) and operation in r:
            return r[operation][what]
    return None


def codecs(rows):
    """The table of docs/performance.md."""
    columns = [("wave", "f32"), ("turbulence", "f32"), ("wave", "f64"), ("turbulence", "f64")]
    table = ["| codec, instruction set | " + " | ".join(f"{f} {t}" for f, t in columns) + " |", "|---|" + "---|" * len(columns)]
    order = ["SZp", "SZx", "PipeSZx", "zfp 1-D"]
    seen = list(dict.fromkeys((r["codec"], r["isa"]) for r in rows if r.get("record") == "frame" and r["codec"] in order))
    seen.sort(key=lambda pair: (order.index(pair[0]), list(ISAS).index(pair[1]) if pair[1] in ISAS else 9))
    for codec, isa in seen:
        if codec in ("SZx", "PipeSZx") and isa == "avx512_gfni":
            continue  # these codecs have no kernels for GFNI
        cells = []
        for field, kind in columns:
            numbers = [of_codec(rows, record, codec, isa, field, kind, o)
                       for record, o in (("frame", "compress"), ("frame", "decompress"), ("sum", "add"))]
            cells.append(" / ".join(f"{n:.2f}" for n in numbers if n is not None))
        if codec != "SZp" and isa == "avx512":
            isa_name = "AVX-512"
        else:
            isa_name = ISAS.get(isa, "").replace(", VBMI, VNNI", "")
        name = f"{codec}, {isa_name}" if isa in ISAS else codec.replace("zfp 1-D", "zfp, 1-D, fixed accuracy")
        table.append(f"| {name} | " + " | ".join(cells) + " |")
    return table


def szp(rows, kind):
    """A table of docs/szp.md."""
    bits = next((r["bits_per_value"] for r in rows if (r.get("record"), r.get("codec"), r.get("field"), r.get("type")) ==
                 ("frame", "SZp", "turbulence", kind)), None)
    if bits is None:
        return []
    table = [f"| {kind}, {bits:.2f} bits per value | compress | decompress | add two streams | DOC |", "|---|--:|--:|--:|--:|"]
    for isa, name in ISAS.items():
        cells = []
        for record, operation in (("frame", "compress"), ("frame", "decompress"), ("sum", "add"), ("sum", "doc_add")):
            speed = of_codec(rows, record, "SZp", isa, "turbulence", kind, operation, "gb_per_s")
            times = of_codec(rows, record, "SZp", isa, "turbulence", kind, operation)
            if speed is not None:
                cells.append(f"{speed:.1f}" + ("" if operation == "doc_add" else f" = {times:.2f}"))
        if cells:
            table.append(f"| {name} | " + " | ".join(cells) + " |")
    return table


def threads(rows):
    return [f"{r['name']}: {r['gb_per_s']:.1f} GB/s on one thread" + "".join(f", {v:.2f} times on {k}" for k, v in r["times"].items())
            for r in rows]


def memcpy(rows):
    """Median of the speeds that the copies beside the codecs had, in GB/s."""
    speeds = sorted(r[o]["gb_per_s"] / r[o]["times_memcpy"] for r in rows for o in ("compress", "decompress", "add") if o in r)
    return speeds[len(speeds) // 2] if speeds else None


def write(folder):
    calls, codec = rows_of(folder / "collectives.jsonl"), rows_of(folder / "codec.jsonl")
    sections = [("docs/performance.md: collectives", collectives(calls) if calls else []), ("docs/performance.md: processor time of a rank, 64 MiB", processor(calls)),
                ("docs/performance.md: calls without a codec, overlap", small(rows_of(folder / "small.jsonl"))),
                ("docs/performance.md: codecs, as multiples of memcpy" + (f" ({memcpy(codec):.1f} GB/s)" if codec else ""), codecs(codec) if codec else []),
                ("docs/performance.md: beyond the last cache", threads(rows_of(folder / "threads.jsonl"))),
                ("docs/szp.md: f32", szp(codec, "f32")), ("docs/szp.md: f64", szp(codec, "f64"))]
    return "\n\n".join(f"### {title}\n\n" + "\n".join(lines) for title, lines in sections if lines)


def check_itself():
    plain = {"operation": "bcast", "field": "turbulence", "mpi": "Open MPI v4.1.4", "elements": 2**24, "variant": "plain MPI", "ms": 500.0}
    ours = dict(plain, variant="Chain SZp", ms=100.0, speed_up=5.0, ratio=5.45, max_error=0.0091, promised=0.0092)
    slow = dict(ours, variant="Binomial PipeSZx", ms=1000.0, speed_up=0.5)
    text = "\n".join(collectives([plain, ours, slow]))
    assert "| bcast, 64 MiB turbulence | Open MPI | `Chain, SZp` | 500 | 100 | 5.00 | 5.45 | 0.0091 / 0.0092 |" in text
    assert "|  | Open MPI | `Binomial, PipeSZx` | 500 | 1000 | **0.50** |" in text
    frame = {"record": "frame", "codec": "SZp", "isa": "avx2", "field": "turbulence", "type": "f32", "bits_per_value": 6.25,
             "compress": {"gb_per_s": 10.0, "times_memcpy": 1.1}, "decompress": {"gb_per_s": 9.0, "times_memcpy": 0.9}}
    total = {"record": "sum", "codec": "SZp", "isa": "avx2", "field": "turbulence", "type": "f32", "bits_per_value": 7.0,
             "add": {"gb_per_s": 20.0, "times_memcpy": 2.0}, "doc_add": {"gb_per_s": 3.0, "times_memcpy": 0.3}}
    assert "| SZp, AVX2 |  | 1.10 / 0.90 / 2.00 |" in "\n".join(codecs([frame, total]))
    assert szp([frame, total], "f32")[0].startswith("| f32, 6.25 bits per value") and szp([frame, total], "f32")[-1] == "| AVX2 | 10.0 = 1.10 | 9.0 = 0.90 | 20.0 = 2.00 | 3.0 |"
    assert collectives([])[2:] == [] and szp([], "f64") == []


def main():
    if sys.argv[1:] == ["--check-itself"]:
        return check_itself()
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else "out")
    text = write(folder)
    print(text if text else f"tables.py: {folder} has nothing of benchmarks/run.sh readme")


if __name__ == "__main__":
    main()
