"""How to put columns on a log scale, in words that can be pasted."""

from __future__ import annotations

from collections.abc import Sequence

from ..wording import pasted


def how_to_log(names: Sequence[str], known: Sequence[str], estimator: str) -> str:
    """The option that does it, with those that are logarithms already; ``estimator`` is the class."""
    wanted = list(dict.fromkeys([*known, *names]))
    in_python = f"{estimator}(log=[{', '.join(ascii(name) for name in wanted)}])"
    if any(name != name.strip() or "," in name or '"' in name for name in wanted):
        return f"{in_python} in Python"
    return f"--log {pasted(','.join(wanted))} (in Python {in_python})"
