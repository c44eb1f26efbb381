"""pipeline.py - the orders in which the stages of a pipeline may work, and a
simulation of one step of it.

A step is `micros` micro-batches through `stages` stages, from an empty pipeline
until the last gradient of a weight. Each stage does F, B and W of each of them;
A is B and W in one, after which the gradient is sent. A message takes `latency`
to the next stage. An order lists the work of each stage: [("F", 0), ...]. All
times are in milliseconds. Nothing here runs a pipeline: bench_schedules.c does,
with the same times (`noise` is in both), and schedules.py compares the two.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import dataclasses
import heapq
import math

KINDS = "FBWA"
MASK = (1 << 64) - 1


@dataclasses.dataclass(frozen=True)
class Case:
    """What a pipeline meets. `slow` is (stage, factor, from, until): work that
    begins then takes `factor` times as long there."""
    stages: int = 4
    micros: int = 8
    f: float = 10.0
    b: float = 10.0
    w: float = 10.0
    pieces: int = 1         # of W, by messages
    latency: float = 0.0
    hop: float = 0.0        # of each message, beside its latency
    jitter: float = 0.0
    slow: tuple = (0, 1.0, 0.0, math.inf)
    seed: int = 0


def credits_of(case):
    """The rule of docs/concepts/dense.md, of S - 1 links."""
    return min(case.micros, case.stages + 2 * math.ceil(
        2 * (case.stages - 1) * case.latency / (case.f + case.b) - 1e-9))


# --- orders ------------------------------------------------------------------

def gpipe(case):
    """All of F, then all of the backward pass: it holds every micro-batch."""
    every = range(case.micros)
    return [[("F", i) for i in every] + [("A", i) for i in every]] * case.stages


def alternating(case, warm_ups):
    """1F1B: warm_ups[s] times F at first, then A and F in turn."""
    orders = []
    for ahead in warm_ups:
        ahead = min(ahead, case.micros)
        order = [("F", i) for i in range(ahead)]
        for i in range(case.micros):
            order.append(("A", i))
            if ahead + i < case.micros:
                order.append(("F", ahead + i))
        orders.append(order)
    return orders


def one_f_one_b(case):
    return alternating(case, range(case.stages, 0, -1))


def more_warm_ups(case, credits):
    """1F1B whose first stage is `credits` ahead, its last one 1, as the ways
    to the last stage and back differ."""
    last = case.stages - 1
    return alternating(case, [1 + math.ceil((last - s) * (credits - 1) / last)
                              for s in range(case.stages)])


def replayed(planned, credits):
    """The order of work of a pipeline of messages that met exactly what was
    planned, to be repeated whatever is met (Qi et al. 2023 compute theirs by
    integer programs and heuristics, from the same profile)."""
    return simulate(planned, credits=credits).orders


# --- the simulation ----------------------------------------------------------

def noise(case, stage, kind, micro):
    """A number in [0, 1) for a piece of work (splitmix64, Steele et al. 2014):
    every schedule meets the same ones."""
    x = (((case.seed * 64 + stage) * 4 + KINDS.index(kind)) * 1024 + micro + 1)
    x = x * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return ((x ^ x >> 31) >> 11) / (1 << 53)


def duration(case, stage, kind, micro, now):
    if kind == "w":
        return duration(case, stage, "W", micro, now) / case.pieces
    if kind == "A":
        return (duration(case, stage, "B", micro, now) +
                duration(case, stage, "W", micro, now))
    where, factor, begin, end = case.slow
    mean = {"F": case.f, "B": case.b, "W": case.w}[kind]
    if stage == where and begin <= now < end:
        mean *= factor
    return mean * (1 + case.jitter * (2 * noise(case, stage, kind, micro) - 1))


class Stage:
    """What a stage knows. By messages it takes gradients first, then
    activations, unless it holds as much as it may; a piece of W, "w", when
    nothing waits."""

    def __init__(self, order, cap, pieces):
        self.order, self.cap, self.pieces, self.piece = order, cap, pieces, 0
        self.waiting = {kind: collections.deque() for kind in KINDS}
        self.done, self.held, self.held_max, self.is_busy = [], 0, 0, False

    def next(self):
        """The work to do now, which no longer waits; None: there is none."""
        if self.is_busy:
            return None
        waiting = self.waiting
        if self.order is not None:
            if len(self.done) == len(self.order):
                return None
            kind, micro = self.order[len(self.done)]
            if micro not in waiting[kind]:
                return None
            waiting[kind].remove(micro)
        else:
            is_full = self.held >= self.cap and waiting["W"]
            kind = next((kind for kind in ("BWF" if is_full else "BFW")
                         if waiting[kind]), None)
            if kind is None:
                return None
            micro = waiting[kind][0]
            if kind == "W":
                self.piece = (self.piece + 1) % self.pieces
                kind = "w"
            if kind != "w" or self.piece == 0:
                waiting[kind.upper()].popleft()
        if kind != "w" or self.piece == 1 % self.pieces:
            self.done.append((kind.upper(), micro))
        self.held += kind == "F"
        self.held_max = max(self.held_max, self.held)
        return kind, micro


@dataclasses.dataclass
class Result:
    ms: float
    held_max: int
    orders: list


def simulate(case, orders=None, credits=None, counts_weights=False):
    """One step, with static `orders`, or by messages under `credits`. With
    counts_weights a credit returns when all stages have done W of a
    micro-batch, and told the first one; otherwise with its gradient there."""
    stages = [Stage(orders[s] if orders else None, credits or case.micros,
                    case.pieces) for s in range(case.stages)]
    events, issued, applied = [], 0, [0] * case.stages
    number, now, returned = 0, 0.0, 0

    def later(delay, what, s, kind, micro):
        nonlocal number
        number += 1
        heapq.heappush(events, (now + delay, number, what, s, kind, micro))

    def issue():
        nonlocal issued
        low = min(applied) if counts_weights else returned
        while issued < case.micros and issued - low < (credits or case.micros):
            later(case.hop, "arrive", 0, "F", issued)
            issued += 1

    def send(s, what, receiver, kind, micro):
        """From stage s; the gate, which stage 0 has beside it, is None."""
        is_far = s > 0 or receiver is not None
        later(case.hop + is_far * case.latency, what, receiver, kind, micro)

    def finish(s, kind, micro):
        if kind == "w" and stages[s].piece == 0:
            kind = "W"
        backward = "A" if orders and ("A", 0) in orders[0] else "B"
        if kind == "F" and s + 1 < case.stages:
            send(s, "arrive", s + 1, "F", micro)
        elif kind == "F":
            stages[s].waiting[backward].append(micro)
        if kind == "B":
            stages[s].waiting["W"].append(micro)
        if kind in "BA" and s > 0:
            send(s, "arrive", s - 1, backward, micro)
        elif kind in "BA":
            send(s, "return", None, kind, micro)
        if kind in "WA":
            stages[s].held -= 1
            send(s, "apply", None, s, micro)

    end = 0.0
    issue()
    while events:
        now, _, what, s, kind, micro = heapq.heappop(events)
        if what == "finish":
            end = now
            stages[s].is_busy = False
            finish(s, kind, micro)
        elif what == "arrive":
            stages[s].waiting[kind].append(micro)
        elif what == "return":
            returned += 1
            issue()
        else:
            applied[kind] += 1
            issue()
        work = stages[s].next() if s is not None else None
        if work:
            stages[s].is_busy = True
            later(duration(case, s, *work, now), "finish", s, *work)
    return Result(end, max(stage.held_max for stage in stages),
                  [stage.done for stage in stages])
