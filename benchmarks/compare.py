#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two runs of a benchmark, and names what has moved beyond its spread.

usage: compare.py <before.jsonl> <after.jsonl> [part]     such as benchmarks/results/auto.jsonl out/auto.jsonl; part: 0.05

A row is found again by everything in it that is no measurement. It has moved if its figure differs by more than `part` and lies outside of
the spread of both runs, as far as they say what that is. Times of two machines cannot be compared, so compare ratios (times plain MPI, times a
copy) or runs of one machine. The exit code is 1 if something has become worse.
"""
import json
import pathlib
import sys

# Figures, the best first: a ratio is compared where there is one. True: more is better.
FIGURES = {"of_plain": True, "of_copy": True, "speed_up": True, "raw_gb_per_s": True, "ms": False, "found_ms": False, "median_us": False,
           "median_s": False, "seconds": False, "average_us": False, "call_s": False, "ratio": True, "bits_per_value": False}
SPREADS = {"of_plain": ["of_plain_quartiles"], "ms": ["ms_quartiles", ("ms_min", "ms_max")], "median_s": [("fastest_s", "slowest_s")],
           "average_us": [("min_us", "max_us")]}
# What tells rows from each other.
NAMES = {"operation", "variant", "what", "algorithm", "codec", "field", "type", "bytes", "raw_bytes", "ranks", "link", "mpi", "elements", "isa",
         "relative_bound", "bound_of_range", "record", "stage", "note", "machine", "rate", "bound", "app", "plan", "figure", "codecs", "gbit", "mb",
         "pattern", "compression", "offered", "bit_error_rate", "job", "name", "calls_before"}
DECIDED = {"algorithm", "codec"}  # by Codec::Auto, whose rows have a reason


def read(path):
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError as error:
        sys.exit(f"compare.py: {error}")
    rows = {}
    for row in (json.loads(line) for line in lines if line.strip()):
        figure = next((f for f in FIGURES if isinstance(row.get(f), (int, float))), None)
        names = NAMES - (DECIDED if "reason" in row else set())
        if figure:
            rows[tuple(sorted((k, str(v)) for k, v in row.items() if k in names))] = (figure, row)
    return rows


def spread(figure, row):
    for where in SPREADS.get(figure, []):
        if isinstance(where, str) and where in row:
            return tuple(row[where])
        if isinstance(where, tuple) and all(w in row for w in where):
            return tuple(row[w] for w in where)
    return row[figure], row[figure]


def moved(figure, before, after, part):
    """By how much it has become better (above 1) or worse; None if it has not moved."""
    old, new = before[figure], after[figure]
    if old <= 0 or new <= 0:
        return None
    (old_low, old_high), (new_low, new_high) = spread(figure, before), spread(figure, after)
    gain = new / old if FIGURES[figure] else old / new
    apart = new_low > old_high or new_high < old_low
    return gain if apart and abs(gain - 1) > part else None


def compare(before, after, part):
    worse = 0
    for key, (figure, row) in after.items():
        old = before.get(key)
        gain = moved(figure, old[1], row, part) if old and old[0] == figure else None
        if gain is None:
            continue
        worse += gain < 1
        print(f"{'better' if gain > 1 else 'WORSE ':6} {gain:5.2f}  {figure} {old[1][figure]:g} -> {row[figure]:g}  " +
              ", ".join(v for _, v in key))
    both = len(before.keys() & after.keys())
    print(f"{both} rows in both runs, {len(before) - both} only before, {len(after) - both} only after, {worse} worse")
    return worse


def check_itself():
    slow = {"what": "a", "ms": 10.0, "ms_quartiles": [9.5, 10.5]}
    assert moved("ms", slow, {"ms": 20.0, "ms_quartiles": [18, 21]}, 0.05) == 0.5
    assert moved("ms", slow, {"ms": 11.0, "ms_quartiles": [10.4, 12]}, 0.05) is None  # the spreads overlap
    assert moved("of_plain", {"of_plain": 1.0}, {"of_plain": 1.04}, 0.05) is None
    assert moved("of_plain", {"of_plain": 1.0}, {"of_plain": 1.2}, 0.05) == 1.2
    assert moved("ms", {"ms": 10.0, "ms_min": 9, "ms_max": 12}, {"ms": 13.0}, 0.05) == 10 / 13


def main():
    if sys.argv[1:] == ["--check-itself"]:
        return check_itself()
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    worse = compare(read(sys.argv[1]), read(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) == 4 else 0.05)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
