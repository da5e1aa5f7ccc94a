"""The closed list of what a site may be asked, with types, sizes, and words for its ledger.

Both sides check by it: a site what it is asked, before it looks at a row; the coordinator what it is told.
A request that changes what the site keeps (``keeps``) has no answer, and travels with the next one that has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..method.table import LARGEST
from .messages import MessageError, Narrow, Step

Shape = tuple[int, ...]
Check = Callable[[Any], bool]

MOST_COLUMNS = 100_000
MOST_SEEDS = 1 << 63
# In bits, of the number of rows and of sites.
MOST_ROOM = 36
STAGES = "stage sums"
COARSE, FINE = "residual sums", "residual sums to more digits"
LOGLIKS = "log-likelihoods"
# Of a step that was too long; hundreds of sites can say so at once.
TINY_LOGLIK = -(2.0**50)
LEVEL_SUMS = ("score", "curvature", "score_with", "curvature_with", "curvature_square")


@dataclass(frozen=True)
class Sizes:
    """What the shapes of answers depend on besides a request.

    Attributes
    ----------
    classes : 2 where rows have labels, else 1.
    graded : whether rows have a null score.
    tables : how many columns each standardized table has, by its handle.
    room : how many bits sums over the rows of all sites need before the point; 0 before that is known.
    """

    classes: int = 2
    graded: bool = False
    tables: Mapping[int, int] = field(default_factory=dict)
    room: int = 0


@dataclass(frozen=True)
class Request:
    """One kind of request.

    Attributes
    ----------
    words : what its answer is, as a ledger says it; empty where there is none.
    fields : what fields it has, and what they may be.
    arrays : the type and the number of dimensions of its arrays: "f" for numbers, "F" where some may be
        infinite, "i" for places of columns.
    answer : shapes of the answer; None where there is none, or it is described in fields.
    keeps : whether the site changes what it keeps.
    sums : whether the answer is a sum over the rows of all sites, which may be masked.
    bits : how many bits behind the point it has then.
    narrow : those of its arrays that go in fewer bytes then, since their size is known.
    """

    words: str
    fields: Mapping[str, Check] = field(default_factory=dict)
    arrays: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    answer: Callable[[Step, Sizes], dict[str, Shape]] | None = None
    keeps: bool = False
    sums: bool = True
    bits: int = 64
    narrow: Mapping[str, Narrow] = field(default_factory=dict)

    def refuse(self, step: Step) -> None:
        """Refuse fields and arrays that are not as they have to be."""
        if set(step.fields) != set(self.fields) or set(step.arrays) != set(self.arrays):
            raise MessageError(f"{step.do!r} comes with other things than it has")
        for name, fine in self.fields.items():
            if not fine(step.fields[name]):
                raise MessageError(f"{name!r} of {step.do!r} is not what it has to be")
        for name, (kind, dimensions) in self.arrays.items():
            array = step.arrays[name]
            if array.dtype.kind != kind.lower() or array.ndim != dimensions:
                raise MessageError(f"{name!r} of {step.do!r} is of another type or shape")
            if kind == "F" and np.isnan(array).any():
                raise MessageError(f"{name!r} of {step.do!r} holds what is no number")
            if kind == "f" and not (np.abs(array) <= LARGEST).all():
                raise MessageError(f"{name!r} of {step.do!r} holds what is no number, or too large a one")
            if kind == "i" and array.size and not 0 <= array.min() <= array.max() < MOST_COLUMNS:
                raise MessageError(f"{name!r} of {step.do!r} holds what is no column")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_SEEDS


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 10_000


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_COLUMNS and all(map(_text, value))


def _listed(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_COLUMNS


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _raw(value: Any) -> bool:
    return value in (0, 1) and _whole(value)


def _bits(value: Any) -> bool:
    return _whole(value) and value <= MOST_ROOM


def _weights(value: Any) -> bool:
    """What a row of each class counts for."""
    fine = isinstance(value, list) and len(value) in (0, 2)
    return fine and all(isinstance(one, float) and 0.0 < one <= LARGEST for one in value)


def triangle(k: int) -> int:
    """How many different entries a symmetric (k, k) matrix has."""
    return k * (k + 1) // 2


def _moments(step: Step, sizes: Sizes) -> dict[str, Shape]:
    c, q = sizes.classes, step.arrays["shift"].size
    shapes = {"count": (c,), "total": (c, q), "square": (c, q), "measured": (c, q)}
    return shapes | ({"score": (3, q)} if sizes.graded else {})


def _gram_of(step: Step, sizes: Sizes) -> dict[str, Shape]:
    c = sizes.classes if step.fields["by_class"] else 1
    k = step.arrays["cols"].size if "cols" in step.arrays else sizes.tables[step.fields["table"]]
    return {"gram": (c, triangle(k))}


def _loss(step: Step, sizes: Sizes) -> dict[str, Shape]:
    k, size = step.arrays["cols"].size, step.arrays["beta"].size
    b = size - k
    # Of two parameters of a baseline, only thresholds between stages have a curvature together.
    beside = max(b - 1, 0) if step.do == STAGES else 0
    return {
        "loglik": (),
        "gradient": (size,),
        "among": (triangle(k),),
        "across": (k, b),
        "of_baseline": (b,),
        "beside": (beside,),
    }


def _levels(step: Step, sizes: Sizes) -> dict[str, Shape]:
    d, m = step.arrays["discrete"].size, step.arrays["cols"].size
    return {name: (d, m) if "_" in name else (d,) for name in LEVEL_SUMS}


def _joint(step: Step, sizes: Sizes) -> dict[str, Shape]:
    d = step.arrays["cols"].size + 1
    return {"total": (d,), "product": (triangle(d),), "unknown": (d,)}


TABLE = {"table": _whole}
COLS = {"cols": ("i", 1)}
RAW = {"raw": _raw}
SCALED = {"mean": ("f", 1), "sd": ("f", 1)}
VIEW = {**COLS, **SCALED, "scores": ("f", 1), "weights": ("f", 1), "joint_mean": ("f", 1), "joint": ("f", 1)}
LOSS = Request("", TABLE, {**COLS, "beta": ("f", 1)}, _loss)


RESIDUALS = Request(
    "",
    TABLE,
    dict.fromkeys(("roots", "place", "i", "j"), ("i", 1)),
    lambda step, sizes: {"sums": (step.arrays["i"].size, 2)},
)

# Each row adds at most its own standardized values, or their product, about. Statistics that only decide
# which column comes first are rounded; where that leaves two as good as equal, they are asked for again.
FULL, DECIDING, DECIDING_FINE, COUNTED = Narrow(7, 4), Narrow(4), Narrow(6), Narrow(5, whole=True)
OF_LEVELS = Narrow(6, 6)
# At coefficients that may be right. What a second derivative is wrong by, the next step mends.
GRADIENT, CURVATURE, OF_LABELS = Narrow(8, 8), Narrow(7, 5), Narrow(6, 1)


def _loss_of(words: str, bits: int = 64, curvature: Narrow = CURVATURE) -> Request:
    parts = ("among", "across", "of_baseline", "beside")
    narrow = {"gradient": GRADIENT, **dict.fromkeys(parts, curvature)}
    return Request(words, TABLE, LOSS.arrays, _loss, bits=bits, narrow=narrow)


REQUESTS: dict[str, Request] = {
    # --- the first round: what there is --------------------------------------------------------------------
    "describe": Request(
        "names of the columns, what they hold, their levels, labels and units, the power of two above the "
        "largest value of each, and the labels of the outcome",
        {"sites": _texts, "outcome": _text, "said": _texts},
        sums=False,
    ),
    "counts": Request(
        "how many rows hold each level of each column, and each label of the outcome",
        {"levels": _object, "labels": _listed},
        answer=lambda step, sizes: {
            "levels": (sum(len(some) + 1 for some in step.fields["levels"].values()),),
            "labels": (len(step.fields["labels"]),),
        },
        narrow={"levels": COUNTED, "labels": COUNTED},
    ),
    "outcome sums": Request(
        "number of rows, sum and sum of squares of the outcome",
        {},
        {"shift": ("f", 0)},
        lambda step, sizes: {"sums": (3,)},
    ),
    "follow-up": Request(
        "each time of follow-up, as it was rounded here, with how many patients leave then, by their label: "
        "what a Kaplan-Meier curve with marks shows",
        {"by": _listed},
        sums=False,
    ),
    "open": Request(
        "",
        {"columns": _texts, "variables": _listed, "comma": _truth, "outcome": _object},
        {"times": ("f", 1), "events": ("f", 1), "leaving": ("f", 1)},
        keeps=True,
    ),
    "draw": Request("", {"number": _whole, "seed": _seed, "by_class": _truth}, keeps=True),
    "drop draws": Request("", keeps=True),
    # --- the cohort as it came -----------------------------------------------------------------------------
    "rows": Request(
        "number of rows, and of those that lack a value or all of them",
        answer=lambda step, sizes: {"rows": (3,)},
        narrow={"rows": COUNTED},
    ),
    "room": Request("", {"bits": _bits}, keeps=True),
    "moments": Request(
        "sums and sums of squares of each column, by class, and how many values they are of",
        {**RAW},
        {"shift": ("f", 1), "unit": ("f", 1)},
        _moments,
        bits=96,
        narrow={"count": COUNTED, "measured": COUNTED},
    ),
    "gram": Request(
        "sums of products of each two standardized columns",
        {**RAW, "by_class": _truth},
        {**COLS, **SCALED},
        _gram_of,
    ),
    "expected": Request(
        "sums and sums of products of standardized columns and the outcome, missing values as expected",
        {},
        VIEW,
        _joint,
        narrow=dict.fromkeys(("total", "product", "unknown"), FULL),
    ),
    "fill": Request("", {"seed": _seed}, VIEW, keeps=True),
    "standardize": Request("", {**RAW, **TABLE, "weights": _weights}, {**COLS, **SCALED}, keeps=True),
    # --- a standardized table ------------------------------------------------------------------------------
    "table gram": Request(
        "sums of products of each two standardized columns",
        {**TABLE, "by_class": _truth},
        {},
        _gram_of,
        narrow={"gram": FULL},
    ),
    "column sums": Request(
        "two entropy statistics of each standardized column",
        TABLE,
        {},
        lambda step, sizes: {"sums": (sizes.tables[step.fields["table"]], 2)},
        narrow={"sums": DECIDING_FINE},
    ),
    "with correlations": Request("", TABLE, {"r": ("f", 1)}, keeps=True),
    "regress out": Request("", {**TABLE, "root": _whole}, COLS, keeps=True),
    COARSE: Request(
        "two entropy statistics of residuals of columns given another one, and roots that may come next",
        TABLE,
        RESIDUALS.arrays,
        RESIDUALS.answer,
        narrow={"sums": DECIDING},
    ),
    FINE: Request(
        "the same again, to more digits, where two columns are as good as equal",
        TABLE,
        RESIDUALS.arrays,
        RESIDUALS.answer,
        narrow={"sums": DECIDING_FINE},
    ),
    "logit sums": _loss_of("log-likelihood of the labels and its derivatives", curvature=OF_LABELS),
    "square sums": _loss_of("least squares of the outcome and their derivatives"),
    "hazard sums": _loss_of("log-likelihood of follow-up and its derivatives, by intervals of time", bits=40),
    STAGES: _loss_of("log-likelihood of the stages and its derivatives"),
    LOGLIKS: Request(
        "log-likelihood of the outcome alone, at points between two sets of coefficients",
        {**TABLE, "likelihood": _text},
        {**COLS, "start": ("f", 1), "end": ("f", 1), "parts": ("f", 1)},
        lambda step, sizes: {"logliks": (step.arrays["parts"].size,)},
        bits=40,
    ),
    "differences": Request(
        "how far effects and arrows here are from those of all sites, weighted by how exactly they are known",
        {**TABLE, "likelihood": _text},
        {**COLS, "beta": ("f", 1)},
        lambda step, sizes: {
            "effects": (3, step.arrays["cols"].size),
            "apart": (triangle(step.arrays["cols"].size),),
            "spread": (triangle(step.arrays["cols"].size),),
            "sites": (2,),
        },
        narrow={"apart": Narrow(3, whole=True), "spread": Narrow(3, 7), "sites": COUNTED},
    ),
    # --- its discrete columns ------------------------------------------------------------------------------
    "level counts": Request(
        "how many rows hold each level of discrete columns",
        TABLE,
        {**COLS, "edges": ("F", 2)},
        lambda step, sizes: {"counts": (step.arrays["cols"].size, step.arrays["edges"].shape[1] + 1)},
        narrow={"counts": COUNTED},
    ),
    "with levels": Request("", TABLE, {**COLS, "edges": ("F", 2), "thresholds": ("F", 2)}, keeps=True),
    "level sums": Request(
        "derivatives of the likelihoods of discrete columns",
        TABLE,
        {"discrete": ("i", 1), "cols": ("i", 1)},
        _levels,
        narrow=dict.fromkeys(LEVEL_SUMS, OF_LEVELS),
    ),
    "level pair sums": Request(
        "likelihoods of pairs of columns, and their derivatives",
        TABLE,
        {"discrete": ("i", 1), "cols": ("i", 1), "intercept": ("f", 1), "slope": ("f", 1)},
        lambda step, sizes: {"sums": (step.arrays["cols"].size, 6)},
        narrow={"sums": OF_LEVELS},
    ),
    "shift levels": Request(
        "",
        {**TABLE, "root": _whole},
        {"discrete": ("i", 1), "intercept": ("f", 1), "slope": ("f", 1)},
        keeps=True,
    ),
}


def request_of(step: Step) -> Request:
    """What is asked by a step, whose fields and arrays are as they have to be."""
    request = REQUESTS.get(step.do)
    if request is None:
        raise MessageError(f"{step.do[:40]!r} is nothing that a site answers")
    request.refuse(step)
    return request


def upper(matrix: np.ndarray) -> np.ndarray:
    """(..., k(k + 1) / 2) of symmetric matrices (..., k, k)."""
    k = matrix.shape[-1]
    return matrix[(..., *np.triu_indices(k))]


def symmetric(entries: np.ndarray, k: int) -> np.ndarray:
    """(..., k, k) of the entries on and above their diagonals."""
    whole = np.zeros((*entries.shape[:-1], k, k))
    rows, cols = np.triu_indices(k)
    whole[..., rows, cols] = entries
    whole[..., cols, rows] = entries
    return whole
