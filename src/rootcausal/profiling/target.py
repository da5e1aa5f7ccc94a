"""The target: its labels, and which of them are taken for disease and health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..inputs.binary import chosen_ratio
from ..inputs.kinds import levels_in_order
from ..inputs.labels import ANSWERS, asks_who_is_well, place_of_disease, place_of_health, says_ill
from ..inputs.target import one_spelling
from ..method.moments import ROWS_PER_CLASS
from ..method.table import Index
from ..name_hints.columns import says_end, says_first
from ..name_hints.visits import measured_first
from ..outcomes.ordinal import MOST_STAGES
from ..screening.leakage import begins_within
from ..wording import amount, listed, plural, quoted
from .column_types import Counted, Shape, as_text, is_row_number
from .findings import Finding

# With more labels a target is a code of something else, or a number.
MOST_LABELS = 10
# In the line, where nobody but the user knows which label it is.
LABEL = "LABEL"
# Another column contradicts the target if it says otherwise of nearly all, and not of a few by chance.
MOSTLY = 0.9
ROWS_TO_CONTRADICT = 5


@dataclass(frozen=True)
class TargetFacts:
    """What the target holds.

    Attributes
    ----------
    name : of the column.
    labels : (label, rows), in order.
    n_missing : rows without a label.
    disease, healthy : the labels taken for them, or None where the column cannot be a target.
    guessed : the labels do not say it themselves, or another column says otherwise: somebody has to.
    n_cases, n_controls : rows with these labels.
    contradicted : the column that says otherwise; empty where none does.
    """

    name: str
    labels: tuple[tuple[str, int], ...]
    n_missing: int
    disease: str | None
    healthy: str | None
    guessed: bool
    n_cases: int
    n_controls: int
    contradicted: str = ""

    def too_few(self, of_all: bool = True) -> bool:
        """Whether the disease, or one ``of_all`` labels, has too few rows, whichever is chosen."""
        fewest = min(self.n_cases, self.n_controls) if of_all or self.guessed else self.n_cases
        return fewest < ROWS_PER_CLASS and not (self.guessed and len(self.labels) > 2)

    @property
    def others(self) -> tuple[tuple[str, int], ...]:
        """Labels that are neither."""
        return tuple(pair for pair in self.labels if pair[0] not in (self.disease, self.healthy))


def target_of(cells: Counted) -> tuple[TargetFacts, Index]:
    """What the target holds, and (n,) 1 for cases, 0 for controls, -1 for neither."""
    nobody = np.full(cells.n_rows, -1)
    fractions = cells.form == "number" and not cells.whole and cells.n_different == 2
    if cells.codes is None or not 2 <= cells.n_different <= MOST_LABELS or cells.strange or fractions:
        few = cells.codes is not None and cells.n_different <= MOST_LABELS
        labels = (
            tuple(
                (as_text(value), int(count))
                for value, count in zip(cells.different, cells.counts, strict=True)
                if few
            )
            + cells.strange
        )
        return TargetFacts(cells.name, labels, cells.n_missing, None, None, False, 0, 0), nobody
    texts = _labels(cells)
    rows: dict[str, int] = {}
    for text, count in zip(texts, cells.counts, strict=True):
        rows[text] = rows.get(text, 0) + int(count)
    ordered = sorted(rows) if cells.form == "text" else list(rows)
    if len(ordered) < 2:
        labels = tuple(rows.items())
        return TargetFacts(cells.name, labels, cells.n_missing, None, None, False, 0, 0), nobody
    healthy, disease, guessed = _choose(ordered, rows, cells.name)
    facts = TargetFacts(
        name=cells.name,
        labels=tuple((text, rows[text]) for text in ordered),
        n_missing=cells.n_missing,
        disease=disease,
        healthy=healthy,
        guessed=guessed,
        n_cases=rows[disease],
        n_controls=rows[healthy],
    )
    return facts, codes_of(cells, facts)


def codes_of(cells: Counted, facts: TargetFacts) -> Index:
    """(n,) 1 for cases, 0 for controls, -1 for neither, of the target, or of some rows of it."""
    assert cells.codes is not None
    known = {facts.disease: 1, facts.healthy: 0}
    return np.array([*(known.get(text, -1) for text in _labels(cells)), -1], dtype=np.intp)[cells.codes]


def _labels(cells: Counted) -> list[str]:
    """Each of the column's different values as the label that it counts as."""
    texts = [as_text(value) for value in cells.different]
    if cells.form != "text":
        return texts
    spelling = one_spelling(texts)
    return [spelling[text] or text for text in texts]


def _choose(labels: list[str], rows: dict[str, int], name: str) -> tuple[str, str, bool]:
    """The healthy label, the disease, and whether that is a guess, which is good for a first look only."""
    ill, well = place_of_disease(labels, name), place_of_health(labels, name)
    if ill is not None and len(labels) == 2:
        return labels[1 - ill], labels[ill], False
    if ill is not None and well is not None:
        return labels[well], labels[ill], False
    others = [label for k, label in enumerate(labels) if k not in (ill, well)]
    usual = sorted(others, key=lambda label: -rows[label])
    # Controls are mostly more, and of codes the last is mostly the worst.
    healthy = labels[well] if well is not None else usual[0]
    disease = labels[ill] if ill is not None else [label for label in others if label != healthy][-1]
    return healthy, disease, True


def find_contradiction(
    facts: TargetFacts, ill: Index, columns: Sequence[Counted]
) -> tuple[TargetFacts, list[Finding]]:
    """The facts, doubted where another column says dead, or ill, of those who are not by the target (n,)."""
    if facts.guessed or facts.disease is None:
        return facts, []
    for cells in columns:
        if cells.form != "text" or cells.codes is None or cells.name == facts.name:
            continue
        levels = [says_ill(str(level)) for level in cells.different]
        # Yes and no answer a question of their own.
        answers = {str(level).strip().casefold() for level in cells.different} in map(set, ANSWERS)
        if answers or not {True, False} <= set(levels):
            continue
        says = np.array([*(-1 if one is None else int(one) for one in levels), -1])[cells.codes]
        of_cases, of_controls = (says[(ill == label) & (says >= 0)] for label in (1, 0))
        if min(of_cases.size, of_controls.size) < ROWS_TO_CONTRADICT:
            continue
        if of_cases.mean() < 1 - MOSTLY and of_controls.mean() > MOSTLY:
            well = next(
                str(level) for level, one in zip(cells.different, levels, strict=True) if one is False
            )
            sentence = (
                f"Column {quoted(cells.name)} contradicts {quoted(facts.name)}: where that is "
                f"{quoted(facts.disease, 30)}, it mostly says {quoted(well, 30)}. Which label is it?"
            )
            said = Finding("contradiction", (facts.name, cells.name), sentence)
            return replace(facts, guessed=True, contradicted=cells.name), [said]
    return facts, []


def is_number(cells: Counted) -> bool:
    """Whether a target is a number rather than labels."""
    return cells.form == "number" and cells.n_different > MOST_LABELS


def find_number(cells: Counted) -> list[Finding]:
    """What there is to say about a target that is a number."""
    name = quoted(cells.name)
    if not is_number(cells):
        return []
    low, high = amount(float(cells.different[0])), amount(float(cells.different[-1]))
    sentence = (
        f"The target {name} is a number, from {low} to {high}: it is taken as it is, and what moves it is "
        "learned. For an outcome that is yes or no, give a limit, as in --positive '>=60'."
    )
    found = [Finding("target", (cells.name,), sentence, (("--outcome", "continuous"),), True)]
    if cells.n_missing:
        sentence = f"{plural(cells.n_missing, 'row')} without a number in {name} would be left out."
        found.append(Finding("target missing", (cells.name,), sentence))
    return found


def kind_of(cells: Counted, labels: TargetFacts) -> str:
    """What a target is, where nobody said: the name of an outcome."""
    if is_number(cells):
        return "count" if is_count(cells) else "continuous"
    return "ordinal" if says_stages(cells, labels) else "binary"


def is_count(cells: Counted) -> bool:
    """Whether a number looks like a count: whole, from 0 on, with a tail to the right that Poisson's has.

    A score may look the same, which is said.
    """
    if not (cells.form == "number" and cells.whole and cells.numbers is not None):
        return False
    there = cells.numbers[~np.isnan(cells.numbers)]
    mean = float(there.mean())
    return bool(there.min() == 0.0 and mean > float(np.median(there)) and float(there.var()) > mean)


def says_stages(cells: Counted, labels: TargetFacts) -> bool:
    """Whether a target has three levels or more that say their order, and none that says who is ill "
    "or well.
    """
    texts = [text for text, _ in labels.labels]
    if cells.form != "text" or not 3 <= len(texts) <= MOST_STAGES or cells.strange:
        return False
    if place_of_disease(texts, cells.name) is not None or place_of_health(texts) is not None:
        return False
    return cells.order is not None or levels_in_order(texts) is not None


def find_stages(cells: Counted, labels: TargetFacts) -> list[Finding]:
    """What there is to say about a target of stages in order."""
    texts = [text for text, _ in labels.labels]
    options: tuple[tuple[str, ...], ...] = (("--outcome", "ordinal"),)
    ordered = texts if cells.form == "number" else levels_in_order(texts)
    if cells.order is not None:
        ordered = list(cells.order)
    shown = listed([quoted(text, 30) for text in ordered or texts], 10)
    if ordered is None:
        options = (*options, ("--levels", "LOW<HIGH"))
        sentence = (
            f"The stages of the target {quoted(cells.name)}, {shown}, do not say their order: list "
            "them from low "
            "to high in the place of LOW<HIGH."
        )
        return [Finding("target", (cells.name,), sentence, options, True)]
    if cells.order is not None and levels_in_order(texts) is None:
        options = (*options, ("--levels", "<".join(ordered)))
    sentence = (
        f"The target {quoted(cells.name)} has stages in order, from low to high {shown}: what moves a "
        "patient to a "
        "higher one is learned (--outcome ordinal). For yes or no choose two labels with --positive and "
        "--negative."
    )
    found = [Finding("target", (cells.name,), sentence, options, True)]
    if cells.n_missing:
        sentence = (
            f"{plural(cells.n_missing, 'row')} without a stage in {quoted(cells.name)} would be left out."
        )
        found.append(Finding("target missing", (cells.name,), sentence))
    return found


def find_count(cells: Counted, columns: Sequence[Counted]) -> list[Finding]:
    """What there is to say about a target that is a count, perhaps out of so many as another column says."""
    name, low, high = quoted(cells.name), *(amount(float(cells.different[k])) for k in (0, -1))
    sentence = (
        f"The target {name} looks like a count of events, whole numbers from {low} to {high} with a "
        "long tail: what "
        "moves its rate is learned (--outcome count; --exposure names the column of the time or "
        "amount that each "
        "count is of). If it is a score, use --outcome continuous."
    )
    found = [Finding("target", (cells.name,), sentence, (("--outcome", "count"),), True)]
    assert cells.numbers is not None
    counts = next(c.numbers for c in columns if c.name == cells.name)  # of the rows that are used
    assert counts is not None
    wholes = [c for c in columns if c.whole and c.name != cells.name and not is_row_number(c)]
    more = [c for c in wholes if c.numbers is not None and begins_within(counts, c.numbers)]
    if more:
        of = more[0].name
        sentence = (
            f"{name} is never more than {quoted(of)}: a count out of so many? Then that is no cause of it "
            "but its exposure."
        )
        found.append(Finding("target", (cells.name, of), sentence, (("--exposure", of),)))
    if cells.n_missing:
        sentence = f"{plural(cells.n_missing, 'row')} without a count in {name} would be left out."
        found.append(Finding("target missing", (cells.name,), sentence))
    return found


OTHERS_LEFT_OUT = (
    "Rows with other labels are left out; labels that mean the same are all named, each by an option of its "
    "own or with commas between, and of numbers a limit is enough, as in --positive '>=1'. "
)


def find_target(facts: TargetFacts) -> list[Finding]:
    """What there is to say about the labels."""
    name, shown = quoted(facts.name), listed([f"{quoted(t, 30)} ({c})" for t, c in facts.labels], 10)
    if facts.disease is None:
        held = f"it holds {shown}" if facts.labels else "it holds many values"
        sentence = (
            f"The target {name} is no yes/no answer: {held}. Say which side of a limit is the disease, as in "
            "--positive '>=60', or make a column of two labels, such as dead and alive at a fixed time."
        )
        return [Finding("target", (facts.name,), sentence)]
    assert facts.healthy is not None
    found = []
    if facts.too_few():
        sentence = f"The target {name} holds {shown}: at least two rows of each label are needed."
        return [Finding("target", (facts.name,), sentence)]
    chosen: tuple[tuple[str, ...], ...] = (("--positive", LABEL if facts.guessed else facts.disease),)
    if facts.others or facts.n_missing:
        chosen += (("--negative", LABEL if facts.guessed else facts.healthy),)
    if facts.guessed:
        which = "the disease and which is health" if facts.others else "the disease"
        sentence = (
            f"The labels of the target {name}, {shown}, do not say which is {which}{in_doubt(facts)}: put "
            f"{'them' if len(chosen) > 1 else 'it'} in the place of LABEL. "
            + (OTHERS_LEFT_OUT if facts.others else "")
            + f"Until then {quoted(facts.disease, 30)} is taken for the disease in what is said here."
        )
        found.append(Finding("target", (facts.name,), sentence, chosen, True))
    elif facts.others:
        n_others = sum(count for _, count in facts.others)
        sentence = (
            f"The target {name} has {len(facts.labels)} labels: {shown}. {quoted(facts.disease, 30)} is the "
            f"disease and {quoted(facts.healthy, 30)} is health, by their words. The "
            f"{plural(n_others, 'row')} with other labels would be left out."
        )
        found.append(Finding("target", (facts.name,), sentence, chosen, True))
    if facts.n_missing:
        sentence = f"{plural(facts.n_missing, 'row')} without a label in {name} would be left out."
        found.append(Finding("target missing", (facts.name,), sentence, chosen, True))
    ratio = None if facts.guessed else chosen_ratio(facts.n_cases, facts.n_cases + facts.n_controls)
    if ratio is not None:
        found.append(
            Finding(
                "sampling",
                (facts.name,),
                f"Cases and controls are {ratio} ({facts.n_cases} and {facts.n_controls}): if they were "
                "sampled apart (a case-control study), say how common the disease is in the population.",
                (("--prevalence", "SHARE"),),
            )
        )
    return found


def in_doubt(facts: TargetFacts) -> str:
    """Why labels that seem to say it are doubted; empty where they do not seem to."""
    if facts.contradicted:
        return f", since {quoted(facts.contradicted)} says otherwise"
    said = len(facts.labels) == 2 and place_of_disease([label for label, _ in facts.labels]) is not None
    return (
        ", since by its name the column may say who is well" if said and asks_who_is_well(facts.name) else ""
    )


def candidates(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[str]:
    """Columns that could be the target, those whose names say so first.

    What nothing measured can cause, such as sex or a treatment drawn by lot, is none; nor is what was
    measured before all other visits.
    """
    early = measured_first([cells.name for cells in columns])
    could = [
        cells
        for cells in columns
        if not (says_first(cells.name) or cells.name in early)
        and (
            kinds[cells.name] == "binary"
            or (
                kinds[cells.name] in ("ordinal", "nominal")
                and says_end(cells.name)
                and cells.n_different <= MOST_LABELS
            )
        )
    ]
    return [cells.name for cells in sorted(could, key=lambda cells: not says_end(cells.name))]
