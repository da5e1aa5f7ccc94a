"""Options that a program chooses: checked against those of the commands, and written as people type them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ..errors import InputError
from ..wording import quoted
from .knowing import KnowledgeOptions
from .options import (
    ModelOptions,
    NamedOutcome,
    OutcomeOptions,
    PageOptions,
    ReadingOptions,
    TableOptions,
    bare,
)

# What reads another file of the machine is no choice of a page.
NOT_CHOSEN = ("knowledge", "redcap")
OF_LOOK = (ReadingOptions, NamedOutcome)
OF_REPORT = (TableOptions, OutcomeOptions, KnowledgeOptions, ModelOptions, PageOptions)


@dataclass(frozen=True)
class Declared:
    """An option: its field, what it is called if it says yes, and what its values are."""

    field: str
    group: type
    yes: str
    kinds: frozenset[Any]
    parser: Callable[[str], Any] | None

    @property
    def is_flag(self) -> bool:
        return bool in self.kinds

    @property
    def many(self) -> bool:
        return list in self.kinds

    def value(self, text: str) -> Any:
        """What a text stands for."""
        if self.parser is not None:
            return self.parser(text)
        try:
            return int(text) if int in self.kinds else float(text) if float in self.kinds else bare(text)
        except ValueError:
            raise InputError(f"{self.yes} takes a number, not {quoted(text)}.") from None


@cache
def declared(groups: tuple[type, ...]) -> dict[str, Declared]:
    """The options of these groups, by what they are called."""
    found: dict[str, Declared] = {}
    for group in groups:
        hints = get_type_hints(group, include_extras=True)
        for one in fields(group):
            if one.name in NOT_CHOSEN:
                continue
            kind, option = _kind_and_option(hints[one.name])
            said = [str(name) for name in (option.default, *(option.param_decls or ()))]
            names = [name for name in said if name.startswith("--")] or [f"--{one.name.replace('_', '-')}"]
            yes, *no = names[0].split("/")
            found |= dict.fromkeys([yes, *no], Declared(one.name, group, yes, frozenset(kind), option.parser))
    return found


def _kind_and_option(hint: Any) -> tuple[set[Any], Any]:
    """The types of a field, and what Typer is told of it."""
    assert get_origin(hint) is Annotated
    kind, option, *_ = get_args(hint)
    parts = get_args(kind) or (kind,)
    return {get_origin(part) or part for part in parts} | {get_origin(kind) or kind}, option


def arguments_of(choices: Any, groups: tuple[type, ...]) -> list[str]:
    """The choices, pairs of an option and its value (None of one without), as arguments of a command."""
    known, seen, arguments = declared(groups), set[str](), list[str]()
    for option, value in pairs_of(choices):
        one = known.get(option)
        if one is None:
            raise InputError(f"{quoted(option)} is no option that can be chosen here.")
        if (value is None) != one.is_flag:
            raise InputError(f"{option} takes {'no' if one.is_flag else 'a'} value.")
        if one.field in seen and not one.many:
            raise InputError(f"{option} was chosen twice: choose it once.")
        seen.add(one.field)
        arguments += [option] if value is None else [option, value]
    return arguments


def pairs_of(choices: Any) -> list[tuple[str, str | None]]:
    """Choices as they came, checked for what they are made of."""
    if not isinstance(choices, list):
        raise InputError("choices are a list of options with their values.")
    pairs = []
    for one in choices:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str)):
            raise InputError("a choice is an option with its value.")
        value = one[1]
        if not (value is None or isinstance(value, str)) or "\x00" in (value or ""):
            raise InputError(f"the value of {quoted(one[0])} must be a text.")
        pairs.append((one[0], value))
    return pairs


def groups_of(choices: Any) -> dict[type, Any]:
    """The groups of options of ``report`` with what was chosen, as Typer would make them of the arguments."""
    known = declared(OF_REPORT)
    values: dict[type, dict[str, Any]] = {group: {} for group in OF_REPORT}
    for option, value in pairs_of(choices):
        one = known[option]
        mine = values[one.group]
        if value is None:
            mine[one.field] = option == one.yes
        elif one.many:
            mine.setdefault(one.field, []).append(value)
        else:
            mine[one.field] = one.value(value)
    return {group: group(**mine) for group, mine in values.items()}


def as_arguments(table: str, choices: Any, command: str, *, more: Sequence[str] = ()) -> list[str]:
    """A whole command; a table whose name begins with a dash is no option."""
    file = f"./{table}" if table.startswith("-") else table
    of_command = OF_LOOK if command == "look" else OF_REPORT
    return [command, file, *arguments_of(choices, of_command), *more]
