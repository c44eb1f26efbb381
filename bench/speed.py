#!/usr/bin/env python3
"""speed.py - what a model file loses and wins on several hosts.

Usage: bench/speed.py MODEL [--build DIR] [--repeats R] [--cases "A;B;..."]
           [--rows N] [--target P1] [-o KEY=VALUE]...
Trains the model file on hosts with links and caps (bench/cluster.py), each case
R times, all cases in turn, and prints a table: examples a second from the end
of the first epoch to the end of the last (so train.epochs must be two at
least), the median of R runs and their range, the ratio to the case that a case
is compared with, and P@1 at the end. --rows: examples of an epoch. --target:
also seconds until that P@1, on the line between the epochs before and behind
it, without the evaluations, and how many times as fast that is.
Cases: see CASES below; --cases names some of them.
Needs two cores for itself: beside other work its numbers mean nothing.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys

import cluster

HERE = os.path.dirname(os.path.abspath(__file__))
# A window of 4 hides 100 Mbit/s, 8 hides 20 ms (bench/results/speed.md).
TWO = "--nodes 2 --cores 0,1 -o train.window=4"
DELAYED = "--nodes 2 --cores 0,1 --delay-ms 10 -o train.window="
SLOW = "--by 'chrt -b 0' --quota 0.45 "
SHORT = "--period-us 10000 "
FOUR = "--nodes 4 --cores 0,1 --rate 100mbit -o train.window="
# name: (the case it is compared with, options of bench/cluster.py)
CASES = {
    "1 host, 2 cores": ("", "--nodes 1 --cores 0+1"),
    "2 hosts, 1 core": ("1 host, 2 cores", TWO),
    "2 hosts, window 2": ("1 host, 2 cores",
                          "--nodes 2 --cores 0,1 -o train.window=2"),
    "1 gbit": ("2 hosts, 1 core", TWO + " --rate 1gbit"),
    "100 mbit": ("2 hosts, 1 core", TWO + " --rate 100mbit"),
    "100 mbit, int8": ("2 hosts, 1 core",
                       TWO + " --rate 100mbit -o links.coding=int8"),
    "10 mbit, int8": ("2 hosts, 1 core",
                      TWO + " --rate 10mbit -o links.coding=int8"),
    "10 mbit, int4": ("2 hosts, 1 core",
                      TWO + " --rate 10mbit -o links.coding=int4"),
    "relays": ("", TWO + " --delay-ms 0"),
    "20 ms, early, window 1": ("relays", DELAYED + "1 -o train.merge=early"),
    "20 ms, early, window 4": ("relays", DELAYED + "4 -o train.merge=early"),
    "20 ms, early, window 8": ("relays", DELAYED + "8 -o train.merge=early"),
    "20 ms, window 1": ("relays", DELAYED + "1"),
    "20 ms, window 4": ("relays", DELAYED + "4"),
    "20 ms, window 8": ("relays", DELAYED + "8"),
    "1 host of 0.45": ("", SLOW + "--nodes 1 --cores 0"),
    "4 hosts of 0.45": ("1 host of 0.45", SLOW + FOUR + "4"),
    "4 hosts of 0.45, int8": ("1 host of 0.45", SLOW + FOUR +
                              "4 -o links.coding=int8"),
    "1 host, as it is": ("", "--quota 0.45 --nodes 1 --cores 0"),
    "4 hosts, as they are": ("1 host, as it is", "--quota 0.45 " + FOUR + "4"),
    "1 host, 4.5 of 10 ms": ("", SLOW + SHORT + "--nodes 1 --cores 0"),
    "4 hosts, 4.5 of 10 ms": ("1 host, 4.5 of 10 ms",
                              SLOW + SHORT + FOUR + "4"),
}


def measure(own, name):
    """Examples a second, P@1, seconds to the target (None: not reached)."""
    words = [sys.executable, os.path.join(HERE, "cluster.py"), own.model,
             "--build", own.build, "--enough", "epoch:%d," % own.epochs,
             "-o", "train.epochs=%d" % own.epochs,
             "-o", "checkpoint.every_epochs=0"]
    words += [word for item in own.o for word in ("-o", item)]
    answer = subprocess.run(words + shlex.split(CASES[name][1]), check=False,
                            stdout=subprocess.PIPE)
    found = json.loads(answer.stdout) if answer.stdout else {}
    ends = found.get("epochs", [])
    if answer.returncode or len(ends) < own.epochs:
        sys.exit("speed.py: %s: exit code %d, %s" %
                 (name, answer.returncode, found.get("errors")))
    rows = own.rows * (len(ends) - 1)
    return (rows / (ends[-1][0] - ends[0][0]), ends[-1][1],
            cluster.seconds_to(own.target, ends) if own.target else None)


def row(name, found, base):
    """A line of the table; ratios run by run: the machine's own speed changes
    from one to the next."""
    rates, scores, times = zip(*found)
    cells = [name, "%.0f" % statistics.median(rates),
             "%.0f-%.0f" % (min(rates), max(rates)),
             "%.2f" % statistics.median(
                 a[0] / b[0] for a, b in zip(found, base)) if base else "",
             "%s" % statistics.median(scores)]
    if all(times):
        cells += ["%.1f" % statistics.median(times),
                  "%.1f-%.1f" % (min(times), max(times)),
                  "%.2f" % statistics.median(
                      b[2] / a[2] for a, b in zip(found, base))
                  if base and all(b[2] for b in base) else ""]
    else:
        cells += ["", "", ""]
    return "| %s |" % " | ".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--target", type=float, default=0)
    parser.add_argument("--cases", default="")
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    wanted = [case.strip() for case in own.cases.split(";")]
    chosen = [name for name in CASES if not own.cases or name in wanted]
    found = {name: [] for name in chosen}
    for turn in range(own.repeats):
        for name in chosen:
            found[name].append(measure(own, name))
            print("%d %s: %.0f examples a second, P@1 %s, %s s" %
                  (turn, name, *found[name][-1]), file=sys.stderr, flush=True)
    print("load before the end: %.1f" % os.getloadavg()[0], file=sys.stderr)
    print("| case | examples a second | range | ratio | P@1 | seconds to P@1 "
          "%s | range | times as fast |\n|---|---|---|---|---|---|---|---|" %
          (own.target or ""))
    for name in chosen:
        print(row(name, found[name], found.get(CASES[name][0])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
