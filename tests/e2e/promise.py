#!/usr/bin/env python3
"""promise.py - a run takes no more memory than its plan promised.

Trains on planted points with 300,000 labels, by each optimizer and by samplers
that keep something by row, saves the model at the end, and compares the most
that was ever resident with what `skein plan` said, which may be 1.15 times
that. bench/scale.py is the same for 8 x 10^9 parameters.
SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "bench"))
# pylint: disable=wrong-import-position
import growth  # noqa: E402
import scale  # noqa: E402

LABELS = 300000
MOST = 1.15
SKEIN = os.path.join(os.environ.get("SKEIN_BUILD",
                                    os.path.join(scale.ROOT, "build")),
                     "skein")
RUNS = ("uniform, sgd in bf16", "uniform, adagrad in bf16", "uniform, adam",
        "log_uniform, sgd in bf16", "simhash, sgd in bf16")


def main():
    own = types.SimpleNamespace(skein=SKEIN, points=10240, epochs=2,
                                hidden=63, cores=1, save=True,
                                group=None)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in RUNS:
            how, sampler = growth.RUNS[name]
            row = scale.measure(own, dict(how, sampler=sampler(LABELS)), LABELS,
                                folder)
            good = 0 < row["most"] <= MOST * row["promised"]
            failed += not good
            print("%s: %s: %.0f MiB of %d" % (
                "ok" if good else "FAILED", name, row["most"],
                row["promised"]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
