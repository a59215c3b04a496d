"""Layers in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from imbrex._native import Constant, Host, Lost, Map, Note, Plan, Pressure, Ram, Space, Step, UnitRole, Unmap

Place: TypeAlias = int | Host | Ram | Constant
"""Where a copy begins or ends: a block of the disk, of the request, of RAM, `ZERO` or `LOST`."""

Record: TypeAlias = Map | Unmap | Lost | UnitRole | Note
"""A change of what a layer has to know after a power cut."""

Waiting: TypeAlias = Sequence[tuple[Literal["read", "write", "trim"], int, int]]


@dataclass(frozen=True)
class Field:
    """A configuration field of a layer: its default says its type, and `samples` are what the explorer tries."""

    key: str
    default: Any
    meaning: str
    samples: Sequence[Any] = ()


@dataclass(frozen=True)
class Counter:
    """A counter of a layer's own: `plan.count(key)` counts, and results have it as `counters[key]`."""

    key: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Facts:
    """What a layer states once, when it is made, and does not change for as long as it lives."""

    ram_blocks: int = 0
    """Blocks of RAM that plans may name."""
    unwritten: Literal["zeros", "old-content"] = "zeros"
    """What a block reads as that was never written: a layer without a map may give what lay there before."""
    looks_at_waiting: bool = False
    """Whether `clean` looks at the requests that wait."""
    records: int = 0
    """The most records that a checkpoint takes: those of all parts that `checkpoint` says."""
    redo_blocks: int = 0
    """The most blocks that the redo copies of one plan write."""
    loses_flushed: str | None = None
    """Why a power cut may lose what was flushed, if it may: then it is replayed and not explored."""


class Layer:
    """A translation layer: pure state that decides where blocks live. Make a class from it, and give that to `replay`,
    `compare` or `explore`.

    A layer does no I/O and reads no clock. It answers requests by appending to a plan, an ordered list of operations;
    the runner performs it, on media that refuse what the drive forbids, and checks each read. Whatever has to be known
    after a power cut is a `Record` in a plan, and changes the layer through `apply` only: `change` does both.

    What is here is enough for a layer without a map and without cleaning; `capacity`, `locate` and `write` are its own.
    `docs/python.md` has a whole one, and `docs/architecture.md` says what the runner promises.
    """

    name: ClassVar[str | None] = None
    """What results call it; without one, the name of the class."""
    recording: ClassVar[Literal["conventional", "zoned", "whole-zones", "flash"]] = "zoned"
    """The disks that it is for."""
    buffered: ClassVar[bool] = False
    """Whether `buffer=` means anything to it; its size is then `space.buffer_blocks`."""
    fields: ClassVar[Sequence[Field]] = ()
    """What can be configured."""
    counters: ClassVar[Sequence[Counter]] = ()
    """What it counts of its own, beside `write_hits`, `rmw` and whatever else several layers have; at most 16."""

    def __init__(self, space: Space, config: dict[str, Any]) -> None:
        """Makes it on an empty space. `config` has a value for each field. A `ConfigError` says what is wrong."""
        self.space, self.config = space, config

    def facts(self) -> Facts:
        """What never changes. It is asked once."""
        return Facts()

    def capacity(self) -> int:
        """Blocks that the host sees. It is asked once."""
        raise NotImplementedError

    def locate(self, lba: int, blocks: int, plan: Plan) -> None:
        """Says where blocks lie: a copy to `Host(i)` for each. What was never written is copied from `ZERO`. Changes
        nothing, not even what the layer keeps of reads.
        """
        raise NotImplementedError

    def read(self, lba: int, blocks: int, plan: Plan) -> None:
        """Plans a read: as `locate` does, and beside that a layer may keep what it wants to know of reads."""
        self.locate(lba, blocks, plan)

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        """Plans a write of the blocks that fit, from the front, and says how many. With 0 `clean` is called until some
        do.
        """
        raise NotImplementedError

    def trim(self, lba: int, blocks: int, plan: Plan) -> int:
        """Forgets blocks from the front, and says how many it has dealt with, at least one. A forgotten block reads as
        zeros or as its newest content; so there need not be anything to do.
        """
        return blocks

    def flush(self, plan: Plan) -> Step:
        """Moves what lies in RAM to the media, in steps, until `Step.DONE`."""
        return Step.DONE

    def clean(self, why: Pressure, waiting: Waiting, plan: Plan) -> Step:
        """Plans one bounded step of cleaning. `waiting` are the requests that wait, if the layer's facts say so."""
        return Step.NOTHING

    def freed(self, block: int, blocks: int) -> None:
        """A reset or free of these blocks has taken effect: they may be used again."""

    def apply(self, record: Record) -> None:
        """Changes the durable state: the only place that does. Raises `Corrupt` where that contradicts what is known."""
        from imbrex._native import Corrupt

        raise Corrupt(f"the layer has no records, yet there is {record!r}")

    def recovered(self, units: Sequence[tuple[str, int]], plan: Plan) -> None:
        """Begins an epoch, after the records of the one before, if any, with what the drive says of each unit: its
        condition, `conventional`, `sequential`, `read-only` or `offline`, and its write pointer in blocks. The plan may
        reset what a power cut left behind.
        """

    def checkpoint(self, cursor: int, plan: Plan) -> int | None:
        """Says the records of a part of the state again, at most 512, and where the next part begins; 0 is the first,
        and `None` the end.
        """
        return None

    def idle_after_ns(self) -> int:
        """How long the disk has to be idle before that is of use."""
        return 0

    def announce(self, lba: int, blocks: int, nbytes: int) -> None:
        """Tells that a request to write these blocks has this many bytes; it comes before the first `write` of it."""

    def occupancy(self) -> tuple[int, int] | None:
        """How many blocks of a buffer are taken, and how many there are."""
        return None

    def check(self) -> None:
        """Asserts the invariants. It may be slow."""

    def change(self, plan: Plan, record: Record, redo: bool = False) -> None:
        """Applies a record and notes it in the plan."""
        self.apply(record)
        plan.record(record, redo)
