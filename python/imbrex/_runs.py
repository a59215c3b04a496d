"""Replays and comparisons."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from imbrex import _native
from imbrex._layer import Layer
from imbrex._native import Requests
from imbrex._progress import Progress, shown
from imbrex._results import Comparison, Result

AnyWorkload: TypeAlias = str | os.PathLike[str] | Requests | Any
"""The name of a workload or profile, the path of a file, or requests: `Requests`, or what can be made into them."""

AnyLayer: TypeAlias = str | type[Layer]
"""The name of a layer, or a class made from `Layer`."""

Scheduler: TypeAlias = Literal["fcfs", "c-look", "sptf"]


def replay(
    workload: AnyWorkload,
    layer: AnyLayer,
    *,
    config: Mapping[str, Any] | None = None,
    drive: str | os.PathLike[str] | None = None,
    capacity: int | str | None = None,
    zone_size: int | str | None = None,
    conventional_zones: int | str | None = None,
    buffer: int | str | None = None,
    requests: int | None = None,
    seed: int | None = None,
    queue_depth: int | None = None,
    paced: bool = False,
    limit: str | None = None,
    scheduler: Scheduler | None = None,
    scheduler_depth: int | None = None,
    prefill: float | None = None,
    trimmed: float | None = None,
    warm_up: int | str | None = None,
    repeat: int | None = None,
    steady: bool = False,
    steady_rounds: int | None = None,
    idle: bool = True,
    verify: bool = False,
    as_live: bool = False,
    journal_blocks: int | None = None,
    map_memory: int | str | None = None,
    flush: bool = False,
    rest: bool = False,
    untimed: bool = False,
    sample: str | None = None,
    dense: bool = False,
    stretch: bool = False,
    beyond: Literal["error", "wrap"] | None = None,
    trace_format: str | None = None,
    volume: str | None = None,
    event: str | None = None,
    window: int | str | None = None,
    contents: bool | Sequence[int | str] = False,
    extend: str | Sequence[str] | None = None,
    watch: bool = False,
    progress: Progress = None,
) -> Result:
    """Replays a workload on a layer, as `imbrex replay` does.

    >>> result = replay("uniform", "in-place", drive="small-zoned", beyond="wrap", requests=2000, verify=True)
    >>> result.rmw > 0
    True

    `workload` is the name of a workload or profile, the path of a trace file, `Requests`, or a table or mapping that
    `Requests` takes. `layer` is the name of a layer or a class made from `Layer`, and `config` its fields.

    The others are the program's options, without them its defaults hold. Sizes are bytes, or written as on the command
    line: `capacity="64GiB"` or `"fit"`, `buffer="2%"` of the workload's range or `"4096blocks"`. `warm_up` is a number of
    requests or a time such as `"10min"`. `steady` repeats the workload until what the layer writes stands still, and
    measures what comes then; `Result.steady` says how long that took.

    What is seen beside the numbers: `window`, a number of requests, `"1000req"` or a time such as `"60s"`, makes the
    rows of `Result.series`; `contents` the rows of `Result.contents`, at the end, and at moments such as `"25%"`, `1000`
    or `"2h"` where they are listed. `watch` sees as much as a page shows, for `Result.report` and `Result.plot`.

    `progress` is called with the phase, how much of it is done and of how much; without it there is a bar in terminals
    and notebooks if tqdm is installed, and with `False` there is none.
    """
    options = _chosen(locals(), _OPTIONS)
    specification = _specified(options) | _seen(window, contents, extend, watch)
    of = _workload(workload)
    with shown(progress) as call:
        came = _native.run(specification, [of], [(layer, _config(config))], call)
    return Result._came(came[0], _made_by("replay", workload, options | {"layer": _name(layer)}))


def compare(
    workloads: AnyWorkload | Sequence[AnyWorkload],
    layers: Sequence[AnyLayer] | None = None,
    *,
    family: Literal["shingled", "banded", "interlaced", "hybrid", "ssd", "all"] | None = None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
    drive: str | os.PathLike[str] | None = None,
    capacity: int | str | None = None,
    zone_size: int | str | None = None,
    conventional_zones: int | str | None = None,
    buffer: int | str | None = None,
    requests: int | None = None,
    seed: int | None = None,
    queue_depth: int | None = None,
    paced: bool = False,
    limit: str | None = None,
    scheduler: Scheduler | None = None,
    scheduler_depth: int | None = None,
    prefill: float | None = None,
    trimmed: float | None = None,
    warm_up: int | str | None = None,
    repeat: int | None = None,
    steady: bool = False,
    steady_rounds: int | None = None,
    idle: bool = True,
    verify: bool = False,
    as_live: bool = False,
    journal_blocks: int | None = None,
    map_memory: int | str | None = None,
    flush: bool = False,
    rest: bool = False,
    untimed: bool = False,
    sample: str | None = None,
    dense: bool = False,
    stretch: bool = False,
    beyond: Literal["error", "wrap"] | None = None,
    trace_format: str | None = None,
    volume: str | None = None,
    event: str | None = None,
    window: int | str | None = None,
    watch: bool = False,
    jobs: int | None = None,
    progress: Progress = None,
) -> Comparison:
    """Replays workloads on several layers, as `imbrex compare` does.

    >>> both = compare("zipf", ["conventional", "fifo-log"], requests=2000)
    >>> [result.layer for result in both]
    ['conventional', 'fifo-log']
    >>> both["fifo-log"].requests
    2000

    `layers` are names and classes made from `Layer`; without them and without a `family`, which has each on a drive of
    its kind, they are `conventional`, `in-place` and `fifo-log`. `config` has the fields of each layer by its name. The
    other options are those of `replay`. `jobs` is how many runs go on at a time, by default as many as there are cores;
    layers in Python wait for each other.
    """
    options = _chosen(locals(), (*_OPTIONS, "family", "jobs"))
    specification = _specified(options) | _seen(window, False, None, watch)
    several = list(workloads) if isinstance(workloads, (list, tuple)) else [workloads]
    given = dict(config or {})
    named = [(layer, _config(given.pop(_name(layer), None))) for layer in layers or []]
    if family is not None and named:
        raise _native.ConfigError("family: it has layers of its own; leave out layers")
    named += [(name, _config(fields)) for name, fields in given.items()] if family is not None else []
    if given and family is None:
        known = ", ".join(_name(layer) for layer, _ in named)
        raise _native.ConfigError(f"config: {', '.join(given)} takes no part; those that do are {known or 'the defaults'}")
    with shown(progress) as call:
        came = _native.run(specification, [_workload(one) for one in several], named, call)
    made_by = _made_by("compare", workloads, options | {"layers": ",".join(_name(layer) for layer, _ in named) or None})
    return Comparison([Result._came(one, made_by) for one in came], made_by)


_OPTIONS = (
    "drive",
    "capacity",
    "zone_size",
    "conventional_zones",
    "buffer",
    "requests",
    "seed",
    "queue_depth",
    "paced",
    "limit",
    "scheduler",
    "scheduler_depth",
    "prefill",
    "trimmed",
    "warm_up",
    "repeat",
    "steady",
    "steady_rounds",
    "idle",
    "verify",
    "as_live",
    "journal_blocks",
    "map_memory",
    "flush",
    "rest",
    "untimed",
    "sample",
    "dense",
    "stretch",
    "beyond",
    "trace_format",
    "volume",
    "event",
)


def _chosen(arguments: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The options that have a value. Idle time is offered unless it is not."""
    # A zero is a value.
    chosen = {name: arguments[name] for name in names if arguments[name] is not None and arguments[name] is not False}
    if chosen.pop("idle", False) is False:
        chosen["no_idle"] = True
    return chosen


def _specified(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as fields of a specification."""
    return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}


def _seen(
    window: int | str | None, contents: bool | Sequence[int | str], extend: str | Sequence[str] | None, watch: bool
) -> dict[str, Any]:
    moments = [] if isinstance(contents, bool) else list(contents)
    fields = {"window": window, "contents": None if contents is False else moments, "extend": extend, "watch": watch}
    return {name: value for name, value in fields.items() if value is not None}


def _workload(workload: AnyWorkload) -> str | Requests:
    if isinstance(workload, (str, os.PathLike)):
        return os.fspath(workload)
    return workload if isinstance(workload, Requests) else Requests(workload)


def _config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(config or {})


def _name(layer: AnyLayer) -> str:
    if isinstance(layer, str):
        return layer
    return cast(str, getattr(layer, "name", None) or getattr(layer, "__name__", repr(layer)))


def _made_by(call: str, workload: Any, options: Mapping[str, Any]) -> str:
    """The call in a line, for a page."""
    one = repr(workload) if isinstance(workload, (str, list, Requests)) else type(workload).__name__
    rest = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    return f"imbrex.{call}({one}{rest})"
