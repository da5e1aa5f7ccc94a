"""Cohorts on a Dask cluster: a dask dataframe, or Parquet files that its workers can read.

Checks and their wording are those of cohorts in memory; what they check are sums over partitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster, get_client
from distributed.exceptions import WorkerStartTimeoutError

from ..backends.dask_frame import CORRECT, FirstLook, FrameRows
from ..backends.dask_rows import DaskRaw
from ..core.moments import Columns
from ..errors import InputError
from ..files.dask_parquet import dask_frame
from .cohort import Cohort, Target
from .from_frame import (
    Matrix,
    refuse_copies,
    refuse_duplicates,
    refuse_flat,
    refuse_not_finite,
    refuse_text,
    refuse_too_large,
    suspected_copies,
)
from .target import choose_classes, refuse_unlabelled

SECONDS_TO_CONNECT = 20


@contextmanager
def open_dask_cohort(estimator: Any, X: Any, target: Target | None) -> Iterator[Cohort]:
    """The cohort on the user's cluster or, where there is no client, on one that lives as long as the fit."""
    paths = [X] if isinstance(X, str | PathLike) else X
    named = isinstance(paths, list | tuple) and all(isinstance(path, str | PathLike) for path in paths)
    frame = dask_frame(paths) if named and paths else X
    if not nw.dependencies.is_dask_dataframe(frame):
        raise InputError(
            "backend='dask' takes a dask dataframe, or the path of Parquet files, not "
            f"{type(X).__name__}: rows in memory are fitted by backend='auto'"
        )
    refuse_duplicates(list(frame.columns))
    frame, columns, labels = _with_target(frame, target)
    refuse_text(columns, [c for c in columns if not _holds_numbers(frame.dtypes[c])])
    strings = tuple(column for column in columns if isinstance(column, str))
    names = strings if len(strings) == len(columns) else None
    _set_names(estimator, columns, names)
    with _some_client() as client, _plain_errors(client):
        rows = FrameRows(client, frame, columns, labels)
        yield _checked(client, rows, names, target)


def _with_target(frame: Any, target: Target | None) -> tuple[Any, list[Hashable], Hashable]:
    """The frame with its labels in a column, the variables, and the name of that column or None."""
    columns = list(frame.columns)
    if target is None:
        return frame, columns, None
    y = target.y
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    if isinstance(y, str):
        if y not in columns:
            raise InputError(f"there is no column {y!r} to be the target")
        return frame, [column for column in columns if column != y], y
    if not isinstance(y, dd.Series):
        raise InputError(
            "with rows on a cluster, y is the name of a column, or a dask Series with the rows of X; "
            f"it is {type(y).__name__}"
        )
    name = "target"
    while name in columns:
        name += "_"
    try:
        return frame.assign(**{name: y}), columns, name
    except ValueError as error:
        raise InputError(f"the partitions of X and y do not match: {error}") from error


def _holds_numbers(kind: Any) -> bool:
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)


def _set_names(estimator: Any, columns: Sequence[Hashable], names: tuple[str, ...] | None) -> None:
    estimator.n_features_in_ = len(columns)
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _checked(client: Client, rows: FrameRows, names: tuple[str, ...] | None, target: Target | None) -> Cohort:
    def label(column: int) -> str:
        return names[column] if names is not None else f"x{column}"

    look = rows.first_look
    if look.rows < 2:
        raise InputError(f"the table has {look.rows} row(s) (n_samples={look.rows}): at least two are needed")
    refuse_not_finite(look.missing, look.infinite, label)
    refuse_too_large([f"{label(int(c))!r} ({look.too_large[c]})" for c in np.flatnonzero(look.too_large)])
    classes, n_cases = np.empty(0), 0
    if target is not None:
        refuse_unlabelled(look.labels_missing)
        classes = choose_classes(*_labels(look), target.positive)
        rows.set_classes(classes.tolist())
        n_cases = int(look.moments[classes.tolist()[1]].count[0])
    raw = DaskRaw(client, rows)

    def check_columns(columns: Columns) -> None:
        refuse_flat(columns, label, rows.extremes)
        pairs = suspected_copies(look.projection, look.weight, look.rows, columns)
        if pairs:
            suspects = np.unique(pairs)
            sums = raw.standardize(suspects, columns.mean[suspects], columns.sd[suspects]).gram().sum(axis=0)
            for pair in pairs:
                a, b = np.searchsorted(suspects, pair)
                refuse_copies(*pair, sums[a, b] / (look.rows - 1), label)

    return Cohort(raw, label, check_columns, classes, n_cases)


def _labels(look: FirstLook) -> tuple[np.ndarray, np.ndarray]:
    """The labels in order, and how many rows have each."""
    try:
        # Labels are hashable, which does not say that they can be compared: the error below does.
        labels = sorted(look.moments)  # type: ignore[type-var]
    except TypeError as error:
        raise InputError(f"the target mixes labels of several kinds: {list(look.moments)!r}") from error
    return np.array(labels), np.array([look.moments[label].count[0] for label in labels])


@contextmanager
def _some_client() -> Iterator[Client]:
    try:
        client = get_client()
    except ValueError:
        with local_cluster() as client:
            yield client
    else:
        yield client


@contextmanager
def local_cluster() -> Iterator[Client]:
    """Worker processes for all cores of this machine."""
    with LocalCluster(processes=True, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        yield client


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of a running scheduler; one that does not answer is an error that names it."""
    try:
        client = Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} within {SECONDS_TO_CONNECT} seconds: "
            "check the address and that it is running"
        ) from error
    with client:
        yield client


@contextmanager
def _plain_errors(client: Client) -> Iterator[None]:
    """Say in the user's words what went wrong with the cluster."""
    try:
        yield
    except KilledWorker as error:
        raise InputError(
            "workers died again and again over the same rows, most likely for lack of memory: "
            "give them more, or use smaller partitions"
        ) from error
    except WorkerStartTimeoutError as error:
        raise InputError(
            f"the Dask cluster has had no workers for {error.timeout} seconds: start workers, and fit again"
        ) from error
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and "metadata" in str(error).lower():
            raise InputError(
                f"a partition of X contradicts its metadata: {CORRECT} ({_condensed(error)})"
            ) from error
        if client.status != "closed":
            raise
        raise InputError(
            "the Dask client was closed during the fit: keep it open until fit returns"
        ) from error


def _condensed(error: Exception) -> str:
    """What Dask says in several lines and a table, in one line."""
    lines = (line.strip(" |+-.") for line in str(error).splitlines())
    return "; ".join(" ".join(line.split()) for line in lines if line)


def shapley_frame(model: Any, X: Any, names: Sequence[str]) -> Any:
    """Shapley values of a dask dataframe as a dask dataframe; nothing is computed yet."""
    if not set(X.columns).issuperset(getattr(model, "feature_names_in_", ())):
        model._patients(X._meta)  # says which columns are missing
    return X.map_partitions(_shapley_partition, model, list(names), meta=dict.fromkeys(names, "f8"))


def _shapley_partition(partition: pd.DataFrame, model: Any, names: list[str]) -> pd.DataFrame:
    if partition.empty:
        return pd.DataFrame(columns=names, index=partition.index, dtype=np.float64)
    matrix: Matrix = model._patients(partition)
    return pd.DataFrame(model._model.shapley(matrix.values), columns=names, index=partition.index)
