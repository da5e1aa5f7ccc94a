"""The way in: rows in memory or on a cluster become a validated cohort."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import narwhals as nw
import numpy as np

from ..backends.choose import check_backend, choose_table
from ..errors import InputError, MissingExtraError
from .cohort import Cohort, Target
from .from_frame import check_columns, matrix_for_fit
from .target import encode_target, labels_of


def open_cohort(estimator: Any, X: Any, target: Target | None) -> AbstractContextManager[Cohort]:
    """Validate and set n_features_in_ and feature_names_in_ on the estimator, as scikit-learn does.

    Parameters
    ----------
    estimator : has ``backend``.
    X : the variables.
    target : the diagnosis, or None where the method needs none.
    """
    check_backend(estimator.backend)
    distributed = nw.dependencies.is_dask_dataframe(X)
    if distributed and estimator.backend not in ("auto", "dask"):
        raise InputError(
            f"backend={estimator.backend!r} needs the rows in memory, and X is a dask dataframe: "
            "use backend='dask', or X.compute()"
        )
    if distributed or estimator.backend == "dask":
        try:
            from .from_cluster import open_dask_cohort
        except ImportError as error:
            raise MissingExtraError("backend='dask' needs Dask: pip install 'rootcausal[dask]'") from error
        return open_dask_cohort(estimator, X, target)
    return nullcontext(_in_memory(estimator, X, target))


def _in_memory(estimator: Any, X: Any, target: Target | None) -> Cohort:
    matrix = matrix_for_fit(estimator, X)
    labels, classes = None, np.empty(0)
    if target is not None:
        labels, classes = encode_target(labels_of(X, target.y), target.positive, matrix.values.shape[0])
    raw = choose_table(estimator.backend, matrix.values, labels)
    return Cohort(
        raw=raw,
        label=matrix.label,
        check_columns=lambda columns: check_columns(matrix, columns),
        classes=classes,
        n_cases=0 if labels is None else int(labels.sum()),
        rows=None if labels is None else (matrix.values, labels),
        borrowed=matrix.borrowed,
    )


@contextmanager
def old_model_kept(estimator: Any) -> Iterator[None]:
    """Set the estimator's attributes inside; an error, or Ctrl-C, puts back all that were there."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
