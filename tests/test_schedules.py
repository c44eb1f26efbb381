#!/usr/bin/env python3
"""test_schedules.py - the orders of bench/pipeline.py can be worked through;
bench_schedules does so, as it does without an order, with the same gradients.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import unittest

import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
# pylint: disable=wrong-import-position
import pipeline
import schedules

PROGRAM = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build"),
                       "bench", "bench_schedules")
CASES = [pipeline.Case(stages=stages, micros=micros, latency=latency)
         for stages, micros, latency in
         itertools.product((2, 3, 4, 7), (1, 2, 8, 33), (0, 5, 20, 90))]


def problems(case, orders, cap):
    """What is wrong with an order, worked through without a clock."""
    done, held = [set() for _ in orders], [0] * len(orders)
    at, moved = [0] * len(orders), True
    while moved:
        moved = False
        for s, order in enumerate(orders):
            if at[s] == len(order):
                continue
            kind, micro = order[at[s]]
            backward = {("A", micro), ("B", micro)}
            wants = {"F": s == 0 or ("F", micro) in done[s - 1],
                     "W": ("B", micro) in done[s]}.get(
                         kind, ("F", micro) in done[s] and
                         (s + 1 == len(orders) or backward & done[s + 1]))
            if not wants:
                continue
            if (kind, micro) in done[s]:
                return f"stage {s} does {kind}{micro} twice"
            done[s].add((kind, micro))
            held[s] += {"F": 1, "B": 0}.get(kind, -1)
            if held[s] > cap:
                return f"stage {s} holds {held[s]}, at most {cap} allowed"
            at[s], moved = at[s] + 1, True
    for s, order in enumerate(orders):
        if at[s] < len(order):
            return f"stage {s} waits for ever before {order[at[s]]}"
        works = "FA" if ("A", 0) in done[s] else "FBW"
        if done[s] != set(itertools.product(works, range(case.micros))):
            return f"stage {s} does not do all work once"
    return None


class Orders(unittest.TestCase):
    def test_every_order_does_all_work_once_in_time_within_its_cap(self):
        for case in CASES:
            for name, plan in schedules.plans_of(case).items():
                orders = plan.orders or pipeline.simulate(
                    case, credits=plan.cap).orders
                with self.subTest(name=name, case=case):
                    self.assertIsNone(problems(case, orders, plan.cap))

    def test_a_wrong_order_is_found(self):
        case = pipeline.Case(stages=2, micros=2)
        right = pipeline.one_f_one_b(case)
        self.assertIsNone(problems(case, right, 2))
        self.assertIn("holds 2", problems(case, right, 1))
        self.assertIn("twice", problems(case, [right[0] + right[0][:1],
                                               right[1]], 2))
        self.assertIn("waits for ever",
                      problems(case, [right[0][::-1], right[1]], 2))
        self.assertIn("all work", problems(case, [right[0][:-1], right[1]], 2))


class Simulation(unittest.TestCase):
    def test_times_are_those_that_a_drawing_gives(self):
        # F and B of S - 1 stages before and behind the last one's work.
        case = pipeline.Case(stages=4, micros=8, f=1, b=1, w=1)
        for orders in (pipeline.gpipe(case), pipeline.one_f_one_b(case)):
            self.assertEqual(pipeline.simulate(case, orders).ms, 33)
        alone = pipeline.Case(stages=1, micros=8, f=1, b=2, w=3)
        self.assertEqual(pipeline.simulate(alone, credits=1).ms, 48)
        far = pipeline.Case(stages=2, micros=1, f=1, b=2, w=3, latency=10)
        self.assertEqual(pipeline.simulate(far, credits=1).ms, 29)

    def test_a_replayed_order_takes_as_long_as_the_run_it_is_of(self):
        for case in CASES:
            c = pipeline.credits_of(case)
            self.assertAlmostEqual(
                pipeline.simulate(case, pipeline.replayed(case, c)).ms,
                pipeline.simulate(case, credits=c).ms)

    def test_the_most_held_is_never_above_the_credits(self):
        for case, late in itertools.product(CASES, (False, True)):
            for c in (1, 2, 5):
                self.assertLessEqual(pipeline.simulate(
                    case, credits=c, counts_weights=late).held_max, c)


@unittest.skipUnless(PROGRAM.exists(), "bench_schedules is not built")
class Program(unittest.TestCase):
    OWN = argparse.Namespace(program=str(PROGRAM))

    def test_every_schedule_runs_within_its_cap_to_the_same_gradients(self):
        layers = {"layers": 2, "width": 32, "heads": 2, "inner": 64,
                  "context": 16, "sequences": 1}
        for latency in (0, 1):
            case = pipeline.Case(stages=3, micros=6, latency=latency)
            gradients = set()
            for name, plan in schedules.plans_of(case).items():
                told = schedules.run(self.OWN, case, plan, 2, layers)
                self.assertEqual(len(told["step_ms"]), 2)
                self.assertEqual(len(told["stages"]), 3)
                for stage in told["stages"]:
                    self.assertLessEqual(stage["held_max"], plan.cap, name)
                gradients.add(tuple(stage["gradient"]
                                    for stage in told["stages"]))
            self.assertEqual(len(gradients), 1)

    def test_timed_stages_run_with_either_gate(self):
        case = pipeline.Case(micros=5, f=.1, b=.1, w=.1, latency=.1,
                             jitter=.3, pieces=3, slow=(1, 2, 0, 1))
        for late in (False, True):
            told = schedules.run(self.OWN, case, schedules.Plan(
                None, 2, 2, late), 3)
            self.assertEqual(len(told["step_ms"]), 3)
            self.assertEqual(len(told["stages"]), 4)

    def test_an_order_that_cannot_be_is_refused(self):
        case = pipeline.Case(stages=2, micros=2)
        right = pipeline.one_f_one_b(case)
        for order, sentence in (
                (right[0][::-1], "the order cannot go on with 'A1 "),
                (right[0][:-1], "the order ends after 1 of 2 micro-batches"),
                (right[0] + [("F", 2)], "the order cannot go on with 'F2'")):
            text = schedules.topology(case, schedules.Plan(
                [order, right[1]], 2, 2), 1)
            done = subprocess.run([PROGRAM], input=text, text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(sentence, done.stderr)

    def test_a_stage_that_would_hold_more_than_its_cap_ends_the_run(self):
        case = pipeline.Case(stages=2, micros=4)
        text = schedules.topology(case, schedules.Plan(
            pipeline.gpipe(case), 4, 3), 1)
        done = subprocess.run([PROGRAM], input=text, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("would hold more than 3 micro-batches", done.stderr)


if __name__ == "__main__":
    checks.main()
