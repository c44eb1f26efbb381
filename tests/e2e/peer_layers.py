#!/usr/bin/python3
"""peer_layers.py - layers of a decoder have the outputs and gradients that
PyTorch has.

Two layers and the norm behind them (actors/stage/decoder_layer.c, loaded from
the library of the tests) run beside those of bench/peers/gpt.py, in f32: 50
seeds of random sizes, weights and micro-batches; every number is within 1e-4 of
the greatest of its tensor. Skipped without PyTorch, which tests do not install.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import importlib.util
import os
import pathlib
import random
import sys
import unittest
from ctypes import c_bool, c_float, c_size_t, c_uint32, c_void_p

if not importlib.util.find_spec("torch"):
    print("PyTorch is missing: .ci/deps --peers installs it")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "peers")]
# pylint: disable=wrong-import-position
import gpt  # noqa: E402
import checks  # noqa: E402
import torch  # noqa: E402

SEEDS = 50
BOUND = 1e-4
LAYERS = 2
OPAQUE_BYTES = 1024     # more than any struct that is not declared here
TENSORS = ("input_layernorm", "post_attention_layernorm", "self_attn.q_proj",
           "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
           "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
GAP = 16                # floats between rows of weights


class Shape(ctypes.Structure):
    """skn_decoder_shape_t"""
    _fields_ = [(name, c_uint32) for name in (
        "layers", "width", "heads", "inner", "context")] + [
        ("epsilon", c_float), ("rope_base", c_float)]


class Matrix(ctypes.Structure):
    """skn_matrix_t"""
    _fields_ = [("at", c_void_p), ("bf16", c_void_p), ("row_stride", c_size_t),
                ("column_stride", c_size_t), ("row_index", c_void_p),
                ("column_index", c_void_p)]


def opaque(count=OPAQUE_BYTES):
    """Zeroed bytes at a multiple of 64, which live as long as the result."""
    memory = ctypes.create_string_buffer(count + 64)
    begin = -ctypes.addressof(memory) % 64
    return (ctypes.c_char * count).from_buffer(memory, begin)


def laid(name, tensor):
    """A tensor of Llama's as rows of decoder.h."""
    tensor = tensor.reshape(-1, tensor.shape[-1])
    return tensor.T if name == "mlp.down_proj" else tensor


class Ours:
    """Layers of libskein_test.so."""

    def __init__(self, own):
        self.library = ctypes.CDLL(os.path.join(
            os.environ.get("SKEIN_BUILD", ROOT / "build"), "libskein_test.so"))
        for name, result in (
                ("skn_kernels_best", c_void_p),
                ("skn_decoder_angle_floats", c_size_t),
                ("skn_decoder_kept_floats", c_size_t),
                ("skn_norm_kept_floats", c_size_t),
                ("skn_decoder_scratch_bytes", c_size_t)):
            getattr(self.library, name).restype = result
        self.shape = Shape(LAYERS, own.width, own.heads, own.inner, own.context,
                           own.epsilon, own.theta)
        self.decoder = opaque()
        self.angles = opaque(4 * self.library.skn_decoder_angle_floats(
            ctypes.byref(self.shape)))
        self.library.skn_decoder_init(
            self.decoder, ctypes.byref(self.shape),
            c_void_p(self.library.skn_kernels_best()), c_bool(False),
            self.angles)

    def run(self, table, x, by):
        """For rows [rows][width + GAP] and micro-batches [sequences][tokens]
        [width]: the output, the gradient by x and [rows][width] by the
        weights."""
        call, decoder = self.library, self.decoder
        sequences, length, width = x.shape
        tokens, rows = c_size_t(sequences * length), len(table)
        layer_rows = (rows - 1) // LAYERS
        out, dx = x.clone().contiguous(), by.clone().contiguous()
        gradient = torch.zeros(rows, width)
        kept = [opaque() for _ in range(LAYERS + 1)]
        memory = [opaque(4 * call.skn_decoder_kept_floats(decoder, tokens))
                  for _ in range(LAYERS)]
        memory.append(opaque(4 * call.skn_norm_kept_floats(
            tokens, c_size_t(width))))
        scratch = opaque(call.skn_decoder_scratch_bytes(decoder, tokens))
        weights = [ctypes.byref(Matrix(table[k * layer_rows:].data_ptr(), None,
                                       table.stride(0), 1, None, None))
                   for k in range(LAYERS + 1)]
        for k in range(LAYERS):
            call.skn_decoder_kept_init(decoder, kept[k], c_size_t(sequences),
                                       c_size_t(length), memory[k])
            call.skn_decoder_layer_forward(decoder, weights[k], kept[k],
                                           c_void_p(out.data_ptr()), scratch)
        call.skn_norm_kept_init(kept[-1], tokens, c_size_t(width), memory[-1])
        call.skn_decoder_final_forward(decoder, weights[-1], kept[-1],
                                       c_void_p(out.data_ptr()), scratch)
        call.skn_decoder_final_backward(decoder, weights[-1], kept[-1],
                                        c_void_p(dx.data_ptr()), scratch)
        call.skn_decoder_final_weights(decoder, kept[-1],
                                       c_void_p(gradient[-1].data_ptr()))
        for k in reversed(range(LAYERS)):
            call.skn_decoder_layer_backward(decoder, weights[k], kept[k],
                                            c_void_p(dx.data_ptr()), scratch)
            at = c_void_p(gradient[k * layer_rows:].data_ptr())
            for part in range(call.skn_decoder_parts(ctypes.byref(self.shape),
                                                     tokens)):
                call.skn_decoder_layer_weights(decoder, kept[k], part, at,
                                               scratch)
        return out, dx, gradient


def options(dice):
    """A random shape, as gpt.py has it."""
    parser = argparse.ArgumentParser()
    gpt.options_of(parser)
    heads = dice.choice((1, 2, 3, 4))
    own = parser.parse_args([])
    own.layers, own.vocabulary, own.heads = LAYERS, 2, heads
    own.width = heads * dice.choice((16, 32))
    own.inner, own.context = dice.randint(1, 150), dice.randint(1, 70)
    return own


class Layers(unittest.TestCase):
    def near(self, seed, what, got, want):
        most = want.abs().max().item() or 1.0
        error = (got - want).abs().max().item()
        self.assertLessEqual(error, BOUND * most, f"seed {seed}, {what}")

    def test_outputs_and_gradients_are_those_of_pytorch(self):
        torch.set_num_threads(1)
        for seed in range(SEEDS):
            dice = random.Random(seed)
            torch.manual_seed(seed)
            own = options(dice)
            model = gpt.Decoder(own).model
            for weight in model.parameters():
                torch.nn.init.normal_(weight, float(weight.dim() == 1),
                                      0.3 if weight.dim() == 1 else
                                      own.width ** -0.5)
            self.compare(seed, own, model,
                         (dice.randint(1, 3), dice.randint(1, own.context),
                          own.width))

    def compare(self, seed, own, model, size):
        decoder = gpt.Decoder(own)
        x = torch.randn(size, requires_grad=True)
        by, y = torch.randn(size), x
        angle = [part[:size[1]] for part in decoder.angle]
        for layer in model.layers.values():
            y = layer(y, angle, decoder.mask[:size[1], :size[1]])
        y = model.norm(y)
        y.backward(by)
        tensors = [(f"{k}.{name}", laid(name, weight),
                    laid(name, weight.grad))
                   for k, layer in model.layers.items() for name in TENSORS
                   for weight in [layer.get_parameter(name + ".weight")]]
        gain = model.norm.weight
        tensors.append(("norm", gain[None], gain.grad[None]))
        rows = torch.cat([weight for _, weight, _ in tensors])
        table = torch.full((len(rows), own.width + GAP), 1e30)
        table[:, :own.width] = rows.detach()
        out, dx, gradient = Ours(own).run(table, x.detach(), by)
        self.near(seed, "output", out, y.detach())
        self.near(seed, "gradient by the input", dx, x.grad)
        pieces = gradient.split([len(weight) for _, weight, _ in tensors])
        for (name, _, want), got in zip(tensors, pieces):
            self.near(seed, name, got, want)


if __name__ == "__main__":
    checks.main()
