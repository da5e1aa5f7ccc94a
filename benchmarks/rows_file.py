"""The rows that a benchmark keeps: one file, written as they come, so that a run goes on where it stopped."""

from __future__ import annotations

import csv
from pathlib import Path


def write_rows(path: Path, rows: list[dict[str, object]], mode: str = "a") -> None:
    """Add rows to a file, or with mode "w" put them in its place."""
    fresh = mode == "w" or not path.exists()
    with path.open(mode, newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        if fresh:
            writer.writeheader()
        writer.writerows(
            {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
            for row in rows
        )


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
