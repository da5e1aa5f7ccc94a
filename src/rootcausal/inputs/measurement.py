"""How columns were measured, as users say it: their reliability, and their limits of detection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InputError
from ..method.moments import Columns
from ..method.table import F64, Index
from ..wording import quoted
from .cells import Found, Texts, beside_sign, limit_in
from .encoding import Encoding
from .infer_types import by_place
from .kinds import NO_LIMITS, Limits, Reliability
from .rules import Findings

# Limits of detection: what lies at or beyond them is known to lie there, and not where (censoring).
#
# Below the limit of an assay its laboratory writes "<3", which is 3 or less; above it ">100". Such cells
# are read as the limit, by which they are known again, and drawn beyond it as missing values are drawn.


def limits_of(column: Any, said: Any) -> Limits:
    """What a user says of a column, one limit or both; an InputError where it can be none."""
    pieces = said if isinstance(said, list | tuple) else [said]
    ones = [limit_in(piece) if isinstance(piece, str) else NO_LIMITS for piece in pieces]
    lower, upper = [one for one in ones if one.below], [one for one in ones if one.above]
    lowest, highest = (lower or [NO_LIMITS])[0].lowest, (upper or [NO_LIMITS])[0].highest
    fit = len(lower) <= 1 >= len(upper) and 0 < len(ones) == len(lower + upper)
    if not fit or lowest >= highest:
        raise InputError(
            f"the limit of {quoted(column)} must be as in '<3', below which nothing is measured, or '>100', "
            "above which nothing is; both of them in a list, the lower one first"
        )
    return Limits(lowest, highest)


def as_limits(texts: Texts, limits: Limits) -> Texts:
    """The same cells, those that say that a value lies beyond one of the limits as numbers: "<3" as "3".

    What they hold is brought to the limit with all other numbers (:meth:`.encoding.Encoding.table`).
    """
    places: dict[str, int] = {}
    new = [places.setdefault(_read(text, limits), len(places)) for text in texts.levels]
    if list(places) == list(texts.levels):
        return texts
    codes = texts.codes.copy()
    there = codes >= 0
    codes[there] = [new[code] for code in codes[there]]
    return replace(texts, codes=codes, levels=tuple(places))


def _read(text: str, limits: Limits) -> str:
    said = limit_in(text)
    if said == NO_LIMITS or not (said.lowest <= limits.lowest and said.highest >= limits.highest):
        return text  # "<5" where the limit is 3 says less than is asked
    return beside_sign(text)


def read_at_limits(found: Found, limits: Mapping[int, Limits]) -> Found:
    """The same columns, with such cells of those that have limits, by their places, as numbers."""
    some = {
        place: as_limits(found.texts[place], one) for place, one in limits.items() if place in found.texts
    }
    return replace(found, texts={**found.texts, **some}) if some else found


def put_limits(encoding: Encoding, limits: Mapping[int, Limits], findings: Findings) -> Encoding:
    """The same variables, some with limits, by their places; one that has levels is noted."""
    variables = list(encoding.variables)
    for place, one in limits.items():
        if variables[place].levels:
            with findings.noting():
                raise InputError(
                    f"{quoted(variables[place].name)} has levels ({variables[place].kind}), and only numbers "
                    "have a limit of detection: leave its limit out, or leave its kind to be guessed"
                )
        else:
            variables[place] = replace(variables[place], limits=one)
    return replace(encoding, variables=tuple(variables))


def limits_by_place(
    said: Mapping[str | int, Limits], names: Sequence[str], findings: Findings
) -> dict[int, Limits]:
    """What the user says of limits, by the places of columns."""
    return by_place(said, names, findings, "limits") if said else {}


# How reliable measurements are: which share of a column's variance is no measurement error.
#
# It is said as a share, as the standard deviation of the error in the column's own unit (``sd 0.2``), or
# asked of the table (``repeats``): rows of one patient then are repeated measurements of the same true
# value.

REPEATS, SD = "repeats", "sd"
# Patients with several measurements, below which they say too little of the error.
FEWEST_REPEATED = 10
# Noise beyond this share of what other columns leave of a column cannot be: not even by chance.
MOST_OF_OWN = 1.5


def reliability_of(column: Any, said: Any) -> Reliability:
    """What a user says of a column; an InputError where it can be nothing."""
    if isinstance(said, str):
        words = said.split()
        if said.strip() == REPEATS:
            return Reliability()
        if len(words) == 2 and words[0] == SD:
            try:
                sd = float(words[1])
            except ValueError:
                sd = math.nan
            if 0.0 <= sd < math.inf:
                return Reliability(sd=sd)
        else:
            try:
                said = float(said)
            except ValueError:
                said = math.nan
    if isinstance(said, Real) and not isinstance(said, bool) and 0.0 < float(said) <= 1.0:
        return Reliability(share=float(said))
    raise InputError(
        f"the reliability of {quoted(column)} must be above 0 and at most 1, the share of its variance that "
        "is no measurement error; or 'sd 0.2', the standard deviation of the error in its own unit; or "
        "'repeats', where rows of one patient measure the same"
    )


def noise_of(
    said: Mapping[str | int, Reliability],
    encoding: Encoding,
    columns: Columns,
    values: F64,
    patients: Index | None,
    findings: Findings,
) -> F64 | None:
    """(q,) standard deviation of the measurement error of each column; None where there is none.

    Parameters
    ----------
    columns : what the columns of the table are like.
    values : (n, q) of them.
    patients : (n,) whose rows these are; None where each is another one's.
    """
    noise = np.zeros(columns.sd.size)
    for place, one in by_place(said, encoding.names, findings, "reliability").items():
        variable = encoding.variables[place]
        column = int(np.flatnonzero(encoding.layout.variable == place)[0])
        with findings.noting():
            if variable.levels:
                raise InputError(
                    f"{quoted(variable.name)} has levels ({variable.kind}), and only numbers are measured "
                    "with an error that has a standard deviation: leave it out of reliability"
                )
            sd = float(columns.sd[column])
            if one.share is not None:
                noise[column] = math.sqrt(1.0 - one.share) * sd
            elif one.sd is not None:
                noise[column] = _in_own_unit(one.sd, sd, variable.name, variable.log)
            else:
                noise[column] = _of_repeats(values[:, column], patients, sd, variable.name)
    return noise if noise.any() else None


def _in_own_unit(noise: float, sd: float, name: str, logged: bool) -> float:
    if logged:
        raise InputError(
            f"{quoted(name)} is on a log scale, where an error in its own unit has no one size: give its "
            "reliability as a share of the variance of its logarithm"
        )
    if noise >= sd:
        raise InputError(
            f"the error of {quoted(name)} would have a standard deviation of {noise:g}, and its values have "
            f"{sd:.4g} in all: nothing of it would be true"
        )
    return noise


def _of_repeats(values: F64, patients: Index | None, sd: float, name: str) -> float:
    """The standard deviation of values within patients, each of whom has one true value."""
    there = ~np.isnan(values)
    if patients is not None:
        counts = np.bincount(patients[there])
        freedom = int((counts[counts > 0] - 1).sum())
    if patients is None or (counts > 1).sum() < FEWEST_REPEATED:
        raise InputError(
            f"the reliability of {quoted(name)} is to be told from repeats, and fewer than {FEWEST_REPEATED} "
            "patients have several measurements: name the patient of each row (groups=, --id), or say the "
            "reliability"
        )
    totals = np.bincount(patients[there], values[there])
    left = values[there] - (totals / np.maximum(counts, 1))[patients[there]]
    within = math.sqrt(float(left @ left) / freedom)
    if within >= sd:
        raise InputError(
            f"measurements of {quoted(name)} vary as much within patients as between them: nothing of it "
            "would be true"
        )
    return within


def refuse_impossible(noise: F64, correlation: F64, encoding: Encoding, sd: F64) -> None:
    """Refuse noise (q,) that leaves less than nothing: others explain a column better than it is measured.

    Noise depends on nothing, so no other column explains it: what others leave of a column holds all of it.

    Parameters
    ----------
    correlation : (q, q) of the columns as they were measured.
    sd : (q,) of these.
    """
    own = 1.0 / np.diagonal(np.linalg.inv(correlation))
    impossible = np.flatnonzero((noise / sd) ** 2 > MOST_OF_OWN * own)
    if impossible.size:
        column = int(impossible[0])
        raise InputError(
            f"the reliability of {quoted(encoding.column_names[column])} cannot be as low as "
            f"{1.0 - (noise[column] / sd[column]) ** 2:.2f}: other columns explain "
            f"{1.0 - own[column]:.0%} of its variance, and no column explains measurement error. Say a "
            "higher one, or leave out the column that holds the same measurement"
        )
