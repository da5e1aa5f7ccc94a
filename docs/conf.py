"""The guide as a site: ``make docs``."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from rootcausal import __version__

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


class Help(SphinxDirective):
    """What ``--help`` of a command prints: ``{help} fit``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-m", "rootcausal", self.arguments[0], "--help"]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "96"}
        )
        return [nodes.literal_block(done.stdout, done.stdout, language="text")]


def setup(app: Any) -> None:
    app.add_directive("help", Help)
    app.connect("config-inited", make_demo_page)
