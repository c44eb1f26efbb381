"""Rows of users as what libskein reads: arrays for predictions, files for
training.

Rows are a list of texts, a matrix of scipy.sparse or an array of numbers with
a row for each point, a list of {feature: value}, or a list of {column: text or
number}.

SPDX-License-Identifier: Apache-2.0
"""
import collections.abc
import decimal
import json
import numbers
import os
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    NamedTuple, Optional, Sequence, Set, Tuple, Union)

import numpy

# The greatest number of a feature or label in a file or an array.
NUMBER_MAX = 2**31 - 1


class Csr(NamedTuple):
    """Points as skn_points_t has them: offset [points + 1], feature and value
    [offset[-1]]."""
    offset: numpy.ndarray   # uint64
    feature: numpy.ndarray  # uint32
    value: numpy.ndarray    # float32
    feature_count: int      # 0: not known


def is_matrix(rows: Any) -> bool:
    """Whether `rows` is a matrix of scipy.sparse, or a table of numbers."""
    return hasattr(rows, "tocsr") or getattr(rows, "ndim", 1) == 2


def kind_of(rows: Any) -> str:
    """"texts", "matrix", "dicts" or "fields", the latter being dicts whose keys
    are str. TypeError for everything else."""
    if isinstance(rows, (str, bytes)):
        raise TypeError("rows are a list of texts, not one text")
    if is_matrix(rows):
        return "matrix"
    if not isinstance(rows, collections.abc.Iterable) or \
            isinstance(rows, collections.abc.Iterator):
        raise TypeError(f"rows cannot be a {type(rows).__name__}: they are a "
                        "list of texts, a sparse matrix, or a list of "
                        "{feature: value} or {column: text}")
    for row in rows:
        if isinstance(row, str):
            return "texts"
        if isinstance(row, collections.abc.Mapping):
            if not row:
                continue
            return "fields" if isinstance(next(iter(row)), str) else "dicts"
        raise TypeError(f"a row cannot be a {type(row).__name__}: it is a "
                        "text, a row of a sparse matrix, {feature: value}, or "
                        "{column: text}")
    return "dicts"  # no row: every model has an answer to it


def encoded(text: Any, row: int) -> bytes:
    """A text as UTF-8. A lone surrogate becomes "?", as it separates words."""
    if not isinstance(text, str):
        raise TypeError(f"row {row} is a {type(text).__name__}, and the rows "
                        "before it are texts")
    return text.encode("utf-8", "replace")


def encoded_texts(rows: Iterable[str]) -> List[bytes]:
    """The texts as UTF-8, for training and for predictions alike."""
    return [encoded(text, row) for row, text in enumerate(rows)]


def is_unknown(value: Any) -> bool:
    """Whether a field has no value: None, NaN, and NA of pandas, whose
    comparisons have no truth."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or \
        isinstance(value, (numbers.Real, decimal.Decimal)) and value != value


def number_text(value: Any) -> str:
    """The spelling that a reader of JSON lines gives a number, so that a
    category is one feature in both (formats/records/records_json.c): a real
    has the fewest digits, from 15 on, that are read as it."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    number = float(value)
    texts = (f"{number:.{digits}g}" for digits in (15, 16, 17))
    return next(text for text in texts if float(text) == number)


def field_text(value: Any, row: int, column: str) -> Optional[str]:
    """The text of a field; None: it is not known. C ends a text at a NUL, and
    JSON readers refuse one: it separates words as a blank does."""
    if is_unknown(value):
        return None
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.replace("\0", " ")
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return number_text(value)
    raise TypeError(f"row {row}: {column!r} cannot be a "
                    f"{type(value).__name__}: it is a text or a number")


def field_rows(rows: Iterable[Mapping], is_column: Callable[[str], bool]
               ) -> Iterator[Dict[str, Optional[str]]]:
    """The fields of each row that are columns, as texts; None: not known."""
    for number, row in enumerate(rows):
        if not isinstance(row, collections.abc.Mapping):
            raise TypeError(f"row {number} is a {type(row).__name__}, and the "
                            "rows before it are dicts")
        for column in row:
            if not isinstance(column, str):
                raise TypeError(f"row {number}: column {column!r} is a "
                                f"{type(column).__name__}, not a str")
        yield {column: field_text(value, number, column)
               for column, value in row.items() if is_column(column)}


def encoded_fields(rows: Sequence[Mapping], is_column: Callable[[str], bool]
                   ) -> Tuple[List[bytes], List[Optional[bytes]], List[int]]:
    """The columns and texts of all rows as UTF-8, and where each row begins;
    behind the last is where it ends. A row whose keys are all no columns keeps
    them, so that libskein refuses it and names the columns."""
    columns, texts, offset = [], [], [0]
    for row, fields in zip(rows, field_rows(rows, is_column)):
        for column, text in (fields or dict.fromkeys(row)).items():
            columns.append(column.encode("utf-8", "replace"))
            texts.append(None if text is None
                         else text.encode("utf-8", "replace"))
        offset.append(len(columns))
    return columns, texts, offset


def _checked(csr: Csr) -> Csr:
    if csr.feature.size and (csr.feature.min() < 0
                             or csr.feature.max() > NUMBER_MAX):
        raise ValueError(f"features are numbers from 0 to {NUMBER_MAX}")
    return Csr(numpy.ascontiguousarray(csr.offset, numpy.uint64),
               numpy.ascontiguousarray(csr.feature, numpy.uint32),
               numpy.ascontiguousarray(csr.value, numpy.float32),
               csr.feature_count)


def csr_of(rows: Any) -> Csr:
    """A matrix or a list of {feature: value} as CSR. Copies what it has to
    convert."""
    if kind_of(rows) != "matrix":
        offset, features, values = [0], [], []
        for row in rows:
            features.extend(row.keys())
            values.extend(row.values())
            offset.append(len(features))
        return _checked(Csr(numpy.array(offset), numpy.array(features, "i8"),
                            numpy.array(values, "f4"), 0))
    if not hasattr(rows, "tocsr"):
        rows = numpy.asarray(rows, numpy.float32)
        place, feature = numpy.nonzero(rows)
        offset = numpy.zeros(len(rows) + 1, numpy.uint64)
        numpy.cumsum(numpy.bincount(place, minlength=len(rows)),
                     out=offset[1:])
        return _checked(Csr(offset, feature, rows[place, feature],
                            rows.shape[1]))
    matrix = rows.tocsr()
    return _checked(Csr(matrix.indptr, matrix.indices, matrix.data,
                        matrix.shape[1]))


def label_rows(labels: Any) -> List[List[Any]]:
    """The labels of each point: lists as they are, or the columns that are not
    0 of an indicator matrix."""
    if not is_matrix(labels):
        for row, names in enumerate(labels):
            if isinstance(names, str) or \
                    not isinstance(names, collections.abc.Iterable):
                raise TypeError(f"labels of row {row}: a list is expected, "
                                f"found {names!r}; if each row has one label, "
                                "give [[c] for c in classes]")
        return [list(names) for names in labels]
    csr = csr_of(labels)
    return [csr.feature[begin:end][csr.value[begin:end] != 0].tolist()
            for begin, end in zip(csr.offset[:-1].tolist(),
                                  csr.offset[1:].tolist())]


def _label_name(name: Any) -> str:
    """The name of a label, spelled as a reader of JSON lines does."""
    is_real = isinstance(name, (numbers.Real, decimal.Decimal)) and \
        not isinstance(name, bool)
    return number_text(name) if is_real else str(name).replace("\0", " ")


def _check_counts(points: int, labels: Sequence) -> None:
    if points != len(labels):
        raise ValueError(f"{points} rows have {len(labels)} lists of labels")
    if points == 0:
        raise ValueError("there are no rows to train on")


def write_texts(folder: str, texts: Iterable[str], labels: Any) -> str:
    """Writes rows of texts as JSON lines; returns the path of the file."""
    texts, labels = encoded_texts(texts), label_rows(labels)
    _check_counts(len(texts), labels)
    path = os.path.join(folder, "rows.jsonl")
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        for text, names in zip(texts, labels):
            # JSON readers refuse a NUL, which separates words as a blank does.
            row = {"text": text.decode("utf-8").replace("\0", " "),
                   "labels": [_label_name(name) for name in names]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def labels_in(rows: Iterable[Mapping], column: str, splits: bool
              ) -> List[Union[str, List[Any]]]:
    """The labels that rows have in a column: a list; or a text or number,
    which is one label. A text stays one if the reader `splits` it."""
    found: List[Union[str, List[Any]]] = []
    for number, row in enumerate(rows):
        if column not in row:
            raise ValueError(f"row {number} has no {column!r}, which is the "
                             "column of labels: name the column by `labels`, "
                             "or train on a tuple of rows and labels")
        value = row[column]
        if is_unknown(value):
            found.append([])
        elif isinstance(value, str):
            found.append(value.replace("\0", " ") if splits else [value])
        elif isinstance(value, collections.abc.Iterable):
            found.append(list(value))
        else:
            found.append([value])
    return found


def write_fields(folder: str, rows: Sequence[Mapping], labels: Any,
                 columns: Set[str], label_column: str, splits: bool) -> str:
    """Writes the fields of rows that are `columns` as JSON lines, and the
    labels, which are in the rows if they are None; returns the path of the
    file."""
    fields = list(field_rows(rows, columns.__contains__))
    labels = labels_in(rows, label_column, splits) if labels is None \
        else label_rows(labels)
    _check_counts(len(fields), labels)
    path = os.path.join(folder, "rows.jsonl")
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        for number, (row, names) in enumerate(zip(fields, labels)):
            if label_column in row:
                raise ValueError(f"row {number} has a field {label_column!r}, "
                                 "which is the column of labels: choose "
                                 "another name for it, or set `labels`")
            line = {**row, label_column: names if isinstance(names, str)
                    else [_label_name(name) for name in names]}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def write_points(folder: str, rows: Any, labels: Any,
                 label_count: int = 0) -> str:
    """Writes numbered features and labels as an XMC file, whose first line has
    the counts; returns its path."""
    csr = csr_of(rows)
    known = [sorted({int(label) for label in row})
             for row in label_rows(labels)]
    _check_counts(len(csr.offset) - 1, known)
    if any(row and not 0 <= row[0] <= row[-1] <= NUMBER_MAX
           for row in known):
        raise ValueError(f"labels are numbers from 0 to {NUMBER_MAX}")
    label_count = max(label_count, *(row[-1] + 1 for row in known if row), 0)
    features = max(csr.feature_count, int(csr.feature.max(initial=0)) + 1)
    path = os.path.join(folder, "points.txt")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{len(known)} {features} {label_count}\n")
        for row, begin, end in zip(known, csr.offset[:-1].tolist(),
                                   csr.offset[1:].tolist()):
            pairs = sorted(zip(csr.feature[begin:end].tolist(),
                               csr.value[begin:end].tolist()))
            file.write(",".join(map(str, row)) + " " + " ".join(
                f"{feature}:{value:.9g}" for feature, value in pairs) + "\n")
    return path
