"""What docs/designs.md says that goes together does, and what it says is refused is, by a sentence."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from design_doors import ASKED, designs, table

from rootcausal import InputError

PAGE = Path(__file__).parent.parent / "docs" / "designs.md"


def said() -> dict[tuple[str, str], str]:
    """By row and column of the table: yes, refused or no such."""
    lines = PAGE.read_text(encoding="utf-8").split("## What goes together")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    heads = cells[0][1:]
    return {(row[0], head): cell for row in cells[2:] for head, cell in zip(heads, row[1:], strict=True)}


SAID = said()


def test_the_table_is_whole() -> None:
    assert set(SAID) == {(row, column) for row in ASKED for column in designs()}
    assert set(SAID.values()) == {"yes", "refused", "no such"}


@pytest.mark.parametrize("row", [row for row in ASKED if "dask" not in row])
def test_each_row_is_as_the_page_says(row: str) -> None:
    _assert_row(row)


def test_a_cluster_takes_what_the_page_says(client_of_threads: object) -> None:
    pytest.importorskip("dask.dataframe")
    _assert_row('backend="dask"')


@pytest.mark.parametrize("column", ["labels grouped", "stages", "counts"])
def test_a_cluster_learns_what_memory_learns(client_of_threads: object, column: str) -> None:
    dd = pytest.importorskip("dask.dataframe")
    design, frame = designs()[column], table().assign(y=designs()[column].outcome[0])
    beside = {name: name for name in design.beside}
    frame = frame.assign(**design.beside)
    there = design.made(backend="dask").fit(dd.from_pandas(frame, npartitions=3), "y", **beside)
    here = design.made(backend="numba").fit(table(), *design.outcome, **design.beside)
    assert there.causal_order_.tolist() == here.causal_order_.tolist()
    assert there.coef_ == pytest.approx(here.coef_, abs=1e-9)
    assert getattr(there, "classes_", np.empty(0)).tolist() == getattr(here, "classes_", np.empty(0)).tolist()


def _assert_row(row: str) -> None:
    found, sentences = {}, []
    for column, design in designs().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                ASKED[row](design, table())
                found[column] = "yes"
            except InputError as error:
                sentences.append(str(error))
                found[column] = "refused"
            except TypeError as error:
                found[column] = "no such" if "unexpected keyword" in str(error) else str(error)
    assert found == {column: SAID[row, column] for column in designs()}
    assert all(len(sentence) > 20 for sentence in sentences)
