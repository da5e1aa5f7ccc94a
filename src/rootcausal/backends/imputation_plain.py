"""The plain NumPy twins of :mod:`rootcausal.backends.cpu.imputation_kernels`."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..method.missing.gaussian import JointGaussian, gaps_of
from ..method.missing.noise import U64, normals
from ..method.table import F64, Index


def expect_rows(Z: F64, weight: F64, joint: JointGaussian, product: F64, unknown: F64) -> None:
    """Overwrite the missing values of Z (n, d) with what is expected.

    Weight (n,) times their covariances is added to ``product`` (d, d), and their variances to ``unknown``.
    """
    for gap in gaps_of(Z.copy(), joint):
        Z[gap.rows[:, None], gap.places] = gap.mean
        covariance = np.linalg.inv(gap.precision) * weight[gap.rows, None, None]
        np.add.at(product, (gap.places[:, :, None], gap.places[:, None, :]), covariance)
        np.add.at(unknown, gap.places, np.diagonal(covariance, axis1=1, axis2=2))


def draw_rows(Z: F64, joint: JointGaussian, state: np.uint64, keys: U64, ids: Index, out: F64) -> None:
    """Fill Z (n, d) in ``out`` (n, draws, m): of its first m columns, in their standard units.

    Columns ``ids`` (m,) are those of the whole table, and rows are known by their ``keys`` (n,). To these
    belongs the noise, of which ``state`` is the beginning. No column after the first m is missing.
    """
    out[:] = Z[:, None, : out.shape[2]]
    for gap in gaps_of(Z, joint):
        for draw in range(out.shape[1]):
            noise = partial(normals, state, keys[gap.rows, None], draw)
            out[gap.rows[:, None], draw, gap.places] = gap.drawn(ids, noise)
