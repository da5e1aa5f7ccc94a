"""Run every cell of the example notebook and keep what it shows in it: ``make notebook``.

Nothing of the machine is kept: no times, versions of Python, counters or paths.
"""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "pbc.ipynb"
KEPT = ("text/plain", "text/html", "image/png")


def clean(notebook: nbformat.NotebookNode) -> None:
    """Leave what a reader sees, and only that."""
    notebook.metadata["language_info"] = {"name": "python"}
    number = 0
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        number += 1
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "error":
                raise RuntimeError(f"cell {number} failed: {output.evalue}")
            if "execution_count" in output:
                output.execution_count = number
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
                output.metadata = {}


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # The page that the last cell writes is no part of the repository.
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
        clean(notebook)
        text = nbformat.writes(notebook)
        for path in (folder, str(Path.home()), os.getcwd()):
            if path != "/" and path in text:
                raise RuntimeError(f"an output names a folder of this machine: {path}")
    NOTEBOOK.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    print(f"{NOTEBOOK.name}: {NOTEBOOK.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
