"""The diagnosis that comes in with the rows: labels as 0 and 1, or one clear error that says what to do."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .annotated import diagnosis, row_index
from .core.table import Index
from .errors import InputError
from .target_labels import place_of_disease
from .validation import NAMED_AT_MOST, as_frame, plain
from .wording import listed


def labels_of(X: Any, y: Any) -> Any:
    """The diagnosis that y gives or, for AnnData, names. Labels are matched to rows by their place.

    A dask Series is matched by its index; so that both mean the same, an index that is that of X in another
    order is refused.
    """
    y = diagnosis(X, y)
    rows = row_index(X)
    indexed = nw.dependencies.is_pandas_like_series(y) or nw.dependencies.is_pandas_like_dataframe(y)
    if rows is None or not indexed or rows.equals(y.index):
        return y
    if len(rows) == len(y) and rows.isin(y.index).all() and y.index.isin(rows).all():
        raise InputError(
            "y has the index of X in another order: use y.loc[X.index] to match labels by index, or "
            "y.to_numpy() to match them by place"
        )
    return y


def encode_target(y: Any, positive: Any, n_rows: int) -> tuple[Index, np.ndarray]:
    """Labels as 0 and 1, and the two classes; the second is the disease."""
    labels = _labels(y, n_rows)
    check_classification_targets(labels)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    chosen = choose_classes(classes, counts, positive)
    return (codes if chosen[0] == classes[0] else 1 - codes).astype(np.intp), chosen


def encode_known(y: Any, classes: np.ndarray, n_rows: int) -> Index:
    """Labels of new patients as 0 and 1, by the classes of the model; all may be of one class."""
    labels = _labels(y, n_rows)
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in classes.tolist()]
    if unknown:
        healthy, disease = (repr(plain(c)) for c in classes)
        raise InputError(
            f"y holds {listed([repr(label) for label in unknown])}: the model knows the labels {healthy} and "
            f"{disease}"
        )
    return (labels == classes[1]).astype(np.intp)


def _labels(y: Any, n_rows: int) -> np.ndarray:
    """(n,): one label a row, none missing."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    labels = column_or_1d(_target_values(y), warn=True)
    if labels.size != n_rows:
        raise InputError(f"X has {n_rows} rows but y has {labels.size}: inconsistent numbers of samples")
    refuse_unlabelled(sum(map(_is_missing, labels)) if labels.dtype.kind in "fO" else 0)
    # Truth values that stood beside gaps may still come as objects, which scikit-learn takes for no labels.
    truth = labels.dtype == object and set(map(type, labels)) <= {bool, np.bool_}
    return labels.astype(bool) if truth else labels


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True  # pandas.NA cannot tell whether it is equal to itself


def refuse_unlabelled(gone: int) -> None:
    if gone:
        raise InputError(f"the target y has {gone} missing value(s) (NaN): drop these rows")


def choose_classes(classes: np.ndarray, counts: np.ndarray, positive: Any) -> np.ndarray:
    """The two labels, the disease second; ``classes`` are sorted, ``counts`` their rows.

    The disease is ``positive``; without it the label that says so itself, or else the second in order.
    """
    if classes.size != 2:
        shown = listed([repr(plain(c)) for c in classes], NAMED_AT_MOST)
        raise InputError(
            "the target needs exactly two classes, disease and healthy; it has "
            f"{_count(classes.size)}: {shown}. Only binary classification is supported."
        )
    for label, count in zip(classes, counts, strict=True):
        if count < 2:
            raise InputError(
                f"only one row has the label {plain(label)!r}: at least two of each class are needed"
            )
    if positive is not None:
        if positive not in classes.tolist():
            first, second = (repr(plain(c)) for c in classes)
            raise InputError(
                f"positive={positive!r} is not a label of the target, which has {first} and {second}"
            )
        return classes[::-1] if positive == classes[0] else classes
    return classes[::-1] if place_of_disease(classes) == 0 else classes


def _target_values(y: Any) -> Any:
    if nw.dependencies.is_into_series(y):
        return nw.from_native(y, series_only=True).to_numpy()
    frame = as_frame(y)
    return y if frame is None else frame.to_numpy()


def _count(classes: int) -> str:
    return "one class" if classes == 1 else f"{classes} classes"
