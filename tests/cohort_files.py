"""A cohort read from a file as a fit reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rootcausal.inputs.binary import DiagnosisColumn
from rootcausal.inputs.from_file import read_labelled_cohort
from rootcausal.inputs.patients import Patients
from rootcausal.inputs.roles import Roles


def read_cohort(
    path: Path,
    target: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    positive: str | None = None,
    **more: Any,
) -> Patients:
    """Every column is a variable but the target, the ids and the dropped ones; ``more`` as in Roles."""
    roles = Roles(
        DiagnosisColumn(target, () if positive is None else (positive,)),
        id_column,
        drop,
        drop_missing,
        **more,
    )
    return read_labelled_cohort(path, roles)[0]
