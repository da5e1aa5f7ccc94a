"""What an explanation is to other libraries: a table of theirs, or an object for their plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from ..errors import MissingExtraError
from ..method.table import F64
from .reported_values import Listed


def frame_of(columns: dict[str, Any], library: Any) -> Any:
    """A table of the library that the patients came in; for arrays a pandas DataFrame."""
    library = library or nw.Implementation.PANDAS
    try:
        # Of nothing but missing texts, no library would make texts by itself.
        levels = nw.new_series("level", columns["level"].tolist(), nw.String, backend=library)
        return nw.from_dict(columns | {"level": levels}, backend=library).to_native()
    except ImportError as error:
        raise MissingExtraError(
            "tables from arrays are pandas DataFrames, and pandas is not installed: "
            "pip install 'rootcausal[pandas]', or pass a dataframe of another library"
        ) from error


def as_shap(listed: Listed, base_values: F64, display: np.ndarray, ids: Sequence[Any]) -> Any:
    """A ``shap.Explanation`` of what is listed; ``display`` (n, p + s) are the measurements in words."""
    try:
        import shap
    except ImportError as error:
        raise MissingExtraError("to_shap needs shap: pip install 'rootcausal[shap]'") from error
    shown = np.delete(np.arange(len(listed.names)), listed.members)
    return shap.Explanation(
        values=listed.values[:, shown],
        base_values=base_values,
        data=listed.errors[:, shown],
        display_data=display[:, shown],
        feature_names=[listed.names[c] for c in shown],
        instance_names=[str(name) for name in ids],
        lower_bounds=None if listed.lower is None else listed.lower[:, shown],
        upper_bounds=None if listed.upper is None else listed.upper[:, shown],
    )
