"""Options that say what is known of the causal order before."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files.tables import column_names
from ..wording import quoted

if TYPE_CHECKING:
    from ..inputs.roles import Roles

of_knowledge = partial(typer.Option, rich_help_panel="What is known before")


@dataclass(frozen=True)
class KnowledgeOptions:
    """What is known of the causal order before, as typed."""

    first: Annotated[
        list[str] | None,
        of_knowledge(
            metavar="COLUMN",
            help="Column that nothing else in the table causes, such as age and sex; many times, or with "
            "commas between.",
        ),
    ] = None
    tiers: Annotated[
        list[str] | None,
        of_knowledge(
            metavar="TIER<TIER",
            help="Columns that come before others, all tiers in one text, as in 'smoking,bmi < bili,alb'; "
            "columns not named belong to the last tier, which may be empty ('smoking,bmi <').",
        ),
    ] = None
    causes: Annotated[
        list[str] | None,
        of_knowledge(
            metavar="COLUMN:COLUMN",
            help="The first comes before the second, as in smoking:bili, or acts on the outcome directly, as "
            "in arm:died; many times, or with commas between.",
        ),
    ] = None
    not_causes: Annotated[
        list[str] | None,
        of_knowledge(
            metavar="COLUMN:COLUMN",
            help="The first is no cause of the second, and comes after it, or does not act on the outcome "
            "directly; many times, or with commas between.",
        ),
    ] = None
    covariate: Annotated[
        list[str] | None,
        of_knowledge(
            metavar="COLUMN",
            help="Column to adjust for, before all others; never offered as a root cause; many times, or "
            "with commas between.",
        ),
    ] = None
    knowledge: Annotated[
        Path | None,
        of_knowledge(
            metavar="FILE",
            help="All of this in one file instead: JSON as Knowledge.to_json writes it, or a knowledge file "
            "of Tetrad.",
        ),
    ] = None

    def refuse_what_does_not_go_together(self) -> None:
        """A file beside other options, or --tiers more than once, is wrong usage."""
        if self.tiers and len(self.tiers) > 1:
            raise typer.BadParameter(
                "give all tiers in one text, as in --tiers 'smoking < bmi < bili,alb': two texts would leave "
                "open which comes first.",
                param_hint="--tiers",
            )
        if self.knowledge is not None:
            for one in fields(self):
                if one.name != "knowledge" and getattr(self, one.name):
                    option = f"--{one.name.replace('_', '-')}"
                    raise typer.BadParameter(
                        f"the file says all that is known: leave {option} out, or write it into the file.",
                        param_hint="--knowledge",
                    )

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self))

    def with_roles(self, roles: "Roles", table: PathLike[str]) -> "Roles":
        """Return what all options together say of the columns of a table."""
        return replace(roles, knowledge=self.among(column_names(table))) if self else roles

    def among(self, names: Sequence[str]) -> dict[str, Any]:
        """Return what they say of the columns of these names, as fields of Knowledge; reading checks them.

        Names may themselves hold commas and colons.
        """
        from ..inputs.knowledge_files import fields_of_file
        from ..inputs.roles import columns_named

        if self.knowledge is not None:
            return fields_of_file(self.knowledge)
        return {
            "first": columns_named(names, self.first or ()),
            "tiers": [tier for text in self.tiers or () for tier in tiers_named(names, text)],
            "causes": [pair for text in self.causes or () for pair in pairs_named(names, text, "--causes")],
            "not_causes": [
                pair for text in self.not_causes or () for pair in pairs_named(names, text, "--not-causes")
            ],
            "covariates": columns_named(names, self.covariate or ()),
        }


def tiers_named(names: Sequence[str], text: str) -> list[list[str]]:
    """Return the columns of each tier of a text such as "smoking,bmi < bili,alb"."""
    from ..inputs.roles import columns_named

    parts = [part.strip() for part in text.split("<")]
    if len(parts) == 1 and ">" not in text:
        raise typer.BadParameter(
            "one tier alone says nothing, since columns in no tier belong to the last: add the tier that "
            f"comes after it, or nothing for all others, as in {quoted(text + ' <')}; or use --first.",
            param_hint="--tiers",
        )
    if not all(parts[:-1]):
        raise typer.BadParameter(
            f"tier {parts.index('') + 1} of {quoted(text)} is empty; only the last may be, for all others.",
            param_hint="--tiers",
        )
    tiers = [columns_named(names, [part] if part else []) for part in parts]
    there = set(names)
    strange = [name for tier in tiers for name in tier if name not in there]
    for name in names if strange else ():
        if "<" in name and name.strip() in text:
            raise typer.BadParameter(
                f"the name of column {quoted(name)} holds <, which stands between tiers: say it in a file "
                "instead, by --knowledge.",
                param_hint="--tiers",
            )
    if any(">" in name for name in strange):
        raise typer.BadParameter(
            f"write < between tiers, with what comes first on the left, not {quoted(text)}.",
            param_hint="--tiers",
        )
    return tiers


def pairs_named(names: Sequence[str], text: str, option: str) -> list[tuple[str, str]]:
    """Return the pairs of a text such as "smoking:bili,bmi:alb"; names with a comma or a colon come first."""
    whole = _pairs_in(names, text)
    parts = [text] if whole or "," not in text else text.split(",")
    found = [whole] if whole else [_pairs_in(names, part) for part in parts]
    pairs = []
    for part, fitting in zip(parts, found, strict=True):
        if len(fitting) > 1:
            ways = " or ".join(f"{quoted(a)} and {quoted(b)}" for a, b in fitting)
            raise typer.BadParameter(
                f"{quoted(part)} can be read as {ways}: say it in a file, by --knowledge.", param_hint=option
            )
        if not fitting and part.count(":") != 1:
            raise typer.BadParameter(
                f"write COLUMN:COLUMN, one pair each, as in {option} smoking:bili, not {quoted(text)}.",
                param_hint=option,
            )
        cause, _, effect = part.partition(":")
        pairs.append(fitting[0] if fitting else (cause.strip(), effect.strip()))
    return pairs


def _pairs_in(names: Sequence[str], text: str) -> list[tuple[str, str]]:
    """Return the ways in which a text is two of the names with a colon between."""
    parts = text.split(":")
    ways = [
        (":".join(parts[:place]).strip(), ":".join(parts[place:]).strip()) for place in range(1, len(parts))
    ]
    return [(cause, effect) for cause, effect in ways if cause in names and effect in names]
