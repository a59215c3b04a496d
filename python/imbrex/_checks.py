"""The simulator against what it has no part in, and layers against power cuts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from imbrex import _native
from imbrex._progress import Progress, shown
from imbrex._runs import AnyLayer


@dataclass(frozen=True)
class Finding:
    """A loss, a broken invariant or an operation that the drive refuses."""

    subject: str
    seed: int
    """The seed of the run, which finds it again: `explore(layer, cuts=1, seed=seed)`."""
    cuts: int
    """Power cuts of this run before it."""
    operations: int
    what: str


@dataclass(frozen=True)
class Exploration:
    """What an exploration came to."""

    layer: str
    first_seed: int
    survived: dict[str, int]
    """Runs, power cuts and more, up to the finding if there is one; named as in the program's JSON."""
    finding: Finding | None
    without_rule: int | None = None

    @property
    def is_safe(self) -> bool:
        """Whether nothing was found."""
        return self.finding is None


def explore(
    layer: AnyLayer, cuts: int = 1000, *, seed: int = 1, without: int | None = None, progress: Progress = None
) -> Exploration:
    """Cuts the power of a layer on tiny disks in memory, again and again, and checks that nothing is lost.

    >>> explore("fifo-log", cuts=20).is_safe
    True

    Without one of the ordering rules, by its number, the explorer should find what that breaks. The same seed gives the
    same runs.
    """
    with shown(progress) as call:
        came = _native.explore(layer, cuts, seed, without, call)
    finding = came.pop("finding")
    return Exploration(finding=None if finding is None else Finding(**finding), **came)


def validate(*, disksim: str | os.PathLike[str] | None = None, progress: Progress = None) -> list[dict[str, Any]]:
    """Holds the simulator against published seek curves and closed forms, and against DiskSim's measurements if their
    folder is named. The rows are those of `imbrex validate --format json`; `verdict` is `pass`, `fail` or `skipped`.
    """
    with shown(progress) as call:
        return _native.validate(disksim, call)
