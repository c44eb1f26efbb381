#!/usr/bin/env python3
"""schedules.py - pipelines of four schedules in static orders, and by messages.

Usage: bench/schedules.py [PART ...] [--steps 5] [--at-once 4] ...
       bench/schedules.py --help
Parts (all of them, without one):
  grid    four stages, micro-batches, latencies, jitter, a slow stage
  change  a stage that is slow for a third of a step; another latency than
          planned
  knee    how many credits a latency needs
  gate    a credit that returns with the gradient, or after W of all stages
  true    two stages that compute the layers of a decoder (--at-once is 1)
Each row is one pipeline of build/bench/bench_schedules: actors of Skein's
runtime, and links that deliver a message later. Except in `true`, F, B and W
are waits of --ms milliseconds, so that four stages work at once on any machine:
such rows measure schedules and the runtime, not training. A step begins with an
empty pipeline and ends with its last W. Every schedule meets the same times
(bench/pipeline.py) and is simulated with them. Prints Markdown tables of
medians; times are in units of one F.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

import pipeline

HERE = pathlib.Path(__file__).resolve().parent
MICROS = (8, 16, 32)
LATENCIES = (0, .5, 1, 2)       # in units of f + b
PIECES = 4                      # of W, by messages
HOP_MS = .2                     # of a message between two threads: measured
NAMES = ("GPipe", "1F1B", "1F1B, c ahead", "replayed", "messages")

Plan = collections.namedtuple(
    "Plan", "orders window cap counts_weights", defaults=(False,))


def plans_of(planned, credits=None):
    """The schedules for a pipeline that is expected to be as `planned`."""
    c = credits or pipeline.credits_of(planned)
    m = planned.micros
    static = (pipeline.gpipe(planned), pipeline.one_f_one_b(planned),
              pipeline.more_warm_ups(planned, c),
              pipeline.replayed(dataclasses.replace(planned, pieces=1), c))
    caps = (m, planned.stages, c, c)
    return dict(zip(NAMES, [Plan(orders, m, min(cap, m)) for orders, cap in
                            zip(static, caps)] + [Plan(None, c, c)]))


# --- a pipeline --------------------------------------------------------------

def topology(case, plan, steps, layers=()):
    """The topology of a pipeline, for bench_schedules."""
    actors, pipes = [], []

    def actor(name, kind, **options):
        words = ", ".join(f"{key}: {value}" for key, value in options.items())
        actors.append(f"    - {{ name: {name}, kind: bench_{kind}, "
                      f"options: {{ {words} }} }}\n")

    def pipe(sender, receiver, message, answers=False):
        pipes.append(f"    - {{ from: {sender}, to: {receiver}, message: "
                     f"bench_{message}, credit: {case.micros + 2}, "
                     f"peer: {str(answers).lower()} }}\n")

    def far(name, sender, receiver, message, answers=False):
        if case.latency > 0:
            pipe(sender, name, message)
            sender = name
        pipe(sender, receiver, message, answers)

    actor("gate", "gate", window=plan.window, micros=case.micros, steps=steps,
          stages=case.stages, counts_weights=str(plan.counts_weights).lower())
    pipe("gate", "stage.0", "forward")
    pipe("stage.0", "gate", "gradient")
    where, factor, begin, end = case.slow
    for s in range(case.stages):
        options = {"micros": case.micros, "cap": plan.cap, "seed": case.seed,
                   "pieces": case.pieces, "jitter": case.jitter}
        options |= {key + "_us": round(1000 * getattr(case, key))
                    for key in "fbw"}
        if s == where:
            options |= {"slow_factor": factor, "slow_from_us":
                        round(1000 * begin),
                        "slow_until_us": round(1000 * min(end, 4e6))}
        if plan.orders:
            options["order"] = '"%s"' % " ".join(
                kind + str(micro) for kind, micro in plan.orders[s])
        actor(f"stage.{s}", "stage", **options, **dict(layers))
        if s + 1 == case.stages:
            break
        for name in ("up", "down") if case.latency > 0 else ():
            actor(f"{name}.{s}", "link",
                  latency_us=round(1000 * case.latency))
        far(f"up.{s}", f"stage.{s}", f"stage.{s + 1}", "forward")
        far(f"down.{s}", f"stage.{s + 1}", f"stage.{s}", "gradient", True)
        if case.latency > 0:
            pipe(f"stage.{s + 1}", f"down.{s}", "applied")
    near = "down" if case.latency > 0 else "stage"
    senders = ["stage.0"] + [f"{near}.{s - (near == 'down')}"
                             for s in range(1, case.stages)]
    pipe(f"[{', '.join(senders)}]", "gate", "applied")
    return ("skein: 1\ntopology:\n  name: schedules\n  actors:\n" +
            "".join(actors) + "  pipes:\n" + "".join(pipes))


def run(own, case, plan, steps, layers=()):
    """What bench_schedules says of a pipeline."""
    done = subprocess.run([own.program], text=True, capture_output=True,
                          input=topology(case, plan, steps, layers),
                          check=False)
    if done.returncode:
        sys.exit(f"schedules.py: {done.stderr.strip()}")
    return json.loads(done.stdout)


def simulated_ms(case, plan, steps):
    return statistics.median(
        pipeline.simulate(dataclasses.replace(case, seed=case.seed + k),
                          plan.orders, None if plan.orders else plan.cap,
                          plan.counts_weights).ms
        for k in range(steps if case.jitter else 1))


Found = collections.namedtuple("Found", "ms low high simulated_ms")


def measure(own, rows):
    """Runs the schedules of rows [(case, {name: plan})], those of one row side
    by side: [{name: Found}]."""
    def one(job):
        case, plan = job
        steps = sorted(run(own, case, plan, own.steps)["step_ms"])
        return Found(statistics.median(steps), steps[0], steps[-1],
                     simulated_ms(case, plan, own.steps))
    jobs = [(case, plan) for case, plans in rows for plan in plans.values()]
    with concurrent.futures.ThreadPoolExecutor(own.at_once) as pool:
        found = pool.map(one, jobs)
        return [{name: next(found) for name in plans} for _, plans in rows]


def timed(own, micros, latency, **more):
    """Four stages; `latency` is in units of f + b."""
    return pipeline.Case(micros=micros, f=own.ms, b=own.ms, w=own.ms,
                         latency=2 * latency * own.ms, pieces=PIECES,
                         hop=HOP_MS, **more)


# --- tables ------------------------------------------------------------------

def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def compared(unit_ms, plans, found):
    """The cells of a row: all schedules, and messages beside them. The best
    static order is one that holds no more than messages do."""
    ms = {name: one.ms for name, one in found.items()}
    best = min(value for name, value in ms.items() if plans[name].orders and
               plans[name].cap <= plans["messages"].cap)
    own = found["messages"]
    return ([f"{value / unit_ms:.1f}" for value in ms.values()] +
            [f"{own.low / unit_ms:.1f}-{own.high / unit_ms:.1f}",
             f"{own.ms / best:.2f}", f"{ms['1F1B'] / own.ms:.2f}",
             f"{ms['1F1B, c ahead'] / own.ms:.2f}"])


COMPARED = [*NAMES, "spread", "messages / best static", "1F1B / messages",
            "1F1B, c ahead / messages"]


def print_agreement(found):
    """How far the measured times are from the simulated ones."""
    ratios = sorted(one.ms / one.simulated_ms for row in found
                    for one in row.values())
    print(f"Measured / simulated, {len(ratios)} pipelines: median "
          f"{statistics.median(ratios):.3f}, lowest {ratios[0]:.3f}, "
          f"highest {ratios[-1]:.3f}.\n")


def grid(own):
    print("### Four stages, timed\n")
    keys = list(itertools.product(MICROS, LATENCIES, (0, .3), (1, 1.5)))
    rows = [(timed(own, m, latency, jitter=jitter,
                   slow=(1, slow, 0, float("inf"))),
             plans_of(timed(own, m, latency)))
            for m, latency, jitter, slow in keys]
    found = measure(own, rows)
    table(["m", "latency", "jitter, %", "stage 1 slower", "c", *COMPARED],
          [[str(m), str(latency), f"{100 * jitter:.0f}", str(slow),
            str(plans["messages"].cap), *compared(own.ms, plans, one)]
           for (m, latency, jitter, slow), (_, plans), one in
           zip(keys, rows, found)])
    print_agreement(found)


def change(own):
    print("### What was planned, and what came\n")
    keys, rows = [], []
    for m, latency in itertools.product((8, 32), (0, 1)):
        # Some third of the step, which it makes longer by some two ninths.
        slow = (1, 3, m * own.ms, 2.4 * m * own.ms)
        keys.append((m, latency, latency, "3 times for a third"))
        rows.append((timed(own, m, latency, slow=slow),
                     plans_of(timed(own, m, latency))))
    for m, (planned, true) in itertools.product(
            (8, 32), ((0, .5), (.5, 1), (1, .5), (2, 1), (1, 2))):
        keys.append((m, planned, true, "no"))
        rows.append((timed(own, m, true), plans_of(timed(own, m, planned))))
    found = measure(own, rows)
    table(["m", "planned latency", "true latency", "stage 1 slower", "c",
           *COMPARED],
          [[str(m), str(planned), str(true), slow, str(plans["messages"].cap),
            *compared(own.ms, plans, one)]
           for (m, planned, true, slow), (_, plans), one in
           zip(keys, rows, found)])
    print_agreement(found)


def knee_of(times):
    """The fewest credits whose time is within 2% of the best."""
    best = min(times.values())
    return min(c for c, ms in times.items() if ms <= 1.02 * best)


def knee(own):
    print("### Credits\n")
    rows = []
    for latency, jitter in itertools.product(LATENCIES, (0, .3)):
        case = timed(own, 32, latency, jitter=jitter)
        most = pipeline.credits_of(case) + 2
        rows.append((case, {c: Plan(None, c, c) for c in range(1, most + 1)}))
    found = measure(own, rows)
    lines = []
    for (case, _), times in zip(rows, found):
        lines.append([
            f"{case.latency / 2 / own.ms:g}", f"{100 * case.jitter:.0f}",
            str(pipeline.credits_of(case)),
            str(knee_of({c: one.simulated_ms for c, one in times.items()})),
            str(knee_of({c: one.ms for c, one in times.items()})),
            " ".join(f"{c}:{one.ms / own.ms:.0f}"
                     for c, one in times.items())])
    table(["latency", "jitter, %", "c of the rule", "simulated knee",
           "measured knee", "time by credits, m 32"], lines)
    print_agreement(found)


def gate(own):
    print("### When a credit returns\n")
    keys = list(itertools.product(MICROS, LATENCIES, (0, .3)))
    rows = []
    for m, latency, jitter in keys:
        case = timed(own, m, latency, jitter=jitter)
        c = pipeline.credits_of(case)
        rows.append((case, {"gradient": Plan(None, c, c),
                            "weights": Plan(None, c, c, True)}))
    found = measure(own, rows)
    table(["m", "latency", "jitter, %", "with its gradient", "after W",
           "after W / with its gradient", "simulated"],
          [[str(m), str(latency), f"{100 * jitter:.0f}",
            f"{one['gradient'].ms / own.ms:.1f}",
            f"{one['weights'].ms / own.ms:.1f}",
            f"{one['weights'].ms / one['gradient'].ms:.3f}",
            f"{one['weights'].simulated_ms / one['gradient'].simulated_ms:.3f}"]
           for (m, latency, jitter), one in zip(keys, found)])


# --- two stages that compute -------------------------------------------------

def computed(own, case, plan, steps):
    layers = (("layers", own.layers), ("sequences", own.sequences))
    return run(own, case, plan, steps, layers)


def profile(own):
    """Mean milliseconds of F, B and W of a stage, while both compute."""
    case = pipeline.Case(stages=2, micros=8)
    told = computed(own, case, Plan(None, 2, 2), own.steps)["stages"]
    return {key: statistics.mean(stage[key + "_ms"] for stage in told)
            for key in "fbw"}


def true(own):
    print("### Two stages that compute\n")
    means = profile(own)
    print(f"{own.layers} layers a stage, width 256, {own.sequences} sequences "
          "of 256 tokens a micro-batch. The profile that replayed orders, "
          "credits and latencies are made of, ms: " + ", ".join(
              f"{key} {value:.1f}" for key, value in means.items()) + ".\n")
    every, bits = [], {}

    def rows():
        for m, latency in itertools.product(MICROS, LATENCIES):
            case = pipeline.Case(
                stages=2, micros=m, hop=HOP_MS, pieces=PIECES,
                latency=latency * (means["f"] + means["b"]), **means)
            plans = plans_of(case)
            times = {name: [] for name in NAMES}
            for name in NAMES * own.steps:          # in turn
                told = computed(own, case, plans[name], 2)
                times[name].append(told["step_ms"][1])
                bits.setdefault(m, set()).add(
                    tuple(stage["gradient"] for stage in told["stages"]))
            every.append({name: Found(statistics.median(ms), min(ms), max(ms),
                                      simulated_ms(case, plans[name], 1))
                          for name, ms in times.items()})
            yield [str(m), str(latency), str(plans["messages"].cap),
                   *compared(means["f"], plans, every[-1])]

    table(["m", "latency", "c", *COMPARED], rows())
    print_agreement(every)
    same = all(len(each) == 1 for each in bits.values())
    print("Gradients of weights: " + ("the same bits in every run." if same
          else "DIFFERENT BITS.") + "\n")


def main():
    parts = {part.__name__: part for part in (grid, change, knee, gate, true)}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=", ".join(parts))
    parser.add_argument("--program", default=str(
        HERE.parent / "build" / "bench" / "bench_schedules"))
    parser.add_argument("--ms", type=float, default=20, help="of F, B and W")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=4,
                        help="pipelines of timed work that run side by side")
    parser.add_argument("--layers", type=int, default=3, help="of a stage")
    parser.add_argument("--sequences", type=int, default=1)
    own = parser.parse_args()
    for name in own.parts:
        if name not in parts:
            parser.error(f"no part is called '{name}'")
    for name in own.parts or parts:
        parts[name](own)


if __name__ == "__main__":
    main()
