"""Exports of REDCap: what the data dictionary says of the columns, and one row a record.

The dictionary says what codes stand for (1 is Female), which fields are free text, files or identifiers, and
what each field is called. Cells become what a reader would have written, so that kinds, words for missing and
labels are settled by the rules of every other table. Events become visits: a field that was measured at
several has one column for each, named with the event.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ..errors import InputError, ReadingWarning, warn
from ..wording import listed, plural, quoted, shown
from .arrow import pa, pc
from .cells import may_be_a_level, says_missing

EVENT, FORM_REPEATED, INSTANCE = "redcap_event_name", "redcap_repeat_instrument", "redcap_repeat_instance"
_OF_SURVEYS = "redcap_survey_identifier"
# The columns of a dictionary, as it is downloaded and as the API gives it.
_COLUMNS = {
    "name": ("Variable / Field Name", "field_name"),
    "form": ("Form Name", "form_name"),
    "type": ("Field Type", "field_type"),
    "label": ("Field Label", "field_label"),
    "choices": ("Choices, Calculations, OR Slider Labels", "select_choices_or_calculations"),
    "validation": (
        "Text Validation Type OR Show Slider Number",
        "text_validation_type_or_show_slider_number",
    ),
    "identifier": ("Identifier?", "identifier"),
}
_NO_VARIABLES = frozenset(("notes", "file", "descriptive", "signature"))
_OF_PERSONS = frozenset(("email", "phone", "phone_australia", "zipcode", "postalcode_australia", "ssn"))
_CHOSEN = frozenset(("radio", "dropdown"))
_TICKED = {"checked": "1", "unchecked": "0"}
_ARM = re.compile(r"_arm_\d+$")
_TAG = re.compile(r"<[^<>]*>")
_LETTERS_OF_A_LABEL = 120


@dataclass(frozen=True)
class Field:
    """A field of a project; ``choices`` are what its codes stand for, in order."""

    name: str
    form: str
    type: str
    label: str
    choices: Mapping[str, str]
    is_personal: bool

    @property
    def is_variable(self) -> bool:
        return not (self.is_personal or self.type in _NO_VARIABLES)


@dataclass(frozen=True)
class Dictionary:
    """What a data dictionary says.

    Attributes
    ----------
    record : the field that tells records apart, the first.
    fields : by name.
    """

    path: str | PathLike[str]
    record: str
    fields: Mapping[str, Field]

    @classmethod
    def of(cls, path: str | PathLike[str], text: str) -> Dictionary:
        """The fields that the text of a CSV file tells."""
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
        except csv.Error:
            rows = []
        header = {name.strip(): name for name in (rows[0] if rows else {}) if name is not None}
        found = {
            key: next((header[name] for name in names if name in header), None)
            for key, names in _COLUMNS.items()
        }
        if found["name"] is None or found["type"] is None or found["choices"] is None:
            raise InputError(
                f"{shown(path)} is no data dictionary of REDCap, which has the columns "
                "'Variable / Field Name', 'Field Type' and 'Choices, Calculations, OR Slider Labels': "
                "download it from Project Setup, Data Dictionary."
            )
        fields: dict[str, Field] = {}
        for row in rows:
            said = {key: (row.get(name or "") or "").strip() for key, name in found.items()}
            if said["name"]:
                fields[said["name"]] = _field(said)
        if not fields:
            raise InputError(f"{shown(path)} names no field.")
        return cls(path, next(iter(fields)), fields)

    def labels(self, columns: Iterable[str]) -> dict[str, str]:
        """What the dictionary calls these columns; the names of those that it calls the same stand too."""
        called = {name: label for name in columns if (label := self.called(name))}
        often = Counter(called.values())
        return {name: label if often[label] == 1 else f"{label} ({name})" for name, label in called.items()}

    def called(self, column: str) -> str:
        """What a column of the table is called: by its field, the choice that is ticked, and the event."""
        of = self._field_of(column)
        if of is None:
            return ""
        one, code, event = of
        ticked = next((text for key, text in one.choices.items() if _in_names(key) == code), code)
        return _cut(": ".join(part for part in (one.label or one.name, ticked, event) if part))

    def levels(self, column: str) -> list[str] | None:
        """What the codes of a column stand for, in the order of the dictionary."""
        of = self._field_of(column)
        if of is None or of[0].type not in _CHOSEN:
            return None
        return [text for text in of[0].choices.values() if not _nobody_knows(text)]

    def _field_of(self, column: str) -> tuple[Field, str, str] | None:
        """The field of a column, the code of its box, and the event, as far as it has them."""
        name, _, event = column.partition(".")  # names of fields have no dot
        main, _, code = name.partition("___")
        one = self.fields.get(main)
        return None if one is None else (one, code, _in_words(event))


def _in_words(event: str) -> str:
    return event.replace("_", " ").strip()


def _field(said: Mapping[str, str]) -> Field:
    kind = said["type"].lower()
    personal = said["identifier"].lower() in ("y", "yes", "true", "1") or (
        kind == "text" and said["validation"].lower() in _OF_PERSONS
    )
    choices = _choices(said["choices"]) if kind in {*_CHOSEN, "checkbox"} else {}
    return Field(said["name"], said["form"], kind, _plain(said["label"]), choices, personal)


def _choices(text: str) -> dict[str, str]:
    """What ``1, Female | 2, Male`` says."""
    pairs = (one.partition(",") for one in text.split("|"))
    return {code.strip(): _plain(label) or code.strip() for code, _, label in pairs if code.strip()}


def _plain(text: str) -> str:
    """A label without the markup that rich text has, on one line."""
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS_OF_A_LABEL else f"{text[: _LETTERS_OF_A_LABEL - 1]}…"


def _in_names(code: str) -> str:
    """A code as it stands in the name of a column."""
    return code.lower().replace("-", "_").replace(".", "_")


def _nobody_knows(text: str) -> bool:
    return says_missing(text) and not may_be_a_level(text)


# --- the table --------------------------------------------------------------------------------------------


def records_of(path: str | PathLike[str], cells: Any, known: Dictionary) -> Any:
    """The table of an export, a pyarrow.Table of texts, as one row a record.

    What was made of it is said in a warning.
    """
    names = cells.column_names
    described = [name for name in names if name.partition("___")[0] in known.fields]
    if known.record not in names or len(described) < 2:
        lacking = "its fields" if known.record in names else quoted(known.record)
        raise InputError(
            f"{shown(known.path)} does not describe {shown(path)}, which lacks {lacking}: export raw "
            "data with names of fields as headers, and give the dictionary of the same project."
        )
    left_out = [name for name in names if not _is_kept(name, known)]
    said, made = list[str](), dict[str, Any]()
    unknown = Counter[tuple[str, str]]()
    for name in names:
        if name not in left_out:
            made[name] = _decoded(_texts(cells[name]), known.fields.get(name), name, unknown)
    if left_out:
        said.append(
            f"left out {plural(len(left_out), 'column')} of free text, files, identifiers and states of "
            f"forms: {listed([quoted(name, 30) for name in left_out], 6)}"
        )
    if unknown:
        texts = [f"{name} {quoted(text, 20)}" for name, text in list(unknown)]
        said.append(f"choices that say that nothing is known count as missing: {listed(texts, 6)}")
    table = _by_record(path, made, known, said)
    if said:
        warn(ReadingWarning(f"{shown(path)} by its data dictionary: {'; '.join(said)}"))
    return table


def _is_kept(name: str, known: Dictionary) -> bool:
    """Whether a column may be a variable, or tells which row this is."""
    one = known.fields.get(name.partition("___")[0])
    if name == known.record or name in (EVENT, FORM_REPEATED, INSTANCE):
        return True
    if one is not None:
        return one.is_variable
    forms = {one.form for one in known.fields.values() if one.form}
    of_form, _, what = name.rpartition("_")
    return not (name == _OF_SURVEYS or (what in ("complete", "timestamp") and of_form in forms))


def _texts(column: Any) -> Any:
    """A column without blanks around its texts, missing where there is none."""
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _decoded(texts: Any, one: Field | None, name: str, unknown: Counter[tuple[str, str]]) -> Any:
    """The cells of a column by what their codes stand for."""
    if one is None and "___" in name:
        meant: Mapping[str, str] = {}
    elif one is None or one.type not in _CHOSEN:
        return texts
    else:
        meant = one.choices
    there = [text for text in pc.unique(texts).to_pylist() if text is not None]
    becomes: list[str | None] = []
    for text in there:
        told = meant.get(text, _TICKED.get(text.lower(), text) if "___" in name else text)
        lost = one is not None and _nobody_knows(told)
        if lost:
            unknown[name, told] += 1
        becomes.append(None if lost else told)
    places = pc.index_in(texts, value_set=pa.array(there, pa.string()))
    return pa.array(becomes, pa.string()).take(places.combine_chunks())


def _by_record(path: str | PathLike[str], made: dict[str, Any], known: Dictionary, said: list[str]) -> Any:
    """One row a record: rows of events and of repeated forms come together where no field is told twice."""
    import numpy as np

    events, repeated, instances = (made.pop(name, None) for name in (EVENT, FORM_REPEATED, INSTANCE))
    records = made.pop(known.record)
    if records.null_count:
        raise InputError(f"a row of {shown(path)} has no {quoted(known.record)}, which tells records apart.")
    ids = pc.unique(records)
    if len(ids) == len(records):
        return pa.table({known.record: records, **made})
    if events is None and repeated is None and instances is None:
        raise InputError(
            f"{quoted(known.record)} of {shown(path)} repeats, and no column says why: export it with "
            f"{quoted(EVENT)} and the repeat instances."
        )
    visits = [("", np.ones(len(records), dtype=bool))] if events is None else _visits(events)
    columns, twice, empty, several = {known.record: _whole(ids)}, list[str](), list[str](), list[str]()
    place = _whole(pc.index_in(records, value_set=_whole(ids))).to_numpy()
    for name, texts in made.items():
        told = _whole(pc.is_valid(texts)).to_numpy(zero_copy_only=False)
        at = [(visit, np.flatnonzero(here & told)) for visit, here in visits]
        at = [(visit, rows) for visit, rows in at if rows.size]
        if any(np.bincount(place[rows]).max() > 1 for _, rows in at):
            twice.append(name)
        elif not at:
            empty.append(name)
        for visit, rows in at:
            columns[f"{name}.{visit}" if len(at) > 1 else name] = _at(texts, rows, place, len(ids))
        if len(at) > 1:
            several.append(f"{name}.{at[0][0]}")
    _refuse_repeated(path, twice, known, instances)
    said.append(f"{plural(len(records), 'row')} are {plural(len(ids), 'record')}")
    if several:
        what = f"{plural(len(several), 'field')} of several events have a column for each"
        said.append(f"{what}, as in {quoted(several[0], 60)}")
    if empty:
        said.append(f"empty: {listed([quoted(name, 30) for name in empty], 6)}")
    return pa.table(columns)


def _at(texts: Any, rows: Any, place: Any, n_records: int) -> Any:
    """A column of one visit: of each record the cell of its row, or nothing."""
    import numpy as np

    row_of = np.full(n_records, -1)
    row_of[place[rows]] = rows
    return _whole(texts).take(pa.array(row_of, mask=row_of < 0))


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _visits(events: Any) -> list[tuple[str, Any]]:
    """The rows of each event; those of different arms that are called alike are one."""
    import numpy as np

    named = np.array([_ARM.sub("", name or "no_event") for name in events.to_pylist()])
    return [(str(visit), named == visit) for visit in dict.fromkeys(named.tolist())]


def _refuse_repeated(
    path: str | PathLike[str], twice: Sequence[str], known: Dictionary, instances: Any
) -> None:
    """Say which forms a record has several times: what of them counts is for the user to say."""
    if not twice:
        return
    fields = [known.fields.get(name.partition("___")[0]) for name in twice]
    forms = [
        quoted(form, 40) for form in dict.fromkeys(one.form for one in fields if one is not None and one.form)
    ]
    most = (
        0
        if instances is None
        else max((int(n) for n in pc.unique(instances).to_pylist() if (n or "").isdigit()), default=0)
    )
    often = f" (up to {most} times)" if most > 1 else ""
    raise InputError(
        f"{shown(path)} tells {listed([quoted(name, 30) for name in twice])} more than once{often} of one "
        f"record and event (the form {listed(forms)}): which of them counts? Export a report with one "
        "instance a record (filter by [current-instance], the first or the last), or without these fields."
    )
