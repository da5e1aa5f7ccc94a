"""Rows of a query: SQL by DuckDB, over a file of DuckDB or over the one table that another file holds.

A query reads the file that was named, and nothing else: no other file, no address, no extension, no variable
of Python, and it changes nothing. DuckDB itself keeps to that, since its settings are locked before the
query is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingExtraError
from ..wording import one_line, shown
from .arrow import pa
from .memory import refuse_too_large

# What the table of a file that is no database is called in a query.
OWN_TABLE = "cohort"
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
_WORDS_OF_AN_ERROR = 200


def query_of(path: str | PathLike[str], query: str, table: Any = None) -> Any:
    """The rows of a query as a pyarrow.Table.

    Parameters
    ----------
    path : of a file of DuckDB, or of the file that ``table`` was read from.
    table : what the query knows as :data:`OWN_TABLE`; None: the tables of the database.
    """
    with _opened(path, table is None) as connection:
        if table is not None:
            connection.register(OWN_TABLE, table)
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise InputError("--sql is one query that reads, such as SELECT … FROM …, and nothing else.")
        relation = connection.sql(query.strip().rstrip(";"))
        # Of text a cell takes more, and tables of it are small.
        n_rows = int(relation.aggregate("count(*)").fetchall()[0][0])
        refuse_too_large(path, 8 * n_rows * len(relation.columns), f"a query of {n_rows:,} rows")
        return _with_numbers(relation.to_arrow_table())


def first_table(path: str | PathLike[str]) -> str:
    """The name of a table of a database, to say in an example."""
    with _opened(path, True) as connection:
        found = connection.sql("SHOW TABLES").fetchall()
    if not found:
        raise InputError(f"{shown(path)} has no tables.")
    return str(found[0][0])


def quoted_name(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


@contextmanager
def _opened(path: str | PathLike[str], is_database: bool) -> Iterator[Any]:
    """A connection that can read one file, and no more; what DuckDB refuses is said in our words."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("--sql needs DuckDB: pip install 'rootcausal[sql]'") from error
    if is_database and not Path(path).is_file():
        raise InputError(f"cannot read {shown(path)}: there is no such file.")
    try:
        where = str(Path(path)) if is_database else ":memory:"
        with duckdb.connect(where, read_only=is_database, config=_LOCKED) as connection:
            yield connection
    except duckdb.Error as error:
        said = one_line(" ".join(str(error).split()), _WORDS_OF_AN_ERROR)
        raise InputError(f"DuckDB cannot read {shown(path)} with this query: {said}") from None


def _with_numbers(table: Any) -> Any:
    """The table with sums of whole numbers, which DuckDB keeps as decimals, as numbers."""
    fields = [
        pa.field(field.name, pa.float64() if pa.types.is_decimal(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields), safe=False)
