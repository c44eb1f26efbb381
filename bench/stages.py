#!/usr/bin/python3
"""stages.py - two stages of a transformer beside one core, and beside PyTorch.

Usage: bench/stages.py links [--rates 1gbit,100mbit] [--steps 4] ...
       bench/stages.py cores [--steps 4] ...
       bench/stages.py forecast [--steps 2] ...
       bench/stages.py --help
links: tokens a second, by the clock, of two nodes of one core each (bench/
nodes.py; needs root), beside one core alone and beside a plain 1F1B over gloo
(bench/peers/gloo.py) on the same hosts and links. Boundaries of Skein are f32
over the first of --rates, int8 over the others; those of gloo are f32.
cores: the same of two stages in one process, beside gpt.py with two threads.
forecast: CPU seconds that `skein plan` expects of the busiest core in a step,
beside those of the threads there (--report), for some shapes: a long run less
a short one.
All have the shape, the micro-batches and the optimizer of --help; they take
turns, and ratios are those of a turn. The median of a run's steps counts,
without the first. Prints a Markdown table, or with --json the figures. Other
work on the machine slows all of them, and not alike.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

import nodes

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE / "peers"
sys.path.append(str(PEERS))
import tuned

SHAPE = {"layers": 6, "width": 256, "heads": 8, "inner": 704, "context": 256,
         "rows": 8, "micros": 8}
MODEL = """skein: 1
data: {{ train: {folder}/text, context: {context}, cache: none }}
model: {{ kind: decoder, layers: {layers}, width: {width}, heads: {heads},
         inner: {inner}, stages: {stages},
         head: {{ sampler: {{ kind: exact }} }} }}
train: {{ micro_tokens: {micro}, batch_tokens: {step}, epochs: {epochs},
         clip_norm: 1, validate: 0, precision: {precision},
         optimizer: {{ kind: adam, rate: 0.001, beta2: 0.95,
                      weight_decay: 0.1 }},
         schedule: {{ kind: constant }}, evaluate: {{ every_epochs: 0 }} }}
checkpoint: {{ path: {path}, every_epochs: 0 }}
links: {{ coding: {coding}, rate: {bits} }}
"""
CORES = "resources: {{ cores: {stages} }}\n"
NODE = """  - {{ name: h{k}, address: "tcp://10.77.0.{host}:7001",
      key: {folder}/h{k}.key, cores: 1 }}
"""


class Failed(Exception):
    pass


# --- what is measured --------------------------------------------------------

def bits_of(rate):
    """A second, of such as 100mbit."""
    return "%se%d" % (rate[:-4], {"kbit": 3, "mbit": 6, "gbit": 9}[rate[-4:]])


def model(own, stages, coding="f32", rate=None):
    """Writes the file of a run, whose text is one step long: an epoch is a
    step, and is reported."""
    micro = own.rows * own.context
    own.runs += 1
    path = own.folder / ("run%d" % own.runs)
    text = MODEL.format(**vars(own), path=path, stages=stages, coding=coding,
                        bits=bits_of(rate or "1gbit"), micro=micro,
                        step=micro * own.micros, epochs=own.steps + 1)
    if rate:
        text += "nodes:\n" + "".join(NODE.format(
            k=k, host=k + 1, folder=own.folder) for k in range(stages))
    else:
        text += CORES.format(stages=stages)
    path = path.with_suffix(".yaml")
    path.write_text(text, encoding="utf-8")
    return path


def rate_of(own, events, name):
    """Tokens a second in the median step, without the first."""
    steps = [event["seconds"] for event in events if event["event"] == name]
    if len(steps) != own.steps + 1:
        raise Failed("%d steps of %d" % (len(steps), own.steps + 1))
    return own.micros * own.rows * own.context / statistics.median(steps[1:])


def as_steps(events):
    """Epochs say how long the run has taken; steps, how long each took."""
    found, before = [], 0
    for event in events:
        if event["event"] == "epoch":
            found.append(dict(event, seconds=event["seconds"] - before))
            before = event["seconds"]
    return found


def on_cores(words, cores, environment):
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, env=environment, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if done.returncode:
        raise Failed("%s ended with %d" % (words[0], done.returncode))
    return [json.loads(line) for line in done.stdout.splitlines()]


def on_links(own, rate, words):
    """The JSON lines of the first host."""
    found = nodes.on_hosts(nodes.arguments(
        ["--nodes", "2", "--rate", rate, "--cores",
         ",".join(map(str, own.cores)), "--"] + words))
    if found is None:
        sys.exit("stages.py: SKIPPED: needs root and the right to make "
                 "networks")
    if "error" in found or any(host["exit_code"] for host in found["hosts"]):
        raise Failed(found.get("error", "%s ended with %s" % (words, [
            host["exit_code"] for host in found["hosts"]])))
    return [line["line"] for line in found["lines"] if line["node"] == 0]


def skein_alone(own, stages):
    path = model(own, stages)
    return rate_of(own, as_steps(on_cores(
        [own.skein, "train", str(path), "--json"], own.cores[:stages],
        tuned.plain())), "epoch")


def skein_over(own, rate, coding):
    path = model(own, 2, coding, rate)
    return rate_of(own, as_steps(on_links(
        own, rate, [own.skein, "node", "h{node}", str(path), "--json"])),
        "epoch")


def shape_of(own):
    words = ["--steps", str(own.steps + 1), "--precision", own.precision]
    for name in SHAPE:
        words += ["--" + name, str(getattr(own, name))]
    return words


def gloo_over(own, rate):
    settings = ["%s=%s" % pair for pair in
                tuned.environment(own.python).items()
                if os.environ.get(pair[0]) != pair[1]]
    return rate_of(own, on_links(own, rate, [
        "env", *settings, own.python, str(PEERS / "gloo.py"), "--rank",
        "{node}", "--world", "2", "--address", "{first}", "--interface",
        "{interface}", *shape_of(own)]), "step")


def torch_alone(own, threads):
    return rate_of(own, on_cores(
        [own.python, str(PEERS / "gpt.py"), "train", "--threads", str(threads),
         *shape_of(own)], own.cores[:threads],
        tuned.environment(own.python, threads)), "step")


# --- the two actions ---------------------------------------------------------

def links(own):
    first, *others = own.rates.split(",")
    runs = {"one core": lambda: skein_alone(own, 1),
            "two nodes, %s, f32" % first: lambda: skein_over(own, first, "f32"),
            "gloo, %s" % first: lambda: gloo_over(own, first)}
    for rate in others:
        runs["two nodes, %s, int8" % rate] = \
            lambda rate=rate: skein_over(own, rate, "int8")
        runs["gloo, %s" % rate] = lambda rate=rate: gloo_over(own, rate)
    nodes_first = "two nodes, %s, f32" % first
    pairs = [(nodes_first, "one core"), (nodes_first, "gloo, %s" % first)]
    for rate in others:
        pairs += [("two nodes, %s, int8" % rate, nodes_first),
                  ("two nodes, %s, int8" % rate, "gloo, %s" % rate)]
    return runs, pairs


def cores(own):
    runs = {"one core": lambda: skein_alone(own, 1),
            "two stages, two cores": lambda: skein_alone(own, 2),
            "PyTorch, two threads": lambda: torch_alone(own, 2)}
    return runs, [("two stages, two cores", "one core"),
                  ("two stages, two cores", "PyTorch, two threads")]


def measure(own):
    runs, pairs = globals()[own.action](own)
    found = {name: [] for name in runs}
    for _ in range(own.repeats):
        for name, measured in runs.items():
            try:
                found[name].append(round(measured(), 1))
            except Failed as failed:
                sys.exit("stages.py: %s: %s" % (name, failed))
            print("%s: %.0f tokens a second" % (name, found[name][-1]),
                  file=sys.stderr)
    ratios = [{"of": a, "to": b, "ratios": [
        round(x / y, 3) for x, y in zip(found[a], found[b])]}
        for a, b in pairs]
    return {"tokens_per_s": found, "ratios": ratios, "load": os.getloadavg(),
            "peer": tuned.sentence(tuned.settings(own.python))}


# --- what the plan expects ---------------------------------------------------

# A shape: options of the command, beside those of the file.
FORECASTS = {
    "one stage": [],
    "two stages": ["model.stages=2", "resources.cores=2"],
    "32,768 ids": ["data.tokenizer=words"],
    "32,768 ids, two stages": ["data.tokenizer=words", "model.stages=2",
                               "resources.cores=2"],
    "width 512, 3 layers": ["model.width=512", "model.inner=1376",
                            "model.layers=3"],
    "context 1,024": ["data.context=1024"],
    "micro-batches of 512": ["train.micro_tokens=512"],
}


def busiest_core_s(report):
    """CPU seconds of the threads that the plan has put on one core."""
    spent = {}
    for actor in report["actors"]:
        if actor["core"] >= 0:
            spent[actor["core"]] = spent.get(actor["core"], 0) + \
                actor["ran_ns"] * 1e-9
    return max(spent.values())


def forecast_of(own, options):
    """Expected and spent CPU seconds of a step."""
    words = [str(model(own, 1))]
    for option in options:
        words += ["-o", option]
    text = subprocess.run([own.skein, "plan", *words], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    step_ms, bubble = map(float, re.search(
        r"# expected: ([\d.]+) ms per step(?:, ([\d.]+)% of it bubble)?",
        text).groups("0"))
    spent = []
    for steps in (1, 1 + own.steps):
        own.runs += 1
        spent.append(busiest_core_s(on_cores(
            [own.skein, "train", *words, "--json", "--report", "-o",
             "train.steps=%d" % steps, "-o", "checkpoint.path=%s" % (
                 own.folder / ("run%d" % own.runs))],
            own.cores, tuned.plain())[-1]))
    return step_ms / 1000 * (1 - bubble / 100), \
        (spent[1] - spent[0]) / own.steps


def forecast(own):
    draw = random.Random(3)
    words = ["".join(draw.choices("etaoinshrdlu", k=7)) for _ in range(60000)]
    (own.folder / "text").write_text("".join(
        draw.choice("\n ") + word for word in words * 3), encoding="ascii")
    found = []
    for name, options in FORECASTS.items():
        expected_s, spent_s = forecast_of(own, options)
        found.append({"shape": name, "expected_s": round(expected_s, 3),
                      "spent_s": round(spent_s, 3)})
        print(json.dumps(found[-1]), file=sys.stderr)
    return {"forecasts": found, "load": os.getloadavg()}


def show_forecast(found):
    print("| | expected CPU s | spent | expected to spent |\n|---|---|---|---|")
    for one in found["forecasts"]:
        print("| %s | %.2f | %.2f | %.2f |" % (
            one["shape"], one["expected_s"], one["spent_s"],
            one["expected_s"] / one["spent_s"]))


def spread(figures, form):
    return "%s (%s-%s)" % tuple(format(x, form) for x in (
        statistics.median(figures), min(figures), max(figures)))


def show(found):
    print("| | tokens a second |\n|---|---|")
    for name, figures in found["tokens_per_s"].items():
        print("| %s | %s |" % (name, spread(figures, ",.0f")))
    print("\n| | turn by turn |\n|---|---|")
    for pair in found["ratios"]:
        print("| %s to %s | %s |" % (pair["of"], pair["to"],
                                     spread(pair["ratios"], ".2f")))
    print("\n%s\nload at the end: %.1f" % (found["peer"], found["load"][0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("links", "cores", "forecast"))
    parser.add_argument("--skein", default=str(HERE.parent / "build" / "skein"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rates", default="1gbit,100mbit")
    parser.add_argument("--cores", default="0,1", help="two (0,1)")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    for name, value in SHAPE.items():
        parser.add_argument("--" + name, type=int, default=value,
                            help="(%d)" % value)
    own = parser.parse_args()
    own.runs = 0
    own.cores = [int(core) for core in own.cores.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        own.folder = pathlib.Path(folder)
        size = own.micros * own.rows * own.context
        (own.folder / "text").write_bytes(
            b"".join(b"%d, " % (k * k) for k in range(size))[:size])
        for k in range(2):
            subprocess.run([own.skein, "keygen",
                            str(own.folder / ("h%d.key" % k))], check=True,
                           stdout=subprocess.DEVNULL)
        found = (forecast if own.action == "forecast" else measure)(own)
    if own.json:
        print(json.dumps(found))
    else:
        (show_forecast if own.action == "forecast" else show)(found)


if __name__ == "__main__":
    main()
