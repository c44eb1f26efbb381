"""skein.train: trains a model from a file or from rows in memory.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import json
import numbers
import os
import shutil
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Union

import numpy

from . import _rows
from ._library import Error, Status, TrainingOptions, call, lib
from ._model import Model

Progress = Callable[[Dict[str, Any]], None]
Data = Union[str, "os.PathLike[str]", Tuple[Any, Any]]

# All that is not here is left to Skein, which decides it from the data.
CONFIG = b"""skein: 1
data: { train: "" }
model: { layers: [ { name: hidden }, { name: output } ] }
"""
EVENT_BYTES_MAX = 65536  # SKN_EVENT_BYTES_MAX of skein/limits.h
# How long one wait for an event takes at most: Python handles a signal, such
# as that of Ctrl-C, only between two.
WAIT_MS = 200


def train(data: Data, run: Optional[Union[str, "os.PathLike[str]"]] = None,
          progress: Union[Progress, bool, None] = None, resume: bool = False,
          **keys: Any) -> Model:
    """Trains a model on `data` and returns it.

    data: the path of a file in any format that `skein train` reads; or
        (texts, labels), a list of str and a list of lists of names; or
        (rows, labels), the former a list of {column: text or number}.
        data__text_column, data__category_columns and data__number_columns
        name the columns; columns that are not named are left out; or
        (matrix, labels), a matrix of scipy.sparse with a row for each point,
        and a list of lists of int or an indicator matrix [points, labels].
        Rows in memory are written into a temporary folder first.
    run: the folder of the run, which must hold none yet. None: a temporary
        one, which the model owns; Model.save keeps it.
    progress: is called with each event, a dict (docs/reference/events.md).
        None: a line for each epoch, if standard error is a terminal. False:
        nothing.
    resume: continue the run that is in `run`.
    keys: keys of the model file (docs/reference/config.md), with two
        underscores for each point: train__epochs=3,
        data__text_column="title", data__number_columns=["price", "year"],
        model__layers__hidden__units=128. Everything
        else is decided from the data. None: the default of the key.

    Returns when the run is complete. Other threads may use Python meanwhile,
    and may train, too. KeyboardInterrupt, or an exception of `progress`, stops
    the run, saves it, and is raised again. Raises Error, and TypeError or
    ValueError for rows and keys that cannot be written down.
    """
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
        if isinstance(data, tuple):
            # The folder goes: nobody else finds a cache in it.
            overrides.append("data.cache=none")
            path = _write(rows, *data, keys)
        else:
            path = os.path.abspath(os.fspath(data))
        overrides.append(f"data.train={path}")
        _run(overrides, resume, _follower(progress))
        return Model(os.path.abspath(run), owned)
    except BaseException:
        if owned:
            shutil.rmtree(owned, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(rows, ignore_errors=True)


def _write(folder: str, rows: Any, labels: Any, keys: Dict[str, Any]) -> str:
    kind = _rows.kind_of(rows)
    if kind == "texts":
        return _rows.write_texts(folder, rows, labels)
    if kind == "fields":
        return _rows.write_fields(folder, rows, labels, _columns(keys),
                                  keys.get("data__label_column") or "labels")
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
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        return json.dumps(text, ensure_ascii=False) \
            if not text or text != text.strip() or text[0] in "\"'[{" else text
    raise TypeError(f"{key} cannot be a {type(value).__name__}")


def _overrides(keys: Dict[str, Any]) -> List[str]:
    return [f"{key.replace('__', '.')}={_value_text(key, value)}"
            for key, value in keys.items() if value is not None]


def _follower(progress: Union[Progress, bool, None]) -> Optional[Progress]:
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    return progress if callable(progress) else _print if progress else None


def _print(event: Dict[str, Any]) -> None:
    """Shows an epoch, or a warning, as a line on standard error."""
    if event["event"] == "epoch":
        scores = "".join(f"  P@{name[1:]} {event[name]:.4f}"
                         for name in ("p1", "p3", "p5") if name in event)
        print(f"epoch {event['epoch']:3}  loss {event['loss']:.4f}{scores}  "
              f"{event['seconds']:.1f} s", file=sys.stderr)
    elif event["event"] == "warning":
        print(f"skein: warning: {event['message']}", file=sys.stderr)


def _run(overrides: List[str], resume: bool,
         progress: Optional[Progress]) -> None:
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


def _follow(training: ctypes.c_void_p, progress: Optional[Progress]) -> None:
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
            if progress:
                progress(json.loads(line.value.decode("utf-8", "replace")))
