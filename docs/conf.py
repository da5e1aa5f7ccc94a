"""The guide as a site: ``make docs``."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from rootcausal import __version__
from rootcausal.diagnostics.outcomes import table as declared_checks
from rootcausal.screening.leakage import LIMITS, NEVER

project = "rootcausal"
author = "the authors of rootcausal"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["*.py"]
myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"rootcausal {__version__}"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["guide.css"]
# What the build makes itself and copies to the site as it is: the demo page.
MADE = Path(__file__).parent.parent / "build" / "made-for-site"
html_extra_path = [str(MADE)]

# What is pasted are commands and code: no prompt, and no output.
copybutton_prompt_text = "$ "
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"

# Methods are listed in full below their class; a second table of them would only lengthen the page.
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"


def make_demo_page(*_: Any) -> None:
    """Write the page that ``rootcausal demo`` writes, so that the site shows that of this version."""
    MADE.mkdir(parents=True, exist_ok=True)
    page = MADE / "rootcausal-demo.html"
    subprocess.run(
        [sys.executable, "-m", "rootcausal", "demo", "--out", str(page)], check=True, capture_output=True
    )


def table_of_checks(kind: str) -> list[tuple[str, ...]]:
    """The checks of one outcome, as their declarations have them."""
    head = ("check", "question", "its number", "doubtful from", "broken from")
    return [head, *((f"`{name}`", *others) for name, *others in declared_checks(kind))]


def table_of_limits() -> list[tuple[str, ...]]:
    """The limits of leaks, as their declarations have them."""
    rows = [("limit", "doubtful from", "broken from", "of what, and why there")]
    for name, one in LIMITS.items():
        sizes = ((one.doubtful, one.p_doubtful), (one.broken, one.p_broken))
        said = (
            "never" if size == NEVER else f"{size:g}" + (f" (p < {p:g})" if p < 1.0 else "")
            for size, p in sizes
        )
        rows.append((name, *said, one.why))
    return rows


class Help(SphinxDirective):
    """What ``--help`` of a command prints: ``{help} fit``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-m", "rootcausal", self.arguments[0], "--help"]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "96"}
        )
        return [nodes.literal_block(done.stdout, done.stdout, language="text")]


class FromCode(SphinxDirective):
    """A table that the code declares: ``{checks} binary`` or ``{limits}``."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = table_of_limits() if self.name == "limits" else table_of_checks(self.arguments[0])
        head, *body = [[self.parse_inline(cell)[0] for cell in row] for row in rows]
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        group += nodes.thead("", self._row(head))
        group += nodes.tbody("", *map(self._row, body))
        return [nodes.table("", group)]

    @staticmethod
    def _row(cells: list[list[nodes.Node]]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def setup(app: Any) -> None:
    for name in ("checks", "limits"):
        app.add_directive(name, FromCode)
    app.add_directive("help", Help)
    app.connect("config-inited", make_demo_page)
