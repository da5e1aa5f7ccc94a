"""The target: its labels, and which of them are taken for disease and health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..asking.ends import says_end
from ..asking.words import tokens, words
from ..core.table import Index
from ..inputs.labels import place_of_disease
from ..inputs.sampling import chosen_ratio
from ..inputs.target import one_spelling
from ..wording import amount, listed, plural, quoted
from .counted import Counted, as_text
from .findings import Finding
from .names import near
from .shape import Shape

# With more labels a target is a code of something else, or a number.
MOST_LABELS = 10
# In the line, where nobody but the user knows which label it is.
LABEL = "LABEL"

_HEALTHY = words(
    "0 no none control controls healthy normal negative neg alive living survived censored censor benign "
    "absent false n unaffected free"
)
_ILL = words(
    "yes case cases dead died death deceased malignant cancer ill sick event relapse relapsed recurrence "
    "recurred positive pos present true y abnormal affected diseased"
)


@dataclass(frozen=True)
class TargetFacts:
    """What the target holds.

    Attributes
    ----------
    name : of the column.
    labels : (label, rows), in order.
    n_missing : rows without a label.
    disease, healthy : the labels taken for them, or None where the column cannot be a target.
    guessed : the labels do not say it themselves.
    n_cases, n_controls : rows with these labels.
    """

    name: str
    labels: tuple[tuple[str, int], ...]
    n_missing: int
    disease: str | None
    healthy: str | None
    guessed: bool
    n_cases: int
    n_controls: int

    @property
    def open(self) -> bool:
        """Whether the labels are more than two, and none says that it is the disease, or health."""
        if not self.others or self.disease is None or self.healthy is None:
            return False
        says_ill = _ILL & _words(self.disease) or near(self.disease, self.name)
        return not (says_ill and _HEALTHY & _words(self.healthy))

    @property
    def others(self) -> tuple[tuple[str, int], ...]:
        """Labels that are neither."""
        return tuple(pair for pair in self.labels if pair[0] not in (self.disease, self.healthy))


def target_of(cells: Counted) -> tuple[TargetFacts, Index]:
    """What the target holds, and (n,) 1 for cases, 0 for controls, -1 for neither."""
    nobody = np.full(cells.n_rows, -1)
    if cells.codes is None or not 2 <= cells.n_different <= MOST_LABELS or cells.strange:
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
    texts = [as_text(value) for value in cells.different]
    if cells.form == "text":
        spelling = one_spelling(texts)
        texts = [spelling[text] or text for text in texts]
    rows: dict[str, int] = {}
    for text, count in zip(texts, cells.counts, strict=True):
        rows[text] = rows.get(text, 0) + int(count)
    ordered = sorted(rows) if cells.form == "text" else list(rows)
    if len(ordered) < 2:
        labels = tuple(rows.items())
        return TargetFacts(cells.name, labels, cells.n_missing, None, None, False, 0, 0), nobody
    healthy, disease, guessed = _choose(ordered, rows)
    code = np.array([1 if text == disease else 0 if text == healthy else -1 for text in texts] + [-1])
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
    return facts, code[cells.codes]


def _choose(labels: list[str], rows: dict[str, int]) -> tuple[str, str, bool]:
    """The healthy label, the disease, and whether that is a guess."""
    if len(labels) == 2:
        place = place_of_disease(labels)
        if place is not None:
            return labels[1 - place], labels[place], False
    usual = [label for label in labels if rows[label] > 1]
    labels = usual if len(usual) > 1 else labels
    healthy = next((label for label in labels if _HEALTHY & _words(label)), None)
    disease = next((label for label in reversed(labels) if _ILL & _words(label) and label != healthy), None)
    if healthy is None:
        others = [label for label in labels if label != disease]
        healthy = others[0] if len(labels) == 2 else max(others, key=lambda label: rows[label])
    if disease is None:
        # Of 0, 1 and 2, or 1 and 2, the last is usually the worst.
        disease = [label for label in labels if label != healthy][-1]
    return healthy, disease, True


def _words(label: str) -> set[str]:
    return {label.strip().casefold(), *tokens(label)}


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
        "learned. For an outcome that is yes or no, make a column of two labels by a threshold."
    )
    found = [Finding("target", (cells.name,), sentence, (("--outcome", "number"),), True)]
    if cells.n_missing:
        sentence = f"{plural(cells.n_missing, 'row')} without a number in {name}: leave them out of the file."
        found.append(Finding("target missing", (cells.name,), sentence))
    return found


def find_target(facts: TargetFacts, n_rows: int) -> list[Finding]:
    """What there is to say about the labels."""
    name, shown = quoted(facts.name), listed([f"{quoted(t, 30)} ({c})" for t, c in facts.labels], 10)
    if facts.disease is None:
        held = f"it holds {shown}" if facts.labels else "it holds many values"
        sentence = (
            f"The target {name} is no yes/no answer: {held}. Make a column of two labels, such as above and "
            "below a threshold, or dead and alive at a fixed time."
        )
        return [Finding("target", (facts.name,), sentence)]
    assert facts.healthy is not None
    found = []
    options: tuple[tuple[str, ...], ...] = (("--positive", facts.disease),)
    if facts.others or facts.n_missing:
        options += (("--negative", facts.healthy),)
    if facts.open:
        sentence = (
            f"The target {name} has {len(facts.labels)} labels: {shown}. They do not say which is the "
            "disease and which is health: say it with --positive and --negative. Rows with other labels are "
            f"left out. Until then {quoted(facts.disease, 30)} is taken for the disease and "
            f"{quoted(facts.healthy, 30)} for health in what is said here."
        )
        found.append(
            Finding("target", (facts.name,), sentence, (("--positive", LABEL), ("--negative", LABEL)), True)
        )
    elif facts.others:
        n_others = sum(count for _, count in facts.others)
        sentence = (
            f"The target {name} has {len(facts.labels)} labels: {shown}. {quoted(facts.disease, 30)} is "
            f"taken for the disease and {quoted(facts.healthy, 30)} for health, which is a guess: say it "
            f"with --positive and --negative. The {plural(n_others, 'row')} with other labels would be "
            "left out."
        )
        found.append(Finding("target", (facts.name,), sentence, options, True))
    elif facts.guessed:
        sentence = (
            f"The labels of the target {name}, {shown}, do not say which is the disease: "
            f"{quoted(facts.disease, 30)} is taken for it; turn --positive round if that is wrong."
        )
        found.append(Finding("target", (facts.name,), sentence, options, True))
    if facts.n_missing:
        options = () if facts.open else options
        sentence = f"{plural(facts.n_missing, 'row')} without a label in {name} would be left out."
        found.append(Finding("target missing", (facts.name,), sentence, options, bool(options)))
    ratio = None if facts.open else chosen_ratio(facts.n_cases, facts.n_cases + facts.n_controls)
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


def candidates(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[str]:
    """Columns that could be the target, those whose names say so first."""
    could = [
        cells
        for cells in columns
        if kinds[cells.name] == "binary"
        or (
            kinds[cells.name] in ("ordinal", "nominal")
            and says_end(cells.name)
            and cells.n_different <= MOST_LABELS
        )
    ]
    return [cells.name for cells in sorted(could, key=lambda cells: not says_end(cells.name))]
