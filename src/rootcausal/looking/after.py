"""What may come after the outcome: by the names of columns, by their levels, or by what they go with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import rankdata

from ..asking.ends import ends_beside, level_says_end, says_diagnosis, says_end, says_whether
from ..core.table import Index
from ..inputs.itself import outcome_again
from ..inputs.kinds import MOST_LEVELS
from ..screening.leakage import LIMITS, share_equal
from ..wording import quoted
from .counted import Counted
from .findings import Finding, by_number, columns_in_words, dropping, measured_after
from .names import near, says_year
from .shape import FITTED, Shape

ROWS_TO_CORRELATE = 20
# Ranks of more rows would not say more.
ROWS_RANKED = 2000
CALENDAR = (1900, 2100)
# Of a number that is cut into levels: fewer rows beyond the cut lie there by chance.
ROWS_BEYOND_A_CUT = 5
TIME_OF_DAY = re.compile(r"\d{1,2}[:.h]\d\d(:\d\d(\.\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")


def find_itself(
    columns: Sequence[Counted], kinds: dict[str, Shape], outcome: Counted, *, linear: bool
) -> list[Finding]:
    """Columns that are the ``outcome``, a number, again: a fit refuses them, or would call them its causes.

    With ``linear`` a fit refuses linear images only.
    """
    if outcome.numbers is None:
        return []
    asked = [c for c in columns if kinds[c.name] in FITTED]
    numbers = [(c.name, c.numbers) for c in asked if c.numbers is not None]
    values = [of for _, of in numbers]
    ways = (True, False) if linear else (False,)
    again = {numbers[c][0] for way in ways for c in outcome_again(outcome.numbers, values, linear=way)}
    cut = {c.name for c in asked if linear and c.name not in again and _is_cut(c, outcome.numbers)}
    found = []
    for some, how in (
        (again, "as it is, in another unit or on another scale"),
        (cut, "cut into levels: its ranges do not overlap"),
    ):
        names = tuple(c.name for c in asked if c.name in some)
        if names:
            sentence = (
                f"{columns_in_words(names)} {by_number(names, 'is', 'are')} {quoted(outcome.name)} itself, "
                f"{how}. The outcome is no cause of itself."
            )
            found.append(Finding("the outcome itself", names, sentence, measured_after(names), True))
    return found


def _is_cut(cells: Counted, numbers: np.ndarray) -> bool:
    """Whether each level has a range of the numbers to itself."""
    if cells.codes is None or cells.n_observed < ROWS_TO_CORRELATE:
        return False
    there = cells.codes >= 0
    codes, values = cells.codes[there], numbers[there]
    levels, rows = np.unique(codes, return_counts=True)
    if levels.size < 2 or codes.size - rows.max() < ROWS_BEYOND_A_CUT:
        return False
    ends = sorted((values[codes == level].min(), values[codes == level].max()) for level in levels)
    return all(one[1] < other[0] for one, other in pairwise(ends))


def find_after(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    target: str,
    sample: Index,
    time: Counted | None = None,
) -> list[Finding]:
    """Columns that may come after the outcome, or be another form of it; numbers are ranked in ``sample``.

    ``time`` is how long patients were followed, where that is part of the outcome.
    """
    asked = [c for c in columns if kinds[c.name] in FITTED and c.name != target]
    names = [cells.name for cells in asked]
    beside = ends_beside([*names, target])
    diagnoses = tuple(name for name in names if says_diagnosis(name) and name not in beside)
    after = tuple(c.name for c in asked if c.name in beside or (_is_after(c) and c.name not in diagnoses))
    alike = tuple(name for name in names if name not in (*after, *diagnoses) and near(name, target))
    found = []
    if after:
        found.append(
            Finding(
                "after the outcome",
                after,
                f"{columns_in_words(after)} by name or levels may come after the outcome, or be it: what is "
                "known only then is no cause. Keep what was known before.",
                measured_after(after),
                True,
            )
        )
    if diagnoses:
        found.append(
            Finding(
                "diagnosis",
                diagnoses,
                f"{columns_in_words(diagnoses)} {by_number(diagnoses, 'is', 'are')} named as a diagnosis: "
                "why patients came, or what they turned out to have? In the second case leave "
                f"{by_number(diagnoses, 'it', 'them')} out.",
                measured_after(diagnoses),
            )
        )
    found += _with_follow_up(asked, after, sample, time)
    said = {name for one in found for name in one.columns}
    if alike:
        found.append(
            Finding(
                "named like the target",
                alike,
                f"{columns_in_words(alike)} {by_number(alike, 'is', 'are')} named like the target "
                f"{quoted(target)}: the same thing in another form? Then leave "
                f"{by_number(alike, 'it', 'them')} out.",
                dropping(alike),
            )
        )
    return found + _years([one for one in asked if one.name not in said], time is not None)


def _is_after(cells: Counted) -> bool:
    levels = (
        [str(value) for value in cells.different] if cells.form == "text" and cells.codes is not None else []
    )
    if levels and all(map(TIME_OF_DAY.fullmatch, levels)):
        return False
    return says_end(cells.name) or any(map(level_says_end, levels))


def _with_follow_up(
    columns: Sequence[Counted], after: tuple[str, ...], sample: Index, time: Counted | None
) -> list[Finding]:
    """Numbers that nearly have the ranks of a time that is known only in the end, or often are that time.

    What says whether such a time ended with an event goes with it.
    """
    sample = sample[:: -(-max(sample.size, 1) // ROWS_RANKED)]
    numbers = {c.name: c.numbers for c in columns if c.numbers is not None and c.n_different > MOST_LEVELS}
    times = {name: values[sample] for name, values in numbers.items() if name in after}
    if time is not None and time.numbers is not None:
        times[time.name] = time.numbers[sample]
    found: dict[str, str] = {}
    for name, values in numbers.items() if times else ():
        if name in after:
            continue
        r, with_time = max((abs(_rank_correlation(values[sample], t)), time) for time, t in times.items())
        equal, to_time = max((share_equal(values[sample], t), time) for time, t in times.items())
        if r >= LIMITS["follow-up"].doubtful:
            found[name] = f"rank correlation {r:.2f} with {quoted(with_time)}"
        elif equal:
            found[name] = f"exactly {quoted(to_time)} in {equal:.0%} of rows"
    for cells in columns:
        of_times = (one for one in (*times, *found) if says_whether(one, cells.name))
        its_time = None if cells.n_different > 2 or cells.name in after else next(of_times, None)
        if its_time is not None:
            found[cells.name] = f"says whether {quoted(its_time)} ended with an event"
    if not found:
        return []
    names = tuple(found)
    return [
        Finding(
            "goes with follow-up",
            names,
            f"{columns_in_words(names, found.__getitem__)} {by_number(names, 'goes', 'go')} with what may "
            f"come after the outcome, so {by_number(names, 'it', 'they')} may too.",
            measured_after(names),
            True,
        )
    ]


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's, in the rows that have both; 0 where they are few or one of them is the same in all."""
    both = ~np.isnan(first) & ~np.isnan(second)
    if int(both.sum()) < ROWS_TO_CORRELATE:
        return 0.0
    a, b = (ranks - ranks.mean() for ranks in (rankdata(first[both]), rankdata(second[both])))
    length = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / length if length else 0.0


def _years(columns: Sequence[Counted], timed: bool) -> list[Finding]:
    low, high = CALENDAR
    names = tuple(
        cells.name
        for cells in columns
        if cells.whole
        and says_year(cells.name)
        and cells.n_different > 1
        and low <= cells.different[0]
        and cells.different[-1] <= high
    )
    if not names:
        return []
    said = f"{columns_in_words(names)} {by_number(names, 'is a calendar year', 'are calendar years')}: "
    if timed:
        # Who came early was watched for longer, which does not matter where the outcome says how long.
        sentence = (
            f"{said}what changed over the years, such as care, is no shock of a patient. As "
            f"{by_number(names, 'a covariate, it is', 'covariates, they are')} in the risk, and never a root "
            "cause."
        )
        return [Finding("calendar year", names, sentence, tuple(("--covariate", name) for name in names))]
    sentence = (
        f"{said}a calendar year goes with follow-up time, since who came early was watched for longer. With "
        "an outcome at a fixed time it may stay."
    )
    return [Finding("calendar year", names, sentence, dropping(names))]
