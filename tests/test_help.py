"""What the terminal shows: help in words, lines that fit, no broken words, and hints only where they help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from command_line import error, ok

from rootcausal.cli import app
from rootcausal.data import load_pbc
from rootcausal.files.writing import write_tables
from rootcausal.inputs.roles import similar

GROUP = typer.main.get_command(app)
COMMANDS = list(GROUP.commands)


@pytest.fixture(scope="module")
def pbc(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pbc") / "pbc.csv"
    write_tables({path: load_pbc().to_frame()}, {})
    return path


def helped(monkeypatch, *command, width=80):
    monkeypatch.setenv("COLUMNS", str(width))
    return ok(*command, "--help")


@pytest.mark.parametrize("command", [None, *COMMANDS])
@pytest.mark.parametrize("width", [80, 60, 200])
def test_help_fits_and_breaks_no_word(monkeypatch, command, width):
    printed = helped(monkeypatch, *([command] if command else []), width=width)
    commands = [line for line in printed.splitlines() if line.startswith("  rootcausal ")]
    columns = [line for line in printed.splitlines() if re.match(r"  \w.*?\w  +\w", line)]
    whole = {*commands, *columns} if width < 80 else set()  # these are not broken
    assert all(len(line) < width for line in printed.splitlines() if line not in whole)
    flowing = " ".join(printed.split())
    for parameter in (GROUP.commands[command] if command else GROUP).params:
        assert " ".join((parameter.help or "").split()) in flowing


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_words_and_not_types(monkeypatch, command):
    printed = helped(monkeypatch, command)
    assert not re.search(r"<(bool|str|int|float|path|list|file|dir|int range)", printed)
    assert not re.search(r"\b(TEXT|INTEGER|FLOAT|PATH|BOOLEAN)\b", printed)
    for option in GROUP.commands[command].params:
        if option.param_type_name == "option":
            # What takes a value says which; what takes none says nothing.
            assert (option.metavar is None) == bool(option.is_flag), option.opts


def test_wrong_usage_says_what_is_needed():
    said = error(2, "simulate", "--rows", 5)
    assert said.startswith(
        "error: missing option '--out' / '-o'. Usage: rootcausal simulate --out FILE [options]"
    )
    assert said.endswith("All options: rootcausal simulate --help")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "x.csv", "--targt", "d"], "error: no such option: --targt (Possible options: --start, --"),
        (["report", "x.csv", "--prevalence", "7"], "error: --prevalence: must be a share between 0 and 1"),
        (["report", "x.csv"], "error: give --target, or --time and --event"),
        (["fit", "x.csv", "--variant", "odd"], "error: --variant: 'odd' is not one of 'original', 'plus'"),
        (["simulate", "--rows", "3", "-o", "c.csv"], "error: --rows: "),  # the rest is Typer's own
        (["fitt"], "error: no such command 'fitt'"),
    ],
)
def test_wrong_usage_reads_like_any_other_error(arguments, said):
    told = error(2, *arguments)
    assert told.startswith(said) and "Invalid value" not in told


def test_without_arguments_the_help_is_shown():
    assert "Usage: rootcausal COMMAND [options]" in error(2)


def test_examples_come_after_the_options(monkeypatch):
    printed = helped(monkeypatch, "fit")
    assert printed.index("\n  --target") < printed.index("\n  --help") < printed.index("\nExamples:\n")
    assert "rootcausal fit" in printed[printed.index("\nExamples:\n") :]


def test_shells_can_complete(monkeypatch):
    monkeypatch.setenv("_ROOTCAUSAL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "rootcausal fit --tar")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert ok().split() == ["--target"]


def test_results_have_a_name_of_their_own_unless_another_is_given(pbc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ok("fit", pbc, "--target", "died", "--id", "id")
    ok("report", pbc, "--model", "model.rci", "--id", "id")
    ok("report", pbc, "--model", "model.rci", "--id", "id", "-o", "another.html")
    assert {path.name for path in tmp_path.iterdir()} == {"model.rci", "report.html", "another.html"}


def test_choices_are_those_that_are_taken(monkeypatch):
    """Help spells them out by hand; a wrong one is refused with the right ones."""
    for command, option, needed in (
        ("fit", "--variant", ["x.csv", "--out", "m.rci"]),
        ("fit", "--backend", ["x.csv", "--out", "m.rci"]),
        ("fit", "--attribution", ["x.csv", "--out", "m.rci"]),
        ("fit", "--missing", ["x.csv", "--out", "m.rci"]),
        ("fit", "--outcome", ["x.csv", "--out", "m.rci"]),
        ("report", "--backend", ["x.csv", "--out", "m.html"]),
        ("simulate", "--design", ["--out", "c.csv"]),
        ("simulate", "--outcome", ["--out", "c.csv"]),
    ):
        shown = re.search(rf"(?m)^  {option} (\S+)", helped(monkeypatch, command)).group(1)
        refused = error(2, command, *needed, option, "nonsense")
        assert re.findall(r"'([\w-]+)'", refused.partition("not one of")[2]) == shown.split("|")


def test_a_terminal_gets_lines_that_fit(pbc):
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    command = [sys.executable, "-m", "rootcausal", "check", str(pbc), "--target", "died", "--id", "id"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    running = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**environment, "TERM": "dumb"})
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        printed += piece
    assert running.wait() == 0
    # Progress bars write over their own line.
    lines = [line.rpartition("\r")[2] for line in printed.decode().replace("\r\n", "\n").split("\n")]
    assert "overall" in printed.decode()
    assert max(map(len, lines)) <= 80
    assert sum(len(line) > 60 for line in lines) > 10  # the width is used


def test_a_file_gets_whole_lines(pbc):
    assert max(map(len, ok("check", pbc, "--target", "died", "--id", "id").splitlines())) > 110


def test_report_says_what_the_checks_found(pbc, tmp_path):
    printed = ok("report", pbc, "--target", "died", "--id", "id", "--out", tmp_path / "page.html")
    checked = ok("check", pbc, "--target", "died", "--id", "id")
    assert re.search(r"\n\d+ checks of the assumptions: (\d+ [a-z ]+(, )?)+\n", printed)
    overall = checked[checked.index("overall") :].partition("\n\n")[0]
    assert overall in printed


def test_report_of_a_model_says_what_the_checks_of_its_fit_found(pbc, tmp_path):
    model = tmp_path / "m.rci"
    ok("fit", pbc, "--target", "died", "--id", "id", "--out", model)
    printed = ok("report", pbc, "--model", model, "--id", "id", "--out", tmp_path / "page.html")
    checked = ok("check", pbc, "--target", "died", "--id", "id")
    overall = checked[checked.index("overall") :].partition("\n\n")[0]
    assert f"{overall}:\n" in printed


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("patient", []),
        ("platelets", ["platelet"]),
        ("Bili", ["bili"]),
        ("bil", ["bili"]),
        ("protime ", ["protime"]),
        ("age_at_diagnosis", []),
        ("alk-phos", ["alk.phos"]),
    ],
)
def test_only_what_is_near_is_suggested(name, near):
    assert similar(name, [*load_pbc().feature_names, "id", "died"]) == near


def test_a_missing_column_without_a_near_one_lists_the_columns(pbc):
    said = error(3, "check", pbc, "--target", "died", "--id", "patient")
    assert "did you mean" not in said and "its columns are 'id', 'age', 'bili'" in said


def test_columns_whose_names_begin_alike_are_told_apart(tmp_path):
    names = [f"Alanine aminotransferase in serum, visit {number}" for number in (1, 2)]
    rows = "".join(f"{k * 7 % 13},{k * 5 % 17},{k % 2}\n" for k in range(60))
    (tmp_path / "c.csv").write_text(f'"{names[0]}","{names[1]}",d\n{rows}')
    printed = ok("look", tmp_path / "c.csv")
    assert "visit 1" in printed and "visit 2" in printed
