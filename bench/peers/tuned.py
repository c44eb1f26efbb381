#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tuned.py - the environment in which PyTorch is fastest on this machine.

The programs of bench/peers/ call `enter()` before they import torch; those of
bench/ start them in `environment()`. Two things are far from their best with
Debian's PyTorch as installed:

  OPENBLAS_CORETYPE  OpenBLAS takes a processor that is younger than itself for
                     an older one and uses the kernels of that. Each entry of
                     CORETYPES does a product in a process of its own, twice;
                     what this processor cannot run is left out, and OpenBLAS's
                     own choice stands where none is GAIN times as fast: less
                     is noise of other work on the machine.
  MALLOC_...         glibc maps and unmaps each large tensor, and the kernel
                     clears its pages each time: where that is dear, it is five
                     sixths of the time of an exact softmax. Here the process
                     keeps the memory that it had, and asks for huge pages.
"""
import argparse
import functools
import json
import os
import subprocess
import sys

CORETYPES = ("", "Haswell", "SkylakeX")     # "": OpenBLAS chooses
# Equal kernels differed by up to 1.24 on a core that seven others shared; those
# for AVX-512 win 2 where OpenBLAS misses them.
GAIN = 1.3
MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2 ** 31 - 1),
          "MALLOC_TOP_PAD_": str(2 ** 28),
          "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# What else would choose kernels.
FORCED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_VERBOSE")
MARK = "SKEIN_TUNED"    # in the environment: the settings, as JSON
PRODUCT = """
import time, torch
a, b, best_s = torch.rand(512, 768), torch.rand(768, 512), 1e9
for _ in range(60):
    began_s = time.process_time()
    torch.mm(a, b)
    best_s = min(best_s, time.process_time() - began_s)
print(2e-9 * 512 * 768 * 512 / best_s)
"""


def plain(threads=1):
    """That of programs other than PyTorch, also if we have PyTorch's own."""
    kept = {key: value for key, value in os.environ.items()
            if key not in FORCED and key not in MALLOC}
    return dict(kept, OMP_NUM_THREADS=str(threads),
                OPENBLAS_NUM_THREADS=str(threads))


def gflops(python, coretype):
    """Of one thread; 0 where the product fails."""
    done = subprocess.run(
        [python, "-c", PRODUCT], check=False, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
        env=dict(plain(1), **({"OPENBLAS_CORETYPE": coretype}
                                if coretype else {})))
    return round(float(done.stdout), 1) if done.returncode == 0 else 0.0


@functools.lru_cache(maxsize=None)
def settings(python):
    """What to set, and the rates that decided it; kept by all that it starts.
    Without PyTorch there is nothing to choose."""
    if MARK in os.environ:
        return json.loads(os.environ[MARK])
    rates = {name: 0.0 for name in CORETYPES}
    for name in CORETYPES * 2:
        rates[name] = max(rates[name], gflops(python, name))
    best = max(rates, key=rates.get)
    return {"openblas_coretype":
                best if rates[best] >= GAIN * rates[""] else "",
            "gflops": {name or "its own choice": rate
                       for name, rate in rates.items()}, "malloc": MALLOC}


def sentence(found):
    """The settings, for a line above a table."""
    return "PyTorch with kernels of %s (%s); malloc keeps its memory" % (
        found["openblas_coretype"] or "OpenBLAS's own choice", ", ".join(
            "%s: %s" % (name, "%.0f GFLOP/s" % rate if rate else "cannot run")
            for name, rate in found["gflops"].items()))


def environment(python=sys.executable, threads=1):
    """Of a peer with so many threads."""
    found = settings(python)
    core = found["openblas_coretype"]
    return dict(plain(threads), **found["malloc"],
                **({"OPENBLAS_CORETYPE": core} if core else {}),
                **{MARK: json.dumps(found)})


def enter():
    """Starts the program again in its environment, unless it is in it; the
    settings."""
    if MARK in os.environ:
        return json.loads(os.environ[MARK])
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--threads", type=int, default=1)
    own = parser.parse_known_args()[0]
    return os.execve(sys.executable, sys.orig_argv,
                     environment(threads=own.threads))
