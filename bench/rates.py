#!/usr/bin/env python3
"""rates.py - examples a core-second, beside PyTorch and SLIDE and the limit.

Usage: bench/rates.py [--set FOLDER]... [--skein PATH]
           [--slide BINARY] [--slide-opt BINARY] [--python PATH]
           [--batches 256,1024] [--only PEER,...] [--repeats N] [--epochs N]
           [--points N] [--exact-points N] [--negatives N] [--hidden N]
           [--cpu N]
Trains on some points of FOLDER/train.txt (or .zst; default: data/wnrel) with
the same batch and width in each program, all on one core, a peer and what is
held against it right after each other, --repeats times; prints a Markdown table
a set. Rates are medians; ratios are taken run by run, so that other work on the
machine slows both sides of one, and shown with their range.

Rate: the examples of all epochs but the first, by the CPU seconds between its
end and the last one's. Reading, starting and evaluating are left out. (SLIDE's
own clock knows all batches, and leaves out as much.)

Limit: what a batch must do, at the roofs that bench/bench_kernels.c measures
right before: each distinct row of a layer comes from memory once and goes back
once with all that its optimizer keeps, at the rate of reading; multiply-adds of
the three products of the output layer and the two of the input layer, at the
rate of registers; 20 operations an exponential. Gather, products, the output's
rows, the input's rows follow one another; in each of them memory and arithmetic
go on at once. Nothing else is counted: no logits in caches, no threads.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.append(os.path.join(HERE, "peers"))
import tuned

EXP_OPERATIONS = 20
SLIDE_BATCHES = 50      # one rehash in them

F32 = {"train.precision": "f32", "train.optimizer.kind": "adam",
       "model.layers.output.weights": "f32"}
# Output rows of 2 bytes a weight, rounded at random; adagrad: and a sum a row.
BF16_ADAGRAD = {"train.precision": "bf16", "train.optimizer.kind": "adagrad",
                "model.layers.output.weights": "bf16"}
BF16_SGD = {"train.precision": "bf16", "train.optimizer.kind": "sgd",
            "model.layers.output.weights": "bf16"}
# Peer: exact or not, (what Skein does, its keys, by batch the bar: x the peer).
GROUPS = {
    "torch-sampled": (False, (
        ("f32, adam", F32, {256: 1.3, 1024: 1.3}),
        ("bf16, adagrad rows", BF16_ADAGRAD, {256: 2, 1024: 2}),
        ("bf16, sgd", BF16_SGD, {256: 2, 1024: 2}))),
    "torch-exact": (True, (
        ("exact, f32, adam", F32, {256: 4, 1024: 4}),
        ("exact, bf16, adagrad rows", BF16_ADAGRAD, {256: 8, 1024: 8}),
        ("exact, bf16, sgd", BF16_SGD, {256: 8, 1024: 8}))),
    "slide-opt": (False, (
        ("f32, adam", F32, {128: 6, 256: 4, 1024: 2.5}),)),
    "slide": (False, (("f32, adam", F32, {128: 15}),)),
}
# Bytes a weight of a distinct row: read for the products; then read and written
# by the optimizer. Of the input layer, and of the output layer.
MOVED = {
    "adam": ((4, 20), (4, 20)),
    "adagrad": ((4, 5), (2, 2)),    # of the input layer: a sum for 8 columns
    "sgd": ((4, 4), (2, 2)),
}


class Missing(Exception):
    """A program that is not on this machine, or that failed."""


def run(own, words, environment=None):
    """The JSON objects that it prints."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, [own.cpu]),
        env=environment or tuned.plain())
    if done.returncode != 0:
        raise Missing("%s ended with %d" % (" ".join(words), done.returncode))
    return [json.loads(line) for line in done.stdout.splitlines()
            if line.startswith("{")]


def rate_of(epochs, batch):
    """Between the end of the first epoch and that of the last."""
    first = epochs[0] if len(epochs) > 1 else {"batches": 0, "cpu_seconds": 0}
    return (epochs[-1]["batches"] - first["batches"]) * batch / (
        epochs[-1]["cpu_seconds"] - first["cpu_seconds"])


def skein(own, points, batch, exact, keys):
    path = os.path.join(points["folder"], "run")
    shutil.rmtree(path, ignore_errors=True)
    sampler = "{ kind: exact }" if exact else \
        "{ kind: uniform, rows: %d, labels: true }" % own.negatives
    keys = dict({
        "data.train": points["train"], "data.test": points["test"],
        "model.layers.hidden.units": own.hidden,
        "model.layers.hidden.dropout": 0,
        "model.layers.output.loss": "softmax",
        "model.layers.output.label_smoothing": 0,
        "model.layers.output.sampler": sampler,
        "train.batch_rows": batch, "train.epochs": own.epochs,
        "train.optimizer.rate": own.rate, "train.schedule.kind": "constant",
        "train.evaluate.every_epochs": 0, "train.evaluate.rows": 1,
        "checkpoint.path": path,
        "checkpoint.every_epochs": 0, "resources.cores": 1}, **keys)
    words = [own.skein, "train", os.path.join(ROOT, "configs", "xmc.yaml"),
             "--json"]
    for key, value in keys.items():
        words += ["-o", "%s=%s" % (key, value)]
    epochs = [event for event in run(own, words) if event["event"] == "epoch"]
    return rate_of(epochs, batch), epochs[-1].get("distinct_rows")


def torch(own, points, batch, exact):
    epochs = run(own, [
        own.python, os.path.join(HERE, "peers", "one_host.py"),
        points["folder"], "--mode", "exact" if exact else "sampled", "--draw",
        "uniform", "--negatives", str(own.negatives), "--hidden",
        str(own.hidden), "--batch", str(batch), "--epochs", str(own.epochs),
        "--rate", str(own.rate), "--test-points", "1"],
        tuned.environment(own.python))
    for number, epoch in enumerate(epochs):
        epoch["batches"] *= number + 1      # cumulative, as the seconds are
    return rate_of(epochs, batch)


def slide(own, points, batch, binary):
    if not binary:
        raise Missing("no binary given")
    return rate_of(run(own, [
        own.python, os.path.join(HERE, "peers", "slide.py"), binary,
        points["folder"], "--hidden", str(own.hidden), "--batch", str(batch),
        "--points", str(SLIDE_BATCHES * batch), "--test-points",
        str(batch)]), batch)


def peer_rate(own, name, points, batch):
    if name.startswith("torch"):
        return torch(own, points, batch, name == "torch-exact")
    return slide(own, points, batch,
                 own.slide if name == "slide" else own.slide_opt)


# --- data ------------------------------------------------------------------

def lines_of(folder, name):
    path = os.path.join(folder, name + ".txt")
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            return file.readlines()
    done = subprocess.run(["zstd", "-dc", path + ".zst"], check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines(keepends=True)


def some_points(lines, test, count, folder):
    """train.txt with `count` of the points, test.txt with as many as SLIDE
    evaluates at most between two epochs."""
    _, units, labels = lines[0].split()
    count = min(count, len(lines) - 1)
    chosen = random.Random(1).sample(range(1, len(lines)), count)
    os.makedirs(folder)
    points = {"folder": folder, "lines": [lines[k] for k in chosen],
              "labels": int(labels)}
    for name, body in (("train", points["lines"]), ("test", test[1:2049])):
        points[name] = os.path.join(folder, name + ".txt")
        with open(points[name], "w", encoding="ascii") as file:
            file.write("%d %s %s\n" % (len(body), units, labels))
            file.writelines(body)
    return points


def counted(points, batch):
    """Means over the batches: features, distinct ones."""
    pairs, distinct, batches = 0, 0, 0
    for first in range(0, len(points["lines"]) - batch + 1, batch):
        units = [pair.partition(":")[0]
                 for line in points["lines"][first:first + batch]
                 for pair in line.split(" ")[1:]]
        pairs, distinct = pairs + len(units), distinct + len(set(units))
        batches += 1
    return pairs / max(batches, 1), distinct / max(batches, 1)


# --- the limit -------------------------------------------------------------

def roofs(own):
    """Bytes and operations a second: memory, f32, bf16."""
    done = subprocess.run(
        [os.path.join(os.path.dirname(own.skein), "bench", "bench_kernels"),
         "gather_add", "--json", "--runs", "3"],
        stdout=subprocess.PIPE, text=True, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, [own.cpu]))
    best = {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if "roof" in event and "kernel" not in event:
            best.setdefault(event["roof"], event["rate"] * 1e9)
    return best["memory_read"], best["multiply"], \
        best.get("half", best["multiply"])


def limit(own, keys, batch, work, roof):
    """Examples a second; work: features and distinct ones a batch, rows of the
    output layer."""
    memory, fma, half = roof
    features, units, rows = work
    into, out = MOVED[keys["train.optimizer.kind"]]
    width = own.hidden
    products = half if keys["train.precision"] == "bf16" else fma
    seconds = max(2 * features * width / fma,
                  units * width * into[0] / memory)
    seconds += max(6 * batch * rows * width / products +
                   EXP_OPERATIONS * batch * rows / fma,
                   rows * width * out[0] / memory)
    seconds += rows * width * out[1] / memory
    seconds += max(2 * features * width / fma,
                   units * width * into[1] / memory)
    return batch / seconds


# --- the table -------------------------------------------------------------

def spread(values, form):
    text = form % statistics.median(values)
    return text if len(values) < 2 else \
        text + " (" + form % min(values) + "-" + form % max(values) + ")"


def measure(own, name, points, batch, roof):
    """The rows of a peer at a batch size."""
    exact, variants = GROUPS[name]
    variants = [one for one in variants if batch in one[2]]
    theirs, ours = [], {one[0]: [] for one in variants}
    active = {}
    for _ in range(own.repeats):
        theirs.append(peer_rate(own, name, points, batch))
        for what, keys, _ in variants:
            rate, rows = skein(own, points, batch, exact, keys)
            ours[what].append(rate)
            active[what] = points["labels"] if exact else rows
    work = counted(points, batch)
    for what, keys, bars in variants:
        best = limit(own, keys, batch, (*work, active[what]), roof)
        ratios = [a / b for a, b in zip(ours[what], theirs)]
        rate = statistics.median(ours[what])
        print("| %s | %d | %s | %s | %s | %s | %g | %.0f | %.2f |" % (
            name, batch, what, spread(theirs, "%.0f"),
            spread(ours[what], "%.0f"), spread(ratios, "%.2f"), bars[batch],
            best, best / rate), flush=True)


def measure_set(own, folder, temporary):
    name = os.path.basename(os.path.normpath(folder))
    lines, test = lines_of(folder, "train"), lines_of(folder, "test")
    points = {
        exact: some_points(lines, test, count,
                           os.path.join(temporary, "%s-%d" % (name, exact)))
        for exact, count in ((False, own.points), (True, own.exact_points))}
    roof = roofs(own)
    print("\n%s: %d labels, %d hidden units, %d negatives; roofs: %.1f GB/s, "
          "%.0f and (bf16) %.0f GFLOP/s; load %.1f\n" % (
              name, points[True]["labels"], own.hidden, own.negatives,
              roof[0] / 1e9, roof[1] / 1e9, roof[2] / 1e9, os.getloadavg()[0]))
    if "torch" in own.only:
        print(tuned.sentence(tuned.settings(own.python)) + "\n")
    print("| peer | batch | Skein's | peer, examples a core-second | Skein | "
          "ratio | bar | limit | limit / Skein |\n" + "|---" * 9 + "|",
          flush=True)
    sizes = [int(word) for word in own.batches.split(",")]
    for peer in own.only.split(","):
        for batch in (128, 256, 1024):
            asked = batch in sizes or batch == 128
            if not asked or not any(batch in one[2]
                                    for one in GROUPS[peer][1]):
                continue
            try:
                measure(own, peer, points[GROUPS[peer][0]], batch, roof)
            except Missing as reason:
                print("rates.py: without %s: %s" % (peer, reason),
                      file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--skein", default=os.path.join(ROOT, "build", "skein"))
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--slide")
    parser.add_argument("--slide-opt")
    parser.add_argument("--batches", default="256,1024")
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--points", type=int, default=51200)
    parser.add_argument("--exact-points", type=int, default=2048)
    parser.add_argument("--negatives", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    own = parser.parse_args()
    unknown = [name for name in own.only.split(",") if name not in GROUPS]
    if unknown:
        parser.error("no peer '%s'; available: %s" % (unknown[0],
                                                      ", ".join(GROUPS)))
    own.set = own.set or [os.path.join(ROOT, "data", "wnrel")]
    return own


def main():
    own = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        for folder in own.set:
            measure_set(own, folder, temporary)


if __name__ == "__main__":
    main()
