#!/usr/bin/env python3
"""billion.py - trains more than 10^9 parameters over four nodes on thin links.

Usage: bench/billion.py [--build DIR] [--folder DIR] [--epochs N] [--rate R]
`make billion` calls it. Four nodes, each in a network namespace of its own with
a link of --rate (as root; else four processes on the loopback device, without a
limit), train a planted data set (bench/planted.py) of 8.7 million labels: what
there is to learn follows from the features. Then one node trains the same.
Prints a table; beside the bytes that were sent and received those of dense data
parallelism, which sends the gradient of each parameter, in f32, around a ring:
2 (N - 1) / N * 4 bytes * parameters a batch and node, and receives as many.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import planted

HERE = os.path.dirname(os.path.abspath(__file__))
LABELS, FEATURES, UNITS, ROWS = 8_700_000, 50_000, 128, 512
PARAMETERS = (LABELS + FEATURES) * (UNITS + 1)
NODES = 4
MODEL = """skein: 1
data: {{ train: {train}, test: {test} }}
model:
  layers:
    - {{ name: hidden, units: {units}, dropout: 0 }}
    - name: output
      loss: softmax
      label_smoothing: 0
      weights: bf16
      init_std: 0.02
      sampler: {{ kind: uniform, rows: 4096 }}
train:
  batch_rows: {rows}
  epochs: {epochs}
  optimizer: {{ kind: sgd, rate: 4.0 }}
  schedule: {{ kind: constant }}
  evaluate: {{ every_epochs: 0 }}
checkpoint: {{ every_epochs: 0, every_batches: 0 }}
"""


def data(folder):
    """The training and test file, made once."""
    names = {}
    for name, points, draw in (("train", 300000, 0), ("test", 1000, 1)):
        names[name] = os.path.join(folder, name + ".txt")
        if not os.path.exists(names[name]):
            part = names[name] + ".part"
            planted.write(planted.arguments(
                ["--labels", str(LABELS), "--features", str(FEATURES),
                 "--points", str(points), "--draw", str(draw), part]))
            os.rename(part, names[name])
    return names


def on_hosts(own, model, count):
    """The summary of bench/cluster.py; None where it may make no networks."""
    words = [sys.executable, os.path.join(HERE, "cluster.py"), model,
             "--build", own.build, "--nodes", str(count), "--limit-s", "1500"]
    if count > 1:
        words += ["--rate", own.rate]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode == 77:
        return None
    if run.returncode != 0:
        sys.exit("billion.py: %d nodes failed: %s" % (count, run.stdout))
    found = json.loads(run.stdout)
    return dict(found, memory=max(found["rss_bytes"]))


def on_loopback(own, model, count, folder):
    """The same of processes of this machine, by their events."""
    words = [os.path.join(own.build, "skein")] + (
        ["up", model, "--local-nodes", str(count)] if count > 1
        else ["train", model])
    words += ["--json", "-o", "checkpoint.path=%s/run%d" % (folder, count)]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    shutil.rmtree(os.path.join(folder, "run%d" % count), ignore_errors=True)
    if run.returncode != 0:
        sys.exit("billion.py: %d nodes failed" % count)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    last = [event for event in events if event.get("event") == "epoch"][-1]
    done = [event for event in events if event.get("event") == "done"][-1]
    return dict(last, memory=last["rss_mb"] * 1e6 / count,
                wire_bytes=(done.get("wire_bytes_sent", 0) +
                            done.get("wire_bytes_received", 0)) / count)


def show(own, runs):
    many, one = runs
    examples = many["batches"] * ROWS
    dense = 2 * 2 * (NODES - 1) / NODES * 4 * PARAMETERS / ROWS
    print("%.2f x 10^9 parameters (%s labels, %s features, %d units), %s "
          "batches of %d\n" % (PARAMETERS / 1e9, "{:,}".format(LABELS),
                               "{:,}".format(FEATURES), UNITS,
                               "{:,}".format(many["batches"]), ROWS))
    print("| | %d nodes, %s | one node |\n|---|---|---|" % (NODES, own.rate))
    for name, form, key, scale in (
            ("examples a second", "{:,.0f}", "examples_per_s", 1),
            ("CPU seconds", "{:,.0f}", "cpu_seconds", 1),
            ("loss of the last epoch", "{:.2f}", "loss", 1),
            ("P@1, exact over all labels", "{:.3f}", "p1", 1),
            ("rows drawn for an example, % of all", "{:.3f}",
             "active_fraction", 100),
            ("resident memory of a node, GB", "{:.2f}", "memory", 1e-9)):
        print("| %s | %s | %s |" % (name, form.format(many[key] * scale),
                                    form.format(one[key] * scale)))
    sent = many["wire_bytes"] / examples
    print("| bytes a node sends and receives, an example | %.0f | 0 |" % sent)
    print("\nDense data parallelism would send and receive %s bytes: %s times "
          "as many."
          % ("{:,.0f}".format(dense), "{:,.0f}".format(dense / sent)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--folder", default="")
    parser.add_argument("--epochs", type=int, default=2,
                        help="of 586 batches")
    parser.add_argument("--rate", default="100mbit")
    own = parser.parse_args()
    own.build = os.path.realpath(own.build)  # hosts start in other folders
    folder = os.path.realpath(own.folder or os.path.join(own.build, "billion"))
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.yaml")
    with open(model, "w", encoding="ascii") as file:
        file.write(MODEL.format(units=UNITS, rows=ROWS, epochs=own.epochs,
                                **data(folder)))
    runs = [on_hosts(own, model, count) for count in (NODES, 1)]
    if None in runs:
        print("No networks can be made here: processes on the loopback device "
              "instead.", file=sys.stderr)
        own.rate = "loopback"
        runs = [on_loopback(own, model, count, folder) for count in (NODES, 1)]
    show(own, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
