#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gloo.py - a plain 1F1B pipeline of gpt.py's decoder over gloo.

Usage, on each of S hosts, one stage a host:
    gloo.py --rank K --world S [--address HOST0] [--port P] [--interface NAME]
        [--micros 8] and gpt.py's options
Stage K has layers [L K / S, L (K + 1) / S); the first has the embedding, too,
and the last the head. It runs S - K - 1 micro-batches forwards, then one
forwards and one backwards in turn. Sends do not block; a stage waits in what it
receives. Batches, loss, clipping, AdamW and rate are gpt.py's, so that losses
are, too. What crosses a boundary is f32, or bf16 with --precision bf16.

Rank 0 prints one JSON object a step: wall seconds, and CPU seconds of all
stages; then the median, lowest and highest tokens a second.
"""
import argparse
import json
import os
import statistics
import time

import tuned

tuned.enter()

import gpt

import torch
import torch.distributed as dist


class Stage:
    def __init__(self, own):
        first, end = (own.layers * (own.rank + k) // own.world for k in (0, 1))
        self.own, self.ids = own, gpt.read_ids(own)
        self.model = gpt.Decoder(own, range(first, end))
        if own.load:
            gpt.load(own, self.model)
        self.optimizer = gpt.optimizer_of(own, self.model)
        self.dtype = torch.bfloat16 if own.precision == "bf16" else \
            torch.float32
        self.held, self.sends, self.loss = [], [], 0.0

    def send(self, tensor, rank):
        tensor = tensor.detach().to(self.dtype).contiguous()
        self.sends.append((dist.isend(tensor, rank), tensor))

    def receive(self, rank):
        own = self.own
        tensor = torch.empty(own.rows, own.context, own.width, dtype=self.dtype)
        dist.recv(tensor, rank)
        return tensor.float()

    def forward(self, number):
        x, label = gpt.batch(self.own, self.ids, number)
        if not self.model.is_first:
            x = self.receive(self.own.rank - 1).requires_grad_()
        with gpt.precision(self.own):
            y = self.model(x)
        if self.model.is_last:
            y = gpt.loss_of(y, label) / self.own.micros
            self.loss += float(y)
        else:
            self.send(y, self.own.rank + 1)
        self.held.append((x, y))

    def backward(self):
        x, y = self.held.pop(0)
        y.backward(None if self.model.is_last else
                   self.receive(self.own.rank + 1))
        if not self.model.is_first:
            self.send(x.grad, self.own.rank - 1)

    def step(self, number):
        """The loss, the norm before clipping, CPU seconds of all stages."""
        own, began_s, self.loss = self.own, time.process_time(), 0.0
        for group in self.optimizer.param_groups:
            group["lr"] = gpt.rate_at(own, number)
        self.optimizer.zero_grad(set_to_none=True)
        ahead = min(own.world - own.rank - 1, own.micros)
        for micro in range(own.micros + ahead):
            if micro < own.micros:
                self.forward(number * own.micros + micro)
            if micro >= ahead:
                self.backward()
        for work, _ in self.sends:
            work.wait()
        self.sends.clear()
        gradients = [weight.grad for weight in self.model.parameters()]
        sums = torch.tensor([
            self.loss, sum(float(g.square().sum()) for g in gradients)],
            dtype=torch.float64)
        dist.all_reduce(sums)
        norm = float(sums[1]) ** 0.5
        if own.clip and norm > own.clip:
            for gradient in gradients:
                gradient.mul_(own.clip / (norm + 1e-6))
        self.optimizer.step()
        spent = torch.tensor(time.process_time() - began_s)
        dist.all_reduce(spent)
        return float(sums[0]), norm, float(spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    gpt.options_of(parser)
    parser.set_defaults(micros=8)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=29513)
    parser.add_argument("--interface", default="")
    own = gpt.shaped(parser.parse_args())
    if own.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = own.interface
    dist.init_process_group(
        "gloo", init_method="tcp://%s:%d" % (own.address, own.port),
        rank=own.rank, world_size=own.world)
    stage, rates = Stage(own), []
    for number in range(own.steps):
        began_s = time.perf_counter()
        loss, norm, cpu_s = stage.step(number)
        seconds = time.perf_counter() - began_s
        rates.append(own.micros * own.rows * own.context / seconds)
        if own.rank == 0:
            print(json.dumps({"event": "step", "step": number, "loss": loss,
                              "norm": norm, "seconds": round(seconds, 4),
                              "cpu_s": round(cpu_s, 4)}), flush=True)
    counted = rates[1:] or rates
    if own.rank == 0:
        print(json.dumps({
            "event": "pipeline", "stages": own.world, "loss": loss,
            "precision": own.precision,
            "tokens_per_s": round(statistics.median(counted), 1),
            "lowest": round(min(counted), 1),
            "highest": round(max(counted), 1),
            "openblas_coretype": os.environ.get(
                "OPENBLAS_CORETYPE", "")}))
    dist.barrier()


if __name__ == "__main__":
    main()
