#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slide.py - SLIDE (Chen and others 2020), with the settings of its paper.

Usage: slide.py BINARY FOLDER [--hidden 128] [--batch 128] [--rate 1e-3]
           [--epochs 1] [--points 0] [--test-points 4000]
           [--tables 50] [--functions 6] [--bucket-bits 14]
BINARY is built from keroro824/HashingDeepLearning or IntelLabs/SLIDE_opt_ia;
FOLDER holds train.txt and test.txt (XMC text). Densified winner-take-all
hashes, Adam, a rehash every 50 batches, one thread. --points 0: all.

Prints one JSON object a line and epoch; cpu_seconds are what SLIDE's own clock
says of its batches: no reading, no evaluation, no start. That clock is a wall
clock of whole seconds as it comes: for short runs have the program print
fractions, for busy machines have it ask for CPU time. A clock that ran longer
than the program had the processor is refused.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

REHASH_BATCHES, REBUILD_BATCHES = 50, 1000


def sizes_of(path):
    with open(path, encoding="ascii") as file:
        return [int(word) for word in file.readline().split()]


def settings(own, folder):
    """The text of its configuration file, and the batches of an epoch."""
    points, units, labels = sizes_of(os.path.join(own.folder, "train.txt"))
    test_points = sizes_of(os.path.join(own.folder, "test.txt"))[0]
    points = min(points, own.points or points)
    values = {
        "Batchsize": own.batch, "Epoch": own.epochs, "Lr": own.rate,
        "Stepsize": 10 ** 8,  # evaluated between epochs alone
        "Rehash": REHASH_BATCHES * own.batch,
        "Rebuild": REBUILD_BATCHES * own.batch,
        "InputDim": units, "totRecords": points,
        "totRecordsTest": min(own.test_points, test_points),
        "numLayer": 2, "sizesOfLayers": "%d,%d" % (own.hidden, labels),
        "RangePow": "6,%d" % own.bucket_bits, "K": "2,%d" % own.functions,
        "L": "20,%d" % own.tables, "Sparsity": "1,0.005,1,1",
        "trainData": os.path.join(own.folder, "train.txt"),
        "testData": os.path.join(own.folder, "test.txt"),
        "logFile": os.path.join(folder, "log"),
        "weight": os.path.join(folder, "weights"),
        "savedweight": os.path.join(folder, "weights")}
    first = ["numLayer"]    # the lists are read for so many layers
    return "".join("%s = %s\n" % (name, values[name]) for name in
                   first + sorted(set(values) - set(first))), \
        points // own.batch


def epochs_of(log, batches):
    """(seconds, P@1) at the end of each epoch. Lines: batch seconds P@1."""
    found = {}
    for line in log.splitlines():
        words = line.split()
        if len(words) == 3 and int(words[0]) > 0 and \
                int(words[0]) % batches == 0:
            found.setdefault(int(words[0]) // batches,
                             (float(words[1]), float(words[2])))
    return [found[number] for number in sorted(found)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--points", type=int, default=0)
    parser.add_argument("--test-points", type=int, default=4000)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--functions", type=int, default=6)
    parser.add_argument("--bucket-bits", type=int, default=14)
    own = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "settings")
        text, batches = settings(own, folder)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        # The optimised one may crash after its last result: its log decides.
        done = subprocess.run([own.binary, path], check=False,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              env=dict(os.environ, OMP_NUM_THREADS="1"))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        log = os.path.join(folder, "log")
        found = []
        if os.path.exists(log):
            with open(log, encoding="ascii") as file:
                found = epochs_of(file.read(), batches)
    if len(found) < own.epochs:
        sys.exit("slide.py: %s ended with %d after %d of %d epochs" % (
            own.binary, done.returncode, len(found), own.epochs))
    used_s = used.ru_utime + used.ru_stime
    if found[-1][0] > 1.05 * used_s + 1:
        sys.exit("slide.py: its clock says %.1f s, of which it had the "
                 "processor for %.1f at most: too much other work here" % (
                     found[-1][0], used_s))
    for number, (seconds, p1) in enumerate(found):
        print(json.dumps({
            "peer": os.path.basename(own.binary), "epoch": number + 1,
            "batches": batches, "cpu_seconds": round(seconds, 3),
            "p1": round(p1, 4)}), flush=True)


if __name__ == "__main__":
    main()
