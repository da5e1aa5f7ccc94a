"""The ``rootcausal fit …`` line that takes into account what was found, ready to paste into a shell."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath

from ..wording import for_shell, pasted
from .look import Look, variables_left

# What no option deals with, and a fit refuses.
PREVENTS = ("nothing measured",)
# Options that say which column is the outcome: they are in the line by themselves.
OF_OUTCOME = ("--time", "--event", "--outcome", "--strata", "--start")


def fit_arguments(look: Look, path: str | PathLike[str], read_so: Sequence[str] = ()) -> list[str] | None:
    """Arguments of ``rootcausal``; None where no fit can be proposed: no target, or no variable is left.

    ``read_so`` are options with which the table was read.
    """
    target = look.target
    if target is None or not variables_left(look):
        return None
    if any(finding.name in PREVENTS for finding in look.findings):
        return None
    of_labels = look.kind in ("binary", "matched", "survival")
    if of_labels and (target.disease is None or target.too_few(of_all=look.time is None)):
        return None
    file = fspath(path)
    outcome = ["--target", target.name, *([] if of_labels else ["--outcome", str(look.kind)])]
    if look.time is not None:
        outcome = ["--time", look.time, "--event", target.name]
    outcome += [] if look.start is None else ["--start", look.start]
    outcome += [] if look.strata is None else ["--strata", look.strata]
    found = dict.fromkeys(option for one in look.findings if one.in_line for option in one.options)
    # A column that says the sets or strata is nothing else.
    found = {
        option: None
        for option in found
        if option[0] not in OF_OUTCOME and (look.strata is None or option[1:] != (look.strata,))
    }
    order = (
        "--levels",
        "--positive",
        "--negative",
        "--competing",
        "--id",
        "--weights",
        "--after",
        "--drop",
        "--drop-missing",
        "--na",
        "--kind",
        "--limit",
        "--covariate",
    )
    options = sorted(found, key=lambda option: order.index(option[0]))
    return [
        "fit",
        f"./{file}" if file.startswith("-") else file,
        *outcome,
        *read_so,
        *(argument for option in options for argument in option),
        "--out",
        "model.rci",
    ]


def look_arguments(look: Look, path: str | PathLike[str], read_so: Sequence[str] = ()) -> list[str] | None:
    """Without a target: how to look again with the likeliest one."""
    if look.target is not None or not (look.candidates or look.pairs):
        return None
    file = fspath(path)
    outcome = ["--target", *look.candidates[:1]]
    if look.pairs:
        time, event = look.pairs[0]
        outcome = ["--time", time, "--event", event]
    return ["look", f"./{file}" if file.startswith("-") else file, *outcome, *read_so]


def as_line(arguments: list[str]) -> str | None:
    """The command as one line for a shell; None where shells would not read all of it alike."""
    if not_for_a_line(arguments):
        return None
    return " ".join(["rootcausal", *map(pasted, arguments)])


def not_for_a_line(arguments: list[str]) -> list[str]:
    """The arguments because of which there is no line."""
    return [argument for argument in arguments if for_shell(argument) is None]
