#!/usr/bin/env python3
"""cluster.py - trains a model file on N hosts and says what it took.

Usage: bench/cluster.py MODEL [--build DIR] [--by PROGRAM] [-o KEY=VALUE]...
           [options of bench/nodes.py: --nodes N --rate R --cores L --quota Q
            --memory M --delay-ms D --limit-s S --enough TEXT]
Hosts, links and caps are those of bench/nodes.py. Host k runs `skein node`,
with a key made for it; with one host it is `skein train`. --by: a program that
starts skein, such as "chrt -b 0", so that hosts which share a core do not
interrupt each other. Prints one JSON object:
  seconds, cpu_seconds, examples_per_s, p1  as Skein's last event `epoch` says
  epochs          [seconds, p1, CPU seconds] of each, since the start
  wall_s          from the start of the processes to their end, all included
  cpu_s           CPU seconds of each host's process, all included
  wire_bytes      sent + received of a host, the mean of all: Skein's counters
                  while training; `_by_message` those of the bodies, and
                  `wire_messages` how many, for the whole run
  interface_bytes the same by the kernel's counters, for the whole run; and
                  `own_bytes`, Skein's counters for the whole run
  peak_bytes      of each host (--memory), rss_bytes of each process
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import nodes

PORT = 7001


def plan_paths(program, model, overrides):
    """The data files that the plan names, from wherever it is read."""
    text = subprocess.run([program, "plan", model] + overrides, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"kind: source, options: \{ train: ([^,]*), "
                      r"(?:test: ([^,]*), )?", text)
    return ["-o", "data.train=" + os.path.realpath(found.group(1))] + (
        ["-o", "data.test=" + os.path.realpath(found.group(2))]
        if found.group(2) else [])


def write_model(program, model, folder, options):
    """A copy of the model file that lists the hosts as its nodes."""
    path = os.path.join(folder, "model.yaml")
    shutil.copy(model, path)
    if options.nodes == 1:
        return path
    with open(path, "a", encoding="utf-8") as file:
        file.write("\nnodes:\n")
        for k in range(options.nodes):
            key = os.path.join(folder, "n%d.key" % k)
            subprocess.run([program, "keygen", key], check=True,
                           stdout=subprocess.DEVNULL)
            file.write('  - { name: n%d, address: "tcp://10.77.0.%d:%d", '
                       'key: %s, cores: %d }\n' %
                       (k, k + 1, PORT, key,
                        len(options.cores[k % len(options.cores)])))
    return path


def seconds_to(target, epochs):
    """When P@1 passed the target; epochs are [seconds, P@1...]."""
    before = (0.0, 0.0)
    for seconds, score, *_ in epochs:
        if score >= target:
            part = (target - before[1]) / (score - before[1])
            return before[0] + part * (seconds - before[0])
        before = (seconds, score)
    return None


def summary(result, count):
    events = [line["line"] for line in result["lines"]]
    epochs = [event for event in events if event.get("event") == "epoch"]
    done = [event for event in events if event.get("event") == "done"]
    links = [event for event in events if event.get("event") == "link"]
    out = {key: result[key] for key in (
        "nodes", "rate", "delay_ms", "cores", "quota", "memory_bytes")}
    out["exit_codes"] = [host["exit_code"] for host in result["hosts"]]
    out["wall_s"] = result["seconds"]
    out["cpu_s"] = [host["cpu_seconds"] for host in result["hosts"]]
    out["rss_bytes"] = [host["rss_max_bytes"] for host in result["hosts"]]
    peaks = [host.get("memory_peak_bytes") for host in result["hosts"]]
    out["peak_bytes"] = peaks if all(peaks) else None
    out["errors"] = [event for event in events if event.get("event") == "error"]
    last = (epochs or done or [{}])[-1]
    for key in ("batches", "seconds", "cpu_seconds", "examples_per_s", "loss",
                "p1", "active_fraction"):
        out[key] = last.get(key)
    out["epochs"] = [[event["seconds"], event.get("p1"), event["cpu_seconds"]]
                     for event in epochs]
    if not done:
        return out
    out["weights_sha256"] = done[-1]["weights_sha256"]
    out["wire_bytes"] = (done[-1].get("wire_bytes_sent", 0) +
                         done[-1].get("wire_bytes_received", 0)) / count
    out["own_bytes"] = sum(link["bytes_sent"] + link["bytes_received"]
                           for link in links) / count
    out["interface_bytes"] = sum(host["bytes_sent"] + host["bytes_received"]
                                 for host in result["hosts"]) / count
    by, counts = {}, {}
    for link in links:
        for name, counted in link["messages"].items():
            by[name] = by.get(name, 0) + 2 * counted["bytes"] / count
            counts[name] = counts.get(name, 0) + 2 * counted["count"] / count
    out["wire_bytes_by_message"], out["wire_messages"] = by, counts
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--build", default=os.path.join(nodes.ROOT, "build"))
    parser.add_argument("--by", default="")
    parser.add_argument("-o", action="append", default=[], metavar="KEY=VALUE")
    own, rest = parser.parse_known_args()
    program = os.path.join(own.build, "skein")
    options = nodes.arguments(
        ["--relay", os.path.join(own.build, "fault", "fault_relay"),
         "--port", str(PORT)] + rest + ["--", "true"])
    overrides = [word for item in own.o for word in ("-o", item)]
    folder = tempfile.mkdtemp(prefix="skein-cluster-")
    try:
        paths = plan_paths(program, own.model, overrides)
        path = write_model(program, own.model, folder, options)
        verb = ["train", path] if options.nodes == 1 else \
            ["node", "n{node}", path, "--wait", "30"]
        options.command = own.by.split() + [program] + verb + paths
        options.command += overrides + [
            "-o", "checkpoint.path=" + folder + "/run", "--json"]
        result = nodes.on_hosts(options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if result is None:
        print("cluster.py: SKIPPED: needs root and the right to make networks",
              file=sys.stderr)
        return 77
    print(json.dumps(summary(result, options.nodes)), flush=True)
    return 0 if result["enough"] or all(
        host["exit_code"] == 0 for host in result["hosts"]) else 1


if __name__ == "__main__":
    sys.exit(main())
