#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""one_host.py - what a PyTorch user would write for a huge output layer.

Usage: one_host.py FOLDER [--mode sampled|exact] [--hidden 128] [--batch 256]
           [--negatives 4096] [--draw log_uniform|uniform] [--epochs 1]
           [--rate 5e-3] [--threads 1] [--seed 1] [--test-points 4000]
           [--batches 0] [--labels-only]
FOLDER holds train.txt and test.txt (XMC text).

Model: sparse features -> sum of embedding rows + bias -> ReLU -> logits; soft
targets 1/|labels|.
  exact    a dense output layer, Adam; sparse Adam for the embedding
  sampled  the batch's labels and `negatives` draws shared by the batch (Jean
           and others 2015), whose logits are lowered by the logarithm of the
           probability of being drawn; rows that are not drawn have no gradient
           (sparse Adam)
Prints one JSON object a line and epoch; seconds and cpu_seconds are of training
alone, evaluation is left out. --batches ends an epoch early, for its rate.
"""
import argparse
import json
import os
import resource
import time

import tuned

SETTINGS = tuned.enter()

import numpy as np
import torch

from vocab_parallel import read_points, spans


class Peer:
    """The model of one mode, and its optimizers."""

    def __init__(self, options, points):
        _, unit_count, label_count = (int(k) for k in points["sizes"])
        self.options, self.label_count = options, label_count
        self.generator = np.random.default_rng(options.seed)
        torch.manual_seed(options.seed)
        exact = options.mode == "exact"
        self.bag = torch.nn.EmbeddingBag(unit_count, options.hidden,
                                         mode="sum", sparse=True)
        self.bias = torch.nn.Parameter(torch.zeros(options.hidden))
        self.row = torch.nn.Embedding(label_count, options.hidden,
                                      sparse=not exact)
        self.row_bias = torch.nn.Embedding(label_count, 1, sparse=not exact)
        torch.nn.init.normal_(self.bag.weight, 0, 0.05)
        torch.nn.init.normal_(self.row.weight, 0, 0.05)
        torch.nn.init.zeros_(self.row_bias.weight)
        rows = [self.row.weight, self.row_bias.weight]
        sparse = [self.bag.weight] + ([] if exact else rows)
        dense = [self.bias] + (rows if exact else [])
        self.optimizers = [torch.optim.SparseAdam(sparse, options.rate),
                           torch.optim.Adam(dense, options.rate)]
        if not exact:
            self.prepare_draws(points)

    def prepare_draws(self, points):
        """What a draw picks, and the logarithm of its being among them."""
        count = self.label_count
        often = np.bincount(points["label"], minlength=count)
        self.by_rank = np.argsort(-often, kind="stable")
        each = np.full(count, 1.0 / count)
        if self.options.draw == "log_uniform":
            rank = np.arange(count)
            each[self.by_rank] = np.log1p(1.0 / (rank + 1)) / np.log(count + 1)
        with np.errstate(divide="ignore"):
            self.log_drawn = np.log(-np.expm1(
                self.options.negatives * np.log1p(-each))).astype(np.float32)

    def draws(self):
        count, most = self.options.negatives, self.label_count
        if self.options.draw == "uniform":
            return self.generator.integers(0, most, count)
        rank = np.exp(self.generator.random(count) * np.log(most + 1)) - 1
        return self.by_rank[np.minimum(rank.astype(np.int64), most - 1)]

    def hidden(self, points, rows):
        at, _, begin = spans(points["unit_start"], rows)
        return torch.relu(self.bias + self.bag(
            torch.from_numpy(points["unit"][at]), torch.from_numpy(begin),
            per_sample_weights=torch.from_numpy(points["value"][at])))

    def logits(self, hidden, active=None):
        """Of all labels, or of some."""
        if active is None:
            return torch.addmm(self.row_bias.weight.view(1, -1), hidden,
                               self.row.weight.t())
        return torch.addmm(self.row_bias(active).view(1, -1), hidden,
                           self.row(active).t())

    def train(self, points, rows):
        """One batch; gives its mean loss."""
        at, count, _ = spans(points["label_start"], rows)
        label, sample = points["label"][at], np.repeat(np.arange(len(rows)),
                                                       count)
        target = torch.from_numpy(np.repeat(1.0 / count, count)
                                  .astype(np.float32))
        hidden = self.hidden(points, rows)
        if self.options.mode == "exact":
            logit, column = self.logits(hidden), label
        else:
            drawn = label[:0] if self.options.labels_only else self.draws()
            active, column = np.unique(np.concatenate([label, drawn]),
                                       return_inverse=True)
            column = column[:len(label)]
            raised = -self.log_drawn[active]
            raised[column] = 0.0    # the batch's labels are always there
            logit = self.logits(hidden, torch.from_numpy(active)) + \
                torch.from_numpy(raised)
        own = logit[torch.from_numpy(sample), torch.from_numpy(column)]
        loss = (torch.logsumexp(logit, 1).sum() - (own * target).sum()) / \
            len(rows)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return float(loss)

    @torch.no_grad()
    def precision(self, points, count):
        """P@1, P@3, P@5 of the first `count` points, among all labels."""
        hits = np.zeros(5)
        for first in range(0, count, 128):
            rows = np.arange(first, min(count, first + 128))
            best = self.logits(self.hidden(points, rows)).topk(5, 1)
            for k, row in enumerate(rows):
                begin, end = points["label_start"][row:row + 2]
                hits += np.isin(best.indices[k].numpy(),
                                points["label"][begin:end])
        sums = hits.cumsum() / max(count, 1)
        return [sums[k - 1] / k for k in (1, 3, 5)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--mode", choices=("sampled", "exact"),
                        default="sampled")
    parser.add_argument("--draw", choices=("log_uniform", "uniform"),
                        default="log_uniform")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--negatives", type=int, default=4096)
    parser.add_argument("--labels-only", action="store_true")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=0,
                        help="the most an epoch; 0: all")
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-points", type=int, default=4000)
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    train = read_points(os.path.join(options.folder, "train.txt"))
    test = read_points(os.path.join(options.folder, "test.txt"))
    peer = Peer(options, train)
    shuffle = np.random.default_rng(options.seed)
    cpu_seconds = 0.0
    for number in range(options.epochs):
        order = shuffle.permutation(int(train["sizes"][0]))
        whole = len(order) // options.batch
        batches = min(whole, options.batches or whole)
        began, cpu, loss = time.perf_counter(), time.process_time(), 0.0
        for k in range(batches):
            loss += peer.train(
                train, order[k * options.batch:(k + 1) * options.batch])
        seconds = time.perf_counter() - began
        spent = time.process_time() - cpu
        cpu_seconds += spent
        found = peer.precision(test, min(options.test_points,
                                         int(test["sizes"][0])))
        print(json.dumps({
            "peer": "torch-" + options.mode, "epoch": number + 1,
            "openblas_coretype": SETTINGS["openblas_coretype"],
            "batches": batches, "seconds": round(seconds, 3),
            "cpu_seconds": round(cpu_seconds, 3),
            "examples_per_core_second":
                round(batches * options.batch / spent, 1),
            "loss": round(loss / max(batches, 1), 4),
            "p1": round(found[0], 4), "p3": round(found[1], 4),
            "p5": round(found[2], 4),
            "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            }), flush=True)


if __name__ == "__main__":
    main()
