"""The Tennessee Eastman process: a simulated chemical plant with faults (Downs & Vogel 1993)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..method.table import F64
from ..wording import shown
from .files import files_in, varying
from .trial import Trial

COLUMNS = (*(f"xmeas_{k}" for k in range(1, 42)), *(f"xmv_{k}" for k in range(1, 12)))
# Faults whose place in the plant is a measured or a manipulated variable, by its description (Downs & Vogel
# 1993, Table 8): feed losses and header pressures are flows; cooling water and its valves are the cooling
# flows and the temperatures that they control. Others (compositions, unknown faults) have no such answer.
ANSWERS = {
    4: ("xmv_10", "xmeas_9"),
    5: ("xmv_11", "xmeas_22"),
    6: ("xmeas_1", "xmv_3"),
    7: ("xmeas_4", "xmv_4"),
    11: ("xmv_10", "xmeas_9"),
    12: ("xmv_11", "xmeas_22"),
    14: ("xmv_10", "xmeas_9"),
    15: ("xmv_11", "xmeas_22"),
}
# Of test files of 960 rows, the first 160 are before the fault.
BEFORE_THE_FAULT, ROWS_OF_A_TEST = 160, 960


class TennesseeEastman:
    """Incidents, one a fault."""

    name: ClassVar[str] = "tennessee-eastman"
    about: ClassVar[str] = (
        "Tennessee Eastman process, the files d00.dat to d21_te.dat of Braatz's group: 52 columns every "
        "three minutes; faults whose place is one of these, and which these are, by the descriptions of "
        "Downs & Vogel (1993) as the module says."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        files = {path.stem: path for path in files_in(folder, "d*.dat", "d00.dat and others")}
        if "d00" not in files:
            raise InputError(f"{shown(folder)} lacks d00.dat, the rows without a fault")
        reference = _values(files["d00"])
        moving = varying(reference)
        columns = tuple(np.array(COLUMNS)[moving].tolist())
        for fault, answers in ANSWERS.items():
            path = files.get(f"d{fault:02d}_te", files.get(f"d{fault:02d}"))
            if path is None:
                continue
            rows = _values(path)
            rows = rows[BEFORE_THE_FAULT:] if len(rows) == ROWS_OF_A_TEST else rows
            yield Trial(
                columns=columns,
                reference=reference[:, moving],
                rows=rows[:, moving],
                unit=np.zeros(len(rows), dtype=np.intp),
                answers=(frozenset(answers),),
                faults=(f"fault {fault}",),
                nodes=columns,
                cases=rows[:, moving],
                fresh=reference[:0, moving],
            )


def _values(path: Path) -> F64:
    """(n, 52); the file without a fault lies on its side."""
    try:
        values = np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)} is no table of numbers: fetch it anew") from error
    if values.shape[1] != len(COLUMNS):
        values = values.T
    if values.shape[1] != len(COLUMNS):
        raise InputError(f"{shown(path)} has not {len(COLUMNS)} columns, as this process has")
    return values
