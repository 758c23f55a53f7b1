#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what benchmarks/run.sh papers has written, as far as it is there: stacks of phases, speed-up over ranks, ratio against bound,
distributions of errors, all-to-alls over their size, and latency against accepted traffic.

usage: plot_papers.py [file [folder]]     reads <file> (out/papers.jsonl), writes <folder>/papers_*.png (out)
"""
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt

PHASES = ["encode", "decode", "reduce", "communicate", "wait", "copy", "other"]
MODEL = "a model, no measurement"


def read(path):
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        sys.exit(f"plot_papers.py: there is no {path}; run benchmarks/run.sh papers first")


def in_order(values):
    return list(dict.fromkeys(values))


def grid(count, height=3.6):
    figure, axes = plt.subplots(1, count, figsize=(max(6.5, 4.6 * count), height), squeeze=False)
    return figure, list(axes[0])


def draw_breakdown(rows):
    """C-Coll, figures 7 to 10: where the time of each variant goes, by size."""
    rows = [r for r in rows if r.get("operation") == "allreduce" and "phases_ms" in r and r["ranks"] == 4 and r["field"] == "turbulence" and
            r.get("relative_bound") == 1e-3]
    rows = list({(r["bytes"], r["variant"]): r for r in rows}.values())
    sizes = in_order(r["bytes"] for r in rows)
    if not sizes:
        return None
    figure, axes = grid(len(sizes), 5)
    for panel, size in zip(axes, sizes):
        of = [r for r in rows if r["bytes"] == size]
        bottom = [0.0] * len(of)
        for phase in PHASES:
            values = [r["phases_ms"].get(phase, 0) if r["variant"] != "plain MPI" else (r["ms"] if phase == "communicate" else 0) for r in of]
            panel.bar(range(len(of)), values, bottom=bottom, label=phase)
            bottom = [b + v for b, v in zip(bottom, values)]
        panel.set(title=f"allreduce, {size / 2**20:g} MiB", ylabel="ms of a rank")
        panel.set_xticks(range(len(of)), [r["variant"] for r in of], rotation=60, ha="right", fontsize=7)
    axes[0].legend(fontsize=7)
    return figure


def draw_ranks(rows):
    """Speed-up over the number of ranks: measured, and C-Coll's figure 12 in the model."""
    measured = [r for r in rows if r.get("operation") == "allreduce" and "phases_ms" in r and r["bytes"] // 2**20 == 16 and
                r["field"] == "turbulence" and r.get("relative_bound") == 1e-3 and r["variant"] != "plain MPI"]
    model = [r for r in rows if r.get("what") == "paper model" and r["figure"] in ("C-Coll, figure 12", "ghZCCL, figure 11")]
    panels = [("allreduce of 16 MiB, measured", measured)] if measured else []
    for key in in_order((r["figure"], r["gbit"]) for r in model):
        panels.append((f"{key[0]}, {key[1]:g} Gb/s: {MODEL}", [r for r in model if (r["figure"], r["gbit"]) == key]))
    if not panels:
        return None
    figure, axes = grid(len(panels))
    for panel, (title, of) in zip(axes, panels):
        for variant in in_order(r["variant"] for r in of):
            line = sorted((r["ranks"], r["speed_up"]) for r in of if r["variant"] == variant)
            panel.plot([p for p, _ in line], [s for _, s in line], marker="o", markersize=3, label=variant)
        panel.axhline(1, color="black", linewidth=0.6)
        panel.set(xlabel="ranks", ylabel="times plain MPI")
        panel.set_title(title, fontsize=8)
        panel.set_xscale("log", base=2)
        panel.legend(fontsize=6)
    return figure


def draw_ratios(rows):
    """Ratio against bound."""
    codecs = [r for r in rows if r.get("what") == "codec" and "relative_bound" in r]
    messages = [r for r in rows if r.get("what") == "message"]
    panels = [(f"{f}, bounds as parts of the range", "relative_bound", [r for r in codecs if r["field"] == f]) for f in in_order(r["field"] for r in codecs)]
    panels += [(f"blast waves, {t}", "bound", [r for r in messages if r["type"] == t]) for t in in_order(r["type"] for r in messages)]
    if not panels:
        return None
    figure, axes = grid(len(panels))
    for panel, (title, key, of) in zip(axes, panels):
        for codec in in_order(r["codec"] for r in of):
            line = sorted((r[key], r["ratio"]) for r in of if r["codec"] == codec)
            panel.plot([b for b, _ in line], [v for _, v in line], marker="o", markersize=3, label=codec)
        panel.set(xscale="log", yscale="log", xlabel="bound", ylabel="ratio")
        panel.set_title(title, fontsize=8)
        panel.legend(fontsize=6)
    return figure


def draw_errors(rows):
    """C-Coll, figures 5 and 6, with the normal distribution of the same deviation."""
    rows = [r for r in rows if r.get("what") == "errors"]
    panels = in_order((r["figure"], r["field"]) for r in rows)[:6]
    if not panels:
        return None
    figure, axes = grid(len(panels))
    for panel, key in zip(axes, panels):
        for r in (r for r in rows if (r["figure"], r["field"]) == key):
            n = len(r["density"])
            x = [(i + 0.5) * 2 / n - 1 for i in range(n)]
            line = panel.plot(x, r["density"], drawstyle="steps-mid", label=r["codec"])[0]
            if r["sigma"] > 0:
                normal = [math.exp(-(((v - r["mean"]) / r["sigma"]) ** 2) / 2) / r["sigma"] / math.sqrt(2 * math.pi) for v in x]
                panel.plot(x, normal, linestyle=":", color=line.get_color())
        panel.set(xlabel="error / bound", ylim=(0, 3))
        panel.set_title(f"{key[0]}, {key[1]}; dots: normal", fontsize=8)
        panel.legend(fontsize=6)
    return figure


def draw_alltoall(rows):
    """Zhou et al., figures 4, 7 and 9."""
    rows = [r for r in rows if r.get("operation") == "alltoall" and r.get("field") == "turbulence"]
    rates = in_order(r["rate"] for r in rows if r["rate"])
    if not rates:
        return None
    figure, axes = grid(len(rates))
    for panel, rate in zip(axes, rates):
        of = [r for r in rows if r["rate"] in (0, rate)]
        for variant in in_order(r["variant"] for r in of):
            line = sorted((r["bytes"] / r["ranks"], r["ms"]) for r in of if r["variant"] == variant)
            panel.plot([b / 1024 for b, _ in line], [ms for _, ms in line], marker="o", markersize=3, label=variant)
        panel.set(xscale="log", yscale="log", xlabel="KiB to each rank", ylabel="ms", title=f"{rate:g} bits per value")
        panel.legend(fontsize=6)
    return figure


def draw_traffic(rows):
    """Hu and Koibuchi, figure 18."""
    rows = [r for r in rows if r.get("what") == "traffic"]
    patterns = in_order(r["pattern"] for r in rows)
    if not patterns:
        return None
    figure, axes = grid(len(patterns))
    for panel, pattern in zip(axes, patterns):
        for ratio in in_order(r["compression"] for r in rows):
            line = [r for r in rows if r["pattern"] == pattern and r["compression"] == ratio and 0 < r["latency_cycles"] < 500]
            panel.plot([r["accepted"] for r in line], [r["latency_cycles"] for r in line], marker="o", markersize=3, label=f"{ratio:g}x")
        panel.set(xlabel="accepted flits per node and cycle", ylabel="latency, cycles")
        panel.set_title(f"{pattern}: {MODEL}", fontsize=8)
        panel.legend(fontsize=6)
    return figure


def main():
    if len(sys.argv) > 3 or "-h" in sys.argv or "--help" in sys.argv:
        sys.exit(__doc__)
    rows = read(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/papers.jsonl"))
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "out")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in (("breakdown", draw_breakdown), ("ranks", draw_ranks), ("ratios", draw_ratios), ("errors", draw_errors),
                       ("alltoall", draw_alltoall), ("traffic", draw_traffic)):
        figure = draw(rows)
        if figure:
            figure.tight_layout()
            figure.savefig(folder / f"papers_{name}.png", dpi=110)
            print(folder / f"papers_{name}.png")


if __name__ == "__main__":
    main()
