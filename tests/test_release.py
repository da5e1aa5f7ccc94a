"""What is released: a wheel and a source archive that are whole, and work by themselves, without extras."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from rootcausal import __version__

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow  # it builds, and installs from the package index

SMOKE = """
import pyarrow as pa
import rootcausal
from rootcausal.data import load_pbc

cohort = load_pbc()
X = cohort.to_frame().select(cohort.feature_names)
model = rootcausal.RCI(knowledge={"first": ["age"]}).fit(X, cohort.y).bootstrap(5)
model.report(X, "report.html", y=cohort.y, ids=cohort.ids)
model.save("model.rci")
assert rootcausal.load("model.rci").explain(X).values.shape == (258, 10)
try:
    model.summary().frame
except rootcausal.MissingExtraError as error:
    print(error)
"""


def run(*command, where):
    done = subprocess.run(list(map(str, command)), cwd=where, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The two files, and the folder of an environment that has only what builds them."""
    folder = tmp_path_factory.mktemp("release")
    run(sys.executable, "-m", "venv", folder / "tools", where=folder)
    python = folder / "tools" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "build", "twine", where=folder)
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT, where=folder)
    run(python, "-m", "twine", "check", "--strict", *(folder / "dist").iterdir(), where=folder)
    return folder


def test_both_files_are_of_this_version_and_hold_what_they_should(built):
    (wheel,), (source,) = (built / "dist").glob("*.whl"), (built / "dist").glob("*.tar.gz")
    assert wheel.name == f"rootcausal-{__version__}-py3-none-any.whl"
    assert source.name == f"rootcausal-{__version__}.tar.gz"
    there = zipfile.ZipFile(wheel).namelist()
    for name in ("app/pages/app.js", "report/templates/page.html", "report/vendor/d3.min.js", "py.typed"):
        assert f"rootcausal/{name}" in there
    assert not [name for name in there if name.startswith(("tests/", "docs/", "results/"))]
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/rootcausal/__init__.py"} <= names


def test_the_wheel_works_in_an_empty_environment(built):
    (wheel,) = (built / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", built / "empty", where=built)
    python = built / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, where=built)
    assert f"rootcausal {__version__}" in run(python, "-m", "rootcausal", "--version", where=built)
    run(python, "-m", "rootcausal", "demo", "--table", "pbc.csv", where=built)
    run(python, "-m", "rootcausal", "look", "pbc.csv", "--target", "died", where=built)
    assert "pip install 'rootcausal[pandas]'" in run(python, "-c", SMOKE, where=built)
    installed = run(python, "-m", "pip", "list", where=built)
    assert "pandas" not in installed and "matplotlib" not in installed
