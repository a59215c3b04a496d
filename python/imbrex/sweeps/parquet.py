"""Rows as files of Parquet, and such files as one table."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from imbrex._native import Table

if TYPE_CHECKING:
    import pyarrow


def encoded(rows: Sequence[dict[str, Any]]) -> bytes:
    """A file with these rows, in columns named by their levels."""
    import pyarrow.parquet

    table = pyarrow.table(Table.from_rows(rows))
    # A column without a value has no type of its own that the same column of other runs would share.
    table = table.select([name for name in table.column_names if table[name].null_count < len(table)])
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def together(paths: Sequence[pathlib.Path]) -> pyarrow.Table:
    """The tables in files as one: a column that some do not have is null there, and one that is of several types is of
    the one that takes them all."""
    import pyarrow
    import pyarrow.parquet

    tables = [pyarrow.parquet.ParquetFile(path).read() for path in paths]
    types: dict[str, set[pyarrow.DataType]] = {}
    for table in tables:
        for column in table.schema:
            types.setdefault(column.name, set()).add(column.type)
    schema = pyarrow.schema([(name, _wide(found)) for name, found in types.items()])
    return pyarrow.concat_tables([_cast(table, schema) for table in tables]) if tables else schema.empty_table()


def _wide(types: set[pyarrow.DataType]) -> pyarrow.DataType:
    from pyarrow import float64, int64, string
    from pyarrow.types import is_floating, is_integer

    if len(types) == 1:
        return next(iter(types))
    if all(map(is_integer, types)):
        return int64()
    return float64() if all(is_integer(one) or is_floating(one) for one in types) else string()


def _cast(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    import pyarrow

    def column(field: pyarrow.Field) -> Any:
        if field.name not in table.column_names:
            return pyarrow.nulls(len(table), field.type)
        return table[field.name].cast(field.type)

    return pyarrow.table([column(field) for field in schema], schema=schema)
