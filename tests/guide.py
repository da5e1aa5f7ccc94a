"""Running the snippets of the guide as a reader would, and comparing what they print with what pages show.

``python tests/guide.py docs/tutorial.md ...`` writes what is printed below each snippet that lacks it, and in
place of what is no longer so. Look at the change: long outputs are cut in the middle, where ``…`` stands.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import ok

from rootcausal.data import load_pbc
from rootcausal.files.writing import write_tables

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PRINTED = "<!-- printed by the above -->"
NOT_RUN_HERE = re.compile(r"<!-- not run: [^\n]+ -->")
NOT_SHOWN = re.compile(r"<!-- output not shown: [^\n]+ -->")
SNIPPET = re.compile(
    r"(?P<before>^<!-- [^\n]+ -->\n+)?^```(?P<language>\S+)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)
SETS_UP = ("pip", "git", "cd", "make", "python", "python3", "source", "curl", "docker")
SHELLS = ("sh", "bash", "console", "shell")
NOT_RUN = (
    "text",
    "json",
    "bibtex",
    "mermaid",
    "diff",
    "r",
    "{toctree}",
    "{eval-rst}",
    "{include}",
    "{raw}",
    "{help}",
    "{checks}",
    "{limits}",
)
# How a result was made depends on the machine, and says so itself.
PROVENANCE = re.compile(r"^made by rootcausal .*\n", re.MULTILINE)
WIDTH, LINES_SHOWN, LAST_SHOWN = 100, 30, 6


@dataclass
class Snippet:
    """A fenced block of a page; ``shown`` is the block of its output, if the page has one."""

    language: str
    code: str
    note: str
    end: int
    shown: "Snippet | None" = None
    start: int = 0

    @property
    def is_run(self) -> bool:
        return self.language in ("python", *SHELLS) and not NOT_RUN_HERE.match(self.note)


def snippets_of(text: str) -> list[Snippet]:
    """The blocks of a page in order, those of outputs beside what they are of."""
    found: list[Snippet] = []
    for block in SNIPPET.finditer(text):
        note = (block["before"] or "").strip()
        one = Snippet(block["language"], block["code"], note, block.end(), start=block.start())
        if note == PRINTED:
            found[-1].shown = one
        else:
            found.append(one)
    return found


class Reader:
    """Whoever follows a page: names of Python snippets stay, from one to the next."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, snippet: Snippet) -> str:
        """Run a snippet, and return what it prints."""
        printed = self.python(snippet.code) if snippet.language == "python" else self._shell(snippet.code)
        # Where the reader stands is nobody's business.
        return PROVENANCE.sub("", printed).replace(f"{Path.cwd()}{os.sep}", "").strip("\n")

    def python(self, code: str) -> str:
        """Run code, and return what it prints and, after that, what its last line is."""
        tree = ast.parse(code, f"{self.page}: {code[:40]!r}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(tree, f"{self.page}: {code[:40]!r}", "exec"), self.names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), self.page, "eval"), self.names)
                if value is not None:
                    print(repr(value))
        return out.getvalue()

    def _shell(self, code: str) -> str:
        printed = ""
        for line in code.replace("\\\n", " ").splitlines():
            command = shlex.split(line.removeprefix("$ "), comments=True)
            if not command or command[0] in SETS_UP:
                continue
            assert command[0] == "rootcausal", f"no way to run this line: {line}"
            if ">" in command:
                ok(*command[1 : command.index(">")])
                continue
            printed += ok(*command[1:])
        return printed


def own_cohort(folder: Path) -> None:
    """Where a reader stands: a cohort of their own, with ids and a diagnosis, and new patients."""
    table = load_pbc().to_frame()
    own = table.rename_columns(["patient", *table.column_names[1:]])
    write_tables({folder / "cohort.csv": own, folder / "new.csv": own.slice(0, 5)}, {})


def misses(shown: str, printed: str) -> str | None:
    """The first piece of what is shown, between each ``…``, that is not printed, or not in this order."""
    rest = " ".join(printed.split())
    for piece in filter(None, (" ".join(piece.split()) for piece in shown.split("…"))):
        if piece not in rest:
            return piece
        rest = rest.partition(piece)[2]
    return None


def as_shown(printed: str, whole: bool = False) -> str:
    """What is printed as a page shows it: no line too wide and, but for help, not too many of them."""
    lines = [
        piece
        for line in printed.splitlines()
        for piece in textwrap.wrap(
            line.rstrip(),
            WIDTH,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
            replace_whitespace=False,
        )
        or [""]
    ]
    if len(lines) > LINES_SHOWN and not whole:
        lines = [*lines[: LINES_SHOWN - LAST_SHOWN], "…", *lines[-LAST_SHOWN:]]
    return "\n".join(lines).strip("\n")


def update(page: Path) -> None:
    """Write what snippets print below them, where nothing or something else stands."""
    text, reader, changes = page.read_text(encoding="utf-8"), Reader(page.name), []
    for snippet in snippets_of(text):
        if not snippet.is_run:
            continue
        printed = reader.run(snippet)
        block = f"{PRINTED}\n```text\n{as_shown(printed, '--help' in snippet.code)}\n```"
        if snippet.shown is not None and misses(snippet.shown.code, printed) is not None:
            changes.append((snippet.shown.start, snippet.shown.end, block))
        elif snippet.shown is None and printed and not NOT_SHOWN.match(snippet.note):
            changes.append((snippet.end, snippet.end, f"\n\n{block}"))
    for start, end, block in reversed(changes):
        text = text[:start] + block + text[end:]
    page.write_text(text, encoding="utf-8")
    print(f"{page.name}: {len(changes)} outputs written")


def main() -> None:
    import tempfile

    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            own_cohort(Path(folder))
            os.chdir(folder)
            update(page)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
