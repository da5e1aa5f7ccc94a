"""The guide as a site: ``make docs``."""

from rootcausal import __version__

project = "rootcausal"
author = "the authors of rootcausal"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["*.py"]
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"rootcausal {__version__}"
html_show_sourcelink = False

# Methods are listed in full below their class; a second table of them would only lengthen the page.
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
