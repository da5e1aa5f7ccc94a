"""A table of results, written as Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}

MARKDOWN_SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    **{character: f"\\{character}" for character in "|_*`["},
}


@dataclass(frozen=True)
class Text:
    """A cell: what it says, and whether it is among the best of its row."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table with a title, a header, rows of cells, and what must be said beside it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Text]]
    notes: Sequence[str] = field(default=())

    def to_markdown(self) -> str:
        lines = [[_markdown(name) for name in self.header], ["---"] * len(self.header)]
        lines += [
            [f"**{_markdown(cell.text)}**" if cell.bold else _markdown(cell.text) for cell in row]
            for row in self.rows
        ]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "\n".join(f"- {_markdown(note)}" for note in self.notes)
        return f"**{_markdown(self.title)}**\n\n{table}\n" + (f"\n{notes}\n" if notes else "")

    def to_latex(self) -> str:
        lines = [
            " & ".join(f"\\textbf{{{_latex(cell.text)}}}" if cell.bold else _latex(cell.text) for cell in row)
            for row in self.rows
        ]
        body = "".join(f"  {line} \\\\\n" for line in lines)
        notes = "".join(f"\\par\\footnotesize {_latex(note)}\n" for note in self.notes)
        return (
            f"\\begin{{table}}\n\\centering\n"
            f"\\begin{{tabular}}{{{'r' * len(self.header)}}}\n  \\hline\n"
            f"  {' & '.join(_latex(name) for name in self.header)} \\\\ \\hline\n"
            f"{body}  \\hline\n\\end{{tabular}}\n\\caption{{{_latex(self.title)}}}\n{notes}\\end{{table}}\n"
        )


def _markdown(text: str) -> str:
    # Names of methods and their errors come from the user: none may open a tag, a column or bold type.
    return "".join(MARKDOWN_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _latex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))
