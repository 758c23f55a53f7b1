#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what the codec benchmark has written: compression ratio against compression speed, a panel per field.

usage: plot_codec.py [file [folder]]     reads <file> (out/codec.jsonl), writes <folder>/<name of file>.png (out)
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = {"SZp": "tab:blue", "SZp for sums": "tab:cyan", "SZx": "tab:orange", "PipeSZx": "tab:green", "zfp 1-D": "tab:red"}
MARKERS = {"portable": "o", "avx2": "s", "avx512": "^", "avx512_gfni": "D", "-": "X"}


def read(path):
    try:
        records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        sys.exit(f"plot_codec.py: there is no {path}; run the benchmark first: benchmarks/run.sh codec --json {path}")
    header = next((r for r in records if r["record"] == "header"), {})
    return header, [r for r in records if r["record"] == "frame"]


def in_order(values):
    return list(dict.fromkeys(values))


def draw_field(axes, rows):
    """Draws one line per codec, instruction set and type, through its bounds; legend() explains what they look like."""
    for codec, isa, kind in in_order((r["codec"], r["isa"], r["type"]) for r in rows):
        line = [r for r in rows if (r["codec"], r["isa"], r["type"]) == (codec, isa, kind)]
        line.sort(key=lambda r: r["bound_of_range"])
        colour = COLOURS.get(codec, "tab:gray")
        single = kind == "f32"
        axes.plot([r["compress"]["gb_per_s"] for r in line], [r["ratio"] for r in line], color=colour, linewidth=0.8,
                  linestyle="-" if single else "--", marker=MARKERS.get(isa, "*"), markersize=6,
                  markerfacecolor=colour if single else "none")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # a panel may span less than a decade
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(which="both", linewidth=0.3)
    axes.set_title(rows[0]["field"], loc="left")
    axes.set_xlabel("compression, GB/s of raw bytes")


def legend(rows):
    """Colour, marker and filling each have one meaning, so each is explained once."""
    def sample(name, colour="black", **looks):
        return Line2D([], [], color=colour, label=name, **looks)
    codecs = [sample(c, COLOURS.get(c, "tab:gray"), linewidth=3) for c in in_order(r["codec"] for r in rows)]
    isas = [sample(i, marker=MARKERS.get(i, "*"), linestyle="") for i in in_order(r["isa"] for r in rows) if i != "-"]
    types = {"f32": sample("f32", linestyle="-", marker="o"), "f64": sample("f64", linestyle="--", marker="o", markerfacecolor="none")}
    return codecs + isas + [types[t] for t in in_order(r["type"] for r in rows)]


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/codec.jsonl")
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "out")
    header, rows = read(path)
    if not rows:
        sys.exit(f"plot_codec.py: {path} has no measured frames")
    fields = in_order(r["field"] for r in rows)
    bounds = sorted({r["bound_of_range"] for r in rows})

    across = min(3, len(fields))
    down = -(-len(fields) // across)
    # The last column holds the legend, because every version of matplotlib keeps a column of panels free.
    figure, panels = plt.subplots(down, across + 1, figsize=(5.2 * across + 2.8, 4.6 * down), squeeze=False, constrained_layout=True,
                                  gridspec_kw={"width_ratios": [1] * across + [0.4]})
    plots = list(panels[:, :across].flat)
    for axes in [*plots[len(fields):], *panels[:, across]]:
        axes.set_axis_off()
    for axes, field in zip(plots, fields):
        draw_field(axes, [r for r in rows if r["field"] == field])
    for line in panels:
        line[0].set_ylabel("compression ratio")
    panels[0, across].legend(handles=legend(rows), loc="upper left", borderaxespad=0)
    span = f"{bounds[0]:g}" if len(bounds) == 1 else f"{bounds[0]:g} to {bounds[-1]:g}"
    figure.suptitle(f"{header.get('cpu', 'unknown processor')}, {header.get('threads', 1)} thread, bounds {span} of the range", fontsize=11)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (path.stem + ".png")
    figure.savefig(target, dpi=110)
    print(target)


if __name__ == "__main__":
    main()
