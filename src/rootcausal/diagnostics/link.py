"""Is the risk that the model states the risk that is observed?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import chi2, rankdata

from ..core.table import F64, Index
from ..wording import plural
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import fit_plain
from .visible import smallest_visible

MOST_GROUPS, FEWEST_GROUPS = 10, 3
# Of fewer patients, the observed risk of a group is little more than chance.
PATIENTS_A_GROUP = 100
QUESTION = "Is the stated risk the observed one?"
SCALE = Scale(0.05, 0.10, p_doubtful=0.002, p_broken=0.0002)


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


def spread_out(log_odds: F64, y: np.ndarray) -> F64:
    """The same log-odds, spread as far as these labels would have it; as they are, where that is less far.

    A fit draws risks towards the average, as far as chance made its own patients differ too much. Among
    these the risks look too moderate, and are right for others. The mean risk stays.
    """
    spread = float(log_odds.std())
    if spread == 0.0:
        return log_odds
    fit = fit_plain((log_odds / spread)[:, None], y)
    slope = float(fit.coef[0]) / spread
    if fit.separated or slope <= 1.0:
        return log_odds
    wider, mean = slope * (log_odds - log_odds.mean()), float(expit(log_odds).mean())
    return wider + brentq(lambda shift: float(expit(wider + shift).mean()) - mean, -1e3, 1e3)


def check_link(log_odds: F64, y: np.ndarray, prevalence: float | None, of_fit: bool = False) -> Check:
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
        allowing += ", with the shrinkage of the fit undone"
        log_odds = spread_out(log_odds, y)
    groups = Groups.of(expit(log_odds), y)
    happened = f"{groups.observed[groups.worst]:.0%} were ill"
    return calibration(groups, len(y), allowing, happened, unseen)


def calibration(groups: Groups, n: int, allowing: str, happened: str, unseen: str = "") -> Check:
    """The check of risks in groups.

    Parameters
    ----------
    n : patients.
    allowing : for what the risks allow, as a part of a sentence.
    happened : what happened to the group where most patients are stated a wrong risk.
    unseen : a sentence on what they cannot show.
    """
    verdict = SCALE.judge(groups.p_value, groups.difference, groups.smallest)
    if verdict == "fine" and groups.p_value < SCALE.p_doubtful and groups.largest >= SCALE.broken:
        verdict = "doubtful"  # right on average, and wrong in a group of patients
    return Check(
        "calibrated",
        QUESTION,
        verdict,
        groups.difference,
        groups.p_value,
        f"{_statement(groups, allowing, happened)}{_power(verdict, groups, n)}{unseen}",
        _advice(verdict),
        limit=_limit(verdict, groups),
        touches="" if verdict == "fine" else "risk",
        smallest=groups.smallest,
    )


def _statement(groups: Groups, allowing: str, happened: str) -> str:
    worst, count = groups.worst, plural(groups.size.size, "group")
    of_worst = (
        f"; among {groups.size[worst]:.0f} patients with a stated risk of {groups.stated[worst]:.0%} on "
        f"average, {happened}"
    )
    return (
        f"In {count} of patients by stated risk{allowing}, stated and observed risk differ by "
        f"{100.0 * groups.difference:.1f} percentage points on average ({in_words(groups.p_value)}; it "
        f"counts from {100.0 * SCALE.doubtful:.0f} points on, or {100.0 * SCALE.broken:.0f} in a group, with "
        f"p < {SCALE.p_doubtful:g})"
        f"{of_worst}."
    )


def _power(verdict: Verdict, groups: Groups, n: int) -> str:
    if verdict != "cannot tell":
        return ""
    seen = f"{100.0 * groups.smallest:.0f} points or more"
    return f" With {n} patients only a difference of {seen} would be seen."


def _limit(verdict: Verdict, groups: Groups) -> str:
    if verdict == "fine":
        return ""
    if verdict == "cannot tell":
        return (
            f"The risks may be wrong by up to {100.0 * min(groups.smallest, 0.5):.0f} points, and these "
            "patients would not show it."
        )
    off = f"{100.0 * groups.difference:.0f} points"
    if verdict == "doubtful":
        in_group = f"{100.0 * groups.largest:.0f} points in a group of patients"
        return f"The risks are wrong by {off} on average, and by {in_group}."
    return (
        f"Do not read the risks as probabilities; they are wrong by {off} on average, and only say who is at "
        "a higher risk than whom."
    )


def _advice(verdict: Verdict) -> str:
    if verdict == "fine":
        return ""
    if verdict == "cannot tell":
        return "compare stated with observed risk in more patients before anybody is told a risk."
    return (
        "if these are other patients than those of the fit, fit the model again on patients like them. If "
        "they are the same, see what the other checks name."
    )
