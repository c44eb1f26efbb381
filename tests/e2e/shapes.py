#!/usr/bin/env python3
"""shapes.py - the forms of what `skein` prints about itself.

Every line of `doctor` has a known form, and says with --json what it says
without; help, manual pages and completions know every verb and every option
of it, and agree with each other; a pipe of a topology that does not gather
where it must is refused. Covers cli/doctor/doctor.c, cli/verb_man.c,
cli/verb_completion.c, cli/base/help.c and cli/verb_bench.c.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import checks  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
SKEIN = str(BUILD / "skein")


def skein(*arguments, status=0, **more):
    """What the command prints; its exit code must be `status`."""
    done = subprocess.run([SKEIN, *arguments], capture_output=True, text=True,
                          check=False, timeout=60, **more)
    if done.returncode != status:
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def verbs():
    """The verbs that the help lists, with their words."""
    found = re.findall(r"^  ([a-z]+) +(\S.*)$", skein("--help"), re.M)
    return dict(found)


def options_of(verb):
    """The long options that the help of a verb lists."""
    text = skein(verb, "--help").split("options:", 1)[1]
    return re.findall(r"^ +(?:-\w, )?--([a-z][a-z0-9-]*)", text, re.M)


class Doctor(unittest.TestCase):
    """skein doctor"""

    LINE = re.compile(r"^(fine   |costs  |BROKEN ) (\S.{13}) (\S.*)$")
    FIX = re.compile(r"^ {23}to fix: \S.*$")
    SUM = re.compile(r"^(\d+) fine, (\d+) cost speed, (\d+) broken$")

    def setUp(self):
        done = subprocess.run([SKEIN, "doctor"], capture_output=True,
                              text=True, check=False, timeout=60)
        self.code = done.returncode
        self.lines = done.stdout.splitlines()
        self.errors = done.stderr

    def test_every_line_has_a_known_form(self):
        """A finding, what to do about it, or the sum at the end."""
        self.assertEqual(self.errors, "")
        for before, line in zip([""] + self.lines, self.lines[:-1]):
            if self.FIX.match(line):
                self.assertRegex(before, "^(costs|BROKEN)", line)
            else:
                self.assertRegex(line, self.LINE)
        self.assertRegex(self.lines[-1], self.SUM)

    def test_the_sum_is_that_of_the_lines(self):
        """And the exit code follows from it."""
        words = [self.LINE.match(line) for line in self.lines[:-1]]
        words = [match.group(1).strip() for match in words if match]
        told = [int(n) for n in self.SUM.match(self.lines[-1]).groups()]
        self.assertEqual(told, [words.count("fine"), words.count("costs"),
                                words.count("BROKEN")])
        self.assertEqual(self.code, 69 if told[2] else 0)

    def test_what_is_not_fine_can_be_repaired(self):
        """Each finding that is not fine says how."""
        for line, after in zip(self.lines, self.lines[1:]):
            if line.startswith(("costs", "BROKEN")):
                self.assertRegex(after, self.FIX)

    def test_json_says_the_same(self):
        """Names, in their order, and states."""
        done = subprocess.run([SKEIN, "doctor", "--json"], capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, self.code)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        words = {"fine": "fine", "slow": "costs", "broken": "BROKEN"}
        seen = [self.LINE.match(line) for line in self.lines[:-1]]
        seen = [(m.group(1).strip(), m.group(2).strip())
                for m in seen if m]
        told = [(words[e["state"]], e["name"]) for e in events]
        self.assertEqual(told, seen)
        for event in events:
            self.assertEqual(sorted(event),
                             ["event", "fix", "found", "name", "state"])
            self.assertEqual(event["event"], "finding")
            self.assertTrue(event["found"])
            self.assertEqual(event["state"] == "fine", event["fix"] == "")

    def test_no_name_comes_twice(self):
        """A finding is known by its name."""
        names = [m.group(2).strip()
                 for m in map(self.LINE.match, self.lines) if m]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 15)


class Texts(unittest.TestCase):
    """Help, manual pages and completions of every verb."""

    @classmethod
    def setUpClass(cls):
        cls.verbs = verbs()
        cls.options = {verb: options_of(verb) for verb in cls.verbs}

    def test_there_are_verbs(self):
        """As many as the table has."""
        for verb in ("train", "run", "check", "plan", "graph", "eval",
                     "predict", "inspect", "actors", "doctor", "bench",
                     "reference", "schema", "man", "completion", "version"):
            self.assertIn(verb, self.verbs)

    def test_the_help_of_each_begins_with_its_line(self):
        """The one that the list shows; then its usage."""
        for verb, words in self.verbs.items():
            lines = skein(verb, "--help").splitlines()
            self.assertEqual(lines[0], f"skein {verb} - {words}")
            self.assertRegex(lines[2], rf"^usage: skein {verb} \[options\]")
            self.assertEqual(lines[1], "")

    def test_no_help_is_wider_than_a_terminal(self):
        """80 columns."""
        for verb in [None, *self.verbs]:
            text = skein(*([verb] if verb else []), "--help")
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, f"{verb}: {line}")

    def test_every_verb_knows_json_and_help(self):
        """No verb is left out."""
        for verb, options in self.options.items():
            self.assertIn("json", options, verb)
            self.assertIn("help", options, verb)
            self.assertEqual(len(options), len(set(options)), verb)

    def test_every_verb_has_a_page_with_its_options(self):
        """Title, name, synopsis and each option."""
        for verb, options in self.options.items():
            page = skein("man", verb)
            self.assertRegex(page, rf'(?m)^\.TH "?SKEIN-{verb.upper()}"? ')
            for section in ("NAME", "SYNOPSIS", "OPTIONS"):
                self.assertIn(f".SH {section}\n", page, verb)
            plain = page.replace("\\-", "-")
            for option in options:
                self.assertIn(f"--{option}", plain, verb)

    def test_the_page_of_all_names_every_verb(self):
        """skein(1)."""
        page = skein("man").replace("\\-", "-")
        for verb in self.verbs:
            self.assertIn(verb, page)

    def test_every_shell_completes_every_verb_and_option(self):
        """bash, zsh, fish."""
        for shell in ("bash", "zsh", "fish"):
            script = skein("completion", shell)
            for verb, options in self.options.items():
                self.assertRegex(script, rf"\b{verb}\b", shell)
                for option in options:
                    self.assertRegex(script, rf"(--|-l ){option}\b",
                                     f"{shell}: {verb}")

    def test_bash_completes_as_the_help_says(self):
        """The words of each verb, asked of bash itself."""
        script = skein("completion", "bash")
        for verb, options in self.options.items():
            ask = (f"{script}\nCOMP_WORDS=(skein {verb} --)\nCOMP_CWORD=2\n"
                   "_skein\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
            done = subprocess.run(["bash", "-c", ask], capture_output=True,
                                  text=True, check=True, timeout=60)
            self.assertEqual(sorted(done.stdout.split()),
                             sorted("--" + option for option in options), verb)

    def test_an_option_that_no_verb_has_is_refused(self):
        """With exit code 64 and the nearest one."""
        for verb in self.verbs:
            text = skein(verb, "--jsn", status=64)
            self.assertIn("--json", text, verb)
            self.assertEqual(text.count("\n"), 1, verb)

    def test_a_page_of_no_verb_is_refused(self):
        """And a shell that is not known."""
        self.assertIn("tarin", skein("man", "tarin", status=64))
        self.assertIn("tcsh", skein("completion", "tcsh", status=64))


class Gather(unittest.TestCase):
    """A topology file whose pipes do not gather."""

    MODEL = """\
skein: 1
data: { train: train.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 16, shards: 2 }
    - { name: output, shards: 2 }
train: { epochs: 1, batch_rows: 4 }
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="skein-shapes.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rows = "".join(f"{k % 40} {k % 20}:1\n" for k in range(40))
        (self.folder / "train.txt").write_text("40 20 40\n" + rows)
        (self.folder / "model.yaml").write_text(self.MODEL)

    def test_each_one_is_refused_by_check_and_run(self):
        """By its line, before any actor is there."""
        plan = skein("plan", "model.yaml", cwd=self.folder)
        lines = plan.splitlines()
        places = [k for k, line in enumerate(lines) if "gather" in line]
        self.assertGreaterEqual(len(places), 3)
        for k in places:
            less = lines[:]
            less[k] = less[k].replace(", collect: gather, by: batch", "")
            self.assertNotEqual(less[k], lines[k])
            (self.folder / "t.yaml").write_text("\n".join(less) + "\n")
            for verb in ("check", "run"):
                text = skein(verb, "t.yaml", cwd=self.folder, status=78)
                self.assertRegex(text, rf"t\.yaml:{k + 1}:\d+: ")
                self.assertIn("gathered, one part of every sender; add "
                              "collect: gather, by: batch", text)

    def test_the_plan_itself_is_taken(self):
        """And trains."""
        (self.folder / "t.yaml").write_text(
            skein("plan", "model.yaml", cwd=self.folder))
        self.assertIn('"event":"done"',
                      skein("run", "--json", "t.yaml", cwd=self.folder))


if __name__ == "__main__":
    checks.main()
