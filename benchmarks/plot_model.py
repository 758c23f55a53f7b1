#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what benchmarks/model.cpp has written: speed-up over the number of ranks, and the rate above which compression loses.

usage: plot_model.py [file [folder]]     reads <file> (out/model.jsonl), writes <folder>/model.png (out)
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter


def read(path):
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        sys.exit(f"plot_model.py: there is no {path}; run benchmarks/run.sh model first")


def in_order(values):
    return list(dict.fromkeys(values))


def draw_speed(axes, rows, codec):
    for rate in in_order(r["gbit"] for r in rows):
        line = [r for r in rows if r["gbit"] == rate]
        axes.plot([r["ranks"] for r in line], [r["speed_up"] for r in line], marker="o", markersize=3, label=f"{rate:g} Gb/s")
    axes.axhline(1, color="black", linewidth=0.6)
    axes.set(xscale="log", yscale="log", xlabel="ranks", title=codec)
    axes.set_xscale("log", base=4)
    for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        which(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="y", which="minor", labelsize=6)
    axes.legend(fontsize=7)


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/model.jsonl")
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "out")
    rows = read(path)
    mib = max(r["mib"] for r in rows if r["what"] == "model")
    model = [r for r in rows if r["what"] == "model" and r["mib"] == mib]
    codecs = in_order(r["codec"] for r in model)
    figure, axes = plt.subplots(1, len(codecs) + 1, figsize=(4 * len(codecs) + 4, 3.6), constrained_layout=True)
    for place, codec in zip(axes, codecs):
        draw_speed(place, [r for r in model if r["codec"] == codec], codec)
    axes[0].set_ylabel("times the best schedule without a codec")
    for codec in codecs:
        line = [r for r in rows if r["what"] == "crossover" and r["codec"] == codec and r["mib"] == mib]
        axes[-1].plot([r["ranks"] for r in line], [r["gbit"] for r in line], marker="o", markersize=3, label=codec)
    axes[-1].set(yscale="log", xlabel="ranks", title="compression loses above, Gb/s")
    axes[-1].set_xscale("log", base=4)
    axes[-1].legend(fontsize=7)
    figure.suptitle(f"A model, not a measurement: allreduce of {mib:g} MiB of f32 per rank")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "model.png", dpi=130)
    print(f"drawn: {folder / 'model.png'}")


if __name__ == "__main__":
    main()
