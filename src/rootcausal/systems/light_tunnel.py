"""The light tunnel of the causal chambers: a physical system whose mechanisms were set, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..method.table import F64
from ..wording import shown
from .files import files_in, numbers_of, stem_of, table_at
from .trial import Trial

ACTUATORS = ("red", "green", "blue", "pol_1", "pol_2", "l_11", "l_12", "l_21", "l_22", "l_31", "l_32")
SENSORS = ("current", "ir_1", "vis_1", "ir_2", "vis_2", "ir_3", "vis_3", "angle_1", "angle_2")
COLUMNS = (*ACTUATORS, *SENSORS)
STRENGTHS = ("strong", "mid", "weak")
# Parameters of a sensor that are no columns, by how they are called; the strongest files of the first count.
OF_A_SENSOR = ("t_", "v_", "diode_", "osr_")
OTHER_NAMES = {"c": "current"}
N_REFERENCE, N_FRESH, N_CASES, N_ROWS = 1000, 4000, 50, 200


class LightTunnel:
    """Rows by themselves; cases of all faults are at hand."""

    name: ClassVar[str] = "light-tunnel"
    about: ClassVar[str] = (
        "Causal chambers, lt_interventions_standard_v1 (Gamella, Peters & Bühlmann, Nature Machine "
        "Intelligence 2025, CC BY 4.0): 20 columns, each intervention hits the mechanism of another; 1,000 "
        "reference rows, 50 cases of each fault at hand, 200 others to explain, row by row."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        drawn = _Drawn.of(folder, seed)
        yield drawn.trial(list(drawn.rows), list(drawn.cases))


class LightTunnelUnseen:
    """The same where no case of the fault to be explained was at hand."""

    name: ClassVar[str] = "light-tunnel-unseen"
    about: ClassVar[str] = (
        "The same files; each fault is explained by a model that had cases of all other faults at hand, and "
        "none of it."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        drawn = _Drawn.of(folder, seed)
        for node in drawn.rows:
            yield drawn.trial([node], [other for other in drawn.cases if other != node])


class _Drawn:
    """Rows of the files, drawn by a seed."""

    def __init__(self, reference: F64, fresh: F64, cases: dict[str, F64], rows: dict[str, F64]) -> None:
        self.reference, self.fresh, self.cases, self.rows = reference, fresh, cases, rows
        self.causes: dict[str, tuple[str, ...]] | None = None

    @classmethod
    def of(cls, folder: Path, seed: int) -> _Drawn:
        generator = np.random.default_rng(seed)
        paths = {stem_of(path): path for path in files_in(folder, "uniform_*.csv*", "uniform_*.csv")}
        if "uniform_reference" not in paths:
            raise InputError(f"{shown(folder)} lacks uniform_reference.csv, the rows of the reference")
        path = paths.pop("uniform_reference")
        every = numbers_of(table_at(path), COLUMNS, path)
        order = generator.permutation(len(every))
        drawn = cls(every[order[:N_REFERENCE]], every[order[N_REFERENCE:][:N_FRESH]], {}, {})
        for node, found in _by_node(paths).items():
            values = numbers_of(table_at(found), COLUMNS, found)
            order = generator.permutation(len(values))
            drawn.cases[node] = values[order[:N_CASES]]
            drawn.rows[node] = values[order[N_CASES:][:N_ROWS]]
        drawn.causes = _graph(folder)
        return drawn

    def trial(self, asked: list[str], at_hand: list[str]) -> Trial:
        """These faults to be explained, with cases of those."""
        sizes = [len(self.rows[node]) for node in asked]
        faults = tuple(np.repeat(asked, sizes).tolist())
        return Trial(
            columns=COLUMNS,
            reference=self.reference,
            rows=np.vstack([self.rows[node] for node in asked]),
            unit=np.arange(sum(sizes)),
            answers=tuple(frozenset([node]) for node in faults),
            faults=faults,
            nodes=COLUMNS,
            cases=np.vstack([self.cases[node] for node in at_hand]),
            fresh=self.fresh,
            first=ACTUATORS,
            causes=self.causes,
        )


def _by_node(paths: dict[str, Path]) -> dict[str, Path]:
    """One file for each node, in the order of their names: the strongest of the first way to hit it."""
    best: dict[str, tuple[int, int, Path]] = {}
    for stem, path in paths.items():
        name, _, strength = stem.removeprefix("uniform_").rpartition("_")
        if strength not in STRENGTHS:
            continue
        ways = [at for at, prefix in enumerate(OF_A_SENSOR) if name.startswith(prefix)]
        way = ways[0] + 1 if ways and name not in COLUMNS else 0
        node = name.removeprefix(OF_A_SENSOR[way - 1]) if way else name
        node = OTHER_NAMES.get(node, node)
        rank = (way, STRENGTHS.index(strength), path)
        if node in COLUMNS and (node not in best or rank < best[node]):
            best[node] = rank
    if not best:
        raise InputError("no file of the light tunnel names a node that is one of its columns")
    return {node: best[node][2] for node in sorted(best)}


def _graph(folder: Path) -> dict[str, tuple[str, ...]] | None:
    """The true causes of each column, where the folder says them."""
    found = sorted(folder.glob("dag.csv*"))
    if not found:
        return None
    table = table_at(found[0])
    arrows = list(zip(table["source"].tolist(), table["target"].tolist(), strict=True))
    return {
        name: tuple(cause for cause, effect in arrows if effect == name and cause in COLUMNS)
        for name in COLUMNS
    }
