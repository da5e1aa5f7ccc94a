"""Calibration: is the risk, or the expected value, that the model states the observed one?

Asked of groups of patients by what the model states of them: of cases and controls, of times, where those who
left early are allowed for, and of a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import chi2, rankdata

from ..method.table import F64, LARGEST_LOG_HAZARD, Index
from ..outcomes.follow_up import Spans
from ..outcomes.survival import HazardAttribution, incidence
from ..wording import percent
from .diagnosis import Check, CheckSpec, Scale, Text, Verdict
from .evidence import Checked
from .power import smallest_visible
from .regressions import PlainHazard, PlainLogit

MOST_GROUPS, FEWEST_GROUPS = 10, 3
# Of fewer patients, the observed risk of a group is little more than chance.
PATIENTS_A_GROUP = 100
# Standard errors to either side of a 95% interval.
INTERVAL = 1.96
SHRINKAGE = ", with the shrinkage of the fit undone"


def _spec(asked: str, unit: str, scale: Scale, texts: dict[str, Text], times: float = 1.0) -> CheckSpec:
    """``times`` is how many units the scale's one is."""
    doubtful, broken = f"{times * scale.doubtful:g}", f"{times * scale.broken:g}"
    return CheckSpec(
        "calibrated",
        asked,
        f"mean difference over groups of patients, in {unit}",
        texts,
        scale,
        touches="risk",
        doubtful_from=f"{doubtful}, or {broken} in a group (p < {scale.p_doubtful:g})",
        broken_from=f"{broken} (p < {scale.p_broken:g})",
    )


SCALE = Scale(0.05, 0.10, p_doubtful=0.002, p_broken=0.0002)
# Standard deviations of the number by which observed and expected values differ, on average over groups.
NUMBER_SCALE = replace(SCALE, doubtful=0.10, broken=0.20)

STATED = (
    "In {groups:# group} of patients by stated risk{allowing}, stated and observed risk differ by "
    "{points:.1f} percentage points on average ({p:p}; it counts from "
    f"{100 * SCALE.doubtful:.0f} points on, or {100 * SCALE.broken:.0f} in a group, with p < "
    f"{SCALE.p_doubtful:g}); "
    "among {n_worst:.0f} patients with a stated risk of {stated:.0%} on average, {happened}."
)
RISK_TEXTS = {
    "fine": Text(f"{STATED}{{unseen}}"),
    "cannot tell": Text(
        f"{STATED} With {{n}} patients only a difference of {{seen:.0f}} points or more would be "
        f"seen.{{unseen}}",
        "The risks may be wrong by up to {up_to:.0f} points: these are too few patients to tell.",
        "compare stated with observed risk in more patients before anybody is told a risk.",
    ),
    "doubtful": Text(
        f"{STATED}{{unseen}}",
        "The risks are wrong by {points:.0f} points on average, and by {most:.0f} points in a group of "
        "patients.",
        "if these are other patients than those of the fit, fit the model again on patients like them. If "
        "they are the same, see what the other checks name.",
    ),
    "broken": Text(
        limit="Do not read the risks as probabilities; they are wrong by {points:.0f} points on average, and "
        "only say who is at a higher risk than whom."
    ),
}
ASKED = "Are risks calibrated: is the stated risk the observed one?"
RISK = _spec(ASKED, "percentage points", SCALE, RISK_TEXTS, 100.0)
RISK_BY_HORIZON = _spec(ASKED, "percentage points of the risk by the horizon", SCALE, RISK_TEXTS, 100.0)
EXPECTED_STATED = (
    "In {groups:# group} of patients by expected value{allowing}, expected and observed values differ by "
    "{off} on average, {number:.2f} standard deviations ({p:p}; it counts from "
    f"{NUMBER_SCALE.doubtful:g} on, or {NUMBER_SCALE.broken:g} in a group, with p < "
    f"{NUMBER_SCALE.p_doubtful:g}); "
    "of {n_worst:.0f} patients of whom {stated} is expected on average, the mean is {observed}."
)
EXPECTED = _spec(
    "Are expected values calibrated: is the expected value the observed one?",
    "standard deviations",
    NUMBER_SCALE,
    {
        "fine": Text(EXPECTED_STATED),
        "cannot tell": Text(
            EXPECTED_STATED,
            "Expected values may be wrong by up to {up_to}: these are too few patients to tell.",
            "compare expected with observed values in more patients before anybody is told one.",
        ),
        "doubtful": Text(
            EXPECTED_STATED,
            "Expected values are wrong by {off} on average, and by {most} in a group of patients.",
            "if these are other patients than those of the fit, fit the model again on patients like them. "
            "If they are the same, a logarithm or a root of the outcome, made in the file as a column of its "
            "own, may make relations linear (--log is for variables); see also the check of "
            "linearity.",
        ),
        "broken": Text(
            limit="Do not read expected values as such; they are wrong by {off} on average, and only say who "
            "has more than whom."
        ),
    },
)


@dataclass(frozen=True)
class Groups:
    """Patients by stated risk, those with the same risk together; (g,) from the lowest.

    Attributes
    ----------
    size : patients.
    stated, observed : mean risk.
    error : standard error of the observed one, if the stated one is right.
    """

    size: F64
    stated: F64
    observed: F64
    error: F64

    @classmethod
    def of(cls, risk: F64, y: np.ndarray) -> Groups:
        """Of patients whose labels are known."""
        group, size = parts_of(risk, len(y))
        stated = np.bincount(group, risk) / size
        error = np.sqrt(np.maximum(stated * (1.0 - stated), 1e-12) / size)
        return cls(size, stated, np.bincount(group, y) / size, error)

    @property
    def freedom(self) -> int:
        """Of Hosmer and Lemeshow's chi-square: that of patients who were not fitted, as these may be."""
        return int(self.size.size)

    @property
    def p_value(self) -> float:
        return float(chi2.sf((((self.observed - self.stated) / self.error) ** 2).sum(), self.freedom))

    @property
    def difference(self) -> float:
        """Of stated and observed risk, on average over the patients."""
        return float((self.size * np.abs(self.observed - self.stated)).sum() / self.size.sum())

    @property
    def largest(self) -> float:
        """Of stated and observed risk, in the group where they differ most."""
        return float(np.abs(self.observed - self.stated).max())

    @property
    def worst(self) -> int:
        """The group where most patients are stated a wrong risk."""
        return int((self.size * np.abs(self.observed - self.stated)).argmax())

    @property
    def smallest(self) -> float:
        """The difference that would be seen, if it were the same in all groups."""
        spread = float(np.sqrt(((self.size * self.error) ** 2).sum()) / self.size.sum())
        return smallest_visible(1, self.freedom, 1, SCALE.p_doubtful) * spread


def parts_of(predicted: F64, n_telling: int) -> tuple[Index, F64]:
    """The group (n,) of each patient by what was predicted, and sizes (g,): tenths, or fewer parts.

    ``n_telling`` are patients who tell something of the outcome. Ties share a rank, so no order of the rows
    can part their cases from their controls.
    """
    wanted = np.clip(n_telling // PATIENTS_A_GROUP, FEWEST_GROUPS, MOST_GROUPS)
    part = np.ceil(rankdata(predicted) * wanted / predicted.size).astype(np.intp)
    _, group, size = np.unique(part, return_inverse=True, return_counts=True)
    return group, size.astype(np.float64)


def spread_out(predictor: F64, slope: float | None, predicted: Callable[[F64], F64] | None = None) -> F64:
    """The same predictor, spread as far as these outcomes would have it; as it is, where that is less far.

    A fit draws predictions towards the average, as far as chance made its own patients differ too much. Among
    these the predictions look too moderate, and are right for others. Their mean stays.

    Parameters
    ----------
    slope : of these outcomes over the predictor; None where there is none.
    predicted : what the predictor comes to, such as risks; itself by default.
    """
    if slope is None or slope <= 1.0:
        return predictor
    wider = slope * (predictor - predictor.mean())
    if predicted is None:
        return wider + predictor.mean()
    mean = float(predicted(predictor).mean())
    return wider + brentq(lambda shift: float(predicted(wider + shift).mean()) - mean, -1e3, 1e3)


def _slope(predictor: F64, fit: Callable[[F64], PlainLogit | PlainHazard]) -> float | None:
    """Of a regression on nothing but the predictor."""
    spread = float(predictor.std())
    if spread == 0.0:
        return None
    found = fit((predictor / spread)[:, None])
    return None if found.separated else float(found.coef[0]) / spread


def _verdict(scale: Scale, groups: Groups, size: float = 1.0) -> Verdict:
    """Of differences in units of this ``size``."""
    verdict = scale.judge(groups.p_value, groups.difference / size, groups.smallest / size)
    if verdict == "fine" and groups.p_value < scale.p_doubtful and groups.largest / size >= scale.broken:
        return "doubtful"  # right on average, and wrong in a group of patients
    return verdict


def check_calibration(log_odds: F64, y: np.ndarray, prevalence: float | None, of_fit: bool = False) -> Check:
    """``log_odds`` (n,) and labels of patients; the risks are those in a population of this prevalence.

    ``of_fit`` says that these are the patients of the fit.

    Where cases and controls were sampled apart, the risk among them is another one: its odds are those of
    the population times what sampling did. There the risks are judged, since both classes are many; in a
    population where the disease is rare, every difference is a small number.
    """
    allowing, unseen = "", ""
    if prevalence is not None:
        share = f"{100.0 * prevalence:.3g}%"
        allowing = (
            f", allowing for how they were sampled ({y.mean():.0%} ill here, {share} in the population)"
        )
        unseen = f" Whether {share} is right cannot be seen from them."
        log_odds = log_odds + logit(y.mean()) - logit(prevalence)
    if of_fit:
        allowing += SHRINKAGE
        log_odds = spread_out(log_odds, _slope(log_odds, lambda errors: PlainLogit.of(errors, y)), expit)
    groups = Groups.of(expit(log_odds), y)
    happened = f"{groups.observed[groups.worst]:.0%} were ill"
    return _of_risks(RISK, groups, len(y), allowing, happened, unseen)


def _of_risks(
    spec: CheckSpec, groups: Groups, n: int, allowing: str, happened: str, unseen: str = ""
) -> Check:
    """The check of risks in groups of ``n`` patients.

    ``allowing`` is for what the risks allow, ``happened`` what did to the group where most patients are
    stated a wrong risk, and ``unseen`` a sentence on what they cannot show.
    """
    worst = groups.worst
    return spec.check(
        _verdict(SCALE, groups),
        groups.difference,
        groups.p_value,
        smallest=groups.smallest,
        groups=groups.size.size,
        allowing=allowing,
        points=100.0 * groups.difference,
        most=100.0 * groups.largest,
        seen=100.0 * groups.smallest,
        up_to=100.0 * min(groups.smallest, 0.5),
        n_worst=groups.size[worst],
        stated=groups.stated[worst],
        happened=happened,
        n=n,
        unseen=unseen,
    )


def check_calibration_by_horizon(checked: Checked) -> Check:
    """Risks in groups of patients against Kaplan and Meier's, or Aalen and Johansen's."""
    hazard, known = checked.model.attribution.of_outcome, checked.known
    assert isinstance(hazard, HazardAttribution) and known is not None
    latest = float(known[:, 0].max())
    if latest < hazard.horizon:  # of patients who are known for less long than those of the fit
        hazard = hazard.with_horizon(latest)
    predictor, allowing = checked.stated, f" of the event until time {hazard.horizon:,g}"
    if checked.of_fit:
        slope = _slope(predictor, lambda errors: PlainHazard.of(errors, known))
        predictor, allowing = spread_out(predictor, slope, hazard.predicted), allowing + SHRINKAGE
    groups = groups_of(predictor, hazard, known)
    worst = groups.worst
    reach = INTERVAL * float(groups.error[worst])
    low, high = (float(np.clip(groups.observed[worst] + side * reach, 0.0, 1.0)) for side in (-1.0, 1.0))
    by = "Kaplan-Meier" if Spans.of(known).competing is None else "Aalen-Johansen"
    happened = (
        f"{groups.observed[worst]:.0%} had the event ({by}; 95% interval {percent(low)} to {percent(high)})"
    )
    return _of_risks(RISK_BY_HORIZON, groups, len(known), allowing, happened)


def groups_of(predictor: F64, hazard: HazardAttribution, known: F64) -> Groups:
    """Of patients who were followed until some time, with or without the event."""
    risk, spans = hazard.predicted(predictor), Spans.of(known)
    ended = spans.event if spans.competing is None else spans.event + spans.competing
    # A patient without the event by then tells as much, if followed until then.
    n_telling = int((ended * (spans.time <= hazard.horizon) + (spans.time > hazard.horizon)).sum())
    group, size = parts_of(risk, n_telling)
    stated = np.bincount(group, risk) / size
    expected = np.bincount(group, expected_events(predictor, hazard, spans))
    found = [incidence(known[group == g], hazard.horizon) for g in range(size.size)]
    observed, variance, _ = np.array(found).reshape(-1, 3).T
    # Where few had the event by chance, their own spread says too little: at least that of those expected.
    cumulative = -np.log(np.maximum(1.0 - stated, 1e-12))
    least = ((1.0 - stated) * cumulative) ** 2 / np.maximum(expected, 1e-12)
    return Groups(size, stated, observed, np.sqrt(np.maximum(np.maximum(variance, least), 1e-12 / size)))


def expected_events(predictor: F64, hazard: HazardAttribution, spans: Spans) -> F64:
    """(n,) that the model expects of each patient while followed, until the horizon."""
    until, before = (
        np.interp(np.minimum(time, hazard.horizon), hazard.edges, hazard.cumulative)
        for time in (spans.until, spans.from_start)
    )
    return np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD)) * (until - before)


def check_calibration_of_number(checked: Checked) -> Check:
    """Means of groups of patients by what the model expects of them."""
    y = checked.known
    assert y is not None
    expected = checked.stated
    if checked.of_fit:
        centred = expected - expected.mean()
        spread = float(centred @ centred)
        expected = spread_out(expected, float(centred @ y) / spread if spread > 0.0 else None)
    group, size = parts_of(expected, y.size)
    left = y - expected
    mean_stated, mean_observed = (np.bincount(group, of) / size for of in (expected, y))
    within = left - (np.bincount(group, left) / size)[group]
    error = np.sqrt(max(float(within @ within), 1e-300) / max(y.size - size.size, 1) / size)
    groups = Groups(size, mean_stated, mean_observed, error)
    sd = max(float(y.std()), 1e-300)
    words, worst = checked.words, groups.worst
    return EXPECTED.check(
        _verdict(NUMBER_SCALE, groups, sd),
        groups.difference / sd,
        groups.p_value,
        smallest=groups.smallest / sd,
        groups=size.size,
        allowing=SHRINKAGE if checked.of_fit else "",
        off=words.predicted(groups.difference),
        most=words.predicted(groups.largest),
        up_to=words.predicted(groups.smallest),
        n_worst=size[worst],
        stated=words.predicted(float(mean_stated[worst])),
        observed=words.predicted(float(mean_observed[worst])),
    )
