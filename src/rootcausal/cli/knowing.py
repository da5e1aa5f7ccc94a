"""Options that say what is known of the causal order before."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..files.tables import column_names
from ..wording import quoted

if TYPE_CHECKING:
    from ..inputs.knowledge import Knowledge
    from ..inputs.roles import Roles

First = Annotated[
    list[str] | None,
    typer.Option(help="Column that nothing else causes, such as age; many times, or with commas between."),
]
Tiers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TIER<TIER",
        help="Columns that come before others, as in 'smoking,bmi < bili,alb'; all that are not named belong "
        "to the last tier, which may be empty ('smoking,bmi <').",
    ),
]
Causes = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN:COLUMN", help="The first comes before the second, as in smoking:bili."),
]
NotCauses = Annotated[
    list[str] | None,
    typer.Option(
        "--not-causes",
        metavar="COLUMN:COLUMN",
        help="The first is no cause of the second, and comes after it.",
    ),
]
Covariate = Annotated[
    list[str] | None,
    typer.Option(help="Column to adjust for, before all others; never offered as a root cause."),
]
KnowledgeFile = Annotated[
    Path | None,
    typer.Option(
        "--knowledge",
        help="All of this in one file instead: JSON as Knowledge.to_json writes it, or a knowledge file of "
        "Tetrad.",
    ),
]


@dataclass(frozen=True)
class Known:
    """What the options say, as typed."""

    first: Sequence[str]
    tiers: Sequence[str]
    causes: Sequence[str]
    not_causes: Sequence[str]
    covariate: Sequence[str]
    file: Path | None

    @classmethod
    def of(
        cls,
        first: list[str] | None,
        tiers: list[str] | None,
        causes: list[str] | None,
        not_causes: list[str] | None,
        covariate: list[str] | None,
        file: Path | None,
    ) -> "Known":
        """Return the options; a file beside others is wrong usage."""
        known = cls(first or (), tiers or (), causes or (), not_causes or (), covariate or (), file)
        if file is not None:
            for one in fields(cls):
                if one.name != "file" and getattr(known, one.name):
                    option = f"--{one.name.replace('_', '-')}"
                    raise typer.BadParameter(
                        f"the file says all that is known: leave {option} out, or write it into the file.",
                        param_hint="--knowledge",
                    )
        return known

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self))

    def with_roles(self, roles: "Roles", table: Path) -> "Roles":
        """Return what all options together say of the columns of a table."""
        return replace(roles, knowledge=self.among(column_names(table))) if self else roles

    def among(self, names: Sequence[str]) -> "Knowledge":
        """Return what they say of the columns of these names, which may themselves hold commas and colons."""
        from ..files.knowledge_file import is_json, text_of_file
        from ..inputs.knowledge import Knowledge
        from ..inputs.roles import columns_named

        if self.file is not None:
            if is_json(text_of_file(self.file)):
                return Knowledge.from_json(self.file)
            return Knowledge.from_tetrad(self.file)
        return Knowledge(
            first=columns_named(names, self.first),
            tiers=[
                columns_named(names, [tier.strip()] if tier.strip() else [])
                for text in self.tiers
                for tier in text.split("<")
            ],
            causes=[pair for text in self.causes for pair in pairs_named(names, text, "--causes")],
            not_causes=[
                pair for text in self.not_causes for pair in pairs_named(names, text, "--not-causes")
            ],
            covariates=columns_named(names, self.covariate),
        )


def pairs_named(names: Sequence[str], text: str, option: str) -> list[tuple[str, str]]:
    """Return the pairs of a text such as "smoking:bili,bmi:alb"; names with a comma or a colon come first."""
    parts = text.split(":")
    splits = [
        (":".join(parts[:place]).strip(), ":".join(parts[place:]).strip()) for place in range(1, len(parts))
    ]
    fitting = [pair for pair in splits if names.count(pair[0]) and names.count(pair[1])]
    if not fitting and "," in text:
        return [pair for part in text.split(",") for pair in pairs_named(names, part, option)]
    if not splits:
        raise typer.BadParameter(
            f"write COLUMN:COLUMN, as in smoking:bili, not {quoted(text)}.", param_hint=option
        )
    return [(fitting or splits)[0]]
