"""The levels of discrete columns, row by row, as tables of NumPy and of CuPy arrays keep them.

``xp`` is the module whose arrays they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..method.table import F64, LARGEST_PREDICTOR, Index, LevelSums

# Rows worked on at once, in values of the temporary arrays: few enough for a processor's cache, and enough to
# keep a GPU busy.
VALUES_A_STRIP = {"numpy": 1 << 18, "cupy": 1 << 25}


@dataclass(frozen=True)
class LevelRows:
    """The state of d discrete columns over n rows. Never changed.

    Attributes
    ----------
    cols : (d,) columns of the table that they are, on the host.
    thresholds : (d, m + 2) of their cumulative logits, from −∞ to ∞.
    codes : (d, n) the level of each row, from 0.
    predictor : (d, n) η of each row, what the roots so far say of it.
    """

    cols: Index
    thresholds: Any
    codes: Any
    predictor: Any

    @classmethod
    def of(cls, xp: Any, Z: Any, cols: Index, edges: F64, thresholds: F64) -> LevelRows:
        """Of the columns ``cols`` of Z (k, n), with the arguments of :meth:`Table.with_levels`."""
        codes = xp.empty((cols.size, Z.shape[1]), dtype=np.min_scalar_type(edges.shape[1]))
        for place, found in enumerate(_codes(xp, Z, cols, edges)):
            codes[place] = found
        return cls(cols, xp.asarray(thresholds), codes, xp.zeros(codes.shape))

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.predictor.nbytes)

    def take(self, xp: Any, cols: Index) -> LevelRows:
        """Of a table that has only these of the columns: those of them that are discrete here."""
        place = np.flatnonzero(np.isin(cols, self.cols))
        chosen = xp.asarray(self._places(cols[place]))
        return replace(self, **self._rows_of(chosen), cols=place)

    def sums(self, xp: Any, Z: Any, discrete: Index, cols: Index) -> LevelSums:
        n = Z.shape[1]
        places, chosen = xp.asarray(self._places(discrete)), xp.asarray(cols)
        thresholds = self.thresholds[places]
        alone = xp.zeros((2, discrete.size))
        beside = xp.zeros((3, discrete.size, cols.size))
        for rows in _strips(xp, n, 6 * discrete.size + 2 * cols.size):
            w = Z[chosen, rows]
            s, v, _ = _derivatives(xp, thresholds, self.codes[places, rows], self.predictor[places, rows])
            alone[0] += s.sum(axis=1)
            alone[1] += v.sum(axis=1)
            beside[0] += s @ w.T
            beside[1] += v @ w.T
            beside[2] += v @ (w * w).T
        sums = (_on_host(array) for array in (*alone, *beside))
        return LevelSums(*sums)

    def pair_sums(self, xp: Any, Z: Any, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        n = Z.shape[1]
        out = xp.zeros((discrete.size, 6))
        # Pairs in groups too: beside one row of each, the temporary arrays of all pairs may be too large.
        for pairs in _strips(xp, discrete.size, 16):
            places, chosen = xp.asarray(self._places(discrete[pairs])), xp.asarray(cols[pairs])
            step, by = xp.asarray(intercept[pairs])[:, None], xp.asarray(slope[pairs])[:, None]
            thresholds = self.thresholds[places]
            for rows in _strips(xp, n, 8 * places.size):
                w = Z[chosen, rows]
                eta = _bounded(xp, self.predictor[places, rows] + step + by * w)
                s, v, likelihood = _derivatives(xp, thresholds, self.codes[places, rows], eta)
                terms = (xp.log(likelihood), s, v, s * w, v * w, v * w * w)
                for place, term in enumerate(terms):
                    out[pairs, place] += term.sum(axis=1)
        return _on_host(out)

    def shifted(self, xp: Any, error: Any, discrete: Index, intercept: F64, slope: F64) -> LevelRows:
        """With η + intercept + slope · ``error`` (n,) for ``discrete``; all others are let go."""
        places = xp.asarray(self._places(discrete))
        predictor = self.predictor[places]
        step, by = xp.asarray(intercept)[:, None], xp.asarray(slope)[:, None]
        for rows in _strips(xp, error.size, 3 * discrete.size):
            predictor[:, rows] = _bounded(xp, predictor[:, rows] + step + by * error[rows])
        if np.array_equal(discrete, self.cols):
            return replace(self, predictor=predictor)
        return replace(self, **self._rows_of(places) | {"predictor": predictor}, cols=discrete)

    def _rows_of(self, places: Any) -> dict[str, Any]:
        return {name: getattr(self, name)[places] for name in ("thresholds", "codes", "predictor")}

    def _places(self, discrete: Index) -> Index:
        ranked = np.argsort(self.cols)
        return ranked[np.searchsorted(self.cols, discrete, sorter=ranked)]


class LevelColumns:
    """What a table of columns Z (k, n) does for those that are discrete."""

    _xp: Any = np
    _level_rows: type[LevelRows] = LevelRows
    _Z: Any
    _levels: LevelRows | None

    @property
    def level_bytes(self) -> int:
        return 0 if self._levels is None else self._levels.nbytes

    def level_counts(self, cols: Index, edges: F64) -> F64:
        counts = np.zeros((cols.size, edges.shape[1] + 1))
        if self._Z.shape[1]:  # CuPy counts no empty array
            for place, codes in enumerate(_codes(self._xp, self._Z, cols, edges)):
                counts[place] = _on_host(self._xp.bincount(codes, minlength=counts.shape[1]))
        return counts

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> Self:
        return self._with(self._level_rows.of(self._xp, self._Z, cols, edges, thresholds))

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        assert self._levels is not None
        return self._levels.sums(self._xp, self._Z, discrete, cols)

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        assert self._levels is not None
        return self._levels.pair_sums(self._xp, self._Z, discrete, cols, intercept, slope)

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> Self:
        assert self._levels is not None
        return self._with(self._levels.shifted(self._xp, self._Z[root], discrete, intercept, slope))

    def _with(self, levels: LevelRows) -> Self:
        table = copy(self)
        table._levels = levels
        return table

    def _levels_of(self, cols: Index) -> LevelRows | None:
        """For a table that has only these of the columns."""
        return None if self._levels is None else self._levels.take(self._xp, cols)


def _codes(xp: Any, Z: Any, cols: Index, edges: F64) -> Iterator[Any]:
    """(n,) the level of every row, column by column."""
    for column, between in zip(cols.tolist(), edges, strict=True):
        yield xp.searchsorted(xp.asarray(between), Z[column])


def _derivatives(xp: Any, thresholds: Any, codes: Any, predictor: Any) -> tuple[Any, Any, Any]:
    """(d, rows) each: s and v of :class:`LevelSums`, and the likelihood but for what no η changes."""
    codes = codes.astype(np.intp)
    # Predictors are bounded, so that this overflows only where a threshold is infinite, as it should.
    at_most, less = (
        1.0 / (1.0 + xp.exp(predictor - xp.take_along_axis(edges, codes, axis=1)))
        for edges in (thresholds[:, 1:], thresholds[:, :-1])
    )
    more = 1.0 - less
    return at_most - more, at_most * (1.0 - at_most) + less * more, at_most * more


def _bounded(xp: Any, predictor: Any) -> Any:
    return xp.clip(predictor, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)


def _strips(xp: Any, n: int, width: int) -> Iterator[slice]:
    height = max(1, VALUES_A_STRIP[xp.__name__] // max(1, width))
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def _on_host(array: Any) -> F64:
    host = array if isinstance(array, np.ndarray) else array.get()
    return host.astype(np.float64, copy=False)
