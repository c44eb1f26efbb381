#!/usr/bin/env python3
"""growth.py - what a batch costs, and memory, against the number of labels.

Usage: bench/growth.py [--skein PATH] [--only NAME,...] [--labels N,...]
           [--epochs N] [--hidden N] [--out STEM] [--folder FOLDER]
Trains on the same planted points (bench/planted.py) with 10^4 to 10^7 labels:
the features, and the rows that a batch computes, stay the same. Prints Markdown
tables of CPU milliseconds a batch (all of them: reading, sampling, products,
updates, and keeping the index), of memory that was resident, and of that as a
share of what `skein plan` promised. STEM.svg shows the first two.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import sys
import tempfile

import scale

SGD, ADAGRAD, ADAM = scale.SGD, scale.ADAGRAD, scale.ADAM


def hashed(kind, functions):
    """Lists of 64 rows a point out of 8 tables of L / 16 buckets, so that a
    bucket has as many rows at any L."""
    def sampler(labels):
        bits = max(round((math.log2(labels) - 4) / functions), 1)
        return ("{ kind: %s, tables: 8, bits: %d, rows: 64, uniform_rows: 1024,"
                " refresh_batches: 50 }" % (kind, bits))
    return sampler


def fixed(text):
    return lambda labels: text


UNIFORM = fixed(scale.UNIFORM)
# Name: optimizer, sampler of so many labels.
RUNS = {
    "uniform, sgd in bf16": (SGD, UNIFORM),
    "uniform, adagrad in bf16": (ADAGRAD, UNIFORM),
    "uniform, adam": (ADAM, UNIFORM),
    "log_uniform, sgd in bf16": (
        SGD, fixed("{ kind: log_uniform, rows: 4096 }")),
    "simhash, sgd in bf16": (SGD, hashed("simhash", 1)),
    "dwta, sgd in bf16": (SGD, hashed("dwta", 3)),
}
COLOURS = ("#1f77b4", "#17becf", "#9467bd", "#2ca02c", "#d62728", "#8c564b")


def short(labels):
    power = round(math.log10(labels))
    return "10^%d" % power if 10**power == labels else str(labels)


def print_table(title, found, labels, form, value):
    print("\n| %s | %s |\n|---%s|" % (
        title, " | ".join(short(at) for at in labels), "|---" * len(labels)))
    for name, rows in found.items():
        print("| %s | %s |" % (name, " | ".join(
            form % value(rows[at]) if at in rows else "" for at in labels)))


def ticks(low, high):
    return [10.0**k for k in range(math.floor(math.log10(low)),
                                   math.ceil(math.log10(high)) + 1)]


def panel(left, title, found, labels, value):
    """One chart of two logarithmic axes, 330 wide, as lines of SVG."""
    values = [value(row) for rows in found.values() for row in rows.values()]
    down, across = ticks(min(values), max(values)), labels
    spans = (math.log10(across[-1] / across[0]) or 1,
             math.log10(down[-1] / down[0]))

    def spot(label, number):
        return (left + 330 * math.log10(label / across[0]) / spans[0],
                300 - 260 * math.log10(number / down[0]) / spans[1])
    lines = ['<text x="%d" y="24" font-weight="bold">%s</text>' % (left, title)]
    for tick in down:
        y = spot(across[0], tick)[1]
        lines.append('<path d="M%d %.1fh330" stroke="#ddd"/><text x="%d" '
                     'y="%.1f" text-anchor="end">%g</text>' % (
                         left, y, left - 6, y + 4, tick))
    for tick in across:
        x = spot(tick, down[0])[0]
        lines.append('<path d="M%.1f 40v260" stroke="#ddd"/><text x="%.1f" '
                     'y="318" text-anchor="middle">%s</text>' % (
                         x, x, short(tick)))
    for colour, rows in zip(COLOURS, found.values()):
        spots = [spot(at, value(rows[at])) for at in labels if at in rows]
        lines.append('<polyline fill="none" stroke="%s" stroke-width="2" '
                     'points="%s"/>' % (colour, " ".join(
                         "%.1f,%.1f" % at for at in spots)))
        lines += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (
            x, y, colour) for x, y in spots]
    return lines


def draw(found, labels, stem):
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 830 410" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="830" height="410" fill="#fff"/>']
    lines += panel(50, "CPU milliseconds a batch, by labels", found, labels,
                   lambda row: row["cpu_ms"])
    lines += panel(470, "resident memory, MiB, by labels", found, labels,
                   lambda row: row["most"])
    for k, (colour, name) in enumerate(zip(COLOURS, found)):
        x, y = 50 + 260 * (k % 3), 345 + 20 * (k // 3)
        lines.append('<path d="M%d %dh20" stroke="%s" stroke-width="3"/>'
                     '<text x="%d" y="%d">%s</text>' % (
                         x, y, colour, x + 26, y + 4, name))
    with open(stem + ".svg", "w", encoding="ascii") as file:
        file.write("\n".join(lines + ["</svg>"]) + "\n")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--skein",
                        default=os.path.join(scale.ROOT, "build", "skein"))
    parser.add_argument("--only")
    parser.add_argument("--labels", default="10000,100000,1000000,10000000")
    parser.add_argument("--points", type=int, default=102400)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=63)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--out", default="growth")
    parser.add_argument("--folder")
    parser.set_defaults(group=None)
    own = parser.parse_args()
    own.save = False
    return own


def main():
    own, found = arguments(), {}
    labels = [int(word) for word in own.labels.split(",")]
    for at in labels:
        with tempfile.TemporaryDirectory(dir=own.folder) as folder:
            for name, (how, sampler) in RUNS.items():
                if own.only and own.only not in name:
                    continue
                row = scale.measure(own, dict(how, sampler=sampler(at)), at,
                                    folder)
                found.setdefault(name, {})[at] = row
                print("growth.py: %s, %d labels: %.1f CPU ms, %.0f of %d MiB" %
                      (name, at, row["cpu_ms"], row["most"], row["promised"]),
                      file=sys.stderr, flush=True)
    with open(own.out + ".json", "w", encoding="ascii") as file:
        json.dump(found, file, indent=1)
    print_table("CPU ms a batch", found, labels, "%.1f",
                lambda row: row["cpu_ms"])
    print_table("resident MiB", found, labels, "%.0f",
                lambda row: row["most"])
    print_table("resident / promised", found, labels, "%.2f",
                lambda row: row["most"] / row["promised"])
    draw(found, labels, own.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
