#!/usr/bin/env python3
"""preemption.py - machines that are lent and taken away, on real processes.

Usage: bench/preemption.py [--nodes N] [--compress X] [--seed S] [--notice-s T]
           [--limit-s L] [--policy skein|restart|both] [--build DIR] [-o K=V]...
Trains configs/wnhyp.yaml on N nodes of this machine (4). Each lives as long as
tests/sim/preemption.h says, X times faster (1800: a day in 48 s), is away for
half an hour on average, X times faster, and comes back. Half of the ends are
told T seconds before (2, not compressed).
  skein    SIGTERM is the notice; at its end a node is killed and its folder
           removed.
  restart  as tools do that restart all workers: whenever a node ends or comes,
           all others are killed and started anew, from the last checkpoint; no
           notice; folders stay, as on a shared disk that never fails.
The same seed gives both the same lives. Starts, the wait for a dead node and
checkpoints are not compressed: shares are worse than those of real days, for
both. Prints one JSON object a policy: the event `harvest`, and seconds, ends.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
AWAY_S = 1800.0
LEAST_S = 60.0


def life_s(share):
    """The inverse of the bathtub: see tests/sim/preemption.c."""
    def taken(hours):
        return 1.0 if hours >= 24 else 0.45 * (
            1 - math.exp(-hours) + math.exp((hours - 24) / 0.8))
    low, high = 0.0, 24.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if taken(middle) < share else (low, middle)
    return high * 3600 + LEAST_S


class Node:
    """A machine: there, or away; its lives do not depend on the policy."""

    def __init__(self, name, seed, compress):
        self.name = name
        self.draw = random.Random("%s %s" % (seed, name))
        self.compress = compress
        self.process = None
        self.here = False
        self.noticed = self.told = False
        self.due = self.draw.random() * 600 / compress

    def arrive(self, now):
        """A new life."""
        self.here, self.noticed = True, False
        self.told = self.draw.random() < 0.5
        self.due = now + life_s(self.draw.random()) / self.compress

    def leave(self, now):
        """It is somebody else's for a while."""
        self.here = False
        self.due = now + self.draw.expovariate(self.compress / AWAY_S)


class Run:
    """A coordinator and its members."""

    def __init__(self, settings, policy, work):
        self.settings, self.policy, self.work = settings, policy, work
        self.skein = str(pathlib.Path(settings.build).resolve() / "skein")
        self.nodes = [Node("n%d" % k, settings.seed, settings.compress)
                      for k in range(settings.nodes)]
        self.ends = self.notices = 0
        self.harvest, self.done, self.error = {}, {}, None
        self.lead = None
        # Bound and kept: the system gives their ports to nobody else.
        self.held = [socket.socket() for _ in range(len(self.nodes) + 1)]
        for one in self.held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in self.held]
        listed = []
        for k, name in enumerate(["lead"] + [n.name for n in self.nodes]):
            subprocess.run([self.skein, "keygen", "%s/%s.key" % (work, name)],
                           check=True, stdout=subprocess.DEVNULL)
            if k > 0:
                listed.append('{name: %s, address: "tcp://127.0.0.1:%d", '
                              'key: "%s/%s.key", cores: 1}'
                              % (name, ports[k], work, name))
        self.options = ["--json"]
        for text in ["train.reduction=fixed", "train.epochs=14",
                     "train.evaluate.every_epochs=0",
                     "checkpoint.every_batches=40"] + settings.override + [
                         "checkpoint.path=%s/run" % work,
                         "nodes=[%s]" % ", ".join(listed),
                         "coordinator.address=tcp://127.0.0.1:%d" % ports[0],
                         "coordinator.key=%s/lead.key" % work]:
            self.options += ["-o", text]
        self.file = str(ROOT / "configs" / "wnhyp.yaml")
        self.lead = self.start(["coordinator", self.file, "--wait", "5"])

    def start(self, words):
        """A process whose events are read."""
        process = subprocess.Popen(
            [self.skein] + words + self.options, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True)
        threading.Thread(target=self.read, args=(process,),
                         daemon=True).start()
        return process

    def read(self, process):
        """What is at the end is kept."""
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "error" and process is self.lead:
                self.error = event.get("message")
            if event.get("event") == "harvest":
                self.harvest = event
            elif event.get("event") == "done":
                self.done = event

    def begin(self, node):
        node.process = self.start(["member", node.name, self.file,
                                   "--patience", "600", "--grace", "60"])

    @staticmethod
    def kill(node):
        try:
            os.killpg(node.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        node.process.wait()

    def look(self, node, now):
        """Whether the node has come or gone."""
        if node.here and node.told and not node.noticed and \
                self.policy == "skein" and \
                now >= node.due - self.settings.notice_s:
            node.noticed = True
            self.notices += 1
            node.process.terminate()
        if now < node.due:
            return False
        if node.here:
            self.kill(node)
            if self.policy == "skein":
                shutil.rmtree("%s/run/%s" % (self.work, node.name),
                              ignore_errors=True)
            self.ends += 1
            node.leave(now)
        else:
            node.arrive(now)
            self.begin(node)
        return True

    def restart_all(self, changed):
        for node in self.nodes:
            if node.here and node not in changed:
                self.kill(node)
                self.begin(node)

    def play(self):
        """Until the run is done, or the time is over."""
        began = time.monotonic()
        while self.lead.poll() is None:
            now = time.monotonic() - began
            if now > self.settings.limit_s:
                self.lead.terminate()
                self.lead.wait()
                break
            changed = [node for node in self.nodes if self.look(node, now)]
            if changed and self.policy == "restart":
                self.restart_all(changed)
            time.sleep(0.02)
        seconds = time.monotonic() - began
        time.sleep(1)
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                self.kill(node)
        facts = {k: v for k, v in self.harvest.items() if k != "event"}
        return {"policy": self.policy, "finished": bool(self.done),
                "seconds": round(seconds, 1), "ends": self.ends,
                "notices": self.notices, "error": self.error,
                "lost": self.done.get("lost"),
                "applied_twice": self.done.get("applied_twice"),
                "weights_sha256": self.done.get("weights_sha256"), **facts}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--compress", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--notice-s", type=float, default=2)
    parser.add_argument("--limit-s", type=float, default=300)
    parser.add_argument("--policy", default="both",
                        choices=("skein", "restart", "both"))
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("-o", dest="override", action="append", default=[])
    settings = parser.parse_args()
    good = True
    for policy in ("skein", "restart"):
        if settings.policy not in (policy, "both"):
            continue
        with tempfile.TemporaryDirectory(prefix="skein-lent.") as work:
            result = Run(settings, policy, work).play()
        good = good and result["lost"] == 0 and result["applied_twice"] == 0
        print(json.dumps(result), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
