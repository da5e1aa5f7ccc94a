"""How figures look: the colours of the page, minus signs, whiskers with caps, bars that explain colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from ..method.table import F64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

# Those of the page, in the light (report/templates/page.css); one meaning each.
HARMFUL, HARMFUL_LIGHT, PROTECTIVE, ADJUSTED = "#c2500a", "#f3c6a0", "#2a6fb0", "#8a8a8a"
NEUTRAL, INK = "#eceef1", "#1b2430"
# From low to high measured values: neither of the colours that say what raises and what lowers.
LOW_VALUE, HIGH_VALUE = "#cfc3e8", "#4a2a86"
CAP_POINTS = 7
NUMBER_AFTER_HYPHEN = re.compile(r"(?<![\w.])-(?=[\d.])")
ALL_ZERO = re.compile(r"[+−]?0(\.0+)?")


def new_axes(ax: Axes | None, height: float, width: float = 7.0) -> Axes:
    """The axes given, or those of a new figure of this height and width, in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rootcausal[plots]'") from error
    # Not by pyplot: a figure that pyplot knows would never be freed by a script that draws thousands.
    return Figure(figsize=(width, height), layout="constrained").subplots()


def colour_of(value: float) -> str:
    """The colour of a shock that adds this."""
    return HARMFUL if value > 0 else PROTECTIVE


def diverging() -> Colormap:
    """Lowers, nothing, raises."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shock", [PROTECTIVE, NEUTRAL, HARMFUL])


def low_to_high() -> Colormap:
    """From low to high values; its lightness only falls."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("value", [LOW_VALUE, HIGH_VALUE])


def minus(text: str) -> str:
    """The text with minus signs before its numbers in place of hyphens; nothing has no sign."""
    signed = NUMBER_AFTER_HYPHEN.sub("−", text)
    return signed.lstrip("+−") if ALL_ZERO.fullmatch(signed) else signed


def whisker(ax: Axes, xs: Any, ys: Any, flat: bool = True) -> None:
    """An interval: a line with a cap at both ends, level or upright."""
    marker = "|" if flat else "_"
    ax.plot(xs, ys, color=INK, linewidth=1.2, marker=marker, markersize=CAP_POINTS, markeredgewidth=1.2)


def value_bar(ax: Axes) -> None:
    """Explain the colours of measured values: low, high."""
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(cmap=low_to_high()), ax=ax, aspect=30, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.ax.tick_params(length=0)
    bar.set_label("measured value, by rank", labelpad=-12)
    bar.outline.set_visible(False)


def strongest(values: F64) -> float:
    """Where the colours of a heat map end: few values beyond it must not make all others pale."""
    import numpy as np

    return float(np.quantile(np.abs(values), 0.98)) or float(np.abs(values).max()) or 1.0
