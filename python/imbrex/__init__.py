"""Translation layers for overlapped-track hard disks: replayed on traces, compared, and explored for power cuts.

>>> import imbrex
>>> result = imbrex.replay("zipf", "fifo-log", buffer="2%", requests=3000)
>>> result.layer, result.requests, result.synthetic
('fifo-log', 3000, True)

Results have the numbers of the program `imbrex`, named as in its JSON. What goes wrong is an `Error` with the program's
message. Calls that take long leave other threads alone, show how far they have come and stop on Ctrl-C.
"""

from typing import TYPE_CHECKING, Any

from imbrex import trace
from imbrex._checks import Exploration, Finding, explore, validate
from imbrex._layer import Counter, Facts, Field, Layer, Place, Record
from imbrex._listing import Drive, FieldInfo, LayerInfo, WorkloadInfo, drives, layers, profiles, workloads
from imbrex._native import (
    LOST,
    ZERO,
    ConfigError,
    Corrupt,
    Error,
    Host,
    LayerError,
    Lost,
    Map,
    Note,
    Plan,
    Pressure,
    Ram,
    Requests,
    Space,
    Step,
    Table,
    TraceError,
    UnitRole,
    Unmap,
    Zones,
    __version__,
)
from imbrex._results import Comparison, Result, report
from imbrex._runs import AnyLayer, AnyWorkload, compare, replay

if TYPE_CHECKING:
    from imbrex.sweeps import Between, Cell, Fleet, Grid, Kind, Sweep, Trial, Tuning, fleet, sweep, tune

__all__ = [
    "LOST",
    "ZERO",
    "AnyLayer",
    "AnyWorkload",
    "Between",
    "Cell",
    "Comparison",
    "ConfigError",
    "Corrupt",
    "Counter",
    "Drive",
    "Error",
    "Exploration",
    "Facts",
    "Field",
    "FieldInfo",
    "Finding",
    "Fleet",
    "Grid",
    "Host",
    "Kind",
    "Layer",
    "LayerError",
    "LayerInfo",
    "Lost",
    "Map",
    "Note",
    "Place",
    "Plan",
    "Pressure",
    "Ram",
    "Record",
    "Requests",
    "Result",
    "Space",
    "Step",
    "Sweep",
    "Table",
    "TraceError",
    "Trial",
    "Tuning",
    "UnitRole",
    "Unmap",
    "WorkloadInfo",
    "Zones",
    "__version__",
    "compare",
    "drives",
    "explore",
    "fleet",
    "layers",
    "profiles",
    "replay",
    "report",
    "sweep",
    "trace",
    "tune",
    "validate",
    "workloads",
]

_OF_SWEEPS = ("Between", "Cell", "Fleet", "Grid", "Kind", "Sweep", "Trial", "Tuning", "fleet", "sweep", "tune")


def __getattr__(name: str) -> Any:
    # What most programs do without takes as long to load as all the rest.
    if name in _OF_SWEEPS:
        from imbrex import sweeps

        return getattr(sweeps, name)
    raise AttributeError(f"module 'imbrex' has no attribute {name!r}")
