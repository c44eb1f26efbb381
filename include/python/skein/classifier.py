"""SkeinClassifier: Skein as a classifier of scikit-learn, which it needs.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import _rows
from ._model import LABELS_MAX
from ._train import SHORT, train


class _Target(NamedTuple):
    """What `fit` got as y."""
    form: str               # "classes", "lists", "dense" or "sparse"
    rows: List[List[int]]   # the classes of each point, by their numbers
    classes: numpy.ndarray  # [classes]


def _target(y: Any) -> _Target:
    if _rows.is_matrix(y):
        return _Target("sparse" if hasattr(y, "tocsr") else "dense",
                       _rows.label_rows(y), numpy.arange(y.shape[1]))
    y = y if isinstance(y, numpy.ndarray) else list(y)
    if any(isinstance(labels, (list, tuple, set, frozenset, numpy.ndarray))
           for labels in y):
        rows = _rows.label_rows(y)
        names = sorted({name for row in rows for name in row})
        number = {name: place for place, name in enumerate(names)}
        return _Target("lists", [[number[name] for name in row]
                                 for row in rows], numpy.array(names))
    classes, numbers = numpy.unique(numpy.asarray(y), return_inverse=True)
    return _Target("classes", [[number] for number in numbers.tolist()],
                   classes)


class SkeinClassifier(ClassifierMixin, BaseEstimator):
    """Trains a network by Skein on texts, named columns or sparse features.

    epochs: passes over the points; None: Skein decides.
    threshold: the probability from which on a label belongs to a point, where
        points may have several. None: .5 if the model is calibrated, which
        needs a test set (test=0.1), or the probabilities of labels are
        independent (loss one_vs_all); otherwise .5 divided by the mean number
        of labels of a training point, since they sum to 1.
    progress: as of skein.train; None: a line for each epoch on a terminal.
    keys: as of skein.train, keys of the model file and their short forms:
        train__seed=7, numbers=["price"]. In a Pipeline and a grid they are
        called STEP__train__seed.

    X is a list or array of texts, a list of {column: text or number}, a matrix
    of scipy.sparse, or an array [points, features]. y is a vector of classes,
    an indicator matrix [points, classes], or a list of lists of labels;
    scikit-learn's splitters need `cv=KFold()` for lists. `predict` answers in
    the form of y.

    After `fit`: `classes_` [classes], `model_`, a skein.Model, which numbers
    its labels as `classes_` does or has these numbers for names,
    `threshold_`, and of a matrix `n_features_in_`. It can be pickled, with all
    files of the model.
    """

    def __init__(self, epochs: Optional[int] = None,
                 threshold: Optional[float] = None, progress: Any = None,
                 **keys: Any) -> None:
        self.epochs = epochs
        self.threshold = threshold
        self.progress = progress
        self.keys = keys

    # --- parameters: three, and all keys of the model file ----------------

    @classmethod
    def _get_param_names(cls) -> List[str]:
        return ["epochs", "progress", "threshold"]

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        return {**super().get_params(deep=False), **self.keys}

    def set_params(self, **params: Any) -> "SkeinClassifier":
        self._check_names(params)
        for name, value in params.items():
            if name in self._get_param_names():
                setattr(self, name, value)
            else:
                self.keys = {**self.keys, name: value}
        return self

    def _check_names(self, names: Iterable[str]) -> None:
        known = [*self._get_param_names(), *SHORT]
        for name in names:
            if "__" in name or name in known:
                continue
            near = difflib.get_close_matches(name, known, 1)
            raise ValueError(
                f"SkeinClassifier has no parameter {name!r}; " +
                (f"did you mean {near[0]!r}?" if near else "keys of the model "
                 "file have two underscores, such as train__seed"))

    # --- fit --------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> "SkeinClassifier":
        """Trains. Raises skein.Error, TypeError and ValueError as skein.train
        does."""
        self._check_names(self.keys)
        target = _target(y)
        count = len(target.classes)
        keys = {"train__epochs": self.epochs, **self.keys}
        texts = _rows.kind_of(X) in ("texts", "fields")
        if not texts:
            keys["data__label_count"] = count
        self.model_ = train((X, target.rows), progress=self.progress, **keys)
        vars(self).pop("n_features_in_", None)
        if _rows.is_matrix(X):
            self.n_features_in_ = X.shape[1]
        self.classes_ = target.classes
        self._form = target.form
        # Rows of texts name a label by the number of its class, and labels are
        # numbered as their names come.
        self._class_of = numpy.array(
            [int(name) for name in self.model_.labels] if texts
            else range(count))
        labels = sum(map(len, target.rows)) / max(
            1, sum(map(bool, target.rows)))
        info = self.model_.info
        share = .5 / labels if info.softmax and not info.calibrated else .5
        self.threshold_ = share if self.threshold is None else self.threshold
        return self

    # --- predictions ------------------------------------------------------

    def _ask(self, X: Any, k: int) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """The best labels and their scores. ValueError for a matrix with other
        columns than that of `fit`."""
        wanted = getattr(self, "n_features_in_", None)
        if wanted and _rows.is_matrix(X) and X.shape[1] != wanted:
            raise ValueError(f"X has {X.shape[1]} features, but "
                             f"SkeinClassifier is expecting {wanted} features "
                             "as input")
        return self.model_.predict_arrays(X, k)

    def predict_proba(self, X: Any) -> numpy.ndarray:
        """Probabilities [points, classes], float64. For a vector of classes
        each row sums to 1. Skein ranks at most 128 labels of a point: with
        more classes, all others of a point have 0."""
        check_is_fitted(self)
        labels, scores = self._ask(
            X, min(LABELS_MAX, len(self._class_of)))
        found = numpy.zeros((len(labels), len(self.classes_)))
        numpy.put_along_axis(found, self._class_of[labels], scores, axis=1)
        if self._form == "classes":
            found /= found.sum(axis=1, keepdims=True)
        return found

    def predict(self, X: Any) -> Any:
        """The class of each point; or, in the form of `fit`'s y, an indicator
        matrix or a list of lists of the labels that reach `threshold_`."""
        check_is_fitted(self)
        if self._form == "classes":
            labels, _ = self._ask(X, 1)
            return self.classes_[self._class_of[labels[:, 0]]]
        chosen = self.predict_proba(X) >= self.threshold_
        if self._form == "lists":
            return [self.classes_[row].tolist() for row in chosen]
        if self._form == "dense":
            return chosen.astype(int)
        from scipy.sparse import csr_matrix
        return csr_matrix(chosen, dtype=int)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of points whose class is right, or whose labels are all
        right and complete."""
        check_is_fitted(self)
        if self._form != "lists":
            return super().score(X, y, sample_weight)
        right = [set(found) == set(names)
                 for found, names in zip(self.predict(X), y)]
        return float(numpy.average(right, weights=sample_weight))
