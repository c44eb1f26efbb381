#!/usr/bin/env python3
"""handover.py - how soon a node that is told to leave has handed over.

Usage: bench/handover.py [--skein build/skein] [--config configs/wnhyp.yaml]
           [--rate 1gbit] [--nodes 3] [--notice S] [--repeats 3]
           [-o KEY=VALUE]...

A coordinator and members, each on a host of its own (a network namespace) with
a wire of --rate both ways. The last one is sent SIGTERM after two checkpoints,
and again in each repeat. Prints how long it took from the signal to its end, of
that what passed until the last checkpoint was complete (batches up to the next
marker, and the bytes), what it owned, and the least that its wire allows.
--notice is written into the file for it (nodes.notice), with links.rate, so
that the plan bounds what it owns. Needs root.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import glob
import os
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from nodes import hosts
from rebalance import Process, parsed

BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def bits_a_second(text):
    return float(text[:-4]) * BITS[text[-4:]]


def write_config(options, folder):
    with open(options.config, encoding="utf-8") as file:
        text = file.read()
    base = os.path.dirname(os.path.abspath(options.config))
    text = text.replace("../data/", os.path.join(base, "../data/"))
    lines = ["coordinator: { address: 'tcp://10.77.0.1:7001', key: lead.key, "
             "balance: false }",
             "links: { rate: %g }" % bits_a_second(options.rate), "nodes:"]
    for k in range(options.nodes):
        notice = ", notice: %g" % options.notice \
            if options.notice and k == options.nodes - 1 else ""
        lines.append("  - { name: n%d, address: 'tcp://10.77.0.%d:7001', "
                     "key: n%d.key%s }" % (k, k + 2, k, notice))
    for name in ["lead"] + ["n%d" % k for k in range(options.nodes)]:
        subprocess.run([options.skein, "keygen",
                        os.path.join(folder, name + ".key")],
                       check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(folder, "model.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n" + "\n".join(lines) + "\n")
    return path


def owned_bytes(run, number):
    """Of the newest checkpoint in the node's folder what it owns itself: there
    is a shard a node."""
    folders = glob.glob("%s/n%d/batch-*" % (run, number))
    newest = max(folders, key=os.path.getmtime)
    return sum(os.path.getsize(path) for path in
               glob.glob("%s/*.%d.safetensors" % (newest, number)))


class Cluster:
    def __init__(self, options, prefix, folder):
        self.options, self.prefix, self.folder = options, prefix, folder
        self.config = write_config(options, folder)
        self.chosen = selectors.DefaultSelector()
        self.processes = []
        self.run = os.path.join(folder, "run")
        self.start(0, "coordinator")
        for k in range(options.nodes):
            self.start(k + 1, "member", "n%d" % k)

    def start(self, host, verb, *words):
        command = ["nsenter", "--net=/run/netns/%s%d" % (self.prefix, host),
                   self.options.skein, verb, *words, self.config, "--json",
                   "-o", "checkpoint.path=" + self.run,
                   "-o", "train.epochs=100000",
                   "-o", "train.evaluate.every_epochs=0"]
        for override in self.options.override:
            command += ["-o", override]
        process = Process(command)
        self.processes.append(process)
        self.chosen.register(process.process.stdout, selectors.EVENT_READ,
                             process)
        return process

    def events(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self.chosen.select(0.1):
                lines = key.data.lines()
                if lines is None:
                    self.chosen.unregister(key.fileobj)
                    continue
                for event in parsed(lines):
                    yield time.monotonic(), event
            yield time.monotonic(), {"event": ""}
        raise SystemExit("handover.py: nothing more is heard")

    def await_saved(self, members):
        """The second checkpoint of a generation of so many."""
        saved, size = 0, 0
        for _, event in self.events(180):
            if event["event"] == "membership":
                if len(event.get("members", [])) != size:
                    saved = 0
                size = len(event.get("members", []))
            saved += event["event"] == "checkpoint" and size == members
            if saved >= 2:
                return

    def end(self):
        for process in self.processes:
            process.kill()


def leave(cluster, leaver):
    """Seconds till the marker was saved, and till the end of the leaver."""
    began = time.monotonic()
    saved = None
    os.kill(leaver.process.pid, signal.SIGTERM)
    for now, event in cluster.events(120):
        if event["event"] == "checkpoint" and saved is None:
            saved = now - began
        if leaver.process.poll() is not None:
            return saved, now - began, leaver.process.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--skein", default="build/skein")
    parser.add_argument("--config", default="configs/wnhyp.yaml")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--notice", type=float, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--override", action="append", default=[])
    options = parser.parse_args()
    options.skein = os.path.abspath(options.skein)
    prefix, took = "sko%d" % os.getpid(), []
    if hosts(prefix, "hosts_up", options.nodes + 1).returncode != 0:
        print("handover.py: SKIPPED: needs root and the right to make networks",
              file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.nodes + 1):
            hosts(prefix, "wire_limit", k, options.rate)
        cluster = Cluster(options, prefix, folder)
        try:
            for k in range(options.repeats):
                name = "n%d" % (options.nodes - 1)
                cluster.await_saved(options.nodes)
                size = owned_bytes(cluster.run, options.nodes - 1)
                saved, end, code = leave(cluster, cluster.processes[-1])
                took.append(end)
                print("%s: %.1f MB at %s; gone after %.2f s (exit code %d), "
                      "the last checkpoint complete after %.2f s; its wire "
                      "alone: %.2f s" %
                      (name, size / 1e6, options.rate, end, code, saved or 0,
                       size * 8 / bits_a_second(options.rate)), flush=True)
                if k + 1 < options.repeats:
                    cluster.start(options.nodes, "member", name)
        finally:
            cluster.end()
            hosts(prefix, "hosts_down", options.nodes + 1)
    print("gone after %.2f s (median of %d, %.2f to %.2f)" %
          (statistics.median(took), len(took), min(took), max(took)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
