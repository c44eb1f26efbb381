#!/usr/bin/env python3
"""nodes_oracle.py - any number of nodes trains what the equations say.

The same model in f32 with `reduction: fast` and window 1, in one process and on
1, 2, 3 and 4 nodes: the loss and the gradient of one batch, and the weights
after 20 steps of SGD, to 1e-5 of the greatest number of a tensor, against a
naive computation in double that shares no line with Skein, and against the run
in one process. Losses are those of the events; weights are read from the
checkpoints (second_opinion.py), whose rows are f32: then SGD is w - rate g, and
the gradient is the difference of two checkpoints by the rate. The first weights
are those of a run whose rate is too small to change them.

Covers the way from parcels to links and back, and the merging of shards.
SPDX-License-Identifier: Apache-2.0
"""
import math
import pathlib
import struct
import sys
import tempfile

from second_opinion import (Checkpoint, Report, drawer, events, skein,
                            write_points)

FEATURES, LABELS, UNITS = 50, 80, 32
POINTS = 48  # that have labels: one more has none, and takes no part
STEPS, BATCH_ROWS, RATE = 20, 12, 0.5

# Of the greatest magnitude of a tensor, and of a loss.
BOUND = 1e-5
NODES = (1, 2, 3, 4)

# The rates of one batch: one that changes no weight, and one so large that the
# first weights are small beside it (the greatest that a file may have).
NO_RATE, LARGE_RATE = 1e-9, 100

MODEL = """\
skein: 1
data: {{ train: train.txt, cache: none }}
model:
  layers:
    - {{ name: hidden, units: {units}, dropout: 0 }}
{middle}    - {{ name: output, loss: {loss}, weights: f32,
        {smoothing}sampler: {{ kind: exact }} }}
train:
  window: 1
  reduction: fast
  merge: {merge}
  patience: 0
  optimizer: {{ kind: sgd }}
  schedule: {{ kind: constant }}
links: {{ coding: f32 }}
"""

# name -> loss, layers between the first and the last, who normalises, smoothing
FORMS = {
    "softmax": ("softmax", "", "late", 0),
    "early": ("softmax", "", "early", 0),
    "smooth": ("softmax", "", "late", 0.3),
    "smooth_early": ("softmax", "", "early", 0.3),
    "one_vs_all": ("one_vs_all", "", "auto", 0),
    "deep": ("softmax", "    - { name: second, units: 24, dropout: 0 }\n",
             "auto", 0),
}


def f32(number):
    """The nearest number of 32 bits."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


# --- the data ----------------------------------------------------------------

def draw_points():
    """Points whose labels follow from their features; two are odd."""
    draw, points = drawer(11), []
    for _ in range(POINTS + 1):
        topic = draw(16)
        features = sorted({(topic * 3 + draw(5)) % FEATURES for _ in range(5)})
        labels = sorted({topic * 5 + draw(5) for _ in range(1 + draw(3))})
        points.append((labels, [(k, (1 + draw(8)) / 4) for k in features]))
    points[3] = ([], points[3][1])  # without a label
    points[5] = (points[5][0], [])  # without a feature
    return points


# --- the model in double -----------------------------------------------------

def dot(x, y):
    return sum(map(float.__mul__, x, y))


class Network:
    """A sum of features, dense layers, a loss: forwards and backwards."""

    def __init__(self, weights, layers, softmax, smoothing):
        """`weights`: name -> flat list; the layers from the input."""
        self.layers, self.softmax, self.smoothing = layers, softmax, smoothing
        self.weights = {name: list(w) for name, w in weights.items()}
        self.near = math.inf  # the least magnitude that met a ReLU

    def row(self, name, k, width):
        return self.weights[name + ".weight"][k * width:(k + 1) * width]

    def forward(self, features):
        """The values of every layer; the logits are the last."""
        values = []
        for at, name in enumerate(self.layers):
            bias = self.weights[name + ".bias"]
            if at == 0:
                total = list(bias)
                for k, x in features:
                    for j, w in enumerate(self.row(name, k, len(bias))):
                        total[j] += w * x
            else:
                below = values[-1]
                total = [b + dot(self.row(name, k, len(below)), below)
                         for k, b in enumerate(bias)]
            if name != self.layers[-1]:
                self.near = min([self.near] + [abs(x) for x in total if x])
                total = [max(x, 0.0) for x in total]
            values.append(total)
        return values

    def loss(self, logits, labels):
        """The loss of a point, and its derivative by each logit."""
        if not self.softmax:
            slope = [1 / (1 + math.exp(-o)) - (k in labels)
                     for k, o in enumerate(logits)]
            return sum(math.log1p(math.exp(-abs(o))) + max(o, 0.0)
                       - (o if k in labels else 0.0)
                       for k, o in enumerate(logits)), slope
        most = max(logits)
        total = sum(math.exp(o - most) for o in logits)
        each = self.smoothing / len(logits)
        target = [each + ((1 - self.smoothing) / len(labels) if k in labels
                          else 0.0) for k in range(len(logits))]
        slope = [math.exp(o - most) / total - y
                 for o, y in zip(logits, target)]
        return most + math.log(total) - dot(target, logits), slope

    def backward(self, values, slope, features, gradient):
        """Adds to `gradient` what one point says of every weight."""
        for at in range(len(self.layers) - 1, -1, -1):
            name = self.layers[at]
            bias, weight = gradient[name + ".bias"], gradient[name + ".weight"]
            for k, d in enumerate(slope):
                bias[k] += d
            if at == 0:
                for k, x in features:
                    for j, d in enumerate(slope):
                        weight[k * len(slope) + j] += d * x
                return
            below = values[at - 1]
            under = [0.0] * len(below)
            for k, d in enumerate(slope):
                for j, (w, h) in enumerate(zip(
                        self.row(name, k, len(below)), below)):
                    weight[k * len(below) + j] += d * h
                    under[j] += d * w
            slope = [d if h > 0 else 0.0 for d, h in zip(under, below)]

    def learn_from(self, points):
        """The mean loss of the points, and its gradient."""
        gradient = {name: [0.0] * len(w) for name, w in self.weights.items()}
        points = [point for point in points if point[0]]
        total = 0.0
        for labels, features in points:
            length = math.sqrt(sum(x * x for _, x in features)) or 1.0
            features = [(k, x / length) for k, x in features]
            values = self.forward(features)
            loss, slope = self.loss(values[-1], labels)
            total += loss
            self.backward(values, slope, features, gradient)
        return total / len(points), {
            name: [g / len(points) for g in part]
            for name, part in gradient.items()}

    def step(self, gradient, rate):
        for name, part in gradient.items():
            self.weights[name] = [w - rate * g for w, g in
                                  zip(self.weights[name], part)]


# --- runs of Skein -----------------------------------------------------------

def train(folder, name, nodes, rate, batches, batch_rows):
    """(done event, name -> weights) of a run; nodes 0: one process."""
    epochs = batches * batch_rows // POINTS
    words = ["train", "model.yaml"] if nodes == 0 else \
        ["up", "model.yaml", "--local-nodes", str(nodes)]
    told = events(skein(
        folder, *words, "--json", "-o", f"checkpoint.path={name}",
        "-o", f"train.optimizer.rate={rate}", "-o", f"train.epochs={epochs}",
        "-o", f"train.batch_rows={batch_rows}"))
    done = [event for event in told if event["event"] == "done"][-1]
    assert done["batches"] == batches, done
    checkpoint = Checkpoint(folder / name / "latest")
    kept = [name for name in checkpoint.raw
            if name.endswith((".weight", ".bias"))]
    assert all(checkpoint.dtype[name] == "F32" for name in kept)
    return done, {name: checkpoint.numbers(name) for name in kept}


def gap(got, want):
    """The worst tensor: greatest difference by the greatest magnitude."""
    worst = 0.0
    for name, numbers in want.items():
        most = max(map(abs, numbers))
        off = max(abs(x - y) for x, y in zip(got[name], numbers))
        if len(got[name]) != len(numbers) or not off <= worst * most:
            worst = off / most
    return worst


def place_of(nodes):
    return "one process" if nodes == 0 else \
        f"{nodes} node{'s' if nodes > 1 else ''}"


class Form:
    """All runs of one model, and what they have to be."""

    def __init__(self, report, folder, name, points):
        loss, middle, merge, self.smoothing = FORMS[name]
        total = sum(len(labels) for labels, _ in points)
        self.share = total / len(points) / LABELS
        self.report, self.folder, self.name = report, folder, name
        self.layers = ["hidden"] + (["second"] if middle else []) + ["output"]
        self.softmax = loss == "softmax"
        (folder / "model.yaml").write_text(
            MODEL.format(units=UNITS, loss=loss, middle=middle, merge=merge,
                         smoothing=f"label_smoothing: {self.smoothing}, "
                         if self.softmax else ""),
            encoding="ascii")

    def check(self, sentence, off):
        self.report.check(f"{self.name}: {sentence}", off <= BOUND,
                          f"off by {off:.2g}")

    def run(self, what, nodes, rate, batches, batch_rows=POINTS):
        return train(self.folder, f"{self.name}.{what}.{nodes}", nodes, rate,
                     batches, batch_rows)

    def first_weights(self, nodes):
        """Biases begin all alike: at 0, where the least step shows, but for
        those of one-vs-all, which say how often a label comes."""
        _, weights = self.run("first", nodes, NO_RATE, 1)
        for name, numbers in weights.items():
            if name.endswith(".bias"):
                bias = 0.0
                if name == "output.bias" and not self.softmax:
                    bias = math.log(self.share / (1 - self.share))
                self.report.check(
                    f"{self.name}: {name} begins at {bias:.3g}",
                    all(abs(number - bias) <= max(2 * NO_RATE, 1e-7 *
                        abs(bias)) for number in numbers))
                weights[name] = [f32(bias)] * len(numbers)
        return weights

    def network(self, first):
        return Network(first, self.layers, self.softmax, self.smoothing)

    def check_batch(self, first, points):
        """One batch of all points: the loss, and (w0 - w1) / rate."""
        loss, gradient = self.network(first).learn_from(points)
        alone = None
        for nodes in (0,) + NODES:
            done, weights = self.run("batch", nodes, LARGE_RATE, 1)
            found = {name: [(w0 - w1) / LARGE_RATE for w0, w1 in
                            zip(first[name], numbers)]
                     for name, numbers in weights.items()}
            place = place_of(nodes)
            self.check(f"the loss of a batch is as defined, {place}",
                       abs(done["loss"] - loss) / loss)
            self.check(f"its gradient is as defined, {place}",
                       gap(found, gradient))
            alone = alone or found
            self.check(f"and as in one process, {place}", gap(found, alone))

    def check_steps(self, first, points):
        """20 steps of all points, against the definition."""
        network = self.network(first)
        for _ in range(STEPS):
            loss, gradient = network.learn_from(points)
            network.step(gradient, RATE)
        # Where a sum is so near to 0 that rounding says whether a unit is
        # open, the definition has nothing to say.
        self.report.check(f"{self.name}: no unit stands on an edge",
                          network.near > 2e-8, f"{network.near}")
        for nodes in (0,) + NODES:
            done, weights = self.run("steps", nodes, RATE, STEPS)
            place = place_of(nodes)
            self.check(f"the loss of step {STEPS} is as defined, {place}",
                       abs(done["loss"] - loss) / loss)
            self.check(f"the weights behind it are as defined, {place}",
                       gap(weights, network.weights))

    def check_shuffled(self):
        """20 steps of small batches, in the order that the seed gives."""
        alone = None
        for nodes in (0,) + NODES:
            done, weights = self.run("small", nodes, RATE, STEPS, BATCH_ROWS)
            alone = alone or (done, weights)
            place = place_of(nodes)
            self.check(f"{STEPS} small batches end with the same loss, {place}",
                       abs(done["loss"] / alone[0]["loss"] - 1))
            self.check(f"and with the same weights, {place}",
                       gap(weights, alone[1]))


def main():
    report = Report()
    points = draw_points()
    with tempfile.TemporaryDirectory(prefix="skein-nodes-") as place:
        folder = pathlib.Path(place)
        write_points(folder / "train.txt", points, FEATURES, LABELS)
        for name in FORMS:
            form = Form(report, folder, name, points)
            first = form.first_weights(0)
            report.check(f"{name}: nodes begin with the same weights",
                         form.first_weights(3) == first)
            form.check_batch(first, points)
            form.check_steps(first, points)
            form.check_shuffled()
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
