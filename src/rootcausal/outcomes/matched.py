"""Cases and their matched controls: what tells them apart within a set is what errors add to the log-odds.

The likelihood is conditional on how many cases each set has (conditional logistic regression), so that what
all rows of a set share, such as what they were matched on, cancels. What is left has no base value, and says
no risk: only by how much the odds of a row differ from those of others of its set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..method.linear import NOTABLE_LOG_ODDS
from ..method.model_parts import Array, Attribution
from ..method.table import F64, LARGEST_LOG_HAZARD, Index, LossSums, Table
from ..method.weighted import ClassWeights
from .base import MOST_LOG_ODDS, Fold, Proportional, Scored, Specification, TableLoss, mean_of_folds
from .words import ITS_OWN, Words, fold, log_odds_words, wrapped

# Sets with a case and a control; with fewer nothing can be learned.
FEWEST_SETS = 2
# Mean log-likelihood of a set this close to zero: every case is told among its set with certainty.
PERFECT = 1e-6
# Where what is known of a row, a column each, says it.
IS_CASE, OF_SET, PLACE = range(3)


@dataclass(frozen=True, eq=False)
class Matched(Scored):
    """Known of a row are whether it is a case, its set, and its place among the rows of the set: (n, 3).

    By the place copies of a set are told apart: a resample draws some sets twice.

    Attributes
    ----------
    sets : how many have a case and a control.
    """

    name: ClassVar[str] = "matched"
    variance: ClassVar[float] = 1.0  # log-odds, squared
    certain: ClassVar[str] = (
        "the errors tell cases from the controls of their set for certain, or decide for some sets, so "
        "maximum likelihood has no finite answer"
    )

    sets: int

    @property
    def start(self) -> F64:
        return np.zeros(0)

    @property
    def chosen(self) -> str:
        return ", matched"

    @classmethod
    def of(cls, known: np.ndarray) -> Matched:
        cases, sizes = of_sets(known[:, IS_CASE], told_apart(known))
        return cls(int(((cases > 0) & (cases < sizes)).sum()))

    def again(self, known: np.ndarray) -> Matched:
        return Matched.of(known)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return Matched.of(known).sets >= FEWEST_SETS

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return f"had fewer than {FEWEST_SETS} sets with a case and a control ({Matched.of(known).sets})"

    def rows(self, known: np.ndarray) -> np.ndarray:
        case, member = known[:, IS_CASE], told_apart(known)
        cases, sizes = of_sets(case, member)
        score = case - (cases / sizes)[member]
        sd = max(float(score.std(ddof=1)), np.finfo(float).tiny)
        return np.column_stack([score / sd, case, member])

    def n_telling(self, n: float) -> float:
        """Sets with a case and a control."""
        return float(self.sets)

    def loss(self, table: Table, cols: Index) -> SetLoss:
        return SetLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> RelativeOddsAttribution:
        return RelativeOddsAttribution(effects)


def told_apart(known: np.ndarray) -> Index:
    """(n,) the number of each row's set, copies of one having numbers of their own."""
    keys, number = np.unique(known[:, [OF_SET, PLACE]], axis=0, return_inverse=True)
    # The first, second, … row that is the same row of the cohort is of the first, second, … copy.
    order = np.argsort(number, kind="stable")
    start = np.searchsorted(number[order], np.arange(len(keys)))
    copy = np.empty(len(known), dtype=np.intp)
    copy[order] = np.arange(len(known)) - start[number[order]]
    _, found = np.unique(np.column_stack([known[:, OF_SET], copy]), axis=0, return_inverse=True)
    return found.reshape(-1).astype(np.intp)


def of_sets(case: F64, member: Index) -> tuple[F64, F64]:
    """(s,) each: cases, and rows."""
    cases: F64 = np.bincount(member, weights=case).astype(np.float64)
    return cases, np.bincount(member).astype(np.float64)


def known_of(case: np.ndarray, sets: Index) -> F64:
    """(n, 3) what is known of rows, of whom these are cases (n,), of these sets (n,)."""
    order = np.argsort(sets, kind="stable")
    start = np.searchsorted(sets[order], sets[order])
    place = np.empty(sets.size)
    place[order] = np.arange(sets.size) - start
    return np.column_stack([case, sets, place]).astype(np.float64)


class SetLoss(TableLoss):
    """The conditional log-likelihood of the cases of matched sets; it has no baseline."""

    def sums(self, beta: F64) -> LossSums:
        return self.table.set_sums(self.cols, beta)

    def is_certain(self, loglik: float) -> bool:
        return loglik > -PERFECT * self.n_rows


@dataclass(frozen=True, eq=False)
class RelativeOddsAttribution(Proportional):
    """Log-odds as a linear function of the errors, relative to a row of the same set without any.

    Attributes
    ----------
    coef : (k,) log-odds for each unit of error, in causal order.
    """

    kind: ClassVar[str] = "relative"
    outcome: ClassVar[str] = "matched"
    ARRAYS: ClassVar[Mapping[str, Array]] = {"coef": Array.within(MOST_LOG_ODDS)}

    coef: F64

    def centred(self, average: float) -> tuple[RelativeOddsAttribution, float]:
        return self, average

    @property
    def base_value(self) -> float:
        return 0.0

    def predicted(self, predictor: F64) -> F64:
        """The odds, relative to one of the same set whose errors are all zero."""
        return np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD))

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS


def chance_in_sets(predictor: F64, member: Index) -> F64:
    """(n,) chance that each row is the case of its set, of which these are all rows, if one of them is."""
    highest = np.full(int(member.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(highest, member, predictor)
    odds = np.exp(predictor - highest[member])
    found: F64 = odds / np.bincount(member, weights=odds)[member]
    return found


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of cases among their matched sets."""
    of_what = called or "the disease"

    return Words(
        **log_odds_words(of_what),
        kind=Matched.name,
        estimator="RCI",
        happening="which of a set is the case",
        of_what=of_what,
        subject="the disease",
        node="disease",
        prediction="odds in the set",
        told="odds",
        predictions="odds",
        is_chance=False,
        axis="log-odds within the set",
        header=("odds in the set", "log-odds"),
        columns=("odds", "log_odds"),
        of_order="the log-odds of disease, within a matched set, that a shock of one standard deviation adds",
        populations=(
            "Matched sets tell no risks: odds are relative to one of the same set whose shocks are "
            "all average.",
        ),
        facts={"scale": "log-odds within the set"},
        predicted=_odds,
        cells=lambda odds, predictor: (_odds(odds), f"{predictor:+.2f}"),
        base=lambda _, average: (
            f"log-odds are relative to one of the same set whose {average} are all average, who has 0"
        ),
        meaning=lambda _, covariates: _meaning(covariates),
        page=lambda made: {"sets": made["sets"], "cases": made["cases"]},
    )


def _odds(odds: float) -> str:
    return f"×{fold(float(np.log(odds)))}"


def _meaning(covariates: bool) -> str:
    average, parts = "shocks", "what all variables add"
    if covariates:
        average, parts = "shocks and covariates", "what these and all variables add"
    return wrapped(
        "What the numbers mean: patients came in matched sets, which tell no risks. Odds are how "
        "many times as "
        f"likely a row is to be the case as one of the same set whose {average} are all average (×1.00). A "
        f"root cause is a variable whose own shock, {ITS_OWN}, raises these odds; the largest comes first. "
        f"+0.69 doubles the odds, -0.69 halves them; {parts} make the log-odds."
    )


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """In how many pairs of a case and a control of one set the case has the higher odds; ties count half."""
    return {"within_sets": mean_of_folds([_within_sets(fold) for fold in folds])}


def _within_sets(fold: Fold) -> float:
    case, member = fold.known[:, IS_CASE] > 0, told_apart(fold.known)
    right = pairs = 0.0
    for row in np.flatnonzero(case):
        controls = fold.predictor[(member == member[row]) & ~case]
        pairs += controls.size
        right += float((controls < fold.predictor[row]).sum() + 0.5 * (controls == fold.predictor[row]).sum())
    return right / pairs if pairs else float("nan")


def _check_facts(made: Mapping[str, Any]) -> None:
    counts = [made["cases"], made["sets"]]
    if not all(type(count) is int and 0 < count <= made["rows"] for count in counts):
        raise ValueError("its numbers of rows, cases and sets do not fit together")


MATCHED = Specification(
    outcome=Matched,
    attribution=RelativeOddsAttribution,
    words=words_of,
    simulator=None,
    estimator="RCI",
    called="matched cases and controls",
    labels=2,
    offers=("log_odds",),
    unit_name=lambda called: None,
    performance=_performance,
    said_of={
        "within_sets": "of a case and a control of one set it tells which is the case in {:.0%} of pairs"
    },
    check_facts=_check_facts,
    checks=("gives_away",),
)
