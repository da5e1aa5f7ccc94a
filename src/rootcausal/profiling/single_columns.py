"""What single columns are that cannot be fitted, or not as they would be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from ..files.cells import says_missing
from ..inputs.kinds import MOST_LEVELS, TOO_MANY_LEVELS, variable_of_counts
from ..inputs.ranges import order_of_ranges
from ..inputs.rules import MOSTLY_MISSING
from ..name_hints.columns import says_codes, says_id, says_order, says_patient, says_person, says_site
from ..name_hints.exogenous import says_age, says_unchanging
from ..name_hints.words import tokens, words
from ..wording import amount, listed, one_line, plural, quoted
from .column_types import FITTED, Shape, is_row_number
from .counts import Counted, as_text
from .duplicates import keys_of
from .findings import Finding, by_number, columns_in_words, dropping
from .missing_codes import not_known

# Of a column that is mostly missing: fewer values are those of any other column by chance.
FEWEST_VALUES = 5
# In the line, where nobody but the user knows which column it is.
COLUMN = "COLUMN"
# Of counts, most values are no more common than the one before.
MOSTLY_FALLING = 0.8
# Of patients whose sex or year of birth was mistyped there are fewer.
SHARE_MISTYPED = 0.1
# Nobody is followed for longer.
LONGEST_YEARS = 30.0
# A whole name, without what may stand beside it, and the range in which living patients are.
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("age", "ageyears", "ageyrs", "patientage"), (0, 125)),
    **dict.fromkeys(
        ("sbp", "sysbp", "systolic", "systolicbp", "systolicbloodpressure", "bpsys", "aphi"), (30, 330)
    ),
    **dict.fromkeys(
        ("dbp", "diabp", "diastolic", "diastolicbp", "diastolicbloodpressure", "bpdia", "aplo"), (10, 220)
    ),
    **dict.fromkeys(("bp", "bloodpressure", "trestbps", "restbp", "map"), (10, 330)),
    **dict.fromkeys(("heartrate", "pulse", "hr", "heartrte", "pulserate"), (10, 350)),
    **dict.fromkeys(("bmi", "bodymassindex"), (7, 130)),
    **dict.fromkeys(("spo2", "sao2", "oxygensaturation", "lvef", "ejectionfraction"), (0, 100)),
}
_BESIDE = words(
    "at baseline bl admission entry visit exam diagnosis dx patient in years yrs mmhg rest resting"
)
# Where more are outside, the column is in another unit, such as an age in days.
_MOST_OUTSIDE = 0.05


def find_ids(
    columns: Sequence[Counted], kinds: dict[str, Shape], chosen: str | None, table: object
) -> list[Finding]:
    """Ids: one of them names the patients (``chosen`` where the user says which), the others are left out."""
    ids = [cells for cells in columns if kinds[cells.name] == "id"]
    patient = chosen
    if patient is None:
        could = [cells for cells in ids if cells.name.strip() and not says_site(cells.name)]
        named = [cells for cells in could if says_id(cells.name)]
        texts = [cells for cells in could if cells.form == "text" and not says_person(cells.name)]
        best = sorted(named, key=lambda cells: not says_patient(cells.name)) or texts
        patient = best[0].name if best else None
    found = []
    for cells in ids:
        if cells.name == patient:
            found.append(_of_patients(cells, columns, table, believed=cells.name == chosen))
    rest = [cells for cells in ids if cells.name != patient]
    nameless = tuple(cells.name for cells in rest if not cells.name.strip())
    numbers = tuple(cells.name for cells in rest if cells.name.strip() and is_row_number(cells))
    others = tuple(cells.name for cells in rest if cells.name not in (*nameless, *numbers))
    if nameless:
        sentence = "A column has no name, as an exported row index has none: no variable."
        found.append(Finding("no name", nameless, sentence, dropping(nameless), True))
    if numbers:
        counts = by_number(numbers, "counts", "count")
        sentence = f"{columns_in_words(numbers)} {counts} the rows: no variable."
        found.append(Finding("row number", numbers, sentence, dropping(numbers), True))
    if others:
        looks = by_number(others, "looks like an id", "look like ids")
        sentence = (
            f"{columns_in_words(others)} {looks} (different in every row, rising with the rows, or named "
            "so): no variable."
        )
        found.append(Finding("id", others, sentence, dropping(others), True))
    return found


def _of_patients(cells: Counted, columns: Sequence[Counted], table: object, believed: bool) -> Finding:
    name, option = cells.name, (("--id", cells.name),)
    n_ids = cells.n_different + len(cells.strange)
    if n_ids >= cells.n_observed:
        sentence = f"Column {quoted(name)} holds ids: it names the patients and is no variable."
        return Finding("id", (name,), sentence, option, True)
    of_id = np.unique(keys_of(cells, table), return_inverse=True)[1]
    differ = differing(of_id, columns)
    if differ:
        site = unique_within(of_id, columns)
        within = f"is an id unique only within {quoted(site)}" if site else "does it name patients"
        make = (
            f"a column of {quoted(name)} and {quoted(site)} together" if site else "one that names patients"
        )
        sentence = (
            f"{plural(cells.n_rows, 'row')} of {plural(n_ids, 'id')} (column {quoted(name)}), but "
            + listed([f"{quoted(one)} (in {count})" for one, count in differ.items()])
            + f" {by_number(tuple(differ), 'differs', 'differ')} within ids, as in no patient: {within}? "
            + f"Put {make} into the file, and name that one with --id."
        )
        options = option if believed else (("--id", COLUMN), ("--drop", name))
        return Finding("repeated patients", (name, *differ), sentence, options, True)
    return Finding(
        "repeated patients",
        (name,),
        f"{plural(cells.n_rows, 'row')} of {plural(n_ids, 'patient')} (column {quoted(name)}): rows of one "
        "patient are no new evidence. With --id, resamples are of patients; keeping one row of each is "
        "better still.",
        option,
        True,
    )


def find_dates(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    names = _of_kind(columns, kinds, "date")
    if not names:
        return []
    return [
        Finding(
            "date",
            names,
            f"{columns_in_words(names, by_example(columns))} {by_number(names, 'is a date', 'are dates')}: "
            "when something was written down is no measurement. If the time between two dates matters, make "
            "a column of it; one that --keep names is counted in days since the first.",
            dropping(names),
            True,
        )
    ]


def find_unclear_commas(examples: Mapping[str, str]) -> list[Finding]:
    """Numbers with commas of which nobody knows what they separate, each column with an example."""
    names = tuple(examples)
    if not names:
        return []
    shown = columns_in_words(names, lambda name: quoted(examples[name]))
    return [
        Finding(
            "unclear commas",
            names,
            f"{shown} {by_number(names, 'has', 'have')} numbers with a comma that may be a decimal comma or "
            f"one between thousands: write them without commas to fit {by_number(names, 'it', 'them')}.",
            dropping(names),
            True,
        )
    ]


def find_texts(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    names = _of_kind(columns, kinds, "text")
    if not names:
        return []
    counts = {cells.name: cells.n_different for cells in columns}
    shown = columns_in_words(names, lambda name: plural(counts[name], "different text"))
    return [
        Finding(
            "free text",
            names,
            f"{shown} {by_number(names, 'has', 'have')} {TOO_MANY_LEVELS}. Group them in the file, as small "
            f"sites into one; if {by_number(names, 'it is', 'they are')} free text, leave "
            f"{by_number(names, 'it', 'them')} out.",
            dropping(names),
            True,
        )
    ]


def find_people(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that hold the names of people, few as they may be."""
    names = tuple(
        cells.name
        for cells in columns
        if cells.form == "text" and kinds[cells.name] in FITTED and says_person(cells.name)
    )
    if not names:
        return []
    holds = by_number(names, "holds the names of people", "hold the names of people")
    sentence = f"{columns_in_words(names, by_example(columns))} {holds}: no variable."
    return [Finding("names of people", names, sentence, dropping(names), True)]


def find_sites(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that say where patients were seen, if there are others beside them."""
    fitted = [cells for cells in columns if kinds[cells.name] in FITTED]
    names = tuple(
        cells.name
        for cells in fitted
        if says_site(cells.name) and cells.n_different <= MOST_LEVELS and not _is_count(cells)
    )
    if not names or len(names) == len(fitted):
        return []
    says = by_number(names, "says where patients were seen", "say where patients were seen")
    sentence = (
        f"{columns_in_words(names)} {says}: what differs between sites, such as whom they see and how they "
        f"measure, is no shock of a patient. As {by_number(names, 'a covariate', 'covariates')}, "
        f"{by_number(names, 'it is', 'they are')} in the risk, and never a root cause."
    )
    return [Finding("site", names, sentence, tuple(("--covariate", name) for name in names), True)]


def _is_count(cells: Counted) -> bool:
    """Whether whole numbers say how often: mostly 0, and the larger the fewer."""
    if not cells.whole or cells.different[0] != 0 or isinstance(cells.different[0], bool):
        return False
    few_first = bool((cells.counts[:-1] >= cells.counts[1:]).mean() >= MOSTLY_FALLING)
    return few_first and 2 * int(cells.counts[0]) >= cells.n_observed


def find_empty(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that hold nothing, or the same everywhere."""
    found = []
    empty = _of_kind(columns, kinds, "empty")
    if empty:
        sentence = f"{columns_in_words(empty)} {by_number(empty, 'is', 'are')} empty in every row."
        found.append(Finding("empty", empty, sentence, dropping(empty), True))
    same = _of_kind(columns, kinds, "constant")
    if same:
        shown = columns_in_words(same, by_example(columns))
        sentence = f"{shown} {by_number(same, 'holds', 'hold')} one value only."
        found.append(Finding("constant", same, sentence, dropping(same), True))
    return found


def find_mostly_missing(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    fitted = [cells for cells in columns if kinds[cells.name] in FITTED]
    gone = {cells.name: int((cells.missing | not_known(cells)).sum()) for cells in fitted}
    some = [cells for cells in fitted if gone[cells.name] >= MOSTLY_MISSING * cells.n_rows]
    few = tuple(cells.name for cells in some if cells.n_rows - gone[cells.name] < FEWEST_VALUES)
    found = []
    if few:
        has = by_number(few, "has", "have")
        sentence = f"{columns_in_words(few)} {has} fewer than {FEWEST_VALUES} values: nothing can be learned."
        found.append(Finding("nearly empty", few, sentence, dropping(few), True))
    names = tuple(cells.name for cells in some if cells.name not in few)
    if not names:
        return found
    shares = {cells.name: f"{gone[cells.name] / cells.n_rows:.0%}" for cells in some}
    return [
        *found,
        Finding(
            "mostly missing",
            names,
            f"{columns_in_words(names, shares.__getitem__)} {by_number(names, 'is', 'are')} mostly missing: "
            f"what is said of {by_number(names, 'it', 'them')} would lean on filled-in values.",
            dropping(names),
        ),
    ]


def find_too_large(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    names = tuple(
        cells.name
        for cells in columns
        if cells.numbers is not None
        and kinds[cells.name] in FITTED
        and max(abs(cells.different[0]), abs(cells.different[-1])) > LARGEST
    )
    if not names:
        return []
    sentence = (
        f"{columns_in_words(names)} {by_number(names, 'has', 'have')} values that are infinite or "
        "too large to compute with: correct them in the file."
    )
    return [Finding("too large", names, sentence, dropping(names), True)]


def find_kinds(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns whose name, or whose levels, say another kind than the guess."""
    found = []
    codes = tuple(
        cells.name
        for cells in columns
        if says_codes(cells.name)
        and not _is_count(cells)
        and cells.whole
        and kinds[cells.name] in ("number", "ordinal")
        and 2 < cells.n_different <= MOST_LEVELS
    )
    if codes:
        found.append(
            Finding(
                "codes",
                codes,
                f"{columns_in_words(codes)} {by_number(codes, 'holds', 'hold')} whole numbers that by "
                "the name are codes without an order, not amounts.",
                tuple(("--kind", f"{name}=nominal") for name in codes),
                True,
            )
        )
    nominal = [cells for cells in columns if kinds[cells.name] == "nominal" and cells.form == "text"]
    ordered = {cells.name: order for cells in nominal if (order := _order_of(cells))}
    if ordered:
        names = tuple(ordered)
        shown = columns_in_words(names, lambda name: " < ".join(one_line(text, 20) for text in ordered[name]))
        sentence = f"{shown} {by_number(names, 'has', 'have')} levels that say an order."
        options = tuple(("--kind", f"{name}=ordinal") for name in names)
        found.append(Finding("order", names, sentence, options, True))
    return found


def _order_of(cells: Counted) -> tuple[str, ...]:
    """The levels from low to high where these or the name say that they have an order; else none."""
    levels = [str(level) for level in cells.different if not says_missing(str(level))]
    says = says_order(cells.name) or all(map(says_order, levels)) or order_of_ranges(levels) is not None
    if len(levels) < 3 or not says or "=" in cells.name:
        return ()
    try:
        return tuple(map(str, variable_of_counts(cells.name, dict.fromkeys(levels, 1), "ordinal").levels))
    except InputError:
        return ()


def _of_kind(columns: Sequence[Counted], kinds: dict[str, Shape], kind: Shape) -> tuple[str, ...]:
    return tuple(cells.name for cells in columns if kinds[cells.name] == kind)


def by_example(columns: Sequence[Counted]) -> Callable[[str], str]:
    """What to say of a column in brackets: a value that it holds."""
    by_name = {cells.name: cells for cells in columns}
    return lambda name: (
        quoted(as_text(by_name[name].different[0]), 20) if by_name[name].different else "empty"
    )


def differing(of_id: Index, columns: Sequence[Counted]) -> dict[str, int]:
    """Columns that cannot change in a patient and do so within ids (n,), with the number of those ids.

    Not where so few ids are concerned that it may be typing errors. Ages alone are no sign: children may be
    followed for so many months.
    """
    order = np.argsort(of_id, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of_id[order]) != 0])
    n_repeated = int((np.diff(np.r_[starts, of_id.size]) > 1).sum())
    found: dict[str, int] = {}
    for cells in columns:
        allowed = 0.0 if says_unchanging(cells.name) else LONGEST_YEARS if says_age(cells.name) else None
        values = _values(cells)
        if allowed is None or values is None:
            continue
        with np.errstate(invalid="ignore"):  # infinite ends
            spans = np.fmax.reduceat(values[order], starts) - np.fmin.reduceat(values[order], starts)
            n_ids = int((spans > allowed).sum())
        if n_ids > max(1.0, SHARE_MISTYPED * n_repeated):
            found[cells.name] = n_ids
    return found if any(map(says_unchanging, found)) else {}


def unique_within(of_id: Index, columns: Sequence[Counted]) -> str | None:
    """The site within which each id (n,) can be one patient, if there is one."""
    for site in columns:
        if site.codes is not None and says_site(site.name):
            both = of_id * (len(site.different) + 1) + site.codes + 1
            if not differing(both, columns):
                return site.name
    return None


def _values(cells: Counted) -> F64 | None:
    """(n,) numbers that differ where the cells do, NaN where missing; None of texts with many values."""
    if cells.numbers is not None or cells.codes is None:
        return cells.numbers
    return np.where(cells.codes < 0, np.nan, cells.codes.astype(np.float64))


def find_implausible(columns: Sequence[Counted]) -> list[Finding]:
    """Columns with a few values that nobody can have."""
    found = {cells.name: said for cells in columns if (said := _outside(cells))}
    if not found:
        return []
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)} {by_number(names, 'holds', 'hold')} values that no "
        "patient can have in the usual unit: correct them in the file, or take them out. A single one can "
        "bend what is learned."
    )
    return [Finding("implausible", names, sentence)]


def _outside(cells: Counted) -> str:
    """What is outside, in words; empty where nothing is."""
    if cells.numbers is None or cells.n_observed == 0:
        return ""
    name = "".join(word for word in tokens(cells.name) if word not in _BESIDE)
    if name not in _RANGES:
        return ""
    low, high = _RANGES[name]
    known = cells.numbers[~np.isnan(cells.numbers)]
    outside = known[(known < low) | (known > high)]
    if not outside.size or outside.size > _MOST_OUTSIDE * known.size:
        return ""
    some = " and ".join(dict.fromkeys(amount(float(x)) for x in (outside.min(), outside.max())))
    return f"{plural(outside.size, 'cell')} such as {some}, outside {amount(low)} to {amount(high)}"
