"""A fit that fails leaves the model of before whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
