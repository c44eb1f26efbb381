#!/usr/bin/env python3
"""partial.py - what P@1 costs where survivors keep what they have.

Usage: bench/partial.py [--skein build/skein] [--config configs/wnhyp.yaml]
           [--seeds 20] [--kills 5] [--nodes 3] [--every 40] [--rollbacks 3]
For each seed, `skein torture` with `recovery: partial`: once undisturbed in one
process, once on nodes of this machine that are killed with SIGKILL, folder and
all, while they train, with a checkpoint each `--every` batches. Prints P@1 of
both a seed, how many updates of blocks were lost, of how many; then the mean of
the undisturbed runs and two standard deviations, between which the mean of the
others must lie. `--rollbacks`: of so many seeds the same with `recovery:
rollback`, for what is trained twice. Runs for some 30 s a seed of two cores.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def events_of(settings, seed, recovery, folder):
    """What one torture told, by the names of its events; the last of each."""
    command = [settings.skein, "torture", settings.config, "--json",
               "--local-nodes", str(settings.nodes),
               "--kills", str(settings.kills), "--seed", str(seed),
               "-o", "train.seed=%d" % seed,
               "-o", "checkpoint.every_batches=%d" % settings.every,
               "-o", "coordinator.recovery=" + recovery,
               "-o", "checkpoint.path=" + folder]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                         check=False, timeout=600)
    found = {}
    for line in ran.stdout.splitlines():
        event = json.loads(line)
        found[event.get("event")] = event
    if ran.returncode != 0:
        print("seed %d, %s: exit code %d: %s" % (
            seed, recovery, ran.returncode,
            found.get("error", {}).get("message", "")), file=sys.stderr)
    return found


def measure(settings, seed, recovery):
    """The events of one seed; its folder is removed."""
    with tempfile.TemporaryDirectory(prefix="skein-partial.") as folder:
        return events_of(settings, seed, recovery, folder + "/run")


def line_of(seed, found):
    """One seed with `recovery: partial`, as it is printed; None: it failed."""
    if "torture_partial" not in found or "harvest" not in found:
        return None
    told, all_of = found["torture_partial"], found["torture"]
    return {"seed": seed, "undisturbed": told["want_p1"], "partial": told["p1"],
            "partials": told["partials"], "lost": all_of["lost"],
            "applied_twice": all_of["applied_twice"],
            "redone": found["harvest"]["redone_batches"],
            "back_s": all_of["back_s_mean"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--skein", default=str(ROOT / "build" / "skein"))
    parser.add_argument("--config", default=str(ROOT / "configs/wnhyp.yaml"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--every", type=int, default=40)
    parser.add_argument("--rollbacks", type=int, default=3)
    settings = parser.parse_args()
    lines = []
    for seed in range(1, settings.seeds + 1):
        line = line_of(seed, measure(settings, seed, "partial"))
        if line is None:
            print("seed %d gave no result" % seed, file=sys.stderr)
            continue
        lines.append(line)
        print(json.dumps(line), flush=True)
    for seed in range(1, settings.rollbacks + 1):
        found = measure(settings, seed, "rollback")
        print(json.dumps({"seed": seed, "recovery": "rollback",
                          "redone": found["harvest"]["redone_batches"],
                          "back_s": found["torture"]["back_s_mean"]}),
              flush=True)
    if len(lines) < 2:
        sys.exit("too few results")
    want = [line["undisturbed"] for line in lines]
    mean, sigma = statistics.mean(want), statistics.stdev(want)
    partial = statistics.mean(line["partial"] for line in lines)
    inside = sum(abs(line["partial"] - mean) <= 2 * sigma for line in lines)
    print(json.dumps({
        "undisturbed_mean": round(mean, 5), "sigma": round(sigma, 5),
        "partial_mean": round(partial, 5), "runs": len(lines),
        "within_two_sigma": inside,
        "lost_mean": statistics.mean(line["lost"] for line in lines)}))
    sys.exit(0 if abs(partial - mean) <= 2 * sigma else 1)


if __name__ == "__main__":
    main()
