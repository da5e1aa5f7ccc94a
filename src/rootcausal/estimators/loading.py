"""A saved model, whatever its outcome."""

from __future__ import annotations

from os import PathLike

from ..errors import InputError
from ..files.array_archive import format_of
from ..files.reference_file import FORMAT
from ..wording import shown
from . import saving
from .classifier import RCI
from .outliers import RootCauseOutliers
from .regressor import RCIRegressor
from .survival import RCISurvival

Fitted = RCI | RCISurvival | RCIRegressor

#: The estimator of each kind of outcome.
ESTIMATORS: dict[str, type[Fitted]] = {
    outcome: estimator for estimator in (RCI, RCISurvival, RCIRegressor) for outcome in estimator.outcomes
}


def load(path: str | PathLike[str]) -> Fitted | RootCauseOutliers:
    """Read a model written by ``save``: the file says of which estimator it is.

    A damaged, foreign or newer file is refused.
    """
    if format_of(path) == FORMAT:
        return RootCauseOutliers.load(path)
    return load_of_outcome(path)


def load_of_outcome(path: str | PathLike[str]) -> Fitted:
    """The same of an outcome alone: a model of a reference group is refused."""
    if format_of(path) == FORMAT:
        raise InputError(
            f"{shown(path)} is a model of a reference group, which rootcausal depart reads: this asks for a "
            "model of an outcome"
        )
    return saving.load_as(ESTIMATORS.__getitem__, path)
