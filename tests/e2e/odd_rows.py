#!/usr/bin/env python3
"""odd_rows.py - rows of every format as other programs write them, and rows
that nobody should write: what is good is read as it was written, and what is
bad is named by its line. Covers formats/records/records_csv.c,
formats/records/records_json.c and formats/records/records_fasttext.c, beside
Python's own csv and json.
SPDX-License-Identifier: Apache-2.0
"""
import csv
import ctypes
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import checks  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
SEEDS = range(1, 6)
ROWS = 200  # of a seed: 1,000 of each format
BLANKS = b" \t\r"
FASTTEXT_BLANKS = b" \t\v\f\r\0"
PIECES = [b"word", b"7", b"", b'"', b'""', b",", b";", b"|", b"\t", b" ", b"\n",
          b"\r\n", b"\r", b"\0", b":", b"{", b"}", b"[", b"'", b"\\", b"#",
          "straße".encode(), "שלום عربي".encode(), "日本語".encode(),
          "😀👩‍👩‍👧".encode(), "e\u0301\u0308".encode(), b"caf\xe9", b"\xff",
          b"\xef\xbb\xbf", "\u2028".encode(), "\u00a0".encode(), b"\x1b[31m"]


class Span(ctypes.Structure):
    """skn_span_t"""
    _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]

    def get(self):
        """Its bytes."""
        return ctypes.string_at(self.at, self.bytes) if self.bytes else b""


class Row(ctypes.Structure):
    """skn_records_row_t"""
    _fields_ = [("line", ctypes.c_uint64), ("file", ctypes.c_uint32),
                ("label", ctypes.POINTER(Span)),
                ("text", ctypes.POINTER(Span)),
                ("label_count", ctypes.c_size_t),
                ("text_count", ctypes.c_size_t),
                ("has_columns", ctypes.c_bool)]


class Options(ctypes.Structure):
    """skn_records_options_t"""
    _fields_ = [("format", ctypes.c_int), ("text_columns", ctypes.c_char_p),
                ("label_column", ctypes.c_char_p),
                ("category_columns", ctypes.c_char_p),
                ("number_columns", ctypes.c_char_p),
                ("label_separator", ctypes.c_char_p),
                ("labels_optional", ctypes.c_bool),
                ("otherwise", ctypes.c_int)]


class Error(ctypes.Structure):
    """skn_error_t"""
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 512),
                ("hint", ctypes.c_char * 256)]


END, ROW, BAD = range(3)
FORMATS = {"auto": 0, "fasttext": 1, "json": 2, "csv": 4, "tsv": 5}


class Bad(str):
    """The sentence about a row that cannot be read."""


def reader():
    """The library with every symbol visible."""
    library = ctypes.CDLL(str(BUILD / "libskein_test.so"))
    library.skn_records_open.restype = ctypes.c_void_p
    library.skn_records_next.argtypes = [
        ctypes.c_void_p, ctypes.c_bool, ctypes.POINTER(ctypes.c_int),
        ctypes.POINTER(Row), ctypes.POINTER(ctypes.POINTER(Error)),
        ctypes.POINTER(Error)]
    return library


LIBRARY = reader()


def read(path, form="auto", **options):
    """The rows as (line, labels, texts), bad ones as (line, Bad)."""
    error, found = Error(), []
    given = Options(format=FORMATS[form], **options)
    records = LIBRARY.skn_records_open(os.fsencode(path), ctypes.byref(given),
                                       ctypes.byref(error))
    if not records:
        raise ValueError(error.text.decode(errors="replace"))
    records = ctypes.c_void_p(records)
    kind, row = ctypes.c_int(), Row()
    refusal = ctypes.POINTER(Error)()
    while True:
        status = LIBRARY.skn_records_next(records, True, kind, row, refusal,
                                          error)
        if status != 0:
            raise ValueError(error.text.decode(errors="replace"))
        if kind.value == END:
            break
        if kind.value == BAD:
            text = refusal.contents.text.decode(errors="replace")
            found.append((row.line, Bad(text)))
        else:
            found.append((row.line,
                          [row.label[k].get() for k in range(row.label_count)],
                          [row.text[k].get() for k in range(row.text_count)]))
    LIBRARY.skn_records_close(ctypes.byref(records))
    return found


def odd(chance, without=()):
    """A cell of odd pieces."""
    pieces = [piece for piece in PIECES if piece not in without]
    return b"".join(chance.choices(pieces, k=chance.randrange(8)))


def as_text(cell):
    """The cell as Python keeps what is not UTF-8."""
    return cell.decode(errors="surrogateescape")


class OddRows(unittest.TestCase):
    """Rows of each format."""

    def setUp(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "f"

    def tearDown(self):
        self.folder.cleanup()

    def bad_is_named(self, rows):
        """Every bad row says its line."""
        for row in rows:
            if isinstance(row[1], Bad):
                self.assertRegex(row[1], rf"f:{row[0]}\b")

    def write_csv(self, rows, end, quoting, delimiter):
        """Rows as Python writes them, under a row of names."""
        with open(self.path, "w", newline="", encoding="utf-8",
                  errors="surrogateescape") as file:
            out = csv.writer(file, lineterminator=end, quoting=quoting,
                             delimiter=delimiter)
            out.writerow(["a \"name\"", "text", "labels"])
            out.writerows([as_text(cell) for cell in row] for row in rows)

    def test_csv_is_read_as_python_writes_it(self):
        """With every line end, and every separator."""
        for seed in SEEDS:
            chance = random.Random(seed)
            end = ["\r\n", "\n", "\r"][seed % 3]
            rows = [(b"%d" % k, odd(chance), odd(chance)) for k in range(ROWS)]
            self.write_csv(rows, end,
                           csv.QUOTE_MINIMAL if end == "\r\n"
                           else csv.QUOTE_ALL, ",;\t|"[seed % 4])
            got = read(self.path)
            self.assertEqual(len(got), ROWS, f"seed {seed}")
            for row, (_, text, label) in zip(got, rows):
                one = [cell.replace(b"\r\n", b"\n").strip(BLANKS)
                       for cell in (text, label)]
                self.assertEqual([row[2][0].strip(BLANKS), b"".join(row[1])],
                                 one, f"seed {seed}, row {row}")

    def test_csv_of_any_bytes_is_read_as_python_reads_it(self):
        """Quotation marks wherever they are not allowed."""
        for seed in range(300):
            chance = random.Random(seed)
            soup = "".join(chance.choices(
                ["a", "b", '"', '"', ",", "\n", "\r\n", "\r", "é"], k=60))
            self.path.write_bytes(("text,labels\n" + soup).encode())
            with open(self.path, newline="", encoding="utf-8") as file:
                want = [row for row in csv.reader(file) if row][1:]
            got = read(self.path)
            self.bad_is_named(got)
            if got and isinstance(got[-1][1], Bad) and \
                    "not closed" in got[-1][1]:
                want, got = want[:-1], got[:-1]
            self.assertEqual(len(got), len(want), f"seed {seed}")
            for row, cells in zip(got, want):
                if len(cells) != 2:
                    self.assertIsInstance(row[1], Bad, f"seed {seed}")
                    continue
                one = cells[0].replace("\r\n", "\n").encode()
                self.assertEqual(row[2], [one], f"seed {seed}")

    def test_json_is_read_as_python_writes_it(self):
        """Keys in any order, NUL, and what no row needs."""
        for seed in SEEDS:
            chance = random.Random(seed)
            rows = []
            for _ in range(ROWS):
                cells = [odd(chance).decode(errors="replace")
                         for _ in range(3)]
                fields = [("text", cells[0]), ("labels", cells[1:]),
                          ("more", [{"x": None}, True, -2.5e-7]),
                          ("big", chance.choice((7, 2**64, -10**40)))]
                chance.shuffle(fields)
                rows.append(dict(fields))
            self.path.write_text(
                "".join(json.dumps(row, ensure_ascii=chance.random() < .5) +
                        chance.choice(("\n", "\r\n")) for row in rows),
                encoding="utf-8", newline="")
            got = read(self.path)
            self.assertEqual(len(got), ROWS, f"seed {seed}")
            for row, want in zip(got, rows):
                labels = [name.encode().strip(BLANKS)
                          for name in want["labels"]]
                self.assertEqual(row[2], [want["text"].encode()])
                self.assertEqual(row[1], [name for name in labels if name])

    def test_json_that_is_bad_is_named(self):
        """And the rows between are read."""
        bad = [b"[1]", b"7", b"null", b"{", b'{"text": "a"', b"",
               b'{"text": "a", "labels": "b", "text": "c"}',
               b'{"text": "caf\xe9", "labels": "b"}',
               b'{"text": "\\ud800", "labels": "b"}',
               b'{"text": "a", "labels": "b", "n": 1e999}',
               b'{"text": "a", "labels": 18446744073709551616}',
               b'{"text": {"a": 1}, "labels": "b"}',
               b'{"text": "a", "labels": [["b"]]}', b'{"text": "a"}',
               b'{"text": "a", "labels": "b", "n": ' + b"[" * 5000 +
               b"]" * 5000 + b"}", b'{"text": "a", "labels": "b"} x',
               b"text,labels", b"__label__a text", b"\xff\xfe{\0}\0"]
        good = b'{"text": "a", "labels": "b"}'
        self.path.write_bytes(b"\n".join(
            line for one in bad for line in (good, one)) + b"\n")
        got = read(self.path)
        self.assertEqual(len(got), 2 * len(bad))
        self.bad_is_named(got)
        for k, row in enumerate(got):
            if k % 2:
                self.assertIsInstance(row[1], Bad, bad[k // 2])
            else:
                self.assertEqual(row[1:], ([b"b"], [b"a"]))

    def test_fasttext_is_read_as_it_is_written(self):
        """Labels of any script, texts of any bytes."""
        for seed in SEEDS:
            chance = random.Random(seed)
            lines, rows = [], []
            for _ in range(ROWS):
                names = [odd(chance).translate(
                    None, FASTTEXT_BLANKS + b"\n") for _ in range(2)]
                text = odd(chance, (b"\n", b"\r\n"))
                rows.append(([name for name in names if name], text))
                lines.append(b" ".join(b"__label__" + n for n in names) + b" " +
                             text)
            self.path.write_bytes(b"\n".join(lines) + b"\n")
            got = read(self.path)
            self.assertEqual(len(got), ROWS, f"seed {seed}")
            for row, (names, text) in zip(got, rows):
                self.assertEqual(row[1], names, f"seed {seed}")
                self.assertEqual(b"".join(row[2]).strip(FASTTEXT_BLANKS),
                                 text.strip(FASTTEXT_BLANKS), f"seed {seed}")

    def test_a_file_that_changes_its_format(self):
        """What is of another format is bad, and named."""
        parts = [b'text,labels\n"x, y",b\n', b'{"text": "a", "labels": "b"}\n',
                 b"__label__b a\n", b"3,4 1:0.5 7:2\n", b"\0\0\xff\xfe\n"]
        for part in parts[:2]:
            self.path.write_bytes(part + b"".join(parts))
            got = read(self.path)
            self.bad_is_named(got)
            self.assertGreater(
                sum(isinstance(row[1], Bad) for row in got), 1)

    def test_large_cells(self):
        """Ten MB in one cell, of one byte each."""
        for cell in (b"\xff", b'"', b" ", b"\0", "日".encode(), b"a,\n"):
            text = cell * (10_000_000 // len(cell))
            self.path.write_bytes(b'labels,text\na,"' +
                                  text.replace(b'"', b'""') + b'"\nb,c\n')
            got = read(self.path)
            self.assertEqual(got[0][2], [text])
            self.assertEqual(got[1][1:], ([b"b"], [b"c"]))

    def test_names_of_columns(self):
        """Blanks around names and commas, many columns, a name of lines."""
        names = b",".join(b"column %d" % k for k in range(200_000))
        self.path.write_bytes(names + b', text ,"two\nlines", labels\n' +
                              b"," * 200_000 + b"a,b,c\n")
        self.assertEqual(
            read(self.path, text_columns=b" text , two\nlines",
                 label_column=b" labels ")[0][1:], ([b"c"], [b"a", b"b"]))
        with self.assertRaisesRegex(ValueError, r"no column is named 'x\\ny'"):
            read(self.path, text_columns=b"x\ny")

    def test_what_is_no_file_of_rows(self):
        """Each is refused by one sentence."""
        for text, pattern in (
                (b"", "is empty"), (b"\xff\xfet\0e\0", "is UTF-16"),
                (b"\xfe\xff\0t", "is UTF-16"), (b"\0\0\0", "not recognised"),
                (b"text;labels\n", None), (b"text,labels", None),
                (b'text,"labels\n', "does not end"),
                (b"text,labels,text\n", "two columns")):
            self.path.write_bytes(text)
            if pattern is None:
                self.assertEqual(read(self.path), [])
                continue
            with self.assertRaisesRegex(ValueError, pattern):
                read(self.path)

    def test_lines_of_blanks_between_rows(self):
        """They are no rows, and do not move the numbers of lines."""
        self.path.write_bytes(b"text,labels\n \n\r\na\n   \nb,c\n  ")
        got = read(self.path)
        self.assertEqual([row[0] for row in got], [4, 6])
        self.assertRegex(got[0][1], r"f:4: the row has 1 columns")

    def test_a_quotation_mark_that_takes_lines(self):
        """The sentence says how far."""
        self.path.write_bytes(b'text,labels\n"a,b\nc,d\ne","f",g\nh,i\n')
        got = read(self.path)
        self.assertRegex(got[0][1], "f:2: the row, which ends in line 4, has 3 "
                         "columns, the first one 2$")
        self.assertEqual(got[1][1:], ([b"i"], [b"h"]))
        line = b"x" * ((1 << 25) + 10)
        self.path.write_bytes(b'text,labels\n"a\n' + line + b"\nc,d\n")
        got = read(self.path)
        self.assertTrue(re.search("f:3: the line has", got[0][1]), got[0][1])
        self.assertEqual(got[1][1:], ([b"d"], [b"c"]))


if __name__ == "__main__":
    checks.main()
