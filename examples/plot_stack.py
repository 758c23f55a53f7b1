#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what image_stacking has written: exact stack, compressed stack, error.

usage: plot_stack.py [folder]     reads <folder>/image_stacking.json, writes <folder>/image_stacking.png
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
import numpy as np


def read_panel(folder, about, name):
    path = folder / about["files"][name]
    panel = np.fromfile(path, dtype="<f4")
    if panel.size != about["nx"] * about["nz"]:
        sys.exit(f"plot_stack.py: {path} has {panel.size} values, expected {about['nx']} x {about['nz']}; run image_stacking again")
    return panel.reshape(about["nz"], about["nx"])


def draw(axes, panel, about, limit, colours, title, label):
    extent = [0, about["nx"] * about["dx"], about["nz"] * about["dx"], 0]
    shown = axes.imshow(panel, extent=extent, cmap=colours, vmin=-limit, vmax=limit, interpolation="bilinear", aspect="equal")
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_xlabel("x [m]")
    bar = axes.figure.colorbar(shown, ax=axes, location="bottom", pad=0.02, shrink=0.7, aspect=40, extend="both")
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    axes.tick_params(labelsize=9)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    try:
        about = json.loads((folder / "image_stacking.json").read_text())
    except FileNotFoundError:
        sys.exit(f"plot_stack.py: there is no {folder / 'image_stacking.json'}; run image_stacking first, or name its --out folder")
    exact = read_panel(folder, about, "exact")
    compressed = read_panel(folder, about, "compressed")
    packed = about["packed"]
    error = compressed - exact

    # The brightest percent may saturate, because the deep reflectors are ten times weaker than the sea floor.
    limit = float(np.percentile(np.abs(exact), 99)) or 1.0
    worst = packed["promised_error"] or float(np.max(np.abs(error))) or 1.0

    figure, panels = plt.subplots(1, 3, figsize=(17.5, 4.35), sharey=True, constrained_layout=True)
    power = 10.0 ** np.floor(np.log10(worst))
    unit = "reflectivity, largest partial image = 1"
    draw(panels[0], exact, about, limit, "gray", "exact stack (f64)", unit)
    draw(panels[1], compressed, about, limit, "gray",
         f"{packed['name']}: ratio {packed['ratio']:.1f}, PSNR {packed['psnr_db'] or float('inf'):.1f} dB, NRMSE {packed['nrmse']:.1e}", unit)
    draw(panels[2], error / power, about, worst / power, "RdBu_r",
         f"error: at most {packed['max_error']:.1e}, promised {packed['promised_error']:.1e}", f"compressed - exact, in units of {power:.0e}; the scale ends at the promise")
    figure.set_constrained_layout_pads(h_pad=0.08)
    panels[0].set_ylabel("depth [m]")
    figure.suptitle(f"Reverse-time migration, {about['shots']} shots on {about['ranks']} ranks ({about['transport']}), "
                    f"time lag 0 of {about['lags']}", fontsize=12)
    target = folder / "image_stacking.png"
    figure.savefig(target, dpi=110)
    print(target)


if __name__ == "__main__":
    main()
