"""The rows that a benchmark keeps: one file, written as they come, so that a run goes on where it stopped."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from rootcausal.files.writing import atomic_write


def write_rows(path: Path, rows: list[dict[str, object]], mode: str = "a") -> None:
    """Add rows to a file, or with mode "w" put them in its place: whole, or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    if mode == "w" or not path.exists():
        writer.writeheader()
    writer.writerows(
        {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    )
    if mode == "w":
        with atomic_write(path) as handle:
            handle.write(text.getvalue().encode())
        return
    with path.open("a", newline="", encoding="utf-8") as handle:
        handle.write(text.getvalue())


def read_rows(path: Path) -> list[dict[str, object]]:
    """The rows of a file, their numbers as numbers; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as handle:
        return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(handle)]


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
