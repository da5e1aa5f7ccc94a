"""The diagnosis: its labels as 0 and 1, and which of the two means disease.

One rule for all doors: what the user says; else what the labels say themselves, under the name of their
column where it has one. Where neither does, the command line asks, and Python takes the second in order and
warns.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..errors import InputError, LabelWarning
from ..files.cells import WORDS_FOR_MISSING, is_missing
from ..method.moments import ROWS_PER_CLASS
from ..method.table import Index
from ..wording import listed, one_line, plain, plural, quoted
from .from_frame import as_frame, diagnosis, own_name, refuse_other_order
from .labels import asks_who_is_well, is_known, place_of_disease, text_of
from .rules import NAMED_AT_MOST, Findings

# Labels that mean the same: several that are the disease, or numbers by a rule such as ``>=1``.

_RULE = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_HOLDS: dict[str, Callable[[Any, float], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">"}
OR = " or "


@dataclass(frozen=True)
class Rule:
    """Numbers on one side of a limit, such as ``>=1``."""

    sign: str
    limit: float

    @classmethod
    def of(cls, text: Any) -> Rule | None:
        """None of a text that is none."""
        found = _RULE.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(found[1], float(found[2]))

    @property
    def name(self) -> str:
        return f"{self.sign}{self.limit:g}"

    @property
    def opposite(self) -> str:
        """What the other numbers are called."""
        return f"{_OPPOSITE[self.sign]}{self.limit:g}"

    def holds(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(_HOLDS[self.sign](numbers.astype(np.float64), self.limit), dtype=bool)


def label_key(text: str) -> str:
    """What labels that mean the same have in common: 2 and 2.0, Yes and yes."""
    folded = text.strip().casefold()
    try:
        return text_of(float(folded))
    except ValueError:
        return folded


def group_name(labels: Iterable[Any]) -> str:
    """What several labels are called together."""
    return OR.join(text_of(label) for label in labels)


def may_be_called(positive: Any, disease: Any) -> bool:
    """Whether the disease of a parameter ``positive`` is called so: a label, several, or a rule."""
    if isinstance(positive, list):
        return bool(disease == (plain(positive[0]) if len(positive) == 1 else group_name(positive)))
    rule = Rule.of(positive)
    return bool(disease == positive or (rule is not None and disease == rule.name))


# --- in files: by their texts -----------------------------------------------------------------------------


def split_labels(texts: Sequence[str], unique: npt.NDArray[Any]) -> list[str]:
    """The single labels of options: commas part labels, but for those within one of the column's own."""
    keys = {label_key(text_of(label)) for label in unique}
    found = dict[str, None]()
    for text in texts:
        whole = label_key(text) in keys or Rule.of(text) is not None
        found |= dict.fromkeys(
            [text.strip()] if whole else [part.strip() for part in text.split(",") if part.strip()]
        )
    return list(found)


def members(
    texts: Sequence[str], unique: npt.NDArray[Any], there: Sequence[str], option: str, column: str
) -> npt.NDArray[np.bool_]:
    """(k,) which of the different labels of a column are of a group; ``there`` are the keys of used ones."""
    keys = [label_key(text_of(label)) for label in unique]
    found = np.zeros(len(unique), dtype=bool)
    for text in texts:
        rule = Rule.of(text)
        if label_key(text) in there:
            found |= np.array([key == label_key(text) for key in keys], dtype=bool)
        elif rule is not None and unique.dtype.kind in "iuf":
            found |= rule.holds(unique)
        else:
            why = "a rule for numbers, and" if rule is not None else "not a label of"
            which = "" if rule is not None else ", which"
            named = listed([quoted(text_of(label), 30) for label in unique], NAMED_AT_MOST)
            raise InputError(f"{option} {quoted(text)} is {why} {quoted(column)}{which} holds {named}.")
    return found


# --- in Python: by themselves -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Grouping:
    """Which labels are the disease, and what they and all others are called.

    Attributes
    ----------
    disease : the labels, or the rule.
    """

    disease: tuple[Any, ...] | Rule

    @classmethod
    def of(cls, positive: Any, labels: npt.NDArray[Any]) -> Grouping | None:
        """Of the parameter, among labels (n,); None where it is one label, or nothing."""
        rule = Rule.of(positive) if labels.dtype.kind in "iuf" else None
        if rule is not None:
            return cls(rule)
        if isinstance(positive, list | tuple | set | frozenset | np.ndarray):
            several = tuple(dict.fromkeys(plain(label) for label in positive))
            if not several:
                raise InputError("positive=[] names no label: which of them are the disease?")
            return cls(several)
        return None

    @property
    def name(self) -> Any:
        """What the disease is called: one label stays what it is."""
        if isinstance(self.disease, Rule):
            return self.disease.name
        return self.disease[0] if len(self.disease) == 1 else group_name(self.disease)

    def holds(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """(n,) which labels are the disease."""
        if isinstance(self.disease, Rule):
            return self.disease.holds(labels)
        return np.array([label in self.disease for label in labels.tolist()], dtype=bool)

    def refuse_unknown(self, classes: npt.NDArray[Any]) -> None:
        """Refuse labels that the target (k,) does not have."""
        if isinstance(self.disease, Rule):
            return
        unknown = [label for label in self.disease if label not in classes.tolist()]
        if unknown:
            has = listed([repr(plain(label)) for label in classes], NAMED_AT_MOST)
            raise InputError(
                f"positive={list(self.disease)!r}: {listed([repr(label) for label in unknown])} is not a "
                f"label of the target, which has {has}"
            )

    def classes(self, others: Sequence[Any]) -> np.ndarray:
        """(2,) what the others and the disease are called, given the different labels of the others."""
        if isinstance(self.disease, Rule):
            return np.array([self.disease.opposite, self.name])
        healthy = plain(others[0]) if len(others) == 1 else f"not {self.name}"
        both = np.array([healthy, self.name], dtype=object)
        return np.array(both.tolist()) if type(healthy) is type(self.name) else both


# Of numbers. More are no labels but a measurement.
MOST_LABELS = 10
# Kinds of arrays that scikit-learn takes for labels whatever they hold: truth values, whole numbers, texts.
PLAIN = "biuU"


@dataclass(frozen=True)
class Disease:
    """Which label is the disease: the label itself, its text, and how many rows carry it."""

    label: Any
    text: str
    n_cases: int


def warn_of_choice(classes: Iterable[Any], name: str, how_to_choose: str, stacklevel: int) -> list[str]:
    """Name the choice that was made for labels, the disease second, that do not say it themselves.

    The ``name`` is that of their column, if it has one; in ``how_to_choose``, {0} and {1} stand for the
    labels. Returns what was said, if anything.
    """
    if place_of_disease(classes, name) is not None:
        return []
    first, second = (repr(plain(label)) for label in classes)
    doubt = f" of {quoted(name)}, which by its name may say who is well," if asks_who_is_well(name) else ""
    said = (
        f"the labels {first} and {second}{doubt} do not say which of them is the disease: {second} is taken "
        f"for it, since it comes second in order; {how_to_choose.format(first, second)}"
    )
    warnings.warn(said, LabelWarning, stacklevel=stacklevel + 1)
    return [said]


def one_spelling(labels: Iterable[str]) -> dict[str, str | None]:
    """What each label counts as: without blanks around it, "Yes" as "yes", and words for missing as None."""
    words_for_missing = set(WORDS_FOR_MISSING)
    stripped = {label: label.strip() for label in set(labels)}
    folded = {text.casefold() for text in stripped.values() if text not in words_for_missing}
    known = len(folded) <= 2 and all(map(is_known, folded))
    return {
        label: None if text in words_for_missing else text.casefold() if known else text
        for label, text in stripped.items()
    }


def choose_counted(
    unique: npt.NDArray[Any], counts: npt.NDArray[Any], target: str, positive: str | None
) -> Disease:
    """Decide which of the two labels is the disease; labels that do not say so themselves need `positive`.

    Each label is given once, with its rows counted.
    """
    texts = [text_of(label) for label in unique]
    named = [
        f"{quoted(text, 30)} ({plural(int(count), 'row')})" for text, count in zip(texts, counts, strict=True)
    ]
    numbers = unique.dtype.kind in "iuf"
    if len(unique) > MOST_LABELS and numbers:
        raise InputError(
            f"the target {quoted(target)} holds {len(unique)} different numbers, from {texts[0]} to "
            f"{texts[-1]}: if the number itself is the outcome, add --outcome continuous. For an outcome "
            "that is yes or no give a limit, as in --positive '>=60'; for the time to an event use --time "
            "and --event in place of --target."
        )
    if len(unique) > 2 and positive is not None and label_key(positive) in map(label_key, texts):
        raise InputError(
            f"the target {quoted(target)} holds {len(unique)} labels: {listed(named)}; beside --positive "
            f"{one_line(positive, 30)}, say which of the others are the controls: add --negative LABEL, many "
            "times for several."
        )
    if len(unique) != 2:
        found = (
            f"only one label, {named[0]}"
            if len(unique) == 1
            else f"{len(unique)} labels: {listed(named)}; choose two with --positive LABEL --negative LABEL"
            + (" or, if the number itself is the outcome, add --outcome continuous" if numbers else "")
            + "; several labels that mean the same are given one by one"
        )
        raise InputError(f"the target {quoted(target)} must hold two labels, but it holds {found}.")
    if positive is None:
        place = place_of_disease(unique, target)
        if place is None:
            doubt = ", and by its name it may say who is well" if asks_who_is_well(target) else ""
            raise InputError(
                f"the target {quoted(target)} holds {named[0]} and {named[1]}{doubt}: "
                "say which one is the disease with --positive LABEL."
            )
        wanted = texts[place]
    else:
        wanted = positive if positive in texts else positive.strip().casefold()
    matches = [k for k in range(2) if texts[k] == wanted]
    if not matches:
        raise InputError(
            f"--positive {quoted(positive)} is not a label of {quoted(target)}, "
            f"which holds {named[0]} and {named[1]}."
        )
    return Disease(label=unique[matches[0]].item(), text=texts[matches[0]], n_cases=int(counts[matches[0]]))


def two_groups(
    labels: npt.NDArray[Any],
    missing: npt.NDArray[np.bool_],
    target: str,
    positive: Sequence[str],
    negative: Sequence[str],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """(n,) each: labels with the two groups in one spelling each, and where there is another one.

    One label stays itself; several are called by all of them. Without a ``negative``, a rule for numbers
    takes all others, and labels the only other one.
    """
    unique, codes = np.unique(labels, return_inverse=True)
    used = np.unique(codes[~missing])
    keys = [label_key(text_of(label)) for label in unique]
    there = [keys[code] for code in used]
    texts = split_labels(positive, unique[used]), split_labels(negative, unique[used])
    options = ("--positive", "--negative")
    groups = [
        members(some, unique, there, option, target) for some, option in zip(texts, options, strict=True)
    ]
    names = [called(some) for some in texts]
    if not negative:
        left = ~groups[0] & np.isin(np.arange(unique.size), used)
        rule = Rule.of(texts[0][0]) if len(texts[0]) == 1 else None
        if rule is None and len({key for key, is_left in zip(keys, left, strict=True) if is_left}) != 1:
            return labels, np.zeros(labels.size, dtype=bool)  # what the controls are is asked for elsewhere
        groups[1] = left
        names[1] = rule.opposite if rule is not None else text_of(unique[left][0])
    _refuse_both(unique, groups, target)
    others = ~missing & ~(groups[0] | groups[1])[codes]
    single = not any(len(some) > 1 or Rule.of(some[0]) for some in texts if some)
    if single and labels.dtype.kind != "U":
        return labels, others
    spelled = np.array([text_of(label) for label in unique], dtype=object)
    for group, name in zip(groups, names, strict=True):
        spelled[group] = name
    return spelled.astype(np.str_)[codes], others


def called(texts: Sequence[str]) -> str:
    """What the labels of an option are called together."""
    rule = Rule.of(texts[0]) if len(texts) == 1 else None
    return group_name(texts) if rule is None else rule.name


def _refuse_both(unique: npt.NDArray[Any], groups: Sequence[npt.NDArray[np.bool_]], target: str) -> None:
    both = [quoted(text_of(label), 30) for label in unique[groups[0] & groups[1]]]
    if both:
        raise InputError(
            f"{listed(both)} of {quoted(target)} {'is' if len(both) == 1 else 'are'} both --positive and "
            "--negative: a label is of one of them."
        )


def labels_of(X: Any, y: Any, name: str = "y") -> Any:
    """The outcome that y gives or, for AnnData, names. Labels are matched to rows by their place.

    A dask Series is matched by its index; so that both mean the same, an index that is that of X in another
    order is refused.
    """
    y = diagnosis(X, y)
    if not isinstance(y, np.ndarray):
        refuse_other_order(X, y, name, "labels")
    return y


def encode_target(y: Any, positive: Any, n_rows: int, findings: Findings) -> tuple[Index, np.ndarray]:
    """Labels as 0 and 1, and the two classes; the second is the disease. Missing labels are noted."""
    labels, missing = row_labels(y, n_rows)
    with findings.noting():
        refuse_unlabelled(int(missing.sum()))
    labels = of_one_kind(labels[~missing])
    grouping = Grouping.of(positive, labels)
    if grouping is not None:
        return _encode_grouped(labels, grouping)
    with _as_input_error():
        if labels.dtype.kind not in PLAIN:
            check_classification_targets(labels)
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    chosen = choose_classes(classes, counts, own_name(y), positive)
    return (codes if chosen[0] == classes[0] else 1 - codes).astype(np.intp), chosen


def _encode_grouped(labels: np.ndarray, grouping: Grouping) -> tuple[Index, np.ndarray]:
    """Labels (n,) as 0 and 1, and what both groups are called."""
    with _as_input_error():
        different, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    ill, classes = choose_groups(different, counts, grouping)
    return ill[codes].astype(np.intp), classes


def choose_groups(
    labels: np.ndarray, counts: np.ndarray, grouping: Grouping
) -> tuple[npt.NDArray[np.bool_], np.ndarray]:
    """(k,) which of the different labels are the disease, and what both groups are called."""
    grouping.refuse_unknown(labels)
    ill = grouping.holds(labels)
    if ill.all() or not ill.any():
        which = "all labels" if ill.all() else "no label"
        raise InputError(f"positive={grouping.name!r} takes {which} of the target: choose others")
    classes = grouping.classes(labels[~ill].tolist())
    refuse_few_of_a_class(classes, np.array([counts[~ill].sum(), counts[ill].sum()]))
    return ill, classes


def encode_known(y: Any, classes: np.ndarray, n_rows: int, positive: Any = None) -> Index:
    """Labels of new patients as 0 and 1, by the classes of the model; all may be of one class.

    ``positive`` is that of the fit: of several labels, all others than those of the disease are none.
    """
    labels, missing = row_labels(y, n_rows)
    refuse_unlabelled(int(missing.sum()))
    labels = of_one_kind(labels)
    grouping = Grouping.of(positive, labels)
    if grouping is not None:
        ill = grouping.holds(labels)
        if isinstance(grouping.disease, Rule) or classes[0] == f"not {grouping.name}":
            return ill.astype(np.intp)
        labels = np.where(ill, classes[1], labels.astype(object))
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in classes.tolist()]
    if unknown:
        healthy, disease = (repr(plain(c)) for c in classes)
        raise InputError(
            f"y holds {listed([repr(label) for label in unknown])}: the model knows the labels {healthy} and "
            f"{disease}"
        )
    return (labels == classes[1]).astype(np.intp)


def row_labels(y: Any, n_rows: int, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """(n,) each: one label a row, and where there is none."""
    if y is None:
        raise InputError(f"requires {name} to be passed, but the target {name} is None")
    with _as_input_error():
        labels = _target_values(y)
        kind = getattr(labels, "dtype", np.dtype(object)).kind
        if kind == "c":
            raise InputError(f"{name} holds complex numbers. Complex data not supported")
        if type(labels) is not np.ndarray or labels.ndim != 1 or kind not in PLAIN + "f":
            labels = column_or_1d(labels, warn=True)
    if labels.size != n_rows:
        raise InputError(f"X has {n_rows} rows but {name} has {labels.size}: inconsistent numbers of samples")
    if labels.dtype.kind == "f":
        return labels, np.isnan(labels)
    if labels.dtype.kind != "O":
        return labels, np.zeros(n_rows, dtype=bool)
    return labels, np.fromiter(map(is_missing, labels), dtype=bool, count=n_rows)


@contextmanager
def _as_input_error() -> Iterator[None]:
    """What scikit-learn and NumPy say of odd labels, as an error that others can be noted beside."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from error


def of_one_kind(labels: np.ndarray) -> np.ndarray:
    """Truth values as such, if all are."""
    # Truth values that stood beside gaps may still come as objects, which scikit-learn takes for no labels.
    truth = labels.dtype == object and set(map(type, labels)) <= {bool, np.bool_}
    return labels.astype(bool) if truth else labels


def refuse_unlabelled(gone: int) -> None:
    if gone:
        raise InputError(f"the target y has {gone} missing value(s) (NaN): drop these rows")


def choose_classes(classes: np.ndarray, counts: np.ndarray, name: str, positive: Any) -> np.ndarray:
    """The two labels, the disease second; ``classes`` are sorted, ``counts`` their rows.

    Their column may have a ``name``. The disease is ``positive``; without it the label that says so itself,
    or else the second in order.
    """
    if classes.size != 2:
        shown = listed([repr(plain(c)) for c in classes], NAMED_AT_MOST)
        raise InputError(
            "the target needs exactly two classes, disease and healthy; it has "
            f"{_count(classes.size)}: {shown}. Only binary classification is supported."
        )
    refuse_few_of_a_class(classes, counts)
    if positive is not None:
        if positive not in classes.tolist():
            first, second = (repr(plain(c)) for c in classes)
            raise InputError(
                f"positive={positive!r} is not a label of the target, which has {first} and {second}"
            )
        return classes[::-1] if positive == classes[0] else classes
    return classes[::-1] if place_of_disease(classes, name) == 0 else classes


def refuse_few_of_a_class(classes: np.ndarray, counts: np.ndarray) -> None:
    for label, count in zip(classes, counts, strict=True):
        if count < ROWS_PER_CLASS:
            raise InputError(
                f"only one row has the label {plain(label)!r}: at least two of each class are needed"
            )


def _target_values(y: Any) -> Any:
    if isinstance(y, np.ndarray):
        return y
    if nw.dependencies.is_into_series(y):
        return nw.from_native(y, series_only=True).to_numpy()
    frame = as_frame(y)
    return y if frame is None else frame.to_numpy()


def _count(classes: int) -> str:
    return "one class" if classes == 1 else f"{classes} classes"
