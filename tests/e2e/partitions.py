#!/usr/bin/env python3
"""partitions.py - cuts, stops and fills what partitions.sh has made.

Usage: partitions.py SKEIN PREFIX CASE...    in the folder with four.yaml

Hosts are network namespaces PREFIX0 (the coordinator's) to PREFIX4 (nodes a to
d). One run goes on through all cases; each begins when all four train. After
the last one the run is stopped, and ended an epoch or two later, so that its
weights can be compared. Prints a line a check, `ok: ` or `FAILED: `; writes
measured.json, and epochs: of a run that is the same, undisturbed.

Healed, of a member: it takes part in the newest generation, which has trained a
batch since the cause ended; or it was left out, rightly, and the coordinator
has heard since that it is there and reaches the others, so that it joins at a
marker. Of a run: all members are, and somebody trains. Times are those at which
lines of events come; they are written down, and bounded generously.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

SKEIN, PREFIX, CASES = sys.argv[1], sys.argv[2], sys.argv[3:]
LAST = CASES.pop() if CASES[-1] == "full-b-end" else ""
NAMES = ["lead", "a", "b", "c", "d"]
HEAL_S = 30  # the bound of the test; what is aimed at is 3 s
EPOCHS_MAX = 1000000
BATCHES_AN_EPOCH = 19  # 600 points in batches of 32
failed = 0


def said(good, sentence, why=""):
    global failed
    failed += not good
    print("%s: %s%s" % ("ok" if good else "FAILED", sentence,
                        "" if good or not why else "\n    " + why), flush=True)
    return good


class Process:
    """A coordinator or a member, in a session of its own with its worker."""

    def __init__(self, name, run, epochs):
        self.name, self.host, self.run = name, NAMES.index(name), run
        verb = ["coordinator"] if name == "lead" else ["member", name]
        own = [] if name == "lead" else ["--progress"]
        self.log = open(name + ".log", "a")
        self.woken = 0.0
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", PREFIX + str(self.host), SKEIN, *verb,
             "four.yaml", "--json", *own, "-o", "checkpoint.path=" +
             ("run/lead" if name == "lead" else "run"),
             "-o", "train.epochs=%d" % epochs],
            env=dict(os.environ, LD_PRELOAD=os.environ.get("PRELOAD", "")),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            at = time.monotonic()
            self.log.write("%.3f %s" % (at, line))
            self.log.flush()
            if line.startswith("{"):
                self.run.take(at, self, json.loads(line))

    def signal(self, number):
        os.killpg(self.process.pid, number)
        if number == signal.SIGCONT:
            self.woken = time.monotonic()


class Run:
    def __init__(self):
        self.news = threading.Condition()
        self.process = {}
        self.part = {}       # of each node: the generation it works in
        self.generation, self.members = 0, []
        self.trained = {}    # of each generation: (batch, time), in its order
        self.told = []       # (time, sentence) of the coordinator
        self.done = None
        self.batch = 0       # at which it stopped

    def start(self, name, epochs=EPOCHS_MAX):
        self.process[name] = Process(name, self, epochs)

    def take(self, at, process, event):
        kind = event.get("event")
        with self.news:
            if kind == "membership":
                self.told.append((at, event["text"]))
                if re.match(r"generation \d+ (from|goes)", event["text"]):
                    self.generation = event["generation"]
                    self.members = event["members"]
            elif kind == "part" and event["how"] == "begins":
                self.part[process.name] = event["generation"]
            elif kind in ("progress", "checkpoint"):
                self.progress(at, process, event["batch"])
            elif kind == "epoch":
                self.progress(at, process, event["batches"])
            elif kind == "done":
                self.done = event
            elif kind == "stopped":
                self.batch = event["batch"]
            self.news.notify_all()

    def progress(self, at, process, batch):
        """What was said before a stop is read after it: that is not new."""
        list_ = self.trained.setdefault(self.part.get(process.name, 0), [])
        if at - process.woken > .5 and (not list_ or list_[-1][0] < batch):
            list_.append((batch, at))

    def wait(self, what, seconds):
        end = time.monotonic() + seconds
        with self.news:
            while not what():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self.news.wait(min(left, .2))
        return True

    def trains_since(self, then):
        list_ = self.trained.get(self.generation, [])
        return bool(list_) and list_[-1][1] > then

    def all_train(self, then=None):
        then = time.monotonic() - .5 if then is None else then
        return len(self.members) == 4 and self.trains_since(then)

    def is_healed(self, name, then):
        if name in self.members:
            return self.trains_since(then)
        words = "%s (is here|reaches the|has room on)" % name
        return any(at > then and re.match(words, text)
                   for at, text in self.told)

    def healed(self, then):
        return self.trains_since(then) and all(
            self.is_healed(name, then) for name in NAMES[1:])

    def told_since(self, then):
        return [text for at, text in self.told if at >= then]


# --- what goes wrong ---------------------------------------------------------


def host(number, *command):
    subprocess.run(["ip", "-n", PREFIX + str(number), *command], check=True)


def way(j, k, cut):
    """As way_cut and way_join of hosts.sh."""
    address = "10.77.0.%d" % (k + 1)
    if cut:
        host(j, "neigh", "replace", address, "lladdr", "02:00:00:00:00:01",
             "dev", "wire", "nud", "permanent")
    else:
        host(j, "neigh", "del", address, "dev", "wire")


def pairs_of(what, ways):
    """Ordered pairs of hosts between which nothing passes."""
    if what == "coordinator":  # a member, and the coordinator
        pairs = [(3, 0)]
    elif what == "worker":     # two members that the coordinator hears
        pairs = [(2, 3)]
    else:                      # a member, from everybody
        pairs = [(3, k) for k in (0, 1, 2, 4)]
    back = [(k, j) for j, k in pairs]
    return {"both": pairs + back, "out": pairs, "in": back}[ways]


class Cut:
    def __init__(self, what, ways):
        self.pairs = pairs_of(what, ways)

    def begin(self, run):
        for j, k in self.pairs:
            way(j, k, True)

    def end(self, run):
        for j, k in self.pairs:
            way(j, k, False)


class Stop:
    def __init__(self, name):
        self.name = name

    def begin(self, run):
        run.process[self.name].signal(signal.SIGSTOP)

    def end(self, run):
        run.process[self.name].signal(signal.SIGCONT)


class Full:
    """The disk of a node, or of the coordinator: which ends, and is started
    again when there is room. Its journal grows by few bytes, so that the last
    page that it has is enough for some time."""

    def __init__(self, name):
        self.name = name

    def begin(self, run):
        """What is removed makes no room: it is filled again at once."""
        self.over = threading.Event()
        self.filler = threading.Thread(target=self.fill, daemon=True)
        self.filler.start()

    def fill(self):
        file = os.open("run/%s/filler" % self.name, os.O_WRONLY | os.O_CREAT)
        bytes_ = 0
        while not self.over.wait(.001 if bytes_ else 0):
            for size in (1 << 20, 4096):
                try:
                    while not self.over.is_set():
                        bytes_ += os.write(file, bytes(size))
                except OSError:
                    pass
        os.close(file)

    def end(self, run):
        if self.name == "lead":
            process = run.process["lead"].process
            try:
                code = process.wait(90)
            except subprocess.TimeoutExpired:
                code = "none"
                process.kill()
                process.wait()
            said(code == 74, "  the coordinator ends with 74", str(code))
            said("No space left on device" in open("lead.log").read(),
                 "  and says why")
        self.over.set()
        self.filler.join()
        os.unlink("run/%s/filler" % self.name)
        if self.name == "lead":
            run.start("lead")


def fault_of(case):
    words = case.split("-")
    seconds = float(words.pop())
    if words[0] == "stop":
        return Stop(words[1]), seconds
    if words[0] == "full":
        return Full(words[1]), seconds
    return Cut(words[0], words[1]), seconds


# --- cases -------------------------------------------------------------------


def play(run, case):
    fault, seconds = fault_of(case)
    if not said(run.wait(run.all_train, 90), "%s: all four train" % case):
        return None
    began, before = time.monotonic(), run.generation
    fault.begin(run)
    time.sleep(max(0, began + seconds - time.monotonic()))
    if seconds >= 10 and case != "stop-lead-%g" % seconds:
        said(run.trains_since(began + seconds - 1.5),
             "  the others go on meanwhile", "; ".join(run.told_since(began)))
    fault.end(run)
    ended = time.monotonic()
    row = {"case": case, "generations": 0}
    # A coordinator that is started again has to have said something.
    speaks = case.startswith("full-lead")
    good = run.wait(lambda: run.healed(ended) and
                    (not speaks or run.told_since(ended)), HEAL_S)
    row["healed_s"] = round(time.monotonic() - ended, 2)
    said(good, "  it heals by itself", "; ".join(run.told_since(began)))
    good = run.wait(lambda: run.all_train(ended), 3 * HEAL_S)
    row["all_s"] = round(time.monotonic() - ended, 2)
    said(good, "  and all train together again",
         "; ".join(run.told_since(began)))
    row["generations"] = run.generation - before
    # How long nobody trained: the gaps between batches.
    times = [began] + sorted(at for list_ in run.trained.values()
                             for _, at in list_ if at > began)
    row["longest_pause_s"] = round(
        max([b - a for a, b in zip(times, times[1:])] or [0]), 2)
    row["told"] = run.told_since(began)
    said(len(run.told_since(began)) < 40, "  without a flutter",
         "; ".join(run.told_since(began)))
    print("    %s" % json.dumps({k: row[k] for k in row if k != "told"}))
    return row


def never_two(run):
    """No batch of a generation ends after one of a newer one."""
    first = {g: list_[0][1] for g, list_ in run.trained.items() if list_}
    last = {g: list_[-1][1] for g, list_ in run.trained.items() if list_}
    over = [(g, newer) for g in last for newer in first
            if newer > g and first[newer] < last[g]]
    said(not over, "never do two generations train at a time", str(over))


def finish(run):
    """Stops the run, and has it end soon behind that place."""
    run.process["lead"].process.terminate()
    codes = [run.process[name].process.wait(60) for name in NAMES]
    said(codes == [0] * 5, "the run is stopped, and all end well", str(codes))
    fault = Full(LAST.split("-")[1]) if LAST else None
    # The others may begin before the one with the full disk is there.
    batch = max([run.batch] + [number for list_ in run.trained.values()
                               for number, _ in list_])
    epochs = int(batch) // BATCHES_AN_EPOCH + (200 if fault else 2)
    if fault:
        fault.begin(run)
    then = time.monotonic()
    for name in NAMES:
        run.start(name, epochs)
    codes = [run.process[name].process.wait(120) for name in NAMES]
    # Who could not save its part to the end says so by its code, too.
    good = [code == (74 if fault and name == LAST.split("-")[1] else 0)
            for name, code in zip(NAMES, codes)]
    said(all(good), "it goes on to its end", str(codes))
    if fault:
        fault.over.set()
        said(any(re.match(r"b failed.* and stays out", text)
                 for text in run.told_since(then)),
             "  without b, whose disk is full all the time",
             "; ".join(run.told_since(then)))
    time.sleep(.2)  # the last lines are read by a thread
    return epochs


def main():
    run = Run()
    for name in NAMES:
        run.start(name)
    rows = [play(run, case) for case in CASES]
    epochs = finish(run)
    never_two(run)
    done = run.done or {}
    said(done.get("lost") == 0 and done.get("applied_twice") == 0,
         "the ledger: 0 lost, 0 applied twice", json.dumps(done))
    with open("measured.json", "w") as file:
        json.dump({"rows": rows, "epochs": epochs,
                   "weights_sha256": done.get("weights_sha256", "none"),
                   "generations": run.generation}, file, indent=1)
    with open("epochs", "w") as file:
        file.write("%d\n" % epochs)
    sys.exit(failed > 0)


try:
    main()
finally:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
