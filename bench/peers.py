#!/usr/bin/env python3
"""peers.py - Skein beside what else one would use: P@1 against CPU seconds.

Usage: bench/peers.py [--data FOLDER] [--config FILE] [--skein PATH]
           [--only NAME,...] [--repeats N] [--epochs N] [--rates LIST]
           [--negatives N] [--hidden N] [--napkin BINARY] [--slide BINARY]
           [--fasttext-rates LIST] [--slide-rates LIST] [--slide-epochs N]
           [--napkin-costs LIST] [--out STEM] [--python PATH]
           [-o KEY=VALUE]...
Trains on FOLDER/train.txt (or .zst; default: data/wnrel) and tests on all of
FOLDER/test.txt, one program after the other, each with one thread on one core,
and prints a Markdown table: the best P@1 of each, the CPU seconds to it, and
those that Skein takes to as much, in the run that is there first. STEM.json
keeps every point, and the settings of PyTorch (bench/peers/tuned.py); STEM.svg
shows the curves, if matplotlib is there.

  skein          CONFIG (default configs/xmc.yaml) with the -o's; repeats have
                 seeds 1, 2, ...
  skein-N        the same, told to train for N epochs: rates follow (decision
                 0019); not in the default of --only
  torch-sampled  PyTorch, sampled softmax (bench/peers/one_host.py), the best
                 of --rates
  torch-exact    the same model, all labels: minutes an epoch if they are many
  fasttext       Debian's, hierarchical softmax, the best of --fasttext-rates;
                 feature values are left out, since it has none
  napkin, napkin-3  napkinXC's label trees, one and three: --napkin BINARY is
                 `nxc`, built from a checkout of github.com/mwydmuch/napkinXC;
                 the best of --napkin-costs for one tree on a tenth of the
                 training points, that it is not shown
  slide          --slide BINARY (bench/peers/slide.py), best of --slide-rates
CPU seconds are training alone, where a program tells its epochs apart (skein,
torch, slide); of the others' whole training process. What is not there is left
out, and so is a rate that a peer does not bear; both are said. The curve of a
peer is that of its best rate, so that the picture has one curve a peer: the
first run tries all of them, the others keep to it.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
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
sys.path.append(os.path.join(HERE, "peers"))
import tuned


class Missing(Exception):
    """A peer that is not on this machine."""


def on_one_core():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])


def run(words, environment=None, **more):
    """Its output, and the CPU seconds of it and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                          preexec_fn=on_one_core, check=False,
                          env=environment or tuned.plain(), **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Missing("%s ended with %d" % (words[0], done.returncode))
    return done.stdout, after.ru_utime + after.ru_stime - \
        before.ru_utime - before.ru_stime


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()
            if line.startswith("{")]


def skein(own, folder, epochs=0):
    path = os.path.join(folder, "run")
    words = [own.skein, "train", own.config, "--json", "-o",
             "train.seed=%d" % own.turn, "-o",
             "data.train=" + own.train, "-o", "data.test=" + own.test,
             "-o", "checkpoint.path=" + path, "-o", "checkpoint.every_epochs=0",
             "-o", "resources.cores=1"]
    words += ["-o", "train.epochs=%d" % epochs] if epochs else []
    words += [word for item in own.o for word in ("-o", item)]
    text, _ = run(words)
    shutil.rmtree(path, ignore_errors=True)
    return skein_curve(json_lines(text))


def skein_curve(events):
    """The epochs that were evaluated; of an ensemble those of its first
    network, and then the whole, whose CPU seconds are those of all."""
    curve, network, joined = [], 1, False
    for event in events:
        kind = event["event"]
        network = event["network"] if kind == "network" else network
        joined = joined or kind == "join"
        if "p1" in event and (kind == "epoch" and network == 1 or
                              kind == "done" and joined):
            curve.append({key: event[key] for key in (
                "cpu_seconds", "p1", "p3", "p5", "psp1")})
    return curve


def best_rate(own, name, rates, curve_at):
    """Of the rates that are tried, the curve with the best P@1."""
    curves, reason = {}, None
    for rate in own.chosen.get(name, rates).split(","):
        try:
            curves[rate] = curve_at(rate)
        except Missing as missing:
            reason = missing
            print("peers.py: %s at rate %s: %s" % (name, rate, missing),
                  file=sys.stderr)
            continue
        best = best_of(curves[rate])
        print("peers.py: %s at rate %s: P@1 %.4f at %.1f CPU s" % (
            name, rate, best["p1"], best["cpu_seconds"]), file=sys.stderr,
            flush=True)
    if not curves:
        raise Missing("no rate that it bears: %s" % reason)
    own.chosen[name] = max(curves, key=lambda rate: best_of(curves[rate])["p1"])
    return curves[own.chosen[name]]


def torch(own, mode):
    if subprocess.run([own.python, "-c", "import torch"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Missing("no PyTorch (Debian: python3-torch)")
    own.settings = tuned.settings(own.python)

    def curve_at(rate):
        text, _ = run([
            own.python, os.path.join(HERE, "peers", "one_host.py"), own.plain,
            "--mode", mode, "--epochs", str(own.epochs), "--rate", rate,
            "--negatives", str(own.negatives), "--hidden", str(own.hidden),
            "--test-points", "1000000000"], tuned.environment(own.python))
        return json_lines(text)
    return best_rate(own, "torch-" + mode, own.rates, curve_at)


def slide(own):
    if not own.slide:
        raise Missing("no SLIDE (--slide BINARY)")

    def curve_at(rate):
        text, _ = run([
            own.python, os.path.join(HERE, "peers", "slide.py"), own.slide,
            own.plain, "--epochs", str(own.slide_epochs), "--rate", rate,
            "--hidden", str(own.hidden), "--test-points", "1000000000"])
        return json_lines(text)
    return best_rate(own, "slide", own.slide_rates, curve_at)


def write_words(own, name, folder):
    """Points as fastText reads them: words, without values."""
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


def fasttext(own, folder):
    if not shutil.which("fasttext"):
        raise Missing("no fastText (Debian: fasttext)")
    for name in ("train", "test"):
        write_words(own, name, folder)
    model = os.path.join(folder, "ft")

    def curve_at(rate):
        curve = []
        for epochs in own.fasttext_epochs.split(","):
            _, seconds = run(["fasttext", "supervised", "-input",
                              os.path.join(folder, "train.ft"), "-output",
                              model, "-loss", "hs", "-epoch", epochs, "-lr",
                              rate, "-dim", str(own.hidden), "-thread", "1",
                              "-minCount", "1", "-bucket", "0", "-verbose",
                              "0"], stderr=subprocess.DEVNULL)
            text, _ = run(["fasttext", "test", model + ".bin",
                           os.path.join(folder, "test.ft")])
            found = re.search(r"^P@1\s+([\d.]+)", text, re.M)
            if not found:
                raise Missing("its P@1 is no number")
            curve.append({"cpu_seconds": seconds,
                          "p1": float(found.group(1))})
        return curve
    return best_rate(own, "fasttext", own.fasttext_rates, curve_at)


def read_points(path):
    """The labels of each point, and the line that it is."""
    with open(path, encoding="ascii") as file:
        next(file)
        for line in file:
            labels = line.partition(" ")[0]
            yield [int(label) for label in labels.split(",") if label], line


def propensities(own):
    """1 / p of each label, as actors/course/ranking_metrics.h has it."""
    counts, points = {}, 0
    for labels, _ in read_points(own.train):
        points += 1
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    factor = (math.log(points) - 1) * 2.5 ** .55
    return lambda label: 1 + factor * (counts.get(label, 0) + 1.5) ** -.55


def judge(own, text, test):
    """P@1, P@3, P@5 and PSP@1 of ranked labels, a line a point."""
    inverse = propensities(own)
    hits, gain, best, count = [0, 0, 0], 0, 0, 0
    for (labels, _), line in zip(read_points(test), text.splitlines()):
        ranked = [int(word.partition(":")[0]) for word in line.split()]
        for k, cut in enumerate((1, 3, 5)):
            hits[k] += sum(label in labels for label in ranked[:cut]) / cut
        gain += sum(inverse(label) for label in ranked[:1] if label in labels)
        best += max(map(inverse, labels), default=0)
        count += 1
    return {"p1": hits[0] / count, "p3": hits[1] / count,
            "p5": hits[2] / count, "psp1": gain / best}


def trees_of(own, folder, count, cost, train, test):
    model = os.path.join(folder, "nxc")
    _, seconds = run([own.napkin, "train", "-i", train, "-o", model, "-m",
                      "plt", "-t", "1", "--ensemble",
                      str(count if count > 1 else 0), "--liblinearC", cost],
                     stderr=subprocess.DEVNULL)
    ranked, _ = run([own.napkin, "predict", "-i", test, "-o", model, "-t", "1",
                     "--topK", "5"], stderr=subprocess.DEVNULL)
    shutil.rmtree(model, ignore_errors=True)
    found = judge(own, ranked, test)
    return dict(found, cpu_seconds=seconds)


def choose_cost(own, folder):
    """Of --napkin-costs, the best for one tree on points it has not seen."""
    costs = own.napkin_costs.split(",")
    if len(costs) == 1 or "napkin" in own.chosen:
        return own.chosen.setdefault("napkin", costs[0])
    parts = [os.path.join(folder, name) for name in ("fit.txt", "held.txt")]
    with open(own.train, encoding="ascii") as file:
        sizes = next(file).split()[1:]
    lines = [line for _, line in read_points(own.train)]
    for part, kept in zip(parts, ([line for k, line in enumerate(lines)
                                   if k % 10], lines[::10])):
        with open(part, "w", encoding="ascii") as file:
            file.write(" ".join([str(len(kept))] + sizes) + "\n")
            file.writelines(kept)
    found = {}
    for cost in costs:
        found[cost] = trees_of(own, folder, 1, cost, *parts)["p1"]
        print("peers.py: napkin with cost %s: P@1 %.4f on held-out points" % (
            cost, found[cost]), file=sys.stderr, flush=True)
    own.chosen["napkin"] = max(found, key=found.get)
    return own.chosen["napkin"]


def napkin(own, folder, trees):
    if not own.napkin:
        raise Missing("no napkinXC (--napkin BINARY)")
    return [trees_of(own, folder, trees, choose_cost(own, folder), own.train,
                     own.test)]


PEERS = {
    "skein": skein,
    "torch-sampled": lambda own, folder: torch(own, "sampled"),
    "torch-exact": lambda own, folder: torch(own, "exact"),
    "fasttext": fasttext,
    "slide": lambda own, folder: slide(own),
    "napkin": lambda own, folder: napkin(own, folder, 1),
    "napkin-3": lambda own, folder: napkin(own, folder, 3),
}


def train_and_test(own, folder, name):
    if name.startswith("skein-"):
        return skein(own, folder, int(name[len("skein-"):]))
    return PEERS[name](own, folder)


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


def is_skein(name):
    return name.partition("-")[0] == "skein"


def soonest(found, best):
    """The median of Skein's seconds to a peer's best points, run by run, and
    the name of the curves that have it least; None where none comes so far."""
    medians = []
    for name, curves in found.items():
        if is_skein(name):
            own = [seconds_to(point["p1"], curve)
                   for point, curve in zip(best, curves)]
            if None not in own:
                medians.append((statistics.median(own), name))
    return min(medians, default=None)


def print_table(found):
    """A row a peer: medians over its runs, run by run beside Skein's."""
    print("| who | best P@1 | P@3 | P@5 | PSP@1 | CPU s to it | least to most |"
          " Skein to as much | ratio |\n|---|---|---|---|---|---|---|---|---|")
    for name, curves in found.items():
        best = [best_of(curve) for curve in curves]
        middle = sorted(best, key=lambda point: point["p1"])[len(best) // 2]
        spent = [point["cpu_seconds"] for point in best]
        own = soonest(found, best) if not is_skein(name) else None
        print("| %s | %.4f | %s | %s | %s | %.1f | %.1f to %.1f | %s | %s |" % (
            name, middle["p1"], cell(middle.get("p3"), "%.4f"),
            cell(middle.get("p5"), "%.4f"), cell(middle.get("psp1"), "%.4f"),
            statistics.median(spent), min(spent), max(spent),
            cell(own and own[0], "%.1f (" + (own[1] if own else "") + ")"),
            cell(own and own[0] / statistics.median(spent), "%.2f")))


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
                  linewidth=2.2 if is_skein(name) else 1.2)
    axes.set_xscale("log")
    axes.set_xlabel("CPU seconds of training, one core")
    axes.set_ylabel("P@1 on the test points")
    axes.set_title(title)
    axes.grid(True, which="both", alpha=.25)
    axes.legend(loc="center left", bbox_to_anchor=(1, .5), frameon=False)
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
    parser.add_argument("--fasttext-rates", default="0.1,0.3,1.0")
    parser.add_argument("--fasttext-epochs", default="5,10,25,50")
    parser.add_argument("--slide")
    parser.add_argument("--slide-rates", default="1e-3,5e-3")
    parser.add_argument("--slide-epochs", type=int, default=5)
    parser.add_argument("--napkin")
    parser.add_argument("--napkin-costs", default="10,32")
    parser.add_argument("--out", default="peers")
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    own.chosen, own.settings = {}, None
    unknown = [name for name in own.only.split(",") if name not in PEERS and
               not re.fullmatch(r"skein-[1-9]\d*", name)]
    if unknown:
        parser.error("no peer '%s'; available: %s" % (unknown[0],
                                                      ", ".join(PEERS)))
    return own


def main():
    own = arguments()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        plain_text(own, folder)
        for turn in range(own.repeats):
            own.turn = turn + 1
            for name in own.only.split(","):
                try:
                    curve = train_and_test(own, folder, name)
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
        json.dump({"pytorch": own.settings, "curves": found}, file, indent=1)
    if own.settings:
        print(tuned.sentence(own.settings) + "\n")
    print_table(found)
    draw(found, own.out, os.path.basename(os.path.normpath(own.data)))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
