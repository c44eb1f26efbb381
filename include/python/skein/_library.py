"""Finds libskein, declares its functions, and turns statuses into exceptions.

All of ctypes that is not an argument of one call is here: the structs of
skein/error.h, points.h, predictor.h and training.h, and their functions.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import enum
import os
import pathlib
import sysconfig
from ctypes import (POINTER, Structure, byref, c_bool, c_char, c_char_p,
                    c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p)
from typing import List

NAME = "libskein.so.0"
VARIABLE = "SKEIN_LIBRARY"
NO_LABEL = 0xFFFFFFFF

# The statuses of skein/error.h, in the order of their numbers.
Status = enum.IntEnum("Status", [
    "OK", "USAGE", "BAD_DATA", "NO_INPUT", "UNAVAILABLE", "INTERNAL",
    "NO_MEMORY", "CANNOT_CREATE", "STORAGE", "BUSY", "BAD_MESSAGE",
    "NO_PERMISSION", "BAD_CONFIG", "DIVERGED", "TOO_SMALL"],
    start=0, module=__name__)
Status.__doc__ = "How a call of libskein has ended (skein/error.h)."


class Error(Exception):
    """A call of libskein has failed.

    `status` is a Status, `text` one sentence with the reason, and `hint` the
    remedy, or "". As a string it is the sentence and the remedy.
    """

    def __init__(self, status: int, text: str, hint: str = "") -> None:
        super().__init__(status, text, hint)
        self.status = Status(status)
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.text}; {self.hint}" if self.hint else self.text


class SkeinWarning(UserWarning):
    """Something is wrong with a training, which continues."""


class ErrorStruct(Structure):
    """skn_error_t"""
    _fields_ = [("status", c_int), ("text", c_char * 512),
                ("hint", c_char * 256)]

    def exception(self) -> Error:
        """The exception that says what this struct says."""
        return Error(self.status, self.text.decode("utf-8", "replace"),
                     self.hint.decode("utf-8", "replace"))


class Points(Structure):
    """skn_points_t"""
    _fields_ = [("count", c_size_t), ("offset", c_void_p),
                ("feature", c_void_p), ("value", c_void_p)]


class RowField(Structure):
    """skn_row_field_t"""
    _fields_ = [("column", c_char_p), ("text", c_char_p)]


class PredictorInfo(Structure):
    """skn_predictor_info_t"""
    _fields_ = [("struct_bytes", c_size_t), ("path", c_char_p),
                ("run_id", c_char_p), ("warning", c_char_p),
                ("config", c_char_p), ("batch", c_uint64),
                ("feature_count", c_uint32), ("label_count", c_uint32),
                ("layer_count", c_uint32), ("parameter_count", c_uint64),
                ("softmax", c_bool), ("normalizes", c_bool),
                ("index_lists", c_uint32), ("index_probes", c_uint32),
                ("ranker_weights", c_uint64), ("label_name_count", c_size_t),
                ("texts", c_bool), ("calibrated", c_bool)]


class Slot(Structure):
    """skn_predictor_slot_t"""
    _fields_ = [("current", c_void_p)]


class TrainingOptions(Structure):
    """skn_training_options_t"""
    _fields_ = [("struct_bytes", c_uint32), ("override_count", c_uint32),
                ("overrides", POINTER(c_char_p)), ("resume", c_bool),
                ("path", c_char_p), ("run_id", c_char_p),
                ("progress_ms", c_uint32), ("stop_s", c_uint32),
                ("warn_after_ms", c_uint32), ("trace_path", c_char_p),
                ("trace_origin_ns", c_uint64), ("wire", c_bool),
                ("no_binding", c_bool), ("report", c_bool),
                ("node", c_char_p), ("wait_s", c_uint32), ("from", c_char_p),
                ("generation", c_uint64), ("elastic", c_bool),
                ("predict", c_char_p), ("predict_labels", c_uint32)]


class ExportOptions(Structure):
    """skn_export_options_t"""
    _fields_ = [("struct_bytes", c_uint32), ("rows", c_int),
                ("bytes_max", c_uint64)]


class Exported(Structure):
    """skn_exported_t"""
    _fields_ = [("struct_bytes", c_uint32), ("rows", c_int),
                ("bytes", c_uint64), ("feature_count", c_uint32),
                ("kept_count", c_uint32)]


def _places() -> List[str]:
    """Where the library may be: beside an installed package, or where the
    system's loader looks."""
    named = os.environ.get(VARIABLE)
    if named:
        return [named]
    # PREFIX/lib/python3/dist-packages/skein/_library.py
    folder = pathlib.Path(__file__).resolve().parent
    folders = []
    if folder.parts[-4:] == ("lib", "python3", "dist-packages", "skein"):
        prefix = folder.parents[3]
        multiarch = sysconfig.get_config_var("MULTIARCH") or ""
        folders = [prefix / "lib" / multiarch, prefix / "lib",
                   prefix / "lib64"]
    found = [str(place / NAME) for place in dict.fromkeys(folders)]
    return [place for place in found if os.path.exists(place)] + [NAME]


def _open() -> ctypes.CDLL:
    """The first library that loads. ImportError, in one line."""
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError as failure:
            reason = failure
    raise ImportError(
        f"cannot load libskein: {reason}; install Skein, or set {VARIABLE} to "
        f"the path of {NAME}, such as build/{NAME} of a build tree") from None


def _declare(library: ctypes.CDLL) -> None:
    """The parameters and the result of each function that is used."""
    handle, error = c_void_p, POINTER(ErrorStruct)
    texts, words = POINTER(c_char_p), POINTER(c_size_t)
    table = {
        "skn_version": (c_uint32, []),
        "skn_training_new": (handle, [c_char_p, c_char_p,
                                      POINTER(TrainingOptions), error]),
        "skn_training_start": (c_int, [handle, error]),
        "skn_training_event": (c_int, [handle, c_int, c_char_p, c_size_t,
                                       error]),
        "skn_training_stop": (None, [handle]),
        "skn_training_wait": (c_int, [handle, error]),
        "skn_training_destroy": (None, [POINTER(handle)]),
        "skn_predictor_open": (handle, [c_char_p, error]),
        "skn_predictor_close": (None, [POINTER(handle)]),
        "skn_predictor_info": (POINTER(PredictorInfo), [handle]),
        "skn_predictor_label": (c_char_p, [handle, c_uint32]),
        "skn_predictor_best": (c_int, [handle, POINTER(Points), c_uint32,
                                       POINTER(c_uint32), POINTER(c_float),
                                       error]),
        "skn_predictor_best_texts": (c_int, [handle, texts, words, c_size_t,
                                             c_uint32, POINTER(c_uint32),
                                             POINTER(c_float), error]),
        "skn_predictor_best_rows": (c_int, [handle, POINTER(RowField), words,
                                            c_size_t, c_uint32,
                                            POINTER(c_uint32),
                                            POINTER(c_float), error]),
        "skn_predictor_export": (c_int, [handle, c_char_p,
                                         POINTER(ExportOptions),
                                         POINTER(Exported), error]),
        "skn_predictor_slot_store": (c_int, [POINTER(Slot), POINTER(handle),
                                             error]),
        "skn_predictor_slot_acquire": (handle, [POINTER(Slot), error]),
    }
    for name, (result, parameters) in table.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"libskein has no function {name}: it is older "
                              "than the package skein; install the same "
                              "version of both")
        function.restype = result
        function.argtypes = parameters


def call(name: str, *arguments):
    """Calls a function whose last parameter is an error. Returns its result,
    which is a status or a handle; raises Error for a failure."""
    error = ErrorStruct()
    function = getattr(lib, name)
    result = function(*arguments, byref(error))
    failed = result != 0 if function.restype is c_int else not result
    if failed:
        raise error.exception()
    return result


def version() -> str:
    """The version of libskein, such as "0.1.0"."""
    number = lib.skn_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


lib = _open()
_declare(lib)
