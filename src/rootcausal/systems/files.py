"""Tables of a source, from files in a folder that the user names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.arrow import arrow_csv, pa
from ..method.table import F64
from ..wording import one_line, shown

ROUNDING = 1e-9


def table_at(path: Path) -> dict[str, np.ndarray]:
    """The columns of a CSV file, also with .gz: numbers as floats, others as texts."""
    try:
        table = arrow_csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            f"{shown(path)} is no table that can be read ({one_line(error, 120)}): fetch it anew"
        ) from error
    return {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in table.column_names}


def numbers_of(table: dict[str, np.ndarray], columns: tuple[str, ...], path: Path) -> F64:
    """(n, p): some columns of a table."""
    lacking = [name for name in columns if name not in table]
    if lacking:
        raise InputError(
            f"{shown(path)} lacks the column {one_line(lacking[0])!r}: it is of another data set"
        )
    try:
        return np.column_stack([np.asarray(table[name], dtype=np.float64) for name in columns])
    except ValueError as error:
        raise InputError(f"{shown(path)} holds what is no number ({one_line(error, 80)})") from error


def json_at(path: Path) -> Any:
    """What a JSON file says."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)} is no JSON that can be read: fetch it anew") from error


def files_in(folder: Path, pattern: str, what: str) -> list[Path]:
    """Files of a folder by a pattern, in order; an InputError where there are none."""
    found = sorted(folder.glob(pattern))
    if not found:
        raise InputError(f"{shown(folder)} holds no {what}: see docs/real-systems.md for where they are from")
    return found


def stem_of(path: Path) -> str:
    """The name without .csv or .csv.gz."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def varying(reference: F64) -> np.ndarray:
    """(p,) which columns vary by more than rounding, and are no copies of others before them."""
    low, high = reference.min(axis=0), reference.max(axis=0)
    kept = np.asarray(high - low > ROUNDING * np.maximum(np.abs(low), np.abs(high)))
    places = np.flatnonzero(kept)
    same = np.abs(np.corrcoef(reference[:, places], rowvar=False)) > 1.0 - ROUNDING
    kept[places[np.triu(same, 1).any(axis=0)]] = False
    return kept
