#!/usr/bin/env python3
"""test_files.py - an index becomes points, names, and paths that are held out.

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

import checks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FILES = os.path.join(ROOT, "docs", "examples", "files")
sys.path.insert(0, FILES)
import files  # noqa: E402
import pieces  # noqa: E402


def index(packages=40, each=25):
    """Lines of a small index: a path, blanks, section/package."""
    lines = [f"usr/share/doc/thing{p}/part{n}.html   doc/thing{p}"
             for p in range(packages) for n in range(each)]
    lines += ["bin/both  shells/thing1,admin/thing2",
              "usr/share/name with blanks  misc/thing3",
              "usr/lib/l\xe4ngst.so  libs/thing4"]
    return "\n".join(lines).encode("latin-1") + b"\n"


class Files(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = kept.name
        self.index = os.path.join(kept.name, "Contents.gz")
        with gzip.open(self.index, "wb") as file:
            file.write(index())

    def convert(self, name, *more):
        folder = os.path.join(self.folder, name)
        subprocess.run([sys.executable, os.path.join(FILES, "files.py"),
                        "convert", folder, self.index, *more], check=True,
                       stdout=subprocess.DEVNULL)
        return folder

    def lines(self, *parts):
        with open(os.path.join(*parts), "rb") as file:
            return file.read().decode("latin-1").split("\n")[:-1]

    def test_lines_of_an_index_are_paths_and_packages(self):
        entries = dict(files.index_entries([self.index]))
        self.assertEqual(entries[b"bin/both"], ["thing1", "thing2"])
        self.assertEqual(entries[b"usr/share/name with blanks"], ["thing3"])
        self.assertEqual(entries["usr/lib/l\xe4ngst.so".encode("latin-1")],
                         ["thing4"])

    def test_a_sample_has_so_many_paths_of_a_package(self):
        count, owners = files.sample(files.index_entries([self.index]), 8)
        self.assertEqual(count, 40 * 25 + 3)
        self.assertEqual(sum("thing7" in found for found in owners.values()),
                         8)
        _, all_of_them = files.sample(files.index_entries([self.index]), 0)
        self.assertEqual(len(all_of_them), 40 * 25 + 3)

    def test_what_is_held_out_is_not_trained_on(self):
        _, owners = files.sample(files.index_entries([self.index]), 0)
        parts = files.split(owners)
        paths = [path for part in parts.values() for path in part]
        self.assertEqual(sorted(paths), sorted(owners))
        self.assertGreater(len(parts["test"]), 0)
        shown = {name for path in parts["train"] for name in owners[path]}
        self.assertEqual(shown, set().union(*owners.values()))
        trained = {files.place(path, owners[path]) for path in parts["train"]}
        for path in parts["places"]:
            self.assertNotIn(files.place(path, owners[path]), trained)

    def test_points_fit_their_header_and_their_names(self):
        folder = self.convert("a")
        labels = self.lines(folder, "labels.txt")
        features = self.lines(folder, "features.txt")
        with open(folder + "/stats.json", encoding="ascii") as file:
            stats = json.load(file)
        self.assertEqual(labels[:2], ["thing0", "thing1"])
        self.assertEqual(len(features), len(self.lines(folder, "weights.txt")))
        for part in ("train", "test", "places"):
            header, *points = self.lines(folder, part + ".txt")
            paths = self.lines(folder, part + ".paths")
            self.assertEqual(header, f"{len(points)} {len(features)} 40")
            self.assertEqual(len(points), len(paths))
            self.assertEqual(len(points), stats[part])
            for point, line in zip(points, paths):
                numbers = point.split(" ")[0].split(",")
                names = line.split("\t")[0].split(" ")
                self.assertEqual([labels[int(k)] for k in numbers], names)

    def test_the_same_index_gives_the_same_bytes(self):
        first, second = self.convert("a"), self.convert("b")
        for name in sorted(os.listdir(first)):
            self.assertEqual(self.lines(first, name),
                             self.lines(second, name), name)

    def test_pieces_are_directories_words_letters_and_a_suffix(self):
        found = pieces.pieces("/usr/lib/ssl3/ca.pem")
        self.assertLess({"usr/", "lib/ssl3/", "=ca.pem", "ssl3/=ca.pem",
                         "ssl", "3", "pem", "*.pem", "~^ca.", "~pem$"}, found)
        self.assertEqual(found, pieces.pieces("usr/lib/ssl3/ca.pem"))

    def test_a_package_is_learnt_by_its_name_too(self):
        self.assertLess({"zstd/", "=zstd", "zstd", "~^zst"},
                        pieces.pieces("zstd"))
        folder = self.convert("a")
        self.assertIn("thing7\tthing7", self.lines(folder, "train.paths"))
        self.assertIn("=thing7", self.lines(folder, "features.txt"))

    def test_weights_are_higher_for_rarer_pieces(self):
        vocabulary = pieces.Vocabulary.count(
            ["a/x", "a/y", "b/x", "c/z", "c/w"], 2, 0.5)
        self.assertEqual(set(vocabulary.number),
                         {"a/", "a", "c/", "c", "=x", "x", "~^x$"} -
                         {"~^x$"})
        self.assertEqual(vocabulary.line("nothing/known"), "")

    def test_rules_answer_the_nearest_directory_then_a_name(self):
        rules = files.Rules([(["one"], "usr/lib/one/a"),
                             (["one"], "usr/lib/one/b"),
                             (["two"], "usr/lib/c")])
        self.assertEqual(rules.nearest("usr/lib/one/new"), ["one", "two"])
        self.assertEqual(rules.nearest("usr/doc/two/x")[0], "one")
        self.assertEqual(rules.named("usr/doc/two/x")[:2], ["two", "one"])

    def test_precision_counts_owners_among_the_best(self):
        got = files.precision([["a", "b"], ["x"]], [["a", "b"], ["y"]])
        self.assertEqual(got, [0.5, 1 / 3, 0.2, 0.5])


if __name__ == "__main__":
    checks.main()
