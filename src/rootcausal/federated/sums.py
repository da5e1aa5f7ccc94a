"""What a site answers once columns are agreed on: sums over its rows, by the tables of rows in memory."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..backends.blas import one_blas_thread
from ..backends.choose import choose_table
from ..method.missing.gaussian import JointGaussian
from ..method.missing.pooled import PooledRaw, RawPart
from ..method.missing.sums import DRAWS, Imputer, IncompleteRaw, View
from ..method.table import F64, ColumnMoments, Index, LossSums, RawTable, Table
from ..method.weighted import ClassWeights, Part, WeightedTable
from .disclosure import Minimum
from .holdings import OpenRows
from .messages import MessageError, Step
from .requests import COARSE, FINE, LOGLIKS, REQUESTS, STAGES, TINY_LOGLIK, Sizes, symmetric, upper

# Of follow-up, stages and labels: which likelihood a table has, by what is known of its rows.
LIKELIHOODS = {
    "binary": "logit sums",
    "continuous": "square sums",
    "survival": "hazard sums",
    "ordinal": "stage sums",
}
MOST_TABLES = 4
# Of a site, for effects of its own.
ROWS_A_COLUMN = 5
TINY = 1e-12
# How far products of errors are apart is told in whole units, as many to a squared deviation, and at most so
# many of them; squares of products are on average at most so large.
A_UNIT, MOST_APART, MOST_SQUARE = 64.0, 2.0**18, 100.0


class Sums:
    """The rows of a site in one session, and what it led to."""

    def __init__(self, rows: OpenRows, minimum: Minimum) -> None:
        self._rows, self._minimum = rows, minimum
        self._raws: dict[int, Any] = {0: rows.raw}
        # None is a table without rows, of which all sums are zero.
        self._tables: dict[int, Any] = {}
        self._widths: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._room = 0
        self._told, self._values = 0, int(np.isfinite(rows.values).sum())

    @property
    def labels(self) -> np.ndarray | None:
        """(n,) of the classes, where rows have any."""
        return self._rows.known if self._rows.classes == 2 else None

    def drawn(self, rows: Index) -> Sums:
        """The same of some rows, each as often as it is named; nothing else of what this led to."""
        values, known = self._rows.values[rows], self._rows.known[rows]
        cohort = OpenRows(self._rows.agreed, values, known, choose_table("numba", values, known))
        sums = Sums(cohort, self._minimum)
        sums._room = self._room
        return sums

    @property
    def sizes(self) -> Sizes:
        return Sizes(self._rows.classes, self._rows.known.ndim == 2, self._widths, self._room)

    def result(self, step: Step) -> Step | None:
        """The answer, or None where the step is only kept."""
        if REQUESTS[step.do].keeps:
            _KEEPING[step.do](self, step)
            return None
        with one_blas_thread():
            arrays = _ANSWERS[step.do](self, step)
        shapes = self.counted(step)
        self._minimum.refuse_many_numbers(self._told, self._values)
        if arrays is None:
            arrays = {name: np.zeros(shape) for name, shape in shapes.items()}
        assert {name: np.shape(one) for name, one in arrays.items()} == shapes
        return Step(step.do, {}, {name: np.asarray(one, dtype=np.float64) for name, one in arrays.items()})

    def counted(self, step: Step) -> dict[str, tuple[int, ...]]:
        """The shapes of an answer, whose numbers from here on count as sent."""
        answer = REQUESTS[step.do].answer
        assert answer is not None
        shapes = answer(step, self.sizes)
        self._told += sum(math.prod(shape) for shape in shapes.values())
        return shapes

    # --- the cohort as it came ------------------------------------------------------------------------------

    def _counted(self, step: Step) -> Mapping[str, Any]:
        return {"rows": self._rows.counts}

    def _raw(self, step: Step) -> Any:
        """The rows that are asked about."""
        raw = self._raws.get(step.fields["raw"])
        if raw is None:
            raise MessageError("missing values were not filled in yet")
        return raw

    def _complete(self, step: Step, cols: Index) -> RawTable | None:
        raw = self._raw(step)
        if isinstance(raw, IncompleteRaw):
            raise MessageError("values are missing, and were not filled in yet")
        width = self._rows.values.shape[1] if step.fields["raw"] == 0 else self._filled_columns
        self._refuse_columns(cols, width)
        if (
            not step.arrays["mean"].size == step.arrays["sd"].size == cols.size
            or (step.arrays["sd"] <= 0).any()
        ):
            raise MessageError("each column has a mean, and a standard deviation above zero")
        return raw

    def _moments(self, step: Step) -> Mapping[str, Any] | None:
        raw, shift, unit = self._raw(step), step.arrays["shift"], step.arrays["unit"]
        width = self._rows.values.shape[1] if step.fields["raw"] == 0 else self._filled_columns
        if not shift.size == unit.size == width or (unit <= 0).any():
            raise MessageError("each column has a shift, and a unit above zero")
        if raw is None:
            return None
        sums: ColumnMoments = raw.column_moments(shift)
        measured = np.broadcast_to(sums.values, sums.total.shape)
        found = {
            "count": sums.count,
            "total": sums.total / unit,
            "square": sums.square / (unit * unit),
            "measured": measured,
        }
        if sums.score is not None:
            found["score"] = np.stack([sums.score[0] / unit, sums.score[1], sums.score[2]])
        return found

    def _gram(self, step: Step) -> Mapping[str, Any] | None:
        cols = step.arrays["cols"]
        raw = self._complete(step, cols)
        if raw is None:
            return None
        self._refuse_products(step, cols.size, raw.shape[0])
        return {"gram": _classes(raw.gram(cols, step.arrays["mean"], step.arrays["sd"]), step)}

    def _refuse_products(self, step: Step, columns: int, n: int) -> None:
        groups = [n]
        if step.fields.get("by_class") and self._rows.classes == 2:
            groups = [int((self._rows.known == label).sum()) for label in (0, 1)]
        for rows in groups:
            self._minimum.refuse_products(rows, columns)

    def _expected(self, step: Step) -> Mapping[str, Any]:
        view, joint = self._view(step)
        raw = self._raws[0]
        if not isinstance(raw, IncompleteRaw):
            raw = _whole(self._rows)
        n = len(self._rows.values)
        self._minimum.refuse_products(n, view.size)
        # Of all rows in one: few of them may lack a value.
        sums = raw.measured_sums(view) + raw.expected_sums(view, joint)
        return {"total": sums.total, "product": upper(sums.product), "unknown": sums.unknown}

    def _fill(self, step: Step) -> None:
        view, joint = self._view(step)
        raw = self._raws[0]
        if not isinstance(raw, IncompleteRaw):
            raw = _whole(self._rows)
        layout = self._rows.agreed.encoding.layout.take(view.cols)
        filling = Imputer(view, joint, step.fields["seed"], view.cols, layout)
        complete, copies = raw.filled(filling)
        self._filled_columns = view.cols.size
        self._raws[1] = PooledRaw([RawPart(complete, 1.0), RawPart(copies, 1.0 / DRAWS, DRAWS)])

    _filled_columns = 0

    def _view(self, step: Step) -> tuple[View, JointGaussian]:
        arrays = step.arrays
        cols, d = arrays["cols"], arrays["cols"].size + 1
        self._refuse_columns(cols, self._rows.values.shape[1])
        scored = (2,) if self._rows.classes == 2 else (0,)
        sizes = (arrays["mean"].size, arrays["sd"].size, arrays["joint_mean"].size, arrays["joint"].size)
        if sizes != (d - 1, d - 1, d, d * (d + 1) // 2) or arrays["scores"].shape != scored:
            raise MessageError("what missing values are filled in by has another size")
        if arrays["weights"].size != 3 or (arrays["sd"] <= 0).any() or (np.diff(cols) <= 0).any():
            raise MessageError("what missing values are filled in by is not in order")
        view = View(
            cols,
            arrays["mean"],
            arrays["sd"],
            arrays["scores"] if self._rows.classes == 2 else None,
            ClassWeights(*arrays["weights"].tolist()),
        )
        return view, JointGaussian(arrays["joint_mean"], symmetric(arrays["joint"], d))

    def _standardize(self, step: Step) -> None:
        handle, cols = step.fields["table"], step.arrays["cols"]
        if handle in self._tables or len(self._tables) >= MOST_TABLES:
            raise MessageError("there is such a table already, or too many")
        raw, scaled = self._complete(step, cols), (cols, step.arrays["mean"], step.arrays["sd"])
        self._widths[handle], self._sizes[handle] = cols.size, 0 if raw is None else raw.shape[0]
        self._tables[handle] = None if raw is None else self._weighted(raw, step.fields["weights"], scaled)

    def _weighted(self, raw: RawTable, weights: list[float], scaled: tuple[Index, F64, F64]) -> Table:
        """A table in which the rows of each class count as much as they were said to."""
        if not weights:
            return raw.standardize(*scaled)
        if self._rows.classes < 2:
            raise MessageError("these rows have no classes")
        classes = zip(raw.by_class(), weights, strict=True)
        # A site may have rows of one class only.
        here = [(rows, weight) for rows, weight in classes if rows.shape[0]]
        return WeightedTable([Part(rows.standardize(*scaled), weight, 1.0) for rows, weight in here])

    # --- a standardized table -------------------------------------------------------------------------------

    def _table(self, step: Step, *cols: Index) -> Any:
        """The table that is asked about; None where it has no rows."""
        handle = step.fields["table"]
        if handle not in self._tables:
            raise MessageError("there is no such table")
        for some in cols:
            self._refuse_columns(some, self._widths[handle])
        return self._tables[handle]

    def _refuse_columns(self, cols: Index, width: int) -> None:
        if cols.size and not cols.max() < width:
            raise MessageError(f"the table has {width} columns, and others are asked about")

    def _table_gram(self, step: Step) -> Mapping[str, Any] | None:
        table, handle = self._table(step), step.fields["table"]
        if table is None:
            return None
        self._refuse_products(step, self._widths[handle], self._sizes[handle])
        return {"gram": _classes(table.gram(), step)}

    def _column_sums(self, step: Step) -> Mapping[str, Any] | None:
        table = self._table(step)
        return None if table is None else {"sums": table.column_sums()}

    def _residual_sums(self, step: Step) -> Mapping[str, Any] | None:
        """Of i given j, ``place`` of the roots besides; the table itself stays as it is."""
        roots, place, i, j = (step.arrays[name] for name in ("roots", "place", "i", "j"))
        table = self._table(step, roots, i, j)
        if not place.size == i.size == j.size or (place.size and place.max() > roots.size):
            raise MessageError("each pair has two columns, and a place among the roots")
        if np.unique(roots).size < roots.size or any(
            np.isin(roots[:number], some[place == number]).any()
            for number in range(1, roots.size + 1)
            for some in (i, j)
        ):
            raise MessageError("what was regressed out is in no pair")
        if table is None:
            return None
        here = copy.deepcopy(table) if roots.size else table
        sums = np.empty((i.size, 2))
        for number in range(roots.size + 1):
            now, later = place == number, place > number
            sums[now] = _given(here, i[now], j[now])
            if later.any():
                left = np.union1d(np.union1d(i[later], j[later]), roots[number + 1 :])
                here = here.regress_out(int(roots[number]), left)
        return {"sums": sums}

    def _loss(self, step: Step) -> Mapping[str, Any] | None:
        table = self._with_likelihood(step, step.do, "beta")
        if table is None:
            return None
        cols = step.arrays["cols"]
        self._minimum.refuse_products(self._sizes[step.fields["table"]], cols.size + 1)
        return loss_arrays(
            _likelihood(table, step.do, cols, step.arrays["beta"]), cols.size, step.do == STAGES
        )

    def _logliks(self, step: Step) -> Mapping[str, Any] | None:
        asked = step.fields["likelihood"]
        table = self._with_likelihood(step, asked, "start", "end")
        if table is None:
            return None
        cols, start, end, parts = (step.arrays[name] for name in ("cols", "start", "end", "parts"))
        points = start + parts[:, None] * (end - start)
        told = [_likelihood(table, asked, cols, point).loglik for point in points]
        return {"logliks": np.maximum(told, TINY_LOGLIK)}

    def _with_likelihood(self, step: Step, asked: str, *points: str) -> Any:
        """The table, where this is the likelihood of its outcome and points in it have that many numbers."""
        cols, outcome = step.arrays["cols"], self._rows.agreed.outcome
        size = cols.size + outcome.start.size
        if asked != LIKELIHOODS[outcome.name] or any(step.arrays[name].size != size for name in points):
            raise MessageError(f"{asked!r} is not of the outcome that was agreed on")
        return self._table(step, cols)

    def _differences(self, step: Step) -> Mapping[str, Any] | None:
        """One Newton step from the effects of all sites to those of this one, and its correlations of errors.

        A site with too few rows for effects of its own says nothing.
        """
        cols, beta, handle = step.arrays["cols"], step.arrays["beta"], step.fields["table"]
        n, k, asked = self._sizes.get(handle, 0), cols.size, step.fields["likelihood"]
        table = self._with_likelihood(step, asked, "beta")
        if table is None or n < ROWS_A_COLUMN * (k + 1):
            return None
        self._minimum.refuse_products(n, k + 1)
        sums = _likelihood(table, asked, cols, beta)
        # What the baseline of this site is does not count: it is profiled out.
        inverse = np.linalg.pinv(sums.hessian, hermitian=True)
        variance = np.maximum(np.diagonal(inverse)[:k], TINY)
        apart = (inverse @ sums.gradient)[:k]
        mean, square = (upper(one) for one in _products(table, cols, n))
        return {
            "effects": np.stack([apart**2 / variance, apart / variance, 1.0 / variance]),
            "apart": np.minimum(n * mean**2 * A_UNIT, MOST_APART),
            "spread": n * np.minimum(square, MOST_SQUARE),
            "sites": np.array([1.0, n]),
        }

    def _keep_room(self, step: Step) -> None:
        self._room = step.fields["bits"]

    def _level_counts(self, step: Step) -> Mapping[str, Any] | None:
        cols, edges = step.arrays["cols"], step.arrays["edges"]
        table = self._table(step, cols)
        if edges.shape[0] != cols.size:
            raise MessageError("each column has edges")
        return None if table is None else {"counts": table.level_counts(cols, edges)}

    def _level_sums(self, step: Step) -> Mapping[str, Any] | None:
        discrete, cols = step.arrays["discrete"], step.arrays["cols"]
        table = self._with_levels(step, discrete, cols)
        return None if table is None else asdict(table.level_sums(discrete, cols))

    def _level_pair_sums(self, step: Step) -> Mapping[str, Any] | None:
        discrete, cols, *line = (step.arrays[name] for name in ("discrete", "cols", "intercept", "slope"))
        table = self._with_levels(step, discrete, cols)
        if not discrete.size == cols.size == line[0].size == line[1].size:
            raise MessageError("each pair has an intercept and a slope")
        return None if table is None else {"sums": table.level_pair_sums(discrete, cols, *line)}

    def _with_levels(self, step: Step, discrete: Index, cols: Index) -> Any:
        table = self._table(step, discrete, cols)
        if not np.isin(discrete, self._discrete.get(step.fields["table"], ())).all():
            raise MessageError("these columns were not given levels")
        return table

    _discrete: Mapping[int, Index] = {}

    # --- what changes it ------------------------------------------------------------------------------------

    def _change(self, step: Step, change: Callable[[Any], Any], *cols: Index) -> None:
        table = self._table(step, *cols)
        if table is not None:
            self._tables[step.fields["table"]] = change(table)

    def _correlations(self, step: Step) -> None:
        k = self._widths.get(step.fields["table"], 0)
        if step.arrays["r"].size != k * (k + 1) // 2:
            raise MessageError("there is one correlation for each two columns")
        self._change(step, lambda table: table.with_correlations(symmetric(step.arrays["r"], k)))

    def _regress_out(self, step: Step) -> None:
        root, cols = step.fields["root"], step.arrays["cols"]
        if root in cols:
            raise MessageError("a root is not regressed out of itself")
        self._change(step, lambda table: table.regress_out(root, cols), cols, np.array([root]))

    def _give_levels(self, step: Step) -> None:
        cols, edges, thresholds = (step.arrays[name] for name in ("cols", "edges", "thresholds"))
        if (
            not edges.shape[0] == thresholds.shape[0] == cols.size
            or thresholds.shape[1] != edges.shape[1] + 2
        ):
            raise MessageError("each column has edges and thresholds")
        self._discrete = {**self._discrete, step.fields["table"]: cols}
        self._change(step, lambda table: table.with_levels(cols, edges, thresholds), cols)

    def _shift_levels(self, step: Step) -> None:
        root, discrete = step.fields["root"], step.arrays["discrete"]
        line = step.arrays["intercept"], step.arrays["slope"]
        self._with_levels(step, discrete, np.array([root]))
        if not discrete.size == line[0].size == line[1].size:
            raise MessageError("each discrete column has an intercept and a slope")
        self._change(step, lambda table: table.shift_levels(root, discrete, *line), discrete)


_ANSWERS: Mapping[str, Callable[[Sums, Step], Mapping[str, Any] | None]] = {
    "rows": Sums._counted,
    "moments": Sums._moments,
    "gram": Sums._gram,
    "expected": Sums._expected,
    "table gram": Sums._table_gram,
    "column sums": Sums._column_sums,
    COARSE: Sums._residual_sums,
    FINE: Sums._residual_sums,
    "differences": Sums._differences,
    LOGLIKS: Sums._logliks,
    "level counts": Sums._level_counts,
    "level sums": Sums._level_sums,
    "level pair sums": Sums._level_pair_sums,
    **dict.fromkeys(LIKELIHOODS.values(), Sums._loss),
}
_KEEPING: Mapping[str, Callable[[Sums, Step], None]] = {
    "room": Sums._keep_room,
    "fill": Sums._fill,
    "standardize": Sums._standardize,
    "with correlations": Sums._correlations,
    "regress out": Sums._regress_out,
    "with levels": Sums._give_levels,
    "shift levels": Sums._shift_levels,
}


def _likelihood(table: Table, asked: str, cols: Index, beta: F64) -> LossSums:
    sums: LossSums = getattr(table, asked.replace(" ", "_"))(cols, beta)
    return sums


def _given(table: Table, i: Index, j: Index) -> F64:
    """(m, 2) sums of residuals of i given j; of pairs of which both are asked for, both in one."""
    first, second = np.minimum(i, j), np.maximum(i, j)
    pairs, which = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    sums = table.pair_sums(*pairs)
    given: F64 = sums[which.ravel(), (i > j).astype(np.intp)]
    return given


def _whole(rows: OpenRows) -> IncompleteRaw:
    """Rows that lack nothing, at a site among others that lack something."""
    from ..backends.choose import incomplete_part

    return incomplete_part("numba", rows.values, rows.known)


def _products(table: Any, cols: Index, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(k, k) each: the mean product of each two errors over n patients, and the mean of its square."""
    parts = [(part.table, part.patients) for part in getattr(table, "parts", ())] or [(table, 1.0)]
    total, square = np.zeros((2, cols.size, cols.size))
    for part, weight in parts:
        errors = part.columns[cols]
        total += weight * (errors @ errors.T)
        square += weight * (errors**2 @ (errors**2).T)
    return total / n, square / n


def _classes(gram: np.ndarray, step: Step) -> np.ndarray:
    """(c, k(k + 1) / 2) of a Gram matrix by class, or of all rows together."""
    return upper(gram if step.fields["by_class"] else gram.sum(axis=0, keepdims=True))


def loss_arrays(sums: LossSums, k: int, of_stages: bool) -> dict[str, Any]:
    """Sums of a likelihood without what is zero or there twice (see :class:`LossSums` on baselines)."""
    hessian = sums.hessian
    return {
        "loglik": np.array(sums.loglik),
        "gradient": sums.gradient,
        "among": upper(hessian[:k, :k]),
        "across": hessian[:k, k:],
        "of_baseline": np.diagonal(hessian)[k:],
        "beside": np.diagonal(hessian[k:, k:], 1) if of_stages else np.empty(0),
    }


def loss_sums(arrays: Mapping[str, np.ndarray], k: int) -> LossSums:
    """The same as sums again."""
    b = arrays["of_baseline"].size
    hessian = np.zeros((k + b, k + b))
    hessian[:k, :k] = symmetric(arrays["among"], k)
    hessian[:k, k:] = arrays["across"]
    hessian[k:, :k] = arrays["across"].T
    inside = hessian[k:, k:]
    inside[np.arange(b), np.arange(b)] = arrays["of_baseline"]
    if beside := arrays["beside"].size:
        along = np.arange(beside)
        inside[along, along + 1] = inside[along + 1, along] = arrays["beside"]
    return LossSums(float(arrays["loglik"]), arrays["gradient"], hessian)
