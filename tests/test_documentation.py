"""Every snippet of the README and of the guide runs, in order, as a reader would run it.

Python snippets of one file share their names. Of the shell snippets, ``rootcausal`` lines run through the
real command line; lines that set a machine up are known by their first word; any other line is a failure,
so that no snippet goes untested by accident. One that cannot run here (it needs a cluster) says so on the
line before it: ``<!-- not run: why -->``.

What a snippet prints is compared with the text below ``<!-- printed by the above -->``: the pieces between
each ``…`` are found in it, in this order and however lines are broken. Else the failure shows what to paste.
"""

import re
import shlex
from pathlib import Path

import pytest
from command_line import ok

from rootcausal.data import load_pbc
from rootcausal.files.results import write_tables

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PRINTED = "<!-- printed by the above -->\n"
SNIPPET = re.compile(rf"^({PRINTED})?```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_RUN_HERE = re.compile(r"^<!-- not run: [^\n]+ -->\n+```.*?^```", re.DOTALL | re.MULTILINE)
SETS_UP = ("pip", "git", "cd", "make", "python", "python3", "source", "curl", "docker")
SHELLS = ("sh", "bash", "console", "shell")
NOT_RUN = ("text", "json", "bibtex", "mermaid", "diff")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a reader stands: a cohort of their own, with ids and a diagnosis."""
    table = load_pbc().to_frame()
    own = table.rename_columns(["patient", *table.column_names[1:]])
    write_tables({tmp_path / "cohort.csv": own, tmp_path / "new.csv": own.slice(0, 5)}, {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_shell(snippet):
    """Run the lines of a snippet, and return what they print."""
    printed = ""
    for line in snippet.replace("\\\n", " ").splitlines():
        command = shlex.split(line.removeprefix("$ "), comments=True)
        if not command or command[0] in SETS_UP:
            continue
        assert command[0] == "rootcausal", f"no way to run this line: {line}"
        if ">" in command:
            command = command[: command.index(">")]
        if "--bootstrap" in command:
            command[command.index("--bootstrap") + 1] = "5"  # the same path, without the wait
        printed += ok(*command[1:])
    return printed


def assert_printed(shown, printed):
    rest = " ".join(printed.split())
    for piece in filter(None, (" ".join(piece.split()) for piece in shown.split("…"))):
        assert piece in rest, f"not printed, or not here: {piece}\n\nWhat is printed:\n{printed}"
        rest = rest.partition(piece)[2]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # shap, when it is imported
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, folder):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    names = {"__name__": "__main__"}
    runnable = NOT_RUN_HERE.sub("", page.read_text(encoding="utf-8"))
    printed = ""
    for compared, language, snippet in SNIPPET.findall(runnable):
        if language == "python":
            exec(compile(snippet, f"{page.name}: {snippet[:40]!r}", "exec"), names)
        elif language in SHELLS:
            printed = run_shell(snippet)
        elif compared:
            assert_printed(snippet, printed)
        else:
            assert language in NOT_RUN, f"a snippet in {language}: teach this test to run it"
    pyplot.close("all")


def test_every_snippet_names_its_language():
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert all(fences[::2]), f"{page.name} has a snippet without a language, which nobody would run"


def test_pictures_are_there():
    for page in PAGES:
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            if not picture.startswith("http"):
                assert (page.parent / picture).is_file(), f"{page.name} shows {picture}"
