#!/usr/bin/python3
"""same_as_torch.py - a decoder trains as PyTorch trains it.

Both begin with the same weights and read the same text in the same order;
bench/peers/gpt.py is PyTorch's side. Compared are all weights after 100 steps,
the loss of every epoch, and the gradient of every tensor at weights that were
trained for some steps: with beta1 0, Adam's first moment in a checkpoint is the
gradient. Skipped without PyTorch, which tests do not install.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "peers")]
# pylint: disable=wrong-import-position
import checks  # noqa: E402

if not importlib.util.find_spec("torch"):
    print("PyTorch is missing: .ci/deps --peers installs it")
    sys.exit(77)
import gpt  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import twin  # noqa: E402

SKEIN = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")) / "skein"
SEEDS = 50
VOCABULARY, END = 257, 256    # of the tokenizer `bytes`
# Of the greatest number of a tensor, from PyTorch in double to Skein.
# Sums of floats in another order differ by 1e-6, and 100 steps of Adam, which
# divides small gradients by themselves, make more of that: where PyTorch in
# single ends farther from PyTorch in double than this, so may Skein.
TOLERANCE = 1e-4
WORDS = ("stage ", "layer ", "of ", "the ", "gradient", ". ", "Token ", "3.1\n")
MODEL = """skein: 1
data: {{ train: text.txt, context: {context}, cache: none }}
model: {{ kind: decoder, layers: {layers}, width: {width}, heads: {heads},
          inner: {inner}, stages: {stages},
          head: {{ sampler: {{ kind: exact }} }} }}
train: {{ micro_tokens: {micro}, batch_tokens: {step}, steps: {steps},
          precision: f32, seed: {seed}, validate: {validate},
          clip_norm: {clip},
          optimizer: {{ kind: adam, rate: {rate}, beta1: {beta1}, beta2: 0.95,
                        weight_decay: {decay} }},
          schedule: {{ kind: cosine, warmup_batches: {warmup},
                       floor: {floor} }},
          evaluate: {{ every_epochs: 0 }} }}
checkpoint: {{ keep: 2 }}
resources: {{ huge_pages: false }}
"""
SHAPE = {"layers": 2, "width": 64, "heads": 4, "inner": 96, "context": 64,
         "stages": 1, "micros": 4, "rows": 4, "epoch_steps": 1, "validate": 0}
COURSE = {"steps": 100, "rate": 0.001, "beta1": 0.9, "decay": 0.1, "clip": 1.0,
          "warmup": 10, "floor": 0.1, "seed": 1}


def distance(found, wanted):
    """The greatest one from a tensor of `wanted`, as a share of its greatest
    number; and its name."""
    assert set(found) == set(wanted)
    return max((float((found[name].double() - tensor).detach().abs().max() /
                      tensor.abs().max()), name)
               for name, tensor in wanted.items())


class Same(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        twin.follow()

    def begin(self, **more):
        """The options of a run, and its text: the end of it is a token."""
        parser = argparse.ArgumentParser()
        gpt.options_of(parser)
        own = parser.parse_args([])
        vars(own).update(SHAPE, **COURSE)
        vars(own).update(more, vocabulary=VOCABULARY, gradients="",
                         ids=str(self.folder / "ids"))
        dice, text = random.Random(own.seed), b""
        length = own.context * own.rows * own.micros * own.epoch_steps
        while len(text) < length:
            text += dice.choice(WORDS).encode()
        text = text[:length]
        (self.folder / "text.txt").write_bytes(text)
        np.array([*text, END], "<u2").tofile(own.ids)
        return own

    def skein(self, own, name, **more):
        """Trains; the losses of the epochs."""
        named_own = {**vars(own), **more, "micro": own.rows * own.context,
                     "step": own.micros * own.rows * own.context}
        path = self.folder / (name + ".yaml")
        path.write_text(MODEL.format(**named_own), encoding="ascii")
        done = subprocess.run(
            [str(SKEIN), "train", str(path), "--json", "-o",
             f"checkpoint.path={self.folder / name}"], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        own.events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event["loss"] for event in own.events
                if event["event"] == "epoch"]

    def checkpoint(self, own, name, step):
        return self.folder / name / f"batch-{step * own.micros:012d}"

    @staticmethod
    def torch(own, weights, dtype):
        """Trains from these weights; the model, and the losses of epochs."""
        torch.set_num_threads(1)
        model = gpt.Decoder(own).to(dtype)
        model.load_state_dict(weights)
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            gpt.train(own, model)
        losses = [json.loads(line)["loss"]
                  for line in told.getvalue().splitlines()]
        return model, np.reshape(losses, (-1, own.epoch_steps)).mean(1)

    def train_both(self, what, **more):
        own = self.begin(**more)
        self.skein(own, "first", steps=1, rate=0)
        first = twin.weights(own, self.checkpoint(own, "first", 1))
        losses = self.skein(own, "run")
        exact, exact_losses = self.torch(own, first, torch.float64)
        single, _ = self.torch(own, first, torch.float32)
        self.assertEqual(len(losses), len(exact_losses))
        wanted = dict(exact.named_parameters())
        found, tensor = distance(twin.weights(
            own, self.checkpoint(own, "run", own.steps)), wanted)
        usual, _ = distance(dict(single.named_parameters()), wanted)
        loss = max(abs(a - b) for a, b in zip(losses, exact_losses))
        print(f"{what}: weights {found:.1e} ({tensor}), PyTorch in single "
              f"{usual:.1e}; losses {loss:.1e}", flush=True)
        self.assertLess(found, max(TOLERANCE, 4 * usual), what)
        self.assertLess(loss, max(TOLERANCE, 4 * usual), what)

    def test_100_steps(self):
        self.train_both("one stage")

    def test_100_steps_of_two_stages(self):
        self.train_both("two stages", stages=2, layers=3, seed=2)

    def test_100_steps_in_20_epochs(self):
        self.train_both("5 steps an epoch", epoch_steps=5, layers=1, heads=2,
                        rows=2, micros=2, seed=8)

    def test_100_steps_with_much_clipping(self):
        self.train_both("clip 0.05", clip=0.05, seed=3)

    def test_100_steps_without_clipping(self):
        self.train_both("no clip", clip=0, seed=4)

    def test_100_steps_of_wide_heads(self):
        self.train_both("wide heads", heads=1, inner=32, context=16, rows=16,
                        seed=5)

    def test_100_steps_of_narrow_heads(self):
        self.train_both("narrow heads", heads=8, inner=160, context=128,
                        rows=1, micros=3, stages=2, warmup=25, floor=0, seed=6)

    def test_100_steps_with_much_decay(self):
        self.train_both("decay 1", decay=1, seed=7)

    def test_nats_of_validation(self):
        """All sequences are the same, so that it does not matter which of them
        were held back; but for the last one, which ends with the text."""
        own = self.begin(steps=12, rate=0.01, validate=0.2, epoch_steps=3)
        text = (self.folder / "text.txt").read_bytes()[:own.context]
        (self.folder / "text.txt").write_bytes(text * 64)
        np.array([*text, text[0]], "<u2").tofile(own.ids)
        self.skein(own, "run")
        model = gpt.Decoder(own).double()
        model.load_state_dict(
            twin.weights(own, self.checkpoint(own, "run", own.steps)))
        told, wanted = (own.events[-1]["validation_nats"],
                        gpt.evaluate(own, model)["nats"])
        print(f"nats of validation: {told}, PyTorch {wanted:.7f}", flush=True)
        self.assertAlmostEqual(told, wanted, delta=2e-6)

    def test_gradients(self):
        """At weights after some steps, where attention is not uniform."""
        for seed in range(1, SEEDS + 1):
            dice = random.Random(seed)
            width = dice.choice((32, 48, 64))
            own = self.begin(
                seed=seed, width=width, layers=dice.choice((1, 2, 3)),
                heads=dice.choice((1, 2, width // 16, width // 8)),
                inner=16 * dice.randrange(1, 9), stages=1, beta1=0, clip=0,
                context=dice.choice((8, 16, 33, 64)), rows=dice.choice((1, 3)),
                micros=dice.choice((1, 2, 4)), steps=20, rate=0.01, warmup=1,
                floor=1)
            name = f"run{seed}"
            self.skein(own, name)
            before = twin.weights(
                own, self.checkpoint(own, name, own.steps - 1))
            once = argparse.Namespace(**{**vars(own), "steps": 1})
            model, _ = self.torch(once, before, torch.float64)
            found, tensor = distance(
                twin.first_moments(own, self.checkpoint(own, name, own.steps)),
                {key: weight.grad for key, weight in model.named_parameters()})
            print(f"seed {seed}: gradients {found:.1e} ({tensor})", flush=True)
            self.assertLess(found, TOLERANCE, seed)


if __name__ == "__main__":
    checks.main()
