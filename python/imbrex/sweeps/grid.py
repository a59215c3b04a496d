"""The grid of a sweep: every combination of what is listed."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from imbrex import _native
from imbrex._runs import AnyLayer, _specified
from imbrex.sweeps.cells import OPTIONS, Cell, is_layer


@dataclass(frozen=True)
class Grid:
    """Every workload on every layer in every configuration, on every drive, under every combination of options.

    >>> grid = Grid(
    ...     workloads=["zipf", "uniform"],
    ...     layers=["in-place", "fifo-log"],
    ...     fields={"fifo-log": {"spare_zones": [1, 2]}},
    ...     options={"requests": 2000, "buffer": ["1%", "2%"]},
    ... )
    >>> len(grid.cells())
    12

    `layers` are names and classes made from `Layer`. `fields` has, by the name of a layer, values of its fields, and
    `options` those of `imbrex.replay`: what is a list there is gone through, and anything else holds for all cells. A
    drive of `None` is the one that the program takes.
    """

    workloads: Sequence[str | os.PathLike[str]]
    layers: Sequence[AnyLayer]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drives: Sequence[str | os.PathLike[str] | None] = (None,)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("workloads", "layers", "drives"):
            listed = getattr(self, name)
            if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence) or not listed:
                raise _native.ConfigError(f"{name}: a grid has a list with at least one of them, not {listed!r}")
        for layer in self.layers:
            if not is_layer(layer):
                raise _native.ConfigError(f"layers: {layer!r} is neither a name nor a class made from imbrex.Layer")
        self._check_axes()

    def _check_axes(self) -> None:
        names = [Cell("", layer).layer_name for layer in self.layers]
        if others := [name for name in self.fields if name not in names]:
            taking_part = ", ".join(names)
            raise _native.ConfigError(f"fields: {', '.join(others)} takes no part; those that do are {taking_part}")
        if others := [name for name in self.options if name not in OPTIONS]:
            raise _native.ConfigError(f"options: there is no {', '.join(others)}; there are {', '.join(OPTIONS)}")
        axes = [(f"{layer}.{key}", value) for layer in self.fields for key, value in self.fields[layer].items()]
        for name, value in [*axes, *self.options.items()]:
            if value == []:
                raise _native.ConfigError(f"{name}: an empty list leaves no cell")

    @classmethod
    def of(cls, grid: Grid | Mapping[str, Any] | str | os.PathLike[str]) -> Grid:
        """A grid, or what one is made of: its parts by name, or the path of a TOML file that has these."""
        if isinstance(grid, Grid):
            return grid
        if not isinstance(grid, Mapping):
            return cls.read(grid)
        known = [one.name for one in fields(cls)]
        if others := [name for name in grid if name not in known]:
            raise _native.ConfigError(f"a grid has no {', '.join(others)}; it has {', '.join(known)}")
        if missing := [name for name in ("workloads", "layers") if name not in grid]:
            raise _native.ConfigError(f"a grid has {', '.join(missing)} too")
        return cls(**grid)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Grid:
        """The grid in a TOML file."""
        try:
            with open(path, "rb") as file:
                return cls.of(tomllib.load(file))
        except OSError as error:
            raise _native.ConfigError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, _native.ConfigError) as error:
            raise _native.ConfigError(f"{os.fspath(path)}: {error}") from error

    def cells(self) -> list[Cell]:
        """Its cells, workloads in the outermost loop. Two that ask for the same are one."""
        all_cells = [
            Cell(os.fspath(workload), layer, config, None if drive is None else os.fspath(drive), options)
            for workload in self.workloads
            for layer in self.layers
            for config in _product(self.fields.get(Cell("", layer).layer_name, {}))
            for drive in self.drives
            for options in _product(self.options)
        ]
        return list({cell.key: cell for cell in all_cells}.values())

    def check(self) -> None:
        """Refuses options with wrong values, before anything is done. What only a cell can say is in its row."""
        for options in _product(self.options):
            chosen = {name: value for name, value in options.items() if value is not None and value is not False}
            specification = _specified({name: value for name, value in chosen.items() if name not in _APART})
            # The layer that takes what others take, and on which no size of a buffer is too large.
            _native.run(specification, [], [("conventional", {})])


_OF_DRIVES = ("capacity", "zone_size", "conventional_zones")
_OF_WORKLOADS = ("seed", "trace_format", "volume", "event", "window", "extend")
_APART = ("idle", *_OF_DRIVES, *_OF_WORKLOADS)
"""Options of which only a drive or a workload can say whether they are right, and one that is called otherwise in a specification."""


def _product(axes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of values, the last axis varying fastest."""
    values = [value if isinstance(value, list) else [value] for value in axes.values()]
    return (dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*values))
