"""What traces are like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from imbrex import _native
from imbrex._progress import Progress, shown
from imbrex._runs import AnyWorkload, _specified, _workload

__all__ = ["stat"]


def stat(
    workload: AnyWorkload,
    *,
    requests: int | None = None,
    seed: int | None = None,
    trace_format: str | None = None,
    volume: str | None = None,
    event: str | None = None,
    caches: Sequence[float] = (10.0,),
    buffer: str = "1%",
    progress: Progress = None,
) -> dict[str, Any]:
    """What a workload is like, with the fields of `imbrex trace stat --format json`.

    >>> stat("zipf", requests=2000)["requests"]
    2000

    `caches` are sizes in percent of the distinct start offsets, and `buffer` is what update periods are set against.
    """
    options = {"requests": requests, "seed": seed, "trace_format": trace_format, "volume": volume, "event": event}
    specification = _specified({name: value for name, value in options.items() if value is not None})
    with shown(progress) as call:
        return _native.trace_stat(specification, _workload(workload), list(caches), buffer, call)
