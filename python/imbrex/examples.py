"""A layer in Python, whole: small enough to read, and safe against power cuts.

>>> import imbrex
>>> from imbrex.examples import ZoneCopy
>>> result = imbrex.replay("uniform", ZoneCopy, drive="small-zoned", beyond="wrap", requests=300, verify=True)
>>> result.layer, result.rmw > 0
('zone-copy', True)
>>> imbrex.explore(ZoneCopy, cuts=5).is_safe
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from imbrex import (
    LOST,
    ZERO,
    ConfigError,
    Corrupt,
    Facts,
    Field,
    Host,
    Layer,
    Lost,
    Plan,
    Pressure,
    Record,
    Space,
    Step,
    UnitRole,
    Unmap,
)

__all__ = ["ZoneCopy"]


class ZoneCopy(Layer):
    """A write that is not at a zone's write pointer copies the zone, with it, into a spare one.

    Logical zone *n* lies in order in the sequential zone `place[n]`. That and `lost` are durable; the rest mirrors the
    drive, or is the copy under way, which begins anew with each life.
    """

    name = "zone-copy"
    fields = (Field("step_blocks", 4096, "blocks that a step of cleaning copies", samples=(4096, 3, 1)),)

    def __init__(self, space: Space, config: dict[str, Any]) -> None:
        super().__init__(space, config)
        if space.zones is None or space.zones.count < 2:
            raise ConfigError("it needs two sequential zones; choose a zoned drive")
        if config["step_blocks"] < 1:
            raise ConfigError("step_blocks must be at least 1")
        self.zones, self.size, self.step = space.zones, space.zones.zone_blocks, config["step_blocks"]
        self.place = list(range(self.zones.count - 1))
        self.lost: set[int] = set()
        self.filled = [0] * self.zones.count
        self.writable = [True] * self.zones.count
        self.spare: int | None = None
        self.given_up: set[int] = set()
        self.copied: tuple[int, int] | None = None

    def capacity(self) -> int:
        return len(self.place) * self.size

    def locate(self, lba: int, blocks: int, plan: Plan) -> None:
        for at, run, is_lost in self.runs(lba, blocks):
            zone, offset = self.place[at // self.size], at % self.size
            there = max(0, min(run, self.filled[zone] - offset))
            if is_lost:
                plan.copy(LOST, Host(at - lba), run)
                continue
            if there > 0:
                plan.copy(self.zones.block(zone, offset), Host(at - lba), there)
            if there < run:
                plan.copy(ZERO, Host(at - lba + there), run - there)

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        native, offset = divmod(lba, self.size)
        zone, run = self.place[native], min(blocks, self.size - offset)
        if self.spare is not None and self.copied == (native, offset):
            plan.copy(Host(), self.zones.block(self.spare, offset), run)
            self.carry(native, self.spare, offset + run, self.filled[zone], plan)
            self.filled[self.spare] = max(offset + run, self.filled[zone])
            self.change(plan, UnitRole(self.zones.unit(self.spare), native))
            self.spare = self.copied = None
            self.give_up(zone, plan)
            plan.count("rmw")
        elif self.writable[zone] and offset >= self.filled[zone]:
            if offset > self.filled[zone]:
                plan.copy(ZERO, self.zones.block(zone, self.filled[zone]), offset - self.filled[zone], "pad")
            plan.copy(Host(), self.zones.block(zone, offset), run)
            self.filled[zone] = offset + run
        else:
            return 0
        if not self.lost.isdisjoint(range(lba, lba + run)):
            self.change(plan, Unmap(lba, run))
        return run

    def clean(self, why: Pressure, waiting: object, plan: Plan) -> Step:
        if why.kind != "blocked":
            return Step.NOTHING
        if self.spare is None:
            return Step.WAIT if self.given_up else Step.NOTHING
        native, offset = divmod(why.lba, self.size)
        copied = 0 if self.copied is None else self.copied[1]
        if self.copied is not None and (self.copied[0] != native or copied > offset):
            self.give_up(self.spare, plan)
            self.spare = self.copied = None
            return Step.WAIT
        end = min(offset, copied + self.step)
        self.carry(native, self.spare, copied, end, plan)
        self.filled[self.spare], self.copied = end, (native, end)
        return Step.DONE if end == offset else Step.MORE

    def freed(self, block: int, blocks: int) -> None:
        zone = (block - self.zones.block(0)) // self.size
        self.given_up.discard(zone)
        self.filled[zone], self.spare = 0, zone

    def apply(self, record: Record) -> None:
        match record:
            case UnitRole(unit, native) if (zone := self.zones.zone(unit)) is not None and native < len(self.place):
                self.place[native] = zone
            case Lost(lba, blocks):
                self.lost.update(range(lba, lba + blocks))
            case Unmap(lba, blocks):
                self.lost.difference_update(range(lba, lba + blocks))
            case _:
                raise Corrupt(f"{record!r} is none of this layer")

    def recovered(self, units: Sequence[tuple[str, int]], plan: Plan) -> None:
        if len(set(self.place)) < len(self.place):
            raise Corrupt("two logical zones lie in one")
        for zone in range(self.zones.count):
            condition, self.filled[zone] = units[self.zones.unit(zone)]
            self.writable[zone] = condition == "sequential"
        for zone in set(range(self.zones.count)) - set(self.place):
            if self.filled[zone] == 0 and self.writable[zone]:
                self.spare = zone
            else:
                self.give_up(zone, plan)

    def checkpoint(self, cursor: int, plan: Plan) -> int | None:
        native, offset = divmod(cursor, self.size)
        if offset == 0:
            plan.record(UnitRole(self.zones.unit(self.place[native]), native))
        end = (native + 1) * self.size
        lost = sorted(lba for lba in self.lost if cursor <= lba < end)[:500]
        end = end if len(lost) < 500 else lost[-1] + 1
        plan.record(Unmap(cursor, end - cursor))
        for lba in lost:
            plan.record(Lost(lba, 1))
        return end if end < self.capacity() else None

    def facts(self) -> Facts:
        return Facts(records=2 * len(self.place) + self.capacity() + self.capacity() // 500)

    def check(self) -> None:
        assert len(set(self.place)) == len(self.place), "two logical zones lie in one"
        assert self.spare not in self.place, "the spare zone is in use"

    def carry(self, native: int, target: int, start: int, end: int, plan: Plan) -> None:
        """Plans that offsets from `start` to `end` of a logical zone are written to `target`."""
        if start >= end:
            return
        for at, run, is_lost in self.runs(native * self.size + start, end - start):
            offset = at % self.size
            there = 0 if is_lost else max(0, min(run, self.filled[self.place[native]] - offset))
            if there > 0:
                source = self.zones.block(self.place[native], offset)
                plan.copy(source, self.zones.block(target, offset), there, "destage")
            if there < run:
                plan.copy(ZERO, self.zones.block(target, offset + there), run - there, "pad")

    def give_up(self, zone: int, plan: Plan) -> None:
        """Plans that a zone is emptied, and spare when that has taken effect."""
        if not self.writable[zone]:
            return
        if self.filled[zone] > 0:
            plan.reset(self.zones.unit(zone))
        else:
            plan.free(self.zones.block(zone), self.size)
        self.given_up.add(zone)

    def runs(self, lba: int, blocks: int) -> Iterator[tuple[int, int, bool]]:
        """Runs of blocks of one zone that are lost or are not."""
        end = lba + blocks
        while lba < end:
            piece = min(end, (lba // self.size + 1) * self.size)
            if not self.lost:
                yield lba, piece - lba, False
            else:
                for is_lost, run in groupby(range(lba, piece), self.lost.__contains__):
                    several = list(run)
                    yield several[0], len(several), is_lost
            lba = piece
