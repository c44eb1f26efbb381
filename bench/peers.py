#!/usr/bin/env python3
"""peers.py - Skein beside what else one would use: P@1 against CPU seconds.

Usage: bench/peers.py [--data FOLDER] [--config FILE] [--skein PATH]
           [--only NAME,...] [--repeats N] [--epochs N] [--rates LIST]
           [--negatives N] [--hidden N] [--napkin BINARY] [--out STEM]
           [--python PATH] [-o KEY=VALUE]...
Trains on FOLDER/train.txt (or .zst; default: data/wnrel) and tests on all of
FOLDER/test.txt, one program after the other, each with one thread on one core,
and prints a Markdown table: the best P@1 of each, the CPU seconds to it, and
those that Skein takes to as much. STEM.json keeps every point; STEM.svg shows
the curves, if matplotlib is there.

  skein          CONFIG (default configs/xmc.yaml) with the -o's
  torch-sampled  PyTorch, sampled softmax (bench/peers/one_host.py), the best
                 of --rates
  torch-exact    the same model, all labels: minutes an epoch if they are many
  fasttext       Debian's, hierarchical softmax; feature values are left out,
                 since it has none
  napkin, napkin-3  napkinXC's label trees, one and three: --napkin BINARY is
                 `nxc`, built from a checkout of github.com/mwydmuch/napkinXC
CPU seconds are training alone, where a program tells its epochs apart (skein,
torch); of the others' whole training process. What is not there is left out,
and said.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
FASTTEXT_EPOCHS = (5, 10, 25, 50)


class Missing(Exception):
    """A peer that is not on this machine."""


def on_one_core():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])


def run(words, **more):
    """Its output, and the CPU seconds of it and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                          preexec_fn=on_one_core, check=False,
                          env=dict(os.environ, OMP_NUM_THREADS="1",
                                   OPENBLAS_NUM_THREADS="1"), **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Missing("%s ended with %d" % (words[0], done.returncode))
    return done.stdout, after.ru_utime + after.ru_stime - \
        before.ru_utime - before.ru_stime


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()
            if line.startswith("{")]


def skein(own, folder):
    path = os.path.join(folder, "run")
    words = [own.skein, "train", own.config, "--json", "-o",
             "data.train=" + own.train, "-o", "data.test=" + own.test,
             "-o", "checkpoint.path=" + path, "-o", "checkpoint.every_epochs=0",
             "-o", "resources.cores=1"]
    words += [word for item in own.o for word in ("-o", item)]
    text, _ = run(words)
    shutil.rmtree(path, ignore_errors=True)
    return [{"cpu_seconds": event["cpu_seconds"], "p1": event["p1"],
             "p3": event["p3"], "p5": event["p5"]}
            for event in json_lines(text)
            if event["event"] == "epoch" and "p1" in event]


def torch(own, mode):
    """Of the rates that are tried, the curve with the best P@1."""
    curves = []
    if subprocess.run([own.python, "-c", "import torch"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Missing("no PyTorch (Debian: python3-torch)")
    for rate in own.rates.split(","):
        words = [own.python, os.path.join(HERE, "peers", "one_host.py"),
                 own.plain, "--mode", mode, "--epochs", str(own.epochs),
                 "--rate", rate, "--negatives", str(own.negatives),
                 "--hidden", str(own.hidden), "--test-points", "1000000000"]
        text, _ = run(words)
        curves.append(json_lines(text))
    return max(curves, key=lambda curve: max(point["p1"] for point in curve))


def fasttext(own, folder):
    if not shutil.which("fasttext"):
        raise Missing("no fastText (Debian: fasttext)")
    for name in ("train", "test"):
        with open(os.path.join(own.plain, name + ".txt"),
                  encoding="ascii") as points, \
                open(os.path.join(folder, name + ".ft"), "w",
                     encoding="ascii") as file:
            next(points)
            for line in points:
                labels, _, features = line.partition(" ")
                words = ["__label__" + label for label in labels.split(",")]
                words += ["f" + pair.split(":")[0] for pair in features.split()]
                file.write(" ".join(words) + "\n")
    curve = []
    for epochs in FASTTEXT_EPOCHS:
        model = os.path.join(folder, "ft")
        _, seconds = run(["fasttext", "supervised", "-input",
                          os.path.join(folder, "train.ft"), "-output", model,
                          "-loss", "hs", "-epoch", str(epochs), "-lr", "1.0",
                          "-dim", str(own.hidden), "-thread", "1", "-minCount",
                          "1", "-bucket", "0", "-verbose", "0"])
        text, _ = run(["fasttext", "test", model + ".bin",
                       os.path.join(folder, "test.ft")])
        found = float(re.search(r"^P@1\s+(\S+)", text, re.M).group(1))
        curve.append({"cpu_seconds": seconds, "p1": found})
    return curve


def napkin(own, folder, trees):
    if not own.napkin:
        raise Missing("no napkinXC (--napkin BINARY)")
    model = os.path.join(folder, "nxc")
    _, seconds = run([own.napkin, "train", "-i",
                      os.path.join(own.plain, "train.txt"), "-o", model, "-m",
                      "plt", "-t", "1", "--ensemble",
                      str(trees if trees > 1 else 0)],
                     stderr=subprocess.DEVNULL)
    text, _ = run([own.napkin, "test", "-i",
                   os.path.join(own.plain, "test.txt"), "-o", model, "-t", "1",
                   "--metrics", "p@1,p@3,p@5", "--metricsPrecision", "5"],
                  stderr=subprocess.DEVNULL)
    shutil.rmtree(model, ignore_errors=True)
    found = {name: float(value) for name, value in
             re.findall(r"^\s*p@(\d):\s+(\S+)", text, re.M | re.I)}
    return [{"cpu_seconds": seconds, "p1": found["1"], "p3": found["3"],
             "p5": found["5"]}]


PEERS = {
    "skein": skein,
    "torch-sampled": lambda own, folder: torch(own, "sampled"),
    "torch-exact": lambda own, folder: torch(own, "exact"),
    "fasttext": fasttext,
    "napkin": lambda own, folder: napkin(own, folder, 1),
    "napkin-3": lambda own, folder: napkin(own, folder, 3),
}


def plain_text(own, folder):
    """train.txt and test.txt as text, which the peers read."""
    for name in ("train", "test"):
        source = os.path.join(own.data, name + ".txt")
        target = os.path.join(folder, name + ".txt")
        if os.path.exists(source):
            os.symlink(os.path.abspath(source), target)
        else:
            subprocess.run(["zstd", "-dqf", source + ".zst", "-o", target],
                           check=True)
        setattr(own, name, target)
    own.plain = folder


def best_of(curve):
    return max(curve, key=lambda point: point["p1"])


def seconds_to(target, curve):
    """CPU seconds to a P@1, on the line between the epochs around it."""
    before = {"cpu_seconds": 0.0, "p1": 0.0}
    for point in curve:
        if point["p1"] >= target:
            share = (target - before["p1"]) / (point["p1"] - before["p1"])
            return before["cpu_seconds"] + share * (
                point["cpu_seconds"] - before["cpu_seconds"])
        before = point
    return None


def cell(value, form):
    return "" if value is None else form % value


def print_table(found):
    """A row a peer: medians over its runs, run by run beside Skein's."""
    print("| who | best P@1 | P@3 | P@5 | CPU s to it | Skein to as much | "
          "ratio |\n|---|---|---|---|---|---|---|")
    for name, curves in found.items():
        best = [best_of(curve) for curve in curves]
        middle = sorted(best, key=lambda point: point["p1"])[len(best) // 2]
        seconds = statistics.median(point["cpu_seconds"] for point in best)
        own = [seconds_to(point["p1"], curve) for point, curve in
               zip(best, found.get("skein", []))] if name != "skein" else []
        own = statistics.median(own) if own and None not in own else None
        print("| %s | %.4f | %s | %s | %.1f | %s | %s |" % (
            name, middle["p1"], cell(middle.get("p3"), "%.4f"),
            cell(middle.get("p5"), "%.4f"), seconds, cell(own, "%.1f"),
            cell(own and own / seconds, "%.2f")))


def draw(found, stem, title):
    try:
        import matplotlib
    except ImportError:
        print("peers.py: no picture: no matplotlib (Debian: "
              "python3-matplotlib)", file=sys.stderr)
        return
    matplotlib.use("svg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for name, curves in found.items():
        points = curves[0]
        axes.plot([point["cpu_seconds"] for point in points],
                  [point["p1"] for point in points],
                  marker="o" if len(points) == 1 else ".", label=name,
                  linewidth=2.2 if name == "skein" else 1.2)
    axes.set_xscale("log")
    axes.set_xlabel("CPU seconds of training, one core")
    axes.set_ylabel("P@1 on the test points")
    axes.set_title(title)
    axes.grid(True, which="both", alpha=.25)
    axes.legend(loc="lower right")
    figure.savefig(stem + ".svg", bbox_inches="tight")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.path.join(ROOT, "data", "wnrel"))
    parser.add_argument("--config",
                        default=os.path.join(ROOT, "configs", "xmc.yaml"))
    parser.add_argument("--skein", default=os.path.join(ROOT, "build", "skein"))
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rates", default="5e-3")
    parser.add_argument("--negatives", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--napkin")
    parser.add_argument("--out", default="peers")
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    unknown = [name for name in own.only.split(",") if name not in PEERS]
    if unknown:
        parser.error("no peer '%s'; there are: %s" % (unknown[0],
                                                      ", ".join(PEERS)))
    return own


def main():
    own = arguments()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        plain_text(own, folder)
        for turn in range(own.repeats):
            for name in own.only.split(","):
                try:
                    curve = PEERS[name](own, folder)
                except Missing as reason:
                    print("peers.py: without %s: %s" % (name, reason),
                          file=sys.stderr)
                    continue
                found.setdefault(name, []).append(curve)
                best = best_of(curve)
                print("peers.py: %d %s: P@1 %.4f at %.1f CPU s" % (
                    turn + 1, name, best["p1"], best["cpu_seconds"]),
                    file=sys.stderr, flush=True)
    with open(own.out + ".json", "w", encoding="ascii") as file:
        json.dump(found, file, indent=1)
    print_table(found)
    draw(found, own.out, os.path.basename(os.path.normpath(own.data)))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
