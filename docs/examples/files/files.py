#!/usr/bin/env python3
"""files.py - which package ships this file? From the archive's own index.

Usage: files.py convert FOLDER [--per-package N] [INDEX...]
       files.py ask FOLDER MODEL PATH...    what the trained model answers
       files.py score FOLDER MODEL          P@k of it, and of two simple rules
convert reads Contents indexes (plain, gzip, or as apt keeps them; without INDEX
those that `apt-file update` got) and writes XMC text: train.txt, two test
files with their paths, names of labels and features, stats.json.
docs/start/files.md explains which files are held out. --per-package 0 takes all
files of every package.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import gzip
import hashlib
import heapq
import json
import os
import subprocess
import sys

from pieces import Vocabulary

# A package of 100,000 icons is known by 32 of them; most have less.
PER_PACKAGE = 32
# One path of 50, and all paths of one place of 50, are for testing.
HELD_OUT = 50
# A piece of one path tells of that path alone; one of a tenth of all, nothing.
PIECE_PATHS_MIN = 2
PIECE_SHARE_MAX = 0.1
BEST = 5


# --- the index -------------------------------------------------------------

def apt_indexes():
    """The Contents indexes that apt holds."""
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(FILENAME)",
         "Identifier: Contents-deb"], capture_output=True, text=True,
        check=False)
    found = [name for name in done.stdout.split() if os.path.exists(name)]
    if not found:
        sys.exit("files.py: apt holds no Contents index; "
                 "`apt-get install apt-file && apt-file update` gets them")
    return found


def index_lines(name):
    """Lines of an index, without their newline."""
    if name.endswith(".lz4"):
        with subprocess.Popen(["/usr/lib/apt/apt-helper", "cat-file", name],
                              stdout=subprocess.PIPE) as apt:
            yield from (line[:-1] for line in apt.stdout)
        if apt.returncode != 0:
            sys.exit(f"files.py: {name} could not be read")
        return
    with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:
        yield from (line.rstrip(b"\n") for line in file)


def index_entries(names):
    """(path, its packages), as bytes and as text, of every line."""
    for name in names:
        for line in index_lines(name):
            # The path may hold blanks; the last column does not.
            path, _, packages = line.rpartition(b" ")
            path = path.rstrip()
            if not path or b"/" not in packages:
                continue
            yield path, [package.rpartition("/")[2]
                         for package in packages.decode().split(",")]


def digest(*words):
    """A number below 2^64 by which things are chosen: for ever the same."""
    hashed = hashlib.blake2b(b"\0".join(words), digest_size=8)
    return int.from_bytes(hashed.digest(), "little")


def sample(entries, per_package):
    """{path: set of packages}: `per_package` paths of each, by hash."""
    kept = collections.defaultdict(list)
    count = 0
    for path, packages in entries:
        count += 1
        key = -digest(path)
        for package in packages:
            heap = kept[package]
            if not per_package or len(heap) < per_package:
                heapq.heappush(heap, (key, path))
            elif key > heap[0][0]:
                heapq.heapreplace(heap, (key, path))
    owners = collections.defaultdict(set)
    for package, heap in kept.items():
        for _, path in heap:
            owners[path].add(package)
    return count, owners


# --- what is held out ------------------------------------------------------

def place(path, packages):
    """What is held out at once: the files of a package in a directory."""
    return path.rpartition(b"/")[0], min(packages).encode()


def split(owners):
    """Lists of paths: train, test (at random), places (whole ones)."""
    parts = {"train": [], "test": [], "places": []}
    for path in sorted(owners):
        if digest(b"place", *place(path, owners[path])) % HELD_OUT == 0:
            part = "places"
        elif digest(b"path", path) % HELD_OUT == 0:
            part = "test"
        else:
            part = "train"
        parts[part].append(path)
    # No package is asked for of which nothing was shown.
    shown = {package for path in parts["train"] for package in owners[path]}
    for part in ("test", "places"):
        unknown = {path for path in parts[part] if not owners[path] <= shown}
        parts["train"] += sorted(unknown)
        parts[part] = [path for path in parts[part] if path not in unknown]
    return parts


def learn_names(packages, owners, train):
    """A package's own name is one more path to learn from.

    To the model labels are numbers: without it, the name would only tell
    something where training saw a directory or a file that is called so. In the
    vocabulary it counts twice, lest it be too rare.
    """
    for package in packages:
        owners[package.encode()] = {package}
        train.append(package.encode())
    # Skein shuffles, but a file that is cut off should be a sample as well.
    train.sort(key=digest)


def text(path):
    return path.decode("utf-8", "surrogateescape")


def write_points(folder, part, paths, owners, vocabulary, number):
    """PART.txt, the points, and PART.paths, what they were."""
    with open(f"{folder}/{part}.txt", "w", encoding="ascii") as file:
        file.write(f"{len(paths)} {len(vocabulary.weight)} {len(number)}\n")
        for path in paths:
            labels = sorted(number[package] for package in owners[path])
            file.write(",".join(map(str, labels)) + " "
                       + vocabulary.line(text(path)) + "\n")
    with open(f"{folder}/{part}.paths", "wb") as file:
        for path in paths:
            names = " ".join(sorted(owners[path]))
            file.write(names.encode() + b"\t" + path + b"\n")


def convert(options):
    names = options.index or apt_indexes()
    lines, owners = sample(index_entries(names), options.per_package)
    if not owners:
        sys.exit("files.py: no line of an index in " + ", ".join(names))
    parts = split(owners)
    packages = sorted(set().union(*owners.values()))
    number = {package: k for k, package in enumerate(packages)}
    learn_names(packages, owners, parts["train"])
    vocabulary = Vocabulary.count(
        sorted(map(text, parts["train"])) + packages,
        PIECE_PATHS_MIN, PIECE_SHARE_MAX)
    os.makedirs(options.folder, exist_ok=True)
    vocabulary.write(options.folder)
    with open(options.folder + "/labels.txt", "w", encoding="utf-8") as file:
        file.writelines(package + "\n" for package in packages)
    for part, paths in parts.items():
        write_points(options.folder, part, paths, owners, vocabulary, number)
    stats = {"index_lines": lines, "labels": len(packages),
             "features": len(vocabulary.weight),
             **{part: len(paths) for part, paths in parts.items()}}
    with open(options.folder + "/stats.json", "w", encoding="ascii") as file:
        json.dump(stats, file, indent=1)
        file.write("\n")
    print("files.py:", ", ".join(f"{name} {count:,}"
                                 for name, count in stats.items()))


# --- answers ---------------------------------------------------------------

def answers(options, paths, count):
    """For each path the `count` best [(package, probability)] of the model."""
    vocabulary = Vocabulary.read(options.folder)
    points = "".join(" " + vocabulary.line(path) + "\n" for path in paths)
    done = subprocess.run(
        [options.skein, "predict", options.model, "-k", str(count), "--json",
         "--label-names", options.folder + "/labels.txt"],
        input=points, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        yield list(zip(answer["names"], answer["scores"]))


def ask(options):
    found = answers(options, options.path, options.top)
    for path, best in zip(options.path, found):
        print(path, "->", ", ".join(f"{name} {score:.2f}".replace(" 0.", " .")
                                    for name, score in best))


# --- simple rules to compare with ------------------------------------------

class Rules:
    """What can be said of a path without learning, from the same paths."""

    def __init__(self, points):
        self.packages = {}
        self.names = set()
        for owners, path in points:
            self.names.update(owners)
            while path:
                path = path.rpartition("/")[0]
                here = self.packages.setdefault(path, {})
                for name in owners:
                    here[name] = here.get(name, 0) + 1
        self.common = {}

    def common_in(self, folder):
        """The most frequent packages at or below `folder`."""
        if folder not in self.common:
            here = self.packages.get(folder, {})
            self.common[folder] = heapq.nlargest(BEST, here, key=here.get)
        return self.common[folder]

    def nearest(self, path):
        """The most frequent of the directory, then of each one above it."""
        best = []
        while path and len(best) < BEST:
            path = path.rpartition("/")[0]
            best += [name for name in self.common_in(path)
                     if name not in best]
        return best[:BEST]

    def named(self, path):
        """Of a directory that is not known, a package that is called so."""
        best = {}                       # in order, each once
        if path.rpartition("/")[0] not in self.packages:
            for piece in reversed(path.split("/")):
                best.update((name, 1) for name in
                            (piece, piece.partition(".")[0])
                            if name in self.names)
        best.update((name, 1) for name in self.nearest(path))
        return list(best)[:BEST]


def read_points(folder, part):
    """[(packages, path)] of PART.paths."""
    with open(f"{folder}/{part}.paths", encoding="utf-8",
              errors="surrogateescape", newline="\n") as file:
        for line in file:
            names, _, path = line.rstrip("\n").partition("\t")
            yield names.split(), path


def precision(found, truth):
    """P@1, P@3, P@5, and the share of paths with an owner among the five."""
    sums = [0.0] * 4
    for best, owners in zip(found, truth):
        hits = [name in owners for name in best[:BEST]]
        for place_of, depth in enumerate((1, 3, 5)):
            sums[place_of] += sum(hits[:depth]) / depth
        sums[3] += any(hits)
    return [total / len(truth) for total in sums]


def score(options):
    rules = Rules(read_points(options.folder, "train"))
    print("| Held out | Answers of | P@1 | P@3 | P@5 | among five |")
    print("|---|---|---|---|---|---|")
    for part in ("test", "places"):
        points = list(read_points(options.folder, part))
        if not points:
            continue
        truth = [owners for owners, _ in points]
        paths = [path for _, path in points]
        found = {
            "nearest directory": map(rules.nearest, paths),
            "nearest directory, else a name": map(rules.named, paths),
            "Skein": ([name for name, _ in best]
                      for best in answers(options, paths, BEST)),
        }
        for who, best in found.items():
            print(f"| {part} | {who} | " + " | ".join(
                f"{value:.3f}"[1:] if value < 1 else "1"
                for value in precision(best, truth)) + " |")


def main():
    parser = argparse.ArgumentParser(
        description="which package ships this file?")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verb = verbs.add_parser("convert", help="indexes to XMC text")
    verb.add_argument("folder")
    verb.add_argument("index", nargs="*")
    verb.add_argument("--per-package", type=int, default=PER_PACKAGE,
                      help="paths of a package at most; 0: all")
    verb.set_defaults(run=convert)
    for name, run in (("ask", ask), ("score", score)):
        verb = verbs.add_parser(name)
        verb.add_argument("folder")
        verb.add_argument("model")
        verb.add_argument("--skein", default="skein")
        if name == "ask":
            verb.add_argument("--top", type=int, default=3)
            verb.add_argument("path", nargs="+")
        verb.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
