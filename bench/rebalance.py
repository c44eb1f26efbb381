#!/usr/bin/env python3
"""rebalance.py - what one slow node costs, and how soon its rows are moved.

Usage: bench/rebalance.py [--skein build/skein] [--config configs/wnhyp.yaml]
           [--quotas .4,.4,.4,.1] [--seconds 60] [--settle 30] [--repeats 1]
           [--epochs N] [--only known,even,measured] [-o KEY=VALUE]...

A coordinator and a member for each quota (a share of a core, by control
groups), on this machine. Three runs, side by side in each repeat:
  even      rows dealt evenly, `coordinator.balance: false`
  known     the same, with the nodes' true speeds in the file: what all can do
            together, as far as rows can be dealt
  measured  speeds not in the file: they are measured
Prints the batches a second of each second, the rates after --settle seconds of
training, against `known`, and how much of its quota each node used by then:
what is left is idle. With --epochs, runs that come to their end, and their P@1,
beside that of one process. Needs root, for the groups.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from nodes import Cage

PERIOD_US = 20000


HELD = []  # sockets that keep the ports of a run: nobody else is given them


def held_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
    HELD.extend(sockets)
    return [one.getsockname()[1] for one in sockets]


def write_config(skein, path, source, quotas, known, balance):
    folder = os.path.dirname(path)
    for name in ["lead"] + ["n%d" % k for k in range(len(quotas))]:
        subprocess.run([skein, "keygen", os.path.join(folder, name + ".key")],
                       check=True, stdout=subprocess.DEVNULL)
    ports = held_ports(len(quotas) + 1)
    with open(source, encoding="utf-8") as file:
        text = file.read()
    base = os.path.dirname(os.path.abspath(source))
    text = text.replace("../data/", os.path.join(base, "../data/"))
    lines = ["coordinator: { address: 'tcp://127.0.0.1:%d', balance: %s, "
             "least: 2, key: lead.key }" %
             (ports[-1], str(balance).lower()),
             "nodes:"]
    for k, quota in enumerate(quotas):
        speed = quota / max(quotas) if known else 1
        lines.append("  - { name: n%d, address: 'tcp://127.0.0.1:%d', "
                     "speed: %g, key: n%d.key }" % (k, ports[k], speed, k))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n" + "\n".join(lines) + "\n")


class Process:
    def __init__(self, command, cage=None):
        self.rest = b""
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            start_new_session=True, preexec_fn=cage.join if cage else None)

    def lines(self):
        more = os.read(self.process.stdout.fileno(), 65536)
        *lines, self.rest = (self.rest + more).split(b"\n")
        return lines if more else None

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def parsed(lines):
    """The events among them."""
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def events_of(processes, seconds):
    """(time, event) of all processes, until so long after the first batch."""
    chosen, began = selectors.DefaultSelector(), None
    give_up = time.monotonic() + seconds + 60
    for process in processes:
        chosen.register(process.process.stdout, selectors.EVENT_READ, process)
    while chosen.get_map() and time.monotonic() < give_up:
        for key, _ in chosen.select(0.2):
            lines = key.data.lines()
            if lines is None:
                chosen.unregister(key.fileobj)
            for event in parsed(lines or []):
                now = time.monotonic()
                if event.get("event") == "progress" and began is None:
                    began = now
                yield now - (began or now), event
        if began and time.monotonic() - began > seconds:
            return


def say_used(cages, quotas, before, seconds):
    """Shares of the quotas."""
    used = [cage.cpu_seconds() for cage in cages]
    if None in used or None in before or seconds <= 0:
        return
    print("    used of their quota:", " ".join(
        "%.2f" % ((now - then) / seconds / quota)
        for now, then, quota in zip(used, before, quotas)))


def run(options, known, balance):
    quotas = options.quotas
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "model.yaml")
        write_config(options.skein, config, options.config, quotas, known,
                     balance)
        rest = [config, "--json", "-o", "checkpoint.path=" + folder + "/run",
                "-o", "train.epochs=%d" % (options.epochs or 100000),
                "-o", "train.evaluate.every_epochs=0"]
        for override in options.override:
            rest += ["-o", override]
        cages = [Cage("skein-rebalance%d" % k, quota, PERIOD_US, None)
                 for k, quota in enumerate(quotas)]
        processes = [Process([options.skein, "coordinator", "--wait", "30"] +
                             rest)]
        processes += [Process([options.skein, "member", "n%d" % k] + rest +
                              ["--progress"], cage)
                      for k, cage in enumerate(cages)]
        seen, moves, before, since_s = [], [], None, 0
        try:
            for at_s, event in events_of(processes, options.seconds):
                if before is None and at_s >= options.settle:
                    before, since_s = [cage.cpu_seconds() for cage in cages], \
                        at_s
                if event["event"] == "done" and "p1" in event:
                    print("    P@1 %.4f after %.1f s" % (event["p1"], at_s))
                if event["event"] in ("progress", "checkpoint"):
                    seen.append((at_s, event["batch"]))
                if event["event"] == "membership":
                    moves.append((round(at_s, 1), event["text"]))
                if event["event"] == "error":
                    print(event)
            if before:
                say_used(cages, quotas, before, at_s - since_s)
        finally:
            for process in processes:
                process.kill()
            time.sleep(0.5)
            for cage in cages:
                cage.remove()
    settled = [one for one in seen if one[0] >= options.settle]
    rate = 0.0
    if len(settled) > 1:
        rate = (settled[-1][1] - settled[0][1]) / \
            (settled[-1][0] - settled[0][0])
    return rate, seen, moves


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--skein", default="build/skein")
    parser.add_argument("--config", default="configs/wnhyp.yaml")
    parser.add_argument("--quotas", default=".4,.4,.4,.1",
                        type=lambda text: [float(x) for x in text.split(",")])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--settle", type=float, default=30)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="known,even,measured")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("-o", "--override", action="append", default=[])
    options = parser.parse_args()
    options.skein = os.path.abspath(options.skein)
    shares = {"even": [], "measured": []}
    if options.epochs:
        lone = subprocess.run(
            [options.skein, "train", options.config, "--json", "-o",
             "train.epochs=%d" % options.epochs, "-o",
             "checkpoint.path=" + tempfile.mkdtemp() + "/run", "-o",
             "train.evaluate.every_epochs=0"] +
            [word for one in options.override for word in ("-o", one)],
            stdout=subprocess.PIPE, check=True)
        for event in parsed(lone.stdout.splitlines()):
            if event["event"] == "done":
                print("one process: P@1 %.4f" % event["p1"])
    for _ in range(options.repeats):
        rates = {}
        for name, known, balance in (("known", True, False),
                                     ("even", False, False),
                                     ("measured", False, True)):
            if name not in options.only.split(","):
                continue
            rates[name], seen, moves = run(options, known, balance)
            print("%-9s %.2f batches a second after %g s" %
                  (name, rates[name], options.settle))
            for at_s, text in moves:
                print("    %6.1f s  %s" % (at_s, text))
            steps = []
            for second in range(0, int(options.seconds), 5):
                part = [b for t, b in seen if second <= t < second + 5]
                steps.append("%.1f" % ((part[-1] - part[0]) / 5)
                             if len(part) > 1 else "-")
            print("    each 5 s:", " ".join(steps), flush=True)
        for name, found in shares.items():
            if rates.get("known", 0) > 0 and name in rates:
                found.append(rates[name] / rates["known"])
    for name, found in shares.items():
        if found:
            print("%s: %.2f of known (median of %d, %.2f to %.2f)" %
                  (name, statistics.median(found), len(found), min(found),
                   max(found)))


if __name__ == "__main__":
    main()
