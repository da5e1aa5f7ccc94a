"""One self-contained HTML file: nothing is fetched, and no name in the data can become markup.

Data travel as JSON and base64 inside ``<script>`` elements that no browser runs; the page's own code puts
them on screen as text only. A Content-Security-Policy names the two scripts and the two styles by their
hash, so that the browser runs nothing else and connects to nowhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..files.writing import atomic_write
from .content import Content, page_content

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..estimators.base import Estimator
    from ..inputs.outcomes import Target

LIBRARIES = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
SCRIPTS = (
    "words.js",
    "store.js",
    "outcomes.js",
    "drawing.js",
    "checks.js",
    "glossary.js",
    "export.js",
    "picker.js",
    "list.js",
    "people.js",
    "answer.js",
    "waterfall.js",
    "curves.js",
    "whatif.js",
    "patient.js",
    "cohort.js",
    "graph.js",
    "about.js",
    "main.js",
)

# Observable Plot puts this style into each drawing; the policy has to know its hash.
PLOT_STYLE = """:where(.plot) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot text),
:where(.plot tspan) {
  white-space: pre;
}"""


def write_report(
    model: Estimator,
    X: Any,
    out: str | PathLike[str],
    known: Target | None = None,
    ids: Any = None,
    units: dict[str, str] | None = None,
    target: str | None = None,
    notes: Sequence[str] = (),
    redact_ids: bool = False,
    groups: Any = None,
    horizon: float | None = None,
    weights: Any = None,
) -> Diagnosis:
    """Write the page of these patients; see :meth:`rootcausal.RCI.report` for the parameters.

    Returns what the checks found, which the page says too.
    """
    content = page_content(model, X, known, ids, units, target, notes, redact_ids, groups, horizon, weights)
    page = _page(content).encode("utf-8")
    with atomic_write(out) as handle:
        handle.write(page)
    return content.diagnosis


def _page(content: Content) -> str:
    libraries = "\n".join(_read(name) for name in LIBRARIES)
    body = "\n".join(_read(f"templates/{name}") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{body}\n}})();'
    style = _read("templates/page.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(libraries)} {_hash(script)}",
            f"style-src {_hash(style)} {_hash(PLOT_STYLE)}",
            "img-src data:",  # the heat map is drawn as an image
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    blocks = "\n".join(
        f'<script type="text/plain" id="block-{name}">{block}</script>'
        for name, block in content.blocks.items()
    )
    template = _read("templates/page.html")
    parts = {
        "policy": policy,
        "style": f"<style>{style}</style>",
        "content": f'<script type="application/json" id="content">{as_inert_json(content.facts)}</script>',
        "blocks": blocks,
        "libraries": f"<script>{libraries}</script>",
        "script": f"<script>{script}</script>",
    }
    # One pass over the template, so that nothing inside a part is looked at again.
    pieces = template.split("%%")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def as_inert_json(facts: Any) -> str:
    """JSON in which no character can end a ``<script>`` element or start markup."""
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate (from a damaged file name or cell) has no UTF-8 form.
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
