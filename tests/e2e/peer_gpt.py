#!/usr/bin/env python3
"""peer_gpt.py - the PyTorch twin of the transformers computes what it says.

A decoder in plain Python, in double, by the formulas alone, is held against
bench/peers/gpt.py: nats, gradients, a step of AdamW, greedy ids, the files. The
pipeline of bench/peers/gloo.py has the losses of the whole. Skipped without
PyTorch, which tests do not install.
SPDX-License-Identifier: Apache-2.0
"""
import array
import cmath
import json
import math
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "bench" / "peers"
sys.path[:0] = [str(ROOT / "tests"), str(PEERS)]
import checks  # noqa: E402  pylint: disable=wrong-import-position
import tuned  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = "/usr/bin/python3"
VOCABULARY, WIDTH, INNER, LAYERS, HEADS, CONTEXT = 11, 16, 32, 3, 2, 6
EPSILON, THETA = 1e-5, 1e4
RATE, DECAY, CLIP = 0.01, 0.1, 0.5
CONFIG = {"vocab_size": VOCABULARY, "hidden_size": WIDTH,
          "intermediate_size": INNER, "num_hidden_layers": LAYERS,
          "num_attention_heads": HEADS, "max_position_embeddings": CONTEXT,
          "rms_norm_eps": EPSILON, "rope_theta": THETA}
# Several commands of gpt.py in one process: PyTorch takes seconds to start.
SEVERAL = """
import json, sys
import gpt
for words in json.loads(sys.argv[1]):
    sys.argv = ["gpt.py", *words]
    gpt.main()
    print("null")
"""
# What to choose the kernels by takes six processes, which nightly has.
if "SKEIN_TESTS" not in os.environ:
    os.environ.setdefault(tuned.MARK, json.dumps(
        {"openblas_coretype": "Nehalem", "gflops": {"Nehalem": 1.0},
         "malloc": tuned.MALLOC}))


def shapes():
    """Of every tensor of the model."""
    found = {"model.embed_tokens.weight": (VOCABULARY, WIDTH),
             "model.norm.weight": (WIDTH,),
             "lm_head.weight": (VOCABULARY, WIDTH)}
    for k in range(LAYERS):
        for name, shape in (
                ("input_layernorm", (WIDTH,)),
                ("self_attn.q_proj", (WIDTH, WIDTH)),
                ("self_attn.k_proj", (WIDTH, WIDTH)),
                ("self_attn.v_proj", (WIDTH, WIDTH)),
                ("self_attn.o_proj", (WIDTH, WIDTH)),
                ("post_attention_layernorm", (WIDTH,)),
                ("mlp.gate_proj", (INNER, WIDTH)),
                ("mlp.up_proj", (INNER, WIDTH)),
                ("mlp.down_proj", (WIDTH, INNER))):
            found[f"model.layers.{k}.{name}.weight"] = shape
    return found


def write_file(path, weights, bf16=False):
    header, data = {}, b""
    for name, shape in shapes().items():
        raw = array.array("f", weights[name]).tobytes()
        if bf16:    # the upper half of each number
            raw = b"".join(raw[k + 2:k + 4] for k in range(0, len(raw), 4))
        header[name] = {"dtype": "BF16" if bf16 else "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.mkdir()
    (path / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + data)
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="ascii")


def read_file(path):
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        assert tuple(entry["shape"]) == shapes()[name], name
    return {name: list(array.array("f", data[begin + entry["data_offsets"][0]:
                                             begin + entry["data_offsets"][1]]))
            for name, entry in header.items()}


# --- the decoder, by its formulas -------------------------------------------

def product(weight, x):
    return [sum(map(float.__mul__, weight[k:k + len(x)], x))
            for k in range(0, len(weight), len(x))]


def norm(weight, x):
    scale = 1 / math.sqrt(sum(a * a for a in x) / len(x) + EPSILON)
    return [a * scale * w for a, w in zip(x, weight)]


def softmax(score):
    power = [math.exp(a - max(score)) for a in score]
    return [a / sum(power) for a in power]


def turned(head, position):
    """Pairs of columns as complex numbers, turned."""
    half = len(head) // 2
    pairs = [complex(head[i], head[i + half]) *
             cmath.exp(1j * position * THETA ** (-i / half))
             for i in range(half)]
    return [z.real for z in pairs] + [z.imag for z in pairs]


def attention(weights, name, x):
    """x: a vector a position."""
    q, k, v = ([product(weights[f"{name}.{letter}_proj.weight"], one)
                for one in x] for letter in "qkv")
    size, mixed = WIDTH // HEADS, [[] for _ in x]
    for begin in range(0, WIDTH, size):
        of = slice(begin, begin + size)
        key = [turned(one[of], t) for t, one in enumerate(k)]
        for t, query in enumerate(q):
            query = turned(query[of], t)
            share = softmax([sum(a * b for a, b in zip(query, key[s])) /
                             math.sqrt(size) for s in range(t + 1)])
            mixed[t] += [sum(p * v[s][begin + i] for s, p in enumerate(share))
                         for i in range(size)]
    return [product(weights[f"{name}.o_proj.weight"], one) for one in mixed]


def gated(weights, name, x):
    gate, up = (product(weights[f"{name}.{part}_proj.weight"], x)
                for part in ("gate", "up"))
    return product(weights[f"{name}.down_proj.weight"],
                   [a / (1 + math.exp(-a)) * b for a, b in zip(gate, up)])


def probabilities(weights, ids):
    """Of the next id, at each position."""
    table = weights["model.embed_tokens.weight"]
    x = [table[k * WIDTH:(k + 1) * WIDTH] for k in ids]
    for k in range(LAYERS):
        name = f"model.layers.{k}"
        more = attention(weights, name + ".self_attn", [
            norm(weights[name + ".input_layernorm.weight"], one) for one in x])
        x = [list(map(float.__add__, *both)) for both in zip(x, more)]
        x = [list(map(float.__add__, one, gated(
            weights, name + ".mlp",
            norm(weights[name + ".post_attention_layernorm.weight"], one))))
             for one in x]
    return [softmax(product(weights["lm_head.weight"],
                            norm(weights["model.norm.weight"], one)))
            for one in x]


def nats(weights, ids):
    """Mean over all sequences of CONTEXT ids."""
    total = 0.0
    for begin in range(0, len(ids) - 1, CONTEXT):
        part = ids[begin:begin + CONTEXT + 1]
        total -= sum(math.log(p[label]) for p, label in zip(
            probabilities(weights, part[:-1]), part[1:]))
    return total / (len(ids) - 1)


@unittest.skipIf(
    subprocess.run([PYTHON, "-c", "import torch"], check=False,
                   stderr=subprocess.DEVNULL).returncode,
    "the PyTorch twin needs python3-torch; .ci/deps --peers installs it")
class Twin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.environment = tuned.environment(PYTHON)
        dice = random.Random(1)
        cls.weights = {name: [float(a) for a in array.array("f", (
            dice.gauss(1 if len(shape) == 1 else 0, 0.3)
            for _ in range(math.prod(shape))))]
            for name, shape in shapes().items()}
        write_file(cls.folder / "base", cls.weights)
        cls.ids = [dice.randrange(VOCABULARY) for _ in range(4 * CONTEXT + 1)]
        (cls.folder / "ids").write_bytes(array.array("H", cls.ids).tobytes())
        cls.step = cls.peer("gpt.py", "train", "--rows", "4", "--steps", "1",
                            "--gradients", "gradients", "--save", "after")
        write_file(cls.folder / "half", cls.weights, bf16=True)
        cls.three, cls.scored, cls.continued, cls.half = cls.several(
            cls.words("train", "--rows", "1", "--micros", "4", "--steps", "3"),
            cls.words("eval"),
            cls.words("generate", "--prompt", "3,1", "--tokens", "7"),
            cls.words("train", "--rows", "4", "--steps", "1", "--precision",
                      "bf16", load="half"))

    @staticmethod
    def words(*words, load="base"):
        """With what all commands have."""
        return [*words, "--load", load, "--ids", "ids", "--rate", str(RATE),
                "--decay", str(DECAY), "--clip", str(CLIP)]

    @classmethod
    def start(cls, *words):
        return subprocess.Popen([PYTHON, *words], cwd=cls.folder, text=True,
                                env=dict(cls.environment, PYTHONPATH=PEERS),
                                stdout=subprocess.PIPE)

    @classmethod
    def several(cls, *commands):
        """The lines of each command of gpt.py."""
        found = [[]]
        for told in cls.end(cls.start("-c", SEVERAL, json.dumps(commands))):
            if told is None:
                found.append([])
            else:
                found[-1].append(told)
        return found[:-1]

    @classmethod
    def end(cls, process):
        """Its lines; the last one is the result."""
        text, _ = process.communicate(timeout=300)
        assert process.returncode == 0, process.args
        return [json.loads(line) for line in text.splitlines()]

    @classmethod
    def peer(cls, program, *words):
        return cls.end(cls.start(PEERS / program, *cls.words(*words)))

    def test_the_loss_is_that_of_the_formulas(self):
        want = nats(self.weights, self.ids)
        self.assertAlmostEqual(self.step[0]["loss"], want, delta=1e-5)
        told = self.scored[-1]
        self.assertAlmostEqual(told["nats"], want, delta=1e-5)
        self.assertEqual(told["tokens"], len(self.ids) - 1)

    def test_gradients_are_the_slopes_of_the_loss(self):
        found, dice = read_file(self.folder / "gradients"), random.Random(2)
        self.assertEqual(set(found), set(shapes()))
        for name, values in found.items():
            at, step, sides = dice.randrange(len(values)), 1e-5, []
            for sign in (1, -1):
                weights = dict(self.weights, **{
                    name: list(self.weights[name])})
                weights[name][at] += sign * step
                sides.append(nats(weights, self.ids))
            self.assertAlmostEqual(
                values[at], (sides[0] - sides[1]) / (2 * step),
                delta=1e-6 + 1e-4 * max(map(abs, values)), msg=name)

    def test_a_step_clips_and_decays_matrices_alone(self):
        gradients = read_file(self.folder / "gradients")
        after = read_file(self.folder / "after" / "model.safetensors")
        length = math.sqrt(sum(g * g for values in gradients.values()
                               for g in values))
        self.assertAlmostEqual(self.step[0]["norm"], length, delta=1e-4)
        self.assertGreater(length, CLIP)
        for name, shape in shapes().items():
            decay = DECAY if len(shape) > 1 and "embed" not in name else 0
            for w, g, got in zip(self.weights[name], gradients[name],
                                 after[name]):
                g *= CLIP / length
                self.assertAlmostEqual(
                    got, w * (1 - RATE * decay) - RATE * g / (abs(g) + 1e-8),
                    delta=1e-5, msg=name)

    def test_micro_batches_add_up_to_the_step(self):
        for key in ("loss", "norm"):
            self.assertAlmostEqual(self.three[0][key], self.step[0][key],
                                   delta=1e-5)
        self.assertLess(self.three[2]["loss"], self.three[0]["loss"])

    def test_a_pipeline_has_the_losses_of_the_whole(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        stages = [self.start(PEERS / "gloo.py", *self.words(
                      "--rank", rank, "--world", "2", "--port", port,
                      "--interface", "lo", "--rows", "1", "--micros", "4",
                      "--steps", "3"))
                  for rank in "01"]
        told = [self.end(stage) for stage in stages][0]
        for own, whole in zip(told[:3], self.three[:3]):
            self.assertAlmostEqual(own["loss"], whole["loss"], delta=1e-5)
            self.assertAlmostEqual(own["norm"], whole["norm"], delta=1e-4)

    def test_generated_ids_are_the_likeliest(self):
        told = self.continued[-1]["ids"]
        self.assertEqual(told[:2], [3, 1])
        for end in range(2, 9):
            chance = probabilities(self.weights, told[:end][-CONTEXT:])[-1]
            self.assertAlmostEqual(chance[told[end]], max(chance), delta=1e-5)

    def test_bf16_is_near_f32(self):
        self.assertAlmostEqual(self.half[0]["loss"], self.step[0]["loss"],
                               delta=0.05)

    def test_the_settings_are_told(self):
        settings = tuned.settings(PYTHON)
        self.assertEqual(self.step[-1]["openblas_coretype"],
                         settings["openblas_coretype"])
        self.assertRegex(tuned.sentence(settings), r"^PyTorch with kernels of "
                         r".*GFLOP/s.*; malloc keeps its memory$")


if __name__ == "__main__":
    checks.main()
