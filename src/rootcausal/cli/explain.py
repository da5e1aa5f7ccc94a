"""``rootcausal explain``: a model and patients in, their root causes and risks out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, RootCausalWarning, UnlikeCohortWarning
from ..files.tables import FORMATS, comes_in_pieces, refuse_streams
from ..files.writing import write_pieces
from ..version import __version__
from ..wording import listed, one_line, percent, plural, quoted, short_names, shown, together
from .console import (
    NOT_SCORED,
    NOTHING_MEASURED,
    made_with,
    patient_label,
    print_table,
    provenance,
    say,
    say_adjusted,
    say_if_outside,
    say_meaning,
    say_removed,
    say_what_is_known,
    status_if_slow,
    words_of_model,
)
from .models import call_variables, columns_of, labels_of, load_model, say_sheet
from .options import (
    DropMissing,
    Horizon,
    Labels,
    ReadingOptions,
    bare,
    check_output,
    table_path,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..explaining.explanation import Explanation, RootCause
    from ..explaining.what_if import WhatIf
    from ..inputs.patients import Patients
    from ..outcomes import Words


# ``--what-if VARIABLE=SHOCK`` or ``VARIABLE=LEVEL``: the same patients with one shock or one level set.

CHANGES_SHOWN = 3
# Standard deviations. Hardly anybody has a shock beyond: who asks for one may mean a value.
LARGEST_SHOCK = 6.0
SHOCK_SET = (
    "What if: the part of the value that its causes do not explain is set to this many standard\n"
    "deviations, 0 being none, and what lies downstream follows. This is the model's prediction, not\n"
    "the effect of a treatment."
)
LEVEL_SET = (
    "What if: everybody has this level, all other shocks stay as they are, and what lies downstream\n"
    "follows; of levels downstream the likeliest is said, with its share where it is unsure. This is\n"
    "the model's prediction, not the effect of a treatment."
)


@dataclass(frozen=True)
class Question:
    """What is set: the shock on a number, in standard deviations, or the level of one that has levels."""

    variable: str
    shock: float = 0.0
    level: str | None = None

    def __str__(self) -> str:
        return f"{self.variable}={f'{self.shock:g}' if self.level is None else self.level}"

    def answer(self, explanation: Explanation) -> WhatIf:
        if self.level is None:
            return explanation.what_if(self.variable, self.shock)
        return explanation.what_if(self.variable, level=self.level)


def check_question(texts: list[str] | None) -> str | None:
    """The question that was asked, if any, before it is known what the model's variables are."""
    if not texts:
        return None
    if len(texts) > 1:
        raise typer.BadParameter("ask one question at a time.", param_hint="--what-if")
    (text,) = texts
    if not text.rpartition("=")[0]:
        raise _not_understood()
    return text


def understood(text: str, model: Fitted) -> Question:
    """Read ``bili=0`` or ``sex=male``; names and levels may themselves hold an equals sign."""
    from ..explaining.what_if import refuse_covariate
    from ..inputs.levels import level_texts, place_of

    variables = {variable.name: variable for variable in model._encoding.variables}
    splits = [(text[:at], text[at + 1 :]) for at, letter in enumerate(text) if letter == "="]
    known = [(name, value) for name, value in splits if name in variables]
    if not known:
        raise InputError(
            f"the model has no variable {quoted(splits[-1][0])} (--what-if); it has "
            f"{listed([quoted(name) for name in variables], 10)}."
        )
    name, value = next((one for one in known if one[1] in level_texts(variables[one[0]])), known[-1])
    if list(variables).index(name) in model.covariates_:
        refuse_covariate(name)
    if variables[name].levels:
        place_of(variables[name], value)  # says which levels there are
        return Question(name, level=value)
    try:
        shock = float(value)
    except ValueError:
        shock = math.nan
    if not math.isfinite(shock):
        raise _not_understood()
    _warn_of_large_shock(name, shock, model)
    return Question(name, shock)


def _warn_of_large_shock(name: str, shock: float, model: Fitted) -> None:
    """Say that a number which nobody's shock comes near is not taken for a value of the variable."""
    names = [model._encoding.names[k] for k in model.causal_order_]
    seen = "hardly ever seen"
    if model._quantiles is not None and name in names:
        least, most = model._quantiles.errors[[0, -1], names.index(name)]
        if least <= shock <= most:
            return
        seen = f"outside all that was seen ({least:+.1f} to {most:+.1f})"
    if abs(shock) > LARGEST_SHOCK:
        warnings.warn(
            f"--what-if {one_line(name, 40)}={shock:g} sets no value: {shock:g} is the shock, in standard "
            f"deviations, and {seen}, so the answer is an extrapolation",
            RootCausalWarning,
            stacklevel=2,
        )


def _not_understood() -> typer.BadParameter:
    return typer.BadParameter(
        "write VARIABLE=SHOCK, the shock in standard deviations; bili=0 takes it away. Of a variable with "
        "levels write VARIABLE=LEVEL, as in sex=male.",
        param_hint="--what-if",
    )


def print_answers(question: Question, patients: Patients, explanation: Explanation, words: Words) -> None:
    """What is predicted before and after for each patient, and the measurements that would change most."""
    answer = question.answer(explanation)
    rows = []
    for row in range(len(answer.predicted)):
        after = words.predicted(answer.predicted[row])
        if answer.predicted_interval is not None:
            low, high = answer.predicted_interval[:, row]
            after += f" ({words.predicted(low)} to {words.predicted(high)})"
        now = words.predicted(explanation.predicted[row])
        changes = _changes(explanation, answer, row) or "nothing"
        if not explanation.scored[row]:
            now, after, changes = NOT_SCORED, NOT_SCORED, NOTHING_MEASURED
        rows.append((patient_label(patients, row), now, after, changes))
    if explanation.scored.any():  # what is said below is said of those who are
        explanation = explanation.of_scored()
    name = one_line(question.variable, 40)
    if question.level is None:
        variable = explanation.variables[explanation.feature_names.index(question.variable)]
        of_what = " of its logarithm" if variable.log else ""
        say(f"what if the shock on {name} were {question.shock:g} standard deviations{of_what}?")
    else:
        say(f"what if {name} were {one_line(question.level, 40)}?")
    print_table(("patient", words.header[0], f"{words.told} then", "what would change"), rows)
    if answer.predicted_interval is not None:
        say("in brackets: 95% intervals from the bootstrap")
        say_if_outside(zip(answer.predicted, *answer.predicted_interval, strict=True))
    if not explanation.values[:, explanation.feature_names.index(question.variable)].any():
        nothing = "nothing changes" if question.level is None else "nothing else changes"
        say(f"{quoted(question.variable)} is not among the causes that the model found: {nothing}")
    say(SHOCK_SET if question.level is None else LEVEL_SET)


def answer_columns(question: Question, explanation: Explanation, called: str) -> list[tuple[str, Any]]:
    """Columns for --out: what is predicted after, with its interval, and the values, levels in words.

    ``called`` is what the column of what is predicted now is called.
    """
    import pyarrow as pa

    answer = question.answer(explanation)
    then = f"what_if_{called}"
    columns: list[tuple[str, Any]] = [(then, answer.predicted)]
    if answer.predicted_interval is not None:
        columns += zip((f"{then}_lower", f"{then}_upper"), answer.predicted_interval, strict=True)
    levels = answer.levels()
    for place, variable in enumerate(explanation.variables):
        # Of a variable that the model left out there may be no measurement: a cell without a value.
        cells = pa.array(levels[:, place], pa.string()) if variable.levels else None
        cells = pa.array(answer.data[:, place], from_pandas=True) if cells is None else cells
        columns.append((f"what_if_{variable.name}", cells))
    return columns


def _changes(explanation: Explanation, answer: WhatIf, row: int) -> str:
    """The values that change most, relative to their size; of levels, those that become others."""
    before, after = explanation.data[row], answer.data[row]
    change = abs(after - before) / (abs(after) + abs(before) + 1e-300)
    most = [c for c in (-change).argsort(kind="stable") if change[c] > 1e-6]
    said = ((c, explanation.text(row, c), answer.text(row, c)) for c in most)
    return listed(
        [
            f"{one_line(explanation.variables[c].shown, 40)} {one_line(now, 40)} to {one_line(then, 40)}"
            for c, now, then in said
            if now != then
        ],
        CHANGES_SHOWN,
    )


PATIENTS_SHOWN = 10
# Letters for the names of covariates, above the column of what they add; their number needs fewer.
COVARIATES_WIDTH = 24
BEYOND_NAMED, MISSING_NAMED = 5, 3
# What tells how sure a score is, where it is known.
KINDS = ("lower", "upper", "frequency")


@with_options
def explain(
    *,
    model_file: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file written by rootcausal fit.")
    ],
    patients_file: Annotated[
        Path,
        typer.Argument(metavar="PATIENTS", help="Table of patients: text, Parquet, Excel, Stata or SAS."),
    ],
    reading: ReadingOptions,
    drop_missing: DropMissing = False,
    labels: Labels = None,
    horizon: Horizon = None,
    id_column: Annotated[
        str | None, typer.Option("--id", callback=bare, metavar="COLUMN", help="Column with patient ids.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default="3", help="Root causes to print for each patient."),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIABLE=SHOCK",
            help="Set a shock, in standard deviations; 0 takes it away. Or set a level: VARIABLE=LEVEL.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=table_path,
            metavar="FILE",
            help="Write all scores to this .csv or .parquet file.",
        ),
    ] = None,
) -> None:
    """Rank the root causes of each patient, and give the risk, or what is expected of a number.

    Columns are matched by name, in any order; columns that the model does not
    know are not read, and those that it left out may be absent. Words for
    missing that the model was fitted with (--na) count here, too.

    With --out, the table has one row per patient: the id (or the row number),
    risk (a probability), log_odds, and for each variable the log-odds that
    the patient's shock on it adds (its Shapley value). Of the time to an
    event these are the risk by the horizon, log_hazard, and log-hazards; of a
    number predicted, and what each shock adds to it. Covariates, which are
    adjusted for, have one column together, covariates; so has each set of
    variables that the model reads as one ("bili + copper"). In a CSV file, a
    name or id that a spreadsheet would run as a formula gets a leading apostrophe;
    numbers read back exactly as computed. A model fitted with --bootstrap
    adds the ends of a 95% interval and the share of resamples in which the
    variable is a root cause, and --what-if the risk and the measurements it
    predicts. The last column names the variables that were not measured: what
    is expected of them, given all others, stands in for them. Without a
    bootstrap, a table in which something was not measured has intervals
    (_lower, _upper) of the variables that the model uses, and of covariates:
    they hold what these values leave open, and nothing of the doubt about the
    model.

    rootcausal explain model.rci new.csv --id patient
    rootcausal explain model.rci new.csv --id patient --out scores.csv
    rootcausal explain model.rci new.csv --drop-missing --out scores.parquet
    rootcausal explain model.rci new.csv --id patient --horizon 5
    rootcausal explain model.rci new.csv --id patient --what-if bili=0
    rootcausal explain model.rci new.csv --id patient --what-if sex=male
    """
    from ..inputs.from_file import stream_new_patients

    asked = check_question(what_if)
    if out is not None:
        if top is not None:
            raise typer.BadParameter(
                "--top is for the printed table; --out writes every variable.", param_hint="--top"
            )
        check_output(out, model_file, patients_file)
    refuse_streams(model_file)
    if model_file.suffix.lower() in FORMATS:
        raise InputError(f"{shown(model_file)} is not a model: give the model first, then the patients.")
    namings = labels_of(labels)
    model = load_model(model_file, horizon)
    call_variables(model, namings)
    asks = Asked(model, horizon, words_of_model(model, horizon))
    question = None if asked is None else understood(asked, model)
    id_column = reading.ids(id_column)
    wanted = {**columns_of(model, reading.na), "id_column": id_column, "drop_missing": drop_missing}
    table = reading.table_at(patients_file)
    pieces = _Counted(stream_new_patients(table, **wanted))
    made = made_with(model) | ({} if horizon is None else {"horizon": f"{horizon:g}"})
    if out is None:
        _print_first(patients_file, pieces, asks, question, 3 if top is None else top)
    else:
        details = {"model": model_file.name, "checks": model._found.verdict, **made, **asks.words.facts}
        if question is not None:
            details["what_if"] = str(question)
        scores = _Scores(asks, id_column, question)
        if comes_in_pieces(table):
            scores.look_ahead(stream_new_patients(table, **wanted))
        _write_scores(out, pieces, scores, details)
    say_sheet(table)
    say_what_is_known(model)
    say(provenance("explain", {"model": quoted(model_file.name), **made}))


@dataclass(frozen=True)
class Asked:
    """A model, the time by which it is asked for risks, if any was given, and what is said of its outcome."""

    model: Fitted
    horizon: float | None
    words: Words

    def look_at(self, table: Any) -> None:
        """Say what is unlike the cohort in rows of which not all are shown."""
        self.model._patients(table, to_score=False)

    def explain(self, table: Any) -> Explanation:
        by = {} if self.horizon is None else {"horizon": self.horizon}
        with warnings.catch_warnings():
            # Both are said of the file as a whole, not of a piece of it.
            for told in ("no patient has", NOTHING_MEASURED):
                warnings.filterwarnings("ignore", told, UserWarning)
            return self.model.explain(table, **by)


class _Counted:
    """The pieces of a table that have rows, as they come, and how many rows came so far."""

    def __init__(self, pieces: Iterator[Patients]) -> None:
        self._pieces = pieces
        self.n_rows = 0
        self.n_removed = 0
        self._repeated = False

    @property
    def row_noun(self) -> str:
        """What a row is: a patient, unless some have several."""
        return "row" if self._repeated else "patient"

    def __iter__(self) -> Iterator[Patients]:
        for piece in self._pieces:
            self.n_rows += piece.X.num_rows
            self.n_removed += piece.n_removed
            self._repeated = self._repeated or piece.groups is not None
            if piece.X.num_rows:
                yield piece


def _print_first(
    patients_file: Path, pieces: _Counted, asked: Asked, question: Question | None, top: int
) -> None:
    with status_if_slow(f"reading {quoted(patients_file)}"):
        first = None
        for piece in pieces:  # to the end, since any row may be wrong, or in another unit
            first = piece if first is None else first
            asked.look_at(piece.X)
    assert first is not None
    say_removed(pieces.n_removed, pieces.n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnlikeCohortWarning)  # it was said of the whole file
        explanation = asked.explain(first.X.slice(0, PATIENTS_SHOWN))
    if question is not None:
        print_answers(question, first, explanation, asked.words)
    else:
        print_root_causes(first, explanation, asked.words, top, pieces.n_rows)


def print_root_causes(
    patients: Patients, explanation: Explanation, words: Words, top: int, n_rows: int
) -> None:
    """Print a line for each of the first patients, and say what its numbers mean; the file has ``n_rows``."""
    covariates, predicted, predictor = explanation.covariates, explanation.predicted, explanation.predictor
    shown_names = short_names([variable.shown for variable in explanation.variables])
    called = dict(zip(explanation.feature_names, shown_names, strict=True))
    called |= {one.name: " + ".join(called[member] for member in one.members) for one in explanation.sets}
    causes = explanation.root_causes(top, both_ways=words.both_ways)
    rows = [
        (
            patient_label(patients, row),
            *words.cells(predicted[row], predictor[row]),
            *([_adjustment(explanation, words, row)] if covariates else []),
            (
                ", ".join(_cause(one, called[one.variable], explanation, words, row) for one in of_patient)
                or words.no_causes
            )
            + _not_measured(explanation, called, of_patient, row),
        )
        if explanation.scored[row]
        else _not_scored(patient_label(patients, row), len(words.header) + bool(covariates))
        for row, of_patient in enumerate(causes)
    ]
    adjusted = [explanation.variables[place].shown for place in explanation._model.covariates]
    apart = [together(adjusted, COVARIATES_WIDTH)] if covariates else []
    print_table(("patient", *words.header, *apart, words.of_causes), rows)
    ends = explanation.covariate_interval if covariates else None
    printed = any(_has_interval(cause) for of_patient in causes for cause in of_patient)
    effect = explanation.covariate_effect
    printed = printed or (ends is not None and any(map(_apart, effect, *ends)))
    if printed and explanation.frequency is not None:
        share = "" if words.both_ways else ", and the share of resamples in which it raises the risk"
        say(f"in brackets: 95% interval{share}")
        shown = [(one.shapley, one.lower, one.upper) for of_patient in causes for one in of_patient]
        say_if_outside([*shown, *([] if ends is None else zip(effect, *ends, strict=True))])
    elif printed and explanation.lower is not None:
        say("in brackets: 95% interval that values not measured leave; not the doubt about the model")
    _say_beyond(patients, explanation)
    _say_unlike(patients, explanation)
    n_more = n_rows - PATIENTS_SHOWN
    if n_more > 0:
        noun = "more patient" if patients.groups is None else "more row"
        say(f"and {plural(n_more, noun)}; --out scores.csv writes them all")
    say_meaning(words, explanation.base_value, covariates, explanation.notable_from)


def _not_scored(label: str, width: int) -> tuple[str, ...]:
    """The line of a patient of whom nothing was measured that the model goes by."""
    return (label, NOT_SCORED, *[""] * (width - 1), NOTHING_MEASURED)


def _not_measured(explanation: Explanation, called: dict[str, str], causes: list[RootCause], row: int) -> str:
    """Of the variables that the model uses, those that were not measured and are not among the causes."""
    told = {name for cause in causes for name in (cause.variable, *cause.members)}
    names = {
        name: explanation.limit(row, k)
        for k in explanation._model.order
        if explanation.imputed[row, k] and (name := explanation.feature_names[k]) not in told
    }
    missing = [f"{called[name]} ({limit})" if limit else called[name] for name, limit in names.items()]
    # On a line of its own, so that causes are seen at once.
    return f"\nnot measured: {listed(missing, MISSING_NAMED)}" if missing else ""


def _say_beyond(patients: Patients, explanation: Explanation) -> None:
    """Say whose measurements lie beyond the range of the cohort."""
    found = [
        f"{one_line(explanation.variables[c].shown, 40)} of {patient_label(patients, row)}"
        for row, c in zip(*explanation.beyond.nonzero(), strict=True)
    ]
    if found:
        say(f"extrapolation, beyond the range of the cohort: {listed(found, BEYOND_NAMED)}")


def _say_unlike(patients: Patients, explanation: Explanation) -> None:
    """Say who has a shock that nobody had of whom the model learned."""
    found = [
        f"{patient_label(patients, row)} (most in {one_line(name, 40)})"
        for row, name in enumerate(explanation.unlike_most)
        if name is not None
    ]
    if found:
        say(
            "unlike the patients it learned from, by a shock beyond all of theirs: "
            f"{listed(found, BEYOND_NAMED)}"
        )


def _adjustment(explanation: Explanation, words: Words, row: int) -> str:
    """What covariates add to one patient, with its interval, and which of them were not measured."""
    added = words.beside(explanation.covariate_effect[row])
    if explanation.covariate_interval is not None:
        lower, upper = explanation.covariate_interval[:, row]
        apart = _apart(explanation.covariate_effect[row], lower, upper)
        added += f" ({words.end(lower)} to {words.end(upper)})" if apart else ""
    places = explanation._model.covariates
    expected = [one_line(explanation.variables[k].shown, 20) for k in places if explanation.imputed[row, k]]
    # On a line of its own, so that the column stays narrow.
    return added + (f"\n{listed(expected, 2)} not measured" if expected else "")


def _has_interval(cause: RootCause) -> bool:
    return (
        cause.lower is not None
        and cause.upper is not None
        and _apart(cause.shapley, cause.lower, cause.upper)
    )


def _apart(value: float, lower: float, upper: float) -> bool:
    """Whether an interval is more than the value: without resamples, what was all measured has no other."""
    return lower < upper or lower > value or upper < value


def _cause(cause: RootCause, name: str, explanation: Explanation, words: Words, row: int) -> str:
    value = one_line(explanation.text(row, explanation.listed.names.index(cause.variable)), 40)
    if cause.imputed and cause.members:
        name += " (not all measured)"
    elif cause.imputed:
        limit = explanation.limit(row, explanation.feature_names.index(cause.variable))
        name += f" ({limit or 'not measured'}; {value} expected)"
    elif cause.level is not None:
        name += f" = {value}"
    text = f"{name} {words.beside(cause.shapley)}"
    if not _has_interval(cause):
        return text
    assert cause.lower is not None
    assert cause.upper is not None
    sure = "" if cause.frequency is None or words.both_ways else f", {percent(cause.frequency)}"
    if cause.frequency == 0 < cause.shapley:
        sure = ", no resample agrees"
    elif cause.upper <= 0 < cause.shapley or cause.shapley < 0 <= cause.lower:
        sure = ", resamples disagree"
    return f"{text} ({words.end(cause.lower)} to {words.end(cause.upper)}{sure})"


class _Scores:
    """Patients in, a table of their scores out: one row a patient.

    Attributes
    ----------
    covariates : names of the variables that are adjusted for.
    before, after : names of the columns before and after those of the variables, once a table was made.
    kinds : what is written of how sure each score is; None until a table was made.
    n_imputed : rows so far of which something was not measured.
    n_not_scored : rows so far of which nothing was measured that the model goes by.
    """

    def __init__(self, asked: Asked, id_column: str | None, question: Question | None) -> None:
        model = asked.model
        self.words = asked.words
        self.base_value = float(model.intercept_)
        self.covariates = [str(model.feature_names_in_[place]) for place in model.covariates_]
        self._asked, self._model = asked, model
        self._id_column = id_column
        self._question = question
        self.kinds: list[str] | None = list(KINDS) if model.bootstrap_ is not None else None
        self.n_imputed = self.n_not_scored = 0
        self.before: list[str] = []
        self.after: list[str] = []

    @property
    def of_measurement_only(self) -> bool:
        """Whether intervals are those that values not measured leave, and nothing else."""
        return bool(self.kinds) and self._model.bootstrap_ is None

    def look_ahead(self, pieces: Iterator[Patients]) -> None:
        """See whether any row of a table that comes in pieces has to be filled in: all get intervals then."""
        if self.kinds is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they come once more with the rows that are scored
                some = any(self._fills_in(piece) for piece in pieces)
            self.kinds = ["lower", "upper"] if some else []

    def _fills_in(self, patients: Patients) -> bool:
        import pyarrow.compute as pc

        names = patients.X.column_names
        needed = {str(self._model.feature_names_in_[place]) for place in self._model._needed_variables()}
        return any(
            pc.any(patients.X[name].is_null(nan_is_null=True)).as_py() for name in names if name in needed
        )

    def __call__(self, patients: Patients) -> Any:
        import pyarrow as pa

        explanation = self._asked.explain(patients.X)
        entries = explanation.listed
        unlisted = {*self._model.covariates_, *entries.members}
        ranked = [k for k in range(len(entries.names)) if k not in unlisted]
        scores = {str(entries.names[k]): entries.values[:, k] for k in ranked}
        who: tuple[str, Any] = ("row", patients.row_numbers)
        if self._id_column is not None:
            who = (self._id_column, pa.array(patients.ids, pa.string()))
        predicted, predictor = self.words.columns
        risk = [(predicted, explanation.predicted)]
        if predictor is not None:
            risk.append((predictor, explanation.predictor))
        if self.covariates:
            risk.append(("covariates", explanation.covariate_effect))
        before = _named_apart([who, *risk], scores)
        if self.kinds is None:  # a table in one piece
            self.kinds = [] if explanation.lower is None else ["lower", "upper"]
        self.n_imputed += int(explanation.imputed.any(axis=1).sum())
        used = ranked
        if self.of_measurement_only:
            used = [k for k in ranked if k >= len(explanation.variables) or k in self._model.causal_order_]
        more = _uncertainty_columns(explanation, self.kinds, used)
        if self.covariates and self.kinds:
            ends, effect = explanation.covariate_interval, explanation.covariate_effect
            lower, upper = (effect, effect) if ends is None else ends
            called = list(before)[-1]  # "covariates", unless a variable has that name
            more = [*more, (f"{called}_lower", lower), (f"{called}_upper", upper)]
        if self._question is not None:
            more += answer_columns(self._question, explanation, predicted)
        more.append(("imputed", pa.array(_names_not_measured(explanation), pa.string())))
        after = _named_apart(more, scores | before)
        self.before, self.after = list(before), list(after)
        self.n_not_scored += int((~explanation.scored).sum())
        columns = before | scores | after
        if not explanation.scored.all():  # cells without a value
            columns = {name: _or_null(column) for name, column in columns.items()}
        return pa.table(columns)


def _or_null(column: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(column, from_pandas=True) if isinstance(column, np.ndarray) else column


def _names_not_measured(explanation: Explanation) -> list[str | None]:
    """Of each patient the names of the variables whose values were filled in; None where there is none."""
    names = explanation.feature_names
    return ["; ".join(names[c] for c in row.nonzero()[0]) or None for row in explanation.imputed]


def _uncertainty_columns(
    explanation: Explanation, kinds: Sequence[str], variables: Iterable[int]
) -> list[tuple[str, Any]]:
    """For some variables the ends of the interval and the frequency, as far as there are such ``kinds``."""
    entries = explanation.listed
    tables = {kind: getattr(entries, kind) for kind in kinds}
    return [
        # Patients of whom all was measured have no interval of their own: it is the value.
        (
            f"{entries.names[place]}_{kind}",
            (entries.values if table is None else table)[:, place],
        )
        for place in variables
        for kind, table in tables.items()
    ]


def _named_apart(columns: list[tuple[str, Any]], taken: Container[str]) -> dict[str, Any]:
    """A variable of the same name keeps it; the column beside it gives way."""
    named: dict[str, Any] = {}
    for name, column in columns:
        free = name
        while free in taken or free in named:
            free += "_"
        named[free] = column
    return named


def _write_scores(out: Path, pieces: _Counted, scores: _Scores, details: dict[str, Any]) -> None:
    made_by = {"version": __version__, "command": "explain", "base_value": scores.base_value, **details}
    with status_if_slow(f"writing {quoted(out)}"):
        write_pieces(out, (scores(piece) for piece in pieces), made_by)
    say_removed(pieces.n_removed, pieces.n_rows)
    say(f"scores of {plural(pieces.n_rows, pieces.row_noun)} written to {shown(out)}")
    first = listed([quoted(name) for name in scores.before])
    say(
        f"columns: {first}, then {scores.words.of_columns}"
        + (f", then {listed([quoted(name) for name in scores.after], 3)}" if scores.after else "")
    )
    if scores.n_imputed:
        has = "has" if scores.n_imputed == 1 else "have"
        say(
            f"{plural(scores.n_imputed, pieces.row_noun)} {has} values that were not measured: see 'imputed'"
            + (
                "; '_lower' and '_upper' hold only what these leave open"
                if scores.of_measurement_only
                else ""
            )
        )
    if scores.n_not_scored:
        is_ = "is" if scores.n_not_scored == 1 else "are"
        say(
            f"{plural(scores.n_not_scored, pieces.row_noun)} {is_} {NOT_SCORED}, and without values: "
            f"{NOTHING_MEASURED}"
        )
    say(scores.words.base(scores.base_value, "shocks and covariates" if scores.covariates else "shocks"))
    if scores.covariates:
        say_adjusted(scores.covariates)
    for line in scores.words.populations:
        say(line)
