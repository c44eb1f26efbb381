"""Skein: trains models with very many labels, and ranks labels with them.

    import skein
    model = skein.train("titles.csv", text="title", labels="tags")
    model.predict(["a ball over the net"])

`train` and `Model` use libskein by ctypes (skein/training.h, predictor.h),
`SkeinClassifier` is for scikit-learn, which nothing else here needs. The page
docs/tasks/python.md describes all of it.

SPDX-License-Identifier: Apache-2.0
"""
from typing import Any

from ._library import Error, SkeinWarning, Status, version
from ._model import Info, Model
from ._train import train

__all__ = ["Error", "Info", "Model", "SkeinClassifier", "SkeinWarning",
           "Status", "train"]
__version__ = version()


def __getattr__(name: str) -> Any:
    """SkeinClassifier, when it is asked for: it needs scikit-learn."""
    if name == "SkeinClassifier":
        from .classifier import SkeinClassifier
        return SkeinClassifier
    raise AttributeError(f"module 'skein' has no attribute {name!r}")
