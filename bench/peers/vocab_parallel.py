#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vocab_parallel.py - the honest peer: vocabulary-parallel sampled softmax.

Usage, on each of N hosts:
    vocab_parallel.py FOLDER --rank K --world N --address HOST0 [--port P]
        [--interface NAME] [--hidden 128] [--batch 1024] [--negatives 3072]
        [--epochs 1] [--batches 0] [--rate 1e-3] [--threads 1] [--seed 1]
FOLDER holds train.txt and test.txt (XMC text), the same on every host.

Model: sparse features -> sum of embedding rows + bias -> ReLU -> logits of the
active labels; soft targets 1/|labels|; sparse Adam. Host K owns the label rows
l with l mod N = K, and 1/N of the hidden columns, whose units it sums for the
whole batch. So no weight and no weight's gradient ever crosses the wire; every
host reads the data itself. Active: the batch's labels, and uniform negatives
(negatives/N a host) whose logits are raised by -log P(drawn). Scheme: An and
others 2021, "Partial FC", its sampled softmax; the input layer is split by
columns because a replica would have to exchange its gradients.

What crosses the wire, a batch (B samples, H units, f32, all on gloo):
  all_gather   of a slice of the hidden vectors        (N-1) x 4 B H/N
  all_gather   of (maximum, normaliser) of each sample (N-1) x 8 B
  all_to_all   of partial hidden gradients, by columns (N-1) x 4 B H/N
Bytes sent a host = (N-1) (8 B H/N + 8 B), as many received; L does not occur.
Three collectives wait for everybody, as PartialFC's do: nothing overlaps.

Rank 0 prints one JSON object a line and epoch. bytes_* are of the interface's
counters on host 0 while it trained (frames of the link layer, so headers and
acknowledgements too), seconds and cpu_seconds (of all hosts) too.
"""
import argparse
import json
import os
import time

import tuned

tuned.enter()

import numpy as np
import torch
import torch.distributed as dist


def read_points(path):
    """XMC text as compressed rows; parsed once, then kept beside the file."""
    cache = path + ".vocab.npz"
    if os.path.exists(cache) and \
            os.path.getmtime(cache) > os.path.getmtime(path):
        with np.load(cache) as held:
            return {name: held[name] for name in held.files}
    labels, units, values, label_counts, unit_counts = [], [], [], [], []
    with open(path, encoding="ascii") as file:
        _, unit_count, label_count = map(int, file.readline().split())
        for line in file:
            first, _, rest = line.partition(" ")
            pairs = np.array(rest.replace(":", " ").split(), np.float64)
            if not first:
                continue    # a point without labels teaches nothing here
            labels.append(np.array(first.split(","), np.int64))
            units.append(pairs[0::2].astype(np.int64))
            values.append(pairs[1::2].astype(np.float32))
            label_counts.append(len(labels[-1]))
            unit_counts.append(len(units[-1]))
    points = {
        "sizes": np.array([len(labels), unit_count, label_count]),
        "label": np.concatenate(labels), "unit": np.concatenate(units),
        "value": np.concatenate(values),
        "label_start": np.cumsum([0] + label_counts),
        "unit_start": np.cumsum([0] + unit_counts)}
    part = "%s.%d.npz" % (cache, os.getpid())
    np.savez(part, **points)
    os.replace(part, cache)
    return points


def spans(start, rows):
    """Where the rows' entries lie, how many each has, where each begins."""
    count = start[rows + 1] - start[rows]
    begin = np.cumsum(count) - count
    return (np.arange(count.sum()) + np.repeat(start[rows] - begin, count),
            count, begin)


class Peer:
    """One host's share of the model."""

    def __init__(self, options, unit_count, label_count):
        self.rank, self.world = options.rank, options.world
        self.columns = options.hidden // self.world
        self.label_count = label_count
        self.rows = len(range(self.rank, label_count, self.world))
        self.draws = options.negatives // self.world
        self.generator = np.random.default_rng([options.seed, self.rank])
        torch.manual_seed(options.seed * 1000 + self.rank)
        self.bag = torch.nn.EmbeddingBag(unit_count, self.columns, mode="sum",
                                         sparse=True)
        self.bias = torch.nn.Parameter(torch.zeros(self.columns))
        self.row = torch.nn.Parameter(torch.empty(self.rows, options.hidden))
        self.row_bias = torch.nn.Parameter(torch.zeros(self.rows, 1))
        torch.nn.init.normal_(self.bag.weight, 0, 0.05)
        torch.nn.init.normal_(self.row, 0, 0.05)
        self.optimizers = [
            torch.optim.SparseAdam([self.bag.weight, self.row, self.row_bias],
                                   options.rate),
            torch.optim.Adam([self.bias], options.rate)]
        # log P(a row is among the draws), for every row that is no label.
        self.log_drawn = 0.0 if self.draws == 0 else float(np.log(
            -np.expm1(self.draws * np.log1p(-1.0 / self.rows))))

    def hidden(self, points, rows):
        """My columns of the rows' hidden vectors, and all columns."""
        at, _, begin = spans(points["unit_start"], rows)
        mine = torch.relu(self.bias + self.bag(
            torch.from_numpy(points["unit"][at]), torch.from_numpy(begin),
            per_sample_weights=torch.from_numpy(points["value"][at])))
        return mine, torch.cat(self.gather(mine.detach()), 1)

    def gather(self, mine):
        parts = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(parts, mine.contiguous())
        return parts

    def active(self, points, rows):
        """My active rows; and of my true labels: sample, column, target."""
        at, count, _ = spans(points["label_start"], rows)
        label, sample = points["label"][at], np.repeat(np.arange(len(rows)),
                                                       count)
        target = np.repeat(1.0 / count, count).astype(np.float32)
        own = label % self.world == self.rank
        drawn = self.generator.integers(0, self.rows, self.draws)
        active, column = np.unique(np.concatenate(
            [label[own] // self.world, drawn]), return_inverse=True)
        column = column[:own.sum()]
        raised = np.full(len(active), -self.log_drawn, np.float32)
        raised[column] = 0.0
        return [torch.from_numpy(array) for array in (
            active, raised, sample[own], column, target[own])]

    def train(self, points, rows):
        """One batch; gives sum of log Z, and of target x logit of my rows."""
        mine, hidden = self.hidden(points, rows)
        active, raised, sample, column, target = self.active(points, rows)
        with torch.no_grad():
            weight = self.row[active]
            logit = hidden @ weight.t() + self.row_bias[active].t() + raised
            own = (logit[sample, column] * target).sum()
            top = logit.max(1).values
            logit.sub_(top[:, None]).exp_()
            stats = torch.stack(self.gather(
                torch.stack([top, logit.sum(1)], 1)))
            most = stats[:, :, 0].max(0).values
            total = (stats[:, :, 1] * (stats[:, :, 0] - most).exp()).sum(0)
            logit.mul_(((top - most).exp() / total)[:, None])
            logit.index_put_((sample, column), -target, accumulate=True)
            logit.div_(len(rows))
            self.row.grad = torch.sparse_coo_tensor(
                active[None], logit.t() @ hidden, self.row.shape)
            self.row_bias.grad = torch.sparse_coo_tensor(
                active[None], logit.sum(0)[:, None], self.row_bias.shape)
            parts = (logit @ weight).view(len(rows), self.world, self.columns)
            parts = parts.permute(1, 0, 2).contiguous()
            whole = torch.empty_like(parts)
            dist.all_to_all_single(whole, parts)
        mine.backward(whole.sum(0))
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return float((most + total.log()).sum()), float(own)

    @torch.no_grad()
    def precision(self, points, count):
        hits = 0
        for first in range(0, count, 256):
            rows = np.arange(first, min(count, first + 256))
            _, hidden = self.hidden(points, rows)
            best = (hidden @ self.row.t() + self.row_bias.t()).max(1)
            told = torch.stack(self.gather(torch.stack(
                [best.values.double(),
                 best.indices.double() * self.world + self.rank], 1)))
            winner = told[:, :, 0].max(0).indices
            found = told[winner, torch.arange(len(rows)), 1].long().numpy()
            for k, row in enumerate(rows):
                begin, end = points["label_start"][row:row + 2]
                hits += int(found[k] in points["label"][begin:end])
        return hits / max(count, 1)


def counters(interface):
    """Bytes sent and received; nothing where no interface is named."""
    if not interface:
        return np.zeros(2, np.int64)
    with open("/proc/self/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == interface:
                words = numbers.split()
                return np.array([int(words[8]), int(words[0])])
    raise SystemExit("vocab_parallel.py: no interface " + interface)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=29512)
    parser.add_argument("--interface", default="")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--negatives", type=int, default=3072)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=0,
                        help="the most an epoch; 0: all")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-points", type=int, default=4000)
    options = parser.parse_args()
    if options.hidden % options.world:
        parser.error("--hidden must be a multiple of --world")
    return options


def epoch(peer, options, train, order):
    """Trains once over the points in this order; gives the JSON fields."""
    whole = len(order) // options.batch
    batches = min(whole, options.batches or whole)
    dist.barrier()
    began, cpu, bytes_before = time.perf_counter(), time.process_time(), \
        counters(options.interface)
    logs = own = 0.0
    for k in range(batches):
        rows = order[k * options.batch:(k + 1) * options.batch]
        log_sum, own_sum = peer.train(train, rows)
        logs, own = logs + log_sum, own + own_sum
    seconds = time.perf_counter() - began
    sent, received = (counters(options.interface) - bytes_before).tolist()
    sums = torch.tensor([time.process_time() - cpu, own], dtype=torch.float64)
    dist.all_reduce(sums)
    examples = max(batches * options.batch, 1)
    each = (options.world - 1) * (8 * options.hidden / options.world + 8)
    return {"batches": batches, "examples": examples,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(float(sums[0]), 3),
            "examples_per_second": round(examples / seconds, 1),
            "loss": round((logs - float(sums[1])) / examples, 4),
            "bytes_sent": sent, "bytes_received": received,
            "bytes_sent_an_example": round(sent / examples, 1),
            "bytes_received_an_example": round(received / examples, 1),
            "formula_sent_an_example": each}


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    if options.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = options.interface
    train = read_points(os.path.join(options.folder, "train.txt"))
    test = read_points(os.path.join(options.folder, "test.txt"))
    dist.init_process_group(
        "gloo", init_method="tcp://%s:%d" % (options.address, options.port),
        rank=options.rank, world_size=options.world)
    peer = Peer(options, int(train["sizes"][1]), int(train["sizes"][2]))
    shuffle = np.random.default_rng(options.seed)     # the same on every host
    for number in range(options.epochs):
        order = shuffle.permutation(int(train["sizes"][0]))
        line = {"peer": "vocab-parallel", "world": options.world,
                "epoch": number + 1, "batch": options.batch,
                "hidden": options.hidden, "negatives": options.negatives}
        line.update(epoch(peer, options, train, order))
        line["p1"] = round(peer.precision(
            test, min(options.test_points, int(test["sizes"][0]))), 4)
        if options.rank == 0:
            print(json.dumps(line), flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
