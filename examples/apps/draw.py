#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what the applications have written: for each, its first figure and the ratio against the bound.

usage: draw.py [folder]     reads <folder>/*.jsonl, writes <folder>/apps.png
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt


def read(folder):
    """Rows of each application, by its name."""
    apps = {}
    for file in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        if rows and "figures" in rows[0]:
            apps[rows[0]["app"]] = rows
    return apps


def draw(axes, name, rows):
    figure = rows[0]["figures"][0]["name"]
    ratio_axes = axes.twinx()
    plain = rows[0]["figures"][0]["value"]
    if plain:
        axes.axhline(plain, color="0.6", linewidth=1, label="plain")
    for plan, colour in zip(dict.fromkeys(r["plan"] for r in rows if r["bound"] > 0), plt.cm.tab10.colors):
        points = [r for r in rows if r["plan"] == plan]
        bounds = [r["bound"] for r in points]
        axes.plot(bounds, [r["figures"][0]["value"] for r in points], "o-", color=colour, label=plan)
        if all("limit" in r["figures"][0] for r in points):
            axes.plot(bounds, [r["figures"][0]["limit"] for r in points], ":", color=colour, linewidth=1)
        ratio_axes.plot(bounds, [r["ratio"] for r in points], "--", color=colour, linewidth=0.8, alpha=0.6)
    axes.set(xscale="log", yscale="log", xlabel="bound", ylabel=figure)
    axes.set_title(f"{name}: {rows[0]['title']}", fontsize=8, loc="left")
    ratio_axes.set_ylabel("ratio (dashed)", fontsize=8)
    axes.legend(fontsize=7)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    apps = read(folder)
    if not apps:
        sys.exit(f"draw.py: there are no results of applications in {folder}; run examples/run.sh apps first, or name their --out folder")
    columns = min(3, len(apps))
    lines = -(-len(apps) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(6 * columns, 4 * lines), squeeze=False, constrained_layout=True)
    for axes, (name, rows) in zip(panels.flat, apps.items()):
        draw(axes, name, rows)
    for axes in panels.flat[len(apps):]:
        axes.set_axis_off()
    figure.suptitle("Error against bound; dotted: the derived limit", fontsize=11)
    target = folder / "apps.png"
    figure.savefig(target, dpi=100)
    print(target)


if __name__ == "__main__":
    main()
