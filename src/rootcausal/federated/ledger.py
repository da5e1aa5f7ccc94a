"""The ledger of a site: every number that it sent, when, to which request, and in words what it is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..wording import plural, shown

NAME = "ledger.jsonl"
# Of which rows each session is, by their digest; it stays here.
ROWS = "rows-of-sessions.txt"


@dataclass(frozen=True)
class Entry:
    """One answer, or refusal.

    Attributes
    ----------
    when : in UTC.
    session, number : which request it answers.
    do, words : what was asked, by name and in words.
    count : how many numbers were sent.
    masked : whether only the total over all sites can be read from them.
    values : the numbers themselves, before any mask; plain fields of the first round.
    refused : the sentence of a refusal; empty where it was answered.
    """

    when: str
    session: str
    number: int
    do: str
    words: str
    count: int
    masked: bool
    values: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""

    def line(self) -> str:
        """What a terminal shows of it."""
        if self.refused:
            return f"{self.when}  {self.number:>4}  refused: {self.refused}"
        how = ", masked: only their total over all sites can be read" if self.masked else ""
        return f"{self.when}  {self.number:>4}  {plural(self.count, 'number')}: {self.words}{how}"


class Ledger:
    """The entries of a site, in a folder of its own or, without one, in memory only."""

    def __init__(self, folder: Path | None = None) -> None:
        self.entries: list[Entry] = []
        self._path = None if folder is None else folder / NAME
        self._rows = None if folder is None else folder / ROWS
        if self._path is not None and self._path.exists():
            self.entries = list(read_ledger(self._path))

    def note(
        self,
        session: str,
        number: int,
        do: str,
        words: str,
        masked: bool,
        values: Mapping[str, Any],
        refused: str = "",
    ) -> None:
        """Write an entry down, before what it tells of is sent."""
        plain = {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in values.items()}
        arrays = [one for one in values.values() if isinstance(one, np.ndarray)]
        count = int(sum(one.size for one in arrays)) if arrays else len(json.dumps(plain)) // 8
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(when, session, number, do, words, 0 if refused else count, masked, plain, refused)
        self.entries.append(entry)
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(entry)) + "\n")
                out.flush()
                os.fsync(out.fileno())

    def take_up(self, session: str, fingerprint: str) -> None:
        """Refuse to go on with a session on other rows: what differs would show in the difference of sums."""
        if self._rows is None:
            return
        known = (
            dict(line.split() for line in self._rows.read_text().splitlines()) if self._rows.exists() else {}
        )
        if known.setdefault(session, fingerprint) != fingerprint:
            raise InputError(
                "the rows of this site are not those with which it began the session: go on with the same "
                "table, or let the coordinator begin anew"
            )
        self._rows.write_text("".join(f"{name} {rows}\n" for name, rows in known.items()))

    def answered(self, session: str) -> int:
        """How many requests of a session were answered."""
        return len({one.number for one in self.entries if one.session == session and not one.refused})


def read_ledger(path: Path) -> Iterator[Entry]:
    """The entries of a ledger; a last line that was cut short is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"there is no ledger at {shown(path)}") from None
    for place, line in enumerate(lines):
        try:
            yield Entry(**json.loads(line))
        except (ValueError, TypeError):
            if place + 1 < len(lines):
                raise InputError(f"line {place + 1} of {shown(path)} is no entry of a ledger") from None
