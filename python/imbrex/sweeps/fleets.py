"""Fleets: many drives of several kinds, each with a workload of its own, over some periods of growth.

The question is one that ZoneAlloy (HotStorage 2019) leaves open: a hybrid drive gains space by turning conventional
realms into shingled ones, which are slower. Does one turn all of a drive as soon as it wants more space, or no more
than it wants, again and again? What a drive goes through in a period is a run of its layer; drives that go through the
same share one, so a fleet of thousands takes as many runs as there are different fates.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from imbrex import _listing, _native
from imbrex._progress import Progress
from imbrex._runs import AnyLayer
from imbrex.sweeps.cells import Cell
from imbrex.sweeps.cluster import Cluster
from imbrex.sweeps.dataset import Dataset
from imbrex.sweeps.sweeping import Sweep, run_all

if TYPE_CHECKING:
    import altair
    import pyarrow

Policy: TypeAlias = Literal["gradually", "at once", "from the first"]
"""When a hybrid drive is turned: as much as is wanted, when it is; all of it when something is; or all of it before."""

POLICIES: tuple[Policy, ...] = ("gradually", "at once", "from the first")

ELASTIC = "zone-alloy"
"""The layer whose space grows."""

MOST = 0.95
"""The share of the realms that is turned at most: some conventional zones are left to buffer and to swap with."""


@dataclass(frozen=True)
class Kind:
    """Drives of one kind: how many of the fleet they are, relative to the others, and what runs on them."""

    layer: AnyLayer
    drive: str
    share: float = 1.0
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_elastic(self) -> bool:
        """Whether its space grows."""
        return self.layer == ELASTIC


@dataclass(frozen=True)
class _Drive:
    """A drive of a fleet: its kind by number, and what its users do."""

    kind: int
    workload: str
    seed: int | None
    eagerness: float
    """How soon its users want more space than others; 1 is average."""


@dataclass(frozen=True)
class _Fate:
    """What a drive goes through in a period: from which step of its growth to which."""

    kind: int
    workload: str
    seed: int | None
    begin: int
    end: int


@dataclass(frozen=True)
class Period:
    """A fleet under a policy in a period."""

    policy: str
    period: int
    wanted_bytes: int
    """The space that all drives together are asked for."""
    capacity_bytes: int
    """What they have at the end of the period."""
    mean_ms: float
    """Mean latency of all requests."""
    median_drive_ms: float
    """Mean latency on the drive in the middle."""
    p99_drive_ms: float
    """Mean latency on the drive that 99 % are faster than."""
    overloaded: int
    """Drives that do not keep up with their requests; their latencies grow with the workload."""
    converting: int
    """Drives that are turned in the period, in part or whole."""
    conversion_s: float | None
    """How long that takes them, on average, until all the space is there."""


@dataclass(frozen=True)
class Fleet:
    """What became of a fleet."""

    drives: int
    periods: tuple[Period, ...]
    """All periods under the first policy, then under the next."""
    sweep: Sweep
    """The runs behind it."""

    def __repr__(self) -> str:
        return f"Fleet({self.drives} drives, {len(self.periods)} periods, {len(self.sweep)} runs)"

    def to_arrow(self) -> pyarrow.Table:
        """The periods as a table."""
        import pyarrow

        return pyarrow.Table.from_pylist([vars(period) for period in self.periods])

    def plot(self) -> altair.VConcatChart:
        """The figure: space over time beside what is wanted of it, and what requests take meanwhile.

        Needs Altair: `pip install '.[notebook]'` in a clone of Imbrex.
        """
        import altair as alt

        data = alt.InlineData(values=[vars(period) for period in self.periods])
        base = alt.Chart(data, width=480, height=180).encode(alt.X("period:O", title="period"))
        policy = alt.Color("policy:N", title=None, sort=list(POLICIES))
        terabytes = "datum.{} / 1e12".format
        space = base.transform_calculate(tb=terabytes("capacity_bytes")).mark_line(point=True)
        wanted = base.transform_calculate(tb=terabytes("wanted_bytes")).mark_line(color="black", strokeDash=[4, 4])
        # What is wanted is the same under every policy.
        wanted = wanted.transform_filter(alt.datum.policy == self.periods[0].policy)
        in_terabytes = alt.Y("tb:Q", title="space, TB (dashed: wanted)", scale=alt.Scale(zero=False))
        mean = base.mark_line(point=True).encode(
            alt.Y("mean_ms:Q", title="mean latency, ms", scale=alt.Scale(type="log")), policy
        )
        worst = base.mark_line(point=True).encode(
            alt.Y("p99_drive_ms:Q", title="of the slowest 1 % of drives, ms", scale=alt.Scale(type="log")), policy
        )
        return alt.vconcat(space.encode(in_terabytes, policy) + wanted.encode(in_terabytes), mean, worst)


def fleet(
    kinds: Sequence[Kind],
    workloads: Sequence[str | os.PathLike[str]],
    *,
    into: str | os.PathLike[str],
    drives: int = 1000,
    wanted: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    policies: Sequence[Policy] = POLICIES,
    steps: int = 8,
    seeds: int = 3,
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
    cluster: Cluster = None,
    progress: Progress = None,
) -> Fleet:
    """Lets a fleet of `drives` drives grow for as many periods as `wanted` has, once under each of the `policies`.

    Each drive is of one of the `kinds`, and has one of the `workloads` with one of `seeds` seeds. `wanted` is how far
    users want to go from a disk that is all conventional, 0, to one that is all shingled, 1, in each period; some want
    half of that, some half as much again. Space comes in `steps` steps. Drives of kinds that cannot grow stay as they
    are, and are asked for what they have.

    In each period a drive serves its workload, with `options` of `imbrex.replay`, over all the space that it has at
    the beginning; a tenth of it passes before it is asked for more. `into`, `cluster` and what is needed are as for
    `imbrex.sweep`.
    """
    if not kinds or not workloads or drives < 1 or not wanted or steps < 1 or seeds < 1:
        raise _native.ConfigError("a fleet has kinds, workloads, drives and periods, at least one of each")
    if list(wanted) != sorted(wanted):
        raise _native.ConfigError("wanted: a drive is not turned back, so what is wanted only grows")
    plan = _Plan(tuple(kinds), dict(options or {}), steps, tuple(wanted))
    fleet_drives = _drawn(kinds, [os.fspath(one) for one in workloads], drives, seeds, random.Random(seed))
    dataset = Dataset(into)
    space = _space(plan, dataset, cluster, progress)
    periods = [(policy, period) for policy in policies for period in range(len(wanted))]
    fates = {at: [plan.fate(drive, *at) for drive in fleet_drives] for at in periods}
    cells = {fate: plan.cell(fate, space) for of_all in fates.values() for fate in of_all}
    sweep = run_all(list(cells.values()), dataset, cluster=cluster, progress=progress)
    rows = _rows(sweep)
    came = {fate: rows[cell.key] for fate, cell in cells.items()}
    return Fleet(drives, tuple(_period(at, plan, fleet_drives, fates[at], came, space) for at in periods), sweep)


Space: TypeAlias = Mapping[tuple[int, int], int]
"""The bytes that a kind of drive offers at each step."""


@dataclass(frozen=True)
class _Plan:
    """How drives grow."""

    kinds: tuple[Kind, ...]
    options: dict[str, Any]
    steps: int
    wanted: tuple[float, ...]

    def wish(self, drive: _Drive, period: int) -> float:
        """How far the users of a drive want to have gone at the end of a period."""
        return min(1.0, self.wanted[period] * drive.eagerness) if self.kinds[drive.kind].is_elastic else 0.0

    def fate(self, drive: _Drive, policy: str, period: int) -> _Fate:
        """What a drive goes through."""
        begin, end = (self._step(drive, policy, at) for at in (period - 1, period))
        return _Fate(drive.kind, drive.workload, drive.seed, begin, end)

    def _step(self, drive: _Drive, policy: str, period: int) -> int:
        """The step at which a drive is at the end of a period; -1 is the time before the first."""
        if not self.kinds[drive.kind].is_elastic:
            return 0
        if policy == "from the first":
            return self.steps
        wish = self.wish(drive, period) if period >= 0 else 0.0
        if policy == "at once":
            return self.steps if wish > 0 else 0
        return math.ceil(wish * self.steps)

    def _config(self, kind: Kind, step: int) -> dict[str, Any]:
        turned = {"converted": MOST * step / self.steps} if kind.is_elastic else {}
        return dict(kind.config) | turned

    def probe(self, number: int, step: int) -> Cell:
        """A run that says how much space there is at a step."""
        kind = self.kinds[number]
        options = self.options | {"requests": 1, "beyond": "wrap", "untimed": True}
        return Cell("uniform", kind.layer, self._config(kind, step), kind.drive, options)

    def cell(self, fate: _Fate, space: Space) -> Cell:
        """The run of a fate."""
        kind = self.kinds[fate.kind]
        options = {"stretch": True, "beyond": "wrap"} | self.options
        if fate.seed is not None:
            options["seed"] = fate.seed
        if fate.end > fate.begin:
            more = space[fate.kind, fate.end] - space[fate.kind, fate.begin]
            options["extend"] = f"{more}B@10%"
        return Cell(fate.workload, kind.layer, self._config(kind, fate.begin), kind.drive, options)


def _drawn(
    kinds: Sequence[Kind], workloads: Sequence[str], drives: int, seeds: int, dice: random.Random
) -> list[_Drive]:
    """The drives of a fleet."""
    shares = [kind.share for kind in kinds]
    drawn_from_seed = {one.name for one in (*_listing.workloads(), *_listing.profiles())}

    def drive() -> _Drive:
        kind, workload = dice.choices(range(len(kinds)), shares)[0], dice.choice(workloads)
        number, eagerness = dice.randrange(seeds) + 1, dice.uniform(0.5, 1.5)
        is_drawn = workload in drawn_from_seed or workload.endswith(".toml")
        return _Drive(kind, workload, number if is_drawn else None, eagerness)

    return [drive() for _ in range(drives)]


def _space(plan: _Plan, dataset: Dataset, cluster: Cluster, progress: Progress) -> Space:
    """What every kind of drive offers at every step of its growth."""
    steps = range(plan.steps + 1)
    probes = {(kind, step): plan.probe(kind, step) for kind in range(len(plan.kinds)) for step in steps}
    rows = _rows(run_all(list(probes.values()), dataset, cluster=cluster, progress=progress))
    return {at: rows[cell.key]["capacity_blocks"] * rows[cell.key]["block_bytes"] for at, cell in probes.items()}


def _rows(sweep: Sweep) -> dict[str, dict[str, Any]]:
    """The rows of a sweep; in a fleet all of them count."""
    for cell, error in sweep.errors().items():
        raise _native.Error(f"{cell.workload} on {cell.layer_name}: {error}")
    return {row["run"]: row for row in sweep.to_arrow().to_pylist()}


def _period(
    at: tuple[str, int],
    plan: _Plan,
    drives: Sequence[_Drive],
    fates: Sequence[_Fate],
    came: Mapping[_Fate, Mapping[str, Any]],
    space: Space,
) -> Period:
    def wish(drive: _Drive) -> float:
        least, most = space[drive.kind, 0], space[drive.kind, plan.steps]
        return least + plan.wish(drive, at[1]) * (most - least)

    rows = [came[fate] for fate in fates]
    means = sorted(row["latency_ms.mean"] for row in rows)
    requests = [row["requests"] for row in rows]
    conversions = [row["growth.seconds"] for fate, row in zip(fates, rows, strict=True) if fate.end > fate.begin]
    return Period(
        *at,
        wanted_bytes=round(math.fsum(map(wish, drives))),
        capacity_bytes=sum(space[fate.kind, fate.end] for fate in fates),
        mean_ms=statistics.fmean([row["latency_ms.mean"] for row in rows], weights=requests),
        median_drive_ms=statistics.median(means),
        p99_drive_ms=means[math.ceil(0.99 * len(means)) - 1],
        overloaded=sum(map(_is_late, rows)),
        converting=len(conversions),
        conversion_s=statistics.fmean(conversions) if conversions else None,
    )


def _is_late(row: Mapping[str, Any]) -> bool:
    """Whether requests are served a tenth of their time, and 10 s, after they came, as the program has it. The end of a
    conversion may come after all requests, and makes none of them late."""
    arrived, ended = row["arrival_seconds"], row["simulated_seconds"]
    begun, took = row.get("growth.begun_s"), row.get("growth.seconds")
    ends_with_conversion = begun is not None and took is not None and begun + took >= ended * (1 - 1e-9)
    return bool(ended > arrived + max(0.1 * arrived, 10.0)) and not ends_with_conversion
