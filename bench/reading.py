#!/usr/bin/env python3
"""reading.py - how fast a data file is read, and how soon the first batch is.

Usage: bench/reading.py [--skein PATH] [--megabytes N] [--repeats N]
           [--folder FOLDER]
Makes a planted file of 200 MB (bench/planted.py), plain and by zstd, and prints
a Markdown table, medians of the repeats, on one core: CPU seconds that `skein
plan` takes to parse it (user) and to write the binary copy (system, mostly),
less those of a plan from the copy; and the seconds from the start of `skein
train` until its first batch is done, in parentheses the CPU seconds until then:
with no copy yet, with one (`data.cache: auto`), and where none is kept
(`none`). The file is in the system's cache.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import planted
import scale

CONFIG = """\
skein: 1
data: {{ train: {train}, cache: {cache} }}
model:
  layers:
    - {{ name: hidden, units: 64 }}
    - {{ name: output, sampler: {{ kind: uniform, rows: 1024 }} }}
train: {{ batch_rows: 512, epochs: 1, max_batches: 1 }}
checkpoint: {{ path: {path}, every_epochs: 0 }}
resources: {{ cores: 1 }}
"""
POINT_BYTES = 161  # of a planted point, about


def on_one_core():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])


def write_config(folder, train, cache):
    path = os.path.join(folder, "model.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(train=train, cache=cache,
                                 path=os.path.join(folder, "run")))
    return path


def plan_cpu(own, config):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([own.skein, "plan", config], check=True,
                   stdout=subprocess.DEVNULL, preexec_fn=on_one_core)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)


def cpu_seconds(pid):
    """Of a process and its children, so far."""
    ticks = 0
    for member in scale.family(pid):
        with open("/proc/%d/stat" % member, encoding="ascii") as file:
            words = file.read().rpartition(")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def first_batch(own, config, folder):
    """(seconds, CPU seconds) from the start to the end of the first batch."""
    begun, found = time.monotonic(), None
    with subprocess.Popen([own.skein, "train", config, "--json"], text=True,
                          stdout=subprocess.PIPE,
                          preexec_fn=on_one_core) as process:
        for line in process.stdout:
            if found is None and json.loads(line)["event"] == "epoch":
                found = (time.monotonic() - begun, cpu_seconds(process.pid))
    shutil.rmtree(os.path.join(folder, "run"), ignore_errors=True)
    if process.returncode != 0:
        sys.exit("reading.py: the run ended with %d" % process.returncode)
    return found


def forget(train):
    if os.path.exists(train + ".skc"):
        os.remove(train + ".skc")


def measure(own, train, folder):
    found = {"user": [], "system": [], "fresh": [], "copied": [], "none": []}
    for _ in range(own.repeats):
        config = write_config(folder, train, "auto")
        forget(train)
        parse, again = plan_cpu(own, config), plan_cpu(own, config)
        found["user"].append(parse[0] - again[0])
        found["system"].append(parse[1] - again[1])
        found["copied"].append(first_batch(own, config, folder))
        forget(train)
        found["fresh"].append(first_batch(own, config, folder))
        config = write_config(folder, train, "none")
        found["none"].append(first_batch(own, config, folder))
    return {name: statistics.median(all_of) for name, all_of in found.items()}


def cell(found):
    return "%.2f (%.2f)" % found


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--skein",
                        default=os.path.join(scale.ROOT, "build", "skein"))
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder")
    return parser.parse_args()


def main():
    own = arguments()
    with tempfile.TemporaryDirectory(dir=own.folder) as folder:
        train = os.path.join(folder, "train.txt")
        planted.write(planted.arguments(
            ["--labels", "20000", "--points",
             str(own.megabytes * 10**6 // POINT_BYTES), train]))
        subprocess.run(["zstd", "-qk", train], check=True)
        text_bytes = os.path.getsize(train)
        print("| file | MB | CPU s to parse, user + system | MB of text by "
              "user second | by both | first batch s (CPU s), no copy yet | "
              "with a copy | cache: none |\n" + "|---" * 8 + "|")
        for name in (train, train + ".zst"):
            row = measure(own, name, folder)
            both = row["user"] + row["system"]
            print("| %s | %.0f | %.2f + %.2f | %.0f | %.0f | %s | %s | %s |" % (
                os.path.basename(name), os.path.getsize(name) / 1e6,
                row["user"], row["system"], text_bytes / 1e6 / row["user"],
                text_bytes / 1e6 / both, cell(row["fresh"]),
                cell(row["copied"]), cell(row["none"])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
