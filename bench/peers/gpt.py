#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpt.py - a Llama-like decoder as a PyTorch user would write it.

Usage: gpt.py train [--ids FILE] [--steps 10] [--micros 1] [--load FOLDER]
                    [--save FOLDER] [--gradients FILE] ...
       gpt.py eval --ids FILE --load FOLDER ...
       gpt.py generate --prompt 72,105 [--tokens 64] --load FOLDER ...
`gpt.py --help` names all options and their defaults.

Model: embedding -> layers of (RMSNorm, attention with rotary positions,
RMSNorm, SwiGLU), with residuals -> RMSNorm -> lm_head; no biases, nothing tied.
Names and shapes of parameters are Llama's, and so is the order of rotation:
column i of a head turns with column i + n / 2. FOLDER holds model.safetensors
and config.json, which decides the shape where it is loaded.

Token ids are raw little-endian integers of --id-bytes. Without a file they are
random. Sequence k of a file has the ids from k x context on, and each id's
label is the next id; micro-batch k has --rows sequences from k x rows on, and
behind the last whole one comes the first.

A step: the mean loss of --micros micro-batches; its gradient clipped to a
global norm of --clip; AdamW, whose decay spares norms and the embedding; a rate
that rises over --warmup steps and falls along half a cosine
(docs/concepts/equations.md, (44)).

PyTorch 1.13 has no fused attention, so that it is written out there, and no
compiler.
Prints one JSON object a line.
"""
import argparse
import json
import math
import os
import resource
import statistics
import sys
import time

import tuned

if __name__ == "__main__" and "train" in sys.argv[1:]:
    tuned.enter()   # only where time counts: it measures kernels first

import numpy as np
import torch
from torch import nn
from torch.nn import functional

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16}
FUSED = getattr(functional, "scaled_dot_product_attention", None)     # 2.0
SHAPE = {   # an option, and what config.json calls it
    "vocabulary": "vocab_size", "width": "hidden_size",
    "inner": "intermediate_size", "layers": "num_hidden_layers",
    "heads": "num_attention_heads", "context": "max_position_embeddings",
    "epsilon": "rms_norm_eps", "theta": "rope_theta"}


# --- the model -------------------------------------------------------------

class Norm(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(own.width)), \
            own.epsilon

    def forward(self, x):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon)
        return x * scale * self.weight


def turned(x, angle):
    """[rows, heads, tokens, columns] at its positions."""
    cosine, sine = angle
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1)


class Attention(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.heads = own.heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(own.width, own.width, bias=False))

    def forward(self, x, angle, mask):
        rows, tokens, width = x.shape
        q, k, v = (project(x).view(rows, tokens, self.heads, -1)
                   .transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))
        q, k = turned(q, angle), turned(k, angle)
        if FUSED:
            mixed = FUSED(q, k, v, is_causal=True)
        else:
            score = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
            mixed = functional.softmax(score.add_(mask), -1) @ v
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, tokens, width))


class Gated(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.gate_proj = nn.Linear(own.width, own.inner, bias=False)
        self.up_proj = nn.Linear(own.width, own.inner, bias=False)
        self.down_proj = nn.Linear(own.inner, own.width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) *
                              self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(own), Attention(own)
        self.post_attention_layernorm, self.mlp = Norm(own), Gated(own)

    def forward(self, x, angle, mask):
        x = x + self.self_attn(self.input_layernorm(x), angle, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Some consecutive layers, with the embedding before the first of all and
    the head behind the last."""

    def __init__(self, own, layers=None):
        super().__init__()
        layers = range(own.layers) if layers is None else layers
        self.is_first, self.is_last = 0 in layers, own.layers - 1 in layers
        self.is_narrow = own.precision == "bf16"
        self.model = nn.Module()
        if self.is_first:
            self.model.embed_tokens = nn.Embedding(own.vocabulary, own.width)
        self.model.layers = nn.ModuleDict({str(k): Layer(own) for k in layers})
        if self.is_last:
            self.model.norm = Norm(own)
            self.lm_head = nn.Linear(own.width, own.vocabulary, bias=False)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, 0, 0.02)
        half = own.width // own.heads // 2
        angle = torch.arange(own.context)[:, None] * \
            own.theta ** (-torch.arange(half) / half)
        self.angle = angle.cos().to(own.device), angle.sin().to(own.device)
        self.mask = torch.full((own.context, own.context),
                               -math.inf).triu(1).to(own.device)
        self.to(own.device)

    def forward(self, x):
        """Of ids, or of what the layers before gave: logits, or what the next
        layers take."""
        tokens = x.shape[1]
        if self.is_first:
            x = self.model.embed_tokens(x)
        dtype = torch.bfloat16 if self.is_narrow else x.dtype
        angle = [part[:tokens].to(dtype) for part in self.angle]
        mask = self.mask[:tokens, :tokens].to(dtype)
        for layer in self.model.layers.values():
            x = layer(x, angle, mask)
        return self.lm_head(self.model.norm(x)) if self.is_last else x


def loss_of(logit, label):
    """The mean, in nats."""
    logit = logit.to(torch.promote_types(logit.dtype, torch.float32))
    return functional.cross_entropy(logit.flatten(0, 1), label.flatten())


def precision(own):
    return torch.autocast(own.device, torch.bfloat16, own.precision == "bf16")


# --- files -----------------------------------------------------------------

def write_tensors(path, tensors):
    """A safetensors file: the header's length, the header, the bytes."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": names[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.detach().cpu().contiguous().view(-1)
                       .view(torch.uint8).numpy().tobytes())


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    return {name: torch.frombuffer(
                data, dtype=DTYPES[entry["dtype"]],
                count=math.prod(entry["shape"]),
                offset=entry["data_offsets"][0]).view(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def load(own, model):
    found = read_tensors(os.path.join(own.load, "model.safetensors"))
    model.load_state_dict({name: found[name] for name in model.state_dict()})


def save(own, model):
    os.makedirs(own.save, exist_ok=True)
    write_tensors(os.path.join(own.save, "model.safetensors"),
                  model.state_dict())
    config = {name: getattr(own, option) for option, name in SHAPE.items()}
    config.update(architectures=["LlamaForCausalLM"], model_type="llama",
                  num_key_value_heads=own.heads, hidden_act="silu",
                  tie_word_embeddings=False, attention_bias=False,
                  torch_dtype="float32")
    with open(os.path.join(own.save, "config.json"), "w",
              encoding="ascii") as file:
        json.dump(config, file, indent=1)


def read_ids(own):
    if own.ids:
        return np.fromfile(own.ids, "<u%d" % own.id_bytes).astype(np.int64)
    count = own.context * own.rows * max(own.micros, 8) + 1
    return np.random.default_rng(own.seed).integers(0, own.vocabulary, count)


def batch(own, ids, number):
    """Ids and labels of a micro-batch, [rows, context]."""
    whole = (len(ids) - 1) // own.context
    at = (np.arange(own.rows) + number * own.rows) % whole * own.context
    both = torch.from_numpy(ids[at[:, None] + np.arange(own.context + 1)]).to(
        own.device)
    return both[:, :-1], both[:, 1:]


# --- what it does ----------------------------------------------------------

def optimizer_of(own, model):
    plain = [weight for name, weight in model.named_parameters()
             if weight.dim() < 2 or "embed_tokens" in name]
    decayed = [weight for name, weight in model.named_parameters()
               if weight.dim() > 1 and "embed_tokens" not in name]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": own.decay},
         {"params": plain, "weight_decay": 0.0}], own.rate,
        (own.beta1, own.beta2), own.adam_epsilon)


def rate_at(own, step):
    if step < own.warmup:
        return own.rate * (step + 1) / own.warmup
    done = min(1, (step - own.warmup) / max(1, own.steps - own.warmup))
    return own.rate * (own.floor + (1 - own.floor) *
                       (1 + math.cos(math.pi * done)) / 2)


def train(own, model):
    ids, optimizer = read_ids(own), optimizer_of(own, model)
    rates, loss = [], 0.0
    for step in range(own.steps):
        began_s, came_s = time.process_time(), time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate_at(own, step)
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for micro in range(own.micros):
            x, label = batch(own, ids, step * own.micros + micro)
            with precision(own):
                logit = model(x)
            loss = loss_of(logit, label) / own.micros
            loss.backward()
            total += float(loss)
        if own.gradients and step == own.steps - 1:
            write_tensors(own.gradients, {
                name: weight.grad for name, weight in model.named_parameters()})
        norm = nn.utils.clip_grad_norm_(model.parameters(),
                                        own.clip or math.inf)
        optimizer.step()
        spent_s = time.process_time() - began_s
        rates.append(own.micros * own.rows * own.context / spent_s)
        print(json.dumps({"event": "step", "step": step, "loss": total,
                          "rate": rate_at(own, step), "norm": float(norm),
                          "seconds": round(time.perf_counter() - came_s, 4),
                          "cpu_s": round(spent_s, 4)}), flush=True)
    counted = rates[1:] or rates    # the first step allocates
    return {"loss": total, "parameters": sum(
                weight.numel() for weight in model.parameters()),
            "tokens_per_cpu_s": round(statistics.median(counted), 1),
            "lowest": round(min(counted), 1), "highest": round(max(counted), 1)}


@torch.no_grad()
def evaluate(own, model):
    """The mean over all ids but the first, each in its sequence."""
    ids, nats = read_ids(own), 0.0
    for begin in range(0, len(ids) - 1, own.context):
        part = torch.from_numpy(ids[begin:begin + own.context + 1])[None].to(
            own.device)
        with precision(own):
            logit = model(part[:, :-1])
        nats += float(loss_of(logit, part[:, 1:])) * (part.shape[1] - 1)
    return {"tokens": len(ids) - 1, "nats": nats / (len(ids) - 1)}


@torch.no_grad()
def generate(own, model):
    """The likeliest id each time; the lowest of equals."""
    ids = [int(word) for word in own.prompt.split(",")]
    for _ in range(own.tokens):
        with precision(own):
            logit = model(torch.tensor([ids[-own.context:]], device=own.device))
        ids.append(int(logit[0, -1].argmax()))
    return {"ids": ids}


ACTIONS = {"train": train, "eval": evaluate, "generate": generate}


def options_of(parser):
    """Those that gloo.py has, too."""
    for name, kind, value in (
            ("layers", int, 6), ("width", int, 256), ("heads", int, 8),
            ("inner", int, 704), ("vocabulary", int, 257),
            ("context", int, 256), ("epsilon", float, 1e-5),
            ("theta", float, 1e4), ("rows", int, 8), ("micros", int, 1),
            ("steps", int, 10), ("ids", str, ""), ("id-bytes", int, 2),
            ("rate", float, 1e-3), ("warmup", int, 0), ("floor", float, 0.0),
            ("clip", float, 1.0), ("decay", float, 0.1),
            ("beta1", float, 0.9), ("beta2", float, 0.95),
            ("adam-epsilon", float, 1e-8), ("seed", int, 1),
            ("threads", int, 1), ("load", str, "")):
        parser.add_argument("--" + name, type=kind, default=value,
                            help="%s (%s)" % (kind.__name__, value))
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")


def shaped(own):
    """The options, with the shape of what is loaded."""
    if own.load:
        with open(os.path.join(own.load, "config.json"),
                  encoding="utf-8") as file:
            config = json.load(file)
        for option, name in SHAPE.items():
            setattr(own, option, config[name])
    torch.manual_seed(own.seed)
    torch.set_num_threads(own.threads)
    return own


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=ACTIONS)
    options_of(parser)
    for name in ("save", "gradients", "prompt"):
        parser.add_argument("--" + name, default="")
    parser.add_argument("--tokens", type=int, default=64)
    own = shaped(parser.parse_args())
    model = Decoder(own)
    if own.load:
        load(own, model)
    found = ACTIONS[own.action](own, model)
    if own.save:
        save(own, model)
    print(json.dumps({
        "event": own.action, **found, "precision": own.precision,
        "threads": own.threads,
        "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
        "torch": torch.__version__, "peak_mb": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
