#!/usr/bin/env python3
"""bytes.py - bytes a host an example on two hosts, beside the formula.

Usage: bench/bytes.py MODEL --labels FILE [--build DIR] [-o KEY=VALUE]...
           [--losses LIST] [--codings LIST] [--hidden H] [--batch-rows B]
Trains the model file once for each loss and coding below on two hosts
(bench/cluster.py), and prints a table: what each host sent and received while
training, an example; the formula for it ((61) of docs/concepts/equations.md),
and the ratio; Skein's counters for the whole run, checkpoint included, beside
the interface's.
  formula   2(N-1)/N H (1/8 + d b) + 2(N-1)/N H d b (1 + phi) + 16 (N-1)
            + 8 (N-1) (2 + phi) for int8 and 4 bit; phi = 0 with
            `train.merge: late` (which is what auto is here; it has 8 (N-1) in
            place of 16) and for one-vs-all, which has no 16 (N-1) either
  d         share of open ReLUs, from the bytes of the activations of this run
  phi       share of examples with a label on a node, from FILE: rows of labels
            are dealt out in halves
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VALUE_BYTES = {"f32": 4, "bf16": 2, "int8": 1, "int4": 0.5}


def share_with_label(path):
    """phi: the mean over both halves of the label rows."""
    hits, rows = [0, 0], 0
    with open(path, encoding="ascii") as file:
        labels = int(file.readline().split()[2])
        for line in file:
            own = line.split(" ", 1)[0]
            halves = {int(label) >= labels / 2
                      for label in own.split(",") if label}
            rows += 1
            for half in halves:
                hits[half] += 1
    return sum(hits) / 2 / rows


def measure(own, loss, coding, extra):
    words = [sys.executable, os.path.join(HERE, "cluster.py"), own.model,
             "--build", own.build, "--nodes", "2", "--cores", own.cores,
             "-o", "model.layers.output.loss=" + loss,
             "-o", "links.coding=" + coding] + extra
    answer = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if answer.returncode:
        sys.exit(answer.returncode)
    return json.loads(answer.stdout)


def report(own, phi, loss, coding, found):
    softmax = loss == "softmax"
    width = VALUE_BYTES[coding]
    scaled = coding.startswith("int")
    early = "train.merge=early" in own.o
    phi = phi if softmax and early else 0
    rows = found["batches"] * own.batch_rows
    # A host sends one a batch and gets one. Those of the test's batches are in
    # this count, and taken for as large as the others.
    count = found["wire_messages"]["activation"] / 2
    sent = found["wire_bytes_by_message"]["activation"] / count / own.batch_rows
    d = ((sent - (8 if scaled else 0)) / own.hidden - 1 / 8) / width
    formula = own.hidden * (1 / 8 + d * width) + \
        own.hidden * d * width * (1 + phi) + \
        ((16 if early else 8) if softmax else 0) + \
        (8 * (2 + phi) if scaled else 0)
    measured = found["wire_bytes"] / rows
    gap = found["own_bytes"] / found["interface_bytes"] - 1
    print("| %s | %s | %.3f | %.1f | %.1f | %.3f | %+.1f%% | %.4f |" % (
        loss, coding, d, measured, formula, measured / formula, 100 * gap,
        found["loss"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--labels", required=True)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch-rows", type=int, default=1024)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--losses", default="softmax,one_vs_all")
    parser.add_argument("--codings", default=",".join(VALUE_BYTES))
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    phi = share_with_label(own.labels)
    extra = [word for item in own.o for word in ("-o", item)]
    print("phi %.3f" % phi)
    print("| loss | coding | d | bytes a host an example | formula | ratio | "
          "own counters against the interface's | loss at the end |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for loss in own.losses.split(","):
        for coding in own.codings.split(","):
            report(own, phi, loss, coding, measure(own, loss, coding, extra))
    return 0


if __name__ == "__main__":
    sys.exit(main())
