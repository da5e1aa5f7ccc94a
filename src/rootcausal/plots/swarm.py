"""The dots of a beeswarm: one a patient, none upon another, coloured by what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..method.table import F64
from .style import ADJUSTED, low_to_high

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..explaining.explanation import Explanation

# In files of shapes (.svg, .pdf), more dots a line than these are a picture: files stay small, and open.
VECTOR_DOTS = 500


def draw_swarm(ax: Axes, explanation: Explanation, column: int, place: int) -> None:
    """Draw the patients' dots of one variable, or set of them, along a line of the figure."""
    listed = explanation.listed
    values, height = listed.values[:, column], place + _spread(listed.values[:, column])
    ordered = not unordered_of(explanation, [column])
    share = np.argsort(np.argsort(listed.data[:, column])) / max(len(values) - 1, 1)
    for missing, marker in ((False, "o"), (True, "x")):
        some = listed.imputed[:, column] == missing
        if not some.any():
            continue
        if ordered:
            how: dict[str, Any] = {"c": share[some], "cmap": low_to_high(), "vmin": 0, "vmax": 1}
        else:
            how = {"color": ADJUSTED}
        ax.scatter(
            values[some],
            height[some],
            s=9,
            marker=marker,
            linewidths=0.8 if missing else 0,
            rasterized=len(values) > VECTOR_DOTS,
            **how,
        )


def unordered_of(explanation: Explanation, columns: Sequence[int]) -> list[int]:
    """Those of the columns whose levels have no order, and sets: nothing in them is high or low."""
    kinds = [*(variable.kind for variable in explanation.variables), *("nominal" for _ in explanation.sets)]
    return [column for column in columns if kinds[column] == "nominal"]


def _spread(values: F64) -> F64:
    """Offsets that keep dots from lying on each other, within their line."""
    if np.ptp(values) == 0:
        return np.linspace(-0.35, 0.35, len(values)).astype(np.float64)
    columns = np.round((values - values.min()) / np.ptp(values) * 80).astype(int)
    offsets = np.zeros(len(values))
    for column in np.unique(columns):
        inside = np.flatnonzero(columns == column)
        step = min(0.08, 0.7 / inside.size)
        level = np.arange(inside.size)
        offsets[inside] = np.where(level % 2, 1, -1) * np.ceil(level / 2) * step
    return offsets
