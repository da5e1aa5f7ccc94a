"""A joint fit: sites agree on columns, the method asks for sums, and out comes a model like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, warn
from ..estimators.base import Estimator
from ..inputs.encoding import Encoding
from ..inputs.from_frame import set_names
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge, precedence_of
from ..inputs.outcomes import KnownThere, Target
from ..inputs.patients import Cohort
from ..inputs.rules import (
    Findings,
    note_flat,
    refuse_copies,
    refuse_empty,
    refuse_few_rows,
    refuse_no_columns,
    refuse_not_finite,
    refuse_outcome_again,
    suspected_copies,
)
from ..inputs.validate import old_model_kept
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns, describe_columns
from ..method.pipeline import Settings
from ..method.table import F64, RawTable
from ..method.weighted import ClassWeights
from ..screening.duplicates import is_copy
from ..wording import quoted
from .agreement import (
    Descriptions,
    agreed_outcome,
    encoding_of,
    kind_of,
    known_at,
    refuse_rare_levels,
    units_of,
)
from .asking import SiteError, Sites, Transport
from .disclosure import NUMBERS_A_VALUE
from .heterogeneity import differences, in_words, remembered
from .holdings import Agreed
from .messages import Step, room_of
from .resampling import resampled
from .tables import FederatedIncomplete, FederatedRaw, Rows, described_rows

Fitted = TypeVar("Fitted", bound=Estimator)

# Parameters that look at patients one by one.
NEEDS_ROWS = {
    "confounding": "looks at the errors of patients",
    "reliability": "draws true values of patients",
    "limits": "draw values of patients beyond them",
    "competing": "follows patients after other events",
}


def fit(
    estimator: Fitted,
    transport: Transport,
    sites: Sequence[str],
    *,
    go_on_without: bool = False,
    resamples: int = 0,
    random_state: int = 0,
) -> Fitted:
    """Fit an estimator on the rows of several sites, which stay where they are.

    Parameters
    ----------
    estimator : a :class:`rootcausal.RCI`, :class:`rootcausal.RCISurvival` or :class:`rootcausal.RCIRegressor`
        with any parameters that a fit in one place takes; the mechanism is linear.
    transport : how messages get to the sites, such as a :class:`rootcausal.federated.FolderTransport`.
    sites : their names.
    go_on_without : fit again without a site that does not answer in time, and say so in ``provenance_``; by
        default that is an error, and the fit can be started again and goes on where it stopped.
    resamples : how many resampled cohorts to learn from as well, so that :meth:`rootcausal.RCI.explain` gives
        intervals: each site draws as many of its rows as it has, with its key. For a diagnosis only.
    random_state : their seed.

    Returns
    -------
    The estimator, fitted: the same model, to rounding, as one of all rows in one place. It scores, explains
    and is saved like any other; ``provenance_["sites"]`` says how it came about.
    """
    settings, hints = _checked(estimator)
    target = _target_of(estimator)
    here, lost = list(sites), list[str]()
    with old_model_kept(estimator):
        while True:
            asked = Sites(transport, here, anew=bool(lost))
            try:
                about = _fit(estimator, asked, settings, hints, target, resamples, random_state)
            except SiteError as error:
                if not (go_on_without and error.lost and len(here) > 2):
                    if not error.lost:
                        asked.finish(f"ended: {error}")
                    raise
                warn(f"{error}: the fit begins again without {quoted(error.site)}")
                here.remove(error.site)
                lost.append(error.site)
                continue
            except InputError as error:
                asked.finish(f"ended: {error}")
                raise
            made: dict[str, Any] = {
                "names": here,
                "without": lost,
                "masked": asked.masked,
                "rounds": asked.rounds,
            }
            made["bytes"] = max(asked.bytes.values())
            made |= about
            made["numbers_a_value"] = asked.numbers / asked.values
            estimator.provenance_ = {**estimator.provenance_, "sites": made}
            _warn_of_many_numbers(asked)
            asked.finish("done", estimator.save)
            return estimator


def _warn_of_many_numbers(sites: Sites) -> None:
    """Sites that mask cannot count what the coordinator reads of all of them together."""
    share = sites.numbers / sites.values
    if share > NUMBERS_A_VALUE:
        warn(
            f"{sites.numbers:,} numbers were read about {sites.values:,} values of all sites together, "
            f"{share:.2g} for each: with more than {NUMBERS_A_VALUE:g}, rows can be looked for in them, so "
            "do not keep what was sent, or fit fewer columns or more patients"
        )


def _checked(estimator: Estimator) -> tuple[Settings, ColumnHints]:
    mechanism = getattr(estimator, "mechanism", "linear")
    if mechanism == "nonlinear":
        raise InputError(
            f"mechanism={mechanism!r} needs rows in one place: sites offer the sums of linear mechanisms only"
        )
    if estimator.backend != "auto":
        raise InputError(
            f"backend={estimator.backend!r} is for rows in one place: leave it out, sites sum here"
        )
    for name, why in NEEDS_ROWS.items():
        if getattr(estimator, name, None) is not None:
            raise InputError(f"{name} {why}, who stay at the sites: leave it out")
    if isinstance(getattr(estimator, "positive", None), list | tuple | set | dict):
        raise InputError("several labels that mean the disease are made one at the sites: give one label")
    return estimator._check_parameters()


def _target_of(estimator: Any) -> Target:
    """What the estimator takes for an outcome, by the roles that its columns have at the sites."""
    from ..estimators.classifier import RCI
    from ..estimators.survival import RCISurvival
    from ..inputs.survival import FollowUp

    if isinstance(estimator, RCISurvival):
        return FollowUp("time", "event", estimator.positive, estimator.horizon)
    if isinstance(estimator, RCI):
        return estimator._target("y", None)
    return estimator._known("y")


def _fit(
    estimator: Any,
    sites: Sites,
    settings: Settings,
    hints: ColumnHints,
    target: Target,
    resamples: int,
    random_state: int,
) -> dict[str, Any]:
    """Fit, and ask what differs between sites: what the model remembers of that."""
    cohort, rows = cohort_at(estimator, sites, settings, hints, target, estimator.knowledge)
    estimator._learn(cohort, settings)
    check_is_fitted(estimator)
    found = differences(rows)
    if resamples:
        read = sites.numbers
        estimator._take_resamples(resampled(sites, cohort, settings, rows, resamples, random_state))
        # Of rows that nobody knows: what these tell is another question than how many they are.
        sites.numbers = read
    if found is None:
        return {}
    columns = estimator._model.mechanism.order
    variable = cohort.encoding.layout.variable[columns]
    beside = np.isin(variable, estimator.covariates_)
    kept = remembered(found, [cohort.encoding.column_names[column] for column in columns], variable, beside)
    said = in_words(kept)
    if said:
        warn(said)
        earlier = estimator._found
        estimator._keep(replace(earlier, fit=(*earlier.fit, said)))
    return {"differences": kept}


def cohort_at(
    estimator: Any,
    sites: Sites,
    settings: Settings,
    hints: ColumnHints,
    target: Target,
    knowledge: Knowledge | dict[str, Any] | None,
) -> tuple[Cohort, Rows]:
    """The cohort of all sites, and who is asked for its sums; or one error with all that is wrong."""
    said = [str(key) for key in hints.kinds]
    asked = Step("describe", {"sites": sites.names, "outcome": kind_of(target), "said": said})
    described = Descriptions.of(sites.ask(asked)[0])
    described.refuse_what_differs()
    sites.masked = described.masked
    refuse_no_columns(described.columns)
    set_names(estimator, list(described.columns))
    levels, labels = described.levels(), described.labels()
    (counted,) = sites.ask(Step("counts", {"levels": levels, "labels": labels}))
    counts, at = dict[str, tuple[list[Any], F64]](), 0
    for name, some in levels.items():
        counts[name] = (some, counted["levels"][at : at + len(some) + 1])
        at += len(some) + 1
    of_labels = {label: round(n) for label, n in zip(labels, counted["labels"].tolist(), strict=True) if n}
    encoding = encoding_of(described, counts, hints).called(described.namings())
    findings = Findings()
    with findings.noting():
        if knowledge is not None:
            called = [title for role in target.ROLES if (title := described.title(role))]
            encoding = encoding.knowing(precedence_of(knowledge, encoding.names, {}, called))
    known: KnownThere | None = None
    with findings.noting():
        known = known_at(sites, described, target, of_labels)
    findings.refuse()
    assert known is not None
    agreed = Agreed(described.columns, encoding, known.outcome, agreed_outcome(known))
    refuse_rare_levels(agreed, counts, of_labels)
    sites.keep(Step("open", *agreed.message()))
    cohort, rows = _described(sites, agreed, known, units_of(described, encoding), settings, hints)
    return replace(cohort, reading=described.reading(agreed.said)), rows


def _described(
    sites: Sites, agreed: Agreed, known: KnownThere, units: F64, settings: Settings, hints: ColumnHints
) -> tuple[Cohort, Rows]:
    """The same once sites have opened it: its columns, unless something is wrong with them."""
    encoding, labelled = agreed.encoding, agreed.said["kind"] == "binary"
    sites.sizes = type(sites.sizes)(2 if labelled else 1, not labelled)
    rows = described_rows(sites, units, labelled)
    at_zero, n, incomplete = rows.at_zero, rows.n, rows.incomplete
    room = room_of(n, len(sites.names))
    sites.keep(Step("room", {"bits": room}))
    sites.sizes = replace(sites.sizes, room=room)
    refuse_few_rows(n)
    sites.values = int((at_zero.values.sum(axis=0) * np.ones(units.size)).sum())
    missing = n - at_zero.values.sum(axis=0) * np.ones(units.size)
    findings, names = Findings(), encoding.column_names
    empty = missing == n
    with findings.noting():
        refuse_empty([names[column] for column in np.flatnonzero(empty).tolist()])
    with findings.noting():
        lacking = np.where(empty | hints.may_miss, 0, missing).astype(np.intp)
        refuse_not_finite(lacking, np.zeros_like(lacking), names)
    findings.refuse()
    weights = ClassWeights.of(settings.prevalence, at_zero.count)
    rows.by_class &= settings.level(encoding.layout.n_variables) < 1.0 or not weights.equal
    raw: RawTable | IncompleteRaw = FederatedIncomplete(rows) if incomplete else FederatedRaw(rows, units)
    columns = describe_columns(raw, settings.prevalence)
    note_flat(columns, encoding.seen_names, lambda flat: (columns.mean[flat], columns.mean[flat]), findings)
    if not incomplete:
        with findings.noting():
            alike = _copies(FederatedRaw(rows, units), columns, encoding)
            refuse_copies(alike, encoding.seen_names)
    with findings.noting():
        refuse_outcome_again(columns, encoding.seen_names)
    findings.refuse()
    cohort = Cohort(
        raw, columns, encoding, known.classes, known.outcome, known.facts, label_name=known.label_name
    )
    return cohort, rows


def _copies(raw: FederatedRaw, columns: Columns, encoding: Encoding) -> list[tuple[int, int]]:
    """Columns that are images of each other: suspected by what they add up to with the outcome."""
    moments, n = columns.moments, raw.shape[0]
    if moments.score is None:
        total, weight = moments.total[1], float(moments.count[1])
    else:
        total, weight = moments.score[0], float(moments.score[1, 0])
    projection = total + weight * columns.mean
    pairs = suspected_copies(projection, weight, n, columns, encoding.dummy)
    if not pairs:
        return []
    suspects = np.unique(pairs)
    gram = columns.weights.total(raw.gram(suspects, columns.mean[suspects], columns.sd[suspects]))
    places = np.searchsorted(suspects, pairs)
    return [pair for pair, (a, b) in zip(pairs, places, strict=True) if is_copy(float(gram[a, b]) / (n - 1))]
