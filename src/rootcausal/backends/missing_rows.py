"""Rows in memory of which some values are missing: the sums of imputation, and copies that are filled in.

Rows are worked on in blocks, always the same ones, and their sums are added in one order: the answer does not
depend on the number of threads. Imputed copies are not stored raw: each pass over them draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..method.missing.completion import to_levels
from ..method.missing.gaussian import JointGaussian
from ..method.missing.measurement import behind_measurements
from ..method.missing.noise import (
    MEASUREMENTS,
    U64,
    contents,
    normals,
    ranks_among_equals,
    row_keys,
    seed_state,
)
from ..method.missing.sums import DRAWS, Imputer, JointSums, View
from ..method.missing.tails import BINS, ErrorCounts, Structure, drawn_by_laws
from ..method.table import F64, SCORE, ColumnMoments, Index, RawTable, Table, classes_of
from .blas import one_blas_thread

# Values read at once, and values filled in at once.
VALUES_A_BLOCK = 1 << 18
VALUES_A_STRIP = 1 << 15
# Rows are summed in at most this many pieces, whatever the number of threads.
PIECES = 16
# What a cell costs here, in cells that are only read.
VALUES_A_CELL = 8
# What the noise knows the steps by in which values are drawn anew, beside the numbers of columns.
STEP_OF_TURN, TURNS = 1 << 41, 4
# What the outcome is known by among columns.
OUTCOME = np.array([-1])

#: work(first, last) over 0..n_units, given n_units and the amount of values.
InThreads = Callable[[Callable[[int, int], None], int, int], None]


@dataclass(frozen=True)
class Machinery:
    """What a backend does with incomplete rows.

    Attributes
    ----------
    backend : what users call it.
    expect : (Z, weight, joint, product, unknown) as :func:`rootcausal.backends.imputation_plain.expect_rows`.
    draw : (Z, joint, state, keys, ids, out) as :func:`rootcausal.backends.imputation_plain.draw_rows`.
    in_threads : runs pieces of work, in threads or one after the other.
    raw : complete rows (n, p) and their labels as a table.
    table : standardized columns (k, n) and labels as a table.
    """

    backend: str
    expect: Callable[[F64, F64, JointGaussian, F64, F64], None]
    draw: Callable[[F64, JointGaussian, np.uint64, U64, Index, F64], None]
    in_threads: InThreads
    raw: Callable[[F64, np.ndarray], RawTable]
    table: Callable[[F64, np.ndarray], Table]


class MemoryIncomplete:
    """Rows of X (n, p), where NaN is missing, with their outcome y; the first is row ``first_row``."""

    def __init__(self, X: F64, y: np.ndarray, machinery: Machinery, first_row: int = 0) -> None:
        self._X = X
        self._y = y
        self._do = machinery
        self._first_row = first_row
        self._split: tuple[View, np.ndarray] | None = None

    @property
    def backend(self) -> str:
        return self._do.backend

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape[0], self._X.shape[1]

    def incomplete_rows(self) -> int:
        return int(_any_in_rows(np.isnan, self._X, np.arange(self.shape[1])).sum())

    def column_moments(self, shift: F64) -> ColumnMoments:
        return measured_moments(self._X, self._y, shift)

    def measured_sums(self, view: View) -> JointSums:
        return self._sums(view, np.flatnonzero(~self._incomplete(view)), None)

    def expected_sums(self, view: View, joint: JointGaussian) -> JointSums:
        return self._sums(view, np.flatnonzero(self._incomplete(view)), joint)

    def class_counts(self, view: View) -> F64:
        """(2, c): rows by class that have every column of the view; and copies of those that do not."""
        holed = self._incomplete(view)
        classes = classes_of(self._y, len(self._y))
        whole, lacking = ([int((of & member).sum()) for member in classes] for of in (~holed, holed))
        return np.array([whole, [DRAWS * count for count in lacking]], dtype=np.float64)

    def filled(self, filling: Imputer) -> tuple[RawTable, RawTable]:
        cols = filling.view.cols
        lacking = self._incomplete(filling.view)
        if filling.view.noise is not None:  # no true value is known
            lacking = np.ones_like(lacking)
        whole, holed = np.flatnonzero(~lacking), np.flatnonzero(lacking)
        held = self._contents(filling.view, filling.ids, holed)
        elsewhere = filling.repeats
        ranks = ranks_among_equals(held) if elsewhere is None else elsewhere.of_rows(holed + self._first_row)
        keys = row_keys(held, ranks)
        copies = ImputedCopies(self._X, self._y[holed], holed, keys, filling, self._do, whole)
        return self._do.raw(self._X[np.ix_(whole, cols)], self._y[whole]), copies

    def contents(self, view: View, ids: Index) -> HeldByRows:
        """What rows hold that lack a column of the view; ``ids`` are its columns in the whole cohort."""
        holed = np.flatnonzero(self._incomplete(view))
        return HeldByRows(holed + self._first_row, self._contents(view, ids, holed))

    def _contents(self, view: View, ids: Index, rows: Index) -> U64:
        """(g,) hashes of what some rows hold: of the columns, and of the outcome."""
        found = np.empty(rows.size, dtype=np.uint64)
        height = max(1, VALUES_A_BLOCK // view.size)
        for start in range(0, rows.size, height):
            some = rows[start : start + height]
            y = self._y[some] if self._y.ndim == 1 else self._y[some, SCORE]
            # Scores rest on sums over all rows, whose last digits depend on the order of these.
            outcome = y.astype(np.float32).astype(np.float64)
            found[start : start + height] = contents(self._X[some[:, None], view.cols], ids)
            found[start : start + height] += contents(outcome[:, None], OUTCOME)
        return found

    def _incomplete(self, view: View) -> np.ndarray:
        """(n,) which rows lack a column of the view; asked for in each round, and found once."""
        if self._split is None or self._split[0] is not view:
            self._split = view, _any_in_rows(view.lacking, self._X, view.cols)
        return self._split[1]

    def _sums(self, view: View, rows: Index, joint: JointGaussian | None) -> JointSums:
        """Of some rows, what they lack filled with what ``joint`` expects; None where they lack nothing."""
        pieces = max(1, min(PIECES, rows.size * view.size // VALUES_A_STRIP))
        height = max(1, VALUES_A_STRIP // view.size)
        total, unknown = np.zeros((2, pieces, view.size))
        product = np.zeros((pieces, view.size, view.size))

        def work(first: int, last: int) -> None:
            for piece in range(first, last):
                of_piece = rows[rows.size * piece // pieces : rows.size * (piece + 1) // pieces]
                for start in range(0, of_piece.size, height):
                    some = of_piece[start : start + height]
                    y = self._y[some]
                    Z = standardized_rows(self._X, y, some, view)
                    if joint is not None:
                        self._do.expect(Z, view.weights_of(y), joint, product[piece], unknown[piece])
                    weighted = Z if view.weights.equal else Z * view.weights_of(y)[:, None]
                    total[piece] += weighted.sum(axis=0)
                    product[piece] += weighted.T @ Z

        # Each product is small: threads of linear algebra would get into the way of ours.
        with one_blas_thread():
            self._do.in_threads(work, pieces, rows.size * view.size * VALUES_A_CELL)
        return JointSums(total.sum(axis=0), product.sum(axis=0), unknown.sum(axis=0))


@dataclass(frozen=True, eq=False)
class HeldByRows:
    """Numbers of rows in the whole cohort, and hashes of what they hold; (g,) both."""

    numbers: Index
    contents: U64

    def __add__(self, other: HeldByRows) -> HeldByRows:
        return HeldByRows(
            np.concatenate([self.numbers, other.numbers]), np.concatenate([self.contents, other.contents])
        )


class ImputedCopies:
    """Incomplete rows, each filled in at random DRAWS times; a table without missing values.

    The columns are those of the filling's view. Copies of one row lie side by side.
    """

    def __init__(
        self,
        X: F64,
        y: np.ndarray,
        rows: Index,
        keys: U64,
        filling: Imputer,
        machinery: Machinery,
        others: Index,
        held: F64 | None = None,
    ) -> None:
        """``rows`` (g,) of X, their labels y (g,), and what the noise knows them by.

        ``others`` are rows that lack nothing; ``held`` (g, DRAWS, m) are copies that a mechanism drew, which
        are kept.
        """
        self._X = X
        self._y = y
        self._rows = rows
        self._keys = keys
        self._filling = filling
        self._do = machinery
        self._others = others
        self._held = held

    @property
    def backend(self) -> str:
        return self._do.backend

    @property
    def shape(self) -> tuple[int, int]:
        return DRAWS * self._rows.size, self._filling.view.cols.size

    def column_moments(self, shift: F64) -> ColumnMoments:
        strips, classes = self._strips(), classes_of(self._y, len(self._y))
        sums = np.zeros((len(strips), 2, len(classes), shift.size))
        graded = self._y.ndim == 2
        products = np.zeros((len(strips), shift.size))

        def work(first: int, last: int) -> None:
            for number in range(first, last):
                z = self._drawn(strips[number]) - shift
                for c, member in enumerate(classes):
                    of_class = z[np.repeat(member[strips[number]], DRAWS)]
                    sums[number, 0, c] = of_class.sum(axis=0)
                    sums[number, 1, c] = np.einsum("ij,ij->j", of_class, of_class)
                if graded:
                    products[number] = np.repeat(self._y[strips[number], SCORE], DRAWS) @ z

        self._in_threads(work, strips)
        total, square = sums.sum(axis=0)
        count = DRAWS * np.array([member.sum() for member in classes], dtype=np.float64)
        score = None
        if graded:
            s = self._y[:, SCORE]
            alone = (np.full(shift.size, DRAWS * part) for part in (s.sum(), s @ s))
            score = np.stack([products.sum(axis=0), *alone])
        return ColumnMoments(count, total, square, score=score)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        classes = classes_of(self._y, len(self._y))
        total = np.zeros((len(classes), cols.size, cols.size))
        for strip in self._strips():
            z = (self._drawn(strip)[:, cols] - mean) / sd
            for c, member in enumerate(classes):
                of_class = z[np.repeat(member[strip], DRAWS)]
                total[c] += of_class.T @ of_class
        return total

    def measured(self, cols: Index) -> np.ndarray:
        """(k, DRAWS · g) which values are no draws."""
        view = self._filling.view
        known = ~view.lacking(self._X[self._rows[:, None], view.cols])[:, cols]
        return np.repeat(known, DRAWS, axis=0).T

    def by_class(self) -> tuple[ImputedCopies, ImputedCopies]:
        controls, cases = (self._of_rows(np.flatnonzero(self._y == c)) for c in (0, 1))
        return controls, cases

    def _of_rows(self, some: Index) -> ImputedCopies:
        held = None if self._held is None else self._held[some]
        of = (self._y[some], self._rows[some], self._keys[some])
        return ImputedCopies(self._X, *of, self._filling, self._do, self._others[:0], held)

    def error_counts(self, structure: Structure) -> ErrorCounts:
        """As :class:`rootcausal.method.missing.tails.Redrawn` has it."""
        view, k = self._filling.view, structure.order.size
        found = ErrorCounts(*np.zeros((3, k, BINS)))
        for start in range(0, self._others.size, VALUES_A_STRIP):
            rows = self._others[start : start + VALUES_A_STRIP]
            errors = structure.errors(self._X[rows[:, None], view.cols])
            found = found + DRAWS * ErrorCounts.of(errors, errors, np.zeros(errors.shape, dtype=np.int8))
        for strip in self._strips():
            values, at = self._drawn(strip), self._at_limits(strip)[:, structure.order]
            errors = structure.errors(values)
            of_limits = np.where(at < 0, *self._limits[:, structure.order])
            moved = (of_limits - values[:, structure.order]) * np.diagonal(structure.slopes)
            found = found + ErrorCounts.of(errors, np.where(at != 0, errors + moved, errors), at)
        return found

    def redrawn(self, structure: Structure, laws: F64, turn: int) -> ImputedCopies:
        """As :class:`rootcausal.method.missing.tails.Redrawn` has it."""
        filling, strips = self._filling, self._strips()
        held, state = np.empty((self._rows.size, DRAWS, filling.view.cols.size)), seed_state(filling.seed)

        def noise_of(keys: U64, step: int, column: int) -> F64:
            of_draws = 1 + turn + TURNS * (step * DRAWS + np.arange(DRAWS))
            return normals(state, keys[:, None], 0, filling.ids[column] + STEP_OF_TURN * of_draws)

        def work(first: int, last: int) -> None:
            for strip in strips[first:last]:
                values = self._drawn(strip).reshape(-1, DRAWS, held.shape[2])
                score = filling.view.outcome_of(self._y[strip])
                beyond = self._at_limits(strip)[::DRAWS] != 0
                noise = partial(noise_of, self._keys[strip])
                drawn_by_laws(values, score, beyond, self._limits, structure, laws, noise)
                held[strip] = values

        self._in_threads(work, strips)
        of = (self._y, self._rows, self._keys)
        return ImputedCopies(self._X, *of, filling, self._do, self._others, held)

    def tail_sums(self, fill: Callable[[F64], F64]) -> F64:
        """As :class:`rootcausal.method.missing.tails.Redrawn` has it."""
        cols = self._filling.view.cols
        found = np.zeros((2, 5, cols.size))
        for strip in self._strips():
            expected = np.repeat(fill(self._X[self._rows[strip]])[:, cols], DRAWS, axis=0)
            drawn, at = self._drawn(strip), self._at_limits(strip)
            products = np.stack([np.ones(drawn.shape), expected, expected**2, drawn, drawn * expected])
            for kind, side in enumerate((-1, 1)):
                found[kind] += np.where(at == side, products, 0.0).sum(axis=1)
        return found

    @property
    def _limits(self) -> F64:
        limits = self._filling.view.limits
        assert limits is not None, "what was drawn within no limits is not drawn anew"
        return limits

    def _at_limits(self, strip: slice) -> NDArray[np.int8]:
        """(DRAWS · g, m): -1 where a value lies below a limit, 1 where above one; else 0."""
        lowest, highest = self._limits
        measured = self._X[self._rows[strip, None], self._filling.view.cols]
        side = (measured >= highest).astype(np.int8) - (measured <= lowest).astype(np.int8)
        return np.repeat(side, DRAWS, axis=0)

    def standardize(self, cols: Index, mean: F64, sd: F64) -> Table:
        return self._do.table(*self.standardized(cols, mean, sd))

    def standardized(self, cols: Index, mean: F64, sd: F64) -> tuple[F64, np.ndarray]:
        """Columns (k, DRAWS · g) and labels."""
        strips = self._strips()
        Z = np.empty((cols.size, DRAWS * self._rows.size))

        def work(first: int, last: int) -> None:
            for strip in strips[first:last]:
                at = slice(DRAWS * strip.start, DRAWS * strip.stop)
                Z[:, at] = ((self._drawn(strip)[:, cols] - mean) / sd).T

        self._in_threads(work, strips)
        return Z, np.repeat(self._y, DRAWS, axis=0)

    def _strips(self) -> list[slice]:
        height = max(1, VALUES_A_STRIP // (DRAWS * self._filling.view.size))
        g = self._rows.size
        return [slice(start, min(start + height, g)) for start in range(0, g, height)]

    def _in_threads(self, work: Callable[[int, int], None], strips: list[slice]) -> None:
        if strips:
            cells = self._rows.size * DRAWS * self._filling.view.size
            self._do.in_threads(work, len(strips), VALUES_A_CELL * cells)

    def _drawn(self, strip: slice) -> F64:
        """(DRAWS · g, m): copies of some rows, in the units of X."""
        if self._held is not None:
            return self._held[strip].reshape(-1, self._held.shape[2]).copy()
        view, rows = self._filling.view, self._rows[strip]
        Z = standardized_rows(self._X, self._y[strip], rows, view)
        ids, width, noise = self._filling.ids, view.cols.size, view.noise_of_all
        if noise is not None:
            Z, noisy = behind_measurements(Z, noise), np.flatnonzero(noise)
            ids, width = np.concatenate([ids, [0], MEASUREMENTS + ids[noisy]]), Z.shape[1]
        out = np.empty((rows.size, DRAWS, width))
        state = seed_state(self._filling.seed)
        self._do.draw(Z, self._filling.joint, state, self._keys[strip], ids, out)
        out = out[:, :, : view.cols.size]
        out *= view.sd
        out += view.mean
        # What was measured stays as it was, to the last bit.
        measured = self._X[rows[:, None], view.cols][:, None, :]
        unknown = view.lacking(measured)
        if noise is not None:
            unknown |= noise[:-1] > 0.0
        gaps = np.broadcast_to(unknown, out.shape)
        np.copyto(out, measured, where=~gaps)
        drawn = out.reshape(-1, view.cols.size)
        to_levels(drawn, gaps.reshape(drawn.shape), self._filling.layout)
        return drawn


def standardized_rows(X: F64, y: np.ndarray, rows: Index, view: View) -> F64:
    """(g, d): some rows, labelled y (g,), as the view has them."""
    Z = np.empty((rows.size, view.size))
    Z[:, :-1] = X[rows[:, None], view.cols]
    Z[:, :-1] -= view.mean
    Z[:, :-1] /= view.sd
    Z[:, -1] = view.outcome_of(y)
    return Z


def measured_moments(X: F64, y: np.ndarray | None, shift: F64) -> ColumnMoments:
    """Moments by class of what is not missing."""
    n, p = X.shape
    classes = classes_of(y, n)
    score = None if y is None or y.ndim == 1 else y[:, SCORE]
    sums = np.zeros((3, len(classes), p))
    with_score = np.zeros((3, p))
    height = max(1, VALUES_A_BLOCK // max(1, p))
    for start in range(0, n, height):
        rows = slice(start, start + height)
        z = X[rows] - shift
        there = ~np.isnan(z)
        z[~there] = 0.0
        for c, member in enumerate(classes):
            of_class = z[member[rows]]
            sums[0, c] += of_class.sum(axis=0)
            sums[1, c] += np.einsum("ij,ij->j", of_class, of_class)
            sums[2, c] += there[member[rows]].sum(axis=0)
        if score is not None:
            s = score[rows]
            with_score += np.stack([s @ z, s @ there, (s * s) @ there])
    count = np.array([float(member.sum()) for member in classes])
    return ColumnMoments(count, sums[0], sums[1], sums[2], None if score is None else with_score)


def _any_in_rows(lacks: Callable[[F64], np.ndarray], X: F64, cols: Index) -> np.ndarray:
    """(n,) which rows lack one of these columns."""
    lacking = np.zeros(len(X), dtype=bool)
    height = max(1, VALUES_A_BLOCK // max(1, cols.size))
    for start in range(0, len(X), height):
        rows = slice(start, start + height)
        lacking[rows] = lacks(X[rows][:, cols]).any(axis=1)
    return lacking


def one_after_the_other(work: Callable[[int, int], None], n_units: int, n_values: int) -> None:
    """Threads for who has none."""
    work(0, n_units)
