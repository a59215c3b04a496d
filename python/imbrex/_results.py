"""What runs come to."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from imbrex import _native
from imbrex._native import Table

if TYPE_CHECKING:
    import altair


class Result:
    """One run: the numbers of the program, by the names that they have in its JSON, which `docs/json.md` explains.

    Numbers of several levels are dictionaries: `result.latency_ms["read"]["p99"]`. What only some runs have is `None`
    for the others.
    """

    schema: str
    trace: str
    """The workload: its file as it was named, or its name."""
    trace_format: str
    synthetic: bool
    """Whether no disk ever saw these requests."""
    seed: int | None
    volume: str | None
    dense: bool
    sample: int | None
    range_bytes: int
    repeat: int | None
    irregularities: dict[str, int]
    layer: str
    config: dict[str, Any]
    drive: str
    drive_blocks: int
    zone_blocks: int | None
    conventional_zones: int | None
    block_bytes: int
    capacity_blocks: int
    buffer: str | None
    buffer_blocks: int
    options: dict[str, Any]
    steady: dict[str, Any] | None
    requests: int
    read_requests: int
    write_requests: int
    trim_requests: int
    host_read_blocks: int
    host_write_blocks: int
    host_read_bytes: int
    host_write_bytes: int
    media_read_blocks: dict[str, int]
    media_write_blocks: dict[str, int]
    write_amplification: float
    latency_ms: dict[str, Any]
    requests_over_limit: int
    write_hit_blocks: int
    write_hit_ratio: float
    write_hit_ratio_requests: float
    read_hit_blocks: int
    rmw: int
    rmw_free: int
    evicted_blocks: int
    direct_blocks: int
    admitted_blocks: int
    padding_blocks: int
    padding_again_blocks: int
    resets: int
    blocked_cleaning: dict[str, int]
    idle_cleaning: dict[str, int]
    simulated_seconds: float
    arrival_seconds: float | None
    disk_busy_ratio: float
    rest_seconds: float | None
    seek_cylinders: int
    replay_seconds: float
    blocks_per_second: float
    counters: dict[str, int] | None
    map: dict[str, int] | None
    growth: dict[str, Any] | None
    bands: dict[str, int] | None
    tracks: dict[str, Any] | None
    zones: dict[str, int] | None
    devices: list[dict[str, Any]] | None

    series: Table | None
    """What happened over time, if `window` or `watch` asked for it, as `imbrex replay --series` writes it."""
    contents: Table | None
    """What lay where, if `contents` or `watch` asked for it, as `imbrex replay --bands` writes it."""

    def __init__(
        self,
        row: dict[str, Any],
        series: Table | None = None,
        contents: Table | None = None,
        drawn: _native.Drawn | None = None,
        made_by: str = "",
    ) -> None:
        """A run as the program writes it in JSON, with what was seen of it."""
        self._fields, self._drawn, self._made_by = row, drawn, made_by
        self.series, self.contents = series, contents

    @classmethod
    def _came(cls, came: tuple[dict[str, Any], Table | None, Table | None, _native.Drawn], made_by: str) -> Result:
        return cls(*came, made_by)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        # What others have.
        if name in type(self).__annotations__:
            return None
        raise AttributeError(f"a result has no {name}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._fields})

    def __repr__(self) -> str:
        mean, amplification = self.latency_ms["mean"], self.write_amplification
        return f"Result({self.trace} on {self.layer}: mean {mean:.3f} ms, write amplification {amplification:.3f})"

    def to_dict(self) -> dict[str, Any]:
        """The row as the program writes it in JSON."""
        return copy.deepcopy(self._fields)

    def plot(self) -> altair.Chart | altair.VConcatChart:
        """A picture for notebooks: the distribution of latencies, and what happened over time if that was seen.

        Needs Altair: `pip install '.[notebook]'` in a clone of Imbrex.
        """
        from imbrex import _plot

        return _plot.of_run(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Writes the page that `imbrex report` makes; with `watch=True` it has everything that `--html` shows."""
        report([self], path, title=title or f"{self.trace} on {self.layer}")


class Comparison(Sequence[Result]):
    """Several runs: a sequence of results, by number or by the name of their layer."""

    def __init__(self, results: Iterable[Result], made_by: str = "") -> None:
        self._results, self._made_by = tuple(results), made_by

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @overload
    def __getitem__(self, key: int | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Comparison: ...
    def __getitem__(self, key: int | str | slice) -> Result | Comparison:
        if isinstance(key, slice):
            return Comparison(self._results[key], self._made_by)
        if isinstance(key, int):
            return self._results[key]
        found = [result for result in self._results if result.layer == key]
        if len(found) != 1:
            raise KeyError(f"{len(found)} results are of layer {key}; go through them instead")
        return found[0]

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self._results))})"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as the program writes them in JSON."""
        return [result.to_dict() for result in self._results]

    def to_arrow(self) -> Table:
        """The rows as a table that speaks Arrow, in columns named as in the program's CSV."""
        return Table.from_rows([result._fields for result in self._results])

    def plot(self) -> altair.HConcatChart:
        """A picture for notebooks: mean latency and write amplification of each layer.

        Needs Altair: `pip install '.[notebook]'` in a clone of Imbrex.
        """
        from imbrex import _plot

        return _plot.of_comparison(self)

    def report(self, path: str | os.PathLike[str], *, title: str = "Layers compared") -> None:
        """Writes the page that `imbrex compare --html` makes; with `watch=True` it has everything that one shows."""
        report(self, path, title=title)


def report(
    results: Result | Iterable[Result], path: str | os.PathLike[str], *, title: str = "Imbrex results"
) -> None:
    """Writes a page that shows results in charts and tables and loads nothing from anywhere.

    >>> import tempfile, pathlib
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> from imbrex import replay
    >>> report(replay("zipf", "fifo-log", requests=2000, watch=True), page)
    >>> page.read_text()[:15]
    '<!DOCTYPE html>'
    """
    several = [results] if isinstance(results, Result) else list(results)
    calls = list(dict.fromkeys(result._made_by for result in several if result._made_by))
    page = _native.page(title, "; ".join(calls), [(result._fields, result._drawn) for result in several])
    whole = os.fspath(path) + ".part"
    with open(whole, "w", encoding="utf-8") as file:
        file.write(page)
    os.replace(whole, path)
