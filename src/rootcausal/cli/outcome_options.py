"""Options that say what happened to the patients: a diagnosis, a number, or the time to an event."""

import math
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import bare

if TYPE_CHECKING:
    from ..inputs.outcome_columns import OutcomeColumns


def _a_share(text: str) -> float:
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        share = float(number)
    except ValueError:
        share = float("nan")
    if 0 < share < 1 and not percent:
        return share
    hint = f"; {share:g}% is {share / 100:g}" if 0 < share < 100 else ""
    raise typer.BadParameter(f"must be a share between 0 and 1{hint}.")


def _a_time(horizon: float | None) -> float | None:
    if horizon is not None and not 0 < horizon < math.inf:
        raise typer.BadParameter("must be a time above 0, in the unit of the times.")
    return horizon


Outcome = Literal["yes-no", "number"]
WHAT_HAPPENED = "What happened to the patients"

TargetColumn = Annotated[
    str | None,
    typer.Option(
        callback=bare,
        metavar="COLUMN",
        rich_help_panel=WHAT_HAPPENED,
        help="Column with the diagnosis: two labels. With --outcome number: with the number.",
    ),
]
OutcomeKind = Annotated[
    Outcome | None,
    typer.Option(
        "--outcome",
        metavar="yes-no|number",
        rich_help_panel=WHAT_HAPPENED,
        help="What --target is: two labels, or a number such as a score or eGFR.",
        show_default="yes-no",
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        callback=bare,
        metavar="COLUMN",
        rich_help_panel=WHAT_HAPPENED,
        help="Column with the time of follow-up, in place of --target; beside --event.",
    ),
]
EventColumn = Annotated[
    str | None,
    typer.Option(
        callback=bare,
        metavar="COLUMN",
        rich_help_panel=WHAT_HAPPENED,
        help="Column that says whether the event ended the follow-up; beside --time.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        rich_help_panel=WHAT_HAPPENED,
        help="Label that means disease, or the event. Not needed for 0/1, true/false, yes/no or alive/dead.",
    ),
]
Negative = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        rich_help_panel=WHAT_HAPPENED,
        help="Label of the controls, beside --positive: rows with other labels are left out.",
    ),
]
Prevalence = Annotated[
    float | None,
    typer.Option(
        parser=_a_share,
        metavar="SHARE",
        rich_help_panel=WHAT_HAPPENED,
        help="Share of the population with the disease, 0.02 for 2%; needed where cases and controls were "
        "sampled apart.",
    ),
]
Events = Annotated[
    float | None,
    typer.Option(
        parser=_a_share,
        metavar="SHARE",
        rich_help_panel=WHAT_HAPPENED,
        help="Share of the population whose event is seen before follow-up ends; 0.62 unless given.",
    ),
]
Horizon = Annotated[
    float | None,
    typer.Option(
        callback=_a_time,
        metavar="TIME",
        rich_help_panel=WHAT_HAPPENED,
        help="Time by which risks of the event are told, in the unit of the times.",
        show_default="median time of the events",
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        "--time-unit",
        metavar="UNIT",
        rich_help_panel=WHAT_HAPPENED,
        help="Unit of the times, for words: days, months, years.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT", rich_help_panel=WHAT_HAPPENED, help="Unit of the number, for words: ml/min."
    ),
]


def outcome_of(
    target: str | None,
    kind: Outcome | None,
    time: str | None,
    event: str | None,
    positive: str | None = None,
    negative: str | None = None,
    prevalence: float | None = None,
    horizon: float | None = None,
    time_unit: str | None = None,
    unit: str | None = None,
) -> "OutcomeColumns":
    """Return what the options say of the outcome; options that do not go together are wrong usage."""
    from ..inputs.follow_up_columns import FollowUpColumns
    from ..inputs.outcome_columns import DiagnosisColumn, NumberColumn

    labels = {"--negative": negative, "--prevalence": prevalence}
    if target is not None and (time is not None or event is not None):
        raise typer.BadParameter(
            "is for a diagnosis or a number, and --time and --event are for the time to an event: give one "
            "or the other.",
            param_hint="--target",
        )
    if time is not None or event is not None:
        if time is None or event is None:
            given, lacking = ("--event", "--time") if time is None else ("--time", "--event")
            raise typer.BadParameter(
                f"needs {lacking} COLUMN beside it: the time of follow-up, and whether the event ended it.",
                param_hint=given,
            )
        if time == event:
            raise typer.BadParameter("is the same column as --time.", param_hint="--event")
        _refuse({**labels, "--outcome": kind, "--unit": unit}, "is for --target, not for --time and --event")
        return FollowUpColumns(time, event, positive, horizon, time_unit)
    if target is None:
        raise typer.BadParameter(
            "say what happened to the patients: --target COLUMN, a diagnosis or a number; or --time COLUMN "
            "and --event COLUMN, the time to an event.",
            param_hint="--target",
        )
    _refuse({"--horizon": horizon, "--time-unit": time_unit}, "is for --time and --event, not for --target")
    if kind == "number":
        _refuse({"--positive": positive, **labels}, "is for labels, not for --outcome number")
        return NumberColumn(target, unit)
    _refuse({"--unit": unit}, "is for --outcome number")
    if negative is not None:
        if positive is None:
            raise typer.BadParameter(
                "say which label is the disease with --positive.", param_hint="--negative"
            )
        if positive.strip() == negative.strip():
            raise typer.BadParameter("is the same label as --positive.", param_hint="--negative")
    return DiagnosisColumn(target, positive, negative, prevalence, kind)


def _refuse(given: "dict[str, str | float | None]", why: str) -> None:
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"{why}.", param_hint=option)
