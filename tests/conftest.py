"""Files that several tests of the command line start from."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from command_line import ok

from rootcausal.data import simulate


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """A folder with cohort.csv (patient, x0 to x4, d), the working folder of the test."""
    drawn = simulate(n_samples=200, n_variables=6, random_state=1)
    columns = dict(zip(drawn.feature_names, drawn.X.T, strict=True))
    ids = [f"p{k:03}" for k in range(200)]
    arrow_csv.write_csv(pa.table({"patient": ids, **columns, "d": drawn.y}), tmp_path / "cohort.csv")
    return tmp_path / "cohort.csv"


@pytest.fixture
def model(cohort: Path) -> Path:
    path = cohort.parent / "model.rci"
    ok("fit", cohort, "--target", "d", "--id", "patient", "--out", path)
    return path
