"""How an outcome is spoken of: on the terminal, in figures and on the page.

The words are made by the module of each kind, of the model's own attribution. Whoever writes for people asks
them, so that nothing says log-odds where there are none.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import percent

WIDTH = 100
ITS_OWN = "the part of its value that its causes do not explain"
# The steps in which the page keeps intervals of log-odds and log-hazards.
STEP = 0.01

#: A number for the screen.
Said = Callable[[float], str]


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of one outcome.

    Attributes
    ----------
    kind : the name of the outcome.
    estimator : the class that users call: ``RCI``.
    happening : what is known of a patient once it is: ``the diagnosis``.
    of_what : what users call it: ``the disease``, or the name that they gave.
    subject, node : what it is in a sentence, and at the end of an arrow: ``the disease``, ``disease``.
    scale : what shocks add to, and values are in: ``log-odds``.
    unit : of the times, or of the number; empty where that is not known.
    prediction : what patients are told: ``risk by 5 years``.
    told, predictions : the same in a sentence, of one and of all: ``risk``, ``risks``.
    is_chance : whether that is a probability.
    is_ratio : whether adding on the scale means multiplying, so that axes show ratios.
    both_ways : whether shocks that lower it count as much as those that raise it.
    raises : what a variable is to patients whose shock on it adds, and whose others add less.
    axis, added : what an axis of the scale is called, and one of what shocks add.
    header : of a table of patients, what is predicted and what shocks add to.
    columns : names of the same in a table of scores; the second is None where both are the same.
    of_order, of_causes, of_columns : what the numbers of a causal order are, those of a patient's root
        causes, and those of the columns of variables in a table of scores.
    no_causes : what is said of a patient who has no root causes.
    populations : whom risks are about, or by when they are told.
    facts : what a table of scores says of its numbers.
    predicted : a prediction: ``31%``, ``62.3 ml/min``.
    cells : of one patient, below the header, from what is predicted and the predictor.
    reached : where a patient stands on the axis, from the predictor and what is predicted: ``+1.24``.
    beside : a Shapley value in brief: ``+0.59``, ``×1.80``, ``+4.2``.
    end : the same as an end of an interval.
    per_sd : what a shock of one standard deviation does.
    direct : what a standard deviation of a cause does, all else held fixed; of some the sign means nothing.
    adds : what a shock of this Shapley value does: ``raises the hazard 1.8-fold``, ``adds 4.2 ml/min``.
    moved_by : the outcome and a change of it: ``the disease by 0.1 log-odds``.
    base : what is said of the base value beside a table, given what is average in words.
    meaning : what printed numbers mean, from the base value and whether there are covariates.
    left_unnamed : the rule by which shocks are not named that are weaker than this.
    page : what the page fills into its own words, from how the model was made.
    step : the steps in which the page keeps intervals, and predictors by level.
    effect_ends : whether the page says the interval of what a shock of one standard deviation does.
    """

    kind: str
    estimator: str
    happening: str
    of_what: str
    subject: str
    node: str
    scale: str
    unit: str = ""
    prediction: str
    told: str = "risk"
    predictions: str = "risks"
    is_chance: bool = True
    is_ratio: bool = False
    both_ways: bool = False
    raises: tuple[str, str] = ("a root cause", "the strongest")
    axis: str
    added: str
    header: tuple[str, ...]
    columns: tuple[str, str | None]
    of_order: str
    of_causes: str
    of_columns: str
    no_causes: str = "none was found that stands out"
    populations: Sequence[str] = ()
    facts: Mapping[str, str | float]
    predicted: Said = percent
    cells: Callable[[float, float], tuple[str, ...]]
    reached: Callable[[float, float], str]
    beside: Said
    end: Said
    per_sd: Said
    direct: Callable[[float, bool], str]
    adds: Said
    moved_by: Said
    base: Callable[[float, str], str]
    meaning: Callable[[float, bool], str]
    left_unnamed: Said
    page: Callable[[Mapping[str, Any]], dict[str, Any]]
    step: float = STEP
    effect_ends: bool = True


def log_odds_words(of_what: str, of_higher: str = "") -> dict[str, Any]:
    """What is said alike wherever shocks add to log-odds; ``of_higher`` says of what, if need be."""

    def beside(value: float) -> str:
        return f"{value:+.2f}"

    return {
        "scale": "log-odds",
        "added": "added log-odds",
        "of_causes": f"root causes, with the log-odds{of_higher} that each adds",
        "of_columns": f"the log-odds{of_higher} that each variable adds",
        "reached": lambda predictor, _: beside(predictor),
        "beside": beside,
        "end": beside,
        "per_sd": lambda effect: f"{effect:+.3f}",
        "direct": lambda effect, signless: (
            f"{f' {abs(effect):.2f}' if signless else beside(effect)} log-odds"
        ),
        "adds": lambda value: f"{'raises' if value >= 0 else 'lowers'} the log-odds by {abs(value):.2f}",
        "moved_by": lambda size: f"{of_what} by {size:g} log-odds",
        "left_unnamed": lambda size: f"Shocks that change the log-odds by less than {size:g} are not named.",
        "effect_ends": False,
    }


def ratio_words(of_what: str, what: str, unit: str) -> dict[str, Any]:
    """What is said alike wherever shocks multiply a hazard or a rate, which is ``what``."""
    return {
        "scale": f"log-{what}",
        "unit": unit,
        "is_ratio": True,
        "added": f"{what} times",
        "of_order": f"the {what} ratio of a shock of one standard deviation",
        "of_causes": f"root causes, and by how much each multiplies the {what}",
        "of_columns": f"the log-{what} that each variable adds",
        "beside": times,
        "end": fold,
        "per_sd": fold,
        "direct": lambda effect, signless: times(abs(effect) if signless else effect),
        "adds": lambda value: _multiplies(value, what),
        "moved_by": lambda size: f"the {what} of {of_what} {fold(size)}-fold",
        "left_unnamed": lambda size: (
            f"Shocks that change the {what} less than {fold(size)}-fold are not named."
        ),
    }


def _multiplies(log_ratio: float, what: str) -> str:
    size = fold(abs(log_ratio))
    if size == "1.00":
        return f"hardly changes the {what}"
    return f"{'raises' if log_ratio > 0 else 'lowers'} the {what} {size}-fold"


def times(log_ratio: float) -> str:
    """Exp of it as a factor: ``×1.84``."""
    return f"×{fold(log_ratio)}"


def fold(log_ratio: float) -> str:
    """Exp of it, with the digits that matter: ``1.84``, ``12``."""
    ratio = math.exp(min(log_ratio, 20.0))
    if ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:,.0f}"


def wrapped(text: str) -> str:
    """A paragraph in lines of about the width of a page."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
