"""Does a column leak the outcome? What a person would see in the table, without any model.

A column that all by itself nearly decides the outcome is seldom a cause of it: mostly the outcome is defined
by it, it is the outcome in another form, or it was measured after. Limits are those of
:mod:`..screening.leakage`; here is what they are asked of: cases and controls, times, and a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from ..backends.cpu.on_demand import concordances
from ..method.layout import Layout
from ..method.moments import ROWS_PER_CLASS
from ..method.table import F64, Index
from ..name_hints.columns import ends_beside, says_end
from ..outcomes.follow_up import Spans
from ..outcomes.survival import concordance_of
from ..screening.auc import aucs, chance_of, measured_of_both, rank_auc, rows_of_both, smallest_auc
from ..screening.duplicates import parts_of_sum
from ..screening.leakage import (
    DOMINATES,
    FEWEST_TO_CONDEMN,
    IMMORTAL,
    LIMITS,
    MODEL_DECIDES,
    Leak,
    begins_within,
    by_absence,
    by_absence_of_number,
    by_levels,
    by_values,
    condemned,
    corrected,
    share_equal,
)
from ..wording import filled, pasted, plural
from .dependence import correlations_of, rank_correlations, ranks_of
from .diagnosis import VERDICTS, Check, CheckSpec, Text, Verdict, from_size
from .evidence import Checked
from .power import POWER

# Of a column with levels the direction cannot be told; from this area on that is worth a word.
CLOSE_LEVELS = 0.75
REASONS_SAID = 3
MANY = FEWEST_TO_CONDEMN
# With fewer values, a correlation says nothing.
FEWEST = 20
# More rows would not change what goes with what; of times, all pairs of so many are looked at.
ROWS_AT_MOST, TIMES_AT_MOST = 5_000, 1_000

AN_END = "{name:q} is named like something that is known only in the end, and "
A_COPY = (
    "{name:q} alone correlates with the outcome by {cut}, as a copy of it does, another unit of it, or what "
    "it is reckoned from"
)


def _spec(number: str, fine: str, few: Text, *limits: tuple[str, str]) -> CheckSpec:
    """What is asked of one outcome; ``limits`` are what the table says of whom, and the name of a limit."""

    def said(grade: str) -> str:
        sizes = [(what, *(getattr(LIMITS[name], of + grade) for of in ("", "p_"))) for what, name in limits]
        return "; ".join(what + from_size(size, p) for what, size, p in sizes)

    return CheckSpec(
        "gives_away",
        "Does any column leak the outcome?",
        number,
        {
            "fine": Text(fine),
            "cannot tell": few,
            "cannot tell, levels": Text(
                "{names} {names:goes|go} closely with the diagnosis (in {pairs} at best). Of a column with "
                "levels nothing in the table shows whether it comes before the diagnosis or after.",
                "{names} may come after the diagnosis: only those who know when {names:it was|they were} "
                "measured can tell.",
                "ask when {names:it was|they were} measured; what came after the diagnosis is left out with "
                "--after COLUMN.",
            ),
            "doubtful": Text(
                "{reasons}.",
                "{names} may give {happening} away rather than cause it, and of the other variables only "
                "what is left beside is seen.",
                "{leave_out}",
            ),
            "broken": Text(
                limit="Do not read {names} as {names:a root cause|root causes}: {names:it gives|they give} "
                "{happening} away, and of the other variables only what is left beside is seen."
            ),
        },
        touches="variables",
        doubtful_from=said("doubtful"),
        broken_from=said("broken"),
    )


OF_DIAGNOSES = _spec(
    "share of pairs that one column tells apart (absence: difference of shares)",
    "The column that alone tells patients with and without the diagnosis apart best does so in {pairs}.",
    Text(
        "With {n_cases:# patient} with the diagnosis and {n_controls} without, a column may tell them apart "
        "by chance alone.",
        "Any column may be one that was measured after the diagnosis, or is part of its definition.",
        "ask of each column when it was measured; leave out what is known only after the diagnosis with "
        "--after (in Python: leave the column out of X).",
    ),
    ("", "number"),
    ("levels ", "levels"),
    ("names of an end ", "name of an end"),
    ("absence ", "absence"),
)
OF_TIMES = _spec(
    "share of pairs that one column ranks as the times do",
    "The column that alone ranks best who has {happening} first does so in {ranked}, and the one that tells "
    "best who has it at all in {told}.",
    Text(
        "With {n_events:# event} a column may rank them by chance alone.",
        "Any column may be one that was measured after the event, or tells how long patients were followed.",
        "ask of each column when it was measured; leave out what is known only after the event with --after "
        "(in Python: leave the column out of X).",
    ),
    ("", "number"),
    ("correlation with the time of follow-up ", "follow-up"),
    ("names of an end ", "name of an end"),
    ("absence ", "absence, follow-up"),
)
OF_NUMBERS = _spec(
    "correlation of one column with the number (absence: share of pairs)",
    "The column that alone goes with {happening} most closely does so with a correlation of {number:.2f}.",
    Text(
        "In {n:# patient} a column may go with {happening} by chance alone.",
        "Any column may be one that was measured after the outcome, or is part of it.",
        "ask of each column when it was measured, and whether the outcome is reckoned from it.",
    ),
    ("", "correlation"),
    ("names of an end ", "name of an end, correlation"),
    ("absence ", "absence, pairs"),
)


@dataclass(frozen=True)
class Reason:
    """Why a variable gives the outcome away, as one sentence with its figure."""

    variable: int
    verdict: Verdict
    area: float
    p_value: float
    sentence: str

    @property
    def rank(self) -> tuple[int, float]:
        """The worst first."""
        return -VERDICTS.index(self.verdict), -self.area


@dataclass(frozen=True, eq=False)
class _Asked:
    """The variables of some patients, also those that the model left out.

    Attributes
    ----------
    names : (p,).
    X, missing : (n, q) of these patients.
    happening : what is known of a patient once it is, such as the diagnosis.
    """

    names: Sequence[str]
    layout: Layout
    X: F64
    missing: np.ndarray | None
    happening: str

    @classmethod
    def of(cls, checked: Checked, rows: Index | None = None) -> _Asked:
        X, missing = checked.X, checked.missing
        if rows is not None and rows.size < len(X):
            X, missing = X[rows], None if missing is None else missing[rows]
        layout = checked.model.layout or Layout.numbers(X.shape[1])
        names = [str(name) for name in checked.named.names]
        return cls(names, layout, X, missing, checked.words.happening)

    @property
    def absent(self) -> np.ndarray | None:
        """(n, p)."""
        return None if self.missing is None else self.missing[:, self.layout.first_columns]

    @property
    def there(self) -> Index:
        """(p,) in how many it was measured."""
        absent = self.absent
        n, p = len(self.X), self.layout.n_variables
        return np.full(p, n) if absent is None else n - absent.sum(axis=0)

    @property
    def ends(self) -> list[int]:
        """Variables whose names speak of the end, unless the user said that they come first."""
        beside, first = ends_beside(self.names), self.layout.kept & ~self.layout.covariate
        return [
            variable
            for variable, name in enumerate(self.names)
            if (name in beside or says_end(name)) and not first[self.layout.first_columns[variable]]
        ]

    def reason(
        self, variable: int, verdict: Verdict, size: float, p: float, said: str, **facts: Any
    ) -> Reason:
        cut = f"{np.floor(1000.0 * size) / 1000.0:.3g}"  # nothing is rounded up to a copy
        facts |= {"size": size, "cut": cut, "pairs": pairs(size), "happening": self.happening}
        return Reason(variable, verdict, size, p, filled(said, name=self.names[variable], **facts))

    def beyond(
        self, limit: str, said: str, found: Iterable[tuple[int, float, float]], n_fewest: int = MANY
    ) -> list[Reason]:
        """Of variables, sizes and p-values, those beyond a limit; ``n_fewest`` may be too few to condemn."""
        return [
            self.reason(variable, condemned(grade, n_fewest) or grade, size, p, said)
            for variable, size, p in found
            if (grade := LIMITS[limit].grade(size, p)) is not None
        ]

    def dominating(self, checked: Checked, knows: float, p_value: float, said: str) -> list[Reason]:
        """One variable that makes up nearly all of a model that knows nearly every outcome.

        ``knows`` is how well the model tells it, ``p_value`` whether by chance.
        """
        spread = checked.model.importance() ** 2
        if not spread.sum() or p_value >= LIMITS["number"].p_doubtful:
            return []
        largest = int(spread.argmax())
        variable, part = int(checked.model.order[largest]), float(spread[largest] / spread.sum())
        said = "{name:q} makes up {part:.0%} of what the model knows, and " + said
        return (
            [self.reason(variable, "doubtful", knows, p_value, said, part=part)] if part >= DOMINATES else []
        )


def _judged(spec: CheckSpec, asked: _Asked, reasons: Sequence[Reason], smallest: float) -> Check | None:
    """The check where at least one variable leaks the outcome, each for the worst of its reasons."""
    of_each: dict[int, Reason] = {}
    for reason in sorted(reasons, key=lambda reason: reason.rank):
        of_each.setdefault(reason.variable, reason)
    if not of_each:
        return None
    worst, *_ = kept = [*of_each.values()]
    found = [asked.names[reason.variable] for reason in kept]
    more = len(kept) - REASONS_SAID
    said = "; ".join(reason.sentence for reason in kept[:REASONS_SAID])
    return spec.check(
        worst.verdict,
        worst.area,
        worst.p_value,
        names=found,
        smallest=smallest,
        reasons=said + (f"; and so on for {plural(more, 'column')} more" if more > 0 else ""),
        happening=asked.happening,
        leave_out=advice_to_leave_out(found, asked.happening),
    )


def check_leakage(checked: Checked, y: np.ndarray) -> Check:
    """Of a diagnosis."""
    asked, found, reasons = _of_labels(checked, y)
    n_cases, largest = int(y.sum()), float(found.max(initial=0.5))
    n_controls, p = y.size - n_cases, len(asked.names)
    area = rank_auc(ranks_of(checked.stated), y)
    if area >= MODEL_DECIDES:
        chance = corrected(chance_of(area, n_cases, n_controls), p)
        said = "the model tells patients with and without the diagnosis apart in {pairs}"
        reasons += asked.dominating(checked, area, chance, said)
    smallest = smallest_auc(n_cases, n_controls, p, LIMITS["number"].p_doubtful, POWER)
    leaks = _judged(OF_DIAGNOSES, asked, reasons, smallest)
    if leaks is not None:
        return leaks
    if smallest > LIMITS["number"].broken:
        return OF_DIAGNOSES.check("cannot tell", smallest=smallest, n_cases=n_cases, n_controls=n_controls)
    discrete = asked.layout.discrete[asked.layout.first_columns]
    close = [
        asked.names[variable] for variable in np.flatnonzero((found >= CLOSE_LEVELS) & discrete).tolist()
    ]
    verdict: Verdict = "cannot tell" if close else "fine"
    return OF_DIAGNOSES.check(
        verdict, largest, case="levels", names=close, smallest=smallest, pairs=pairs(largest)
    )


def _of_labels(checked: Checked, y: np.ndarray) -> tuple[_Asked, F64, list[Reason]]:
    """How well each variable alone (p,) tells labels y (n,) apart, and which leak them.

    These are a diagnosis, or whether the event came.
    """
    rows = rows_of_both(y)
    asked, some = _Asked.of(checked, rows), y[rows]
    layout = asked.layout
    found = aucs(asked.X, asked.missing, some, layout)
    counts = measured_of_both(asked.missing, some, layout)
    chances = (chance_of(float(found[v]), int(counts[1, v]), int(counts[0, v])) for v in asked.ends)
    ends = [(v, float(found[v]), corrected(p, found.size)) for v, p in zip(asked.ends, chances, strict=True)]
    return (
        asked,
        found,
        [
            *_deciding(asked, by_values(found, counts, layout.discrete[layout.first_columns])),
            *asked.beyond(
                "name of an end",
                AN_END + "tells patients with and without {happening} apart in {pairs}",
                ends,
            ),
            *_absent(_Asked.of(checked), y),
            *_only_cases(asked, some),
        ],
    )


def _deciding(asked: _Asked, leaks: Sequence[Leak]) -> Iterator[Reason]:
    for leak in leaks:
        columns, itself = asked.layout.columns_of(leak.column), ""
        if leak.size == 1.0:
            two = columns.size == 1 and np.unique(asked.X[:, columns[0]]).size == 2
            itself = f": it is {asked.happening} itself, in other words" if two else ": a limit of it decides"
        said = "{name:q} alone tells patients with and without {happening} apart in {pairs}{itself}"
        yield asked.reason(leak.column, leak.grade, leak.size, leak.p, said, itself=itself)


def _only_cases(asked: _Asked, y: np.ndarray) -> Iterator[Reason]:
    """Levels that next to nobody has without the diagnosis, as of what is done only after it."""
    counts = []
    for variable, column in enumerate(asked.layout.first_columns.tolist()):
        if not asked.layout.discrete[column]:
            counts.append((np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)))
            continue
        known = slice(None) if asked.missing is None else ~asked.missing[:, column]
        own = asked.X[known][:, asked.layout.columns_of(variable)].round()
        _, level = np.unique(own, axis=0, return_inverse=True)
        rows = np.bincount(level.ravel())
        counts.append((rows, np.bincount(level.ravel()[y[known] == 1], minlength=rows.size)))
    for leak in by_levels(counts, float(y.mean())):
        rows, cases = (of[leak.level] for of in counts[leak.column])
        said = "{cases:,} of {rows:,} patients with one and the same level of {name:q} have {happening}"
        yield asked.reason(leak.column, leak.grade, leak.size, leak.p, said, rows=rows, cases=cases)


def _absent(asked: _Asked, y: np.ndarray) -> Iterator[Reason]:
    """Columns of which it tells the diagnosis that they are missing, or that they are there."""
    gone = asked.absent
    if gone is None:
        return
    absent = np.stack([gone[y == label].sum(axis=0) for label in (0, 1)])
    sizes = np.bincount(y, minlength=2)
    for leak in by_absence(absent, sizes):
        of_controls, of_cases = (absent[:, leak.column] / sizes).tolist()
        said = (
            "{name:q} is missing in {of_cases:.0%} of the patients with {happening} and in {of_controls:.0%} "
            "of those without: whether it was measured tells {happening}"
        )
        shares = {"of_cases": of_cases, "of_controls": of_controls}
        yield asked.reason(leak.column, leak.grade, 0.5 + leak.size / 2.0, leak.p, said, **shares)


def option_for(option: str, names: Sequence[str]) -> str:
    """``--after time --after 'day of death'``, to be pasted into a shell."""
    said = [
        # A name that begins with a dash would be read as another option.
        pasted(f"{option}={name}") if name.startswith("-") else f"{option} {pasted(name)}"
        for name in names
    ]
    return " ".join(said)


def advice_to_leave_out(names: Sequence[str], happening: str = "the diagnosis") -> str:
    """What to do about columns that may come after what is ``happening``, or be it."""
    it, was, are = ("it", "it was", "it is") if len(names) == 1 else ("them", "they were", "they are")
    return (
        f"ask when {was} measured. If after {happening}, fit again with {option_for('--after', names)}; if "
        f"{are} {happening} in another form, with {option_for('--drop', names)} (in Python: leave {it} "
        "out of X). Then check again: other findings may go with it."
    )


def pairs(area: float) -> str:
    """Such as "97 of 100 pairs"; nothing is rounded up to all of them."""
    if area == 1.0:
        return "all pairs"
    if area >= 0.99:
        return f"{int(1000 * area)} of 1,000 pairs"
    return f"{int(100 * area + 1e-9)} of 100 pairs"


def check_leakage_of_times(checked: Checked) -> Check:
    """Of the time of an event, and whether it came."""
    assert checked.known is not None
    event = checked.known[:, 1].astype(np.intp)
    rows = _some(event)
    asked, n_events = _Asked.of(checked, rows), int(event[rows].sum())
    p, known = len(asked.names), checked.known[rows]
    found, reasons = np.full(p, 0.5), list[Reason]()
    if np.bincount(event, minlength=2).min() >= ROWS_PER_CLASS:
        _, found, reasons = _of_labels(checked, event)
    ranked = ranking(asked, known, checked.score[rows])
    chances = [_chance_of_ranking(share, n_events, p) for share in ranked.tolist()]
    first = "ranks who has the event first in {pairs}"
    every = list(zip(range(p), ranked.tolist(), chances, strict=True))
    reasons += (alone := asked.beyond("number", "{name:q} alone " + first, every, n_events))
    others = [every[variable] for variable in asked.ends if variable not in {one.variable for one in alone}]
    reasons += asked.beyond("name of an end", AN_END + first, others, n_events)
    reasons += _following(asked, known[:, 0], Spans.of(known).start is None)
    reasons += _absent_of_number(asked, known[:, 0], "absence, follow-up", "the time of follow-up")
    share = concordance_of(checked.stated[rows], known)
    if share >= MODEL_DECIDES:  # NaN where no two can be compared
        reasons += asked.dominating(
            checked, share, _chance_of_ranking(share, n_events, p), f"the model {first}"
        )
    smallest = smallest_concordance(n_events, p, LIMITS["number"].p_doubtful)
    leaks = _judged(OF_TIMES, asked, reasons, smallest)
    if leaks is not None:
        return leaks
    if smallest > LIMITS["number"].broken:
        return OF_TIMES.check("cannot tell", smallest=smallest, n_events=int(event.sum()))
    best, told = float(ranked.max(initial=0.5)), float(found.max(initial=0.5))
    return OF_TIMES.check(
        "fine",
        max(told, best),
        smallest=smallest,
        happening=asked.happening,
        ranked=pairs(best),
        told=pairs(told),
    )


def _some(event: np.ndarray) -> Index:
    """Rows spread evenly over patients with the event and without."""
    kinds = [np.flatnonzero(event == label) for label in (0, 1)]
    half = TIMES_AT_MOST // 2
    return np.sort(
        np.concatenate([of[np.linspace(0, of.size - 1, min(of.size, half)).astype(np.intp)] for of in kinds])
    )


def ranking(asked: _Asked, known: F64, score: F64) -> F64:
    """(p,): concordance of each variable alone with times and events (n, 2), whichever way round.

    Of levels without an order, by how many events were expected of who has each. 0.5 where none is measured.
    """
    values = asked.X[:, asked.layout.first_columns].T
    for variable in np.flatnonzero(np.bincount(asked.layout.variable) > 1).tolist():
        values[variable] = _means_of_levels(asked.X[:, asked.layout.columns_of(variable)], score)
    if (absent := asked.absent) is not None:
        values = np.where(absent.T, np.nan, values)
    spans = Spans.of(known)
    shares = concordances(values, spans.until, spans.event, spans.start, spans.stratum)
    return np.where(np.isnan(shares), 0.5, np.maximum(shares, 1.0 - shares))


def _means_of_levels(dummies: F64, score: F64) -> F64:
    """(n,) the mean score of each patient's level, by its dummies (n, d)."""
    _, level = np.unique(dummies.round(), axis=0, return_inverse=True)
    level = level.ravel()
    means: F64 = (np.bincount(level, score) / np.bincount(level))[level]
    return means


def concordance_error(n_events: int) -> float:
    """Standard error of a concordance that is chance alone, at most: that of Kendall's correlation."""
    d = max(n_events, 2)
    return float(np.sqrt((2.0 * d + 5.0) / (18.0 * d * (d - 1.0))))


def smallest_concordance(n_events: int, n_variables: int, level: float) -> float:
    """That is told from chance, among so many variables, in nine of ten cohorts like this one."""
    sure = norm.isf(level / (2.0 * max(n_variables, 1))) + norm.isf(1.0 - POWER)
    return float(0.5 + sure * concordance_error(n_events))


def _chance_of_ranking(share: float, n_events: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-abs(share - 0.5) / concordance_error(n_events))), n_variables)


def _following(asked: _Asked, time: F64, whole: bool) -> list[Reason]:
    """Numbers that are the time of follow-up once more, or nearly, or in many rows, or lie within it.

    What lies within it is told of ``whole`` follow-up only: rows from start to stop are there to hold it.
    """
    first, absent, there = asked.layout.first_columns, asked.absent, asked.there
    found = rank_correlations(asked.X[:, first], absent, time)
    numbers = ~asked.layout.discrete[first] & (there >= FEWEST_TO_CONDEMN)
    close = numbers & (found >= LIMITS["follow-up"].doubtful)
    reasons = []
    for variable in np.flatnonzero(numbers & ~close).tolist():
        known = slice(None) if absent is None else ~absent[:, variable]
        values = asked.X[known, first[variable]]
        share = share_equal(values, time[known])
        if share:
            said = "{name:q} is exactly the time of follow-up in {share:.0%} of rows"
            reasons.append(asked.reason(variable, "doubtful", float(found[variable]), 0.0, said, share=share))
        elif whole and begins_within(values, time[known]):
            said = f"{{name:q}} is never longer than follow-up: {IMMORTAL}"
            reasons.append(asked.reason(variable, "doubtful", 1.0, 0.0, said))
    p_values = 2.0 * norm.sf(found * np.sqrt(there))
    judged = [
        (v, float(found[v]), corrected(float(p_values[v]), first.size))
        for v in np.flatnonzero(close).tolist()
    ]
    said = "{name:q} is the time of follow-up in other words: their ranks correlate by {cut}"
    return reasons + asked.beyond("follow-up", said, judged)


def check_leakage_of_numbers(checked: Checked, known: F64 | None = None) -> Check:
    """Of a number: a copy of it, another unit, a part of how it is reckoned.

    ``known`` (n,) is the number, where the outcome is more than that.
    """
    known = checked.known if known is None else known
    assert known is not None
    n = known.size
    rows = np.linspace(0, n - 1, min(n, ROWS_AT_MOST)).astype(np.intp)
    asked, y = _Asked.of(checked, rows), known[rows]
    p, found = len(asked.names), correlations(asked, y)
    measured = (n * (asked.there / len(rows))).astype(np.intp).tolist()
    alone = [(v, size, _chance_of_correlation(size, measured[v], p)) for v, size in enumerate(found.tolist())]
    ends = [(v, float(found[v]), _chance_of_correlation(float(found[v]), n, p)) for v in asked.ends]
    reasons = asked.beyond("correlation", A_COPY, alone)
    X = asked.X[:, asked.layout.first_columns]
    sums = parts_of_sum(y, X if asked.absent is None else np.where(asked.absent, np.nan, X))
    said = "{name:q} and others make up the outcome exactly, as parts of a sum or a score"
    reasons += [asked.reason(variable, "broken", 1.0, 0.0, said) for variable in sums]
    reasons += asked.beyond(
        "name of an end, correlation", AN_END + "correlates with the outcome by {size:.2f}", ends
    )
    reasons += _absent_of_number(asked, y, "absence, pairs", "the outcome")
    size = float(correlations_of(checked.stated[None], known)[0])
    if size >= LIMITS["correlation"].doubtful:
        chance = _chance_of_correlation(size, n, p)
        said = "what the model expects correlates with the outcome by {size:.2f}"
        reasons += asked.dominating(checked, size, chance, said)
    sure = norm.isf(LIMITS["correlation"].p_doubtful / (2.0 * max(p, 1))) + norm.isf(1.0 - POWER)
    smallest = float(min(sure / np.sqrt(max(n - 2, 1)), 1.0))
    leaks = _judged(OF_NUMBERS, asked, reasons, smallest)
    if leaks is not None:
        return leaks
    number = float("nan") if n < FEWEST else float(found.max(initial=0.0))
    verdict: Verdict = "cannot tell" if n < FEWEST else "fine"
    return OF_NUMBERS.check(verdict, number, smallest=smallest, n=n, happening=asked.happening)


def correlations(asked: _Asked, y: F64) -> F64:
    """(p,) size of the correlation of each variable alone with y: of values, or of ranks if that is larger.

    Of levels without an order, that of their means. Zero where too few have a value.
    """
    values, absent = asked.X[:, asked.layout.first_columns], asked.absent
    for variable in np.flatnonzero(np.bincount(asked.layout.variable) > 1).tolist():
        there = slice(None) if absent is None else ~absent[:, variable]
        dummies = asked.X[there][:, asked.layout.columns_of(variable)]
        values[there, variable] = _means_of_levels(dummies, y[there])
    of_values = correlations_of(values.T, y, None if absent is None else ~absent.T)
    either = np.maximum(of_values, rank_correlations(values, absent, y))
    return np.where(asked.there >= FEWEST, either, 0.0)


def _chance_of_correlation(correlation: float, n: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-correlation * np.sqrt(max(n - 2, 1)))), n_variables)


def _absent_of_number(asked: _Asked, y: F64, limit: str, called: str) -> list[Reason]:
    """Columns of which it tells a number, such as the outcome, that they are missing, or there."""
    if (absent := asked.absent) is None:
        return []
    said = "{name:q} is missing where {called} is {high} (in {size:.0%} of pairs): "
    said += "whether it was measured tells {called}"
    reasons = []
    for leak in by_absence_of_number(y, absent, LIMITS[limit]):
        facts = {"high": "high" if leak.size > 0.5 else "low", "called": called}
        size = max(leak.size, 1.0 - leak.size)
        reasons.append(asked.reason(leak.column, leak.grade, size, leak.p, said, **facts))
    return reasons
