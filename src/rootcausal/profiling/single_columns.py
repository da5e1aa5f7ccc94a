"""What single columns are that cannot be fitted, or not as they would be taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..errors import InputError
from ..files.cells import says_missing
from ..inputs.kinds import MOST_LEVELS, TOO_MANY_LEVELS, order_of_ranges, variable_of_counts
from ..inputs.roles import differing, in_words, unique_within
from ..inputs.rules import MOSTLY_MISSING
from ..method.table import F64, LARGEST, Index
from ..name_hints.columns import (
    says_codes,
    says_end,
    says_first,
    says_id,
    says_order,
    says_patient,
    says_person,
    says_site,
    tokens,
    words,
)
from ..wording import amount, listed, one_line, plural, quoted
from .column_types import FITTED, Counted, Shape, as_text, is_row_number
from .duplicates import keys_of
from .findings import Finding, about
from .missing_codes import not_known

# Of a column that is mostly missing: fewer values are those of any other column by chance.
FEWEST_VALUES = 5
# In the line, where nobody but the user knows which column it is.
COLUMN = "COLUMN"
# Of counts, most values are no more common than the one before.
MOSTLY_FALLING = 0.8
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
# With fewer, what a site adds to the risk is mostly chance.
PATIENTS_A_SITE = 15

# Fewer ids may have each level of a column once by chance; and of these so many must have all levels.
FEWEST_IDS = 10
NEARLY_EVERY = 0.9
# Two rows of a patient may be two eyes, or two events.
ROWS_OF_VISITS = 3
# Of rows that are no intervals of follow-up.
ONE_OF_EACH = "; keeping one row of each is better still"


def find_ids(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    chosen: str | None,
    table: object,
    intervals: bool = False,
    time: Counted | None = None,
) -> list[Finding]:
    """Ids: one of them names the patients (``chosen`` where the user says which), the others are left out.

    Rows may be ``intervals`` of the follow-up of a patient, or each know all of it (``time``).
    """
    ids = [cells for cells in columns if kinds[cells.name] == "id"]
    patient = chosen
    if patient is None:
        could = [cells for cells in ids if cells.name.strip() and not says_site(cells.name)]
        named = [cells for cells in could if says_id(cells.name)]
        texts = [cells for cells in could if cells.form == "text" and not says_person(cells.name)]
        best = sorted(named, key=lambda cells: not says_patient(cells.name)) or texts
        patient = best[0].name if best else None
    found = [
        _of_patients(cells, columns, table, cells.name == chosen, intervals, time)
        for cells in ids
        if cells.name == patient
    ]
    rest = [cells for cells in ids if cells.name != patient]
    nameless = [cells.name for cells in rest if not cells.name.strip()]
    numbers = [cells.name for cells in rest if cells.name.strip() and is_row_number(cells)]
    others = [cells.name for cells in rest if cells.name not in (*nameless, *numbers)]
    return [
        *found,
        *about("no name", nameless, "A column has no name, as an exported row index has none: no variable."),
        *about("row number", numbers, "{columns} {names:counts|count} the rows: no variable."),
        *about(
            "id",
            others,
            "{columns} {names:looks like an id|look like ids} (different in every row, rising with the rows, "
            "or named so): no variable.",
        ),
    ]


def _of_patients(
    cells: Counted,
    columns: Sequence[Counted],
    table: object,
    believed: bool,
    intervals: bool,
    time: Counted | None,
) -> Finding:
    name, option = cells.name, (("--id", cells.name),)
    n_ids = cells.n_different + len(cells.strange)
    if n_ids >= cells.n_observed:
        sentence = f"Column {quoted(name)} holds ids: it names the patients and is no variable."
        return Finding("id", (name,), sentence, option, True)
    of_id = np.unique(keys_of(cells, table), return_inverse=True)[1]
    numbers = {one.name: partial(_values, one) for one in columns}
    differ = differing(of_id, numbers)
    if differ:
        sites = {one.name: one.codes for one in columns if one.codes is not None}
        site = unique_within(of_id, numbers, sites)
        within = f"is an id unique only within {quoted(site)}" if site else "does it name patients"
        make = (
            f"a column of {quoted(name)} and {quoted(site)} together" if site else "one that names patients"
        )
        sentence = (
            f"{plural(cells.n_rows, 'row')} of {plural(n_ids, 'id')} (column {quoted(name)}), but "
            f"{in_words(differ)}: {within}? Put {make} into the file, and name that one with --id."
        )
        options = option if believed else (("--id", COLUMN), ("--drop", name))
        return Finding("repeated patients", (name, *differ), sentence, options, True)
    parts = [] if intervals else _parts_of_patients(of_id, columns)
    # The arm of a trial, or what nothing measured can cause: rows of one level would be no trial any more.
    arms = [one for one in parts if says_first(one)]
    parts = [one for one in parts if one not in arms]
    keep_one = "" if intervals or arms else ONE_OF_EACH
    sentence = (
        f"{plural(cells.n_rows, 'row')} of {plural(n_ids, 'patient')} (column {quoted(name)}): rows of one "
        f"patient are no new evidence. With --id, resamples are of patients{keep_one}."
    )
    if time is not None and not intervals and not arms and _same_within(of_id, time):
        sentence += (
            f" All rows of a patient have the same {quoted(time.name)}: what was measured at a later visit "
            "comes after time 0, and only who lived until then has such a row (immortal time bias). Keep the "
            "first row of each in the file, or make rows from start to stop (--start)."
        )
    elif arms:
        shown = listed([quoted(one) for one in arms], 3)
        sentence += (
            f" Nearly every patient has one row for each level of {shown}, as of a treated and an untreated "
            "eye: keep them all, and name the patients with --id."
        )
    elif parts:
        shown = listed([quoted(one) for one in parts], 3)
        sentence += (
            f" Nearly every patient has one row for each level of {shown}, as of several events or visits: "
            "keep the rows of one level in the file, or the model mixes them."
        )
    # Of what says which visit a row is, it is not asked again whether it came after the outcome.
    visits = tuple(("--drop", one) for one in parts if says_end(one))
    return Finding("repeated patients", (name, *arms, *parts), sentence, (*option, *visits), True)


def _same_within(of_id: Index, time: Counted) -> bool:
    """Whether a time is the same in all rows (n,) of a patient, of whom some have three rows or more."""
    if time.numbers is None or np.bincount(of_id).max() < ROWS_OF_VISITS:
        return False
    first = np.unique(of_id, return_index=True)[1]
    return bool((time.numbers == time.numbers[first][of_id]).all())


def _parts_of_patients(of_id: Index, columns: Sequence[Counted]) -> list[str]:
    """Columns of which patients (n,) have each level once: the two events of each, or the visits."""
    n_ids, found = int(of_id.max()) + 1, list[str]()
    for cells in columns:
        k = cells.n_different
        if cells.codes is None or k < 2 or n_ids < FEWEST_IDS or (cells.codes < 0).any():
            continue
        once = np.unique(of_id * k + cells.codes).size == of_id.size
        if once and of_id.size >= NEARLY_EVERY * n_ids * k:
            found.append(cells.name)
    return found


def find_dates(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    return about(
        "date",
        _with_example(columns, kinds, "date"),
        "{columns} {names:is a date|are dates}: when something was written down is no measurement. If the "
        "time between two dates matters, make a column of it; one that --keep names is counted in days since "
        "the first.",
    )


def find_unclear_commas(examples: Mapping[str, str]) -> list[Finding]:
    """Numbers with commas of which nobody knows what they separate, each column with an example."""
    return about(
        "unclear commas",
        {name: quoted(example) for name, example in examples.items()},
        "{columns} {names:has|have} numbers with a comma that may be a decimal comma or one between "
        "thousands: write them without commas to fit {names:it|them}.",
    )


def find_texts(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    texts = [cells for cells in columns if kinds[cells.name] == "text"]
    return about(
        "free text",
        {cells.name: plural(cells.n_different, "different text") for cells in texts},
        "{columns} {names:has|have} {too_many}. Group them in the file, as small sites into one; if "
        "{names:it is|they are} free text, leave {names:it|them} out.",
        too_many=TOO_MANY_LEVELS,
    )


def find_people(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that hold the names of people, few as they may be."""
    texts = [cells for cells in columns if cells.form == "text" and kinds[cells.name] in FITTED]
    found = {cells.name: _example(cells) for cells in texts if says_person(cells.name)}
    holds = "{columns} {names:holds the names of people|hold the names of people}: no variable."
    return about("names of people", found, holds)


def find_sites(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that say where patients were seen, if there are others beside them."""
    fitted = [cells for cells in columns if kinds[cells.name] in FITTED]
    names = tuple(
        cells.name
        for cells in fitted
        if says_site(cells.name) and cells.n_different <= MOST_LEVELS and not _is_count(cells)
    )
    if len(names) == len(fitted):
        return []
    seen = (
        "{columns} {names:says|say} where patients were seen: what differs between sites, such as whom they "
    )
    seen += "see and how they measure, is no shock of a patient. "
    small = [c.name for c in fitted if c.name in names and c.n_observed < PATIENTS_A_SITE * c.n_different]
    return [
        *about(
            "site",
            [name for name in names if name not in small],
            seen + "As {names:a covariate, it is|covariates, they are} in the risk, and never a root cause.",
            "--covariate",
        ),
        *about(
            "small sites",
            small,
            seen + "With so few patients at each, risks of new ones would be the worse for "
            "{names:it|them}: leave {names:it|them} out, or put small sites together in the file and take "
            "{names:it|them} for {names:a covariate|covariates}.",
        ),
    ]


def _is_count(cells: Counted) -> bool:
    """Whether whole numbers say how often: mostly 0, and the larger the fewer."""
    if not cells.whole or cells.different[0] != 0 or isinstance(cells.different[0], bool):
        return False
    few_first = bool((cells.counts[:-1] >= cells.counts[1:]).mean() >= MOSTLY_FALLING)
    return few_first and 2 * int(cells.counts[0]) >= cells.n_observed


def find_empty(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that hold nothing, or the same everywhere."""
    empty = [cells.name for cells in columns if kinds[cells.name] == "empty"]
    return [
        *about("empty", empty, "{columns} {names:is|are} empty in every row."),
        *about(
            "constant",
            _with_example(columns, kinds, "constant"),
            "{columns} {names:holds|hold} one value only.",
        ),
    ]


def find_mostly_missing(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    fitted = [cells for cells in columns if kinds[cells.name] in FITTED]
    gone = {cells.name: int((cells.missing | not_known(cells)).sum()) for cells in fitted}
    some = [cells for cells in fitted if gone[cells.name] >= MOSTLY_MISSING * cells.n_rows]
    few = [cells.name for cells in some if cells.n_rows - gone[cells.name] < FEWEST_VALUES]
    shares = {c.name: f"{gone[c.name] / c.n_rows:.0%}" for c in some if c.name not in few}
    return [
        *about(
            "nearly empty",
            few,
            "{columns} {names:has|have} fewer than {fewest} values: nothing can be learned.",
            fewest=FEWEST_VALUES,
        ),
        *about(
            "mostly missing",
            shares,
            "{columns} {names:is|are} mostly missing: what is said of {names:it|them} would lean on "
            "filled-in values.",
            in_line=False,
        ),
    ]


def find_too_large(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    names = [
        cells.name
        for cells in columns
        if cells.numbers is not None
        and kinds[cells.name] in FITTED
        and max(abs(cells.different[0]), abs(cells.different[-1])) > LARGEST
    ]
    return about(
        "too large",
        names,
        "{columns} {names:has|have} values that are infinite or too large to compute with: correct them in "
        "the file.",
    )


def find_kinds(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns whose name, or whose levels, say another kind than the guess."""
    codes = [
        cells.name
        for cells in columns
        if says_codes(cells.name)
        and not _is_count(cells)
        and cells.whole
        and kinds[cells.name] in ("number", "ordinal")
        and 2 < cells.n_different <= MOST_LEVELS
    ]
    nominal = [cells for cells in columns if kinds[cells.name] == "nominal" and cells.form == "text"]
    ordered = {cells.name: order for cells in nominal if (order := _order_of(cells))}
    numbered = [
        cells.name
        for cells in columns
        if cells.form == "text" and kinds[cells.name] == "ordinal" and cells.order is None
    ]
    return [
        *about(
            "codes",
            codes,
            "{columns} {names:holds|hold} whole numbers that by the name are codes without an order, not "
            "amounts.",
            "--kind",
            value="=nominal",
        ),
        *about(
            "order",
            {name: " < ".join(one_line(text, 20) for text in order) for name, order in ordered.items()},
            "{columns} {names:has|have} levels that say an order.",
            "--kind",
            value="=ordinal",
        ),
        *about(
            "order",
            numbered,
            "{columns} {names:has|have} levels that begin with a number, and {names:is|are} taken in that "
            "order. If the numbers are codes, say so.",
            "--kind",
            in_line=False,
            value="=nominal",
        ),
    ]


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


def _with_example(columns: Sequence[Counted], kinds: dict[str, Shape], kind: Shape) -> dict[str, str]:
    return {cells.name: _example(cells) for cells in columns if kinds[cells.name] == kind}


def _example(cells: Counted) -> str:
    """What to say of a column in brackets: a value that it holds."""
    return quoted(as_text(cells.different[0]), 20) if cells.different else "empty"


def _values(cells: Counted) -> F64 | None:
    """(n,) numbers that differ where the cells do, NaN where missing; None of texts with many values."""
    if cells.numbers is not None or cells.codes is None:
        return cells.numbers
    return np.where(cells.codes < 0, np.nan, cells.codes.astype(np.float64))


def find_implausible(columns: Sequence[Counted]) -> list[Finding]:
    """Columns with a few values that nobody can have."""
    found = {cells.name: said for cells in columns if (said := _outside(cells))}
    return about(
        "implausible",
        found,
        "{columns} {names:holds|hold} values that no patient can have in the usual unit. If another unit was "
        "meant, as months of age, all is well; else correct them in the file, since a single one can bend "
        "what is learned.",
        option="",
        in_line=False,
    )


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
