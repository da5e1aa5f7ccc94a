"""The door: whatever holds patients becomes a validated cohort, or one error that says all that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import narwhals as nw
import numpy as np

from ..backends.choose import check_backend, choose_table, without_gpu
from ..core.moments import describe_columns
from ..core.table import LARGEST
from ..errors import InputError, MissingExtraError
from .cohort import Cohort, set_names
from .from_frame import with_ids
from .groups import patients_of
from .kinds import Wishes
from .knowledge import Knowledge, precedence_of
from .matrices import note_holes, note_not_finite, note_usable_readings, readings_for_fit
from .outcomes import Known, Target, names_given
from .patients import Patients
from .rules import Findings, note_columns


@contextmanager
def open_cohort(
    estimator: Any,
    X: Any,
    target: Target | None,
    backend: str,
    prevalence: float | None = None,
    wishes: Wishes | None = None,
    groups: Any = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
    gpu: bool = True,
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
    wishes : what the user says of kinds and of missing values; None where a method takes whole numbers only.
    groups : (n,) patient ids, where a patient may have several rows.
    knowledge : what is known of the causal order, or the fields of it; the layout of the cohort then says so.
    gpu : whether a GPU offers all sums that will be asked for; if not, "auto" does not choose one.
    """
    check_backend(backend)
    if not gpu and not nw.dependencies.is_dask_dataframe(X):
        backend = without_gpu(backend)
    with (
        _old_model_kept(estimator),
        _opened(estimator, X, target, backend, prevalence, wishes, groups, knowledge) as cohort,
    ):
        yield cohort


@contextmanager
def open_in_memory(estimator: Any, X: Any, target: Target) -> Iterator[Cohort]:
    """The same for a method that needs the rows themselves."""
    with _old_model_kept(estimator):
        yield _in_memory(estimator, X, target, "auto")


@contextmanager
def _old_model_kept(estimator: Any) -> Iterator[None]:
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _opened(
    estimator: Any,
    X: Any,
    target: Target | None,
    backend: str,
    prevalence: float | None,
    wishes: Wishes | None,
    groups: Any,
    knowledge: Knowledge | dict[str, Any] | None,
) -> AbstractContextManager[Cohort]:
    distributed = nw.dependencies.is_dask_dataframe(X)
    if distributed and backend not in ("auto", "dask"):
        raise InputError(
            f"backend={backend!r} needs the rows in memory, and X is a dask dataframe: "
            "use backend='dask', or X.compute()"
        )
    if distributed or backend == "dask":
        if groups is not None:
            raise InputError("groups are for the bootstrap, which needs the rows in memory: leave them out")
        try:
            from .from_cluster import open_on_cluster
        except ImportError as error:
            raise MissingExtraError("backend='dask' needs Dask: pip install 'rootcausal[dask]'") from error
        return open_on_cluster(estimator, X, target, prevalence, wishes, knowledge)
    return nullcontext(_in_memory(estimator, X, target, backend, prevalence, wishes, groups, knowledge))


def _in_memory(
    estimator: Any,
    X: Any,
    target: Target | None,
    backend: str,
    prevalence: float | None = None,
    wishes: Wishes | None = None,
    groups: Any = None,
    knowledge: Knowledge | dict[str, Any] | None = None,
) -> Cohort:
    findings = Findings()
    of_a_file = isinstance(X, Patients)
    with findings.noting():
        if groups is not None and not of_a_file:
            of_rows, groups = groups, None  # where they cannot be told, all else is still looked at
            X, groups = with_ids(X, of_rows, "groups")
    if of_a_file:
        set_names(estimator, list(X.readings.encoding.names))
        readings = X.readings
    else:
        readings = readings_for_fit(estimator, X, wishes, findings)
    table, encoding = readings.table, readings.encoding
    if knowledge is not None:
        with findings.noting():
            called = None if of_a_file or target is None else names_given(X, target)
            encoding = encoding.knowing(precedence_of(knowledge, encoding.names, outcome=called))
    may_miss = wishes is not None and wishes.may_miss
    whole = note_not_finite(table, encoding.names, LARGEST, findings, may_miss)
    if may_miss and not whole:
        note_holes(table, encoding.names, findings)
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
    findings.refuse()
    raw = choose_table(backend, values, None if known is None else known.rows)
    columns = describe_columns(raw, prevalence)
    if whole:
        note_columns(values, encoding.seen_names, columns, findings, encoding.dummy)
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
        groups=patients,
        reading=X.reading if of_a_file else {},
        label_name="" if known is None else known.label_name,
    )
