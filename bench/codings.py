#!/usr/bin/env python3
"""codings.py - what the coding of links costs a model, and saves in bytes.

Usage: bench/codings.py [--sets wnhyp,wnrel] [--codings f32,bf16,int8,int4]
           [--seeds 1,2,3] [--nodes 2] [--loss softmax|one_vs_all]
           [--results FILE]
Trains configs/SET.yaml on so many nodes of this machine, one run after the
other, and prints the table of docs/concepts/codings.md: P@1 of the test points
(mean over the seeds, and by how many points it differs from that of f32), bytes
that a host has sent and received for an example, and the gradient error of the
first and the last epoch. Each run is one line of JSON in FILE, where runs that
are there already are taken from; without it all are made anew. SKEIN_BUILD
names another folder than build/. Exit code: 0, 1 if a run failed.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()


def train(name, options):
    """What a run said: one line of the results."""
    points = json.loads((ROOT / "data" / name / "stats.json").read_text())
    with tempfile.TemporaryDirectory(prefix="skein-codings-") as folder:
        done = subprocess.run(
            [BUILD / "skein", "up", ROOT / "configs" / (name + ".yaml"),
             "--local-nodes", str(options["nodes"]), "--json",
             "-o", "checkpoint.path=%s/run" % folder,
             "-o", "links.coding=" + options["coding"],
             "-o", "model.layers.output.loss=" + options["loss"],
             "-o", "train.seed=%d" % options["seed"]],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            check=False)
    if done.returncode != 0:
        sys.exit(1)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    epochs = [event for event in told if event["event"] == "epoch"]
    end = [event for event in told if event["event"] == "done"][-1]
    examples = points["train"] * end["epochs"]
    return dict(options, set=name, p1=end["p1"], loss_at_end=end["loss"],
                errors=[epoch.get("gradient_error") for epoch in epochs],
                bytes_an_example=(end["wire_bytes_sent"] +
                                  end["wire_bytes_received"]) /
                options["nodes"] / examples,
                cpu_seconds=end["cpu_seconds"])


def known(path, name, options):
    """The line of a run that was made before, or None."""
    if not path or not path.exists():
        return None
    for line in path.read_text().splitlines():
        found = json.loads(line)
        if all(found[key] == value
               for key, value in dict(options, set=name).items()):
            return found
    return None


def mean(runs, key):
    return sum(run[key] for run in runs) / len(runs)


def error(runs, at):
    return sum(run["errors"][at] for run in runs) / len(runs)


def spread(runs):
    scores = [run["p1"] for run in runs]
    return " (%.4f to %.4f)" % (min(scores), max(scores)) \
        if len(runs) > 1 else ""


def tell(name, groups):
    base = mean(groups[0][1], "p1")
    for coding, runs in groups:
        print("| %s | %s | %.4f%s | %+.2f | %.0f | %.2g | %.2g |" % (
            name, coding, mean(runs, "p1"), spread(runs),
            100 * (mean(runs, "p1") - base), mean(runs, "bytes_an_example"),
            error(runs, 0), error(runs, -1)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default="wnhyp,wnrel")
    parser.add_argument("--codings", default="f32,bf16,int8,int4")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--loss", default="softmax")
    parser.add_argument("--results", type=pathlib.Path)
    asked = parser.parse_args()
    print("| set | coding | P@1 | against %s, points | bytes a host an "
          "example | error, first epoch | last epoch |"
          % asked.codings.split(",")[0])
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in asked.sets.split(","):
        groups = []
        for coding in asked.codings.split(","):
            runs = []
            for seed in asked.seeds.split(","):
                options = {"coding": coding, "seed": int(seed),
                           "nodes": asked.nodes, "loss": asked.loss}
                run = known(asked.results, name, options)
                if not run:
                    run = train(name, options)
                    if asked.results:
                        with asked.results.open("a") as file:
                            file.write(json.dumps(run) + "\n")
                runs.append(run)
            groups.append((coding, runs))
        tell(name, groups)
    return 0


if __name__ == "__main__":
    sys.exit(main())
