"""Results on disk: a Parquet dataset with a folder for each run."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from imbrex import _native
from imbrex.sweeps.cells import Came
from imbrex.sweeps.parquet import together

if TYPE_CHECKING:
    import pyarrow


class Dataset:
    """A folder with `rows/run=KEY/row.parquet` for each run, and `series/run=KEY/series.parquet` where it has a series.

    A run is there when its row is: the series is written before, and both appear when they are complete.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)

    def _row(self, key: str) -> pathlib.Path:
        return self.folder / "rows" / f"run={key}" / "row.parquet"

    def _series(self, key: str) -> pathlib.Path:
        return self.folder / "series" / f"run={key}" / "series.parquet"

    def has(self, key: str) -> bool:
        """Whether that run is done, be it with an error."""
        return self._row(key).exists()

    def write(self, key: str, came: Came) -> None:
        """Adds a run."""
        if came.series is not None:
            _write(self._series(key), came.series)
        _write(self._row(key), came.row)

    def drop(self, key: str) -> None:
        """Takes a run out."""
        for path in (self._row(key), self._series(key)):
            path.unlink(missing_ok=True)

    def rows(self, keys: Iterable[str]) -> pyarrow.Table:
        """The rows of these runs, in this order. There is a column for errors whether there are any or not."""
        import pyarrow

        rows = together([self._row(key) for key in keys])
        none = pyarrow.nulls(len(rows), pyarrow.string())
        return rows if "error" in rows.column_names else rows.append_column("error", none)

    def series(self, keys: Iterable[str]) -> pyarrow.Table:
        """The series of those of these runs that have one, in this order."""
        return together([path for path in map(self._series, keys) if path.exists()])

    def errors(self, keys: Iterable[str]) -> dict[str, str]:
        """What went wrong with those of these runs that failed."""
        import pyarrow.parquet

        found = {}
        for key in keys:
            row = pyarrow.parquet.read_schema(self._row(key))
            if "error" in row.names:
                found[key] = pyarrow.parquet.read_table(self._row(key), columns=["error"])["error"][0].as_py()
        return found


_CLEANING = ["rmw", "rmw_free", *(f"media_write_blocks.{why}" for why in ("destage", "swap", "migrate", "neighbour"))]
"""Columns of a row that are 0 as long as nothing is cleaned."""


def had_nothing_to_clean(row: Mapping[str, Any]) -> bool:
    """Whether a layer that cleans had nothing to do in a run that wrote something: settings of cleaning say nothing then."""
    wrote = row.get("error") is None and bool(row.get("host_write_blocks"))
    return wrote and row.get("layer") != "conventional" and not any(row.get(column) for column in _CLEANING)


def _write(path: pathlib.Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def needs(extra: str, error: ImportError) -> _native.Error:
    """What is missing, in a line."""
    return _native.Error(f"{error.name} is not installed: pip install '.[{extra}]' in a clone of Imbrex")
