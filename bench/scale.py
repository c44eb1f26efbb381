#!/usr/bin/env python3
"""scale.py - models as large as a node, and what they take of it.

Usage: bench/scale.py [--skein PATH] [--only NAME,...] [--labels N]
           [--hidden N] [--points N] [--epochs N] [--cores N]
           [--folder FOLDER] [--save] [--group FOLDER]
Trains networks of 8 x 10^9 parameters (sgd, with 2 bytes a parameter), of 10^9
with row-wise Adagrad in bf16 and with Adam, the same with Adam's moments in a
file in --folder, and a narrow one of each optimizer, on the same planted points
(bench/planted.py). Prints Markdown: what `skein plan` promised, what was
resident, milliseconds a batch, examples per core-second, and the loss after
each epoch. The largest takes 17 GiB of memory; --labels scales them all. A run
is killed when its last epoch is told, or with --save writes its checkpoint (16
GiB): then the memory while it does counts.
What is resident is without pages of files where moments are in one: the system
takes those back. --group is the folder of a memory control group that the run
joins; its limit is yours to set.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import planted

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BATCH = 1024
CONFIG = """\
skein: 1
data: {{ train: {train} }}
model:
  layers:
    - {{ name: hidden, units: {hidden}, dropout: 0 }}
    - name: output
      loss: softmax
      label_smoothing: 0
      weights: {weights}
      init_std: 0.02
      sampler: {sampler}
train:
  batch_rows: {batch}
  epochs: {epochs}
  optimizer: {{ kind: {optimizer}, rate: {rate}, offload: {offload} }}
  schedule: {{ kind: constant }}
checkpoint: {{ path: {path}, every_epochs: 0, every_batches: 0 }}
resources: {{ cores: {cores} }}
"""
UNIFORM = "{ kind: uniform, rows: 4096 }"
SGD = {"optimizer": "sgd", "rate": 4.0, "weights": "bf16", "sampler": UNIFORM,
       "offload": "auto"}
ADAGRAD = {"optimizer": "adagrad", "rate": .05, "weights": "bf16",
           "sampler": UNIFORM, "offload": "auto"}
ADAM = {"optimizer": "adam", "rate": .002, "weights": "f32",
        "sampler": UNIFORM, "offload": "none"}
FILE = dict(ADAM, offload="file")
# Name: how, and the share of --labels.
RUNS = {
    "sgd-8e9": (SGD, 1.0),
    "sgd-narrow": (SGD, 0.001),
    "adagrad-1e9": (ADAGRAD, 0.125),
    "adagrad-narrow": (ADAGRAD, 0.001),
    "adam-1e9": (ADAM, 0.125),
    "adam-narrow": (ADAM, 0.001),
    "file-1e9": (FILE, 0.125),
    "file-narrow": (FILE, 0.001),
}


def family(pid):
    """A process and its children: the run itself is a child of `train`."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid),
                  encoding="ascii") as file:
            return [pid] + [int(word) for word in file.read().split()]
    except OSError:
        return []


def kill(pid):
    for member in reversed(family(pid)):
        os.kill(member, signal.SIGKILL)


def resident_mib(pid, files=True):
    """(now, most so far), summed over the family; without the pages of files
    there is no most, and that is now, too."""
    found = {"VmRSS": 0, "VmHWM": 0} if files else {"RssAnon": 0}
    for member in family(pid):
        try:
            with open("/proc/%d/status" % member, encoding="ascii") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name in found:
                        found[name] += int(rest.split()[0]) / 1024
        except OSError:
            pass
    values = list(found.values())
    return values[0], values[-1]


class Watch(threading.Thread):
    """Looks at a process five times a second: at its high-water mark."""

    def __init__(self, pid, files):
        super().__init__(daemon=True)
        self.pid, self.files, self.most = pid, files, 0
        self.stopped = threading.Event()

    def look(self):
        now, most = resident_mib(self.pid, self.files)
        self.most = max(self.most, most)
        return now

    def run(self):
        while not self.stopped.wait(.2):
            self.look()

    def end(self):
        self.stopped.set()
        self.join()
        return self.most


def write_config(own, how, labels, folder):
    """The model file of a run, and its data if they are not there yet."""
    train = os.path.join(folder, "train-%d.txt" % labels)
    if not os.path.exists(train):
        planted.write(planted.arguments(
            ["--labels", str(labels), "--points", str(own.points), train]))
    path = os.path.join(folder, "model.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(
            train=train, hidden=own.hidden, batch=BATCH, epochs=own.epochs,
            path=os.path.join(folder, "run"), cores=own.cores, **how))
    return path


def promised(own, config):
    """What the first line of `skein plan` says."""
    text = subprocess.run([own.skein, "plan", config], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    words = text.splitlines()[0].replace(",", "").split()
    return {"parameters": float(words[words.index("million") - 1]) * 1e6,
            "promised": int(words[words.index("MiB") - 1])}


def train(own, config, files, found):
    """Adds what the run says of its epochs and what was resident."""
    begun = time.monotonic()
    command = [own.skein, "train", config, "--json"]
    if own.group:
        command = ["sh", "-c", 'echo $$ >"$0" && exec "$@"',
                   os.path.join(own.group, "cgroup.procs")] + command
    with subprocess.Popen(command, text=True,
                          stdout=subprocess.PIPE) as process:
        watch = Watch(process.pid, files)
        watch.start()
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] != "epoch":
                continue
            if not found["epochs"]:
                found["start_s"] = time.monotonic() - begun - event["seconds"]
            found["epochs"].append(event)
            found["resident"] = watch.look()
            if len(found["epochs"]) == own.epochs and not own.save:
                kill(process.pid)
        found["most"] = watch.end()
    found["all_s"] = time.monotonic() - begun
    if len(found["epochs"]) != own.epochs or \
            (own.save and process.returncode != 0):
        sys.exit("the run ended early: %s" % config)


def measure(own, how, labels, folder):
    config = write_config(own, how, labels, folder)
    found = {"labels": labels, "epochs": [], **promised(own, config)}
    train(own, config, how["offload"] != "file", found)
    shutil.rmtree(os.path.join(folder, "run"), ignore_errors=True)
    # The first epoch meets each page for the first time.
    first, last = found["epochs"][0], found["epochs"][-1]
    batches = max(last["batches"] - first["batches"], 1)
    found["cpu_ms"] = (last["cpu_seconds"] - first["cpu_seconds"]) * 1e3 / \
        batches
    found["wall_ms"] = (last["seconds"] - first["seconds"]) * 1e3 / batches
    return found


def print_memory(rows):
    print("| run | parameters | labels | promised MiB | resident MiB | "
          "most MiB | most / promised | ms a batch | CPU ms a batch | "
          "examples per core-second | start s | all s |\n" + "|---" * 12 + "|")
    for row in rows:
        print("| %s | %.3f x 10^9 | %d | %d | %.0f | %.0f | %.2f | %.1f | %.1f "
              "| %.0f | %.0f | %.0f |" % (
                  row["name"], row["parameters"] / 1e9, row["labels"],
                  row["promised"], row["resident"], row["most"],
                  row["most"] / row["promised"], row["wall_ms"], row["cpu_ms"],
                  BATCH * 1e3 / row["cpu_ms"], row["start_s"], row["all_s"]))


def print_loss(rows):
    count = len(rows[0]["epochs"])
    shown = sorted({1, 2, 3, 5, 10, 15, 20, count} & set(range(1, count + 1)))
    print("\n| loss of run | " + " | ".join("epoch %d" % at for at in shown) +
          " |\n|---" + "|---" * len(shown) + "|")
    for row in rows:
        print("| %s | " % row["name"] + " | ".join(
            "%.2f" % row["epochs"][at - 1]["loss"] for at in shown) + " |")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--skein", default=os.path.join(ROOT, "build", "skein"))
    parser.add_argument("--only", default=",".join(RUNS))
    parser.add_argument("--labels", type=int, default=63000000)
    parser.add_argument("--hidden", type=int, default=127)
    parser.add_argument("--points", type=int, default=204800)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--group")
    parser.add_argument("--save", action="store_true")
    own = parser.parse_args()
    unknown = [name for name in own.only.split(",") if name not in RUNS]
    if unknown:
        parser.error("no run '%s'; available: %s" % (unknown[0],
                                                     ", ".join(RUNS)))
    return own


def main():
    own, rows = arguments(), []
    with tempfile.TemporaryDirectory(dir=own.folder) as folder:
        for name in own.only.split(","):
            how, share = RUNS[name]
            row = measure(own, how, int(own.labels * share), folder)
            rows.append(dict(row, name=name))
            print("scale.py: %s: %.0f of %d MiB, loss %.2f" % (
                name, row["most"], row["promised"], row["epochs"][-1]["loss"]),
                file=sys.stderr, flush=True)
    print_memory(rows)
    print_loss(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
