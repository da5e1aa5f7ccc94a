"""``rootcausal fit`` of Parquet files on a Dask cluster."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError
from ..files.tables import refuse_streams
from ..inputs.from_file import choose_features
from ..inputs.target import Disease, choose_counted, one_spelling
from ..wording import shown
from .console import say_cohort, say_disease, status_if_slow
from .given_files import Roles

if TYPE_CHECKING:
    from ..estimator import RCI


def fit_on_cluster(
    files: Sequence[Path],
    roles: Roles,
    scheduler: str | None,
    alpha: float,
    variant: str,
    attribution: str,
) -> "RCI":
    """Fit on a running cluster or, without an address, on all cores of this machine."""
    try:
        from ..files.dask_parquet import dask_frame
        from ..inputs.from_cluster import connect, local_cluster
    except ImportError as error:
        raise MissingExtraError("a cluster needs Dask: pip install 'rootcausal[dask]'") from error
    from ..estimator import RCI

    for file in files:
        refuse_streams(file)
    where = shown(files[0]) + (f" and {len(files) - 1} more files" if len(files) > 1 else "")
    frame = dask_frame(files)
    features = choose_features(files[0], list(frame.columns), roles.target, roles.id_column, roles.drop)
    frame = frame[[*features, roles.target]]
    with local_cluster() if scheduler is None else connect(scheduler):
        with status_if_slow(f"reading the target from {where}"):
            frame = _with_one_spelling(frame, roles.target)
            if roles.drop_missing:
                frame = frame.dropna()
            disease = _disease(frame[roles.target], roles)
        model = RCI(
            alpha=alpha,
            variant=variant,
            attribution=attribution,
            backend="dask",
            positive=disease.label,
            progress=sys.stderr.isatty(),
        ).fit(frame[features], frame[roles.target])
    n_rows: Any = model.provenance_["rows"]
    say_cohort(where, n_rows, len(features))
    say_disease(roles.target, disease, n_rows)
    return model


def _with_one_spelling(frame: Any, target: str) -> Any:
    """The frame with labels of text as a file read into memory has them."""
    labels = frame[target]
    found = labels.unique().dropna().compute().tolist()
    if not found or not all(isinstance(label, str) for label in found):
        return frame
    respelled = labels.map_partitions(_respell, one_spelling(found), meta=(target, object))
    return frame.assign(**{target: respelled})


def _respell(labels: Any, spelling: dict[str, str | None]) -> Any:
    return labels.astype(object).map(spelling)


def _disease(labels: Any, roles: Roles) -> Disease:
    counted = labels.value_counts(sort=False).compute().sort_index()
    counted = counted[counted > 0]  # a categorical counts its unused labels too
    unique = np.array(counted.index.tolist())
    if unique.dtype.kind == "f" and (unique == np.floor(unique)).all():
        unique = unique.astype(np.int64)  # so that 1.0 reads as 1
    return choose_counted(unique, counted.to_numpy(), roles.target, roles.positive)
