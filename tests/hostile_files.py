"""Reads mutated files in a process of its own, and says how they ended, and the most of time and memory.

Run as ``python hostile_files.py COUNT SEED``: one JSON text on standard output.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mutations import Mutation, mutated_archive, mutated_bytes, mutated_journal

from rootcausal import RCI, InputError
from rootcausal.data import simulate
from rootcausal.experiments.rows import Row, RowFile, read_rows


class Reader:
    """Makes honest files in a folder, and uses mutated ones as their users would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cohort = simulate(80, 5, random_state=1)
        self.patients = cohort.X[:20]
        self.model = RCI(alpha=1.0).fit(cohort.X, cohort.y).bootstrap(3, resume=folder / "resamples")
        self.model.save(folder / "model")
        rows = RowFile(folder / "rows.parquet", 0)
        rows.add(
            Row("pbc", 258, 11, k, "TT", 0.5 + k / 9, 0.25, 0.1, None if k else 4, None, "0.1.0")
            for k in range(3)
        )
        self.files: dict[str, tuple[bytes, Mutation, Callable[[Path], None]]] = {
            "model": ((folder / "model").read_bytes(), mutated_archive, self._score),
            "resamples": ((folder / "resamples").read_bytes(), mutated_archive, self._resume),
            "journal": (rows.journal.read_bytes(), mutated_journal, self._go_on),
        }
        rows.freeze()
        self.files["rows"] = (rows.path.read_bytes(), mutated_bytes, self._show)

    def _score(self, path: Path) -> None:
        model = RCI.load(path)
        patients = np.resize(self.patients, (20, model.n_features_in_))
        explanation = model.explain(patients)
        numbers = [explanation.values, explanation.log_odds, model.predict_proba(patients)]
        if model.bootstrap_ is not None:
            numbers += [explanation.lower, explanation.upper]
        if model.causal_order_.size:
            numbers.append(explanation.what_if(explanation.feature_names[model.causal_order_[0]]).data)
        assert all(np.isfinite(number).all() for number in numbers), "scores that are not finite"
        model.predict(patients)
        model.report(patients, self.folder / "page.html")
        model.save(self.folder / "again.rci")

    def _resume(self, path: Path) -> None:
        resamples = self.model.bootstrap(3, resume=path).bootstrap_
        for resample in resamples.models:
            assert np.isfinite(resample.shapley(self.patients)).all(), "scores that are not finite"

    def _go_on(self, path: Path) -> None:
        frozen = path.with_suffix(".parquet")
        frozen.unlink(missing_ok=True)
        path.replace(path.with_suffix(".journal"))
        _finite_rows(RowFile(frozen, 0).rows.values())
        _finite_rows(read_rows(frozen, 0))

    def _show(self, path: Path) -> None:
        _finite_rows(read_rows(path))


def _finite_rows(rows: Any) -> None:
    for row in rows:
        assert row.overlap is None or np.isfinite(row.overlap), "a row that is not finite"


def read_mutated(count: int, seed: int) -> dict[str, Any]:
    """Read that many mutated files of all kinds in turn."""
    outcomes: Counter[str] = Counter()
    escaped: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder))
        kinds = list(reader.files)
        for content, _, read in reader.files.values():
            # An honest file first: it must be read, and the memory of doing so is no part of the growth.
            honest = Path(folder, "honest")
            honest.write_bytes(content)
            read(honest)
        before = peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(count):
            kind = kinds[number % len(kinds)]
            content, mutate, read = reader.files[kind]
            path = Path(folder, "mutated")
            path.write_bytes(mutate(content, np.random.default_rng((seed, number))))
            unmutated = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            before += unmutated - peak  # what the mutation itself took
            began = time.process_time()
            try:
                read(path)
                outcome = "harmless"
            except InputError:
                outcome = "refused"
            except Exception as error:
                outcome = "escaped"
                escaped.append(f"{kind}, number {number}: {type(error).__name__}: {error}"[:300])
            slowest = max(slowest, time.process_time() - began)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            outcomes[f"{kind}: {outcome}"] += 1
    return {
        "outcomes": dict(sorted(outcomes.items())),
        "escaped": escaped,
        "slowest_seconds": round(slowest, 2),
        "megabytes": round((peak - before) / 1024),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(read_mutated(int(sys.argv[1]), int(sys.argv[2])), indent=1))
