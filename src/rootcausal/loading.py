"""A saved model, whatever its outcome."""

from __future__ import annotations

from os import PathLike

from . import saving
from .rci import RCI
from .regressor import RCIRegressor
from .survival import RCISurvival

#: The estimator of each kind of outcome.
ESTIMATORS: dict[str, type[RCI] | type[RCISurvival] | type[RCIRegressor]] = {
    estimator.outcome: estimator for estimator in (RCI, RCISurvival, RCIRegressor)
}


def load(path: str | PathLike[str]) -> RCI | RCISurvival | RCIRegressor:
    """Read a model written by ``save``: the file says of which estimator it is.

    A damaged, foreign or newer file is refused.
    """
    return saving.load_as(ESTIMATORS.__getitem__, path)
