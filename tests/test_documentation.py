"""Every snippet of the README and of the guide runs, in order, as a reader would; outputs are as shown.

Python snippets of one file share their names. Of the shell snippets, ``rootcausal`` lines run through the
real command line; lines that set a machine up are known by their first word; any other line is a failure,
so that no snippet goes untested by accident. One that cannot run here (it needs a cluster) says so on the
line before it: ``<!-- not run: why -->``.

What a snippet prints, and its last line is, stands below it, after ``<!-- printed by the above -->``: the
pieces between each ``…`` are found in it, in this order and however lines are broken. A snippet whose output
is not shown says why: ``<!-- output not shown: why -->``. ``python tests/guide.py PAGE`` writes outputs.
"""

import re

import pytest
import typer
from guide import (
    NOT_RUN,
    NOT_SHOWN,
    PAGES,
    SHELLS,
    Reader,
    misses,
    own_cohort,
    snippets_of,
)

from rootcausal import __version__, plots
from rootcausal.cli import app
from rootcausal.diagnostics.outcomes import table


@pytest.fixture
def folder(tmp_path, monkeypatch, learned_once):
    own_cohort(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # shap, when it is imported
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run_and_print_what_is_shown(page, folder):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    reader = Reader(page.name)
    for snippet in snippets_of(page.read_text(encoding="utf-8")):
        if not snippet.is_run:
            known = {*NOT_RUN, "python", *SHELLS}
            assert snippet.language in known, f"a snippet in {snippet.language}: teach this test to run it"
            continue
        printed = reader.run(snippet)
        told = f"\n\nThe snippet:\n{snippet.code}\nWhat is printed:\n{printed}"
        if snippet.shown is not None:
            missed = misses(snippet.shown.code, printed)
            assert missed is None, f"{page.name}: not printed, or not here: {missed}{told}"
        else:
            assert not printed or NOT_SHOWN.match(snippet.note), f"{page.name}: output not shown{told}"
    pyplot.close("all")


def test_the_site_makes_the_tables_that_the_code_declares():
    pages = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    kinds = re.findall(r"(?m)^```\{checks\} (\w+)$", pages["checks.md"])
    assert kinds == ["any", "binary", "survival", "continuous"] and all(map(table, kinds))
    assert "\n```{limits}\n" in pages["preparing-a-cohort.md"]


def test_the_page_of_commands_has_them_all():
    (text,) = (page.read_text(encoding="utf-8") for page in PAGES if page.name == "command-line.md")
    assert re.findall(r"(?m)^```\{help\} (\w+)$", text) == list(typer.main.get_command(app).commands)


def test_every_snippet_names_its_language():
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert all(fences[::2]), f"{page.name} has a snippet without a language, which nobody would run"


def test_every_page_shows_something_that_runs_or_a_picture():
    made = ("{help}", "{checks}", "{limits}", "{eval-rst}", "{raw}")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = [one for one in snippets_of(text) if one.is_run or one.language in made]
        assert shown or "![" in text or "```{raw} html" in text, page.name


def test_pictures_are_there():
    for page in PAGES:
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            if not picture.startswith("http"):
                assert (page.parent / picture).is_file(), f"{page.name} shows {picture}"


def test_pages_that_are_linked_are_there():
    for page in PAGES:
        for link in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"


def test_a_snippet_that_draws_shows_its_picture():
    """Every kind of figure that a page draws is shown on the same page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        code = "".join(one.code for one in snippets_of(text) if one.language == "python")
        pictures = " ".join(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text))
        for kind in set(re.findall(r"\bplots\.(\w+)\(", code)):
            if hasattr(plots, kind) and "shap.plots" not in code.partition(f"plots.{kind}(")[0][-20:]:
                assert kind in pictures, f"{page.name} draws a {kind} and does not show one"


def test_what_is_cited_is_this_version():
    root = PAGES[0].parent
    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{__version__}}}" in (root / "docs" / "citing.md").read_text(encoding="utf-8")


def test_what_is_shown_is_found_in_pieces_and_in_order():
    assert misses("a b …\n d", "a  b c\nd") is None
    assert misses("a … c … b", "a b c") == "b"
    assert misses("a c", "a b c") == "a c"
