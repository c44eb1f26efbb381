#!/usr/bin/env python3
"""samplers.py - every sampler on one data set, on one core, side by side.

Usage: bench/samplers.py [--skein PATH] [--config FILE] [--only NAME...]
           [--scale F]
Trains the model of FILE (default: configs/wnrel.yaml) once a sampler and prints
three Markdown tables: what the draws are like, P@1 by epoch, P@1 by CPU second.
CPU seconds are those of the epoch events: reading, index upkeep and all actors,
evaluation left out. --scale 0.2 runs a fifth of the epochs. docs/samplers.md
holds a run of it.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROWS = "rows: 3072, labels: true"
# Name, sampler, epochs: fewer for what takes minutes an epoch.
SAMPLERS = (
    ("exact", "{ kind: exact }", 3),
    ("labels", "{ kind: uniform, rows: 0, labels: true }", 12),
    ("uniform", "{ kind: uniform, %s }" % ROWS, 12),
    ("log_uniform", "{ kind: log_uniform, %s }" % ROWS, 12),
    ("cluster", "{ kind: cluster, %s }" % ROWS, 12),
    ("mixture", "{ kind: mixture, %s, of: [{ kind: uniform, share: 0.5 }, "
     "{ kind: cluster, share: 0.5 }] }" % ROWS, 12),
    ("simhash", "{ kind: simhash, %s }" % ROWS, 3),
    ("dwta", "{ kind: dwta, %s }" % ROWS, 3),
)
LOOK_BATCHES = 20
EVALUATE_ROWS = 16384
CPU_MARKS_S = (10, 20, 30, 45, 60, 90, 120, 240, 480)


def train(options, sampler, epochs, folder):
    """The epoch events of a run."""
    core = min(os.sched_getaffinity(0))
    command = [
        options.skein, "train", options.config, "--json",
        "-o", "train.epochs=%d" % epochs,
        "-o", "train.evaluate.rows=%d" % EVALUATE_ROWS,
        "-o", "train.evaluate.sampler_batches=%d" % LOOK_BATCHES,
        "-o", "train.schedule.kind=constant",
        "-o", "checkpoint.path=" + folder,
        "-o", "checkpoint.every_epochs=0",
        "-o", "model.layers.output.sampler=" + sampler]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, [core]))
    if done.returncode != 0:
        sys.exit("samplers.py: %s failed" % " ".join(command))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [event for event in events if event["event"] == "epoch"]


def mean(epochs, key):
    found = [epoch[key] for epoch in epochs if key in epoch]
    return sum(found) / len(found) if found else None


def cell(value, form):
    return "" if value is None else form % value


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def head(*names):
    row(*names)
    row(*["---"] * len(names))


def print_tables(runs):
    print("\nThe draws\n")
    head("sampler", "CPU s an epoch", "rows computed a sample, % of all",
         "distinct rows a batch", "recall of the exact top 10",
         "softmax mass covered", "best P@1", "at CPU s")
    for name, epochs in runs.items():
        best = max(epochs, key=lambda epoch: epoch["p1"])
        row(name, "%.1f" % (epochs[-1]["cpu_seconds"] / len(epochs)),
            "%.2f" % (100 * mean(epochs, "active_fraction")),
            cell(mean(epochs, "distinct_rows"), "%.0f"),
            cell(mean(epochs, "sampler_recall"), "%.3f"),
            cell(mean(epochs, "sampler_mass"), "%.3f"),
            "%.4f" % best["p1"], "%.0f" % best["cpu_seconds"])
    print("\nP@1 after each epoch\n")
    most = max(len(epochs) for epochs in runs.values())
    head("sampler", *[str(k + 1) for k in range(most)])
    for name, epochs in runs.items():
        row(name, *[cell(epochs[k]["p1"] if k < len(epochs) else None,
                         "%.3f") for k in range(most)])
    print("\nP@1 of the last epoch that was done by then, by CPU seconds\n")
    head("sampler", *[str(mark) for mark in CPU_MARKS_S])
    for name, epochs in runs.items():
        row(name, *[at_mark(epochs, mark) for mark in CPU_MARKS_S])


def at_mark(epochs, mark_s):
    done = [epoch for epoch in epochs if epoch["cpu_seconds"] <= mark_s]
    over = epochs[-1]["cpu_seconds"] < mark_s and done and \
        len([m for m in CPU_MARKS_S
             if epochs[-1]["cpu_seconds"] <= m < mark_s]) > 0
    return "" if not done or over else "%.3f" % done[-1]["p1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--skein", default="build/skein")
    parser.add_argument("--config", default="configs/wnrel.yaml")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, sampler, epochs in SAMPLERS:
            if options.only and name not in options.only:
                continue
            count = max(1, round(epochs * options.scale))
            runs[name] = train(options, sampler, count,
                               os.path.join(folder, name))
            print("%s: %d epochs, %.0f CPU s" % (
                name, count, runs[name][-1]["cpu_seconds"]), file=sys.stderr)
    print_tables(runs)


if __name__ == "__main__":
    main()
