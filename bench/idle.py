#!/usr/bin/env python3
"""idle.py - what a machine's owner loses to a polite run, and what it gets.

Usage: bench/idle.py [MODEL] [--build DIR] [--repeats R] [--seconds S]
           [--others CORES] [--write FILE] [-o KEY=VALUE]...
An owner's program (bench/bench_owner.c), one that never waits and one with
1,000 short requests a second, alone, beside a polite `skein train` and beside
an impolite one, in turn, R times, in an order that is drawn anew each time,
each time with a run of its own.
What the owner loses is the ratio to the run alone of the same turn; its mean
stands with the 95% interval of Student's t. Then: how soon a run on all cores
is gone from them when the owner takes them all, and how soon its memory is
free when others need it (by a false /proc/meminfo: nobody's memory is taken).
Without MODEL one is drawn: 20,000 points, 20,000 labels, 128 units.
Needs the machine for itself. What still others use, in cores, is measured, and
turns in which it is more than --others are left out, if three are left; a run
waits for such a moment for 20 s.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("alone", "polite", "impolite")
OWNERS = (("spin", "rounds_per_s"), ("requests", "p99"))
# Student's t, 97.5%, by degrees of freedom.
T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
     2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
TICKS = os.sysconf("SC_CLK_TCK")
MODEL = """\
skein: 1
data: { train: train.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 128 }
    - { name: output, sampler: { kind: uniform, rows: 2048 } }
train:
  epochs: 1000000
  batch_rows: 256
  reduction: fixed
  evaluate: { every_epochs: 0 }
checkpoint: { every_epochs: 0, every_batches: 0 }
"""


def draw_model(folder):
    draw = random.Random(1)
    points, features, labels = 20000, 5000, 20000
    with open(os.path.join(folder, "train.txt"), "w") as file:
        file.write("%d %d %d\n" % (points, features, labels))
        for _ in range(points):
            topic = draw.randrange(labels // 20)
            own = sorted(draw.sample(range(20), 3))
            words = sorted({(topic * 5 + draw.randrange(40)) % features
                            for _ in range(40)})
            file.write("%s %s\n" % (
                ",".join(str(topic * 20 + label) for label in own),
                " ".join("%d:1" % word for word in words)))
    path = os.path.join(folder, "model.yaml")
    with open(path, "w") as file:
        file.write(MODEL)
    return path


class Run:
    """A run beside the owner."""

    def __init__(self, own, folder, polite, root=None):
        self.path = tempfile.mkdtemp(dir=folder)
        self.events = os.path.join(self.path, "events")
        words = [os.path.join(own.build, "skein"), "train", own.model,
                 "--json", "-o", "checkpoint.path=" + self.path + "/run"]
        if polite:
            words += ["-o", "idle.enabled=true", "-o", "idle.reserve_cores=0",
                      "-o", "idle.memory=0.9"]
        words += [word for item in own.o for word in ("-o", item)]
        environment = dict(os.environ)
        if root:
            environment["SKEIN_IDLE_ROOT"] = root
        with open(self.events, "w") as out:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, env=environment)
        self.wait_for("start")
        if polite:
            self.wait_for("idle")
        self.worker = int(subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], check=True,
            capture_output=True, text=True).stdout.split()[0])
        time.sleep(2)  # the first batches, and the first samples

    def list(self):
        found = []
        with open(self.events) as file:
            for line in file:
                try:
                    found.append(json.loads(line))
                except ValueError:
                    pass
        return found

    def wait_for(self, name, **members):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for event in self.list():
                if event.get("event") == name and all(
                        event.get(key) == value
                        for key, value in members.items()):
                    return event
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        sys.exit("idle.py: no event %s %s in %s" % (name, members,
                                                    self.events))

    def cpu_s(self):
        """CPU time of the worker, by the nanosecond (clock_getcpuclockid)."""
        return time.clock_gettime(~self.worker << 3 | 2)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        events = self.list()
        shutil.rmtree(self.path)
        return events


def machine_s():
    """Core seconds that processors have not worked, and have, since the
    start."""
    with open("/proc/stat") as file:
        numbers = [int(word) for word in file.readline().split()[1:8]]
    idle = numbers[3] + numbers[4]
    return idle / TICKS, (sum(numbers[:7]) - idle) / TICKS


def children_s():
    """CPU seconds of owners that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def look(run):
    return (run.cpu_s() if run else 0.0, children_s(), time.monotonic(),
            *machine_s())


def owner_words(own, kind, seconds):
    return [os.path.join(own.build, "bench", "bench_owner"), kind,
            str(seconds)]


def owner(own, kind, seconds):
    # A session of its own, as an owner's shell has.
    answer = subprocess.run(owner_words(own, kind, seconds), check=True,
                            capture_output=True, text=True,
                            start_new_session=True)
    return json.loads(answer.stdout)


def wait_for_quiet(own):
    """Until others use next to nothing for a second, for 20 s at most."""
    for _ in range(20):
        before = machine_s()[1]
        time.sleep(1)
        if machine_s()[1] - before <= own.others:
            return


def measure(own, folder, case, kind, member):
    """What an owner's program reaches, and what of the idle time was used."""
    wait_for_quiet(own)
    run = Run(own, folder, case == "polite") if case != "alone" else None
    before = look(run)
    found = owner(own, kind, own.seconds)
    used, owners, wall, idle, busy = (
        b - a for a, b in zip(before, look(run)))
    if run:
        run.end()
    return {
        kind: found[member],
        kind + " harvest": used / (used + idle) if run else 0.0,
        kind + " run": used / wall,
        kind + " others": max(0.0, (busy - used - owners) / wall),
        **{extra: found[extra]
           for extra in ("cpu_share", "rounds_per_cpu_s", "p50")
           if extra in found}}


def interval(values):
    """Mean and half of its 95% interval."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return mean, math.inf
    t = T[min(len(values) - 2, len(T) - 1)]
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def is_quiet(own, found, kind, turn):
    return all(found[case][turn][kind + " others"] <= own.others
               for case in CASES)


def quiet_turns(own, found, kind):
    """Those in which others left the machine alone; all, if they are few."""
    turns = range(len(found["alone"]))
    quiet = [turn for turn in turns if is_quiet(own, found, kind, turn)]
    return quiet if len(quiet) >= 3 else list(turns)


def percent(values):
    mean, half = interval(values)
    return "%+.1f%% +- %.1f" % (100 * mean, 100 * half)


def yield_cpu(own, folder):
    """The owner takes all cores: seconds until the run has less than 5% of a
    core, in windows of 50 ms, for good (of the next 0.5 s); and until it was
    told that one core is left, which others may have caused before (0)."""
    run = Run(own, folder, True)

    def at_one():
        threads = [event["threads"] for event in run.list()
                   if event.get("action") == "threads"]
        return threads[-1:] == [1]
    cores = len(os.sched_getaffinity(0))
    begin = time.monotonic()
    owners = [subprocess.Popen(owner_words(own, "spin", 6),
                               stdout=subprocess.DEVNULL,
                               start_new_session=True)
              for _ in range(cores)]
    windows, last = [], (begin, run.cpu_s())
    told = 0.0 if at_one() else None
    while time.monotonic() - begin < 4:
        time.sleep(0.05)
        now = (time.monotonic(), run.cpu_s())
        windows.append((now[0] - begin,
                        (now[1] - last[1]) / (now[0] - last[0])))
        last = now
        if told is None and at_one():
            told = now[0] - begin
    for process in owners:
        process.wait()
    run.end()
    quiet = next((windows[k][0] for k in range(len(windows) - 10)
                  if all(share < 0.05 for _, share in windows[k:k + 10])),
                 math.inf)
    return quiet, math.inf if told is None else told


def give_memory(own, folder):
    """Seconds from a false want of memory until the worker is gone, and MB
    that it held."""
    root = tempfile.mkdtemp(dir=folder)
    os.mkdir(root + "/proc")

    def available(share):
        with open(root + "/proc/new", "w") as file:
            file.write("MemTotal: 100 kB\nMemAvailable: %d kB\n" % share)
        os.rename(root + "/proc/new", root + "/proc/meminfo")
    available(50)
    run = Run(own, folder, True, root)
    with open("/proc/%d/status" % run.worker) as file:
        held = next(int(line.split()[1]) / 1024 for line in file
                    if line.startswith("VmRSS"))
    available(5)
    begin = time.monotonic()
    while os.path.exists("/proc/%d" % run.worker) and \
            time.monotonic() - begin < 60:
        time.sleep(0.02)
    took = time.monotonic() - begin
    run.end()
    return took, held


def commit():
    answer = subprocess.run(["git", "-C", HERE, "describe", "--always",
                             "--dirty"], check=False, capture_output=True,
                            text=True)
    return answer.stdout.strip() or "unknown"


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def report(own, found, quiet, memory, loads):
    lines = ["# Politeness: what an owner loses to a run on its machine", "",
             "- commit: %s; %s, `bench/idle.py --repeats %d --seconds %g`; "
             "%d cores of %s, Linux %s" % (
                 commit(), time.strftime("%Y-%m-%d"), own.repeats,
                 own.seconds, len(os.sched_getaffinity(0)), processor(),
                 os.uname().release),
             "- load (1 minute) before each turn, which this bench shares in: "
             + ", ".join("%.1f" % load for load in loads),
             "- way: " + own.way,
             "- others: " + ("left the machine alone in the turns that count"
                             if all(is_quiet(own, found, kind, turn)
                                    for kind, _ in OWNERS
                                    for turn in quiet_turns(own, found, kind))
                             else "used the machine meanwhile: the intervals "
                             "are theirs, and no bound is shown or refuted"),
             "",
             "| owner | beside | loss (throughput, or rise of p99) | bound | "
             "idle cycles harvested | bound | turns | cores of the run | cores "
             "of others |", "|---|---|---|---|---|---|---|---|---|"]
    for kind, _ in OWNERS:
        turns = quiet_turns(own, found, kind)
        for case in CASES[1:]:
            ratios = [found[case][turn][kind] / found["alone"][turn][kind]
                      for turn in turns]
            loss = [1 - ratio if kind == "spin" else ratio - 1
                    for ratio in ratios]
            polite = case == "polite"
            lines.append("| %s | a run, %s | %s | %s | %s | %s | %d of %d | "
                         "%.2f | %.2f |" % (
                             kind, case, percent(loss), "2%" if polite else "",
                             percent([found[case][turn][kind + " harvest"]
                                      for turn in turns]),
                             "80%" if polite else "", len(turns),
                             len(found[case]), *(
                                 statistics.mean(found[case][turn][kind + word]
                                                 for turn in turns)
                                 for word in (" run", " others"))))
    lines += ["", "| owner alone | mean | 95% |", "|---|---|---|"]
    for kind, member in OWNERS:
        mean, half = interval([a[kind] for a in found["alone"]])
        lines.append("| %s, %s | %.1f | +- %.1f |" % (kind, member, mean,
                                                      half))
    lines += ["", "| of the owner's | alone | polite | impolite |",
              "|---|---|---|---|"]
    for member, text in (("cpu_share", "share of a core, spin"),
                         ("rounds_per_cpu_s", "rounds a CPU second, spin"),
                         ("p50", "p50 in us, requests"),
                         ("requests", "p99 in us, requests")):
        lines.append("| %s | %s |" % (text, " | ".join(
            "%.4g +- %.2g" % interval([a[member] for a in found[case]])
            for case in CASES)))
    lines += ["", "| until | seconds, each time | bound |", "|---|---|---|",
              "| the run has left all cores (less than 5%% of one) | %s | 1 |"
              % ", ".join("%.2f" % seconds for seconds, _ in quiet),
              "| it says that one core is left to it | %s | |"
              % ", ".join("%.2f" % told for _, told in quiet),
              "| its %.0f MB are free (saved, worker gone; a false "
              "/proc/meminfo) | %s | 10 |"
              % (memory[0][1], ", ".join("%.2f" % took
                                         for took, _ in memory))]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--others", type=float, default=0.1)
    parser.add_argument("--write", help="a file for the report")
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="skein-idle-bench.")
    own.model = own.model or draw_model(folder)
    found, loads = {case: [] for case in CASES}, []
    draw = random.Random(7)
    try:
        run = Run(own, folder, True)
        begin = run.wait_for("idle", action="begin")
        own.way = "%s, takes %.1f%% of a busy core" % (
            begin["way"], 100 * begin.get("share", math.nan))
        run.end()
        for turn in range(own.repeats):
            loads.append(os.getloadavg()[0])
            for case in CASES:
                found[case].append({})
            for kind, member in OWNERS:
                for case in draw.sample(CASES, len(CASES)):
                    one = measure(own, folder, case, kind, member)
                    found[case][-1].update(one)
                    print("%d %s: %s" % (turn, case, one), file=sys.stderr,
                          flush=True)
        times = max(1, min(own.repeats, 5))
        quiet = [yield_cpu(own, folder) for _ in range(times)]
        memory = [give_memory(own, folder) for _ in range(times)]
        text = report(own, found, quiet, memory, loads)
    finally:
        shutil.rmtree(folder)
    print(text, end="")
    if own.write:
        with open(own.write, "w") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
