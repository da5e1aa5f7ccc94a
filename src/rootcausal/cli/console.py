"""What commands print: lines that are safe on a terminal, and what several say of rows, models and checks."""

import re
import sys
import textwrap
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, cast

import typer

from ..errors import UnlikeCohortWarning
from ..progress.watching import tell
from ..version import __version__
from ..wording import listed, one_line, percent, plural, printable, short_names, shown

if TYPE_CHECKING:
    from pathlib import Path

    from ..diagnostics import Diagnosis
    from ..estimators.base import Estimator
    from ..estimators.loading import Fitted
    from ..explaining.provenance import LeftOut
    from ..inputs.kinds import Variable
    from ..inputs.knowledge import Knowledge
    from ..inputs.patients import Patients, Readings
    from ..outcomes import Words

# Of a patient; beginning of a warning, too.
NOT_SCORED, NOTHING_MEASURED = "not scored", "nothing that the model goes by was measured"
VARIABLES_SHOWN = 25
KINDS_SHOWN = 5
LEVELS_SHOWN = 6
SETS_SHOWN = 10
LOGS_SHOWN = 25
LEAST_KNOWN_SHOWN = 3
SECONDS_BEFORE_STATUS = 2.0
# Where the text of a line starts: behind a verdict or the space below it, a number, or the mark of a list.
BEFORE_TEXT = re.compile(r"[A-Z ]{13}| *(?:- |\d+\. )?")
NARROWEST = 40
# A doubt about one of these is said at once.
STRONGEST = 3
LIMIT_LETTERS = 240
DOUBTS_SAID = 3


def say(text: str = "", *, to_paste: bool = False) -> None:
    """Print a line whose control characters cannot act on the terminal.

    On a terminal long lines are broken between words, unless they are there to be pasted; in files they stay
    whole.
    """
    if sys.stdout.isatty() and not to_paste:
        text = fitting(text)
    typer.echo(printable(text))


def complain(text: str) -> None:
    """Print a warning or an error on stderr, likewise."""
    typer.echo(printable(fitting(text) if sys.stderr.isatty() else text), err=True)


def fitting(text: str) -> str:
    """Return lines no longer than the terminal is wide."""
    width = get_terminal_size().columns
    return "\n".join(broken_up(line, width) for line in text.split("\n"))


def broken_up(line: str, width: int) -> str:
    """Return a line in pieces of this width; those that follow start below the text of the first."""
    if len(line) <= width:
        return line
    start = BEFORE_TEXT.match(line)
    indent = " " * (start.end() if start else 0)
    pieces = textwrap.wrap(
        line,
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each UserWarning as one line on stderr, once, and no place in the code.

    What libraries call deprecated, in other libraries, is nothing that a user could do something about.
    """
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, DeprecationWarning):
            return
        line = f"warning: {printable(' '.join(str(message).split()))}"
        # Of a table in pieces, each would tell of the same columns in other numbers.
        about = str(message.columns) if isinstance(message, UnlikeCohortWarning) else line
        if about not in said:
            said.add(about)
            complain(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int = 100) -> None:
    """Print a table; its cells are data, in which nothing may act as markup or turn into an emoji.

    It is as wide as the terminal, or ``width`` where there is none.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # what is being handled, which rich would turn into an exit code of its own

    table = Table(*header, box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    fixed = None if sys.stdout.isatty() else width
    PlainConsole(markup=False, emoji=False, highlight=False, width=fixed).print(table)


@contextmanager
def status_if_slow(text: str) -> Iterator[None]:
    """Show what is being done once it has taken two seconds; who watches is told at once."""
    tell(text)
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(text))
    timer = threading.Timer(SECONDS_BEFORE_STATUS, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def say_cohort(where: str, n_rows: int, n_columns: int) -> None:
    """Say what was read."""
    say(f"cohort: {where}, {n_rows} rows, {n_columns} variables")


def say_kinds(readings: "Readings") -> None:
    """Say which variables are no numbers, and how many cells are missing."""
    for line in kinds_lines(readings.encoding.variables):
        say(line)
    missing = readings.missing
    if missing.any():
        most = sorted(zip(-missing, readings.encoding.names, strict=True))[:KINDS_SHOWN]
        shown = [f"{one_line(name, 40)} {_rounded(-n / len(readings.table))}" for n, name in most if n]
        more = int((missing > 0).sum()) - len(shown)
        say(
            f"{missing.sum()} of {readings.table.size} cells are missing: {', '.join(shown)}"
            + (f" and {plural(more, 'more variable')}" if more > 0 else "")
        )


def _rounded(part: float) -> str:
    """Return a share that is neither none nor all, in percent that say so."""
    return "<1%" if part < 0.005 else ">99%" if 0.995 <= part < 1 else f"{part:.0%}"


def say_known(knowledge: "Knowledge | dict[str, Any]") -> None:
    """Say what was known of the causal order before."""
    from ..inputs.knowledge import Knowledge

    say(f"given: {Knowledge.of(knowledge).in_words()}")


def say_filled_in(model: "Estimator") -> None:
    """Say how missing values were filled in, and of which variables least is known for it."""
    filled = model.provenance_.get("missing")
    if filled and filled["cells"]:
        unknown = sorted(filled["unknown"].items(), key=lambda one: -one[1])[:LEAST_KNOWN_SHOWN]
        least = [f"{one_line(name, 40)} {percent(share)}" for name, share in unknown]
        cells, variables = sum(filled["cells"].values()), plural(len(filled["cells"]), "variable")
        say(
            f"{plural(cells, 'missing value')} of {variables} {'was' if cells == 1 else 'were'} filled in "
            f"{filled['draws']} times, by what was "
            f"measured in the same patient (EM, {plural(filled['rounds'], 'round')}); variance that is not "
            f"known, at most: {', '.join(least)}"
        )


def split_in_halves(model: "Estimator") -> None:
    """Ask whether two halves of the cohort agree; the model keeps it, and checks and pages tell it."""
    with status_if_slow("learning from halves of the cohort"):
        model.split_half()


def say_reliability(model: "Estimator") -> None:
    """Say which columns are taken to be measured with error, and how reliable they are."""
    told = model.provenance_.get("reliability")
    if told:
        named = [f"{one_line(name, 40)} {share:.2f}" for name, share in told.items()]
        say(
            f"measured with error (reliability): {listed(named, LOGS_SHOWN)}; mechanisms are of true values, "
            "and patients' shocks are what is expected of them"
        )


def say_weights(model: "Estimator") -> None:
    """Say what the weights of rows come to, where they have some."""
    from ..inputs.weights import in_words

    for line in in_words(model.provenance_):
        say(line)


def say_limits(model: "Estimator") -> None:
    """Say which columns have limits of detection, and how many values lie beyond these."""
    told = model.provenance_.get("limits")
    if told:
        named = [
            f"{one_line(name, 40)} {' '.join(one['said'])} ({plural(one['cells'], 'value')})"
            for name, one in told.items()
        ]
        say(
            f"limits of detection: {listed(named, LOGS_SHOWN)}; values beyond them are drawn within them, by "
            "what was measured in the same patient"
        )


def say_sets(model: "Estimator") -> None:
    """Say which variables are read as one, where that was asked for."""
    merged = model.provenance_.get("merged")
    if merged is None:
        return
    if not merged["sets"]:
        asked = plural(merged["pairs_asked"], "pair")
        say(f"read as one: no variables; of {asked} that an arrow joins, no errors stayed dependent")
        return
    called = short_names(model._encoding.shown_names)
    named = [" + ".join(called[member] for member in some) for some in model.merged_sets_]
    say(f"read as one, since their errors stay dependent: {listed(named, SETS_SHOWN)}")


def kinds_lines(variables: "Sequence[Variable]") -> list[str]:
    """Return lines such as ``2 binary (sex: female, male; ill: no, yes)``, one for each kind but numbers.

    The last one names what is on a log scale.
    """
    from ..inputs.labels import text_of

    lines = []
    for kind in ("binary", "ordinal", "nominal"):
        between = " < " if kind == "ordinal" else ", "
        found = []
        for variable in variables:
            if variable.kind == kind:
                levels = [one_line(text_of(level), 20) for level in variable.levels]
                more = f"{between}..." if len(levels) > LEVELS_SHOWN else ""
                found.append(f"{one_line(variable.name, 40)}: {between.join(levels[:LEVELS_SHOWN])}{more}")
        if found:
            rest = f"; and {len(found) - KINDS_SHOWN} more" if len(found) > KINDS_SHOWN else ""
            lines.append(f"{len(found)} {kind} ({'; '.join(found[:KINDS_SHOWN])}{rest})")
    logs = [one_line(variable.name, 40) for variable in variables if variable.log]
    if logs:
        lines.append(
            f"on a log scale: {listed(logs, LOGS_SHOWN)} (values are shown in their own unit, and standard "
            "deviations are those of the logarithm)"
        )
    return lines


def removed(n_removed: int, n_left: int) -> str:
    """Return how many rows ``--drop-missing`` left out."""
    return f"--drop-missing left out {n_removed} of {n_removed + n_left} rows because a value was missing"


def say_removed(n_removed: int, n_left: int) -> None:
    """Say how many rows ``--drop-missing`` left out, if any."""
    if n_removed:
        say(removed(n_removed, n_left))


def say_mechanism(model: "Estimator") -> None:
    """Print which mechanism was taken, where there was a choice, and which variables it bends."""
    from ..explaining.provenance import mechanism_in_words

    names = [one_line(name, 40) for name in model._encoding.column_names]
    for line in mechanism_in_words(model.provenance_, model._model.mechanism, names):
        say(line)


def words_of_model(model: "Estimator", horizon: float | None = None) -> "Words":
    """Return how the outcome of a model is spoken of, risks being told by the ``horizon`` if one is given."""
    from ..outcomes import words_of

    reading, parameters = model.provenance_.get("reading", {}), dict(model.provenance_["parameters"])
    if horizon is not None:
        parameters["horizon"] = horizon
    return words_of(model._model.attribution, reading.get("called"), reading.get("unit", ""), parameters)


def names_with_levels(model: "Estimator") -> list[str]:
    """Names of variables; of two levels that are no numbers also which one is up, unless that is yes."""
    from ..inputs.labels import ANSWERS

    yes, found = {answer for _, answer in ANSWERS}, []
    for name, variable in zip(
        short_names(model._encoding.shown_names), model._encoding.variables, strict=True
    ):
        up = variable.levels[-1] if variable.kind == "binary" else None
        say_it = isinstance(up, str) and up.strip().casefold() not in yes
        found.append(f"{name} = {one_line(str(up), 20)}" if say_it else name)
    return found


def say_order(model: "Estimator", words: "Words") -> None:
    """Print the causal order with its coefficients, and the variables left out."""
    from ..explaining.graph import effect_intervals
    from ..explaining.provenance import left_out

    order, called = [int(k) for k in model.causal_order_], names_with_levels(model)
    if model.covariates_.size:
        shown = short_names(model._encoding.shown_names)
        adjusted = listed([shown[k] for k in model.covariates_], 10)
        say(f"adjusted for, in the {words.told} and no root causes: {adjusted}")
    if not order:
        say(f"no variable depends on {words.subject}: all Shapley values are zero")
        return
    effects = model._unit_effects
    ends = None if model.bootstrap_ is None else effect_intervals(model.bootstrap_, len(effects))
    sure = "" if ends is None else "; in brackets: 95% interval from the bootstrap"
    bent = "" if model._model.attribution.proportional else ", all others being average"
    say(f"causal order, and {words.of_order}{bent}{sure}:")
    first = {k: called[k] for k in order[:VARIABLES_SHOWN]}
    width = max(len(name) for name in first.values())
    kinds = [variable.kind for variable in model._encoding.variables]
    for place, (k, name) in enumerate(first.items(), start=1):
        # Levels without an order have no upwards: a shock counts towards those that raise the risk.
        signless = kinds[k] == "nominal"
        effect = abs(effects[k]) if signless else effects[k]
        size = words.per_sd(effect)
        if signless:
            size = f"{size.replace('+', ' ', 1)} either way"
        if ends is not None:
            low, high = map(words.per_sd, ends[:, k])
            size += f" ({low} to {high})"
        say(f"  {place:>3}. {name:<{width}}  {size}")
    if len(order) > VARIABLES_SHOWN:
        say(f"       and {plural(len(order) - VARIABLES_SHOWN, 'more variable')}")
    if ends is not None:
        say_if_outside((effects[k], *ends[:, k]) for k in first)
    columns = model._encoding.names
    _say_left_out(left_out(columns, model._model.used.tolist(), model.provenance_), words.subject)


def say_names(model: "Estimator", file: "Path | None" = None) -> None:
    """Say which columns the learned order puts where their names say they cannot be, and what to do.

    ``file`` is what ``--knowledge`` named: beside it no other option may say what is known.
    """
    from ..name_hints.order import as_option, ask, in_file, options

    names = [str(name) for name in model.feature_names_in_]
    parameters = cast("dict[str, Any]", model.provenance_["parameters"])
    question = ask(names, [names[k] for k in model.causal_order_], parameters.get("knowledge"))
    if question is None or not question.misplaced:
        return
    say(question.statement())
    fix = question.suggestion
    if not fix:
        say(f"if the names mean what they say, {fix.work}, and fit again")
        return
    with_what = "these options" if len(options(fix) or ()) > 1 else "this option"
    if file is not None:
        with_what = f"a file of this in place of {shown(file)}"
    say(f"if the names mean what they say, fit again with {with_what}:")
    say(f"  {as_option(fix) if file is None else in_file(fix)}", to_paste=True)
    notes = [note for note in (*fix.caveats, fix.work) if note]
    if notes:
        say(f"before you do: {'; '.join(notes)}")


def _say_left_out(variables: "LeftOut", subject: str) -> None:
    reasons = {
        f"no sign of a dependence on {subject}": variables.independent,
        f"associated with {subject}, but adding nothing once earlier variables are known": (
            variables.adds_nothing
        ),
        "wholly explained by earlier variables": variables.exhausted,
    }
    for reason, names in reasons.items():
        if names:
            say(f"left out, {reason}: {listed(short_names(names), 10)}")


def say_if_outside(intervals: Iterable[tuple[Any, Any, Any]]) -> None:
    """Say why, if a value lies outside its interval; each is a value with its lower and its upper end."""
    if any(value < lower or value > upper for value, lower, upper in intervals):
        say("an interval is that of the resamples: where it does not hold the value, they seldom found it")


def say_meaning(words: "Words", base_value: float, covariates: Sequence[str], notable_from: float) -> None:
    """Explain the printed numbers."""
    meaning = words.meaning(base_value, bool(covariates))
    # A paragraph for files; a terminal breaks its lines where it ends.
    say(" ".join(meaning.split()) if sys.stdout.isatty() else meaning)
    say(words.left_unnamed(notable_from))
    if covariates:
        say_adjusted(covariates)
    for line in words.populations:
        say(line)


def say_adjusted(covariates: Sequence[str]) -> None:
    """Say what covariates are."""
    names = listed([one_line(name, 40) for name in covariates], 10)
    say(f"Covariates ({names}) are adjusted for: what they add stands apart, and they are no root causes.")


def say_what_was_found(diagnosis: "Diagnosis") -> None:
    """Print how many checks were made, with which verdicts, and what they come to."""
    from ..diagnostics.diagnosis import VERDICTS

    counts = Counter(check.verdict for check in diagnosis.checks)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts[verdict])
    if not counts:
        return
    say(f"{plural(len(diagnosis.checks), 'check')} of the assumptions: {verdicts}")
    if diagnosis.not_made:
        say(diagnosis.not_made)
    say(diagnosis.summary())


def say_what_is_known(model: "Fitted") -> None:
    """Print what was found when a model was made: the checks in a line, and each warning in another."""
    from ..likelihood.recalibration import in_words

    found = model._found
    how = "rootcausal check, of the cohort of the fit, says whether its assumptions hold"
    say(f"checks of the model: {found.in_short(how)}")
    calibration = model._calibration
    if calibration is not None:
        say(f"calibration: {in_words(calibration, model._model.attribution.of_outcome)}")
    for text in found.fit:
        say(f"the fit warned: {one_line(text, LIMIT_LETTERS)}")
    for text in found.table[:DOUBTS_SAID]:
        say(f"in doubt, in the cohort of the fit: {one_line(text, LIMIT_LETTERS)}")
    more = len(found.table) - DOUBTS_SAID
    if more > 0:
        say(f"and {plural(more, 'more doubt')}: rootcausal look, of the cohort of the fit, lists them")


def warn_of_limits(diagnosis: "Diagnosis", who: str, fitted: "Fitted | None" = None) -> None:
    """Print a line on stderr where the checks say that something is not to be read.

    ``who`` says the rest, such as "the page". Of a model that was just ``fitted``, what its fit warned of is
    not said twice, and doubts about its strongest variables are said too.
    """
    nothing_found = fitted is not None and not fitted.causal_order_.size
    broken = [
        check
        for check in diagnosis.limits
        if check.reading == "do not read" and not (nothing_found and check.name == "learned")
    ]
    if broken:
        limit = one_line(broken[0].limit, LIMIT_LETTERS)
        more = f"{len(broken) - 1} more like this; " if len(broken) > 1 else ""
        complain(f"warning: the checks say: {limit} ({more}{who} says why, and what to do)")
    nothing_found = nothing_found or any(check.name == "learned" for check in broken)
    strongest = set() if fitted is None or nothing_found else _strongest(fitted)
    for check in diagnosis.limits:
        if check not in broken and check.verdict == "doubtful" and strongest.intersection(check.variables):
            complain(f"warning: the checks doubt: {one_line(check.limit, LIMIT_LETTERS)} ({who} says why)")


def _strongest(model: "Fitted") -> set[str]:
    """The columns whose shocks move the outcome most."""
    order = sorted(map(int, model.causal_order_), key=lambda k: -abs(float(model._unit_effects[k])))
    return {str(model.feature_names_in_[k]) for k in order[:STRONGEST]}


def patient_label(patients: "Patients", row: int) -> str:
    """Return what to call a patient on screen: the id, or the row number; both where the id is repeated."""
    name, number = "" if patients.ids is None else patients.ids[row], f"row {patients.row_numbers[row]}"
    label = one_line(name, 40)
    if not label or patients.groups is None or patients.ids is None or patients.ids.count(name) == 1:
        return label or number
    return f"{label} ({number})"


def patient_labels(patients: "Patients") -> list[str]:
    """Return what to call all patients: their ids, their row numbers in the file where there is none, and
    both where an id is repeated.
    """
    rows = [f"row {number}" for number in patients.row_numbers]
    if patients.ids is None:
        return rows
    times = Counter(patients.ids)
    return [
        (text if times[text] == 1 else f"{text} ({row})") if text.strip() else row
        for text, row in zip(patients.ids, rows, strict=True)
    ]


def made_with(model: "Estimator") -> dict[str, Any]:
    """Return the settings of a model, for the provenance of a result."""
    from ..inputs.knowledge import Knowledge

    parameters = dict(cast("dict[str, Any]", model.provenance_["parameters"]))
    # What was not asked for is not said: kinds are printed by themselves.
    kinds, known = parameters.pop("kinds", None), parameters.pop("knowledge", None)
    logs = parameters.pop("log", None)
    if parameters.get("missing") == "impute":
        del parameters["missing"]
    if "horizon" in parameters:
        parameters["horizon"] = f"{model.provenance_['horizon']:g}"
    for name in (
        "alpha",
        "prevalence",
        "confounding",
        "levels",
        "dispersion",
        "positive",
        "reliability",
        "limits",
    ):
        if name in parameters and parameters[name] is None:
            del parameters[name]
    competing = parameters.pop("competing", None)
    if competing:
        several = competing if isinstance(competing, list) else [competing]
        parameters["competing"] = listed([one_line(str(label), 30) for label in several])
    if not parameters.get("incidence", True):
        del parameters["incidence"]
    if isinstance(parameters.get("positive"), list):
        parameters["positive"] = listed([one_line(str(label), 30) for label in parameters["positive"]])
    if parameters.get("outcome") in ("binary", "continuous"):
        del parameters["outcome"]
    if "levels" in parameters:
        parameters["levels"] = " < ".join(one_line(level, 30) for level in map(str, parameters["levels"]))
    if kinds:
        parameters["kinds"] = listed([one_line(name, 40) for name in kinds])
    if parameters.get("reliability"):
        told = model.provenance_.get("reliability", {})
        parameters["reliability"] = listed(
            [f"{one_line(name, 40)} {share:.2g}" for name, share in told.items()]
        )
    if parameters.get("limits"):
        limited = model._encoding.limited.items()
        said = [
            f"{one_line(model._encoding.names[place], 40)} {' '.join(one.said)}" for place, one in limited
        ]
        parameters["limits"] = listed(said)
    if logs:
        parameters["log"] = listed([one_line(name, 40) for name in logs])
    if known:
        parameters["knowledge"] = Knowledge.of(known).in_words()
    return {**parameters, "backend": model.provenance_["backend"]}


def provenance(command: str, details: dict[str, Any]) -> str:
    """Return the line that says how a result was made."""
    settings = ", ".join(f"{name}={value}" for name, value in details.items())
    return f"made by rootcausal {__version__} {command}: {settings}"
