#!/usr/bin/env python3
"""second_opinion.py - reads what Skein trained with nothing of Skein's.

Models of several forms are trained by `skein train`; then this script, which
shares no line with the sources, opens the checkpoint with json and struct,
puts the pieces together, and computes in double what `predict`, `eval` and
`inspect` have to print: labels and probabilities, P@k, PSP@k and nDCG@k,
shapes, and the hash over all weights. So a mistake that writing and reading
share, or training and predicting, is seen here.

Covers cli/verb_predict.c, cli/verb_eval.c, cli/verb_inspect.c and the format
of checkpoints.
SPDX-License-Identifier: Apache-2.0
"""
import array
import hashlib
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
SKEIN = str(BUILD / "skein")

FEATURES, LABELS, TRAIN_POINTS, TEST_POINTS = 60, 150, 200, 40
PROPENSITY_A, PROPENSITY_B = 0.55, 1.5

# What a float that went through another order of summation may differ by.
RELATIVE = 2e-5
# Probabilities are printed with 6 digits.
PRINTED = 1e-5

MODEL = """\
skein: 1
data: {{ train: train.txt, test: test.txt, cache: none{data} }}
model:
  layers:
    - {{ name: hidden, units: 12, shards: 2{hidden} }}
{middle}    - {{ name: output, shards: 3, label_smoothing: 0{output} }}
train: {{ epochs: 3, batch_rows: 25, schedule: {{ kind: constant }}{train} }}
checkpoint: {{ path: {name} }}
"""

# name -> what goes into the model file
FORMS = {
    "softmax": {"output": ", loss: softmax"},
    "one_vs_all": {"output": ", loss: one_vs_all"},
    "raw_values": {"data": ", normalize: none"},
    "deep": {"middle": "    - { name: second, units: 10, shards: 2 }\n"
                       "    - { name: third, units: 8 }\n"},
    "bf16": {"output": ", loss: softmax, weights: bf16",
             "train": ", optimizer: { kind: sgd, rate: 0.5 }"},
    "adagrad": {"train": ", optimizer: { kind: adagrad, rate: 0.1 }"},
    "dropout": {"hidden": ", dropout: 0.5"},
    "sampled": {"output": ", sampler: { kind: uniform, rows: 40 }"},
    "hashed": {"output": ", sampler: { kind: simhash, rows: 40, bits: 3 }"},
}


class Report:
    """Counts checks, and prints them as tests/tally.py reads them."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, sentence, good, detail=""):
        if good:
            self.passed += 1
            print(f"ok: {sentence}")
        else:
            self.failed += 1
            print(f"FAILED: {sentence}\n    {detail}")

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or self.passed == 0 else 0


# --- the data ----------------------------------------------------------------

def drawer(state):
    """A function that draws numbers below a bound; a linear congruence."""
    def draw(bound):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % bound
    return draw


def draw_points(count, seed):
    """Points whose labels follow from their features; two are odd."""
    draw, points = drawer(seed), []
    for _ in range(count):
        topic = draw(20)
        features = sorted({(topic * 3 + draw(5)) % FEATURES for _ in range(4)}
                          | {draw(FEATURES)})
        labels = sorted({topic * 7 + draw(4) for _ in range(1 + draw(3))})
        points.append((labels, [(k, (1 + draw(8)) / 4) for k in features]))
    points[3] = ([], points[3][1])  # without a label
    points[5] = (points[5][0], [])  # without a feature
    return points


def write_points(path, points, features=FEATURES, labels=LABELS):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{len(points)} {features} {labels}\n")
        for own, values in points:
            file.write(",".join(map(str, own)) + " "
                       + " ".join(f"{k}:{x}" for k, x in values) + "\n")


# --- the checkpoint ----------------------------------------------------------

def numbers(dtype, data):
    """The elements of a tensor as Python numbers."""
    if dtype == "BF16":
        halves = array.array("H", data)
        whole = struct.pack(f"<{len(halves)}I", *(h << 16 for h in halves))
        return list(struct.unpack(f"<{len(halves)}f", whole))
    code, width = {"F32": ("f", 4), "U32": ("I", 4), "U64": ("Q", 8)}[dtype]
    return list(struct.unpack(f"<{len(data) // width}{code}", data))


def read_shard(path):
    """name -> (dtype, shape, bytes), as any reader of safetensors does."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    start = 8 + length
    return {name: (entry["dtype"], entry["shape"],
                   data[start + entry["data_offsets"][0]:
                        start + entry["data_offsets"][1]])
            for name, entry in header.items()}


class Checkpoint:
    """All global tensors of a checkpoint, put together from its pieces."""

    def __init__(self, folder):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.tensor, self.dtype, self.shape, self.raw = {}, {}, {}, {}
        for file in self.manifest["files"]:
            shard = read_shard(folder / file["name"])
            for piece in file["tensors"]:
                self.place(piece, shard)

    def place(self, piece, shard):
        name, shape = piece["name"], piece["shape"]
        whole, first = piece["global_shape"], piece["first"]
        place = ",".join(map(str, first + [0] * (2 - len(first))))
        known = name if shape == whole else f"{name}@{place}"
        dtype, listed, data = shard[known]
        assert (dtype, listed) == (piece["dtype"], shape), piece
        columns = whole[1] if len(whole) > 1 else 1
        width = shape[1] if len(shape) > 1 else 1
        size = len(data) // max(1, shape[0] * width)
        if name not in self.raw:
            self.raw[name] = bytearray(whole[0] * columns * size)
            self.dtype[name], self.shape[name] = dtype, whole
        for row in range(shape[0]):
            at = ((first[0] + row) * columns
                  + (first[1] if len(first) > 1 else 0)) * size
            self.raw[name][at:at + width * size] = \
                data[row * width * size:(row + 1) * width * size]

    def numbers(self, name):
        if name not in self.tensor:
            self.tensor[name] = numbers(self.dtype[name],
                                        bytes(self.raw[name]))
        return self.tensor[name]

    def weights_sha256(self):
        hashed = hashlib.sha256()
        for name in sorted(self.raw, key=lambda name: name.encode()):
            if name.endswith((".weight", ".bias")):
                hashed.update(bytes(self.raw[name]))
        return hashed.hexdigest()


# --- the model in double -----------------------------------------------------

class Network:
    """What a checkpoint computes, by the definitions of the layers."""

    def __init__(self, checkpoint, layers, softmax, normalize):
        self.checkpoint = checkpoint
        self.layers, self.softmax = layers, softmax
        self.normalize = normalize

    def embed(self, features):
        name = self.layers[0]
        weight = self.checkpoint.numbers(name + ".weight")
        sums = list(self.checkpoint.numbers(name + ".bias"))
        length = math.sqrt(sum(x * x for _, x in features))
        scale = 1 / length if self.normalize and length > 0 else 1
        for feature, value in features:
            row = feature * len(sums)
            for k in range(len(sums)):
                sums[k] += weight[row + k] * value * scale
        return [max(x, 0) for x in sums]

    def logits(self, features):
        below = self.embed(features)
        for name in self.layers[1:]:
            weight = self.checkpoint.numbers(name + ".weight")
            bias = self.checkpoint.numbers(name + ".bias")
            width = len(below)
            sums = [b + sum(w * x for w, x in
                            zip(weight[k * width:(k + 1) * width], below))
                    for k, b in enumerate(bias)]
            below = sums if name == self.layers[-1] else \
                [max(x, 0) for x in sums]
        return below

    def probabilities(self, features):
        logits = self.logits(features)
        if not self.softmax:
            return [1 / (1 + math.exp(-x)) for x in logits]
        greatest = max(logits)
        parts = [math.exp(x - greatest) for x in logits]
        total = sum(parts)
        return [part / total for part in parts]


def best(probabilities, k):
    return sorted(range(len(probabilities)),
                  key=lambda i: (-probabilities[i], i))[:k]


def scores_of(network, train, test):
    """P@k, PSP@k, nDCG@k over the test points, by their definitions."""
    count = [0] * LABELS
    for labels, _ in train:
        for label in labels:
            count[label] += 1
    c = (math.log(len(train)) - 1) * (PROPENSITY_B + 1) ** PROPENSITY_A
    inverse = [1 + c * (n + PROPENSITY_B) ** -PROPENSITY_A for n in count]
    sums = {}
    for labels, features in test:
        ranked = best(network.probabilities(features), 5)
        weights = sorted((inverse[label] for label in labels), reverse=True)
        for k in (1, 3, 5):
            hits = [label in labels for label in ranked[:k]]
            gain = sum(inverse[label] for label in ranked[:k]
                       if label in labels)
            dcg = sum(1 / math.log2(at + 2)
                      for at, hit in enumerate(hits) if hit)
            ideal = sum(1 / math.log2(at + 2)
                        for at in range(min(k, len(labels))))
            for name, value in (("p", sum(hits) / k), ("gain", gain / k),
                                ("most", sum(weights[:k]) / k),
                                ("ndcg", dcg / ideal if ideal else 0)):
                sums[name, k] = sums.get((name, k), 0) + value
    n = len(test)
    found = {f"p{k}": sums["p", k] / n for k in (1, 3, 5)}
    found.update({f"psp{k}": sums["gain", k] / sums["most", k]
                  for k in (1, 3, 5)})
    found.update({f"ndcg{k}": sums["ndcg", k] / n for k in (3, 5)})
    return found


# --- what the commands say ---------------------------------------------------

def skein(folder, *words, text=""):
    done = subprocess.run([SKEIN, *words], cwd=folder, input=text,
                          capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def check_predictions(report, name, network, folder, test):
    """Every point, every label: order and probability, as the loss has it."""
    (pathlib.Path(folder) / name / "calibration").unlink(missing_ok=True)
    lines = "".join(" " + " ".join(f"{k}:{x}" for k, x in features) + "\n"
                    for _, features in test)
    told = events(skein(folder, "predict", name, "-", "-k", "20", "--json",
                        text=lines))
    report.check(f"{name}: a line in, a line out", len(told) == len(test),
                 f"{len(told)} lines")
    worst, wrong = 0.0, []
    for at, ((_, features), line) in enumerate(zip(test, told)):
        want = network.probabilities(features)
        for label, score in zip(line["labels"], line["scores"]):
            gap = abs(score - want[label]) / max(want[label], 1e-12)
            worst = max(worst, gap)
        # Where two are as good as equal, either may come first.
        for label, ideal in zip(line["labels"], best(want, 20)):
            if want[label] < want[ideal] * (1 - RELATIVE):
                wrong.append((at, label, ideal))
        if line["scores"] != sorted(line["scores"], reverse=True) or \
                len(set(line["labels"])) != 20:
            wrong.append((at, line))
    report.check(f"{name}: probabilities are those of the weights",
                 worst <= RELATIVE + PRINTED, f"off by {worst}")
    report.check(f"{name}: the best labels are told, best first", not wrong,
                 str(wrong[:3]))


def check_forms_of_output(report, name, network, folder, test):
    """Text and JSON, thresholds and names of labels: the same answers."""
    line = " " + " ".join(f"{k}:{x}" for k, x in test[0][1]) + "\n"
    asked = ("predict", name, "-", "-k", "7")
    as_json = events(skein(folder, *asked, "--json", text=line))[0]
    as_text = skein(folder, *asked, text=line).split()
    report.check(f"{name}: text and JSON say the same", as_text
                 == [f"{label}:{score:g}" for label, score in
                     zip(as_json["labels"], as_json["scores"])],
                 f"{as_text} {as_json}")
    limit = as_json["scores"][3]
    fewer = events(skein(folder, *asked, "--json", "--threshold",
                         str(limit * 1.0001), text=line))[-1]
    report.check(f"{name}: a threshold leaves out the less probable",
                 fewer["labels"] == [label for label, score in
                                     zip(as_json["labels"], as_json["scores"])
                                     if score > limit], str(fewer))
    names = folder / "names.txt"
    names.write_text("".join(f"label {k}\n" for k in range(LABELS)),
                     encoding="ascii")
    named = skein(folder, *asked, "--label-names", "names.txt", text=line)
    report.check(f"{name}: labels have their names", all(
        f"label {label}" in named for label in as_json["labels"]), named)
    several = skein(folder, *asked, text=line * 3).splitlines()
    report.check(f"{name}: equal lines have equal answers",
                 len(several) == 3 and len(set(several)) == 1, str(several))
    total = sum(network.probabilities(test[0][1]))
    report.check(f"{name}: probabilities sum to one where they compete",
                 not network.softmax or abs(total - 1) < 1e-9, str(total))


def check_scores(report, name, network, folder, train, test, done):
    told = events(skein(folder, "eval", name, "--json"))[-1]
    want = scores_of(network, train, test)
    for key, value in want.items():
        # Five digits are printed; one pair of equals may be ranked either way.
        report.check(f"{name}: {key} is as defined",
                     abs(told[key] - value) < 0.6e-5 + 1 / (50 * len(test)),
                     f"{told[key]}, not {value}")
        report.check(f"{name}: {key} is what training said at its end",
                     abs(told[key] - done[key]) < 1e-9,
                     f"{told[key]}, not {done[key]}")
    report.check(f"{name}: all points are counted",
                 told["points"] == len(test), str(told))


def check_inspection(report, name, checkpoint, folder, done):
    told = events(skein(folder, "inspect", name, "--json"))[0]
    sha = checkpoint.weights_sha256()
    report.check(f"{name}: the hash of the weights is that of the files",
                 sha == done["weights_sha256"] == told["weights_sha256"],
                 f"{sha} {done['weights_sha256']} {told['weights_sha256']}")
    tensors = {tensor["name"]: tensor for tensor in told["tensors"]}
    report.check(f"{name}: inspect lists every tensor",
                 set(tensors) == set(checkpoint.raw), str(set(tensors)
                                                         ^ set(checkpoint.raw)))
    wrong = [key for key, tensor in tensors.items()
             if tensor["dtype"] != checkpoint.dtype[key]
             or tensor["shape"] != checkpoint.shape[key]]
    report.check(f"{name}: with its type and shape", not wrong, str(wrong))
    pieces = {(key, piece["xxh3_128"]) for key, tensor in tensors.items()
              for piece in tensor["pieces"]}
    listed = {(piece["name"], piece["xxh3_128"])
              for file in checkpoint.manifest["files"]
              for piece in file["tensors"]}
    report.check(f"{name}: and the hash of each piece", pieces == listed,
                 str(pieces ^ listed))
    text = skein(folder, "inspect", name)
    report.check(f"{name}: the text of inspect has the hash and every tensor",
                 sha in text and all(key in text for key in tensors), text)
    finite = [key for key in checkpoint.raw
              if checkpoint.dtype[key] in ("F32", "BF16")
              and not all(map(math.isfinite, checkpoint.numbers(key)))]
    report.check(f"{name}: every number is finite", not finite, str(finite))


def check_form(report, name, folder, train, test):
    parts = {"data": "", "hidden": "", "middle": "", "output": "", "train": ""}
    parts.update(FORMS[name])
    (folder / "model.yaml").write_text(MODEL.format(name=name, **parts),
                                       encoding="ascii")
    told = events(skein(folder, "train", "model.yaml", "--json"))
    done = [event for event in told if event["event"] == "done"][-1]
    checkpoint = Checkpoint(folder / name / "latest")
    layers = ["hidden"] + (["second", "third"] if name == "deep" else []) \
        + ["output"]
    # What `auto` became stands in the config of the run.
    config = skein(folder, "inspect", name, "--config")
    network = Network(checkpoint, layers, "loss: softmax" in config,
                      "normalize: l2" in config)
    check_inspection(report, name, checkpoint, folder, done)
    check_predictions(report, name, network, folder, test)
    check_scores(report, name, network, folder, train, test, done)
    check_forms_of_output(report, name, network, folder, test)


def main():
    report = Report()
    train, test = draw_points(TRAIN_POINTS, 7), draw_points(TEST_POINTS, 8)
    with tempfile.TemporaryDirectory(prefix="skein-opinion-") as place:
        folder = pathlib.Path(place)
        write_points(folder / "train.txt", train)
        write_points(folder / "test.txt", test)
        for name in FORMS:
            check_form(report, name, folder, train, test)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
