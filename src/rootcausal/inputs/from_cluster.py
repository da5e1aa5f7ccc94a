"""Cohorts on a Dask cluster: a dask dataframe, or Parquet files that its workers can read.

Checks and their wording are those of cohorts in memory; what they check are sums over partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from os import PathLike
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster, get_client
from distributed.comm import CommClosedError
from distributed.exceptions import WorkerStartTimeoutError

from ..backends.blas import one_blas_thread
from ..backends.dask_frame import CORRECT, FirstLook, FrameRows, holds_numbers, sums_over
from ..backends.dask_holes import DaskHoles
from ..backends.dask_rows import DaskRaw
from ..core.moments import Columns, describe_columns, score_correlations
from ..core.table import F64
from ..errors import InputError
from ..files.dask_parquet import dask_frame
from .cluster_kinds import encoded_frame, kinds_on_cluster
from .cluster_known import Column, KnownThere, OnCluster
from .cluster_outcomes import on_cluster
from .cohort import Cohort, column_name, names_of, set_names
from .encoding import Encoding
from .from_frame import own_name
from .kinds import Wishes
from .knowledge import Knowledge, note_known, precedence_of
from .matrices import refuse_empty_rows
from .outcome_columns import ChosenOutcome
from .outcomes import Target
from .roles import Roles, choose_features
from .rules import (
    Findings,
    are,
    is_copy,
    it_or_them,
    note_flat,
    refuse_copies,
    refuse_duplicates,
    refuse_empty,
    refuse_few_rows,
    refuse_no_columns,
    refuse_not_finite,
    refuse_text,
    refuse_too_large,
    suspected_copies,
)
from .target import one_spelling

SECONDS_TO_CONNECT = 20


@contextmanager
def open_on_cluster(
    estimator: Any,
    X: Any,
    target: Target | None,
    prevalence: float | None = None,
    wishes: Wishes | None = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
) -> Iterator[Cohort]:
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
    outcome = None if target is None else on_cluster(target)
    told_by: dict[str, Column] = {}
    if outcome is not None:
        frame, told_by = _with_outcome(frame, outcome)
    taken = {column.name for column in told_by.values()}
    columns = [column for column in frame.columns if column not in taken]
    refuse_no_columns(columns)
    if wishes is None:
        refuse_text([c for c in columns if not holds_numbers(frame.dtypes[c])])
    set_names(estimator, columns)
    encoding, findings, precedence = Encoding.numbers(names_of(estimator)), Findings(), None
    if knowledge is not None:
        elsewhere = {} if outcome is None else _elsewhere(outcome)
        with findings.noting():
            precedence = precedence_of(knowledge, encoding.names, elsewhere, _called(outcome))
    # What this side makes of sums repeats to the last digit too, also beside workers in threads of its own.
    with _some_client() as client, _plain_errors(client), one_blas_thread():
        if wishes is not None:
            encoding = kinds_on_cluster(client, frame, columns, encoding.names, wishes, findings)
            frame, columns = encoded_frame(frame, columns, encoding)
        findings.refuse()
        known: KnownThere | None = None
        if outcome is not None:
            with findings.noting():
                known = outcome.known(told_by, partial(sums_over, client, frame))
        rows = FrameRows(client, frame, columns, None if known is None else known.rows)
        may_miss = wishes is not None and wishes.may_miss
        yield _checked(client, rows, encoding.knowing(precedence), known, findings, prevalence, may_miss)


def parquet_names(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """The columns of Parquet files."""
    return [str(name) for name in dask_frame(paths).columns]


def parquet_cohort(paths: Sequence[str | PathLike[str]], roles: Roles) -> dd.DataFrame:
    """The variables and the target of Parquet files, of which only the schema was looked at."""
    frame, findings = dask_frame(paths), Findings()
    names = list(frame.columns)
    features = choose_features(paths[0], names, roles)
    note_known(names, features, roles, findings)
    findings.refuse()
    return frame[[*features, *(column for _, column in roles.outcome.named)]]


def with_outcome(frame: dd.DataFrame, roles: Roles) -> tuple[dd.DataFrame, ChosenOutcome]:
    """The frame with the labels of the outcome, if it has any, in one spelling, and which one is which."""
    labels = roles.outcome.of_labels
    if labels is not None:
        frame = _with_one_spelling(frame, labels)
    if roles.drop_missing:
        frame = frame.dropna()
    if labels is None:
        return frame, roles.outcome.choose_counted(np.empty(0), np.empty(0, dtype=np.intp))
    counted = frame[labels].value_counts(sort=False).compute().sort_index()
    counted = counted[counted > 0]  # a categorical counts its unused labels too
    unique = np.array(counted.index.tolist())
    if unique.dtype.kind == "f" and (unique == np.floor(unique)).all():
        unique = unique.astype(np.int64)  # so that 1.0 reads as 1
    return frame, roles.outcome.choose_counted(unique, counted.to_numpy())


def _with_one_spelling(frame: Any, target: str) -> Any:
    """The frame with labels of text as a file read into memory has them."""
    labels = frame[target]
    found = labels.unique().dropna().compute().tolist()
    if not found or not all(isinstance(label, str) for label in found):
        return frame
    respelled = labels.map_partitions(_respell, one_spelling(found), meta=(target, object))
    return frame.assign(**{target: respelled})


def _respell(labels: Any, spelling: dict[str, str | None]) -> Any:
    return labels.astype(object).map(spelling)


def _with_outcome(frame: Any, outcome: OnCluster) -> tuple[Any, dict[str, Column]]:
    """The frame with the outcome in columns, and which these are by role."""
    told_by, columns = dict[str, Column](), list(frame.columns)
    for role, what in outcome.given().items():
        if what is None:
            raise InputError(f"requires {role} to be passed, but the target {role} is None")
        if isinstance(what, str):
            if what not in columns:
                raise InputError(f"there is no column {what!r} to be {outcome.ROLES[role]}")
            told_by[role] = Column(what, repr(what), what)
            continue
        if not isinstance(what, dd.Series):
            raise InputError(
                f"with rows on a cluster, {role} is the name of a column, or a dask Series with the rows of "
                f"X; it is {type(what).__name__}"
            )
        if role in outcome.NO_VARIABLES and what.name in columns and frame[what.name]._name == what._name:
            raise InputError(f"column {what.name!r} is {outcome.ROLES[role]} itself: leave it out of X")
        name = role
        while name in frame.columns:
            name += "_"
        try:
            frame = frame.assign(**{name: what})
        except ValueError as error:
            raise InputError(f"the partitions of X and {role} do not match: {error}") from error
        told_by[role] = Column(name, role, own_name(what))
    return frame, told_by


def _elsewhere(outcome: OnCluster) -> dict[str, str]:
    """Columns that are no variables, and what they are instead."""
    return {what: outcome.ROLES[role] for role, what in outcome.given().items() if isinstance(what, str)}


def _called(outcome: OnCluster | None) -> list[str]:
    """What the columns of the outcome are called."""
    given = [] if outcome is None else outcome.given().values()
    names = [what if isinstance(what, str) else getattr(what, "name", None) for what in given]
    return [name for name in names if isinstance(name, str)]


def _checked(
    client: Client,
    rows: FrameRows,
    encoding: Encoding,
    known: KnownThere | None,
    of_outcome: Findings,
    prevalence: float | None,
    may_miss: bool,
) -> Cohort:
    """``of_outcome`` has what is wrong with it."""
    look, findings, names = rows.first_look, Findings(), encoding.column_names
    refuse_few_rows(look.rows)
    empty = look.missing == look.rows
    with findings.noting():
        refuse_empty([names[c] for c in np.flatnonzero(empty).tolist()])
    with findings.noting():
        refuse_not_finite(np.where(empty | may_miss, 0, look.missing), look.infinite, names)
    with findings.noting():
        refuse_empty_rows(look.rows_without_values if may_miss else 0)
    too_large = look.too_large - look.infinite
    with findings.noting():
        refuse_too_large([f"{column_name(names, c)!r} ({too_large[c]})" for c in np.flatnonzero(too_large)])
    with findings.noting():
        of_outcome.refuse()
    findings.refuse()
    raw: DaskHoles | DaskRaw = DaskRaw(client, rows)
    if known is not None and look.rows_with_holes:
        raw = DaskHoles(client, rows)
    columns = describe_columns(raw, prevalence)
    note_flat(columns, encoding.seen_names, rows.extremes, findings)
    with findings.noting():
        refuse_copies(_copies(DaskRaw(client, rows), look, columns, encoding.dummy), encoding.seen_names)
    with findings.noting():
        _refuse_outcome_again(columns, encoding.seen_names)
    findings.refuse()
    if known is None:
        return Cohort(raw, columns, encoding, np.empty(0), None, {})
    return Cohort(
        raw, columns, encoding, known.classes, known.outcome, known.facts, label_name=known.label_name
    )


def _copies(raw: DaskRaw, look: FirstLook, columns: Columns, dummy: np.ndarray) -> list[tuple[int, int]]:
    pairs = suspected_copies(look.projection, look.weight, look.rows, columns, dummy)
    if not pairs:
        return []
    suspects = np.unique(pairs)
    by_class = raw.standardize(suspects, columns.mean[suspects], columns.sd[suspects]).gram()
    sums = columns.weights.total(by_class)
    places = np.searchsorted(suspects, pairs)
    return [
        pair
        for pair, (a, b) in zip(pairs, places, strict=True)
        if is_copy(float(sums[a, b]) / (look.rows - 1))
    ]


def _refuse_outcome_again(columns: Columns, names: Sequence[str]) -> None:
    """Refuse columns that are the null score of the outcome, as a number again in another unit is."""
    if columns.moments.score is None:
        return
    correlations = score_correlations(columns.moments).tolist()
    again = [name for name, r in zip(names, correlations, strict=True) if is_copy(r)]
    if again:
        raise InputError(f"{are('column', again)} the outcome itself: leave {it_or_them(again)} out of X")


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
    with (
        LocalCluster(processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        _plain_errors(client),
    ):
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
    # What the client itself says of a lost connection is a traceback.
    told_by = logging.getLogger("distributed.client")
    before = told_by.level
    told_by.setLevel(logging.CRITICAL)
    try:
        with client, _plain_errors(client):
            yield client
    finally:
        told_by.setLevel(before)


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
        if client.status == "closed":
            raise InputError(
                "the Dask client was closed during the fit: keep it open until fit returns"
            ) from error
        if isinstance(error, CancelledError | CommClosedError):
            raise InputError(
                "the connection to the Dask scheduler was lost during the work: see that it runs and can be "
                "reached, and start again"
            ) from error
        raise


def _condensed(error: Exception) -> str:
    """What Dask says in several lines and a table, in one line."""
    lines = (line.strip(" |+-.") for line in str(error).splitlines())
    return "; ".join(" ".join(line.split()) for line in lines if line)


def scored_frame(
    score: Callable[[pd.DataFrame], F64], X: Any, columns: Sequence[str], known: Sequence[str]
) -> Any:
    """Scores (n, p) of a dask dataframe as another one; nothing is computed yet.

    What it lacks of the columns that are ``known`` by name is missing; that was said by now.
    """
    X = X.assign(**{name: np.nan for name in known if name not in X.columns})
    return X.map_partitions(_scored, score, list(columns), meta=dict.fromkeys(columns, "f8"))


def _scored(
    partition: pd.DataFrame, score: Callable[[pd.DataFrame], F64], columns: list[str]
) -> pd.DataFrame:
    if partition.empty:
        return pd.DataFrame(columns=columns, index=partition.index, dtype=np.float64)
    return pd.DataFrame(score(partition), columns=columns, index=partition.index)
