"""``rootcausal fit`` of Parquet files on a Dask cluster."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from ..files.tables import refuse_streams
from ..wording import shown
from .console import kinds_lines, say, say_cohort, say_known, status_if_slow
from .knowing import KnowledgeOptions
from .models import estimator_of

if TYPE_CHECKING:
    from ..inputs.roles import Roles
    from ..loading import Fitted


def fit_on_cluster(
    files: Sequence[Path],
    roles: "Roles",
    scheduler: str | None,
    settings: dict[str, Any],
    known: KnowledgeOptions,
) -> "Fitted":
    """Fit on a running cluster or, without an address, on all cores of this machine."""
    try:
        from ..inputs.from_cluster import connect, local_cluster, parquet_cohort, parquet_names, with_outcome
    except ImportError as error:
        raise MissingExtraError("a cluster needs Dask: pip install 'rootcausal[dask]'") from error
    from ..inputs.follow_up_columns import ChosenFollowUp
    from ..inputs.roles import columns_named, note_of_after

    for file in files:
        refuse_streams(file)
    where = shown(files[0]) + (f" and {len(files) - 1} more files" if len(files) > 1 else "")
    if known:
        roles = replace(roles, knowledge=known.among(parquet_names(files)))
        settings = {**settings, "knowledge": roles.knowledge}
    frame = parquet_cohort(files, roles)
    logs = columns_named(list(frame.columns), roles.log)
    settings = {**settings, "transform": dict.fromkeys(logs, "log") or None}
    with local_cluster() if scheduler is None else connect(scheduler):
        with status_if_slow(f"reading the outcome from {where}"):
            frame, outcome = with_outcome(frame, roles)
        model = estimator_of(outcome, {**settings, "backend": "dask"})
        model.fit(frame, *(column for _, column in roles.outcome.named))
    if outcome.remembered:
        reading = {**model.provenance_.get("reading", {}), **outcome.remembered}
        model.provenance_ = {**model.provenance_, "reading": reading}
    n_rows: Any = model.provenance_["rows"]
    say_cohort(where, n_rows, model.n_features_in_)
    for line in kinds_lines(model._encoding.variables):
        say(line)
    if isinstance(outcome, ChosenFollowUp):
        longest: Any = model.provenance_["longest_follow_up"]
        outcome = replace(outcome, longest=longest)
    for line in outcome.lines(n_rows):
        say(line)
    if roles.after:
        say(note_of_after(parquet_names(files), roles))
    if roles.knowledge is not None:
        say_known(roles.knowledge)
    return model
