#!/usr/bin/env python3
"""versus.py - seconds to the same P@1: Skein and a vocabulary-parallel peer.

Usage: bench/versus.py MODEL FOLDER --target P1 [--build DIR] [--rates LIST]
           [--repeats R] [--batch B] [--negatives K] [--rate-adam X]
           [--epochs E] [--codings LIST] [--single] [-o KEY=VALUE]...
Two hosts of one core (bench/nodes.py), a link of each rate, both programs in
turn, R times. MODEL is trained by Skein, FOLDER/train.txt and test.txt are the
same data for bench/peers/vocab_parallel.py, with the same batch, optimizer,
rate and number of drawn rows. Prints a table: seconds until P@1 of the target,
on the line between the epochs before and behind it; median and range, and the
ratio of the peer's to Skein's, run by run. Evaluations are in nobody's seconds.
  --single  Skein on one host of one core, too, for the rate at which a second
            host begins to pay
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import cluster

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "peers"))
import tuned


def skein(own, nodes, rate, coding):
    words = [sys.executable, os.path.join(HERE, "cluster.py"), own.model,
             "--build", own.build, "--nodes", str(nodes), "--cores",
             "0,1" if nodes > 1 else "0", "--rate", rate,
             "--enough", "epoch:%d," % own.epochs,
             "-o", "train.epochs=%d" % own.epochs,
             "-o", "train.batch_rows=%d" % own.batch,
             "-o", "train.optimizer.rate=%g" % own.rate_adam,
             "-o", "train.schedule.kind=constant",
             "-o", "model.layers.output.sampler.rows=%d" % own.negatives,
             "-o", "train.evaluate.rows=%d" % own.test_points,
             "-o", "checkpoint.every_epochs=0"]
    if nodes > 1:
        words += ["-o", "links.coding=" + coding]
    words += [word for item in own.o for word in ("-o", item)]
    answer = subprocess.run(words, check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)["epochs"]


def peer(own, rate):
    program = os.path.join(HERE, "peers", "vocab_parallel.py")
    words = [sys.executable, os.path.join(HERE, "nodes.py"), "--nodes", "2",
             "--cores", "0,1", "--rate", rate, "--", own.python, program,
             own.folder, "--rank", "{node}", "--world", "2", "--address",
             "{first}", "--interface", "{interface}", "--batch", str(own.batch),
             "--negatives", str(own.negatives), "--rate", str(own.rate_adam),
             "--epochs", str(own.epochs), "--test-points",
             str(own.test_points)]
    answer = subprocess.run(words, check=True, stdout=subprocess.PIPE,
                            env=tuned.environment(own.python))
    found, seconds = [], 0.0
    for line in json.loads(answer.stdout)["lines"]:
        if "p1" in line["line"]:
            seconds += line["line"]["seconds"]
            found.append([seconds, line["line"]["p1"]])
    return found


def measure(own, name):
    """[seconds, P@1] of each epoch."""
    program, rate, coding = name
    if program == "peer":
        return peer(own, rate)
    return skein(own, 1 if program == "1 host" else 2, rate, coding)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--target", type=float, required=True)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rates", default="1gbit,100mbit")
    parser.add_argument("--codings", default="bf16,int8")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--negatives", type=int, default=4096)
    parser.add_argument("--rate-adam", type=float, default=5e-3)
    parser.add_argument("--test-points", type=int, default=2000)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("-o", action="append", default=[])
    return parser.parse_args()


def main():
    own = arguments()
    names = [("1 host", "none", "")] if own.single else []
    for rate in own.rates.split(","):
        names += [("2 hosts", rate, coding)
                  for coding in own.codings.split(",")]
        names.append(("peer", rate, "f32"))
    times = {name: [] for name in names}
    for turn in range(own.repeats):
        for name in names:
            epochs = measure(own, name)
            took = cluster.seconds_to(own.target, epochs)
            if took is None:
                sys.exit("versus.py: %s: P@1 is %s after %d epochs" %
                         (" ".join(name), epochs[-1:], own.epochs))
            times[name].append(took)
            print("%d %s: %.1f s" % (turn, " ".join(name), took),
                  file=sys.stderr, flush=True)
    print("| who | link | coding | seconds to P@1 %g | range | the peer takes |"
          "\n|---|---|---|---|---|---|" % own.target)
    for name in names:
        other = ("peer", name[1], "f32")
        ratio = "%.2f x" % statistics.median(
            b / a for a, b in zip(times[name], times[other])) \
            if other in times and other != name else ""
        print("| %s | %s | %s | %.1f | %.1f-%.1f | %s |" % (
            *name, statistics.median(times[name]), min(times[name]),
            max(times[name]), ratio))
    return 0


if __name__ == "__main__":
    sys.exit(main())
