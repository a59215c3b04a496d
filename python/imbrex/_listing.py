"""What there is to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from imbrex import _native
from imbrex._layer import Counter


@dataclass(frozen=True)
class Drive:
    """A drive preset."""

    name: str
    recording: str
    """`conventional`, `zoned`, `banded`, `interlaced`, `hybrid` or `flash`."""
    bytes: int
    block_bytes: int
    zones: int
    conventional_zones: int
    description: str


@dataclass(frozen=True)
class FieldInfo:
    """A configuration field of a layer."""

    key: str
    type: str
    """`integer`, `float`, `boolean`, `string`, `array` or `table`."""
    default: Any
    paper: Any
    """What `preset="paper"` sets it to; `None` if it leaves the default."""
    meaning: str


@dataclass(frozen=True)
class LayerInfo:
    """A layer and its configuration fields."""

    name: str
    family: str | None
    """The family of disks that it is for; `None` for the baseline of them all."""
    source: str
    summary: str
    buffered: bool
    """Whether it has a persistent buffer, whose size then matters."""
    fields: tuple[FieldInfo, ...]
    counters: tuple[Counter, ...]
    """What it counts of its own."""


@dataclass(frozen=True)
class WorkloadInfo:
    """A workload that needs no file."""

    name: str
    description: str


def drives() -> list[Drive]:
    """The drive presets.

    >>> {drive.name: drive.recording for drive in drives()}["small-zoned"]
    'zoned'
    """
    return [Drive(**drive) for drive in _native.drives_known()]


def layers() -> list[LayerInfo]:
    """The layers that Imbrex comes with.

    >>> fifo_log = next(layer for layer in layers() if layer.name == "fifo-log")
    >>> {field.key: field.default for field in fifo_log.fields}["spare_zones"]
    1
    """
    def typed(layer: dict[str, Any]) -> dict[str, Any]:
        fields = tuple(FieldInfo(**field) for field in layer["fields"])
        return layer | {"fields": fields, "counters": tuple(Counter(*counter) for counter in layer["counters"])}

    return [LayerInfo(**typed(layer)) for layer in _native.layers_known()]


def profiles() -> list[WorkloadInfo]:
    """Workloads that are generated from the published statistics of real volumes.

    >>> "hm_0" in [profile.name for profile in profiles()]
    True
    """
    return [WorkloadInfo(*profile) for profile in _native.workloads_known()[1]]


def workloads() -> list[WorkloadInfo]:
    """The other synthetic workloads.

    >>> "zipf" in [workload.name for workload in workloads()]
    True
    """
    return [WorkloadInfo(*workload) for workload in _native.workloads_known()[0]]
