"""What ``--help`` prints: words in place of programmers' types, as wide as the terminal, no word broken.

An option that takes a value says in its ``metavar`` which: COLUMN, FILE, N. One without a metavar takes none.
"""

import inspect
import textwrap
from collections.abc import Iterable, Sequence
from enum import Enum
from shutil import get_terminal_size
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

WIDEST, NARROWEST, LEFT = 100, 40, 26
OPTIONS = "Options"


class PlainHelp(TyperCommand):
    """A command whose help is plain text."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_of(self, ctx))

    def get_usage(self, ctx: Any) -> str:
        return usage_of(self, ctx)


def help_of(command: Any, ctx: Any, commands: Sequence[tuple[str, str]] = ()) -> str:
    """Return the help of a command, or of all ``commands``, which are names and what they do."""
    page = _Page(max(NARROWEST, min(get_terminal_size().columns, WIDEST) - 1))
    arguments, options = _arguments(command), _options(command, ctx)
    page.text(usage_of(command, ctx, bool(commands)), "       ")
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    examples = [] if commands else [one for one in paragraphs if one.startswith("rootcausal ")]
    for paragraph in paragraphs:
        if paragraph not in examples:
            page.paragraph(paragraph)
    page.section("Commands", commands)
    page.section("Arguments", [(_argument(one), _said(one)) for one in arguments])
    panels = dict.fromkeys(map(_panel, options))
    for panel in sorted(panels, key=lambda name: name == OPTIONS):
        inside = [one for one in options if _panel(one) == panel]
        page.section(panel, [(f"{_called(one)} {one.metavar or ''}", _said(one)) for one in inside])
    if examples:
        page.title("Examples")
        page.lines += [f"  {line}" for paragraph in examples for line in paragraph.splitlines()]
    if command.epilog:
        page.paragraph(command.epilog)
    return page.whole()


def usage_of(command: Any, ctx: Any, of_all: bool = False) -> str:
    """Return how a command is called, or ``of_all`` commands any of them: what is needed by its name."""
    needed = [f"{one.opts[0]} {one.metavar}" for one in _options(command, ctx) if one.required]
    rest = "COMMAND [options]" if of_all else "[options]"
    return " ".join(["Usage:", ctx.command_path, *map(_argument, _arguments(command)), *needed, rest])


def summary(command: Any) -> str:
    """Return the first paragraph of a command's help."""
    return inspect.cleandoc(command.help or "").split("\n\n")[0]


class _Page:
    """Lines of a help text of one width."""

    how: ClassVar[dict[str, Any]] = {"break_long_words": False, "break_on_hyphens": False}

    def __init__(self, width: int) -> None:
        self.width, self.lines = width, list[str]()

    def text(self, text: str, indent: str = "") -> None:
        self.lines += textwrap.wrap(text, self.width, subsequent_indent=indent, **self.how)

    def paragraph(self, text: str) -> None:
        """Add a paragraph; lines that are commands, or columns, stay as they are."""
        lines = text.splitlines()
        self.lines.append("")
        if all(line.startswith("rootcausal ") or "  " in line for line in lines):
            self.lines += [f"  {line}" for line in lines]
        else:
            self.text(" ".join(lines))

    def title(self, title: str) -> None:
        self.lines += ["", typer.style(f"{title}:", bold=True)]

    def section(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        """Add rows of two columns; what is too wide for the left one has a line of its own."""
        rows = list(rows)
        if not rows:
            return
        self.title(title)
        indent = " " * LEFT
        for left, right in rows:
            start = f"  {left.rstrip()}"
            if len(start) + 2 > LEFT:
                self.lines.append(start)
                start = ""
            self.text(f"{start:<{LEFT}}{right}", indent)

    def whole(self) -> str:
        return "\n".join(self.lines) + "\n"


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "argument"]


def _options(command: Any, ctx: Any) -> list[Any]:
    return [one for one in command.get_params(ctx) if one.param_type_name == "option"]


def _panel(option: Any) -> str:
    # Below 0.27 Typer leaves --help to click, whose options have no panel.
    return getattr(option, "rich_help_panel", None) or OPTIONS


def _called(option: Any) -> str:
    return ", ".join([*option.opts, *option.secondary_opts])


def _argument(argument: Any) -> str:
    name = f"{argument.metavar or str(argument.name).upper()}{'...' if argument.nargs != 1 else ''}"
    return name if argument.required else f"[{name}]"


def _said(parameter: Any) -> str:
    """Return what a parameter is for, and what it is unless it is given."""
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if isinstance(default, Enum):
        default = default.value
    needed = " (needed)" if parameter.required and parameter.param_type_name == "option" else ""
    known = default is not None and default is not False and not parameter.required
    return f"{parameter.help or ''}{needed}" + (f" [default: {default}]" if known else "")
