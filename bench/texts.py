#!/usr/bin/env python3
"""texts.py - what Skein and fastText make of sets of texts, by every choice.

Usage: bench/texts.py FOLDER [--sets NAME,...] [--only NAME,...] [--seeds N]
           [--skein PATH] [--napkin PATH] [--out FILE] [-o KEY=VALUE]...
FOLDER/NAME/train.csv and test.csv are those of bench/sets.py. Trains on one
core, once for each set, variant and seed, and adds a line of JSON to FILE: P@1,
P@3, P@5 and the CPU seconds of the whole command, reading included. A line
that is there already is not measured again.

Variants of Skein change something of what `auto` chooses (VARIANTS below); all
have the -o's, too. fasttext chooses among rates, epochs and groups of words by
a fifth of the training rows, and then trains on all of them: its texts are in
lower case, with punctuation set apart, as its manual recommends. tfidf and its
siblings turn texts into numbers by scikit-learn (VECTORIZERS below), which
napkin and napkin-3 (label trees of napkinXC, whose `nxc` PATH is), and knn
(nearest neighbours) have, too; they choose a setting by a tenth of the training
points, and their CPU seconds are of training (knn: of prediction) alone. small
is `auto` in 1.5 times the bytes of fastText's small model (small_bytes).
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOSS = "model.layers.output.loss="
UNITS = "model.layers.hidden.units="
TREES = "train.ranker_trees="
LOSSES = {"softmax": LOSS + "softmax", "ova": LOSS + "one_vs_all"}
BASE = [LOSSES["ova"], TREES + "0"]
VARIANTS = {
    "auto": [],
    **{name + tree * "-tree" + "-" + units:
       [loss, TREES + str(tree), UNITS + units] for name, loss in LOSSES.items()
       for tree in (0, 1) for units in ("256", "1024")},
    "softmax": [LOSSES["softmax"], TREES + "0"],
    "softmax-tree": [LOSSES["softmax"], TREES + "1"],
    "ova": BASE,
    "ova-tree": [LOSSES["ova"], TREES + "1"],
    "ova-trees": [LOSSES["ova"], TREES + "2"],
    "ova-512": BASE + [UNITS + "512"],
    "words-2": BASE + ["data.word_groups=2"],
    "words-3": BASE + ["data.word_groups=3"],
    "letters-4": BASE + ["data.letter_groups=4"],
    "letters-5": BASE + ["data.letter_groups=5"],
    "rows-1": BASE + ["data.term_rows=1"],
    "rows-3": BASE + ["data.term_rows=3"],
    "count": BASE + ["data.term_values=count"],
    "log": BASE + ["data.term_values=log"],
    "idf": BASE + ["data.term_values=one_idf"],
    "log-idf": BASE + ["data.term_values=log_idf"],
    "no-length": BASE + ["data.normalize=none"],
}
# The same rows as numbers, made by scikit-learn, with all else left to `auto`.
VECTORIZERS = {
    "tfidf": {},
    "tfidf-pairs": {"ngram_range": (1, 2), "min_df": 2, "sublinear_tf": True},
    "tfidf-letters": {"analyzer": "char_wb", "ngram_range": (3, 4),
                      "min_df": 2, "sublinear_tf": True},
}
RATES = ("0.2", "0.5", "1.0")
EPOCHS = ("5", "25")
GROUPS = ("1", "2")


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [(row["text"], row["labels"].split(";"))
                for row in csv.DictReader(file)]


def on_one_core():
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0)) + own.core])


def run(words):
    """Its output, and the CPU seconds of the whole command."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL,
                                   text=True, preexec_fn=on_one_core)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    return process.returncode, text, used.ru_utime + used.ru_stime, \
        used.ru_maxrss / 1024


def skein(folder, seed, changes):
    with tempfile.TemporaryDirectory() as temporary:
        return skein_once(temporary, folder + "/train.csv",
                          folder + "/test.csv", seed, changes)


def vectorize(folder, vectorizer):
    """The rows of both files as (numbered features, numbers of labels)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    train, test = (read_csv("%s/%s.csv" % (folder, part))
                   for part in ("train", "test"))
    number = {}
    for _, labels in train:
        for label in labels:
            number.setdefault(label, len(number))
    made = TfidfVectorizer(**vectorizer)
    parts = [(matrix([text for text, _ in rows]),
              [[number[label] for label in labels if label in number]
               for _, labels in rows])
             for matrix, rows in ((made.fit_transform, train),
                                  (made.transform, test))]
    return parts, len(number)


def vectorized(folder, seed, vectorizer):
    parts, label_count = vectorize(folder, vectorizer)
    with tempfile.TemporaryDirectory() as temporary:
        paths = [temporary + "/train.txt", temporary + "/test.txt"]
        for path, part in zip(paths, parts):
            write_points(path, *part, label_count)
        return skein_once(temporary, *paths, seed, [])


def write_points(path, matrix, labels, label_count):
    matrix.sort_indices()
    with open(path, "w", encoding="utf-8") as file:
        file.write("%d %d %d\n" % (matrix.shape + (label_count,)))
        for k, numbers in enumerate(labels):
            row = matrix[k]
            file.write(",".join(map(str, sorted(numbers))) + " " + " ".join(
                "%d:%.6g" % pair for pair in zip(row.indices, row.data)) + "\n")


def skein_once(temporary, train, test, seed, changes):
    """Trains into temporary/run."""
    words = [own.skein, "train", os.path.join(ROOT, "configs", "xmc.yaml"),
             "--json"]
    for change in [
            "data.train=" + train, "data.test=" + test,
            "data.cache=%s/c" % temporary, "checkpoint.path=%s/run" % temporary,
            "checkpoint.every_epochs=0", "train.evaluate.every_epochs=0",
            "resources.cores=1", "train.seed=%d" % seed] + changes + own.o:
        words += ["-o", change]
    code, text, seconds, memory = run(words)
    done = [json.loads(line) for line in text.splitlines()
            if '"event":"done"' in line.replace(" ", "")]
    if code or not done:
        return {"error": code, "text": text[-300:]}
    return {"p1": done[-1]["p1"], "p3": done[-1]["p3"], "p5": done[-1]["p5"],
            "cpu": seconds, "mib": memory}


# --- fastText --------------------------------------------------------------

def words_of(text):
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def read_rows(path):
    return [(words_of(text), labels) for text, labels in read_csv(path)]


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for text, labels in rows:
            file.write(" ".join("__label__" + label.replace(" ", "_")
                                for label in labels) + " " + text + "\n")


def fasttext_once(temporary, part, setting, loss):
    """P@1, P@3 and P@5 on a part, and the seconds of training."""
    rate, epochs, groups = setting
    model = temporary + "/model"
    code, _, seconds, memory = run([
        "fasttext", "supervised", "-input", temporary + "/" + part + ".train",
        "-output", model, "-lr", rate, "-epoch", epochs, "-wordNgrams", groups,
        "-loss", loss, "-thread", "1", "-verbose", "0"] +
        (["-bucket", "200000"] if groups != "1" else ["-bucket", "0"]))
    if code:
        return {"error": code}
    found = {"cpu": seconds, "mib": memory}
    for k in (1, 3, 5):
        found["p%d" % k] = precision(temporary, part, ".bin", k)
    return found


def quantize(temporary):
    """Makes temporary/model smaller, as the manual does; P@k, and its bytes."""
    model = temporary + "/model"
    run(["fasttext", "quantize", "-input", temporary + "/all.train", "-output",
         model, "-qnorm", "-retrain", "-epoch", "1", "-cutoff", "100000",
         "-thread", "1"])
    return {"small_bytes": os.path.getsize(model + ".ftz"),
            "small_p1": precision(temporary, "all", ".ftz", 1)}


def precision(temporary, part, form, k):
    _, text, _, _ = run(["fasttext", "test", temporary + "/model" + form,
                         temporary + "/" + part + ".test", str(k)])
    return float(re.search(r"P@\d\s+([\d.]+)", text).group(1))


def fasttext(folder):
    train = read_rows(folder + "/train.csv")
    several = sum(len(labels) for _, labels in train) > 1.05 * len(train)
    loss = "ova" if several else "softmax"
    with tempfile.TemporaryDirectory() as temporary:
        write_rows(temporary + "/held.train", train[len(train) // 5:])
        write_rows(temporary + "/held.test", train[:len(train) // 5])
        write_rows(temporary + "/all.train", train)
        write_rows(temporary + "/all.test", read_rows(folder + "/test.csv"))
        tried = {}
        for setting in [(rate, epochs, groups) for rate in RATES
                        for epochs in EPOCHS for groups in GROUPS]:
            found = fasttext_once(temporary, "held", setting, loss)
            tried[setting] = found.get("p1", 0)
        best = max(tried, key=tried.get)
        found = fasttext_once(temporary, "all", best, loss)
        return dict(found, setting=" ".join(best + (loss,)),
                    **quantize(temporary))


# --- label trees and neighbours, on scikit-learn's numbers -------------------

def judge(ranked, labels):
    """P@1, P@3 and P@5 of the best five labels of each point."""
    return {"p%d" % k: sum(len(set(best[:k]) & set(own_labels))
                           for best, own_labels in zip(ranked, labels)) /
            k / len(labels) for k in (1, 3, 5)}


def split(part):
    """A tenth of the points, and the others."""
    matrix, labels = part
    rows = [[k for k in range(len(labels)) if (k % 10 == 0) == held]
            for held in (False, True)]
    return [(matrix[some], [labels[k] for k in some]) for some in rows]


def napkin_once(train, test, label_count, trees, cost):
    with tempfile.TemporaryDirectory() as temporary:
        paths = [temporary + "/train.txt", temporary + "/test.txt"]
        for path, part in zip(paths, (train, test)):
            write_points(path, *part, label_count)
        model = temporary + "/model"
        _, _, seconds, memory = run([
            own.napkin, "train", "-i", paths[0], "-o", model, "-m", "plt", "-t",
            "1", "--ensemble", str(trees if trees > 1 else 0), "--liblinearC",
            cost])
        _, text, _, _ = run([own.napkin, "predict", "-i", paths[1], "-o", model,
                             "-t", "1", "--topK", "5"])
    ranked = [[int(word.partition(":")[0]) for word in line.split()]
              for line in text.splitlines()]
    return dict(judge(ranked, test[1]), cpu=seconds, mib=memory)


def neighbours(train, test, label_count, count):
    """The labels of the nearest points by the cosine, weighted by it."""
    import numpy
    ranked = []
    for first in range(0, len(test[1]), 500):
        near = (test[0][first:first + 500] @ train[0].T).toarray()
        best = numpy.argpartition(-near, count, 1)[:, :count]
        for row, points in zip(near, best):
            score = numpy.zeros(label_count)
            for point in points:
                score[train[1][point]] += row[point]
            ranked.append(numpy.argsort(-score, kind="stable")[:5].tolist())
    return judge(ranked, test[1])


def neighbours_once(train, test, label_count, count):
    started = time.process_time()
    found = neighbours(train, test, label_count, count)
    return dict(found, cpu=time.process_time() - started)


def chosen(folder, once, choices):
    """The best of `choices` on a tenth of the training points."""
    (train, test), label_count = vectorize(folder, {})
    fit, held = split(train)
    found = {choice: once(fit, held, label_count, choice)["p1"]
             for choice in choices}
    best = max(found, key=found.get)
    return dict(once(train, test, label_count, best), setting=str(best))


# --- a small file ------------------------------------------------------------

def small(folder):
    """`auto`, exported into 1.5 times the bytes of fastText's small model, of
    which a line is in the results already."""
    peer = [row for row in known_rows() if row["variant"] == "fasttext" and
            row["set"] == os.path.basename(folder)]
    if not peer:
        return {"error": "fasttext first"}
    most = int(1.5 * peer[0]["small_bytes"])
    with tempfile.TemporaryDirectory() as temporary:
        skein_once(temporary, folder + "/train.csv", folder + "/test.csv", 1,
                   [])
        model = temporary + "/model"
        run([own.skein, "export", temporary + "/run", model, "--max-size",
             str(most)])
        _, text, _, _ = run([own.skein, "eval", model, "--json"])
        lines = [line for line in text.splitlines() if '"p1":' in line]
        return {"p1": json.loads(lines[-1])["p1"],
                "small_bytes": os.path.getsize(model)}


OTHERS = {
    "knn": lambda folder: chosen(folder, neighbours_once, (3, 10, 30, 100)),
    **{name: lambda folder, trees=trees: chosen(
        folder, lambda train, test, label_count, cost: napkin_once(
            train, test, label_count, trees, cost), ("1", "4", "16", "32"))
       for name, trees in (("napkin", 1), ("napkin-3", 3))},
    "fasttext": fasttext,
    "small": small,
}


def measure(variant, folder, seed):
    if variant in OTHERS:
        return OTHERS[variant](folder)
    if variant in VECTORIZERS:
        return vectorized(folder, seed, VECTORIZERS[variant])
    return skein(folder, seed, VARIANTS[variant])


def known_rows():
    if not os.path.exists(own.out):
        return []
    with open(own.out, encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if "p1" in row]


def main():
    global own
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--sets", default="folders,sources,pages,few,people,"
                        "files")
    parser.add_argument("--only", default=",".join(VARIANTS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--skein", default=os.path.join(ROOT, "build/skein"))
    parser.add_argument("--napkin", default="nxc")
    parser.add_argument("--out", default="texts.json")
    parser.add_argument("-o", action="append", default=[])
    own = parser.parse_args()
    known = {(row["set"], row["variant"], row["seed"]) for row in known_rows()}
    for variant in own.only.split(","):
        for name in own.sets.split(","):
            for seed in range(1, own.seeds + 1):
                key = (name, variant, seed)
                if key in known:
                    continue
                started = time.time()
                found = measure(variant, os.path.join(own.folder, name), seed)
                row = dict(zip(("set", "variant", "seed"), key), **found)
                with open(own.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print("%.0f s" % (time.time() - started), json.dumps(row),
                      file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
