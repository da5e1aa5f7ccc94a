"""A saved model, whatever its outcome."""

from __future__ import annotations

from os import PathLike

from . import saving
from .classifier import RCI
from .regressor import RCIRegressor
from .survival import RCISurvival

Fitted = RCI | RCISurvival | RCIRegressor

#: The estimator of each kind of outcome.
ESTIMATORS: dict[str, type[Fitted]] = {
    outcome: estimator for estimator in (RCI, RCISurvival, RCIRegressor) for outcome in estimator.outcomes
}


def load(path: str | PathLike[str]) -> Fitted:
    """Read a model written by ``save``: the file says of which estimator it is.

    A damaged, foreign or newer file is refused.
    """
    return saving.load_as(ESTIMATORS.__getitem__, path)
