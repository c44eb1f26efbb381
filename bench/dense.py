#!/usr/bin/python3
"""dense.py - our transformers beside those of PyTorch: rates, memory, nats.

Usage: bench/dense.py rates [--tokenizer bytes] [--text PATH] [--layers 6] ...
       bench/dense.py nats [--seeds 1,2,3] [--text PATH] [--layers 3] ...
       bench/dense.py --help
rates: tokens a CPU second and peak memory (VmHWM) of training on one core, one
stage unless told; --precision is that of both, --sampled that of Skein's head
alone. Skein and bench/peers/gpt.py take turns. Skein's CPU seconds are those of
a long run less those of a short one, so that starting, reading and saving are
left out; gpt.py gives the median of its steps without the first.
nats: both train on the same text in the same order from the same weights, with
AdamW, warm-up, cosine, decay and clipping; then gpt.py, in f32, says what the
weights of either are worth: the exact nats a token of text that was held back.
The text is that of the first Python files of --text, or a file.
Both print a Markdown table, or with --json the figures. Other work on the
machine slows both sides; PyTorch has its best settings (bench/peers/tuned.py).
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import importlib.util
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "peers"))
if not importlib.util.find_spec("torch"):
    sys.exit("dense.py: PyTorch is missing: .ci/deps --peers installs it")
import tuned

tuned.enter()

import gpt
import numpy as np
import torch
import twin

MODEL = """skein: 1
data: {{ train: {train}, tokenizer: {tokenizer}, context: {context},
        vocabulary: {words}, cache: {cache} }}
model: {{ kind: decoder, layers: {layers}, width: {width}, heads: {heads},
         inner: {inner}, stages: {stages}, head: {{ sampler: {sampler} }} }}
train: {{ micro_tokens: {micro}, batch_tokens: {step}, steps: {steps},
         seed: {seed}, precision: {precision}, clip_norm: 1, validate: 0,
         optimizer: {{ kind: adam, rate: {rate}, beta2: 0.95,
                      weight_decay: 0.1 }},
         schedule: {{ kind: cosine, warmup_batches: {warmup} }},
         evaluate: {{ every_epochs: 0 }} }}
checkpoint: {{ path: {path}, every_epochs: 0 }}
resources: {{ cores: {cores} }}
"""
# layers, width, heads, inner, context, sequences of a micro-batch,
# micro-batches of a step, steps
SHAPES = {"rates": (6, 256, 8, 704, 256, 8, 1, 6),
          "nats": (3, 160, 5, 448, 128, 4, 2, 300)}
HELD_BYTES = 1 << 15
BYTES = 257             # ids of the tokenizer `bytes`, the end being the last


def run(own, words, environment):
    """Runs on one core: what it prints, CPU seconds, peak memory in MB."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, own.cpus))
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("dense.py: %s ended with %d" % (words[0], process.returncode))
    return ([json.loads(line) for line in text.splitlines()],
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def skein(own, name, **more):
    keys = {**vars(own), "warmup": 1, "path": own.folder / name,
            "cores": len(own.cpus),
            "sampler": "{ kind: log_uniform, rows: %d, labels: true }" %
                       own.sampled if own.sampled else "{ kind: exact }",
            "micro": own.rows * own.context,
            "step": own.rows * own.context * own.micros, **more}
    path = own.folder / (name + ".yaml")
    path.write_text(MODEL.format(**keys), encoding="utf-8")
    return run(own, [own.skein, "train", str(path), "--json"], tuned.plain())


def last_checkpoint(own, name):
    return max((own.folder / name).glob("batch-*"))


# --- rates -------------------------------------------------------------------

def rate_of_skein(own, turn):
    short, long = (skein(own, f"{length}.{turn}", steps=steps) for length, steps
                   in (("short", 2), ("long", 2 + own.steps)))
    tokens = own.steps * own.micros * own.rows * own.context
    return tokens / (long[1] - short[1]), long[2]


def rate_of_torch(own):
    words = [sys.executable, str(HERE / "peers" / "gpt.py"), "train", "--steps",
             str(own.steps + 1), "--vocabulary", str(own.vocabulary),
             "--precision", own.precision]
    for name in ("layers", "width", "heads", "inner", "context", "rows",
                 "micros"):
        words += ["--" + name, str(getattr(own, name))]
    events, _, peak_mb = run(own, words, tuned.environment())
    return events[-1]["tokens_per_cpu_s"], peak_mb


def rates(own):
    own.train, own.cache = own.text, own.folder / "tokens"
    events = skein(own, "cache", steps=1)[0]
    own.vocabulary = events[0]["labels"]
    found = [(*rate_of_skein(own, turn), *rate_of_torch(own))
             for turn in range(own.repeats)]
    ratios = [pair[0] / pair[2] for pair in found]
    return {"ids": own.vocabulary,
            "skein_tokens_per_cpu_s": [round(pair[0]) for pair in found],
            "torch_tokens_per_cpu_s": [round(pair[2]) for pair in found],
            "ratio": round(statistics.median(ratios), 3),
            "lowest": round(min(ratios), 3), "highest": round(max(ratios), 3),
            "skein_peak_mb": round(max(pair[1] for pair in found)),
            "torch_peak_mb": round(max(pair[3] for pair in found))}


def print_rates(found):
    print("| ids | tokens a CPU second, Skein | PyTorch | ratio, pair by pair "
          "| peak memory, Skein, MB | PyTorch, MB |\n|---|---|---|---|---|---|")
    print("| %d | %s | %s | %.2f (%.2f-%.2f) | %d | %d |" % (
        found["ids"],
        format(round(statistics.median(found["skein_tokens_per_cpu_s"])), ","),
        format(round(statistics.median(found["torch_tokens_per_cpu_s"])), ","),
        found["ratio"], found["lowest"], found["highest"],
        found["skein_peak_mb"], found["torch_peak_mb"]))


# --- nats --------------------------------------------------------------------

def write_text(own, length):
    """The text in two parts, and what the second one is as ids."""
    paths = sorted(pathlib.Path(own.text).rglob("*.py")) or [
        pathlib.Path(own.text)]
    text = bytearray()
    for path in paths:
        text += path.read_bytes()
        if len(text) >= length + HELD_BYTES:
            break
    else:
        sys.exit("dense.py: %s has %d bytes, and %d are needed" % (
            own.text, len(text), length + HELD_BYTES))
    for name, part in (("train", text[:length]),
                       ("held", text[length:length + HELD_BYTES])):
        (own.folder / name).write_bytes(part)
        np.array([*part, BYTES - 1], "<u2").tofile(own.folder / (name + ".ids"))


def evaluated(own, model):
    own.ids = own.folder / "held.ids"
    return gpt.evaluate(own, model)["nats"]


def nats_of_skein(own, precision):
    name = f"{precision}.{own.seed}"
    skein(own, name, precision=precision, warmup=own.warmup)
    model = gpt.Decoder(own)
    model.load_state_dict(twin.weights(own, last_checkpoint(own, name)))
    return evaluated(own, model)


def nats_of_torch(own):
    skein(own, f"first.{own.seed}", steps=1, rate=0)
    first = last_checkpoint(own, f"first.{own.seed}")
    model = gpt.Decoder(own)
    model.load_state_dict(twin.weights(own, first))
    own.ids = own.folder / "train.ids"
    with contextlib.redirect_stdout(io.StringIO()):
        gpt.train(own, model)
    return evaluated(own, model)


def nats(own):
    torch.set_num_threads(1)
    own.vocabulary, own.cache = BYTES, "none"
    own.train, own.warmup = own.folder / "train", own.steps // 10
    twin.follow()
    write_text(own, own.steps * own.micros * own.rows * own.context)
    found = []
    for own.seed in own.seeds:
        found.append({"seed": own.seed, **{
            side: nats_of_torch(own) if side == "torch" else
            nats_of_skein(own, side) for side in own.sides}})
    return {"seeds": found}


def print_nats(found):
    print("| seed | PyTorch f32 | Skein f32 | difference | Skein bf16 "
          "| difference |\n|---|---|---|---|---|---|")
    for one in found["seeds"]:
        torch_nats = one.get("torch", math.nan)
        f32, bf16 = (one.get(side, math.nan) for side in ("f32", "bf16"))
        print("| %d | %.4f | %.4f | %+.5f | %.4f | %+.5f |" % (
            one["seed"], torch_nats, f32, f32 - torch_nats, bf16,
            bf16 - torch_nats))


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=SHAPES)
    parser.add_argument("--skein", default=str(HERE.parent / "build" / "skein"))
    parser.add_argument("--text", default="/usr/lib/python3")
    parser.add_argument("--tokenizer", default="bytes")
    parser.add_argument("--words", type=int, default=32768)
    parser.add_argument("--rate", type=float, default=0.002)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--sampled", type=int, default=0, metavar="ROWS",
                        help="of Skein's head; 0: the exact softmax")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seeds", type=numbers, default=[1, 2, 3])
    parser.add_argument("--sides", type=lambda text: text.split(","),
                        default=["torch", "f32", "bf16"])
    parser.add_argument("--cpus", type=numbers, default=[1])
    parser.add_argument("--stages", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of PyTorch, in nats")
    parser.add_argument("--json", action="store_true")
    names = ("layers", "width", "heads", "inner", "context", "rows", "micros",
             "steps")
    for name in names:
        parser.add_argument("--" + name, type=int)
    peer = argparse.ArgumentParser()
    gpt.options_of(peer)
    own = peer.parse_args([])
    parser.parse_args(namespace=own)
    given = parser.parse_args()
    for name, value in zip(names, SHAPES[own.action]):
        setattr(own, name, getattr(given, name) or value)
    own.gradients = ""
    with tempfile.TemporaryDirectory() as folder:
        own.folder = pathlib.Path(folder)
        found = globals()[own.action](own)
    found["peer"] = tuned.sentence(tuned.settings(sys.executable))
    if own.json:
        print(json.dumps(found))
    else:
        globals()["print_" + own.action](found)
        print(found["peer"])


if __name__ == "__main__":
    main()
