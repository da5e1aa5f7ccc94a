"""Running the command line in tests."""

import subprocess
import sys
from typing import Any

from typer.testing import CliRunner, Result

from rootcausal.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="rootcausal")


def ok(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def error(code: int, *arguments: object) -> str:
    """Run, expect this exit code, and return the single error that was printed."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code != 2:
        first, *others = result.stderr.splitlines()
        assert first.startswith("error: ")
        assert all(line.startswith(f"({number}) ") for number, line in enumerate(others, start=1))
    return " ".join(result.stderr.replace("│", " ").split())


def in_new_process(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rootcausal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
