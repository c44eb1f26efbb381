#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""twin.py - a decoder of Skein for gpt.py: its weights, the order of its text.

Weights come from the files of a checkpoint, whose layout is that of
actors/protocol/decoder.h. The order of an epoch's sequences is computed again,
as actors/course/batches.c does it: Fisher & Yates with draws of Philox. After
`follow()`, gpt.py reads its ids in that order. Needs NumPy and PyTorch.
"""
import functools
import json
import pathlib

import numpy as np
import torch

import gpt

TENSORS = (     # of a layer, in the order of rows, and their rows
    ("input_layernorm", lambda own: 1),
    ("post_attention_layernorm", lambda own: 1),
    ("self_attn.q_proj", lambda own: own.width),
    ("self_attn.k_proj", lambda own: own.width),
    ("self_attn.v_proj", lambda own: own.width),
    ("self_attn.o_proj", lambda own: own.width),
    ("mlp.gate_proj", lambda own: own.inner),
    ("mlp.up_proj", lambda own: own.inner),
    ("mlp.down_proj", lambda own: own.inner))   # transposed
SHUFFLE = 4             # SKN_DRAW_SHUFFLE
WORD = 0xffffffff


# --- weights -----------------------------------------------------------------

def read_tables(folder):
    """Every table of floats in a checkpoint, by its name; a part of one has its
    first row and column behind the name."""
    parts = {}
    for path in pathlib.Path(folder).glob("*.safetensors"):
        data = path.read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        for name, entry in header.items():
            name, _, place = name.partition("@")
            if entry.get("dtype") == "F32":
                first, end = entry["data_offsets"]
                part = np.frombuffer(data[begin + first:begin + end], "<f4")
                parts.setdefault(name, {})[int(place.split(",")[0] or 0)] = \
                    part.reshape(entry["shape"])
    return {name: np.concatenate([part for _, part in sorted(found.items())])
            for name, found in parts.items()}


def named(own, embedding, decoder, head):
    """Tensors with the names and shapes of Llama, from tables of rows."""
    found, at = {"model.embed_tokens.weight": embedding}, 0
    for layer in range(own.layers):
        for name, rows_of in TENSORS:
            rows = rows_of(own)
            part, at = decoder[at:at + rows], at + rows
            found[f"model.layers.{layer}.{name}.weight"] = (
                part[0] if rows == 1 else part.T if "down" in name else part)
    found["model.norm.weight"], found["lm_head.weight"] = decoder[at], head
    assert at + 1 == len(decoder)
    return {name: torch.from_numpy(part.copy()) for name, part in found.items()}


def weights(own, folder):
    table = read_tables(folder)
    for layer in ("embedding", "head"):
        assert not table[layer + ".bias"].any(), "a decoder has no biases"
    return named(own, *(table[layer + ".weight"]
                        for layer in ("embedding", "decoder", "head")))


def first_moments(own, folder):
    """Of Adam; the embedding and the head have one of their biases, too."""
    table = read_tables(folder)
    return named(own, table["embedding.m"][:own.vocabulary],
                 table["decoder.m"], table["head.m"][:, :own.width])


# --- the order of sequences --------------------------------------------------

def philox(key, low, high):
    """Philox4x32-10: four words (kernels/philox.h)."""
    x = [low & WORD, low >> 32, high & WORD, high >> 32]
    k0, k1 = key & WORD, key >> 32
    for _ in range(10):
        p0, p1 = 0xd2511f53 * x[0], 0xcd9e8d57 * x[2]
        x = [p1 >> 32 ^ x[1] ^ k0, p1 & WORD, p0 >> 32 ^ x[3] ^ k1, p0 & WORD]
        k0, k1 = k0 + 0x9e3779b9 & WORD, k1 + 0xbb67ae85 & WORD
    return x


def below(key, index, bound):
    """A draw from 0 .. bound - 1."""
    least, block = 2 ** 32 % bound, 0
    while True:
        for word in philox(key, index, block << 32):
            if word * bound & WORD >= least:
                return word * bound >> 32
        block += 1


@functools.lru_cache(maxsize=2)
def order(seed, epoch, count):
    """The sequences of an epoch."""
    word = philox(seed, SHUFFLE, epoch)
    key, found = word[1] << 32 | word[0], list(range(count))
    for k in range(count, 1, -1):
        other = below(key, k, k)
        found[k - 1], found[other] = found[other], found[k - 1]
    return np.array(found)


def batch(own, ids, number):
    """Ids and labels of a micro-batch, [rows, context]; an epoch has whole
    steps."""
    count = (len(ids) - 1) // own.context
    each = count // (own.rows * own.micros) * own.micros
    first = number % each * own.rows
    at = order(own.seed, number // each, count)[first:first + own.rows]
    both = torch.from_numpy(
        ids[at[:, None] * own.context + np.arange(own.context + 1)]).to(
            own.device)
    return both[:, :-1], both[:, 1:]


def follow():
    """gpt.py has Skein's order from now on."""
    gpt.batch = batch
