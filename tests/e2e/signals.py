#!/usr/bin/env python3
"""signals.py - whatever asks a run to stop, it saves once and ends.

Starts every verb that trains, sends it the signals that schedulers, shells and
terminals send, and looks at what was said, at the exit code, and at what lies
on the disk. A process is waited for by what it says, never by the clock; an
alarm ends all of it if something hangs.

Covers cli/stop.c, cli/supervise.c, cli/member_end.c and --requeue-code.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

from second_opinion import SKEIN, Report, drawer, write_points

FEATURES, LABELS = 40, 12
MODEL = """\
skein: 1
data: { train: train.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 16, dropout: 0 }
    - { name: output, sampler: { kind: exact } }
train:
  batch_rows: 32
  epochs: 1000000
  optimizer: { rate: 0.01 }
  schedule: { kind: constant }
checkpoint: { path: run, every_epochs: 0 }
"""
SHORT = ("-o", "train.epochs=2")
REQUEUE = ("--requeue-code", "85")


# --- what is trained ---------------------------------------------------------

def free_ports(count):
    """Ports below those that the system gives to whoever dials."""
    first, found = 10240 + os.getpid() % 150 * 150, []
    for port in range(first, first + 150):
        try:
            socket.create_server(("127.0.0.1", port)).close()
            found.append(port)
        except OSError:
            continue
        if len(found) == count:
            return found
    raise OSError("no free ports")


def make_files(folder):
    """A tiny set, and models of it for one process, two nodes, two members."""
    draw = drawer(5)
    points = []
    for _ in range(300):
        topic = draw(LABELS)
        features = sorted({(topic * 3 + draw(4)) % FEATURES for _ in range(3)})
        points.append(([topic], [(k, 1) for k in features]))
    write_points(folder / "train.txt", points, FEATURES, LABELS)
    (folder / "m.yaml").write_text(MODEL, encoding="ascii")
    for name in ("a", "b", "lead"):
        subprocess.run([SKEIN, "keygen", name + ".key"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    port = free_ports(3)
    nodes = "nodes:\n" + "".join(
        f'  - {{ name: {name}, address: "tcp://127.0.0.1:{port[k]}", '
        f"key: {name}.key, cores: 1 }}\n" for k, name in enumerate("ab"))
    (folder / "pair.yaml").write_text(MODEL + nodes, encoding="ascii")
    lead = f'coordinator: {{ address: "tcp://127.0.0.1:{port[2]}", ' \
        "key: lead.key }\n"
    (folder / "members.yaml").write_text(MODEL + nodes + lead, encoding="ascii")


# --- processes ---------------------------------------------------------------

class Run:
    """A process of `skein` that prints events."""

    started = []

    def __init__(self, folder, *words, **how):
        self.error_path = folder / f"stderr.{id(self)}"
        with open(self.error_path, "wb") as error:
            self.process = subprocess.Popen(
                [SKEIN, *words, "--json"], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=error, text=True, **how)
        self.events = []
        Run.started.append(self.process)

    def until(self, name, **members):
        """Reads events up to one of that name and those members; or None."""
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["event"] == name and members.items() <= event.items():
                return event
        return None

    def send(self, *numbers):
        for number in numbers:
            self.process.send_signal(number)

    def end(self):
        """Reads the rest; the exit code, negative for a signal."""
        self.until(None)
        return self.process.wait()

    def named(self, name):
        return [event for event in self.events if event["event"] == name]

    def said(self):
        """Its last events and its standard error, for a failed check."""
        error = self.error_path.read_text(errors="replace")
        return f"{self.process.returncode} {self.events[-4:]} {error}"


def check_end(report, sentence, run, code, last=None, **members):
    """Ends with `code`, and with an event `last` that has these members."""
    got = run.end()
    event = run.events[-1] if run.events else {"event": "none"}
    good = got == code and (not last or (event["event"] == last
                                         and members.items() <= event.items()))
    report.check(sentence, good, run.said())


# --- --requeue-code ----------------------------------------------------------

def check_requeue_train(report, folder):
    """0 is for a run that is over; what failed keeps its code."""
    for option, code in ((REQUEUE, 85), ((), 0)):
        run = Run(folder, "train", "m.yaml", *option, "-o",
                  f"checkpoint.path=requeue{code}")
        run.until("epoch")
        run.send(signal.SIGTERM)
        check_end(report, f"train {' '.join(option)}, told to stop, ends with "
                  f"{code}", run, code, "stopped")
    run = Run(folder, "train", "m.yaml", *REQUEUE, *SHORT, "-o",
              "checkpoint.path=over")
    check_end(report, "a run that is over ends with 0", run, 0, "done")
    run = Run(folder, "train", "m.yaml", *REQUEUE, *SHORT, "--resume", "-o",
              "checkpoint.path=over")
    check_end(report, "  when it is resumed, too", run, 0, "done")
    run = Run(folder, "train", "missing.yaml", *REQUEUE)
    check_end(report, "a failure keeps its exit code", run, 66, "error")
    for wrong in ("0", "256", "-1", "x", ""):
        run = Run(folder, "train", "m.yaml", "--requeue-code", wrong)
        check_end(report, f"--requeue-code '{wrong}' is refused", run, 64,
                  "error", message="--requeue-code must be a whole number in "
                  f"1..255, found '{wrong}'")


def check_requeue_nodes(report, folder):
    """One of two is told: both end in a stop, and with the code."""
    for told in "ab":
        runs = {name: Run(folder, "node", name, "pair.yaml", *REQUEUE, "-o",
                          f"checkpoint.path=told_{told}") for name in "ab"}
        runs["a"].until("epoch")
        runs[told].send(signal.SIGTERM)
        for name in "ab":
            check_end(report, f"node {told} of two is told: {name} ends "
                      "with 85", runs[name], 85)
    runs = [Run(folder, "node", name, "pair.yaml", *REQUEUE, *SHORT, "-o",
                "checkpoint.path=pair_over") for name in "ab"]
    for run, name in zip(runs, "ab"):
        check_end(report, f"node {name} of a run that is over ends with 0", run,
                  0)


def check_requeue_members(report, folder):
    """over or left is the last word, and the code says the same."""
    def start(path, *words):
        lead = Run(folder, "coordinator", "members.yaml", "--wait", "2", "-o",
                   f"checkpoint.path={path}", *words)
        members = [Run(folder, "member", name, "members.yaml", *REQUEUE, "-o",
                       f"checkpoint.path={path}", *words) for name in "ab"]
        return lead, *members

    lead, first, second = start("leaving", "-o", "checkpoint.copies=2", "-o",
                                "checkpoint.every_batches=20", "-o",
                                "train.epochs=2000")
    first.until("checkpoint")
    second.send(signal.SIGTERM)
    check_end(report, "a member that leaves ends with 85", second, 85, "left",
              node="b", reason="signal")
    lead.send(signal.SIGTERM)
    check_end(report, "the run is stopped: so does the other one", first, 85,
              "left", node="a", reason="stopped")
    check_end(report, "  and the coordinator ends well", lead, 0)
    lead, first, second = start("members_over", *SHORT)
    for run, name in ((first, "a"), (second, "b")):
        check_end(report, f"the run is over: member {name} ends with 0", run, 0,
                  "over", node=name)
    lead.end()


def hangs(*_):
    raise TimeoutError("something hangs")


def main():
    report = Report()
    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(300)
    with tempfile.TemporaryDirectory(prefix="skein-signals.") as name:
        folder = pathlib.Path(name)
        try:
            make_files(folder)
            check_requeue_train(report, folder)
            check_requeue_nodes(report, folder)
            check_requeue_members(report, folder)
        finally:
            for process in Run.started:
                process.kill()
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
