#!/usr/bin/env python3
"""samplers.py - every sampler on one data set at equal CPU seconds, one core.

Usage: bench/samplers.py [--skein PATH] [--config FILE] [--only NAME...]
           [--batches N] [--rows N] [--test-rows N] [--cpu N] [-o KEY=VALUE]...
Trains the model of FILE (default: configs/xmc.yaml, whose sizes are auto) once
a sampler. Uniform has --batches batches; every other one has so many that it
takes as many CPU seconds: two short runs of each tell what its start costs and
what a batch does, and right before and after them the same two of uniform, so
that other work on the machine slows both alike. Rates have fallen to nothing
when the last batch is done, so a sampler whose batches are dear sees fewer
points, not a worse end. Prints a Markdown table, a row as soon as it is there.
CPU seconds are those of the events: reading, index upkeep and all actors,
evaluation left out. docs/concepts/samplers.md holds runs of it.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Name, sampler. {rows} is what auto draws for uniform: 8 a point.
SAMPLERS = (
    ("uniform", "{ kind: uniform, %s }"),
    ("log_uniform", "{ kind: log_uniform, %s }"),
    ("labels", "{ kind: uniform, rows: 0, labels: true }"),
    ("simhash", "{ kind: simhash, %s }"),
    ("dwta", "{ kind: dwta, %s }"),
    ("exact", "{ kind: exact }"),
)
# Of the short runs: enough to see an index built twice.
FEW_BATCHES = {"exact": 4, "simhash": 60, "dwta": 60}
FEW_BATCHES_ELSE = 120
LOOK_BATCHES = 20


def train(options, sampler, batches, folder, *more):
    """The events of a run of so many batches."""
    command = [
        options.skein, "train", options.config, "--json",
        "-o", "train.max_batches=%d" % batches,
        "-o", "train.epochs=1000",
        "-o", "train.evaluate.every_epochs=0",
        "-o", "checkpoint.path=" + folder,
        "-o", "checkpoint.every_epochs=0",
        "-o", "resources.cores=1",
        "-o", "model.layers.output.sampler=" + sampler]
    for item in [*options.o, *more]:
        command += ["-o", item]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, [options.cpu]))
    shutil.rmtree(folder, ignore_errors=True)
    if done.returncode != 0:
        sys.exit("samplers.py: %s failed" % " ".join(command))
    return [json.loads(line) for line in done.stdout.splitlines()]


def last(events, key):
    found = [event[key] for event in events if key in event]
    return found[-1] if found else None


def mean(events, key):
    found = [event[key] for event in events
             if event["event"] == "epoch" and key in event]
    return sum(found) / len(found) if found else None


def cost(options, sampler, few, folder):
    """CPU seconds of the start with one batch, and of a further batch."""
    seconds = [last(train(options, sampler, batches, folder,
                          "train.evaluate.rows=1"), "cpu_seconds")
               for batches in (1, few + 1)]
    return seconds[0], (seconds[1] - seconds[0]) / few


def batches_of(options, name, sampler, folder):
    """So many that they take as long as uniform's."""
    if name == "uniform":
        return options.batches
    few = FEW_BATCHES.get(name, FEW_BATCHES_ELSE)
    folder = os.path.join(folder, "few")
    uniform = SAMPLERS[0][1] % options.drawn
    bases = [cost(options, uniform, FEW_BATCHES_ELSE, folder)]
    start, each = cost(options, sampler, few, folder)
    bases.append(cost(options, uniform, FEW_BATCHES_ELSE, folder))
    whole = sum(base[0] + (options.batches - 1) * base[1] for base in bases) / 2
    return max(1, 1 + round((whole - start) / each))


def cell(value, form):
    return "" if value is None else form % value


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--skein", default="build/skein")
    parser.add_argument("--config", default="configs/xmc.yaml")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--test-rows", type=int, default=8192)
    parser.add_argument("--rows", type=int, default=4096,
                        help="drawn for a batch; auto has 8 a point")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("-o", action="append", default=[])
    options = parser.parse_args()
    row("sampler", "batches", "CPU s", "rows computed a sample, % of all",
        "distinct rows a batch", "recall of the exact top 10",
        "softmax mass covered", "P@1", "P@5", "PSP@1")
    row(*["---"] * 10)
    options.drawn = "rows: %d, labels: true" % options.rows
    with tempfile.TemporaryDirectory() as folder:
        for name, form in SAMPLERS:
            if options.only and name not in options.only:
                continue
            sampler = form % options.drawn if "%s" in form else form
            batches = batches_of(options, name, sampler, folder)
            events = train(
                options, sampler, batches, os.path.join(folder, name),
                "train.evaluate.rows=%d" % options.test_rows,
                "train.evaluate.sampler_batches=%d" % LOOK_BATCHES)
            row(name, "%d" % batches, "%.1f" % last(events, "cpu_seconds"),
                cell(mean(events, "active_fraction") and
                     100 * mean(events, "active_fraction"), "%.2f"),
                cell(mean(events, "distinct_rows"), "%.0f"),
                cell(mean(events, "sampler_recall"), "%.3f"),
                cell(mean(events, "sampler_mass"), "%.3f"),
                "%.4f" % last(events, "p1"), "%.4f" % last(events, "p5"),
                cell(last(events, "psp1"), "%.4f"))


if __name__ == "__main__":
    main()
