"""How to leave columns out, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..wording import pasted


def option_for(option: str, names: Sequence[str]) -> str:
    """``--after time --after 'day of death'``, to be pasted into a shell."""
    said = [
        # A name that begins with a dash would be read as another option.
        pasted(f"{option}={name}") if name.startswith("-") else f"{option} {pasted(name)}"
        for name in names
    ]
    return " ".join(said)


def advice_to_leave_out(names: Sequence[str], happening: str = "the diagnosis") -> str:
    """What to do about columns that may come after what is ``happening``, or be it."""
    it, was, are = ("it", "it was", "it is") if len(names) == 1 else ("them", "they were", "they are")
    return (
        f"ask when {was} measured. If after {happening}, fit again with {option_for('--after', names)}; if "
        f"{are} {happening} in another form, with {option_for('--drop', names)} (in Python: leave {it} "
        "out of X). Then check again: other findings may go with it."
    )
