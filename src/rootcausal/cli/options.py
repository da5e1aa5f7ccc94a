"""Options that several commands take, in groups: each option is declared once, with its help and its default.

A command takes a group as one argument, and :func:`with_options` shows Typer the options in it. Groups come
in the same order in every command: the table, what happened to the patients, what is known before, the model,
and last what is written or printed.
"""

import inspect
import math
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from ..errors import InputError
from ..files.header import TableFile
from ..files.writing import check_can_write, result_format
from ..wording import quoted, shown
from .knowing import KnowledgeOptions

if TYPE_CHECKING:
    from ..files.redcap import Dictionary
    from ..inputs.outcomes import OutcomeColumns
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: Typer reads an option for each of their fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    flat = []
    for one in inspect.signature(command).parameters.values():
        if one.name in groups:
            group = groups[one.name]
            types = get_type_hints(group, include_extras=True)
            flat += [(field.name, types[field.name], _default(field)) for field in fields(group)]
        else:
            flat.append((one.name, hints[one.name], one.default))

    @wraps(command)
    def taking_all(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    taking_all.__annotations__ = {name: hint for name, hint, _ in flat}
    taking_all.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            for name, hint, default in flat
        ]
    )
    return taking_all


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _between_0_and_1(share: float | None) -> float | None:
    if share is not None and not 0 < share <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return share


def bare(name: str | None) -> str | None:
    """Return the name of a column without blanks around it, as columns of files have none."""
    return None if name is None else name.strip()


def a_share(text: str) -> float:
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


of_table = partial(typer.Option, rich_help_panel="The table")
of_outcome = partial(typer.Option, rich_help_panel="What happened to the patients")
of_model = partial(typer.Option, rich_help_panel="The model")
NOT_OF_FOLLOW_UP = "is for --target, not for --time and --event"
NOT_OF_TARGETS = "is for --time and --event, not for --target"

# Options that some commands take without the others of their group.
CohortFile = Annotated[
    Path, typer.Argument(help="Table with one row per patient: text, Parquet, Excel, Stata or SAS.")
]
IdColumn = Annotated[
    str | None,
    of_table("--id", callback=bare, metavar="COLUMN", help="Column with patient ids; not a variable."),
]
DropMissing = Annotated[bool, of_table("--drop-missing", help="Leave out rows with missing values.")]
Labels = Annotated[
    Path | None,
    of_table(
        metavar="FILE",
        help="What to call columns on screen and page: a CSV file of column, label, unit and digits.",
    ),
]
Prevalence = Annotated[
    float | None,
    of_outcome(
        parser=a_share,
        metavar="SHARE",
        help="Share of the population with the disease, 0.02 for 2%; needed where cases and controls were "
        "sampled apart.",
    ),
]
of_flower = partial(typer.Option, rich_help_panel="Flower")
RootCertificates = Annotated[
    Path | None,
    of_flower(
        metavar="FILE",
        help="Of --superlink: certificates of whoever vouches for it.",
        show_default="those of the system",
    ),
]
Horizon = Annotated[
    float | None,
    of_outcome(
        callback=_a_time,
        metavar="TIME",
        help="Time by which risks of the event are told, in the unit of the times.",
        show_default="median time of the events",
    ),
]
Drop = Annotated[
    list[str] | None,
    of_table(metavar="COLUMN", help="Column to leave out; many times, or with commas between."),
]
Kinds = Annotated[
    list[str] | None,
    of_table(
        metavar="COLUMN=KIND",
        help="What a column is, where the kind inferred is wrong: number, binary, ordinal, nominal, or "
        "its levels in order, as in 'stage=low<mid<high' or 'size=<=20 < 20-50 < >50'; can be given many "
        "times.",
    ),
]
Logs = Annotated[
    list[str] | None,
    of_table(
        metavar="COLUMN",
        help="Column to take the logarithm of, where relations are more linear so; values are shown in "
        "their own unit. Many times, or with commas between.",
    ),
]
HowMissing = Annotated[
    Literal["impute", "refuse"],
    of_table(metavar="impute|refuse", help="Missing values: impute them, or refuse the table."),
]
Target = Annotated[
    str | None,
    of_outcome(
        callback=bare,
        metavar="COLUMN",
        help="Column with the diagnosis: two labels. With --outcome: with the stages, number or count.",
    ),
]
Time = Annotated[
    str | None,
    of_outcome(
        callback=bare,
        metavar="COLUMN",
        help="Column with the time of follow-up, in place of --target; beside --event.",
    ),
]
Event = Annotated[
    str | None,
    of_outcome(
        callback=bare,
        metavar="COLUMN",
        help="Column that says whether the event ended the follow-up; beside --time.",
    ),
]
Level = Annotated[
    float | None,
    of_model(
        callback=_between_0_and_1,
        metavar="SHARE",
        help="Level of the test that leaves variables out.",
        show_default="none is, up to 50 columns",
    ),
]
VariantName = Annotated[
    Literal["original", "plus", "local", "local_plus"],
    of_model(metavar="original|plus|local|local_plus", help="Which of the paper's four searches."),
]
AttributionName = Annotated[
    Literal["sharp", "paper"],
    of_model(metavar="sharp|paper", help="How effects of shocks are learned; paper: as published."),
]
MechanismName = Annotated[
    Literal["auto", "linear", "nonlinear"],
    of_model(
        metavar="auto|linear|nonlinear",
        help="Linear or nonlinear equations; auto: nonlinear where linear ones are not enough.",
    ),
]


@dataclass(frozen=True)
class ReadingOptions:
    """How a table is written."""

    na: Annotated[
        list[str] | None,
        of_table(
            metavar="[COLUMN=]WORD",
            help="Word or number that means missing, beside NA and the like, in all columns or in one, as in "
            "glucose=0; many times.",
        ),
    ] = None
    no_header: Annotated[
        bool | None,
        of_table(
            "--no-header/--header",
            help="The first row is a patient, and columns are called V1, V2 and so on; or it holds names. "
            "Seen by itself where that is plain.",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        of_table(metavar="NAME", help="Sheet of an Excel workbook.", show_default="the first"),
    ] = None
    names: Annotated[
        list[str] | None,
        of_table(
            metavar="NAME,NAME",
            help="Names of the columns, from left to right, of a table without a header; many times, or with "
            "commas between.",
        ),
    ] = None
    sql: Annotated[
        str | None,
        of_table(
            metavar="QUERY",
            help="Query whose rows are the table: of a .duckdb file, or of 'cohort', as the table of any "
            "other file is called in it. It reads that file only, and changes nothing.",
        ),
    ] = None
    redcap: Annotated[
        Path | None,
        of_table(
            metavar="DICTIONARY",
            help="Data dictionary of the REDCap project that exported the table: choices by their names, one "
            "row a record, no free text and identifiers, labels.",
        ),
    ] = None

    def table_at(self, path: Path) -> TableFile:
        """Return the file of a table with what the options say of how it is written."""
        header = None if self.no_header is None else not self.no_header
        names = [name.strip() for text in self.names or () for name in text.split(",")]
        return TableFile(path, header, self.sheet, tuple(names) or None, self.sql, self.redcap)

    def dictionary(self) -> "Dictionary | None":
        """Return the data dictionary of --redcap."""
        from ..files.tables import dictionary_of

        return None if self.redcap is None else dictionary_of(self.redcap)

    def ids(self, column: str | None) -> str | None:
        """Return the column of ids: the one that was named, or the records of REDCap."""
        known = None if column is not None else self.dictionary()
        return column if known is None else known.record


@dataclass(frozen=True)
class TableOptions(ReadingOptions):
    """What the table of a cohort holds, and what of it is taken."""

    id_column: IdColumn = None
    drop: Drop = None
    after: Annotated[
        list[str] | None,
        of_table(
            metavar="COLUMN",
            help="Column that was measured after the outcome: left out, and remembered; many times, or with "
            "commas between.",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        of_table(
            metavar="COLUMN",
            help="Column to keep, and no others; many times, or with commas between. A date that is kept "
            "becomes days since the first.",
        ),
    ] = None
    drop_missing: DropMissing = False
    max_missing: Annotated[
        float | None,
        of_table(
            callback=_between_0_and_1,
            metavar="SHARE",
            help="Leave out variables of which more than this share is missing, 0.6 for 60%.",
        ),
    ] = None
    kind: Kinds = None
    log: Logs = None
    reliability: Annotated[
        list[str] | None,
        of_table(
            metavar="COLUMN=SHARE",
            help="Share of a column's variance that is no measurement error, as in bili=0.9; 'bili=sd 0.2', "
            "the error's standard deviation; or bili=repeats, where rows with one --id measure the same. "
            "Many times, or with commas between.",
        ),
    ] = None
    limit: Annotated[
        list[str] | None,
        of_table(
            metavar="COLUMN=<N",
            help="A limit of detection, in quotes: 'crp=<3', below which nothing was measured, or "
            "'crp=>100', above which nothing was. Values at or beyond it are drawn from what is expected "
            "there. Many times.",
        ),
    ] = None
    missing: HowMissing = "impute"
    weights: Annotated[
        str | None,
        of_table(
            metavar="COLUMN",
            help="Column that says how much each row counts: integers are numbers of rows, other numbers "
            "inclusion (sampling) weights.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Take the records of REDCap for patients, unless other ids are named."""
        object.__setattr__(self, "id_column", self.ids(self.id_column))

    def settings(self) -> dict[str, Any]:
        """Return what an estimator is told of the columns."""
        return {
            "kinds": self._kinds(),
            "missing": self.missing,
            "reliability": chosen_reliability(self.reliability),
            "limits": chosen_limits(self.limit),
        }

    def _kinds(self) -> dict[str | int, Any] | None:
        """The kinds that were chosen; ordinal choices of REDCap are in the order of its dictionary."""
        kinds, known = chosen_kinds(self.kind), self.dictionary()
        if kinds is None or known is None:
            return kinds
        return {
            name: (known.levels(str(name)) or kind) if kind == "ordinal" else kind
            for name, kind in kinds.items()
        }

    def roles(self, outcome: "OutcomeColumns") -> "Roles":
        """Return what each column is for; options that do not go together are wrong usage."""
        from ..estimators.parameters import chosen_hints
        from ..inputs.roles import Roles

        settings = self.settings()
        if self.keep and self.drop:
            raise typer.BadParameter(
                "--keep alone names all the variables; leave --drop out.", param_hint="--keep"
            )
        return Roles(
            outcome,
            self.id_column,
            self.drop or (),
            self.drop_missing,
            chosen_hints(**settings),
            self.keep or (),
            self.na or (),
            log=self.log or (),
            after=self.after or (),
            max_missing=self.max_missing,
            weights=self.weights,
        )


@dataclass(frozen=True)
class NamedOutcome:
    """Where in the table it stands: a diagnosis, stages, a number, a count, or the time to an event."""

    target: Target = None
    outcome: Annotated[
        Literal["binary", "ordinal", "continuous", "count"] | None,
        of_outcome(
            metavar="binary|ordinal|continuous|count",
            help="What --target is: two labels; stages in order; a number such as a score or eGFR; or a "
            "count of events.",
            show_default="binary",
        ),
    ] = None
    strata: Annotated[
        str | None,
        of_outcome(
            callback=bare,
            metavar="COLUMN",
            help="Column that says which rows are a matched set, of cases and controls; beside --time, which "
            "rows have a baseline hazard of their own.",
        ),
    ] = None
    time: Time = None
    event: Event = None
    start: Annotated[
        str | None,
        of_outcome(
            callback=bare,
            metavar="COLUMN",
            help="Column that says from when on a row was at risk, beside --time: patients who came late, or "
            "several rows of a patient (with --id).",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether any column was named."""
        return self.target is not None or self.time is not None or self.event is not None

    def refuse_what_does_not_go_together(self) -> None:
        """A diagnosis or a number has one column, the time to an event has two."""
        if self.target is not None and (self.time is not None or self.event is not None):
            raise typer.BadParameter(
                "is for a diagnosis or a number, and --time and --event are for the time to an event: give "
                "one or the other.",
                param_hint="--target",
            )
        if (self.time is None) != (self.event is None):
            named, lacking = ("--event", "--time") if self.time is None else ("--time", "--event")
            raise typer.BadParameter(
                f"needs {lacking} COLUMN beside it: the time of follow-up, and whether the event ended it.",
                param_hint=named,
            )
        if self.time is not None and self.time == self.event:
            raise typer.BadParameter("is the same column as --time.", param_hint="--event")
        if not self.given:
            raise typer.BadParameter(
                "say what happened to the patients: --target COLUMN, a diagnosis or a number; or --time "
                "COLUMN and --event COLUMN, the time to an event.",
                param_hint="--target",
            )
        if self.target is None:
            _refuse({"--outcome": self.outcome}, NOT_OF_FOLLOW_UP)
        else:
            _refuse({"--start": self.start}, NOT_OF_TARGETS)
        self._refuse_same_columns()
        if self.outcome not in (None, "binary"):
            _refuse({"--strata": self.strata}, f"is for labels, not for --outcome {self.outcome}")

    def _refuse_same_columns(self) -> None:
        """A column of the outcome says one thing."""
        named = {"--target": self.target, "--time": self.time, "--event": self.event, "--start": self.start}
        for option in ("--start", "--strata"):
            column = self.start if option == "--start" else self.strata
            for other, name in named.items():
                if column is not None and column == name and other != option:
                    raise typer.BadParameter(f"is the same column as {other}.", param_hint=option)


@dataclass(frozen=True)
class OutcomeOptions(NamedOutcome):
    """What happened to the patients, and in which words it is told."""

    positive: Annotated[
        list[str] | None,
        of_outcome(
            metavar="LABEL",
            help="Label that means disease, or the event; several: many times, or with commas between; of "
            "numbers also a rule, '>=1'. Not needed for 0/1, true/false, yes/no or alive/dead.",
        ),
    ] = None
    negative: Annotated[
        list[str] | None,
        of_outcome(
            metavar="LABEL",
            help="Label of the controls, beside --positive: rows with other labels are left out. Many times, "
            "or with commas between.",
        ),
    ] = None
    competing: Annotated[
        list[str] | None,
        of_outcome(
            metavar="LABEL",
            help="Label of --event after which the event cannot come, such as death before a relapse; many "
            "times. Risks then are cumulative incidences.",
        ),
    ] = None
    incidence: Annotated[
        bool,
        of_outcome(
            "--incidence",
            help="Effects on the cumulative incidence (Fine & Gray): also of what moves --competing events.",
        ),
    ] = False
    prevalence: Prevalence = None
    horizon: Horizon = None
    time_unit: Annotated[
        str | None, of_outcome(metavar="UNIT", help="Unit of the times, for words: days, months, years.")
    ] = None
    unit: Annotated[
        str | None,
        of_outcome(
            metavar="UNIT",
            help="Unit of the number, or of the exposure of a count, for words: ml/min, years.",
        ),
    ] = None
    levels: Annotated[
        str | None,
        of_outcome(
            metavar="LEVELS",
            help="Stages of --outcome ordinal in order, as in 'low<mid<high', where they do not say it.",
        ),
    ] = None
    exposure: Annotated[
        str | None,
        of_outcome(
            callback=bare,
            metavar="COLUMN",
            help="Column that says how long, or of how much, each count of --outcome count is.",
        ),
    ] = None

    def columns(self) -> "OutcomeColumns":
        """Return what the options say of the outcome; options that do not go together are wrong usage."""
        from ..inputs.binary import DiagnosisColumn
        from ..inputs.continuous import NumberColumn
        from ..inputs.count import CountColumns
        from ..inputs.matched import MatchedColumns
        from ..inputs.ordinal import StageColumn

        labels = {"--negative": self.negative or None, "--prevalence": self.prevalence}
        self.refuse_what_does_not_go_together()
        self._refuse_of_other_outcomes()
        if self.time is not None and self.event is not None:
            _refuse({**labels, "--unit": self.unit}, NOT_OF_FOLLOW_UP)
            return self._follow_up(self.time, self.event)
        assert self.target is not None
        of_times = {"--horizon": self.horizon, "--time-unit": self.time_unit}
        of_events = {"--competing": self.competing or None, "--incidence": self.incidence or None}
        _refuse({**of_times, **of_events}, NOT_OF_TARGETS)
        if self.outcome not in (None, "binary"):
            _refuse(
                {"--positive": self.positive or None, **labels},
                f"is for labels, not for --outcome {self.outcome}",
            )
        if self.outcome == "continuous":
            return NumberColumn(self.target, self.unit)
        if self.outcome == "count":
            return CountColumns(self.target, self.exposure, self.unit)
        if self.outcome == "ordinal":
            return StageColumn(self.target, _in_order(self.levels))
        positive, negative = tuple(self.positive or ()), tuple(self.negative or ())
        if negative and not positive:
            raise typer.BadParameter(
                "say which label is the disease with --positive.", param_hint="--negative"
            )
        if {one.strip() for one in positive} & {one.strip() for one in negative}:
            raise typer.BadParameter("is the same label as --positive.", param_hint="--negative")
        of_labels = (self.target, positive, negative, self.prevalence, self.outcome)
        if self.strata is not None:
            why = "matched sets tell no base value, which it would change: leave it out with --strata"
            _refuse({"--prevalence": self.prevalence}, why)
            return MatchedColumns(*of_labels, strata=self.strata)
        return DiagnosisColumn(*of_labels)

    def _follow_up(self, time: str, event: str) -> "OutcomeColumns":
        """Return the columns of the time to an event."""
        from ..inputs.survival_columns import FollowUpColumns

        if len(self.positive or ()) > 1:
            raise typer.BadParameter(
                "of an event give one label; which others keep it from coming says --competing.",
                param_hint="--positive",
            )
        positive = self.positive[0] if self.positive else None
        told = (positive, self.horizon, self.time_unit)
        competing = tuple(self.competing or ())
        if self.incidence and not competing:
            raise typer.BadParameter("tells of --competing events: name them.", param_hint="--incidence")
        if self.incidence and self.start is not None:
            raise typer.BadParameter("is not for rows with a --start.", param_hint="--incidence")
        return FollowUpColumns(time, event, *told, self.start, self.strata, competing, self.incidence)

    def _refuse_of_other_outcomes(self) -> None:
        """Refuse what is for one outcome only, of others."""
        if self.target is not None and self.outcome not in ("continuous", "count"):
            _refuse({"--unit": self.unit}, "is for --outcome continuous and --outcome count")
        if self.outcome != "count":
            _refuse({"--exposure": self.exposure}, "is for --outcome count")
        if self.outcome != "ordinal":
            _refuse({"--levels": self.levels}, "is for --outcome ordinal")


def _in_order(levels: str | None) -> tuple[str, ...] | None:
    """The stages of ``low<mid<high``."""
    if levels is None:
        return None
    found = tuple(part.strip() for part in levels.split(" < " if " < " in levels else "<"))
    if len(found) < 2 or not all(found) or len(set(found)) < len(found):
        raise typer.BadParameter(
            f"list each stage once, from low to high, as in 'low<mid<high', not {quoted(levels)}.",
            param_hint="--levels",
        )
    return found


@dataclass(frozen=True)
class ModelOptions:
    """How a model is learned, and how often."""

    alpha: Level = None
    variant: VariantName = "local_plus"
    attribution: AttributionName = "sharp"
    mechanism: MechanismName = "auto"
    confounding: Annotated[
        Literal["merge"] | None,
        of_model(
            metavar="merge",
            help="Tell what variables add whose errors stay dependent as that of one set.",
        ),
    ] = None
    bootstrap: Annotated[
        int | None,
        of_model(min=2, metavar="N", help="Resamples, for intervals: 2 or more; 200 is usual."),
    ] = None
    jobs: Annotated[
        int | None,
        of_model(metavar="N", help="Resamples to learn from at once; -1 is one a core.", show_default="1"),
    ] = None

    halves: Annotated[
        bool,
        of_model(help="Also say how often two halves of the cohort agree, and how often they should."),
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what an estimator is told; estimators have levels of their own where nobody chose one."""
        chosen = {
            "variant": self.variant,
            "attribution": self.attribution,
            "mechanism": self.mechanism,
            "confounding": self.confounding,
        }
        return chosen if self.alpha is None else {"alpha": self.alpha, **chosen}


@dataclass(frozen=True)
class PageOptions:
    """Who is shown on a page, and how they are called."""

    patients: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show at most N patients, spread evenly over the table; the model is of all.",
        ),
    ] = None
    redact_ids: Annotated[
        bool, typer.Option("--redact-ids", help="Put the numbers 1, 2, 3 and so on in place of the ids.")
    ] = False

    def leaves_out(self, patients: "Patients") -> bool:
        """Whether these are more patients than are to be shown."""
        return self.patients is not None and self.patients < patients.row_numbers.size


def roles_of(table: TableOptions, outcome: OutcomeOptions, known: KnowledgeOptions) -> "Roles":
    """Return what the options say of a cohort; what does not go together is wrong usage."""
    columns = outcome.columns()
    known.refuse_what_does_not_go_together()
    return table.roles(columns)


def _refuse(given: "dict[str, Any]", why: str) -> None:
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"{why}.", param_hint=option)


def chosen_kinds(texts: list[str] | None) -> dict[str | int, Any] | None:
    """Read ``stage=ordinal`` and ``stage=low<mid<high``; the name may itself hold an equals sign."""
    from ..inputs.kinds import KINDS

    kinds: dict[str | int, Any] = {}
    for text in texts or []:
        # From the right, since kinds have no equals sign; from the left where levels may have one.
        name, equals, kind = text.rpartition("=") if text.endswith(KINDS) else text.partition("=")
        name = name.strip()
        if not (name and equals and kind):
            raise typer.BadParameter(
                f"write COLUMN=KIND, as in stage=ordinal or 'stage=low<mid<high', not {quoted(text)}.",
                param_hint="--kind",
            )
        if name in kinds:
            raise typer.BadParameter(f"{quoted(name)} is given twice.", param_hint="--kind")
        # Levels such as <=20 have the sign themselves: spaces around it then tell where one ends.
        between = " < " if " < " in kind else "<"
        kinds[name] = [level.strip() for level in kind.split(between)] if "<" in kind else kind
    return kinds or None


def chosen_reliability(texts: list[str] | None) -> dict[str | int, Any] | None:
    """Read ``bili=0.9,copper=sd 12``; the name may itself hold an equals sign, and a comma."""
    said: dict[str | int, Any] = {}
    for text in texts or []:
        pieces, begun = [], ""
        for piece in text.split(","):
            begun = f"{begun},{piece}" if begun else piece
            if "=" in piece:
                pieces.append(begun)
                begun = ""
        for piece in [*pieces, *([begun] if begun else [])]:
            name, equals, value = (part.strip() for part in piece.rpartition("="))
            if not (name and equals and value):
                raise typer.BadParameter(
                    f"write COLUMN=SHARE, as in bili=0.9, not {quoted(piece)}.", param_hint="--reliability"
                )
            if name in said:
                raise typer.BadParameter(f"{quoted(name)} is given twice.", param_hint="--reliability")
            said[name] = value
    return said or None


def chosen_limits(texts: list[str] | None) -> dict[str | int, Any] | None:
    """Read ``crp=<3`` and ``crp=>100``, one of each a column; the name may itself hold an equals sign."""
    said: dict[str | int, Any] = {}
    for text in texts or []:
        # The last equals sign before a sign that is no part of "<=".
        found = re.fullmatch(r"(.+?)\s*=\s*([<>≤≥].*|[^=<>]+\+)", text.strip())
        if found is None:
            raise typer.BadParameter(
                f"write COLUMN=<LIMIT or COLUMN=>LIMIT, as in 'crp=<3', not {quoted(text)}.",
                param_hint="--limit",
            )
        said.setdefault(found[1].strip(), []).append(found[2].strip())
    return said or None


def table_path(path: Path | None) -> Path | None:
    """Refuse, as wrong usage, an output whose ending names no format."""
    if path is not None:
        try:
            result_format(path)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def page_path(path: Path) -> Path:
    """Refuse, as wrong usage, a page whose name has another ending."""
    # The ending keeps a slip of the hand from replacing a table by a page.
    if path.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("the name of a page ends in .html, for example report.html.")
    return path


def model_path(path: Path | None) -> Path | None:
    """Refuse, as wrong usage, a model whose name has another ending."""
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path is not None and path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


def check_output(path: Path, *others: Path) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the other files."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(f"{shown(path)} would be written over by --out: choose another name.")
    check_can_write(path)
