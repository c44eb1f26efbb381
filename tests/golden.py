#!/usr/bin/env python3
"""golden.py - compares what Skein prints with texts that are checked in.

Usage: tests/golden.py [--update] [NAME...]

Plans, drawings, help, manual pages, completions, kinds and schema: texts that
other tools or people read, and that nobody should change without knowing; and
the list of all messages (.ci/messages). Each is a file in tests/golden/;
`--update` rewrites those that differ, and the diff belongs to the commit that
causes it.

Every text must be the same on every machine, in every locale and terminal:
plans are made for a given number of units by golden_plan (tests/golden/plan.c)
over data that this script draws itself. The texts are made twice, the second
time in another environment, which must not be seen in them.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
GOLDEN = ROOT / "tests" / "golden"
SKEIN = str(BUILD / "skein")
PLAN = str(BUILD / "golden" / "golden_plan")
MESSAGES = str(ROOT / ".ci" / "messages")

# Lines of a diff that are printed; more do not help.
DIFF_LINES_MAX = 60
# A text that is checked in is for people to read.
GOLDEN_BYTES_MAX = 260_000

MODEL = """\
skein: 1
data: { train: train.txt, test: test.txt, cache: none }
model:
  layers:
    - { name: hidden }
    - { name: output }
"""
DEEP_MODEL = """\
skein: 1
data: { train: train.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 48 }
    - { name: middle, units: 40 }
    - { name: upper, units: 24 }
    - { name: output, loss: softmax }
train: { batch_rows: 16, epochs: 3 }
"""

DECODER_MODEL = """\
skein: 1
data: { train: text.txt, context: 64, cache: none }
model: { kind: decoder, layers: 6, width: 64, heads: 4 }
train: { micro_tokens: 256, batch_tokens: 4096, steps: 20 }
"""

ELASTIC_MODEL = MODEL + """\
checkpoint: { path: run, every_batches: 20 }
coordinator: { address: "tcp://127.0.0.1:7000", key: lead.key }
nodes:
  - { name: a, address: "tcp://127.0.0.1:7001", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:7002", key: b.key }
  - { name: c, address: "tcp://127.0.0.1:7003", key: c.key }
"""


def nodes(*cores):
    """An override that lists a node a number of cores."""
    return "nodes=[" + ", ".join(
        f"{{ name: {chr(97 + k)}, address: 'tcp://127.0.0.1:{7001 + k}', "
        f"cores: {count} }}" for k, count in enumerate(cores)) + "]"


# Two of three cannot be dialled.
VIA = ("nodes=[{ name: a, address: 'tcp://127.0.0.1:7001', key: a.key }, "
       "{ name: c, via: a, key: c.key }, { name: d, via: a, key: d.key }]")

# name -> (units, what is printed, model, overrides)
PLANS = {
    "plan-decoder-1": (1, "text", "decoder.yaml", ()),
    "plan-decoder-4": (4, "text", "decoder.yaml",
                       ("train.validate=0.1", "model.head.shards=2")),
    "plan-decoder-nodes": (1, "text", "decoder.yaml",
                           ("nodes=[{ name: a, address: "
                            "'tcp://127.0.0.1:7001', cores: 2 }, { name: b, "
                            "address: 'tcp://127.0.0.1:7002', speed: 3 }]",
                            "links.coding=int8", "links.latency=0.02")),
    "plan-nodes-via": (1, "topology", "model.yaml", (VIA,)),
    "plan-nodes-2": (1, "topology", "model.yaml", (nodes(1, 1),)),
    "plan-nodes-uneven": (8, "topology", "deep.yaml",
                          (nodes(1, "[2, 5, 6]"), "links.coding=int8")),
    "plan-nodes-fixed": (3, "topology", "model.yaml",
                         (nodes(2, 1), "train.reduction=fixed",
                          "model.layers.output.sampler.kind=simhash")),
    "graph-nodes": (1, "dot", "model.yaml", (nodes(2, 1),)),
    "graph-text-nodes": (1, "text", "model.yaml", (nodes(2, 1),)),
    "plan-auto-1": (1, "topology", "model.yaml", ()),
    "plan-auto-2": (2, "topology", "model.yaml", ()),
    "plan-auto-4": (4, "topology", "model.yaml", ()),
    "plan-auto-16": (16, "topology", "model.yaml", ()),
    "plan-deep-1": (1, "topology", "deep.yaml", ()),
    "plan-deep-3": (3, "topology", "deep.yaml", ()),
    "plan-shards": (2, "topology", "model.yaml",
                    ("model.layers.hidden.shards=3",
                     "model.layers.output.shards=4")),
    "plan-window-1": (2, "topology", "model.yaml", ("train.window=1",)),
    "plan-window-8": (2, "topology", "model.yaml", ("train.window=8",)),
    "plan-one-vs-all": (2, "topology", "model.yaml",
                        ("model.layers.output.loss=one_vs_all",)),
    "plan-exact": (2, "topology", "model.yaml",
                   ("model.layers.output.sampler.kind=exact",)),
    "plan-log-uniform": (2, "topology", "model.yaml",
                         ("model.layers.output.sampler.kind=log_uniform",
                          "model.layers.output.sampler.rows=100")),
    "plan-simhash": (2, "topology", "model.yaml",
                     ("model.layers.output.sampler.kind=simhash",)),
    "plan-dwta": (2, "topology", "model.yaml",
                  ("model.layers.output.sampler.kind=dwta",)),
    "plan-free": (2, "topology", "model.yaml", ("train.order=free",)),
    "plan-reduction": (2, "topology", "model.yaml",
                       ("train.reduction=fixed",)),
    "plan-sgd-bf16": (2, "topology", "model.yaml",
                      ("train.optimizer.kind=sgd",
                       "model.layers.output.weights=bf16")),
    "plan-adagrad": (2, "topology", "model.yaml",
                     ("train.optimizer={ kind: adagrad, rate: 0.1 }",
                      "train.schedule={ kind: cosine, floor: 0.1 }")),
    "plan-validate": (2, "topology", "model.yaml",
                      ("train.validate=0.1", "train.patience=2",
                       "checkpoint.every_batches=7")),
    "plan-cores": (4, "topology", "model.yaml", ("resources.cores=[1, 3]",)),
    "model-auto": (1, "model", "model.yaml", ()),
    "model-deep": (1, "model", "deep.yaml", ()),
    "why-xmc": (2, "why", "xmc.yaml", ()),
    "why-xmc-6": (2, "why", "xmc.yaml", ("train.epochs=6",)),
    "why-xmc-3": (2, "why", "xmc.yaml", ("train.epochs=3",)),
    "why-decoder": (2, "why", "decoder.yaml", ()),
    "why-deep": (2, "why", "deep.yaml", ()),
    "model-dropout": (1, "model", "model.yaml",
                      ("model.layers.hidden.units=64",
                       "model.layers.hidden.dropout=0.5")),
    "graph-auto-2": (2, "dot", "model.yaml", ()),
    "graph-deep-2": (2, "dot", "deep.yaml", ()),
    "graph-text-1": (1, "text", "model.yaml", ()),
    "graph-text-3": (3, "text", "deep.yaml", ()),
    "graph-text-simhash": (2, "text", "model.yaml",
                           ("model.layers.output.sampler.kind=simhash",
                            "model.layers.output.shards=12")),
    "graph-simhash": (2, "dot", "model.yaml",
                      ("model.layers.output.sampler.kind=simhash",
                       "model.layers.output.shards=3")),
}

# One model on every machine: what `auto` becomes may not see the units.
SAME_MODEL = [("model-auto", units) for units in (2, 3, 8, 64)] + \
             [("model-deep", units) for units in (2, 7)]
# One plan on every node: several nodes do not look at the machine at all.
SAME_PLAN = [(name, units) for units in (1, 2, 64)
             for name in ("plan-nodes-2", "plan-nodes-uneven",
                          "plan-nodes-fixed", "plan-decoder-nodes")]

# name -> arguments of skein; {verb} names have one file each
COMMANDS = {
    "help": ["--help"],
    "actors": ["actors"],
    "actors-output": ["actors", "output"],
    "actors-source": ["actors", "source"],
    "actors-json": ["actors", "--json"],
    "schema": ["schema"],
    "completion-bash": ["completion", "bash"],
    "completion-zsh": ["completion", "zsh"],
    "completion-fish": ["completion", "fish"],
}

COMMANDS.update({
    "recipe-slurm": ["recipe", "slurm", "model.yaml", "--nodes", "3",
                     "-o", "train.epochs=3"],
    "recipe-slurm-elastic": ["recipe", "slurm", "elastic.yaml", "--elastic",
                             "--nodes", "2"],
    "recipe-mpi": ["recipe", "mpi", "model.yaml", "-o", nodes(1, 1)],
})

# What nobody would see in a text that is right.
OTHER_ENVIRONMENT = {"COLUMNS": "40", "LINES": "10", "LC_ALL": "C",
                     "LANG": "de_DE.UTF-8", "TZ": "Asia/Kathmandu",
                     "TERM": "dumb", "NO_COLOR": "1", "SKEIN_ISA": "scalar",
                     "HOME": "/nonexistent", "TMPDIR": "/tmp"}


def draw_points(path, count, features, labels, seed):
    """Writes a set of points: small numbers of a linear congruence."""
    state = seed
    lines = [f"{count} {features} {labels}"]
    for _ in range(count):
        words = []
        for _ in range(6):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            words.append(state >> 33)
        mine = sorted({word % labels for word in words[:2]})
        column = sorted({word % features for word in words[2:]})
        lines.append(",".join(map(str, mine)) + " "
                     + " ".join(f"{k}:{1 + k % 4}" for k in column))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def run(command, folder, environment):
    """What `command` prints; its errors are part of it."""
    done = subprocess.run(command, cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)
    text = done.stdout.decode("utf-8")
    return text if done.returncode == 0 else \
        f"{text}exit code {done.returncode}\n"


def spread(text):
    """A plan with each option on a line of its own, so that diffs are short."""
    def spread_options(match):
        words = re.sub(r", (?=[a-z_0-9]+: )", ",\n            ", match[2])
        return f"{match[1]}\n            {words} }}{match[3]}"
    return re.sub(r"(- \{ name: [^\n]*?options: \{) ([^\n]*) \}"
                  r"(, cores: [^\n]*)", spread_options, text)


class Golden:
    """The texts, as they are made and as they are checked in."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment

    def plan(self, units, what, model, overrides):
        command = [PLAN, str(units), what, model, *overrides]
        return spread(run(command, self.folder, self.environment))

    def command(self, words):
        return run([SKEIN, *words], self.folder, self.environment)

    def verbs(self):
        found = re.findall(r"^  ([a-z]+) ", self.command(["--help"]), re.M)
        assert len(found) >= 14, found
        return found

    def texts(self, names):
        """name -> text, for the names that are asked for (all: none)."""
        made = {}
        for name, facts in PLANS.items():
            if not names or name in names:
                made[name] = self.plan(*facts)
        for name, words in COMMANDS.items():
            if not names or name in names:
                made[name] = self.command(words)
        if not names or "messages" in names:
            made["messages"] = run([MESSAGES, "--print"], self.folder,
                                   self.environment)
        for verb in self.verbs():
            for name, words in ((f"help-{verb}", [verb, "--help"]),
                                (f"man-{verb}", ["man", verb])):
                if not names or name in names:
                    made[name] = self.command(words)
        return made


class Report:
    """Counts checks, and prints them as tests/tally.py reads them."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, sentence, good, detail=""):
        if good:
            self.passed += 1
            print(f"ok: {sentence}")
            return
        self.failed += 1
        print(f"FAILED: {sentence}")
        for line in detail.splitlines():
            print("    " + line)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or self.passed == 0 else 0


def difference(want, got, name):
    lines = list(difflib.unified_diff(
        want.splitlines(), got.splitlines(), f"tests/golden/{name}.txt",
        "what is printed now", lineterm="", n=2))
    if len(lines) > DIFF_LINES_MAX:
        left = len(lines) - DIFF_LINES_MAX
        lines[DIFF_LINES_MAX:] = [f"... and {left} lines more"]
    return "\n".join(lines)


def compare(report, made, update):
    for name, got in sorted(made.items()):
        path = GOLDEN / f"{name}.txt"
        want = path.read_text(encoding="utf-8") if path.exists() else ""
        if want != got and update:
            path.write_text(got, encoding="utf-8")
            print(f"updated: {path.relative_to(ROOT)}")
            want = got
        report.check(f"{name} is as checked in", want == got,
                     difference(want, got, name)
                     + "\nIf this is meant: tests/golden.py --update, and "
                       "commit the difference.")


def check_texts(report, made, again):
    for name, text in sorted(made.items()):
        report.check(f"{name} is the same in another environment",
                     text == again[name], difference(text, again[name], name))
    long = [name for name, text in made.items()
            if len(text) > GOLDEN_BYTES_MAX]
    report.check("no text is longer than people read", not long, str(long))
    for name, text in sorted(made.items()):
        told = [word for word in (str(ROOT), str(BUILD), "/tmp/", "/home/")
                if word in text]
        report.check(f"{name} names no folder of this machine", not told,
                     str(told))


def check_help(report, golden):
    """What all texts of help have in common."""
    for verb in golden.verbs():
        text = golden.command([verb, "--help"])
        wide = [line for line in text.splitlines() if len(line) > 80]
        report.check(f"{verb} --help fits a terminal of 80 columns", not wide,
                     "\n".join(wide))
        report.check(f"{verb} --help opens with its usage",
                     f"skein {verb}" in "".join(text.splitlines()[:4]), text)
        page = golden.command(["man", verb])
        options = set(re.findall(r"--[a-z][a-z-]+", text))
        on_page = set(re.findall(r"--[a-z][a-z-]+", page.replace("\\-", "-")))
        report.check(f"the manual page of {verb} has its options",
                     options <= on_page, str(options - on_page))
        for shell in ("bash", "zsh", "fish"):
            script = golden.command(["completion", shell])
            missing = [option for option in options
                       if option not in script and option[2:] not in script]
            report.check(f"{shell} completes the options of {verb}",
                         not missing, str(missing))


def check_models(report, golden):
    for name, units in SAME_MODEL:
        _, what, model, overrides = PLANS[name]
        want = golden.plan(*PLANS[name])
        # Shards and cores are the machine's; they are no part of the model.
        got = golden.plan(units, what, model, overrides)
        strip = re.compile(r"^ +shards: [0-9]+\n|^ +cores: .*\n", re.M)
        report.check(f"{name} is the same model on {units} units",
                     strip.sub("", want) == strip.sub("", got),
                     difference(want, got, name))


def check_plans(report, golden):
    for name, units in SAME_PLAN:
        want = golden.plan(*PLANS[name])
        got = golden.plan(units, *PLANS[name][1:])
        report.check(f"{name} is the same plan on {units} units", want == got,
                     difference(want, got, name))
    one = golden.plan(2, "topology", "model.yaml",
                      ("nodes=[{ name: a, cores: auto }]",))
    report.check("a single node has the plan of a file without nodes",
                 one == golden.plan(*PLANS["plan-auto-2"]))


def check_files(report, names):
    """No file is left over from a text that is not made any more."""
    left = [path.name for path in sorted(GOLDEN.glob("*.txt"))
            if path.stem not in names]
    report.check("every file in tests/golden is compared", not left, str(left))


def main(words):
    update = "--update" in words
    names = [word for word in words if not word.startswith("-")]
    report = Report()
    with tempfile.TemporaryDirectory(prefix="skein-golden-") as name:
        folder = pathlib.Path(name)
        draw_points(folder / "train.txt", 400, 300, 6000, 7)
        draw_points(folder / "test.txt", 50, 300, 6000, 8)
        (folder / "model.yaml").write_text(MODEL, encoding="ascii")
        (folder / "deep.yaml").write_text(DEEP_MODEL, encoding="ascii")
        (folder / "decoder.yaml").write_text(DECODER_MODEL, encoding="ascii")
        draw_points(folder / "text.txt", 600, 300, 6000, 9)
        (folder / "elastic.yaml").write_text(ELASTIC_MODEL, encoding="ascii")
        xmc = (ROOT / "configs" / "xmc.yaml").read_text(encoding="ascii")
        (folder / "xmc.yaml").write_text(
            xmc.replace("../data/", f"{ROOT}/data/")
            .replace("\ndata:", "\ndata:\n  cache: none"), encoding="ascii")
        plain = {"PATH": os.environ["PATH"], "HOME": name,
                 "LC_ALL": "C.UTF-8"}
        golden = Golden(folder, plain)
        other = Golden(folder, {**plain, **OTHER_ENVIRONMENT})
        made = golden.texts(names)
        compare(report, made, update)
        check_texts(report, made, other.texts(names))
        if not names:
            check_files(report, made)
            check_help(report, golden)
            check_models(report, golden)
            check_plans(report, golden)
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
