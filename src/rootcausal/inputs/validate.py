"""Validation: whatever holds patients becomes a cohort that can be fitted, or one error that says why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from ..backends.choose import check_backend, choose_table, without_gpu
from ..errors import InputError, MissingExtraError
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns, describe_columns
from ..method.set_effects import SetEffects
from ..method.table import F64, LARGEST, Index, RawTable
from ..method.weighted import RowWeights
from .encoding import Encoding
from .from_frame import set_names, with_ids
from .kinds import ColumnHints
from .knowledge import Knowledge, precedence_of
from .measurement import noise_of, refuse_impossible
from .outcomes import Known, Target
from .patients import Cohort, Patients, note_usable_readings, patients_of, readings_for_fit
from .roles import warn_of_no_patients
from .rules import Findings, note_columns, note_empty, note_not_finite
from .weights import Weighing

# Complete rows for each column, from which on correlations tell what reliability cannot be.
ROWS_A_COLUMN = 5


@contextmanager
def open_cohort(
    estimator: Any,
    X: Any,
    target: Target | None,
    backend: str,
    prevalence: float | None = None,
    hints: ColumnHints | None = None,
    groups: Any = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
    gpu: bool = True,
    weights: Any = None,
) -> Iterator[Cohort]:
    """A cohort in memory or on a cluster, for as long as it is fitted.

    Sets n_features_in_ and feature_names_in_ on the estimator, as scikit-learn does. An error or Ctrl-C
    inside puts back all attributes that it had: a fit that fails leaves the model of before whole.

    Parameters
    ----------
    X : the variables.
    target : the outcome, or None where the method needs none.
    backend : what sums over the rows.
    prevalence : share of cases in the population; None where the sample is the population.
    hints : what the user says of kinds and of missing values; None where a method takes whole numbers only.
    groups : (n,) patient ids, where a patient may have several rows.
    knowledge : what is known of the causal order, or the fields of it; the layout of the cohort then says so.
    gpu : whether a GPU offers all sums that will be asked for; if not, "auto" does not choose one.
    weights : of rows in memory a :class:`.weights.Weighing`; on a cluster the name of a column, or a dask
        Series; None where all count the same.
    """
    check_backend(backend)
    in_memory = not nw.dependencies.is_dask_dataframe(X)
    if not in_memory and backend not in ("auto", "dask"):
        raise InputError(
            f"backend={backend!r} needs the rows in memory, and X is a dask dataframe: "
            "use backend='dask', or X.compute()"
        )
    with old_model_kept(estimator):
        if in_memory and backend != "dask":
            backend = backend if gpu else without_gpu(backend)
            asked = (prevalence, hints, groups, knowledge, weights)
            yield _in_memory(estimator, X, target, backend, *asked)
            return
        if hints is not None and hints.noisy:
            raise InputError(
                "reliability draws true values of rows in memory, and these are on a cluster: fit on a "
                "sample of them in memory, or without it"
            )
        if hints is not None and hints.limits:
            raise InputError(
                "limits draw values beyond them from rows in memory, and these are on a cluster: fit on a "
                "sample of them in memory, or without limits"
            )
        if groups is not None:
            raise InputError("groups are for the bootstrap, which needs the rows in memory: leave them out")
        try:
            from .from_cluster import open_on_cluster
        except ImportError as error:
            raise MissingExtraError("backend='dask' needs Dask: pip install 'rootcausal[dask]'") from error
        with open_on_cluster(estimator, X, target, prevalence, hints, knowledge, weights) as cohort:
            yield cohort


def _measured_with_error(
    encoding: Encoding,
    hints: ColumnHints,
    columns: Columns,
    values: F64,
    patients: Index | None,
    sets: Index | None,
    findings: Findings,
) -> Encoding:
    """The same variables, and how large the measurement error of their columns is."""
    if sets is not None:
        raise InputError("reliability is not for matched sets, which are told by differences: leave it out")
    noise = noise_of(hints.noisy, encoding, columns, values, patients, findings)
    findings.refuse()
    if noise is not None:
        whole = values[~np.isnan(values).any(axis=1)]
        if len(whole) >= ROWS_A_COLUMN * values.shape[1]:
            varies = np.flatnonzero(np.ptp(whole, axis=0) > 0)  # of others, whole rows tell nothing
            correlation = np.eye(values.shape[1])
            correlation[np.ix_(varies, varies)] = np.corrcoef(whole[:, varies], rowvar=False)
            refuse_impossible(noise, correlation, encoding, columns.sd)
    return replace(encoding, noise=noise)


@contextmanager
def open_in_memory(estimator: Any, X: Any, target: Target) -> Iterator[Cohort]:
    """The same for a method that needs the rows themselves."""
    with old_model_kept(estimator):
        yield _in_memory(estimator, X, target, "auto")


@contextmanager
def old_model_kept(estimator: Any) -> Iterator[None]:
    """Within it, an error or Ctrl-C puts back all attributes that the estimator had."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _refuse_what_sets_cannot(whole: bool, groups: Any, encoding: Encoding) -> None:
    """What does not go together with matched sets."""
    if encoding.limited:
        raise InputError("limits are not for matched sets, which are told by differences: leave them out")
    if not whole:
        raise InputError(
            "values are missing, and rows of matched sets have to be whole: fill in what is missing, "
            "or leave out "
            "these rows or columns (a set that is left without a case or a control tells nothing)"
        )
    if groups is not None:
        raise InputError("resamples of matched sets draw whole sets: leave groups out")


def _in_memory(
    estimator: Any,
    X: Any,
    target: Target | None,
    backend: str,
    prevalence: float | None = None,
    hints: ColumnHints | None = None,
    groups: Any = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
    weighing: Weighing | None = None,
) -> Cohort:
    findings = Findings()
    weights = None if weighing is None else weighing.weights
    of_a_file = isinstance(X, Patients)
    with findings.noting():
        if groups is not None and not of_a_file:
            of_rows, groups = groups, None  # where they cannot be told, all else is still looked at
            X, groups = with_ids(X, of_rows, "groups")
    if of_a_file:
        set_names(estimator, list(X.readings.encoding.names))
        readings = X.readings
    else:
        readings = readings_for_fit(estimator, X, hints, findings)
    table, encoding = readings.table, readings.encoding
    if knowledge is not None:
        with findings.noting():
            called = None if of_a_file or target is None else target.names()
            encoding = encoding.knowing(precedence_of(knowledge, encoding.names, outcome=called))
    may_miss = hints is not None and hints.may_miss
    whole = note_not_finite(table, encoding.names, LARGEST, findings, may_miss)
    if may_miss and not whole:
        note_empty(table, encoding.names, findings)
    known: Known | None = None
    if target is not None:
        with findings.noting():
            known = target.known(X, len(table), findings)
        with findings.noting():
            if known is not None:
                target.refuse_itself(known, table, encoding.names)
    patients = None
    with findings.noting():
        patients = X.groups if of_a_file else patients_of(groups, len(table))
    values = encoding.matrix(table)
    if findings or not whole:
        note_usable_readings(readings, values, findings)
    sets = None if known is None else known.sets
    shared = measured = None
    if sets is not None:
        with findings.noting():
            _refuse_what_sets_cannot(whole, groups, encoding)
    findings.refuse()
    if patients is not None:
        warn_of_no_patients(patients, table, encoding.variables)
    if sets is not None:
        shared = SetEffects.of(values, sets, ~encoding.layout.discrete)
        measured, values, patients = values, values - shared.shared(values, sets), sets
    inexact = bool(encoding.limited)
    if known is not None and weights is not None:
        raw, known = _weighted(backend, values, known, weights, inexact)
    else:
        raw = choose_table(backend, values, None if known is None else known.rows, inexact)
    columns = describe_columns(raw, prevalence)
    if known is not None and hints is not None and hints.noisy:
        encoding = _measured_with_error(encoding, hints, columns, values, patients, sets, findings)
        if encoding.noise is not None:
            raw = choose_table(backend, values, known.rows, inexact=True, weights=weights)
            columns = describe_columns(raw, prevalence)
    if whole:
        as_they_lie = columns if weights is None else describe_columns(choose_table(backend, values, None))
        note_columns(values, encoding.seen_names, as_they_lie, findings, encoding.dummy)
        findings.refuse()
    return Cohort(
        raw=raw,
        columns=columns,
        encoding=encoding,
        classes=np.empty(0) if known is None else known.classes,
        outcome=None if known is None else known.outcome,
        facts={} if known is None else known.facts,
        rows=None if known is None else (values, known.values),
        borrowed=readings.borrowed and values is table,
        sets=sets,
        shared=shared,
        measured=measured,
        groups=patients,
        reading=X.reading if of_a_file else {},
        label_name="" if known is None else known.label_name,
        weights=weights,
        weighed={} if weighing is None else weighing.facts,
    )


def _weighted(
    backend: str, values: F64, known: Known, weights: RowWeights, inexact: bool
) -> tuple[RawTable | IncompleteRaw, Known]:
    """Rows that count differently, and what their outcome is like among all whom they stand for."""
    assert known.outcome is not None
    outcome = known.outcome.again(known.values[weights.fine])
    raw = choose_table(backend, values, outcome.rows(known.values), inexact, weights)
    return raw, replace(known, outcome=outcome)
