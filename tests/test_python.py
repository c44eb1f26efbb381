#!/usr/bin/python3
"""test_python.py - the package for Python: built tree, installed tree, page.

Every case but those of an installation uses the libskein of the build tree.
Skipped without numpy, scipy and scikit-learn, which .ci/deps installs.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import decimal
import doctest
import fractions
import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
PACKAGE = ROOT / "include" / "python"
PAGE = ROOT / "docs" / "tasks" / "python.md"
TREE = {"PYTHONPATH": str(PACKAGE),
        "SKEIN_LIBRARY": str(BUILD / "libskein.so.0")}
os.environ.update(TREE)
sys.path.insert(0, str(PACKAGE))
try:
    import numpy
    import scipy.sparse
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import (GridSearchCV, KFold,
                                         cross_val_score)
    from sklearn.pipeline import Pipeline
except ImportError as failure:
    print(f"skipped: {failure}")
    sys.exit(77)
import skein  # noqa: E402
from skein import _library  # noqa: E402

TOPICS = {
    "sport": "ball net goal team match player coach season".split(),
    "music, old": "bow string violin quartet opera tenor score".split(),
    "straße": "Straßen lorry bridge road traffic lights".split(),
}
# What a program prints that looks for its package and its library.
WHERE = """
import skein
print(skein.__file__)
print(next(line.split()[-1] for line in open("/proc/self/maps")
           if "libskein.so" in line))
"""


def make_rows(count):
    """Texts, and lists of one or two names of their topics."""
    drawer, texts, labels = random.Random(1), [], []
    for _ in range(count):
        names = drawer.sample(sorted(TOPICS), drawer.choice((1, 1, 2)))
        words = [drawer.choice(TOPICS[name]) for name in names
                 for _ in range(5)]
        drawer.shuffle(words)
        texts.append(" ".join(words))
        labels.append(names)
    return texts, labels


def python(program, **variables):
    """Runs a program in a Python of its own."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in TREE}
    environment.update(variables)
    return subprocess.run([sys.executable, "-c", program], env=environment,
                          cwd="/", capture_output=True, text=True, check=False)


def command(*words, text=None):
    """What the command prints, in lines of JSON."""
    done = subprocess.run([BUILD / "skein", *words, "--json"], input=text,
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Case(unittest.TestCase):
    """A folder for files, and models that many cases share."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.folder = pathlib.Path(cls.kept.name)
        cls.texts, cls.labels = make_rows(600)
        cls.classes = [names[0] for names in cls.labels]
        cls.matrix = TfidfVectorizer().fit_transform(cls.texts)

    def path(self, name):
        return str(self.folder / name)


# --- train and predict ------------------------------------------------------

class Models(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = skein.train((cls.texts, cls.labels), train__epochs=4,
                                run=str(cls.folder / "texts"))
        numbers = [[sorted(TOPICS).index(name) for name in names]
                   for names in cls.labels]
        cls.points = skein.train((cls.matrix, numbers), train__epochs=4,
                                 run=str(cls.folder / "points"))

    def check_same(self, lines, model, rows, k):
        """The command's answers are those of the model, to the bit."""
        labels, scores = model.predict_arrays(rows, k)
        self.assertEqual(len(lines), len(labels))
        for line, label, score in zip(lines, labels, scores):
            self.assertEqual(line["labels"], label.tolist())
            self.assertEqual(numpy.array(line["scores"], "f4").tobytes(),
                             score.tobytes())

    def test_answers_to_texts_are_those_of_the_command(self):
        lines = command("predict", self.path("texts"), "-k", "3",
                        text="\n".join(self.texts) + "\n")
        self.check_same(lines, self.model, self.texts, 3)
        for line, answer in zip(lines, self.model.predict(self.texts, 3)):
            self.assertEqual(line["names"], [name for name, _ in answer])

    def test_rows_of_named_fields(self):
        """A table of a text, a category and numbers, in memory, as a file, and
        through the command."""
        drawer = random.Random(3)
        rows = [{"id": k, "title": drawer.choice(("ball", "oven", "")),
                 "kind": drawer.choice((True, 7, "x=1", None)),
                 "price": drawer.choice((.1, 1e300, numpy.float32(5),
                                         float("nan"))),
                 "year": numpy.int64(2000 + k % 20)} for k in range(400)]
        labels = [[f"{row['title'] or 'no'} {row['kind']} {row['price']}"]
                  for row in rows]
        keys = {"data__text_column": "title", "data__category_columns": "kind",
                "data__number_columns": ["price", "year"],
                "train__epochs": 8, "train__seed": 7,
                "train__reduction": "fixed"}
        path, events = self.path("table.jsonl"), []
        model = skein.train((rows, labels), self.path("table"), events.append,
                            **keys)
        for row in rows:
            del row["id"]
        with open(path, "w", encoding="utf-8") as file:
            for row, names in zip(rows, labels):
                known = {column: value.item() if hasattr(value, "item")
                         else value for column, value in row.items()
                         if value is not None and value == value}
                print(json.dumps({**known, "labels": names}), file=file)
        skein.train(path, self.path("table.file"), events.append, **keys)
        first, second = (event["weights_sha256"] for event in events
                         if event["event"] == "done")
        self.assertEqual(first, second)
        lines = command("predict", self.path("table"), path, "-k", "3")
        self.check_same(lines, model, rows, 3)
        right = sum(answer[0][0] == names[0] for answer, names in
                    zip(model.predict(rows, 1), labels))
        self.assertGreater(right, 380)
        self.assertEqual(model.predict([{}], 1),
                         model.predict([{"title": None}], 1))
        for odd, pattern in (
                ({"prise": 1}, "row 0 has a field 'prise', and the model no"),
                ({"price": "1 EUR"}, "row 0: column 'price' has '1 EUR'")):
            with self.assertRaisesRegex(skein.Error, pattern):
                model.predict([odd])
        for odd in ({"price": [1]}, {"title": "x", 3: 4}):
            with self.assertRaises(TypeError):
                model.predict([{"title": "x"}, odd])
        with self.assertRaisesRegex(ValueError, "which is the column of lab"):
            skein.train(([{"labels": "x"}], [["a"]]),
                        data__text_column="labels")
        with self.assertRaisesRegex(skein.Error, "knows no words"):
            self.points.predict([{"title": "x"}])

    def test_a_value_has_one_spelling_in_files_and_in_python(self):
        values = [3.0, -.1, 1e300, 1e-7, 123456789012345680.0, 1 / 3, 5e-324,
                  7, -2**53, True, False]
        rows = [{"kind": value} for value in values] * 20
        path = self.path("kinds.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for row in rows:
                print(json.dumps({**row, "labels": [repr(row["kind"])]}),
                      file=file)
        keys = {"data__category_columns": "kind", "train__epochs": 8,
                "train__seed": 7, "train__reduction": "fixed"}
        events = []
        of_file = skein.train(path, self.path("kinds.file"), events.append,
                              **keys)
        of_rows = skein.train((rows, [[repr(row["kind"])] for row in rows]),
                              self.path("kinds"), events.append, **keys)
        first, second = (event["weights_sha256"] for event in events
                         if event["event"] == "done")
        self.assertEqual(first, second)
        lines = command("predict", self.path("kinds"), path, "-k", "1")
        self.check_same(lines, of_rows, rows, 1)
        for value, answer in zip(values, of_file.predict(rows, 1)):
            self.assertEqual(answer[0][0], repr(value))
        for same in (numpy.float64(3), numpy.float32(3), decimal.Decimal(3),
                     decimal.Decimal("3.00"), fractions.Fraction(3),
                     numpy.int8(3)):
            self.assertEqual(of_file.predict([{"kind": same}]),
                             of_file.predict([{"kind": 3.0}]))
        with skein.train((["a", "b"] * 50, [[3.0], [numpy.float32(.5)]] * 50),
                         train__epochs=1) as model:
            self.assertEqual(model.labels, ["3", "0.5"])

    def test_a_value_may_be_unknown(self):
        class NAType:  # of pandas
            def __ne__(self, other):
                return self

            def __bool__(self):
                raise TypeError("boolean value of NA is ambiguous")
        rows = [{"kind": "a", "price": 1}, {"kind": "b", "price": 2}] * 50
        with skein.train((rows, [["x"], ["y"]] * 50), train__epochs=1,
                         data__category_columns="kind",
                         data__number_columns="price") as model:
            for unknown in (NAType(), None, float("nan"),
                            numpy.float32("nan"), decimal.Decimal("nan")):
                self.assertEqual(
                    model.predict([{"kind": "a", "price": unknown}]),
                    model.predict([{"kind": "a"}]))

    def test_rows_of_c_need_no_list_of_fields_if_none_has_any(self):
        label, score = (ctypes.c_uint32 * 2)(7, 7), (ctypes.c_float * 2)()

        def ask(*offset):
            with self.model._predictor() as predictor:
                _library.call("skn_predictor_best_rows", predictor, None,
                              (ctypes.c_size_t * 3)(*offset), 2, 1, label,
                              score)
        ask(0, 0, 0)
        want, _ = self.model.predict_arrays([{}, {}], 1)
        self.assertEqual(list(label), want[:, 0].tolist())
        with self.assertRaisesRegex(skein.Error, "list of fields is NULL"):
            ask(0, 0, 1)

    def test_fields_that_are_no_columns_are_left_out(self):
        rows = [{"title": "a ball", "price": 1, "tags": ["x"]},
                {"title": "an oven", "price": 5, "tags": None}] * 50
        few = [{"title": row["title"], "price": row["price"]} for row in rows]
        for more in ({"data__number_columns": "price , year"}, {}):
            with skein.train((rows + [{"year": 1, "title": ""}], [["a"], ["b"]]
                              * 50 + [["c"]]), data__text_column=["title"],
                             train__epochs=1, **more) as model:
                self.assertEqual(model.predict(rows), model.predict(few))
                has = "title" + (", price, year" if more else "")
                for odd in ({"prise": 1}, {"tags": ["x"]}, {"Title": None}):
                    with self.assertRaisesRegex(
                            skein.Error, f"row 1 has a field '{[*odd][0]}', "
                            f"and the model no such column; it has {has}$"):
                        model.predict([few[0], odd])

    def test_rows_may_have_their_labels(self):
        values = [["a", "b"], "a;b", ("b",), 3.0, None, float("nan"),
                  numpy.array(["a"])]
        rows = [{"title": f"w{place} x", "tags": value}
                for place, value in enumerate(values)] * 20
        names = [["a", "b"], ["a;b"], ["b"], ["3"], [], [], ["a"]] * 20
        pairs = [{"title": row["title"]} for row in rows], names
        events = []
        keys = {"train__epochs": 1, "train__seed": 7, "text": "title",
                "labels": "tags", "train__reduction": "fixed"}
        for data in (rows, iter(rows), pairs):
            model = skein.train(data, progress=events.append, **keys)
            self.assertEqual(model.labels, ["a", "b", "a;b", "3"])
        self.assertEqual(len({event["weights_sha256"] for event in events
                              if event["event"] == "done"}), 1)
        model = skein.train(rows, data__label_separator=";", **keys)
        self.assertEqual(model.labels, ["a", "b", "3"])
        self.assertEqual(model.predict(rows), model.predict(pairs[0]))
        with self.assertRaisesRegex(ValueError, "row 0 has no 'labels', which "
                                    "is the column of labels"):
            skein.train(rows, text="title")

    def test_several_files_are_one(self):
        paths = [self.path("part 1.csv"), self.folder / "part,2.csv"]
        for path in paths:
            with open(path, "w", encoding="utf-8") as file:
                file.write("Title,Tags,Shop,Price\n" + "".join(
                    f"ball {k},x{k % 3},s{k % 2},{k}\n"
                    for k in range(60)))
        model = skein.train(paths, train__epochs=1, text="Title",
                            labels="Tags", categories=["Shop"],
                            numbers="Price", test=.25)
        for line in ("text_column: Title", "label_column: Tags",
                     "category_columns: Shop", "number_columns: Price"):
            self.assertIn(line, model.info.config)
        self.assertIn("part 1.csv", model.info.config)
        self.assertTrue(model.info.calibrated)
        model.predict([{"Title": "ball", "Shop": "s1", "Price": 3}])
        with skein.train(paths[:1], test=[paths[1]], text="Title",
                         labels="Tags", train__epochs=1) as model:
            self.assertTrue(model.info.calibrated)
        with self.assertRaisesRegex(TypeError, "data__text_column is given "
                                    "twice"):
            skein.train(paths, text="Title", data__text_column="Title")

    def test_a_warning_is_one_of_python(self):
        path = self.path("bad.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for k in range(300):
                print('{"text": "ball", "labels": ["x"]}' if k != 7 else "{",
                      file=file)
        for progress in (None, False):
            with self.assertWarnsRegex(skein.SkeinWarning, "bad.jsonl:8"
                                       ) as caught:
                skein.train(path, train__epochs=1, progress=progress)
            self.assertEqual(caught.filename, __file__)
        events = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            skein.train(path, None, events.append, train__epochs=1)
        self.assertIn("warning", [event["event"] for event in events])

    def test_answers_to_points_are_those_of_the_command(self):
        rows = self.matrix[:200]
        text = "".join(" " + " ".join(
            f"{f}:{numpy.float32(v):.9g}" for f, v in zip(row.indices,
                                                         row.data)) + "\n"
            for row in rows)
        lines = command("predict", self.path("points"), "-k", "2", text=text)
        self.check_same(lines, self.points, rows, 2)

    def test_a_file_gives_the_weights_of_the_command(self):
        path = self.path("rows.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for text, names in zip(self.texts, self.labels):
                print(json.dumps({"title": text, "tags": names}), file=file)
        keys = {"train.epochs": "2", "data.text_column": "title",
                "data.label_column": "tags", "train.seed": "7"}
        events = []
        skein.train(path, self.path("one"), events.append,
                    **{key.replace(".", "__"): value
                       for key, value in keys.items()})
        config = ROOT / "configs" / "xmc.yaml"
        words = [word for key, value in {
            **keys, "data.train": path, "data.test": '""',
            "checkpoint.path": self.path("two")}.items()
            for word in ("-o", f"{key}={value}")]
        self.assertEqual(events[-1]["event"], "done")
        self.assertEqual(command("train", config, *words)[-1]
                         ["weights_sha256"], events[-1]["weights_sha256"])

    def test_all_forms_of_points_have_the_same_answers(self):
        rows = self.matrix[:20]
        want = self.points.predict(rows)
        dicts = [dict(zip(row.indices.tolist(), row.data.tolist()))
                 for row in rows]
        for form in (rows.tocsc(), rows.toarray(), dicts,
                     rows.astype(numpy.float32)):
            self.assertEqual(self.points.predict(form), want)
        self.assertEqual(self.points.predict([]) + self.model.predict([]), [])
        self.assertEqual(self.points.predict([{10**6: 1.0}]),
                         self.points.predict([{}]))

    def test_arrays_have_an_answer_in_each_row(self):
        labels, scores = self.model.predict_arrays(self.texts[:4],
                                                   k=numpy.int64(5))
        self.assertEqual((labels.shape, labels.dtype, scores.dtype),
                         ((4, 5), numpy.int64, numpy.float32))
        self.assertEqual(labels[:, 3:].tolist(), [[-1, -1]] * 4)
        numpy.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
        self.assertEqual([len(answer) for answer in
                          self.model.predict(self.texts[:4])], [3] * 4)

    def test_numbers_out_of_range(self):
        self.assertEqual(self.model.label(2**32), 2**32)
        for threshold in (float("nan"), 2, -.1):
            with self.assertRaisesRegex(ValueError, "threshold is"):
                self.model.predict(self.texts[:1], threshold=threshold)

    def test_a_threshold_leaves_labels_out(self):
        answers = self.model.predict(self.texts, 3, threshold=.3)
        scores = [score for answer in answers for _, score in answer]
        self.assertGreaterEqual(min(scores), .3)
        self.assertLess(len(scores), 3 * len(self.texts))

    def test_a_test_set_calibrates(self):
        self.assertFalse(self.model.info.calibrated)
        with skein.train((self.texts, self.labels), train__epochs=4,
                         data__test=0.2) as model:
            self.assertTrue(model.info.calibrated)
            self.assertEqual(
                [len(answer) for answer in model.predict(
                    self.texts[:4], threshold=1e-9)], [3] * 4)
            model.save(self.path("calibrated"))
            again = skein.Model.load(self.path("calibrated"))
            self.assertEqual(again.predict(self.texts[:9]),
                             model.predict(self.texts[:9]))
            again.close()
        softmax = skein.SkeinClassifier(epochs=4, data__test=0.2).fit(
            self.texts, self.labels)
        self.assertEqual(softmax.threshold_, .5)

    def test_texts_may_have_any_characters(self):
        odd = ["", "\0", "\ud800", "STRASSEN", "\u202eabc", "😀", "a\nb"]
        labels = [["sport"]] * (len(odd) - 1) + [["music, old"]]
        with skein.train((odd * 40, labels * 40), train__epochs=1) as model:
            self.assertEqual(len(model.predict(odd)), len(odd))
        self.assertEqual(self.model.predict(["STRASSEN"], 1)[0][0][0],
                         "straße")

    def test_a_model_describes_itself(self):
        info = self.model.info
        self.assertEqual((info.label_count, info.texts, info.softmax),
                         (3, True, True))
        self.assertIn("epochs: 4", info.config)
        self.assertEqual(sorted(self.model.labels), sorted(TOPICS))
        self.assertEqual(self.model.label(numpy.int64(0)),
                         self.model.labels[0])
        self.assertEqual((self.points.labels, self.points.label(9)),
                         ([0, 1, 2], 9))

    def test_a_model_is_loaded_saved_and_pickled(self):
        want = self.model.predict(self.texts[:9])
        self.model.save(self.path("copy"))
        for model in (skein.Model.load(self.folder / "texts"),
                      skein.Model.load(self.model.info.path),
                      skein.Model.load(self.path("copy")),
                      pickle.loads(pickle.dumps(self.model))):
            self.assertEqual(model.predict(self.texts[:9]), want)
        with self.assertRaises(OSError):
            self.model.save(self.path("copy"))

    def test_a_model_is_exported_loaded_saved_and_pickled(self):
        want = self.model.predict(self.texts[:9])
        path = self.path("model.skein")
        rows, size = self.model.export(path)
        self.assertEqual((rows, size), ("f32", os.path.getsize(path)))
        model = skein.Model.load(path)
        model.save(self.path("again.skein"))
        for copy in (model, skein.Model.load(self.path("again.skein")),
                     pickle.loads(pickle.dumps(model))):
            self.assertEqual(copy.predict(self.texts[:9]), want)
        rows, smaller = model.export(self.path("small.skein"),
                                     max_bytes=size // 2)
        self.assertIn(rows, ("bf16", "int8"))
        self.assertLessEqual(smaller, size // 2)
        with self.assertRaises(ValueError):
            model.export(self.path("other.skein"), rows="f16")
        with self.assertRaises(skein.Error):
            model.export(path)
        with self.assertRaises(OSError):
            model.save(path)

    def test_the_best_of_a_validated_run_is_what_is_copied(self):
        with skein.train((self.texts, self.labels), train__epochs=4,
                         train__validate=.2) as model:
            self.assertTrue(model.info.path.endswith("/best"))
            model.save(self.path("best"))
            copy = skein.Model.load(self.path("best"))
            self.assertEqual(copy.info.batch, model.info.batch)
            self.assertEqual(copy.predict(self.texts),
                             model.predict(self.texts))
            self.assertRegex(copy.info.path, "best/batch-[0-9]*$")

    def test_a_closed_model_answers_with_an_error(self):
        with pickle.loads(pickle.dumps(self.model)) as model:
            folder = pathlib.Path(model.info.path).parent
            self.assertTrue(folder.exists())
        model.close()
        self.assertFalse(folder.exists())
        for use in (lambda: model.predict(["x"]), lambda: model.labels,
                    lambda: pickle.dumps(model)):
            with self.assertRaisesRegex(skein.Error, "model is closed"):
                use()

    def test_threads_have_the_answers_of_one(self):
        want, found = self.model.predict(self.texts), []
        model = pickle.loads(pickle.dumps(self.model))

        def ask():
            for _ in range(3):
                found.append(model.predict(self.texts))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [want] * 12)

    def test_a_child_leaves_the_files_of_its_parent(self):
        model = pickle.loads(pickle.dumps(self.model))
        want = model.predict(self.texts)
        child = os.fork()
        if child == 0:
            same = model.predict(self.texts) == want
            model.close()
            os._exit(0 if same else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(os.path.exists(model.info.path))
        self.assertEqual(model.predict(self.texts), want)

    def test_an_exception_of_progress_saves_the_run(self):
        path = self.path("stopped.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for text, names in zip(self.texts, self.labels):
                print(json.dumps({"text": text, "labels": names}), file=file)

        def progress(event):
            if event["event"] == "epoch":
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            skein.train(path, self.path("stopped"), progress,
                        train__epochs=3000)
        stopped = skein.Model.load(self.path("stopped")).info.batch
        again = skein.train(path, self.path("stopped"), resume=True,
                            train__epochs=3000,
                            train__max_batches=stopped + 1)
        self.assertEqual(again.info.batch, stopped + 1)

    def test_values_are_written_as_overrides(self):
        _train = sys.modules["skein._train"]
        self.assertEqual(_train._overrides({
            "a__b": 1, "c": True, "d": .5, "e": "", "f": "a #1: b",
            "g": ' ;"', "h": [0, 2], "i": None, "j": numpy.int64(3),
            "k": numpy.bool_(False), "l": pathlib.Path("/x")}),
            ["a.b=1", "c=true", "d=0.5", 'e=""', "f=a #1: b",
             'g=" ;\\""', "h=[0, 2]", "j=3", "k=false", "l=/x"])
        with self.assertRaisesRegex(TypeError, "a cannot be a object"):
            _train._overrides({"a": object()})
        path = self.path("separated.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("text,labels\n" + "ball,a b\nnet,c\n" * 50)
        with skein.train(path, train__epochs=1,
                         data__label_separator=" ") as model:
            self.assertEqual(model.labels, ["a", "b", "c"])

    def test_temporary_folders_do_not_stay(self):
        kept, tempfile.tempdir = tempfile.tempdir, self.path("temporary")
        os.mkdir(tempfile.tempdir)
        try:
            with self.assertRaises(skein.Error):
                skein.train((self.texts, self.labels), train__epoch=1)
            model = skein.train((self.texts, self.labels), train__epochs=1)
            self.assertEqual(len(os.listdir(tempfile.tempdir)), 1)
            del model
            self.assertEqual(os.listdir(tempfile.tempdir), [])
        finally:
            tempfile.tempdir = kept


# --- failures ---------------------------------------------------------------

class Failures(Case):
    def refuse(self, status, pattern, *arguments, **keys):
        with self.assertRaisesRegex(skein.Error, pattern) as caught:
            skein.train(*arguments, **keys)
        self.assertIs(caught.exception.status, status)
        return caught.exception

    def test_a_failure_has_status_text_and_hint(self):
        error = self.refuse(skein.Status.NO_INPUT, "none.csv: no such file",
                            self.path("none.csv"))
        self.assertEqual(str(error), f"{error.text}; {error.hint}")
        self.assertEqual(pickle.loads(pickle.dumps(error)).hint, error.hint)
        self.refuse(skein.Status.BAD_CONFIG, "did you mean 'epochs'",
                    (self.texts, self.labels), train__epoch=1)
        self.refuse(skein.Status.BAD_DATA, "inf",
                    (scipy.sparse.csr_matrix([[numpy.inf, 1]] * 9), [[0]] * 9))
        with self.assertRaisesRegex(skein.Error, "run"):
            skein.Model.load(self.folder)

    def test_rows_that_are_none_are_refused(self):
        for rows, labels, pattern in (
                ("a text", [["a"]], "not one text"),
                (7, [], "cannot be a int"), ([7], [["a"]], "a row cannot be"),
                (iter(["a"]), [["a"]], "list_iterator"),
                (["a", 7], [["a"], ["b"]], "row 1 is a int"),
                (["a"], ["name"], "row 0: a list is expected.*for c in cl"),
                (["a"], [], "1 rows have 0 lists"), ([], [], "no rows"),
                (self.matrix[:1], [[-1]], "numbers from 0"),
                (numpy.zeros((1, 1, 1)), [["a"]], "a row cannot be")):
            with self.assertRaisesRegex((TypeError, ValueError), pattern):
                skein.train((rows, labels))
        for data in (("a", "b"), [["a"], [["b"]]], (["a"], [["b"]], 1), 7,
                     numpy.zeros((2, 2)), {"text": "a"}, [7]):
            with self.assertRaises(TypeError):
                skein.train(data)
        with self.assertRaisesRegex(ValueError, "no rows"):
            skein.train([])

    def test_wrong_questions_are_refused(self):
        with skein.train((self.matrix, [[0]] * 600),
                         train__epochs=1) as model:
            with self.assertRaisesRegex(skein.Error, "knows no words"):
                model.predict(["x"])
            with self.assertRaisesRegex(skein.Error, "not finite"):
                model.predict([{0: float("nan")}])
            for k in (0, 129):
                with self.assertRaisesRegex(ValueError, "from 1 to 128"):
                    model.predict([{0: 1.0}], k=k)
            with self.assertRaisesRegex(ValueError, "features are numbers"):
                model.predict([{-1: 1.0}])

    def test_a_missing_library_is_one_line(self):
        done = python("import skein", PYTHONPATH=str(PACKAGE),
                      SKEIN_LIBRARY="/none/libskein.so.0")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^ImportError: cannot load libskein: /none/libskein."
                         "so.0: .*; install Skein, or set SKEIN_LIBRARY to ")

    def test_an_older_library_is_one_line(self):
        done = python("import skein", PYTHONPATH=str(PACKAGE),
                      SKEIN_LIBRARY=str(BUILD / "libskein-core.so.0"))
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^ImportError: libskein has no function skn_training")

    def test_scipy_and_scikit_learn_are_optional(self):
        done = python("""
import sys
sys.modules["sklearn"] = sys.modules["scipy"] = None
import skein
model = skein.train((["a b", "c d"] * 50, [["x"], ["y"]] * 50),
                    train__epochs=1)
print(len(model.predict(["a", "c"])))
try:
    skein.SkeinClassifier
except ImportError as error:
    print("sklearn" in str(error))
""", **TREE)
        self.assertEqual((done.stdout, done.stderr), ("2\nTrue\n", ""))

    def test_structs_and_statuses_are_those_of_the_headers(self):
        text = (ROOT / "include/skein/error.h").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"    S\((\w+), \d+,", text),
                         [status.name for status in skein.Status])
        with skein.train((self.texts, self.labels),
                         train__epochs=1) as model:
            with model._predictor() as predictor:
                info = _library.lib.skn_predictor_info(predictor).contents
                self.assertEqual(info.struct_bytes, ctypes.sizeof(info))
        # The library takes the sizes of earlier versions, too.
        sizes = subprocess.run(
            ["gcc", "-x", "c", "-I", ROOT / "include", "-o",
             self.path("sizes"), "-"], check=True, text=True, input="""
#include <stdio.h>
#include <skein/predictor.h>
#include <skein/training.h>
int main(void) { printf("%zu %zu %zu %zu", sizeof(skn_training_options_t),
    sizeof(skn_error_t), sizeof(skn_points_t), sizeof(skn_predictor_slot_t)); }
""") and subprocess.check_output([self.path("sizes")], text=True).split()
        self.assertEqual([int(size) for size in sizes], [
            ctypes.sizeof(struct) for struct in (
                _library.TrainingOptions, _library.ErrorStruct,
                _library.Points, _library.Slot)])


# --- scikit-learn -----------------------------------------------------------

class Classifier(Case):
    def make(self, **keys):
        return skein.SkeinClassifier(epochs=4, **keys)

    def test_a_vector_of_classes_is_learned_from_texts_and_points(self):
        for rows in (self.texts, numpy.array(self.texts), self.matrix,
                     self.matrix.toarray()):
            found = self.make().fit(rows, self.classes)
            self.assertEqual(found.classes_.tolist(), sorted(TOPICS))
            shares = found.predict_proba(rows)
            self.assertEqual(shares.shape, (600, 3))
            numpy.testing.assert_allclose(shares.sum(axis=1), 1)
            self.assertEqual(
                found.predict(rows).tolist(),
                found.classes_[shares.argmax(axis=1)].tolist())
            self.assertGreater(found.score(rows, self.classes), .7)

    def test_several_labels_are_answered_in_their_form(self):
        dense = numpy.array([[name in names for name in sorted(TOPICS)]
                             + [False] for names in self.labels], int)
        for rows in (self.texts, self.matrix):
            for y in (dense, scipy.sparse.csr_matrix(dense), self.labels):
                found = self.make().fit(rows, y)
                answers = found.predict(rows)
                self.assertIs(type(answers), type(y))
                self.assertGreater(found.score(rows, y), .7)
                self.assertEqual(found.predict_proba(rows).shape,
                                 (600, len(found.classes_)))
        self.assertEqual(found.classes_.tolist(), sorted(TOPICS))

    def test_a_threshold_chooses_labels(self):
        all_of_them = self.make(threshold=0).fit(self.texts, self.labels)
        self.assertEqual(all_of_them.predict(["ball"]), [sorted(TOPICS)])
        single = self.make(model__layers__output__loss="one_vs_all")
        self.assertEqual(single.fit(self.texts, self.labels).threshold_, .5)

    def test_rows_with_columns_are_learned(self):
        rows = [{"x": 1.0, "id": 1}, {"x": 2.0, "id": [2]}] * 50
        made = skein.SkeinClassifier(epochs=10, data__number_columns=["x"])
        for y in ([1, 0] * 50, [[1], [0]] * 50,
                  numpy.array([[0, 1], [1, 0]] * 50)):
            found = made.fit(rows, y).predict(rows)
            self.assertEqual(numpy.array(found).tolist(),
                             numpy.array(y).tolist())
        grid = GridSearchCV(made, {"train__seed": [1, 2]}, cv=2)
        self.assertEqual(grid.fit(rows, [1, 0] * 50).best_score_, 1)

    def test_a_matrix_has_the_columns_of_fit(self):
        found = self.make(test=.1).fit(self.matrix, self.classes)
        self.assertEqual(found.n_features_in_, self.matrix.shape[1])
        self.assertTrue(found.model_.info.calibrated)
        for ask in found.predict, found.predict_proba:
            for rows in self.matrix[:, 1:], self.matrix[:, 1:].toarray():
                with self.assertRaisesRegex(ValueError, r"X has \d+ features, "
                                            "but SkeinClassifier is expecting"):
                    ask(rows)
        found.fit(self.texts, self.classes)
        self.assertFalse(hasattr(found, "n_features_in_"))

    def test_more_classes_than_are_ranked_have_the_rest(self):
        rows = scipy.sparse.identity(150, format="csr")
        found = skein.SkeinClassifier(epochs=1).fit(rows, range(150))
        shares = found.predict_proba(rows)
        self.assertEqual((shares > 0).sum(axis=1).tolist(), [128] * 150)
        numpy.testing.assert_allclose(shares.sum(axis=1), 1)

    def test_it_is_cloned_and_has_parameters(self):
        found = self.make(train__seed=3)
        self.assertEqual(clone(found).get_params(), {
            "epochs": 4, "threshold": None, "progress": None,
            "train__seed": 3})
        found.set_params(epochs=2, train__window=1)
        self.assertEqual(repr(found), "SkeinClassifier(epochs=2, train__seed=3"
                                      ", train__window=1)")
        with self.assertRaisesRegex(ValueError, "no parameter 'epoch'; did you"
                                    " mean 'epochs'"):
            found.set_params(epoch=1)
        with self.assertRaisesRegex(ValueError, "did you mean 'epochs'"):
            skein.SkeinClassifier(epoch=3).fit(self.texts, self.classes)
        with self.assertRaisesRegex(ValueError, "'rate'; keys of the model"):
            skein.SkeinClassifier(rate=3).fit(self.texts, self.classes)
        self.assertEqual(found.set_params(test=.1).keys["test"], .1)
        with self.assertRaisesRegex(ValueError, "not fitted yet"):
            found.predict(self.texts)

    def test_it_is_pickled_with_its_model(self):
        found = self.make().fit(self.texts, self.classes)
        want, bytes_of_it = found.predict_proba(self.texts), \
            pickle.dumps(found)
        del found
        again = pickle.loads(bytes_of_it)
        self.assertEqual(again.predict_proba(self.texts).tobytes(),
                         want.tobytes())

    def test_it_works_in_a_pipeline_and_a_grid(self):
        pipeline = Pipeline([("words", TfidfVectorizer()),
                             ("skein", self.make())])
        grid = GridSearchCV(pipeline, {"skein__train__seed": [1, 2]}, cv=2)
        grid.fit(self.texts, self.classes)
        self.assertEqual(len(grid.cv_results_["mean_test_score"]), 2)
        self.assertGreater(grid.best_score_, .7)
        self.assertIn(grid.best_estimator_["skein"].keys["train__seed"],
                      (1, 2))

    def test_it_is_validated(self):
        scores = cross_val_score(self.make(), self.texts, self.classes, cv=2)
        self.assertGreater(min(scores), .7)
        scores = cross_val_score(self.make(), self.texts, self.labels,
                                 cv=KFold(2))
        self.assertGreater(min(scores), .6)


# --- the page, and an installation --------------------------------------------

PAGE_RUNS = f"""
import doctest
found = doctest.testfile({str(PAGE)!r}, module_relative=False)
print(found)
"""


class Installation(Case):
    def test_an_installed_package_finds_its_library(self):
        first, prefix = self.path("first"), self.path("prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first],
                       check=True, stdout=subprocess.DEVNULL)
        os.rename(first, prefix)
        packages = os.path.join(prefix, "lib/python3/dist-packages")
        done = python(WHERE, PYTHONPATH=packages)
        places = done.stdout.split()
        self.assertEqual((len(places), done.stderr), (2, ""))
        for place in places:
            self.assertTrue(place.startswith(prefix + "/lib/"), place)
        sources = {path.name for path in (PACKAGE / "skein").iterdir()
                   if path.is_file()}
        self.assertEqual(sources, set(os.listdir(packages + "/skein"))
                         - {"__pycache__"})
        done = python(f"import os; os.chdir({self.path('')!r})" + PAGE_RUNS,
                      PYTHONPATH=packages)
        self.assertRegex(done.stdout, r"TestResults\(failed=0, ")

    def test_the_page_is_right(self):
        kept = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                found = doctest.testfile(str(PAGE), module_relative=False)
            finally:
                os.chdir(kept)
        self.assertEqual(found.failed, 0)
        self.assertGreater(found.attempted, 20)


if __name__ == "__main__":
    checks.main()
