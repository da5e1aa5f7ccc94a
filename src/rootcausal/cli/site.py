"""``rootcausal site``: a hospital that keeps its rows and answers requests for sums."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError
from ..files.writing import atomic_write
from ..wording import one_line, plural, shown
from .console import say
from .models import labels_of
from .options import (
    Drop,
    Event,
    IdColumn,
    Labels,
    NamedOutcome,
    ReadingOptions,
    RootCertificates,
    Target,
    Time,
    check_output,
    of_flower,
    of_table,
    with_options,
)

if TYPE_CHECKING:
    from ..federated import Site
    from ..inputs.patients import Patients

of_site = partial(typer.Option, rich_help_panel="What the site agrees to")
DONE = "done"
MODEL = "model.rci"


@dataclass(frozen=True)
class SiteTable(ReadingOptions):
    """The table of a site; what its columns are is agreed among all of them."""

    id_column: IdColumn = None
    drop: Drop = None
    keep: Annotated[
        list[str] | None,
        of_table(metavar="COLUMN", help="Column to keep, and no others; many times, or with commas between."),
    ] = None
    labels: Labels = None
    target: Target = None
    time: Time = None
    event: Event = None

    def patients(self, path: Path) -> "Patients":
        """Read the rows."""
        from ..inputs.binary import DiagnosisColumn
        from ..inputs.from_file import read_part_of_a_cohort
        from ..inputs.kinds import ColumnHints
        from ..inputs.roles import Roles
        from ..inputs.survival_columns import FollowUpColumns

        NamedOutcome(self.target, None, None, self.time, self.event).refuse_what_does_not_go_together()
        outcome: Any
        if self.target is not None:
            outcome = DiagnosisColumn(self.target)
        else:
            assert self.time is not None and self.event is not None
            outcome = FollowUpColumns(self.time, self.event)
        hints = ColumnHints({}, may_miss=True)
        roles = Roles(outcome, self.id_column, self.drop or (), False, hints, self.keep or (), self.na or ())
        return read_part_of_a_cohort(self.table_at(path), roles)

    def with_outcome(self, patients: "Patients") -> Any:
        """The variables, and the columns of the outcome after them."""
        import pyarrow as pa

        values, table = patients.target, patients.X
        assert values is not None
        if self.target is not None:
            return table.append_column(self.target, pa.array(values))
        for field, name in (("time", self.time), ("event", self.event)):
            table = table.append_column(name, pa.array(values[field]))
        return table


@dataclass(frozen=True)
class SiteOptions:
    """Who the site is, and what it agrees to."""

    name: Annotated[
        str | None,
        of_site(metavar="NAME", help="What the coordinator and the other sites call this one."),
    ] = None
    folder: Annotated[
        Path | None, of_site(metavar="DIR", help="Folder through which requests and answers go.")
    ] = None
    superlink: Annotated[
        str | None,
        of_flower(
            metavar="HOST:PORT",
            help="Let Flower bring requests, from this SuperLink of the coordinator, over TLS.",
        ),
    ] = None
    root_certificates: RootCertificates = None
    key: Annotated[
        Path | None,
        of_site(
            metavar="FILE",
            help="Key that all sites share and the coordinator does not have: sums are masked, and only "
            "their total over all sites can be read.",
        ),
    ] = None
    least: Annotated[
        int, of_site("--least", min=3, metavar="N", help="No sum is over fewer rows than this.")
    ] = 10
    budget: Annotated[
        int, of_site(min=1, metavar="N", help="Most requests that are answered in one session.")
    ] = 2000
    resamples: Annotated[
        int,
        of_site(min=0, metavar="N", help="With a key: about how many resamples of its rows it answers."),
    ] = 0
    times: Annotated[
        float | None,
        of_site(
            min=0.0,
            metavar="UNIT",
            help="Let times of follow-up leave, rounded up to multiples of this; 0: as they are.",
            show_default="they do not leave",
        ),
    ] = None
    ledger: Annotated[
        Path | None,
        of_site(metavar="DIR", help="Folder of the ledger.", show_default="site-NAME"),
    ] = None
    wait: Annotated[
        float | None,
        of_site(
            min=0.0,
            metavar="SECONDS",
            help="Give up when no request has come for so long.",
            show_default="never",
        ),
    ] = None

    @property
    def messages(self) -> Path:
        """Where requests and answers are files."""
        if self.folder is not None:
            return self.folder
        if self.superlink is None:
            raise typer.BadParameter(
                "say where requests come from: --folder DIR, or --superlink HOST:PORT.", param_hint="--folder"
            )
        return self.ledger_folder / "messages"

    @property
    def ledger_folder(self) -> Path:
        """Where the ledger is, or will be."""
        if self.ledger is None and self.name is None:
            raise typer.BadParameter("say which site this is: --name NAME.", param_hint="--name")
        return Path(f"site-{self.name}") if self.ledger is None else self.ledger


@with_options
def site(
    *,
    what: Annotated[
        Literal["serve", "dry-run", "ledger", "key"],
        typer.Argument(metavar="serve|dry-run|ledger|key", help="What to do."),
    ],
    cohort: Annotated[
        Path | None, typer.Argument(metavar="COHORT", help="Table of this site, one row per patient.")
    ] = None,
    table: SiteTable,
    agreed: SiteOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Of key: the file to write.", show_default="study.key"
        ),
    ] = None,
) -> None:
    """Take part in a joint fit of several hospitals: rows stay here, and sums over them are told.

    serve answers the requests of rootcausal federate until the fit is over.
    dry-run sends nothing: it shows, by a fit of this site alone, all that will be
    asked, and how many numbers each answer has. ledger shows all that was sent.
    key makes a key for all sites of a study; keep it from the coordinator.

    A site that was stopped is started again with the same command, and goes on.

    rootcausal site key --out study.key
    rootcausal site dry-run north.csv --name north --target died --key study.key
    rootcausal site serve north.csv --name north --target died --folder share
    rootcausal site serve north.csv --name north --target died --superlink c:8000
    rootcausal site serve a.csv --name a --time t --event d --times 30 --folder s
    rootcausal site ledger --name north
    """
    if what == "key":
        _write_key(Path("study.key") if out is None else out)
    elif what == "ledger":
        _show_ledger(agreed)
    elif cohort is None:
        raise typer.BadParameter(f"{what} needs the table of this site.", param_hint="COHORT")
    elif what == "dry-run":
        _rehearse(_site(cohort, table, agreed, rehearsal=True))
    else:
        _serve(cohort, table, agreed)


def _write_key(path: Path) -> None:
    from ..federated.messages import new_key

    check_output(path)
    if path.exists():
        raise InputError(f"{shown(path)} is there already: a key that is in use must not be lost")
    with atomic_write(path) as file:
        file.write(new_key().encode() + b"\n")
    path.chmod(0o600)
    say(f"key written to {shown(path)}: give it to every site of the study, and to nobody else")


def _show_ledger(agreed: SiteOptions) -> None:
    from ..federated.ledger import NAME, read_ledger

    path = agreed.ledger_folder / NAME
    entries = list(read_ledger(path))
    for entry in entries:
        say(entry.line())
    sent = sum(entry.count for entry in entries)
    sessions = len({entry.session for entry in entries})
    say(f"{plural(sent, 'number')} in {plural(len(entries), 'answer')} of {plural(sessions, 'session')}")
    say(f"the numbers themselves are in {shown(path)}, one line of JSON for each answer")


def _site(cohort: Path, table: SiteTable, agreed: SiteOptions, rehearsal: bool = False) -> "Site":
    from ..federated import Policy, Site
    from ..federated.messages import key_of

    if agreed.name is None:
        raise typer.BadParameter("say which site this is: --name NAME.", param_hint="--name")
    labels = labels_of(table.labels)
    key = None if agreed.key is None else key_of(agreed.key)
    patients = table.patients(cohort)
    folder = None
    if not rehearsal:
        folder = agreed.ledger_folder
        folder.mkdir(parents=True, exist_ok=True)
    made = Site(
        agreed.name,
        table.with_outcome(patients),
        target=table.target,
        time=table.time,
        event=table.event,
        labels=labels,
        key=key,
        policy=Policy(agreed.least, agreed.budget, agreed.times, resamples=agreed.resamples),
        folder=folder,
        rehearsal=rehearsal,
    )
    rows, variables = made.holdings.rows, len(made.holdings.names)
    say(f"site {agreed.name}: {shown(cohort)}, {plural(rows, 'row')}, {plural(variables, 'variable')}")
    for note in patients.notes:
        say(note)
    return made


def _serve(cohort: Path, table: SiteTable, agreed: SiteOptions) -> None:
    """Answer until the session is over."""
    from ..federated import serve_folder
    from ..federated.flower import refuse_missing, supernode

    folder = agreed.messages
    if agreed.superlink is not None:
        refuse_missing(agreed.root_certificates)
    elif not folder.is_dir():
        raise InputError(f"there is no folder {shown(folder)}: make it where all sites reach it")
    site = _site(cohort, table, agreed)
    whence = f"in {shown(folder)}" if agreed.superlink is None else f"from {agreed.superlink}"
    say(f"waits for requests {whence}; what is sent is written down in {shown(agreed.ledger_folder)}")
    before = len(site.ledger.entries)
    if agreed.superlink is None:
        ended = serve_folder(site, folder, agreed.wait)
    else:
        home = agreed.ledger_folder / "flower"
        with supernode(site.name, folder, home, agreed.superlink, agreed.root_certificates) as refuse_ended:
            ended = serve_folder(site, folder, agreed.wait, on_look=refuse_ended)
    sent = sum(entry.count for entry in site.ledger.entries[before:])
    say(f"the session is over: {one_line(ended, 2_000)}; {plural(sent, 'number')} left this site")
    if ended != DONE:
        raise typer.Exit(3)
    say(f"the model is in {shown(folder / MODEL)}")


def _rehearse(site: "Site") -> None:
    """Fit on this site alone, in this process, and show what would be asked."""
    import numpy as np

    from ..estimators.classifier import RCI
    from ..estimators.regressor import RCIRegressor
    from ..estimators.survival import RCISurvival
    from ..federated import InProcess, fit

    estimator: Any = RCISurvival()
    if "y" in site.holdings.outcome:
        two = np.unique(site.holdings.outcome["y"]).size == 2
        estimator = RCI() if two else RCIRegressor()
    refused = ""
    try:
        fit(estimator, InProcess({site.name: site.answer}), [site.name])
    except InputError as error:
        refused = str(error)
    asked: dict[str, list[int]] = {}
    for entry in site.ledger.entries:
        asked.setdefault(entry.words, []).append(entry.count)
    say("nothing was sent. A fit of this site alone, here, asks:")
    for words, counts in asked.items():
        if words:
            how_often = "once" if len(counts) == 1 else f"{len(counts)} times"
            say(f"  {how_often}, {plural(sum(counts), 'number')}: {words}")
    say(f"in all {plural(sum(map(sum, asked.values())), 'number')}; a joint fit asks about as much")
    if site.policy.resamples:
        say(f"and as much again for each of {plural(site.policy.resamples, 'resample')}")
    if refused:
        say(f"it ends with: {refused}")
