"""The waist over sites: tables whose rows are in hospitals, and of which only sums come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..backends.cpu.loops import COMPILED
from ..method.missing.gaussian import JointGaussian
from ..method.missing.sums import Imputer, JointSums, View
from ..method.moments import regressed_correlations, residual_scale
from ..method.ordering.pair_score import block_penalties
from ..method.table import F64, ColumnMoments, Index, KnownEntropies, LevelSums, LossSums
from ..method.weighted import ClassWeights
from .asking import Sites
from .likelihood import Likelihood
from .messages import Step
from .requests import COARSE, DECIDING, FINE, LOGLIKS, symmetric, upper
from .search import SitesSearch, Wanted
from .sums import loss_sums
from .together import Turn

BACKEND = "sites"
# Of Σ x², the share that a mean may have: what is left of it, about the mean, keeps all digits but one.
NEAR_ZERO = 0.9
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
    weighted : whether rows of some table count by their class.
    likelihoods : of tables, by what is asked of which columns.
    about : of the rows that were described last, sums about which values.
    """

    sites: Sites | Turn
    count: F64
    units: F64
    by_class: bool
    incomplete: int
    at_zero: ColumnMoments
    grams: dict[bytes, F64] = field(default_factory=dict)
    n_tables: int = 0
    weighted: bool = False
    likelihoods: dict[bytes, tuple[Step, Likelihood]] = field(default_factory=dict)
    about: tuple[F64, ColumnMoments] | None = None

    @property
    def n(self) -> int:
        return int(self.count.sum())


class FederatedRaw:
    """A cohort at several sites, as it came or (``raw`` 1) filled in; its classes may count differently."""

    backend = BACKEND

    def __init__(
        self, rows: Rows, units: F64, raw: int = 0, n: int | None = None, weights: Sequence[float] = ()
    ) -> None:
        self._rows, self._units, self._raw = rows, units, raw
        self._n = rows.n if n is None else n
        self._weights = list(weights)

    @property
    def shape(self) -> tuple[int, int]:
        return self._n, self._units.size

    def column_moments(self, shift: F64) -> ColumnMoments:
        at_zero = self._rows.at_zero
        if self._raw == 0 and (not shift.any() or _near_zero(at_zero, shift)):
            moments = _shifted(at_zero, shift)
        else:
            moments = moments_of(self._rows.sites, self._which, shift, self._units)
        self._rows.about = shift, moments
        return moments

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        key = _key({**self._which, "weights": []}, cols, mean, sd)
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
        raise NotImplementedError("sites weigh classes themselves")

    def weighted(self, weights: ClassWeights) -> FederatedRaw:
        counts = () if weights.equal else (float(weights.controls), float(weights.cases))
        return FederatedRaw(self._rows, self._units, self._raw, self._n, counts)

    def standardize(self, cols: Index, mean: F64, sd: F64) -> FederatedTable:
        rows = self._rows
        handle, rows.n_tables = rows.n_tables, rows.n_tables + 1
        rows.weighted |= bool(self._weights)
        about = {**self._which, "table": handle, "weights": self._weights}
        rows.sites.keep(Step("standardize", about, {"cols": cols, "mean": mean, "sd": sd}))
        known = rows.sites.sizes
        rows.sites.sizes = replace(known, tables={**known.tables, handle: cols.size})
        key = _key({**self._which, "weights": self._weights}, cols, mean, sd)
        cases = None
        if rows.about is not None and not self._weights and rows.count.size == 2:
            shift, moments = rows.about
            cases = (moments.total[1, cols] + moments.count[1] * (shift[cols] - mean)) / sd
        return FederatedTable(rows, handle, (self._n, cols.size), key=key, cases=cases)

    @property
    def _which(self) -> dict[str, int]:
        return {"raw": self._raw}


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
        search: SitesSearch | None = None,
        cases: F64 | None = None,
    ) -> None:
        """``cases`` (k,) are sums over the patients with the disease; None where there is no such thing."""
        self.shape = shape
        self._rows, self._handle, self._key = rows, handle, key
        self._correlation = np.empty((0, 0)) if correlation is None else correlation
        self._column_sums: F64 | None = None
        self._search, self._cases = search, cases

    def own_search(self) -> SitesSearch:
        assert self._column_sums is not None, "entropies of columns come before any search"
        self._search = SitesSearch(self.shape[1], self.shape[0], self._column_sums, self._searched_sums)
        return self._search

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
        table = self._next(r.copy())
        if self._search is not None:
            self._search.told(table._correlation)
        return table

    def correlations(self, columns: int | Index) -> F64:
        return self._correlation[columns].copy()

    def pair_sums(self, i: Index, j: Index) -> F64:
        if self._search is not None:
            # What is not known yet is asked for with all else that decides who comes next.
            return np.stack([self._search.known(i, j), self._search.known(j, i)], axis=1)
        both = np.concatenate([i, j]), np.concatenate([j, i])
        nothing = np.empty(0, dtype=np.intp)
        sums = self._residual_sums(Wanted(nothing, np.zeros(2 * i.size, dtype=np.intp), *both))
        return np.stack(np.split(sums, 2), axis=1)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        i, j = (some.ravel() for some in np.broadcast_arrays(cols[:q, None], cols))
        sums = self.pair_sums(i, j).reshape(q, cols.size, 2, 2)
        return np.moveaxis(sums, (2, 3), (0, 1))

    def _residual_sums(self, wanted: Wanted) -> F64:
        return np.asarray(self._ask(FINE, wanted._asdict())["sums"])

    def _searched_sums(self, wanted: Wanted, fine: bool) -> F64:
        return self._with_doubt(self._ask(FINE if fine else COARSE, wanted._asdict())["sums"], fine)

    def _with_doubt(self, sums: F64, fine: bool) -> F64:
        """(m, 3) sums (m, 2), and the standard deviation of rounding a row: every site rounds its own."""
        sites, room = self._rows.sites, self._rows.sites.sizes.room
        last = np.ldexp(np.sqrt(len(sites.names) / 12.0), -DECIDING.bits(room)) / self.shape[0]
        return np.column_stack([sums, np.full(len(sums), 0.0 if fine or not sites.masked else last)])

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> FederatedTable:
        if self._cases is not None:
            r = self._correlation[root, cols]
            self._cases[cols] = (self._cases[cols] - r * self._cases[root]) * residual_scale(r)
        regressed_correlations(self._correlation, root, cols)
        self._keep("regress out", {"cols": cols}, root=root)
        if self._search is not None:
            self._search.take_out(root)
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
        step = self._step("level sums", {"discrete": discrete, "cols": cols}, {})
        if self._search is None or cols.size < 2:
            (levels,) = self._rows.sites.ask(step)
            return LevelSums(**levels)
        # A search among all of these comes next.
        candidates = np.sort(np.concatenate([discrete, cols]))
        wanted = self._search.wanted(candidates, np.isin(candidates, discrete))
        of_pairs = self._step(COARSE, wanted._asdict(), {})
        levels, residuals = self._rows.sites.ask(step, of_pairs)
        self._search.take_in(wanted, self._with_doubt(residuals["sums"], fine=False))
        return LevelSums(**levels)

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        arrays = {"discrete": discrete, "cols": cols, "intercept": intercept, "slope": slope}
        return self._ask("level pair sums", arrays)["sums"]

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> FederatedTable:
        arrays = {"discrete": discrete, "intercept": intercept, "slope": slope}
        self._keep("shift levels", arrays, root=root)
        return self._next(self._correlation)

    def _loss(self, do: str, cols: Index, beta: F64) -> LossSums:
        likelihoods, about = self._rows.likelihoods, self._step(do, {"cols": cols}, {})
        key = _key(about.fields, cols) + do.encode()
        if key not in likelihoods:

            def told(at: F64) -> LossSums:
                if self._cases is not None and not at[:-1].any():
                    return self._at_the_baseline(self._cases[cols], float(at[-1]))
                return loss_sums(self._ask(do, {"cols": cols, "beta": at}), cols.size)

            def logliks(start: F64, end: F64, parts: F64) -> F64:
                arrays = {"cols": cols, "start": start, "end": end, "parts": parts}
                (answer,) = self._rows.sites.ask(Step(LOGLIKS, {**about.fields, "likelihood": do}, arrays))
                return np.asarray(answer["logliks"])

            likelihoods[key] = about, Likelihood(told, logliks)
        return likelihoods[key][1].at(beta)

    def _at_the_baseline(self, cases: F64, baseline: float) -> LossSums:
        """The likelihood of labels where no error has an effect: errors have unit variance, and go together
        with none but the label.
        """
        n, n_cases, k = self.shape[0], float(self._rows.count[1]), cases.size
        risk = 1.0 / (1.0 + np.exp(-baseline))
        information = np.full(k + 1, risk * (1.0 - risk) * (n - 1))
        information[k] = risk * (1.0 - risk) * n
        loglik = n_cases * baseline - n * np.logaddexp(0.0, baseline)
        return LossSums(float(loglik), np.append(cases, n_cases - n * risk), np.diag(information))

    def _next(self, correlation: F64) -> FederatedTable:
        return FederatedTable(
            self._rows, self._handle, self.shape, correlation, search=self._search, cases=self._cases
        )

    def _ask(self, do: str, arrays: Mapping[str, np.ndarray] | None = None, **fields: Any) -> Any:
        (answer,) = self._rows.sites.ask(self._step(do, arrays or {}, fields))
        return answer

    def _keep(self, do: str, arrays: Mapping[str, np.ndarray], **fields: Any) -> None:
        self._rows.sites.keep(self._step(do, arrays, fields))

    def _step(self, do: str, arrays: Mapping[str, np.ndarray], fields: Mapping[str, Any]) -> Step:
        # Plain integers, whatever the method counts by.
        plain = {name: int(value) for name, value in fields.items()}
        return Step(do, {"table": self._handle, **plain}, arrays)


def described_rows(sites: Sites | Turn, units: F64, by_class: bool) -> Rows:
    """The first look at rows: how many there are, and their sums about zero."""
    counts, moments = sites.ask(Step("rows"), moments_step({"raw": 0}, np.zeros(units.size), units))
    at_zero = as_moments(moments, units)
    return Rows(sites, at_zero.count, units, by_class, round(float(counts["rows"][1])), at_zero)


def _near_zero(moments: ColumnMoments, shift: F64) -> bool:
    """Whether sums about zero lose hardly a digit when they are taken about these values instead."""
    square = moments.square.sum(axis=0)
    return bool((shift * shift * moments.values.sum(axis=0) <= NEAR_ZERO * square).all())


def _shifted(moments: ColumnMoments, shift: F64) -> ColumnMoments:
    values, total, score = moments.values, moments.total, moments.score
    if score is not None:
        score = np.stack([score[0] - shift * score[1], score[1], score[2]])
    square = moments.square - shift * (2.0 * total - values * shift)
    return replace(moments, total=total - values * shift, square=square, score=score)


def moments_of(sites: Sites | Turn, which: Mapping[str, Any], shift: F64, units: F64) -> ColumnMoments:
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
