"""How sure: the whole pipeline, learned again from resampled patients (Efron 1979).

Each resample draws as many patients as the cohort has, with replacement, and screens, orders, extracts
errors and attributes anew, so that intervals carry the doubt of every step but one: the mechanism is that of
the fit, also where it was chosen among two. With a prevalence, cases and controls were sampled apart, and so
they are drawn (stratified resampling). Where patients have several rows, patients are drawn, each with all of
its rows (:mod:`rootcausal.resampling.bootstrap`). A generator is spawned from the seed by the number
of the resample: the answer is the same whatever the number of jobs, and the first 200 of 1,000 resamples are
the 200 of a shorter run.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed, effective_n_jobs

from ..backends.blas import one_blas_thread
from ..backends.choose import choose_table, one_thread, whole_rows
from ..errors import InputError
from ..files.array_archive import (
    MOST_RESAMPLES,
    RESAMPLES,
    FileKind,
    array_names,
    is_seed,
    kinds_of,
    pack,
    read_archive,
    unpack,
    write_archive,
)
from ..files.writing import check_can_write
from ..method.arrows import arrows_into_outcome, count_arrows
from ..method.missing.measurement import drawn_noise
from ..method.missing.sums import IncompleteRaw
from ..method.model import CausalModel
from ..method.moments import Columns, columns_about, describe_columns
from ..method.outcome import Outcome
from ..method.pipeline import Learned, Settings
from ..method.table import F64, Index, RawTable
from ..method.weighted import ClassWeights
from ..nonlinear.learning import learn_mechanism
from ..progress.bars import counting_progress
from ..progress.workers import in_workers
from ..version import __version__
from ..wording import one_line, plain, shown
from .training_rows import TrainingRows

# A model of some of the rows of a fit: what resamples and cross-validation have in common.


class LearnedFrom(NamedTuple):
    """What was learned, from which columns of the table, and what the outcome of these rows is like."""

    learned: Learned
    columns: Index
    outcome: Outcome


def learn_from(cohort: TrainingRows, rows: Index, settings: Settings) -> LearnedFrom:
    """Learn from some rows, each as often as it is named, what a fit would have learned from them."""
    y = cohort.y[rows]
    outcome, weights = cohort.outcome_of(rows)
    varies = cohort.varying(rows)
    all_vary = varies.size == cohort.X.shape[1]
    layout = cohort.layout
    if layout is not None and not all_vary:
        layout = layout.take(varies)
    raw: RawTable | IncompleteRaw
    if cohort.whole:
        # An index will do for a copy of the rows, unless a column has to go as well.
        X, some = (cohort.X, rows) if all_vary else (cohort.X[rows[:, None], varies], None)
        raw = whole_rows(cohort.backend, X, outcome.rows(y), some, weights)
        columns = _described(raw, settings.prevalence, cohort.near[varies])
    else:
        inexact = layout is not None and not layout.exact
        raw = choose_table(cohort.backend, cohort.X[rows[:, None], varies], outcome.rows(y), inexact, weights)
        columns = describe_columns(raw, settings.prevalence)
    return LearnedFrom(learn_mechanism(raw, columns, settings, None, layout, outcome), varies, outcome)


def _described(raw: RawTable | IncompleteRaw, prevalence: float | None, near: F64) -> Columns:
    """What the columns are like, by one pass over the rows where ``near`` (q,) is near their means."""
    about = raw.column_moments(near)
    columns = columns_about(near, about, ClassWeights.of(prevalence, about.count), raw.shape[0])
    # One value that is far from all others may have taken the mean of the cohort with it.
    if (np.abs(columns.mean - near) <= columns.sd).all():
        return columns
    return describe_columns(raw, prevalence)


# Resamples of patients who have several rows (the cluster bootstrap; Davison & Hinkley 1997, 3.8).
#
# As many patients as the cohort has are drawn with replacement, and each comes with all of its rows, so
# that rows of one patient, which are alike, count as one piece of evidence. A resample may thus have more
# or fewer rows than the cohort.
#
# Where cases and controls were sampled apart, patients are drawn within the two kinds. A patient with rows
# of both classes, healthy once and ill later, is a case: it was for the disease that the study took such
# patients.

MAX_DRAWS = 1000
# One patient drawn again and again would look like certainty.
LEAST_PATIENTS = 2


def draw_patients(
    y: np.ndarray, groups: Index, rng: np.random.Generator, outcome: Outcome, *, by_class: bool
) -> Index:
    """Row numbers of a resample that a model can be learned from.

    Parameters
    ----------
    y : (n,) or (n, 2) what is known of the outcome; labels, 1 for the disease, if drawn by class.
    groups : (n,) numbers of the patients, from 0.
    by_class : draw as many cases, and as many controls, as the cohort has patients of each kind.
    """
    by_patient = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    starts = np.append(0, ends[:-1])
    kinds = [np.arange(ends.size)]
    if by_class:
        is_case = np.zeros(ends.size, dtype=bool)
        is_case[groups[y == 1]] = True
        kinds = [np.flatnonzero(~is_case), np.flatnonzero(is_case)]
    if min(kind.size for kind in kinds) < LEAST_PATIENTS:
        of_a_kind = " of each kind, cases and controls," if by_class else ""
        raise InputError(
            f"resamples draw patients, and need at least {LEAST_PATIENTS}{of_a_kind} to draw from: are the "
            "ids those of patients?"
        )
    for _ in range(MAX_DRAWS):
        drawn = np.concatenate([kind[rng.integers(kind.size, size=kind.size)] for kind in kinds])
        sizes = ends[drawn] - starts[drawn]
        # Each patient's places in `by_patient`, one after another.
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = by_patient[np.repeat(starts[drawn], sizes) + within]
        if outcome.is_enough(y[rows]):
            return rows
    raise InputError(
        f"{MAX_DRAWS} resamples of patients {outcome.lacks(y)} to resample ({ends.size} patients in all)"
    )


# A file of finished resamples, so that interrupted work goes on.

FILE = FileKind(
    format="rootcausal resamples",
    version=1,
    name="file of finished resamples",
    what="a file of finished resamples",
    arrays=lambda: array_names(RESAMPLES),
    compressed=False,
)


@dataclass(frozen=True)
class Resamples:
    """Finished resamples: their models, and what they were made from.

    Attributes
    ----------
    models : one for each resample.
    unsettled : the places of those in which a limit of the attribution, or of the imputation, ran out.
    fingerprint : hash of the cohort, the settings and the seed.
    random_state : the seed.
    made_by : version of rootcausal that made them.
    """

    models: list[CausalModel]
    unsettled: list[int]
    fingerprint: str
    random_state: int
    made_by: str = __version__


def write_resamples(path: str | PathLike[str], resamples: Resamples) -> None:
    """Write finished resamples whole or not at all."""
    header = {name: getattr(resamples, name) for name in ("fingerprint", "random_state", "unsettled")}
    header |= kinds_of(resamples.models[0])
    write_archive(path, FILE, header, pack(resamples.models))


def read_resamples(path: str | PathLike[str]) -> Resamples:
    """Finished resamples; a file that holds something else is an InputError."""
    return read_archive(path, FILE, _restore)


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Resamples:
    fingerprint, random_state, made_by = (
        header[name] for name in ("fingerprint", "random_state", "rootcausal")
    )
    if not (isinstance(fingerprint, str) and isinstance(made_by, str) and is_seed(random_state)):
        raise ValueError("its header does not say what the resamples were made from")
    # On one thread, as the resamples were learned: else the last bit may differ.
    with one_blas_thread():
        models = unpack(header, arrays)
    unsettled = header["unsettled"]
    if not (isinstance(unsettled, list) and all(number in range(len(models)) for number in unsettled)):
        raise ValueError("its header names resamples that it does not hold")
    return Resamples(models, unsettled, fingerprint, random_state, made_by)


SECONDS_BETWEEN_SAVES = 20.0
# Starting workers, each of which loads this package, takes up to so many seconds. Threads start at once, but
# save little: much of a small resample is Python's own work, which one thread does at a time.
TO_START = 3.0
# Resamples by which one knows how long they take.
TRIED_HERE = 2
# What a worker is given at once: so much that sending rows costs little, and the bar still moves.
SECONDS_A_TASK = 0.5
TASKS_A_JOB = 4
SEED_BITS = 32
MOST_SEEDS = 1 << 63


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Models of resampled cohorts.

    Attributes
    ----------
    models : one for each resample.
    random_state : the seed they were drawn with.
    unsettled : in how many a limit of the attribution, or of the imputation, ran out.
    """

    models: tuple[CausalModel, ...]
    random_state: int
    unsettled: int = 0

    def __len__(self) -> int:
        return len(self.models)

    @cached_property
    def places(self) -> F64:
        """(b, p): place of each variable in the causal order, 1 first; NaN where it was dropped."""
        places = np.full((len(self.models), self.models[0].n_variables), np.nan)
        for row, model in zip(places, self.models, strict=True):
            row[model.order] = np.arange(1, model.order.size + 1)
        return places

    @property
    def selection_frequency(self) -> F64:
        """(p,): share of resamples in which each variable stayed in the causal order."""
        return np.isfinite(self.places).mean(axis=0)

    def place_quantiles(self, *shares: float) -> F64:
        """(len(shares), p): quantiles of the place in the order, where it survived; NaN if it never did."""
        quantiles = np.full((len(shares), self.places.shape[1]), np.nan)
        ever = self.selection_frequency > 0
        quantiles[:, ever] = np.nanquantile(self.places[:, ever], shares, axis=0)
        return quantiles

    @cached_property
    def edge_frequency(self) -> F64:
        """(p, p), ``[i, j]``: share of resamples in which variable j has an arrow into i.

        An arrow is a direct effect of at least 0.1 standard deviations for one of the cause, whatever its
        sign. A resample that dropped one of the two variables has none between them.
        """
        return self.edge_counts(np.arange(self.models[0].n_variables)) / len(self.models)

    @cached_property
    def outcome_frequency(self) -> F64:
        """(p,): share of resamples in which one standard deviation of each variable, all others held fixed,
        changes the outcome by at least so much as is an arrow: 0.1 log-odds or log-hazard, or a tenth of a
        standard deviation of a number.
        """
        return self.outcome_counts(np.arange(self.models[0].n_variables)) / len(self.models)

    def edge_counts(self, variables: Index) -> Index:
        """(m, m), ``[i, j]``: resamples in which the j-th of these variables has an arrow into the i-th."""
        return count_arrows(self.models, variables)

    def outcome_counts(self, variables: Index) -> Index:
        """(m,): in how many resamples each of these variables has an arrow into the outcome."""
        counts = np.zeros(variables.size, dtype=np.intp)
        for model in self.models:
            counts += arrows_into_outcome(model, variables)
        return counts


def bootstrap(
    cohort: TrainingRows,
    n: int,
    *,
    random_state: int | None,
    n_jobs: int | None,
    progress: bool,
    resume: str | PathLike[str] | None,
) -> Bootstrap:
    """Learn from n resamples; see :meth:`rootcausal.RCI.bootstrap`."""
    n, random_state = _checked(n, random_state)
    found = read_resamples(resume) if resume is not None and Path(resume).exists() else None
    seed = _seed(random_state, found)
    fingerprint = cohort.fingerprint(seed) if resume is not None else ""
    if found is not None:
        _check_made_alike(found, resume, fingerprint, cohort.X.shape[1])
    if resume is not None:
        check_can_write(resume)
    # A file does not say what the columns stand for; the fingerprint does.
    models = [] if found is None else [replace(model, layout=cohort.layout) for model in found.models]
    unsettled = [] if found is None else list(found.unsettled)
    n_found = len(models)
    saved = time.monotonic()
    try:
        todo = range(len(models), n)
        with (
            counting_progress(progress, "resamples", n, min(n, len(models))) as advance,
            closing(_models(cohort, todo, seed, n_jobs)) as coming,
        ):
            for resampled in coming:
                if not resampled.converged:
                    unsettled.append(len(models))
                models.append(replace(resampled.model, layout=cohort.layout))  # one layout for all of them
                advance()
                if resume is not None and time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                    write_resamples(resume, Resamples(models, unsettled, fingerprint, seed))
                    saved = time.monotonic()
    finally:
        # Also when interrupted: what is done is kept.
        if resume is not None and len(models) > n_found:
            write_resamples(resume, Resamples(models, unsettled, fingerprint, seed))
    return Bootstrap(tuple(models[:n]), seed, sum(number < n for number in unsettled))


def _checked(n: int, random_state: int | None) -> tuple[int, int | None]:
    """How many resamples and which seed, if any, as Python's own numbers."""
    if not (isinstance(n, Integral) and 2 <= n <= MOST_RESAMPLES):
        raise InputError(
            f"n must be a whole number of at least 2 resamples, and at most {MOST_RESAMPLES:,}, not {n!r}"
        )
    seed = plain(random_state)
    if not (seed is None or is_seed(seed)):
        raise InputError(
            f"random_state must be a whole number of at least 0, or None to draw one, not {seed!r}"
        )
    return int(n), seed


def _seed(random_state: int | None, found: Resamples | None) -> int:
    if random_state is not None:
        return random_state
    return secrets.randbits(SEED_BITS) if found is None else found.random_state


def _check_made_alike(found: Resamples, path: Any, fingerprint: str, n_columns: int) -> None:
    """Refuse finished resamples to which new ones do not belong."""
    if found.made_by != __version__:
        made_by = one_line(found.made_by)
        of_what = f"made by rootcausal {made_by}, and this is {__version__}, whose numbers may differ"
    elif found.fingerprint != fingerprint or any(model.n_columns != n_columns for model in found.models):
        of_what = "of another cohort, other options, other knowledge of the order or another seed"
    else:
        return
    raise InputError(f"{shown(path)} holds resamples {of_what}: choose another file, or delete this one")


def _models(
    cohort: TrainingRows, numbers: range, random_state: int, n_jobs: int | None
) -> Generator[Resampled, None, None]:
    """One after the other here, until what is left is worth starting workers for."""
    jobs, seconds, done = effective_n_jobs(n_jobs), np.inf, 0
    with one_blas_thread():
        for number in numbers:
            if jobs > 1 and done >= TRIED_HERE and _saved(seconds, len(numbers) - done, jobs) > TO_START:
                break
            started = time.perf_counter()
            resampled = resample(cohort, random_state, number, True)
            seconds = min(seconds, time.perf_counter() - started)
            done += 1
            yield resampled
    left = numbers[done:]
    # Enough at once that sending the rows costs little beside, and so few that all workers are busy.
    size = max(1, min(int(SECONDS_A_TASK / seconds), -(-len(left) // (TASKS_A_JOB * jobs))))
    parts = (left[start : start + size] for start in range(0, len(left), size))
    tasks = (delayed(_resample_each)(cohort, random_state, part) for part in parts)
    if left:
        # Without a limit on what may go through a pipe, joblib would write the patients' rows to a file.
        with closing(in_workers(tasks, n_jobs, max_nbytes=None, batch_size=1)) as coming:
            for some in coming:
                yield from some


def _saved(seconds: float, left: int, jobs: int) -> float:
    """Seconds that several jobs save, where a resample takes so many."""
    return seconds * left * (1.0 - 1.0 / jobs)


def _resample_each(cohort: TrainingRows, random_state: int, numbers: range) -> list[Resampled]:
    """What a worker does at once."""
    with one_blas_thread():
        return [resample(cohort, random_state, number, False) for number in numbers]


class Resampled(NamedTuple):
    """What was learned from one resample, and whether attribution and imputation converged."""

    model: CausalModel
    converged: bool


def resample(cohort: TrainingRows, random_state: int, number: int, alone: bool) -> Resampled:
    """Learn from one resample, on one thread unless alone: more would get into the way of other jobs.

    Linear algebra stays on one thread in any case, since its sums depend on the number of threads.
    """
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(number,)))
    stratified = cohort.settings.prevalence is not None
    if cohort.groups is not None:
        rows = draw_patients(cohort.y, cohort.groups, rng, cohort.outcome_of_all, by_class=stratified)
    elif stratified:
        rows = _draw_by_class(cohort.y, rng)
    else:
        rows = _draw_rows(cohort.y, rng, cohort.outcome_of_all)
    # Missing values are filled in anew, and effects drawn: intervals carry the doubt about what was not
    # measured, and about what the rows leave to a prior.
    seeds = [int(seed) for seed in rng.integers(MOST_SEEDS, size=2)]
    settings = replace(cohort.settings, imputation_seed=seeds[0], effect_seed=seeds[1])
    layout = cohort.layout
    if layout is not None and layout.noise is not None:  # how reliable columns are was but estimated
        cohort = replace(cohort, layout=replace(layout, noise=drawn_noise(layout.noise, cohort.X, rng)))
    with one_blas_thread(), nullcontext() if alone else one_thread(cohort.backend):
        learned, varies, _ = learn_from(cohort, rows, settings)
    settled = learned.converged and (learned.imputation is None or learned.imputation.converged)
    # Without its layout, which is that of all and may be large: a worker sends this back.
    return Resampled(learned.model.on_columns(varies, cohort.X.shape[1]), settled)


def _draw_by_class(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Row numbers of a resample with as many controls, and after them as many cases, as the cohort has."""
    members = [np.flatnonzero(y == c) for c in (0, 1)]
    return np.concatenate([rows[rng.integers(rows.size, size=rows.size)] for rows in members])


def _draw_rows(y: np.ndarray, rng: np.random.Generator, outcome: Outcome) -> np.ndarray:
    """Row numbers of a resample that a model can be learned from."""
    for _ in range(MAX_DRAWS):
        rows = rng.integers(len(y), size=len(y))
        if outcome.is_enough(y[rows]):
            return rows
    raise InputError(f"{MAX_DRAWS} resamples {outcome.lacks(y)} to resample")
