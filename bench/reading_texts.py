#!/usr/bin/env python3
"""reading_texts.py - how fast files of texts are read, beside fastText.

Usage: bench/reading_texts.py [--skein PATH] [--repeats N] [--folder FOLDER]
           [--copies N] [--only WORD]
Writes the text of all manual pages of this machine in rows of 100 words, as
CSV, JSON lines and what fastText reads, and prints a Markdown table: CPU
seconds, user and system together, medians of the repeats, on one core, turn by
turn.

Of Skein they are those of `skein plan`, which learns the vocabulary and writes
the binary copy, less those of a plan from the copy; of fastText those of
`fasttext supervised -epoch 0 -dim 1`, which counts the words, on the same words
in lower case. The limits are what reading the bytes alone takes: `cat`,
`wc -l`, `wc -w` and `xxhsum`. --copies N repeats the text N times, each time
with two letters exchanged, so that each copy brings words of its own. --only
takes the rows of the table that have the word.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import glob
import gzip
import itertools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import reading
import scale
import sets

ROW_WORDS = 100
CONFIG = """\
skein: 1
data:
  train: {train}
  cache: {cache}
  word_groups: {words}
  letter_groups: {letters}
  term_rows: 2
  term_values: log
model:
  layers:
    - {{ name: hidden, units: 16 }}
    - {{ name: output }}
train: {{ ranker_trees: 0, ensemble: 1, epochs: 1, batch_rows: 512 }}
resources: {{ cores: 1 }}
"""
TERMS = (("words", 1, 0), ("words and pairs of words", 2, 0),
         ("words and groups of 3 letters", 1, 3))


def pages():
    """(label, text) of each row."""
    for path in sorted(glob.glob("/usr/share/man/man[1-8]/*.gz")):
        with gzip.open(path, "rt", errors="replace") as file:
            try:
                words = sets.plain(file.read()).split(" ")
            except (OSError, EOFError):
                continue
        for at in range(0, len(words), ROW_WORDS):
            yield path.split("/")[4], " ".join(words[at:at + ROW_WORDS])


def copies(count):
    """Tables for str.translate: the first changes nothing."""
    pairs = itertools.combinations("etaoinshrdlu", 2)
    for one, other in itertools.islice(pairs, count):
        yield str.maketrans({one: other, other: one})


def write(folder, count):
    """The paths of the CSV, the JSON lines and the text for fastText."""
    paths = [os.path.join(folder, name)
             for name in ("read.csv", "read.jsonl", "read.ft")]
    none = {}
    with open(paths[0], "w", encoding="utf-8", newline="") as table, \
            open(paths[1], "w", encoding="utf-8") as lines, \
            open(paths[2], "w", encoding="utf-8") as words:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["text", "labels"])
        for swap in itertools.chain([none], copies(count - 1)):
            # Kept rows would count as memory of the programs that we start.
            for label, text in pages():
                text = text.translate(swap)
                writer.writerow([text, label])
                lines.write(json.dumps({"text": text, "labels": label}) + "\n")
                words.write("__label__%s %s\n" % (
                    label, " ".join(re.findall(r"\w+", text.lower()))))
    return paths


def spent(command):
    """CPU seconds and the peak MB of a command on one core."""
    out = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=out, stderr=out,
                          preexec_fn=reading.on_one_core) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit("%s ended with %d" % (command[0], process.returncode))
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def skein(own, train, words, letters, folder):
    """CPU seconds and peak MB of the first plan, less those of the second."""
    config, cache = os.path.join(folder, "m.yaml"), os.path.join(folder, "c")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIG.format(train=train, cache=cache, words=words,
                                 letters=letters))
    for name in glob.glob(cache + "*.skc"):
        os.remove(name)
    first = spent([own.skein, "plan", config])
    return first[0] - spent([own.skein, "plan", config])[0], first[1]


def fasttext(text, folder):
    return spent(["fasttext", "supervised", "-input", text, "-output",
                  os.path.join(folder, "m"), "-epoch", "0", "-dim", "1",
                  "-minCount", "2"])


def cases(own, paths, folder):
    table, lines, text = paths
    yield "fastText: words", text, lambda: fasttext(text, folder)
    for what, words, letters in TERMS:
        for path in (table, text) + ((lines,) if words + letters == 1 else ()):
            yield "Skein: " + what, path, (
                lambda path=path, words=words, letters=letters:
                skein(own, path, words, letters, folder))
    for command in (["cat"], ["wc", "-l"], ["wc", "-w"], ["xxhsum", "-H64"]):
        if shutil.which(command[0]):
            yield "`%s`" % " ".join(command), table, (
                lambda command=command: spent(command + [table]))


def measured(name, path, case):
    found = case()
    print("%s, %s: %.2f s, %.0f MB" % (name, os.path.basename(path), *found),
          file=sys.stderr, flush=True)
    return found


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--skein",
                        default=os.path.join(scale.ROOT, "build", "skein"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder")
    return parser.parse_args()


def main():
    own = arguments()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir=own.folder) as folder:
        todo = [case for case in
                cases(own, write(folder, own.copies), folder)
                if own.only in case[0] + " " + case[1]]
        found = [[measured(*case) for case in todo]
                 for _ in range(own.repeats)]
        print("| reader | file | MB | CPU s (least - most) | MB a CPU s | peak "
              "MB |\n" + "|---" * 6 + "|")
        for k, (name, path, _) in enumerate(todo):
            seconds = [turn[k][0] for turn in found]
            median, size = statistics.median(seconds), os.path.getsize(path)
            print("| %s | %s | %.0f | %.2f (%.2f - %.2f) | %.0f | %.0f |" % (
                name, os.path.basename(path), size / 1e6, median, min(seconds),
                max(seconds), size / 1e6 / max(median, 1e-3),
                max(turn[k][1] for turn in found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
