"""Cohorts on a Dask cluster: a dask dataframe, or Parquet files that its workers can read.

Checks and their wording are those of cohorts in memory; what they check are sums over partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, KilledWorker, LocalCluster, get_client
from distributed.comm import CommClosedError
from distributed.exceptions import WorkerStartTimeoutError

from ..backends.blas import one_blas_thread
from ..backends.cluster.frame import CORRECT, FirstLook, FrameRows, holds_numbers, sums_over
from ..backends.cluster.missing import DaskIncomplete
from ..backends.cluster.rows import DaskRaw, add_up
from ..errors import InputError
from ..files.dask_parquet import dask_frame
from ..method.missing.pooled import PooledIncomplete, PooledRaw, RawPart
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns, describe_columns
from ..method.table import F64, Index, RawTable
from ..screening.duplicates import is_copy
from .cells import Cells, Found
from .encoding import Encoding, logarithms
from .from_frame import cells_of_series, names_of, own_name, set_names
from .infer_types import Seen, by_place, put_on_log_scale, types_of
from .kinds import MOST_ORDINAL_NUMBERS, ColumnError, ColumnHints, Said, columns_with_few_values, few_values
from .knowledge import Knowledge, note_known, precedence_of
from .labels import text_of
from .outcomes import Ask, ChosenOutcome, Column, KnownThere, Target
from .patients import Cohort
from .roles import Roles, choose_features
from .rules import (
    IN_PYTHON,
    Findings,
    note_flat,
    refuse_copies,
    refuse_duplicates,
    refuse_empty,
    refuse_empty_rows,
    refuse_few_rows,
    refuse_no_columns,
    refuse_not_finite,
    refuse_not_positive,
    refuse_outcome_again,
    refuse_text,
    refuse_too_large,
    suspected_copies,
)
from .target import one_spelling
from .weights import WeighedFrame

SECONDS_TO_CONNECT = 20


@contextmanager
def open_on_cluster(
    estimator: Any,
    X: Any,
    target: Target | None,
    prevalence: float | None = None,
    hints: ColumnHints | None = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
    weights: Any = None,
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
    told_by: dict[str, Column] = {}
    if target is not None:
        frame, told_by = _with_outcome(frame, target)
    of_weights = None
    if weights is not None:
        frame, of_weights = _with_weights(frame, weights)
    taken = {column.name for column in told_by.values()} | {of_weights}
    columns = [column for column in frame.columns if column not in taken]
    refuse_no_columns(columns)
    if hints is None:
        refuse_text([c for c in columns if not holds_numbers(frame.dtypes[c])])
    set_names(estimator, columns)
    encoding, findings, precedence = Encoding.numbers(names_of(estimator)), Findings(), None
    if knowledge is not None:
        elsewhere = {} if target is None else _elsewhere(target)
        with findings.noting():
            called = [] if target is None else target.names()
            precedence = precedence_of(knowledge, encoding.names, elsewhere, called)
    # What this side makes of sums repeats to the last digit too, also beside workers in threads of its own.
    with _some_client() as client, _plain_errors(client), one_blas_thread():
        weighed = (
            None if of_weights is None else WeighedFrame.of(partial(sums_over, client), frame, of_weights)
        )
        if weighed is not None:
            frame = weighed.frame
        if hints is not None:
            encoding = kinds_on_cluster(client, frame, columns, encoding.names, hints, findings)
            frame, columns = encoded_frame(frame, columns, encoding)
        findings.refuse()
        known: KnownThere | None = None
        if target is not None:
            with findings.noting():
                known = target.known_there(told_by, partial(sums_over, client, frame))
        rows = FrameRows(client, frame, columns, None if known is None else known.rows)
        may_miss = hints is not None and hints.may_miss
        cohort = _checked(client, rows, encoding.knowing(precedence), known, findings, prevalence, may_miss)
        if weighed is not None:
            cohort = replace(cohort, weighed=weighed.facts)
        if weighed is not None and weighed.name is not None and target is not None:
            told = partial(target.known_there, told_by)
            cohort = _weighted(client, replace(weighed, frame=frame), columns, told, cohort)
        yield cohort


def _weighted(
    client: Client,
    weighed: WeighedFrame,
    columns: Sequence[Hashable],
    told: Callable[[Ask], KnownThere],
    cohort: Cohort,
) -> Cohort:
    """The same in parts of equal weight; what its outcome is like is ``told`` of rows as they count."""
    known = told(partial(sums_over, client, weighed.fine))
    parts = [
        (FrameRows(client, part, columns, known.rows), weight)
        for part, weight in weighed.alike(partial(sums_over, client))
    ]
    raw: RawTable | IncompleteRaw
    if any(rows.first_look.incomplete_rows for rows, _ in parts):
        raw = PooledIncomplete([(DaskIncomplete(client, rows), weight) for rows, weight in parts])
    else:
        raw = PooledRaw([RawPart(DaskRaw(client, rows), weight) for rows, weight in parts])
    return replace(cohort, raw=raw, columns=describe_columns(raw), outcome=known.outcome)


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
    weights = [] if roles.weights is None else [roles.weights]
    return frame[[*features, *(column for _, column in roles.outcome.named), *weights]]


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


def _with_outcome(frame: Any, outcome: Target) -> tuple[Any, dict[str, Column]]:
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


def _with_weights(frame: Any, weights: Any) -> tuple[Any, Hashable]:
    """The frame with the weights in a column, and its name."""
    if isinstance(weights, str):
        if weights not in frame.columns:
            raise InputError(f"there is no column {weights!r} to be the weights")
        return frame, weights
    if not isinstance(weights, dd.Series):
        raise InputError(
            "with rows on a cluster, weights is the name of a column, or a dask Series with the rows of X; "
            f"it is {type(weights).__name__}"
        )
    name = "weights"
    while name in frame.columns:
        name += "_"
    try:
        return frame.assign(**{name: weights}), name
    except ValueError as error:
        raise InputError(f"the partitions of X and weights do not match: {error}") from error


def _elsewhere(outcome: Target) -> dict[str, str]:
    """Columns that are no variables, and what they are instead."""
    return {what: outcome.ROLES[role] for role, what in outcome.given().items() if isinstance(what, str)}


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
        refuse_too_large([f"{names[c]!r} ({too_large[c]})" for c in np.flatnonzero(too_large)])
    with findings.noting():
        of_outcome.refuse()
    findings.refuse()
    raw: DaskIncomplete | DaskRaw = DaskRaw(client, rows)
    if known is not None and look.incomplete_rows:
        raw = DaskIncomplete(client, rows)
    columns = describe_columns(raw, prevalence)
    note_flat(columns, encoding.seen_names, rows.extremes, findings)
    with findings.noting():
        refuse_copies(_copies(DaskRaw(client, rows), look, columns, encoding.dummy), encoding.seen_names)
    with findings.noting():
        refuse_outcome_again(columns, encoding.seen_names)
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


# --- which kinds the columns are, and texts as numbers ------------------------------------------------------
#
# A first look at one partition says which columns of numbers may have levels; one pass over these and the
# columns of text then counts their different values, and gives up on a column once they are too many.


class SeenColumns(dict[int, Seen]):
    """The same of several columns, by their places."""

    def __add__(self, other: SeenColumns) -> SeenColumns:
        both = [place for place in self if place in other]
        return SeenColumns({**self, **other, **{place: self[place] + other[place] for place in both}})


def kinds_on_cluster(
    client: Client,
    frame: Any,
    columns: Sequence[Hashable],
    names: Sequence[str],
    hints: ColumnHints,
    findings: Findings,
) -> Encoding:
    """The variables of a dask dataframe; one error says all that is wrong with their kinds, or was found."""
    said = by_place(hints.kinds, names, findings)
    numeric = [holds_numbers(frame.dtypes[column]) for column in columns]
    look = [place for place, fine in enumerate(numeric) if not fine or place in said]
    look = sorted({*look, *_with_few_values(client, frame, columns, numeric)})
    seen = _seen(client, frame, {place: columns[place] for place in look})
    encoding, _ = types_of(seen, names, said, IN_PYTHON, findings)
    encoding = put_on_log_scale(encoding, hints.logs, IN_PYTHON, findings)
    findings.refuse()
    with findings.noting():
        refuse_not_positive(_not_positive(client, frame, columns, encoding), names, IN_PYTHON)
    findings.refuse()
    return encoding


def _not_positive(client: Client, frame: Any, columns: Sequence[Hashable], encoding: Encoding) -> Index:
    """(p,) how many values of each variable on a log scale have no logarithm, over all partitions."""
    counts, logs = np.zeros(len(columns), dtype=np.intp), encoding.on_log_scale
    if logs:
        some = [columns[place] for place in logs]
        variables = [encoding.variables[place] for place in logs]
        known = replace(encoding, variables=tuple(variables), precedence=None)
        looks = [_not_positive_in(one, some, known) for one in frame[some].to_delayed()]
        with suppress(KeyError, IndexError, AttributeError, TypeError, ValueError):  # as above
            counts[logs] = add_up(client, client.compute(looks))
    return counts


@delayed
def _not_positive_in(partition: pd.DataFrame, columns: list[Hashable], encoding: Encoding) -> Index:
    found = {place: _cells(partition[column]) for place, column in enumerate(columns)}
    table, _ = encoding.table(Found.of(found, np.empty((len(partition), len(columns)))))
    return encoding.not_positive(table)


def encoded_frame(frame: Any, columns: Sequence[Hashable], encoding: Encoding) -> tuple[Any, list[Hashable]]:
    """The frame with its texts, nominal variables and logarithms as numbers, and the columns for a method.

    Columns are added one by one, each from its own, so that a pass over some of them reads no others.
    """
    taken, wanted = set(frame.columns), list[Hashable]()
    for variable, column in zip(encoding.variables, columns, strict=True):
        as_it_is = variable.kind != "nominal" and not variable.log
        if as_it_is and holds_numbers(frame.dtypes[column]):
            wanted.append(column)
            continue
        levels = range(1, len(variable.levels)) if variable.kind == "nominal" else [None]
        for level in levels:
            name = variable.name if level is None else f"{variable.name} = {text_of(variable.levels[level])}"
            while name in taken:
                name += "_"
            taken.add(name)
            wanted.append(name)
            known = Encoding((variable,), decimal_comma=encoding.decimal_comma)
            coded = frame[column].map_partitions(_coded, known, level, meta=(name, "f8"))
            frame = frame.assign(**{name: coded})
    return frame, wanted


def _with_few_values(
    client: Client, frame: Any, columns: Sequence[Hashable], numeric: Sequence[bool]
) -> list[int]:
    places = [place for place, fine in enumerate(numeric) if fine]
    if not places:
        return []
    first = frame[[columns[place] for place in places]].partitions[0].to_delayed()[0]
    try:
        few: list[int] = add_up(client, [client.compute(_few(first))])
    except (KeyError, IndexError, AttributeError, TypeError, ValueError):
        return []  # a partition that is not as promised: whoever sums over it says what is wrong
    return [places[place] for place in few]


@delayed
def _few(partition: pd.DataFrame) -> list[int]:
    values = partition.head(1 << 12).to_numpy(dtype=np.float64, na_value=np.nan)
    if not len(values):
        return list(range(values.shape[1]))
    return [c for c in columns_with_few_values(values) if few_values(values[:, c], MOST_ORDINAL_NUMBERS)]


def _seen(client: Client, frame: Any, columns: Mapping[int, Hashable]) -> SeenColumns:
    if not columns:
        return SeenColumns()
    partitions = frame[list(columns.values())].to_delayed()
    try:
        found = add_up(client, client.compute([_look(part, dict(columns)) for part in partitions]))
    except (KeyError, IndexError, AttributeError, TypeError):
        found = SeenColumns()  # as above
    assert isinstance(found, SeenColumns)
    return found


@delayed
def _look(partition: pd.DataFrame, columns: dict[int, Hashable]) -> SeenColumns:
    return SeenColumns({place: _of_cells(partition[column]) for place, column in columns.items()})


def _of_cells(series: pd.Series) -> Seen:
    try:
        return Seen.of(_cells(series), in_part=True)
    except ColumnError as error:
        return Seen({}, problem=error)


def _cells(series: pd.Series) -> Cells:
    if holds_numbers(series.dtype):
        said: Said | None = (False, True) if pd.api.types.is_bool_dtype(series.dtype) else None
        return Cells(series.to_numpy(dtype=np.float64, na_value=np.nan), said=said)
    return cells_of_series(nw.from_native(series, series_only=True))


def _coded(series: pd.Series, encoding: Encoding, level: int | None) -> pd.Series:
    """The numbers of the one variable, or the dummy of one of its levels."""
    cells, (variable,) = _cells(series), encoding.variables
    if cells.texts is not None and not variable.levels:
        texts = cells.texts.only_seen()
        if np.isnan(texts.numbers(encoding.decimal_comma)).any() and len(texts.levels) > 1:
            raise InputError(f"column {variable.name!r} holds text in some partitions only: {CORRECT}")
    table, _ = encoding.table(Found.of({0: cells}, np.empty((len(cells), 1))))
    values: F64 = table[:, 0]
    if variable.log:
        values = logarithms(values)
    elif level is not None:
        values = np.where(np.isnan(values), np.nan, values == level)
    return pd.Series(values, index=series.index)
