"""The cells of a sweep: one run each, and what it comes to wherever it is done."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from imbrex import _native
from imbrex._layer import Layer
from imbrex._runs import AnyLayer, _name, replay
from imbrex.sweeps.parquet import encoded

MEASURED = ("replay_seconds", "blocks_per_second")
"""What a row says of the machine that made it. A sweep leaves it out: its results are the same on any."""

_OWN = ("workload", "layer", "config", "drive", "contents", "watch", "progress")
OPTIONS = tuple(name for name in inspect.signature(replay).parameters if name not in _OWN)
"""The options of `imbrex.replay` that a cell may have."""


@dataclass(frozen=True)
class Cell:
    """One run: a workload on a layer with values of its fields, on a drive, under options of `imbrex.replay`."""

    workload: str
    layer: AnyLayer
    config: Mapping[str, Any] = field(default_factory=dict)
    drive: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def layer_name(self) -> str:
        """The name of the layer, be it a class or not."""
        return _name(self.layer)

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What is asked for, as it is written."""
        return {
            "workload": self.workload,
            "layer": self.layer_name,
            "config": dict(self.config),
            "drive": self.drive,
            "options": dict(self.options),
        }

    @cached_property
    def key(self) -> str:
        """What tells this cell from all others, in 16 digits: the same wherever it is worked out.

        >>> Cell("zipf", "fifo-log").key == Cell("zipf", "fifo-log", {}, None, {}).key
        True
        >>> Cell("zipf", "fifo-log").key == Cell("zipf", "fifo-log", {"spare_zones": 2}).key
        False
        """
        asked = json.dumps([_native.__version__, self.asked], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(asked.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Came:
    """What a cell came to, as files of Parquet: a row, with `error` if it failed, and its series if one was asked for.

    They are made where the cell is run, so that whoever gathers them has little to do.
    """

    row: bytes
    series: bytes | None = None


def run(cell: Cell) -> Came:
    """Does the run of a cell. Whatever goes wrong is in the row."""
    try:
        result = replay(
            cell.workload, cell.layer, config=cell.config, drive=cell.drive, progress=False, **cell.options
        )
    except Exception as error:
        return failed(cell, error)
    row = result.to_dict()
    for measured in MEASURED:
        row.pop(measured, None)
    windows = [] if result.series is None else result.series.to_pylist()
    series = encoded([{"run": cell.key} | window for window in windows]) if windows else None
    return Came(_row(cell, row, None), series)


def failed(cell: Cell, error: BaseException) -> Came:
    """What a cell came to that could not be done."""
    # The program's messages need no name of a class before them.
    said = str(error) if isinstance(error, _native.Error) else f"{type(error).__name__}: {error}"
    return Came(_row(cell, {"trace": cell.workload, "layer": cell.layer_name, "config": dict(cell.config)}, said))


def _row(cell: Cell, row: dict[str, Any], error: str | None) -> bytes:
    """Beside the result, what was asked for: a drive that was made to fit has another size then, and no name is one."""
    asked = {
        "workload": cell.workload,
        "drive": cell.drive,
        "fields": json.dumps(dict(cell.config), sort_keys=True),
        "options": json.dumps(dict(cell.options), sort_keys=True),
    }
    return encoded([{"run": cell.key, "asked": asked, "error": error} | row])


def is_layer(layer: object) -> bool:
    """Whether that names a layer or is the class of one."""
    return isinstance(layer, str) or (isinstance(layer, type) and issubclass(layer, Layer))
