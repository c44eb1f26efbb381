"""skein.train: trains a model from a file or from rows in memory.

SPDX-License-Identifier: Apache-2.0
"""
import collections.abc
import ctypes
import functools
import json
import numbers
import os
import shutil
import sys
import tempfile
import warnings
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional,
                    Set, Tuple, Union)

import numpy

from . import _rows
from ._library import (Error, SkeinWarning, Status, TrainingOptions, call,
                       lib)
from ._model import Model

Progress = Callable[[Dict[str, Any]], None]
Path = Union[str, "os.PathLike[str]"]
Data = Union[Path, Iterable[Path], Iterable[Mapping[str, Any]],
             Tuple[Any, Any]]

# All that is not here is left to Skein, which decides it from the data.
CONFIG = b"""skein: 1
data: { train: "" }
model: { layers: [ { name: hidden }, { name: output } ] }
"""
# The short forms of the command (docs/reference/command.md).
SHORT = {"text": "data__text_column", "labels": "data__label_column",
         "categories": "data__category_columns",
         "numbers": "data__number_columns", "test": "data__test"}
EVENT_BYTES_MAX = 65536  # SKN_EVENT_BYTES_MAX of skein/limits.h
# How long one wait for an event takes at most: Python handles a signal, such
# as that of Ctrl-C, only between two.
WAIT_MS = 200


def train(data: Data, run: Optional[Path] = None,
          progress: Union[Progress, bool, None] = None, resume: bool = False,
          **keys: Any) -> Model:
    """Trains a model on `data` and returns it.

    data: the path of a file in any format that `skein train` reads, or a list
        of paths; or (texts, labels), a list of str and a list of lists of
        names; or (rows, labels), the former a list of {column: text or
        number}, of which columns that are not named are left out; or such rows
        alone, which have their labels in the column `labels`: a list, or a
        text that is one label, unless data__label_separator is given; or
        (matrix, labels), a matrix of scipy.sparse with a row for each point,
        and a list of lists of int or an indicator matrix [points, labels].
        Rows in memory are written into a temporary folder first.
    run: the folder of the run, which must hold none yet. None: a temporary
        one, which the model owns; Model.save keeps it.
    progress: is called with each event, a dict (docs/reference/events.md).
        None: a line for each epoch, if standard error is a terminal. False:
        nothing. Unless it is a function, warnings are a SkeinWarning.
    resume: continue the run that is in `run`.
    keys: text, labels, categories, numbers name columns, and test the test
        set, as of the command: text="title", numbers=["price", "year"],
        test=0.1. All others are keys of the model file
        (docs/reference/config.md), with two underscores for each point:
        train__epochs=3, model__layers__hidden__units=128. Everything else is
        decided from the data. None: the default of the key.

    Returns when the run is complete. Other threads may use Python meanwhile,
    and may train, too. KeyboardInterrupt, or an exception of `progress`, stops
    the run, saves it, and is raised again. Raises Error, and TypeError or
    ValueError for rows and keys that cannot be written down.
    """
    keys = _spelled_out(keys)
    overrides = _overrides(keys)
    owned = None
    if run is None:
        owned = run = tempfile.mkdtemp(prefix="skein-run-")
        # Nobody resumes it: its last state is enough.
        overrides = ["checkpoint.keep=1", "checkpoint.every_epochs=0",
                     *overrides]
    overrides.append(f"checkpoint.path={os.path.abspath(os.fspath(run))}")
    rows = tempfile.mkdtemp(prefix="skein-rows-")
    try:
        paths = _paths(data)
        if not paths:
            # The folder goes: nobody else finds a cache in it.
            overrides.append("data.cache=none")
            paths = [_write(rows, *_parts(data), keys)]
        overrides += _overrides({
            "data__train": paths[0] if len(paths) == 1 else paths})
        _run(overrides, resume, _follower(progress))
        return Model(os.path.abspath(run), owned)
    except BaseException:
        if owned:
            shutil.rmtree(owned, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(rows, ignore_errors=True)


def _paths(data: Any) -> List[str]:
    """The paths that are the data; empty if it is in memory."""
    paths = [data] if isinstance(data, (str, os.PathLike)) else data
    if isinstance(paths, list) and \
            all(isinstance(path, (str, os.PathLike)) for path in paths):
        return [os.path.abspath(os.fspath(path)) for path in paths]
    return []


def _parts(data: Any) -> Tuple[Any, Any]:
    """Rows, and their labels; None: the rows have them."""
    if isinstance(data, tuple) and len(data) == 2:
        return data
    if isinstance(data, collections.abc.Iterable) and \
            not _rows.is_matrix(data) and not isinstance(data, tuple):
        rows = list(data)
        if not rows or _rows.kind_of(rows) == "fields":
            return rows, None if rows else []
    raise TypeError(f"data cannot be this {type(data).__name__}: it is a "
                    "path, a list of paths, a tuple of rows and labels, or a "
                    "list of {column: text or number} with a column of labels")


def _write(folder: str, rows: Any, labels: Any, keys: Dict[str, Any]) -> str:
    kind = _rows.kind_of(rows)
    if kind == "texts":
        return _rows.write_texts(folder, rows, labels)
    if kind == "fields":
        return _rows.write_fields(folder, rows, labels, _columns(keys),
                                  keys.get("data__label_column") or "labels",
                                  bool(keys.get("data__label_separator")))
    return _rows.write_points(folder, rows, labels)


def _columns(keys: Dict[str, Any]) -> Set[str]:
    """The columns that the keys name, as libskein reads them."""
    lists = (keys.get("data__text_column") or "text",
             keys.get("data__category_columns") or "",
             keys.get("data__number_columns") or "")
    return {name.strip() for names in lists for name in
            (names.split(",") if isinstance(names, str) else names)}


def _value_text(key: str, value: Any) -> str:
    """A value as an override has it: what stands in quotes, and lists, are
    read as YAML; JSON is YAML."""
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if key.endswith(("_column", "_columns")) and \
            isinstance(value, (list, tuple)):
        value = ",".join(value)
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=os.fspath)
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        return json.dumps(text, ensure_ascii=False) \
            if not text or text != text.strip() or text[0] in "\"'[{" else text
    raise TypeError(f"{key} cannot be a {type(value).__name__}")


def _overrides(keys: Dict[str, Any]) -> List[str]:
    return [f"{key.replace('__', '.')}={_value_text(key, value)}"
            for key, value in keys.items() if value is not None]


def _spelled_out(keys: Dict[str, Any]) -> Dict[str, Any]:
    """The keys, with none in its short form."""
    found: Dict[str, Any] = {}
    for name, value in keys.items():
        key = SHORT.get(name, name)
        if key in found:
            raise TypeError(f"{key} is given twice, once in its short form")
        found[key] = value
    return found


def _follower(progress: Union[Progress, bool, None]) -> Progress:
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    return functools.partial(_tell, bool(progress))


def _tell(shows_epochs: bool, event: Dict[str, Any]) -> None:
    """Shows an epoch as a line on standard error; a warning is one of Python,
    at the line that has called `train`."""
    if event["event"] == "warning":
        hint = event.get("hint")
        warnings.warn(event["message"] + (f"; {hint}" if hint else ""),
                      SkeinWarning, stacklevel=5)
    elif event["event"] == "epoch" and shows_epochs:
        scores = "".join(f"  P@{name[1:]} {event[name]:.4f}"
                         for name in ("p1", "p3", "p5") if name in event)
        print(f"epoch {event['epoch']:3}  loss {event['loss']:.4f}{scores}  "
              f"{event['seconds']:.1f} s", file=sys.stderr)


def _run(overrides: List[str], resume: bool,
         progress: Progress) -> None:
    """Trains to the end. The training is this thread's."""
    words = [word.encode("utf-8", "surrogateescape") for word in overrides]
    options = TrainingOptions(
        struct_bytes=ctypes.sizeof(TrainingOptions),
        override_count=len(words),
        overrides=(ctypes.c_char_p * len(words))(*words), resume=resume)
    training = ctypes.c_void_p(call(
        "skn_training_new", CONFIG, b"keys", ctypes.byref(options)))
    try:
        call("skn_training_start", training)
        try:
            _follow(training, progress)
        except BaseException:
            lib.skn_training_stop(training)
            lib.skn_training_wait(training, None)
            raise
        call("skn_training_wait", training)
    finally:
        lib.skn_training_destroy(ctypes.byref(training))


def _follow(training: ctypes.c_void_p, progress: Progress) -> None:
    """Reads the events until there are no more."""
    line = ctypes.create_string_buffer(EVENT_BYTES_MAX)
    while True:
        try:
            call("skn_training_event", training, WAIT_MS, line, len(line))
        except Error as error:
            if error.status is Status.UNAVAILABLE:
                return
            if error.status is not Status.BUSY:
                raise
        else:
            progress(json.loads(line.value.decode("utf-8", "replace")))
