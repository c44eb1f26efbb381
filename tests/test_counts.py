#!/usr/bin/env python3
"""test_counts.py - .ci/counts counts each kernel, and sees one that got worse.

A folder of the test has the script, the driver's build and a table that is
altered: where a kernel had fewer instructions, the present one is a rise.
Valgrind runs twice; in between a stand-in brings what it wrote.
SPDX-License-Identifier: Apache-2.0
"""
import os
import shutil
import subprocess
import tempfile
import unittest

import checks

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("SKEIN_BUILD", os.path.join(ROOT, "build"))
# valgrind -q --tool=... --callgrind-out-file=OUT ...
VALGRIND = """#!/bin/sh
folder=$(dirname "${3#*=}")
[ ! -d "$KEPT" ] || exec cp "$KEPT"/* "$folder"
"$REAL" "$@" && mkdir "$KEPT" && cp "$folder"/* "$KEPT"
"""


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = kept.name
        for place in (".ci", "tests", "build"):
            os.mkdir(os.path.join(cls.folder, place))
        shutil.copy(os.path.join(ROOT, ".ci", "counts"),
                    os.path.join(cls.folder, ".ci"))
        os.symlink(os.path.abspath(os.path.join(BUILD, "count")),
                   os.path.join(cls.folder, "build", "count"))
        shutil.copy(os.path.join(BUILD, "CMakeCache.txt"),
                    os.path.join(cls.folder, "build"))
        cls.kept = os.path.join(cls.folder, "kept")
        with open(os.path.join(cls.folder, "valgrind"), "w",
                  encoding="utf-8") as file:
            file.write(VALGRIND)
            os.chmod(file.name, 0o755)
        done = cls.counts("--update")
        cls.skipped = done.stdout.strip() if "SKIPPED" in done.stdout else ""
        assert cls.skipped or done.returncode == 0, done
        cls.table = "" if cls.skipped else cls.read("tests/counts.tsv")

    def setUp(self):
        if self.skipped:
            self.skipTest(self.skipped)

    @classmethod
    def counts(cls, *arguments):
        real = shutil.which("valgrind")
        environment = dict(os.environ)
        if real:
            environment.update(REAL=real, KEPT=cls.kept,
                               PATH=f"{cls.folder}:{os.environ['PATH']}")
        return subprocess.run(
            [os.path.join(cls.folder, ".ci", "counts"), *arguments],
            capture_output=True, text=True, check=False, env=environment)

    @classmethod
    def read(cls, name):
        with open(os.path.join(cls.folder, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def altered(self, kernel, factor):
        """The table with another count of a kernel; that count."""
        lines = self.table.split("\n")
        at = next(k for k, line in enumerate(lines)
                  if line.startswith(kernel + "\t"))
        number = int(int(lines[at].split("\t")[1]) * factor)
        lines[at] = f"{kernel}\t{number}"
        self.write("tests/counts.tsv", "\n".join(lines))
        return number

    def number(self, kernel):
        return int(self.table.split(f"\n{kernel}\t")[1].split("\n")[0])

    def test_every_kernel_is_counted(self):
        with open(os.path.join(ROOT, "kernels", "kernels.h"),
                  encoding="utf-8") as file:
            names = [line.split(",")[1].strip() for line in file
                     if line.startswith("    K(")]
        self.assertGreater(len(names), 30)
        for name in names:
            if not name.endswith(("_bytes", "gemm_rows")):
                wanted = "\ngemm_logits\t" if name == "gemm" \
                    else f"\n{name}\t"
                self.assertIn(wanted, self.table)

    def test_counts_are_those_of_the_kernel_alone(self):
        # 513 numbers in vectors of 8: 65 turns of a load, a multiplication, a
        # store and a loop of its own; the driver's start has thousands.
        self.assertGreater(self.number("scale"), 65 * 3)
        self.assertLess(self.number("scale"), 65 * 16)

    def test_a_second_count_is_the_same(self):
        self.write("tests/counts.tsv", self.table)
        shutil.rmtree(self.kept)
        done = self.counts()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\Acounts: \d+ kernels, 0 worse by "
                         r"more than 3%\n\Z")
        self.assertEqual(self.counts("--update").returncode, 0)
        self.assertEqual(self.read("tests/counts.tsv"), self.table)

    def test_a_rise_fails_in_one_clear_line(self):
        old, new = self.altered("adam_row", 0.96), self.number("adam_row")
        done = self.counts()
        self.assertEqual(done.returncode, 1, done.stdout)
        lines = done.stdout.splitlines()
        self.assertEqual(lines, [
            f"FAILED: adam_row: {new} instructions, were {old} "
            f"({100 * (new / old - 1):+.1f}%)",
            lines[-1]])
        self.assertIn("1 worse", lines[-1])

    def test_two_percent_more_are_let_through(self):
        self.altered("gemm_logits", 0.98)
        self.assertEqual(self.counts().returncode, 0)

    def test_a_fall_is_told(self):
        self.altered("gemm_logits", 1.2)
        done = self.counts()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("gemm_logits: ", done.stdout)
        self.assertIn("--update", done.stdout)

    def test_kernels_and_table_have_the_same_names(self):
        self.write("tests/counts.tsv",
                   self.table.replace("\ndot\t", "\nspot\t"))
        done = self.counts()
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: dot is not in tests/counts.tsv", done.stdout)
        self.assertIn("FAILED: spot of tests/counts.tsv is counted no more",
                      done.stdout)

    def test_another_compiler_is_told_and_compares_nothing(self):
        self.write("tests/counts.tsv",
                   self.table.replace("compiler\t", "compiler\tnew "))
        done = self.counts()
        self.assertEqual(done.returncode, 0)
        self.assertIn("counts: SKIPPED: the table is of new ", done.stdout)

    def test_a_build_with_other_flags_is_told(self):
        cache = self.read("build/CMakeCache.txt")
        self.write("build/CMakeCache.txt", cache.replace(
            "CMAKE_C_FLAGS:STRING=", "CMAKE_C_FLAGS:STRING=-O0"))
        self.addCleanup(self.write, "build/CMakeCache.txt", cache)
        done = self.counts()
        self.assertEqual(done.stdout, "counts: SKIPPED: the build has "
                         "CMAKE_C_FLAGS=-O0\n")


if __name__ == "__main__":
    checks.main()
