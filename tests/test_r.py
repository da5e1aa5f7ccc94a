"""The package as R calls it, through reticulate, where both are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from guide import ROOT, misses, own_cohort, snippets_of

RSCRIPT = shutil.which("Rscript")


def has_reticulate() -> bool:
    asked = [str(RSCRIPT), "-e", "quit(status = !requireNamespace('reticulate', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True, timeout=60).returncode == 0


@pytest.mark.skipif(RSCRIPT is None or not has_reticulate(), reason="needs R and reticulate")
def test_what_the_guide_does_in_r(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "brought.md").read_text()
    (snippet,) = [one for one in snippets_of(text) if one.language == "r"]
    own_cohort(tmp_path)
    (tmp_path / "guide.R").write_text(snippet.code)
    done = subprocess.run(
        [str(RSCRIPT), "guide.R"],
        cwd=tmp_path,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert snippet.shown is not None and misses(snippet.shown.code, done.stdout) is None, done.stdout
    assert "bili" in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 100_000
