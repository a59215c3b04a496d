"""Sweeps: every cell of a grid, on workers of Dask, into a Parquet dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imbrex._progress import Progress, shown
from imbrex.sweeps.cells import Cell
from imbrex.sweeps.cluster import Cluster, connected, each
from imbrex.sweeps.dataset import Dataset, had_nothing_to_clean, needs
from imbrex.sweeps.grid import Grid

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Sweep:
    """A sweep that is done: its cells, and where their results are."""

    cells: tuple[Cell, ...]
    dataset: Dataset

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        return f"Sweep({len(self)} runs in {self.dataset.folder})"

    @property
    def _keys(self) -> list[str]:
        return [cell.key for cell in self.cells]

    def to_arrow(self) -> pyarrow.Table:
        """The rows in the order of the grid, whatever the order in which they were done: the columns of the program's
        CSV, behind them `run`, what was `asked` for, and `error` where a run failed."""
        return self.dataset.rows(self._keys)

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The same as a data frame of Polars."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def series(self) -> pyarrow.Table:
        """What happened over time in the runs, if the option `window` asked for it; `run` says in which."""
        return self.dataset.series(self._keys)

    def uncleaned(self) -> list[Cell]:
        """The runs whose layers had nothing to clean. Where these are all, buffers are larger than what was written."""
        rows = self.to_arrow().to_pylist()
        return [cell for cell, row in zip(self.cells, rows, strict=True) if had_nothing_to_clean(row)]

    def errors(self) -> dict[Cell, str]:
        """What went wrong with the runs that failed."""
        found = self.dataset.errors(self._keys)
        return {cell: found[cell.key] for cell in self.cells if cell.key in found}


def sweep(
    grid: Grid | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    cluster: Cluster = None,
    retry: bool = False,
    progress: Progress = None,
) -> Sweep:
    """Runs every cell of a grid, and adds what each comes to to the dataset in the folder `into` when it is done.

    `grid` is a `Grid`, its parts by name, or the path of a TOML file that has them. Traces are read where the worker
    is. `cluster` says where that is: nothing for as many processes of this machine as it has cores, a number for so
    many, a `Client` or cluster of `dask.distributed`, or the address of a scheduler. What comes of a sweep does not
    depend on it.

    What is in the dataset is not done again, so a sweep that was interrupted goes on where it was, and a larger grid
    adds what is new. A run that fails is a row with its `error`; `retry` does those again. A worker that is lost costs
    the cells that it was about.

    Needs Dask and PyArrow: `pip install '.[sweep]'` in a clone of Imbrex.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise needs("sweep", error) from error
    whole = Grid.of(grid)
    whole.check()
    return run_all(whole.cells(), Dataset(into), cluster=cluster, retry=retry, progress=progress)


def run_all(
    cells: Sequence[Cell], dataset: Dataset, *, cluster: Cluster, retry: bool = False, progress: Progress = None
) -> Sweep:
    """Runs those of the cells that are not in the dataset, and adds them."""
    there = [cell.key for cell in cells if dataset.has(cell.key)]
    if retry:
        failures = dataset.errors(there)
        for key in failures:
            dataset.drop(key)
        there = [key for key in there if key not in failures]
    is_done = set(there)
    missing = list({cell.key: cell for cell in cells if cell.key not in is_done}.values())
    if missing:
        with shown(progress) as call, connected(cluster) as client, closing(each(client, missing)) as each_came:
            for number, (cell, came) in enumerate(each_came, 1):
                dataset.write(cell.key, came)
                if call is not None:
                    call("sweeping", len(there) + number, len(cells))
    return Sweep(tuple(cells), dataset)
