"""skein.Model: a trained model, which ranks the labels of rows.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import operator
import os
import shutil
import tempfile
import weakref
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, Optional,
                    Tuple, Union)

import numpy

from . import _rows
from ._library import (NO_LABEL, Error, Exported, ExportOptions, Points,
                       PredictorInfo, RowField, Slot, Status, call, lib)

# The most labels that can be requested for a row (skein/predictor.h).
LABELS_MAX = 128
LABELS_DEFAULT = 5

# How an exported file has its rows, in the order of skn_export_rows_t.
_ROWS = ("f32", "bf16", "int8")


class Info(NamedTuple):
    """What a model is (skn_predictor_info_t of skein/predictor.h)."""
    path: str             # of the checkpoint
    run_id: str           # 32 hex digits
    warning: str          # "", or what is wrong with the run
    config: str           # the model file with every value, YAML
    batch: int            # trained batches
    feature_count: int
    label_count: int
    layer_count: int
    parameter_count: int
    softmax: bool         # scores that are not calibrated sum to 1
    normalizes: bool      # the values of a point are scaled to length 1
    ranker_weights: int   # 0: there is no ranker
    label_name_count: int  # 0: labels have no names
    texts: bool           # it was trained on rows of texts
    calibrated: bool      # a score is the probability that the label is right


class Model:
    """A trained model. `Model.load` opens one, `skein.train` makes one.

    It does not change, and any number of threads may use it at once. The
    memory is freed by `close`, at the end of a `with`, or with the last
    reference; calls that run then come to their end first. It can be pickled:
    the pickle has the files of the model, which are unpacked into a temporary
    folder of the copy.
    """

    def __init__(self, path: str, owned: Optional[str] = None) -> None:
        """`owned` is a folder that is removed when the model is closed."""
        slot = Slot()
        predictor = ctypes.c_void_p(call("skn_predictor_open",
                                         os.fsencode(path)))
        call("skn_predictor_slot_store", ctypes.byref(slot),
             ctypes.byref(predictor))
        self._slot = slot
        self._columns: Dict[str, bool] = {}  # keys of rows: is it a column?
        self._close = weakref.finalize(self, _free, slot, owned, os.getpid())
        with self._predictor() as opened:
            self.info = _info(opened)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Model":
        """Opens a run folder (its best checkpoint, else its newest) or one
        checkpoint in it. Raises Error."""
        return cls(os.fspath(path))

    def close(self) -> None:
        """Frees the model; a temporary folder of its own is removed. Later
        calls raise Error. May be called again."""
        self._close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"<skein.Model of {self.info.label_count} labels, "
                f"{self.info.path}>")

    # --- labels -----------------------------------------------------------

    def label(self, number: int) -> Union[str, int]:
        """The name of label `number`, or the number if it has no name."""
        with self._predictor() as predictor:
            return _name(predictor, operator.index(number))

    @property
    def labels(self) -> List[Union[str, int]]:
        """What `predict` calls label 0, 1, ...: names, which are str whatever
        the labels of rows were, or numbers where there are none. A new
        list."""
        with self._predictor() as predictor:
            return [_name(predictor, number)
                    for number in range(self.info.label_count)]

    # --- predictions ------------------------------------------------------

    def predict(self, rows: Any, k: Optional[int] = None,
                threshold: float = 0.0
                ) -> List[List[Tuple[Union[str, int], float]]]:
        """The best labels of each row, best first: lists of (name or number,
        probability), at most `k`, none below `threshold`. k None: 5, or with a
        threshold all labels that reach it, at most 128.

        rows: a list of str, if the model was trained on texts; a list of
        {column: text or number}, with columns that it was trained on; a matrix
        of scipy.sparse or an array [points, features]; or a list of {feature:
        value}. Features, words and columns that the model does not have are
        left out. Raises Error for values that are not finite and for a row
        whose keys are all no columns of the model, and TypeError for rows of
        other kinds.
        """
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold is {threshold}; it is from 0 to 1")
        if k is None:
            k = LABELS_MAX if threshold > 0 else LABELS_DEFAULT
        labels, scores = self.predict_arrays(rows, k)
        with self._predictor() as predictor:
            names = {number: _name(predictor, number)
                     for number in numpy.unique(labels).tolist()}
        return [[(names[label], score) for label, score in zip(*answer)
                 if label >= 0 and score >= threshold]
                for answer in zip(labels.tolist(), scores.tolist())]

    def predict_arrays(self, rows: Any, k: int = LABELS_DEFAULT
                       ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """As `predict`, as two new arrays: labels [rows, k], int64, and scores
        [rows, k], float32. If the model has fewer than k labels, the rest are
        -1 and 0. k is from 1 to 128."""
        if _rows.kind_of(rows) == "texts":
            texts = _rows.encoded_texts(rows)
            count = len(texts)
            arguments = ((ctypes.c_char_p * count)(*texts),
                         (ctypes.c_size_t * count)(*map(len, texts)), count)
            function = "skn_predictor_best_texts"
        elif _rows.kind_of(rows) == "fields":
            columns, texts, offset = _rows.encoded_fields(rows,
                                                          self._is_column)
            count = len(offset) - 1
            arguments = ((RowField * len(texts))(*zip(columns, texts)),
                         (ctypes.c_size_t * len(offset))(*offset), count)
            function = "skn_predictor_best_rows"
        else:
            csr = _rows.csr_of(rows)
            count = len(csr.offset) - 1
            arguments = (ctypes.byref(Points(
                count, csr.offset.ctypes.data, csr.feature.ctypes.data,
                csr.value.ctypes.data)),)
            function = "skn_predictor_best"
        k = operator.index(k)
        if not 1 <= k <= LABELS_MAX:
            raise ValueError(f"k is {k}; it is from 1 to {LABELS_MAX}")
        labels = numpy.empty((count, k), numpy.uint32)
        scores = numpy.empty((count, k), numpy.float32)
        with self._predictor() as predictor:
            call(function, predictor, *arguments, k, labels.ctypes.data_as(
                ctypes.POINTER(ctypes.c_uint32)), scores.ctypes.data_as(
                ctypes.POINTER(ctypes.c_float)))
        numbers = labels.astype(numpy.int64)
        numbers[labels == NO_LABEL] = -1
        return numbers, scores

    def _is_column(self, name: str) -> bool:
        """Whether the model was trained on a column of this name. libskein
        knows, which refuses a row with any other field."""
        if name not in self._columns:
            field = RowField(name.encode("utf-8", "replace"), None)
            with self._predictor() as predictor:
                try:
                    call("skn_predictor_best_rows", predictor,
                         ctypes.byref(field), (ctypes.c_size_t * 2)(0, 1), 1,
                         1, ctypes.c_uint32(), ctypes.c_float())
                    self._columns[name] = True
                except Error as error:
                    if error.status is not Status.USAGE:
                        raise
                    self._columns[name] = False
        return self._columns[name]

    # --- files ------------------------------------------------------------

    def export(self, path: Union[str, "os.PathLike[str]"], rows: str = "f32",
               max_bytes: int = 0) -> Tuple[str, int]:
        """Writes the model as one file, which `load` and `skein predict` map:
        weights, words and names. `path` must not exist yet. `rows` is "f32",
        "bf16" or "int8". With `max_bytes` the file is at most so large: its
        rows become shorter, and those of the features that matter least are
        left out. Returns how its rows are stored, and its size in bytes.
        Raises Error, and ValueError for other `rows`.
        """
        if rows not in _ROWS:
            raise ValueError(f"rows is {rows!r}; it is one of {_ROWS}")
        options = ExportOptions(ctypes.sizeof(ExportOptions),
                                _ROWS.index(rows), operator.index(max_bytes))
        exported = Exported(ctypes.sizeof(Exported))
        with self._predictor() as predictor:
            call("skn_predictor_export", predictor, os.fsencode(path),
                 ctypes.byref(options), ctypes.byref(exported))
        return _ROWS[exported.rows], exported.bytes

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model into the folder `path`, which must not exist yet,
        as a run folder with one checkpoint; a model that was loaded from an
        exported file becomes such a file. Raises OSError."""
        _write_files(os.fspath(path), self._files())

    def _files(self) -> Dict[str, bytes]:
        """The files of the run folder, with this model's checkpoint alone; of
        an exported model the file, by the name ""."""
        with self._predictor():  # a closed model has none
            checkpoint = os.path.realpath(self.info.path)  # `best` is a link
        if os.path.isfile(checkpoint):
            with open(checkpoint, "rb") as file:
                return {"": file.read()}
        folder, name = os.path.split(checkpoint)
        files = [entry.name for entry in os.scandir(folder)
                 if entry.is_file() and entry.name != "lock"]
        files += [os.path.join(name, entry.name)
                  for entry in os.scandir(checkpoint) if entry.is_file()]
        contents = {}
        for file_name in files:
            with open(os.path.join(folder, file_name), "rb") as file:
                contents[file_name] = file.read()
        return contents

    def __reduce__(self) -> Tuple[Callable, Tuple[Dict[str, bytes]]]:
        return _unpack, (self._files(),)

    # --- the predictor ----------------------------------------------------

    @contextlib.contextmanager
    def _predictor(self) -> Iterator[ctypes.c_void_p]:
        """The predictor, which nobody frees meanwhile."""
        if not self._close.alive:
            raise Error(Status.UNAVAILABLE, "the model is closed")
        held = ctypes.c_void_p(call("skn_predictor_slot_acquire",
                                    ctypes.byref(self._slot)))
        try:
            yield held
        finally:
            lib.skn_predictor_close(ctypes.byref(held))


def _free(slot: Slot, owned: Optional[str], process: int) -> None:
    lib.skn_predictor_slot_store(ctypes.byref(slot),
                                 ctypes.byref(ctypes.c_void_p()), None)
    if owned and process == os.getpid():  # not in a child that fork() made
        shutil.rmtree(owned, ignore_errors=True)


def _info(predictor: ctypes.c_void_p) -> Info:
    struct: PredictorInfo = lib.skn_predictor_info(predictor).contents
    values = (getattr(struct, name) for name in Info._fields)
    return Info(*(value.decode("utf-8", "replace")
                  if isinstance(value, bytes) else value for value in values))


def _name(predictor: ctypes.c_void_p, number: int) -> Union[str, int]:
    # A greater number would be cut to 32 bits.
    name = lib.skn_predictor_label(predictor, number) \
        if 0 <= number < NO_LABEL else b""
    return name.decode("utf-8", "replace") if name else number


def _write_files(path: str, files: Dict[str, bytes]) -> None:
    if "" not in files:
        os.makedirs(path)
    for name, content in files.items():
        place = os.path.join(path, name) if name else path
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        with open(place, "xb") as file:
            file.write(content)


def _unpack(files: Dict[str, bytes]) -> Model:
    """The model that was pickled, from a temporary folder that it owns."""
    owned = tempfile.mkdtemp(prefix="skein-run-")
    try:
        path = os.path.join(owned, "run")
        _write_files(path, files)
        return Model(path, owned)
    except BaseException:
        shutil.rmtree(owned, ignore_errors=True)
        raise
