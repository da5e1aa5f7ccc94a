"""The waist over sites: tables whose rows are in hospitals, and of which only sums come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..backends.cpu.loops import COMPILED
from ..method.missing.gaussian import JointGaussian
from ..method.missing.sums import Imputer, JointSums, View
from ..method.moments import regressed_correlations
from ..method.ordering.entropy import block_penalties
from ..method.table import F64, ColumnMoments, Index, KnownEntropies, LevelSums, LossSums
from .asking import Sites
from .masks import narrow_bits
from .messages import Step
from .requests import symmetric, upper
from .sums import loss_sums

BACKEND = "sites"
# A round trip to hospitals costs more than any number of pairs of columns.
PAIRS_A_ROUND = 1 << 20


@dataclass(eq=False)
class Rows:
    """What is known of the rows of all sites together.

    Attributes
    ----------
    sites : who has them.
    count : (c,) by class.
    units : (q,) powers of two that no value of a column, less its mean, is above.
    by_class : whether products are needed by class, for a test or for a prevalence.
    incomplete : how many rows lack a value.
    at_zero : moments about zero, which came with the first look.
    grams : that were asked for before.
    n_tables : standardized tables so far.
    best : of the likelihood, where it was highest so far: its request, and its sums.
    """

    sites: Sites
    count: F64
    units: F64
    by_class: bool
    incomplete: int
    at_zero: ColumnMoments
    grams: dict[bytes, F64] = field(default_factory=dict)
    n_tables: int = 0
    best: tuple[Step, LossSums] | None = None

    @property
    def n(self) -> int:
        return int(self.count.sum())


class FederatedRaw:
    """A cohort at several sites, as it came or (``raw`` 1) filled in; or of it class ``only``."""

    backend = BACKEND

    def __init__(
        self, rows: Rows, units: F64, raw: int = 0, only: int | None = None, n: int | None = None
    ) -> None:
        self._rows, self._units, self._raw, self._only = rows, units, raw, only
        counted = rows.n if only is None else int(rows.count[only])
        self._n = counted if n is None else n

    @property
    def shape(self) -> tuple[int, int]:
        return self._n, self._units.size

    def column_moments(self, shift: F64) -> ColumnMoments:
        if not shift.any() and self._raw == 0 and self._only is None:
            return self._rows.at_zero
        return moments_of(self._rows.sites, self._which, shift, self._units)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        key = _key(self._which, cols, mean, sd)
        if key not in self._rows.grams:
            step = Step(
                "gram",
                {**self._which, "by_class": self._rows.by_class},
                {"cols": cols, "mean": mean, "sd": sd},
            )
            (answer,) = self._rows.sites.ask(step)
            self._rows.grams[key] = symmetric(answer["gram"], cols.size)
        return self._rows.grams[key]

    def by_class(self) -> tuple[FederatedRaw, FederatedRaw]:
        controls, cases = (FederatedRaw(self._rows, self._units, self._raw, only) for only in (0, 1))
        return controls, cases

    def standardize(self, cols: Index, mean: F64, sd: F64) -> FederatedTable:
        rows = self._rows
        handle, rows.n_tables = rows.n_tables, rows.n_tables + 1
        bits = narrow_bits(rows.n)
        about = {**self._which, "table": handle, "bits": bits}
        rows.sites.keep(Step("standardize", about, {"cols": cols, "mean": mean, "sd": sd}))
        known = rows.sites.sizes
        tables, of_tables = {**known.tables, handle: cols.size}, {**known.bits, handle: bits}
        rows.sites.sizes = replace(known, tables=tables, bits=of_tables)
        return FederatedTable(rows, handle, (self._n, cols.size), key=_key(self._which, cols, mean, sd))

    @property
    def _which(self) -> dict[str, int | None]:
        return {"raw": self._raw, "only": self._only}


class FederatedIncomplete:
    """The same with missing values, of which each site fills in its own."""

    backend = BACKEND

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._moments = FederatedRaw(rows, rows.units)

    @property
    def shape(self) -> tuple[int, int]:
        return self._moments.shape

    def incomplete_rows(self) -> int:
        return self._rows.incomplete

    def column_moments(self, shift: F64) -> ColumnMoments:
        return self._moments.column_moments(shift)

    def measured_sums(self, view: View) -> JointSums:
        """Nothing: whole rows come with the others, so that no sum is over the few that lack a value."""
        return JointSums.zero(view.size)

    def expected_sums(self, view: View, joint: JointGaussian) -> JointSums:
        (told,) = self._rows.sites.ask(Step("expected", {}, _viewed(view, joint)))
        return JointSums(told["total"], symmetric(told["product"], view.size), told["unknown"])

    def filled(self, filling: Imputer) -> tuple[FederatedRaw, FederatedRaw]:
        """All rows, of each site whole ones and copies together; and none."""
        view = filling.view
        self._rows.sites.keep(Step("fill", {"seed": filling.seed}, _viewed(view, filling.joint)))
        units = self._rows.units[view.cols]
        return FederatedRaw(self._rows, units, raw=1), FederatedRaw(self._rows, units, raw=1, n=0)


class FederatedTable:
    """Standardized columns at the sites."""

    loops = COMPILED
    pairs_per_call = PAIRS_A_ROUND

    def __init__(
        self,
        rows: Rows,
        handle: int,
        shape: tuple[int, int],
        correlation: F64 | None = None,
        key: bytes = b"",
    ) -> None:
        self.shape = shape
        self._rows, self._handle, self._key = rows, handle, key
        self._correlation = np.empty((0, 0)) if correlation is None else correlation
        self._column_sums: F64 | None = None

    def own_search(self) -> None:
        return None

    def gram(self) -> F64:
        # Both are asked for first, and by everybody.
        of_columns = Step("column sums", {"table": self._handle})
        if self._key in self._rows.grams:
            (sums,) = self._rows.sites.ask(of_columns)
        else:
            by_class = self._rows.by_class
            gram = Step("table gram", {"table": self._handle, "by_class": by_class})
            answer, sums = self._rows.sites.ask(gram, of_columns)
            self._rows.grams[self._key] = symmetric(answer["gram"], self.shape[1])
        self._column_sums = sums["sums"]
        return self._rows.grams[self._key]

    def column_sums(self) -> F64:
        if self._column_sums is not None:
            return self._column_sums
        return self._ask("column sums")["sums"]

    def with_correlations(self, r: F64) -> FederatedTable:
        self._keep("with correlations", {"r": upper(r)})
        return self._next(r.copy())

    def correlations(self, columns: int | Index) -> F64:
        return self._correlation[columns].copy()

    def pair_sums(self, i: Index, j: Index) -> F64:
        return self._ask("pair sums", {"i": i, "j": j})["sums"]

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        told = self._ask("leading pair sums", {"cols": cols}, q=q)
        of_rows, others = told["of_rows"], told["of_others"]
        # Of two among the first, either has the other in its row.
        of_columns = np.concatenate([np.swapaxes(of_rows[:, :, :q], 1, 2), others], axis=2)
        return np.stack([of_rows, of_columns])

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> FederatedTable:
        regressed_correlations(self._correlation, root, cols)
        self._keep("regress out", {"cols": cols}, root=root)
        return self._next(self._correlation)

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss("logit sums", cols, beta)

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss("square sums", cols, beta)

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss("hazard sums", cols, beta)

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss("stage sums", cols, beta)

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        raise NotImplementedError("counts are not offered by sites, which their door refuses")

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        raise NotImplementedError("matched sets are not offered by sites, which their door refuses")

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return self._ask("level counts", {"cols": cols, "edges": edges})["counts"]

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> FederatedTable:
        self._keep("with levels", {"cols": cols, "edges": edges, "thresholds": thresholds})
        return self._next(self._correlation)

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return LevelSums(**self._ask("level sums", {"discrete": discrete, "cols": cols}))

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        arrays = {"discrete": discrete, "cols": cols, "intercept": intercept, "slope": slope}
        return self._ask("level pair sums", arrays)["sums"]

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> FederatedTable:
        arrays = {"discrete": discrete, "intercept": intercept, "slope": slope}
        self._keep("shift levels", arrays, root=root)
        return self._next(self._correlation)

    def _loss(self, do: str, cols: Index, beta: F64) -> LossSums:
        step = self._step(do, {"cols": cols, "beta": beta}, {})
        (answer,) = self._rows.sites.ask(step)
        sums, best = loss_sums(answer, cols.size), self._rows.best
        if best is None or sums.loglik >= best[1].loglik or best[0].arrays["cols"].size != cols.size:
            self._rows.best = step, sums
        return sums

    def _next(self, correlation: F64) -> FederatedTable:
        return FederatedTable(self._rows, self._handle, self.shape, correlation)

    def _ask(self, do: str, arrays: Mapping[str, np.ndarray] | None = None, **fields: Any) -> Any:
        (answer,) = self._rows.sites.ask(self._step(do, arrays or {}, fields))
        return answer

    def _keep(self, do: str, arrays: Mapping[str, np.ndarray], **fields: Any) -> None:
        self._rows.sites.keep(self._step(do, arrays, fields))

    def _step(self, do: str, arrays: Mapping[str, np.ndarray], fields: Mapping[str, Any]) -> Step:
        # Plain integers, whatever the method counts by.
        plain = {name: int(value) for name, value in fields.items()}
        return Step(do, {"table": self._handle, **plain}, arrays)


def moments_of(sites: Sites, which: Mapping[str, Any], shift: F64, units: F64) -> ColumnMoments:
    """Moments by class about a shift; ``which`` rows."""
    (told,) = sites.ask(moments_step(which, shift, units))
    return as_moments(told, units)


def moments_step(which: Mapping[str, Any], shift: F64, units: F64) -> Step:
    return Step("moments", which, {"shift": shift, "unit": units})


def as_moments(told: Mapping[str, np.ndarray], units: F64) -> ColumnMoments:
    """What came of it, in the units of the columns; powers of two change no digit."""
    count, measured = told["count"], told["measured"]
    score = told.get("score")
    if score is not None:
        score = np.stack([score[0] * units, score[1], score[2]])
    whole = bool((measured == count[:, None]).all())
    return ColumnMoments(
        count, told["total"] * units, told["square"] * (units * units), None if whole else measured, score
    )


def _viewed(view: View, joint: JointGaussian) -> dict[str, np.ndarray]:
    weights = view.weights
    return {
        "cols": view.cols,
        "mean": view.mean,
        "sd": view.sd,
        "scores": np.empty(0) if view.scores is None else view.scores,
        "weights": np.array([weights.controls, weights.cases, weights.effective_rows]),
        "joint_mean": joint.mean,
        "joint": upper(joint.covariance),
    }


def _key(which: Mapping[str, Any], *arrays: np.ndarray) -> bytes:
    return repr(which).encode() + b"".join(array.tobytes() for array in arrays)
