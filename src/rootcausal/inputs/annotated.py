"""AnnData in: variables from ``X`` and ``var_names``, ids from ``obs_names``, the diagnosis from ``obs``."""

from __future__ import annotations

import sys
from typing import Any

import narwhals as nw

from ..errors import InputError


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData; anndata itself is never imported for the question."""
    anndata = sys.modules.get("anndata")
    return anndata is not None and isinstance(X, anndata.AnnData)


def variables(X: Any) -> Any:
    """The table of an AnnData as a dataframe; anything else as it is."""
    return X.to_df() if is_anndata(X) else X


def row_index(X: Any) -> Any:
    """The pandas index of the rows, or None where they have none."""
    if is_anndata(X):
        return X.obs_names
    return X.index if nw.dependencies.is_pandas_like_dataframe(X) else None


def diagnosis(X: Any, y: Any) -> Any:
    """The column of ``obs`` that y names, where X is an AnnData; any other y as it is."""
    if not (is_anndata(X) and isinstance(y, str)):
        return y
    return _column(X, y, "diagnosis")


def ids_of(X: Any, ids: Any) -> Any:
    """The ids of an AnnData: ``obs_names``, or the column of ``obs`` that is named."""
    if not is_anndata(X):
        return ids
    if ids is None:
        return list(X.obs_names)
    return _column(X, ids, "id").to_list() if isinstance(ids, str) else ids


def _column(X: Any, key: str, what: str) -> Any:
    if key not in X.obs:
        raise InputError(f"no {what} column {key!r} in obs, which has {', '.join(map(repr, X.obs.columns))}")
    return X.obs[key]
