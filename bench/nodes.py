#!/usr/bin/env python3
"""nodes.py - runs a command on each of N hosts with links of a given rate.

Usage: bench/nodes.py [--nodes N] [--rate 100mbit] [--cores 0,1] [--quota 0.45]
           [--period-us P] [--memory 1.5GiB]
           [--delay-ms D --port P --relay PROGRAM] [--limit-s S] [--enough TEXT]
           [--on K "COMMAND"]... [--] COMMAND...
Hosts are network namespaces (tests/e2e/hosts.sh); host k has the address
10.77.0.(k+1) and one interface, `wire`. In COMMAND these are replaced: {node}
the host's number, {nodes} how many, {address} its own address, {first} that of
host 0, {interface}. --on gives host K a command of its own.
  --rate     of each host's link, both directions, such as 1gbit; or `none`
  --cores    host k runs on entry k (modulo) of this list; `0+1` is two cores
  --quota    share of a core a host may use    } by control groups, version 1
  --period-us  how often the quota is given (100000, as the kernel's own: .45
             of it is 45 ms on and 55 off; 10000 is nearer to a slow core)
  --memory   bytes a host may use, with KiB... } or 2, whichever is mounted
  --delay-ms hosts reach port P of each other through relays (PROGRAM is built
             as fault/fault_relay), which delay each direction by D; 0 is the
             relays alone, to compare with
  --limit-s  ends everything after so many seconds
  --enough   ends everything when a JSON line holds TEXT, without quotes of it
Prints one JSON object: the settings; for each host exit code, CPU seconds, peak
memory, bytes that its interface sent and received; and `lines`: each JSON line
that a command printed, with the host, the time, and all interfaces' counters
when it was read. Other output goes to standard error. Bytes are the kernel's
count: TCP's headers are counted once for what TCP hands to the wire at a time,
up to 64 KiB where the link is not shaped, else up to 2 ms of the rate (15 KiB
at least), as with a card that cuts packets itself; on the cable they are about
4% for packets of 1,500 bytes.
Exit code: 0, 1 if a command failed, 77 without the rights to make hosts.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import selectors
import shlex
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOSTS = os.path.join(ROOT, "tests", "e2e", "hosts.sh")
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def hosts(prefix, *words):
    """Calls a function of hosts.sh."""
    script = 'at_exit() { :; }; hosts_prefix=$1; shift; . "$0"; "$@"'
    return subprocess.run(["bash", "-c", script, HOSTS, prefix] +
                          [str(word) for word in words],
                          stdout=subprocess.PIPE, text=True, check=False)


RELAYED = """
work=$(mktemp -d)
at_exit() { :; }
wait_until() {
    local tries=$1
    shift
    for (( ; tries > 0; tries--)); do "$@" && return 0; sleep 0.05; done
    return 1
}
hosts_prefix=$1
. "$0"
if hosts_relayed "$2" "$3" "$4" --for-ms 3600000 --delay-ms "$5"; then
    echo up
    read -r _
else
    echo down
fi
relays_down "$2"
hosts_down "$2"
rm -rf "$work"
"""


class Relayed:
    """Hosts behind relays, as long as this stands."""

    def __init__(self, prefix, options):
        self.process = subprocess.Popen(
            ["bash", "-c", RELAYED, HOSTS, prefix, str(options.nodes),
             str(options.port), options.relay, str(options.delay_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.up = self.process.stdout.readline() == b"up\n"

    def down(self):
        self.process.stdin.close()
        self.process.wait()


def counters(prefix, count):
    """[sent, received] of each host, read at the switch in one look; behind
    relays, of each host's interface."""
    if counters.relayed:
        return [[int(open_counter(prefix + str(k), name)) for name in
                 ("tx_bytes", "rx_bytes")] for k in range(count)]
    text = subprocess.run(["ip", "-n", prefix + "sw", "-s", "-j", "link"],
                          stdout=subprocess.PIPE, check=True).stdout
    found = {link["ifname"]: link.get("stats64", {})
             for link in json.loads(text)}
    ports = [found.get("port%d" % k) for k in range(count)]
    return [[port["rx"]["bytes"], port["tx"]["bytes"]] for port in ports]


counters.relayed = False


def open_counter(host, name):
    return subprocess.run(
        ["ip", "netns", "exec", host, "cat",
         "/sys/class/net/wire/statistics/" + name],
        stdout=subprocess.PIPE, check=True).stdout


def size(text):
    number = text.rstrip("KMGiB")
    return int(float(number) * UNITS[text[len(number):]])


class Cage:
    """A control group: CPU quota and memory cap of one host's processes."""

    def __init__(self, name, quota, period_us, memory_bytes):
        self.folders = {}
        for controller, wanted in (("cpu", quota), ("memory", memory_bytes)):
            if wanted:
                self.folders[controller] = self.make(controller, name)
        if quota:
            quota_us = int(quota * period_us)
            if self.modern("cpu"):
                self.write("cpu", "cpu.max", "%d %d" % (quota_us, period_us))
            else:
                self.write("cpu", "cpu.cfs_period_us", period_us)
                self.write("cpu", "cpu.cfs_quota_us", quota_us)
        if quota and not self.modern("cpu") and \
                os.path.isdir("/sys/fs/cgroup/cpuacct"):
            self.folders["cpuacct"] = self.make("cpuacct", name)
        if memory_bytes:
            self.write("memory", "memory.max" if self.modern("memory") else
                       "memory.limit_in_bytes", memory_bytes)

    @staticmethod
    def make(controller, name):
        """Version 1: below our own group. Version 2: below the topmost one,
        since only a group without processes may share out a controller."""
        with open("/proc/self/mounts", encoding="ascii") as file:
            mounts = [line.split()[1:4] for line in file]
        with open("/proc/self/cgroup", encoding="ascii") as file:
            groups = [line.strip().split(":", 2) for line in file]
        for place, kind, options in mounts:
            if kind == "cgroup" and controller in options.split(","):
                own = [path for _, names, path in groups
                       if controller in names.split(",")]
                base = place + (own[0] if own else "")
                folder = os.path.join(base if os.path.isdir(base) else place,
                                      name)
                os.makedirs(folder, exist_ok=True)
                return folder
        for place, kind, _ in mounts:
            if kind == "cgroup2" and controller in open(
                    place + "/cgroup.controllers",
                    encoding="ascii").read().split():
                with open(place + "/cgroup.subtree_control", "w",
                          encoding="ascii") as file:
                    file.write("+" + controller)
                os.makedirs(os.path.join(place, name), exist_ok=True)
                return os.path.join(place, name)
        raise OSError("no control group for " + controller)

    def modern(self, controller):
        return os.path.exists(self.folders[controller] +
                              "/cgroup.subtree_control")

    def write(self, controller, name, value):
        with open(os.path.join(self.folders[controller], name), "w",
                  encoding="ascii") as file:
            file.write(str(value))

    def number(self, controller, name, key=None):
        """A number of a control file, or of its line `key N`; or None."""
        folder = self.folders.get(controller)
        path = os.path.join(folder or "/nowhere", name)
        if not os.path.exists(path):
            return None
        with open(path, encoding="ascii") as file:
            words = file.read().split()
        return int(words[words.index(key) + 1 if key else 0])

    def join(self):
        for folder in set(self.folders.values()):
            with open(folder + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def cpu_seconds(self):
        """Used by all of its processes so far; None: nobody counts."""
        ns = self.number("cpuacct", "cpuacct.usage")
        us = self.number("cpu", "cpu.stat", "usage_usec") \
            if self.modern("cpu") else None
        return ns * 1e-9 if ns is not None else us and us * 1e-6

    def facts(self):
        peak = self.number("memory", "memory.max_usage_in_bytes")
        return {"memory_peak_bytes": peak if peak is not None else
                self.number("memory", "memory.peak"),
                "throttled_periods": self.number("cpu", "cpu.stat",
                                                 "nr_throttled")}

    def remove(self):
        for folder in set(self.folders.values()):
            for _ in range(50):     # the last process may still be leaving
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.02)


class Host:
    """One host's command while it runs."""

    def __init__(self, number, options, prefix):
        self.number, self.rest, self.code = number, b"", None
        words = {"node": str(number), "nodes": str(options.nodes),
                 "address": "10.77.0.%d" % (number + 1),
                 "first": "10.77.0.1", "interface": "wire"}
        command = options.own.get(number, options.command)
        for name, value in words.items():
            command = [word.replace("{%s}" % name, value) for word in command]
        entry = options.cores[number % len(options.cores)]
        self.cage = Cage("skein-%s%d" % (prefix, number), options.quota,
                         options.period_us, options.memory)

        def enter():
            os.sched_setaffinity(0, entry)
            self.cage.join()

        self.process = subprocess.Popen(
            # Not `ip netns exec`, which hides /sys/fs/cgroup from the host.
            ["nsenter", "--net=/run/netns/%s%d" % (prefix, number)] + command,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            start_new_session=True, preexec_fn=enter)

    def lines(self):
        """Whole lines that can be read now; None at the end."""
        more = os.read(self.process.stdout.fileno(), 65536)
        *lines, self.rest = (self.rest + more).split(b"\n")
        return [line.decode(errors="replace") for line in lines] \
            if more else None

    def end(self, how):
        if self.process.returncode is None and self.code is None:
            try:
                os.killpg(self.process.pid, how)
            except ProcessLookupError:
                pass

    def facts(self):
        _, status, usage = os.wait4(self.process.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.process.returncode = self.code
        found = {"node": self.number, "exit_code": self.code,
                 "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
                 "rss_max_bytes": usage.ru_maxrss * 1024}
        found.update((name, value) for name, value in self.cage.facts().items()
                     if value is not None)
        return found


def kill_all(running):
    for host in running:
        host.end(signal.SIGKILL)


def follow(running, prefix, began, options):
    """Collects the JSON lines of all hosts till they close their output."""
    taken, late, enough = [], False, False
    chosen = selectors.DefaultSelector()
    for host in running:
        chosen.register(host.process.stdout, selectors.EVENT_READ, host)
    while chosen.get_map():
        left_s = began + options.limit_s - time.monotonic()
        if left_s <= 0:
            late = True
            kill_all(running)
        for key, _ in chosen.select(max(left_s, 0.1)):
            lines = key.data.lines()
            if lines is None:
                chosen.unregister(key.fileobj)
            for line in lines or []:
                enough = enough or bool(
                    options.enough and
                    options.enough in line.replace('"', ""))
                try:
                    line = json.loads(line)
                except ValueError:
                    print("node %d: %s" % (key.data.number, line),
                          file=sys.stderr)
                    continue
                taken.append({"node": key.data.number, "at_s": round(
                    time.monotonic() - began, 3),
                    "interfaces": counters(prefix, len(running)),
                    "line": line})
            if enough:
                kill_all(running)
    return taken, late, enough


def run(options, prefix):
    for k in range(options.nodes):
        if options.rate != "none" and hosts(
                prefix, "wire_limit", k, options.rate).returncode != 0:
            return {"error": "the rate %s was refused" % options.rate}
    running, facts = [], []
    before = counters(prefix, options.nodes)
    began = time.monotonic()
    try:
        for k in range(options.nodes):
            running.append(Host(k, options, prefix))
        taken, late, enough = follow(running, prefix, began, options)
        facts = [host.facts() for host in running]
    finally:
        kill_all(running)
    seconds = time.monotonic() - began
    after = counters(prefix, options.nodes)
    for host, old, new in zip(facts, before, after):
        host["bytes_sent"], host["bytes_received"] = \
            new[0] - old[0], new[1] - old[1]
    for host in running:
        host.cage.remove()
    return {"nodes": options.nodes, "rate": options.rate,
            "cores": [sorted(entry) for entry in options.cores],
            "delay_ms": options.delay_ms,
            "quota": options.quota, "period_us": options.period_us,
            "memory_bytes": options.memory,
            "command": options.command, "seconds": round(seconds, 3),
            "timed_out": late, "enough": enough, "hosts": facts, "lines": taken}


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--rate", default="none")
    parser.add_argument("--cores", default="")
    parser.add_argument("--quota", type=float, default=None)
    parser.add_argument("--period-us", type=int, default=100000)
    parser.add_argument("--memory", type=size, default=None)
    parser.add_argument("--delay-ms", type=int, default=None)
    parser.add_argument("--port", type=int, default=7001)
    parser.add_argument("--relay", default=os.path.join(
        ROOT, "build", "fault", "fault_relay"))
    parser.add_argument("--limit-s", type=float, default=3600.0)
    parser.add_argument("--enough", default="")
    parser.add_argument("--on", nargs=2, action="append", default=[],
                        metavar=("K", "COMMAND"))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(words)
    if options.command[:1] == ["--"]:
        options.command = options.command[1:]
    options.own = {int(k): shlex.split(text) for k, text in options.on}
    if not options.command and len(options.own) < options.nodes:
        parser.error("no command")
    options.cores = [{int(core) for core in entry.split("+")}
                     for entry in options.cores.split(",")] \
        if options.cores else [os.sched_getaffinity(0)]
    return options


def on_hosts(options):
    """Makes the hosts, and runs what `options` say; None without the rights."""
    prefix = "skn%d" % os.getpid()
    counters.relayed = options.delay_ms is not None
    relayed = Relayed(prefix, options) if counters.relayed else None
    try:
        if not (relayed.up if relayed else hosts(
                prefix, "hosts_up", options.nodes).returncode == 0):
            return None
        return run(options, prefix)
    finally:
        if relayed:
            relayed.down()
        hosts(prefix, "hosts_down", options.nodes)


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    result = on_hosts(options)
    if result is None:
        print("nodes.py: SKIPPED: needs root and the right to make networks",
              file=sys.stderr)
        return 77
    print(json.dumps(result), flush=True)
    return 0 if result.get("enough") or all(
        host["exit_code"] == 0
        for host in result.get("hosts", [{"exit_code": 1}])) else 1


if __name__ == "__main__":
    sys.exit(main())
