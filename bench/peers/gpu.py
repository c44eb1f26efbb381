#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu.py - the model of one_host.py on a GPU, with everything on the card.

Usage: gpu.py FOLDER [--mode sampled|exact] [--precision tf32|bf16]
           [--hidden 128] [--batch 1024] [--negatives 4096] [--epochs 10]
           [--rate 5e-3] [--seed 1] [--batches 0]
FOLDER holds train.txt and test.txt (XMC text).

Model, loss and optimizers are one_host.py's (its draws are log_uniform), but
points, draws and batches stay on the card, so that no step waits for the host
to make its batch; products are tf32, or bf16 by autocast. The rate of learning
falls along a line to zero, by batch.
Prints one JSON object a line and epoch; seconds are of training alone, by the
clock, with the card synchronized; P@k is that of all test points.
"""
import argparse
import json
import os
import time

import numpy as np
import torch

from vocab_parallel import read_points

CARD = torch.device("cuda")


class Points:
    """All points of a file, on the card."""

    def __init__(self, path):
        found = read_points(path)
        self.count, self.units, self.labels = (int(k) for k in found["sizes"])
        for name in ("unit", "value", "label", "unit_start", "label_start"):
            setattr(self, name, torch.from_numpy(found[name]).to(CARD))

    def entries(self, start, rows):
        """Where the rows' entries lie, how many each has, where each begins."""
        count = start[rows + 1] - start[rows]
        begin = count.cumsum(0) - count
        at = torch.arange(int(count.sum()), device=CARD) + \
            (start[rows] - begin).repeat_interleave(count)
        return at, count, begin


class Network:
    def __init__(self, own, points):
        self.own, self.labels = own, points.labels
        sampled = own.mode == "sampled"
        self.bag = torch.nn.EmbeddingBag(points.units, own.hidden, mode="sum",
                                         sparse=True, device=CARD)
        self.bias = torch.nn.Parameter(torch.zeros(own.hidden, device=CARD))
        self.row = torch.nn.Embedding(points.labels, own.hidden,
                                      sparse=sampled, device=CARD)
        self.row_bias = torch.nn.Embedding(points.labels, 1, sparse=sampled,
                                           device=CARD)
        torch.nn.init.normal_(self.bag.weight, 0, 0.05)
        torch.nn.init.normal_(self.row.weight, 0, 0.05)
        torch.nn.init.zeros_(self.row_bias.weight)
        rows = [self.row.weight, self.row_bias.weight]
        self.optimizers = [
            torch.optim.SparseAdam([self.bag.weight] + rows * sampled,
                                   own.rate),
            torch.optim.Adam([self.bias] + rows * (not sampled), own.rate,
                             fused=True)]
        often = torch.bincount(points.label, minlength=points.labels)
        self.by_rank = often.argsort(descending=True, stable=True)
        rank = torch.arange(points.labels, device=CARD, dtype=torch.float64)
        each = torch.empty_like(rank)
        each[self.by_rank] = torch.log1p(1 / (rank + 1)) / \
            np.log(points.labels + 1)
        self.log_drawn = torch.log(-torch.expm1(
            own.negatives * torch.log1p(-each))).float()

    def draws(self):
        rank = torch.exp(torch.rand(self.own.negatives, device=CARD,
                                    dtype=torch.float64) *
                         np.log(self.labels + 1)) - 1
        return self.by_rank[rank.long().clamp_(max=self.labels - 1)]

    def hidden(self, points, rows):
        at, _, begin = points.entries(points.unit_start, rows)
        return torch.relu(self.bias + self.bag(
            points.unit[at], begin, per_sample_weights=points.value[at]))

    def logits(self, hidden, active=None):
        weight, bias = (self.row.weight, self.row_bias.weight) \
            if active is None else (self.row(active), self.row_bias(active))
        with torch.autocast("cuda", torch.bfloat16,
                            self.own.precision == "bf16"):
            return torch.nn.functional.linear(hidden, weight, bias.view(-1))

    def train(self, points, rows):
        at, count, _ = points.entries(points.label_start, rows)
        label = points.label[at]
        sample = torch.arange(len(rows), device=CARD).repeat_interleave(count)
        target = (1 / count).repeat_interleave(count)
        hidden, column = self.hidden(points, rows), label
        if self.own.mode == "exact":
            logit = self.logits(hidden).float()
        else:
            active, column = torch.unique(torch.cat([label, self.draws()]),
                                          return_inverse=True)
            column = column[:len(label)]
            raised = -self.log_drawn[active]
            raised[column] = 0      # the batch's labels are always there
            logit = self.logits(hidden, active).float() + raised
        loss = (torch.logsumexp(logit, 1).sum() -
                (logit[sample, column] * target).sum()) / len(rows)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def precisions(self, points):
        """P@1, P@3, P@5 among all labels."""
        hits = torch.zeros(5, device=CARD)
        keys = torch.arange(points.count, device=CARD).repeat_interleave(
            points.label_start.diff()) * self.labels + points.label
        for rows in torch.arange(points.count, device=CARD).split(1024):
            best = self.logits(self.hidden(points, rows)).topk(5, 1).indices
            hits += torch.isin(rows[:, None] * self.labels + best,
                               keys).sum(0)
        sums = hits.cumsum(0) / points.count
        return [float(sums[k - 1]) / k for k in (1, 3, 5)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--mode", choices=("sampled", "exact"),
                        default="sampled")
    parser.add_argument("--precision", choices=("tf32", "bf16"),
                        default="tf32")
    for name, value in (("hidden", 128), ("batch", 1024), ("negatives", 4096),
                        ("epochs", 10), ("seed", 1), ("batches", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--rate", type=float, default=5e-3)
    own = parser.parse_args()
    torch.manual_seed(own.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    train, test = (Points(os.path.join(own.folder, name + ".txt"))
                   for name in ("train", "test"))
    network, seconds, done = Network(own, train), 0.0, 0
    batches = own.batches or train.count // own.batch
    for number in range(own.epochs):
        order = torch.randperm(train.count, device=CARD)
        torch.cuda.synchronize()
        began, loss = time.perf_counter(), 0.0
        for rows in order.split(own.batch)[:batches]:
            for optimizer in network.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = own.rate * \
                        (1 - done / (own.epochs * batches))
            loss, done = loss + network.train(train, rows), done + 1
        torch.cuda.synchronize()
        spent = time.perf_counter() - began
        seconds += spent
        found = network.precisions(test)
        print(json.dumps({
            "peer": "torch-gpu-" + own.mode, "precision": own.precision,
            "card": torch.cuda.get_device_name(), "torch": torch.__version__,
            "epoch": number + 1, "batches": batches,
            "seconds": round(seconds, 3),
            "examples_per_s": round(batches * own.batch / spent),
            "loss": round(float(loss) / batches, 4),
            "p1": round(found[0], 4), "p3": round(found[1], 4),
            "p5": round(found[2], 4),
            "peak_mb": torch.cuda.max_memory_allocated() >> 20}), flush=True)


if __name__ == "__main__":
    main()
