"""Tuning: the fields of a layer that serve workloads best, found by Optuna on the workers of a sweep."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from imbrex import _native
from imbrex._progress import Progress, shown
from imbrex._runs import AnyLayer
from imbrex.sweeps.cells import Cell
from imbrex.sweeps.cluster import Cluster, connected
from imbrex.sweeps.dataset import Dataset, had_nothing_to_clean, needs
from imbrex.sweeps.grid import Grid
from imbrex.sweeps.sweeping import run_all

if TYPE_CHECKING:
    import optuna
    import pyarrow

Objective: TypeAlias = str | Callable[[Mapping[str, Any]], float]
"""A column of a row, such as `latency_ms.mean`, or what makes a positive number of a row."""

AT_ONCE = 8
"""Settings that are tried at a time, whatever the cluster: what is tried next follows from what came of these."""


@dataclass(frozen=True)
class Between:
    """Values of a field from `low` to `high`: whole numbers if both are, and with `log` as many small ones as large."""

    low: float
    high: float
    log: bool = False


Axis: TypeAlias = Between | range | Sequence[Any]
"""What a field may be: a range of numbers, or one of several values."""


@dataclass(frozen=True)
class Trial:
    """A setting that was tried."""

    number: int
    config: dict[str, Any]
    values: dict[str, float]
    """The objective on each workload; none where a run failed."""
    score: float | None
    """The geometric mean of the objective over that of the layer as it is without a setting; 1 is no change."""
    error: str | None


@dataclass(frozen=True)
class Tuning:
    """What tuning found, and what that rests on."""

    layer: str
    config: dict[str, Any]
    """The setting that was found; empty if none is better than none."""
    gains: dict[str, float]
    """By how many times the setting betters the objective on each workload that it was tuned on."""
    held_out: dict[str, float]
    """The same on workloads that it was not tuned on."""
    trials: tuple[Trial, ...]
    """Everything that was tried, in that order."""
    dataset: Dataset
    """Every run that was made."""
    uncleaned: tuple[str, ...] = ()
    """Workloads, of all these, on which the layer as it is has nothing to clean: they tell no setting from another."""

    @property
    def gain(self) -> float:
        """The geometric mean of the gains on the workloads that it was tuned on."""
        return _geometric(self.gains.values())

    @property
    def gain_held_out(self) -> float:
        """The same of those that it was not tuned on: what may be expected of it elsewhere."""
        return _geometric(self.held_out.values())

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in self.config.items()) or "no setting"
        tuned, others = f"{self.gain:.3f} × on {len(self.gains)}", f"{self.gain_held_out:.3f} × on {len(self.held_out)}"
        idle = f"; nothing was cleaned on {', '.join(self.uncleaned)}" if self.uncleaned else ""
        return f"Tuning({self.layer}: {fields}; {tuned} workloads, {others} that it was not tuned on{idle})"

    def to_arrow(self) -> pyarrow.Table:
        """The trials as a table: number, score, each field, the objective on each workload, and what went wrong."""
        import pyarrow

        rows = [
            {"number": trial.number, "score": trial.score}
            | {f"config.{key}": value for key, value in trial.config.items()}
            | {f"value.{workload}": value for workload, value in trial.values.items()}
            | {"error": trial.error}
            for trial in self.trials
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pyarrow.table({name: [row.get(name) for row in rows] for name in names})


def tune(
    layer: AnyLayer,
    workloads: Sequence[str | os.PathLike[str]],
    objective: Objective = "latency_ms.mean",
    *,
    fields: Mapping[str, Axis],
    into: str | os.PathLike[str],
    held_out: Sequence[str | os.PathLike[str]] | None = None,
    direction: Literal["minimize", "maximize"] = "minimize",
    config: Mapping[str, Any] | None = None,
    drive: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    trials: int = 64,
    seed: int = 1,
    storage: str | optuna.storages.BaseStorage | None = None,
    cluster: Cluster = None,
    progress: Progress = None,
) -> Tuning:
    """Looks for values of `fields` with which `layer` serves `workloads` best, by the objective.

    `fields` says for each field what may be tried: a list of values, a `range` of whole numbers, or `Between`. `config`
    has values of others, which stay as they are; `drive` and `options` are those of `imbrex.replay`. A setting's score
    is the geometric mean, over the workloads, of the objective relative to the layer without it. The setting that is
    best is then held against workloads that it has not seen: `held_out`, or else the last third of `workloads`.

    Every run goes to the dataset in the folder `into`, and trials to `storage`, one of Optuna or its address, or else a
    file there. Both are gone on with: the same call again makes up to `trials` trials and runs nothing twice. What is
    found depends on the `seed`, not on the `cluster`, which is as for `imbrex.sweep`.

    Needs Optuna: `pip install '.[tune]'` in a clone of Imbrex.
    """
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise needs("tune", error) from error
    if trials < 1 or not fields:
        raise _native.ConfigError("tuning takes at least one trial and one field")
    tuned, others = _divided([os.fspath(one) for one in workloads], held_out)
    asked = _Asked(layer, tuned, objective, direction, dict(config or {}), drive, dict(options or {}))
    Grid([*tuned, *others], [layer], options={key: [value] for key, value in asked.options.items()}).check()
    dataset = Dataset(into)
    with shown(progress) as call, connected(cluster) as client:
        runs = _Runs(asked, dataset, client)
        default = runs.objectives([{}], tuned)[0].need()
        uncleaned = runs.uncleaned(tuned)
        if len(uncleaned) == len(tuned):
            warnings.warn(_NOTHING_CLEANED.format(layer=asked.layer_name, workloads=", ".join(tuned)), stacklevel=2)
        study = _study(asked, fields, storage, dataset, seed)
        tried = _tried(study)
        while len(tried) < trials:
            _round(study, runs, default, fields, seed + len(tried), min(AT_ONCE, trials - len(tried)))
            tried = _tried(study)
            if call is not None:
                call("tuning", len(tried), trials)
        best = _best(tried, direction)
        found = best.config if best is not None else {}
        unseen, unseen_default = (runs.objectives([one], others)[0].need() for one in (found, {}))
        uncleaned += runs.uncleaned(others)
    values = best.values if best is not None else default
    gains = {name: _gain(direction, default[name], values[name]) for name in tuned}
    gains_unseen = {name: _gain(direction, unseen_default[name], unseen[name]) for name in others}
    config = asked.config | found
    return Tuning(asked.layer_name, config, gains, gains_unseen, tuple(tried), dataset, tuple(uncleaned))


_NOTHING_CLEANED = (
    "{layer} has nothing to clean on {workloads}, so hardly any setting can make a difference; give a smaller buffer or "
    "more requests in options"
)


def _divided(workloads: list[str], held_out: Sequence[str | os.PathLike[str]] | None) -> tuple[list[str], list[str]]:
    """Those that are tuned on, and the others."""
    if held_out is None:
        others = max(1, len(workloads) // 3)
        workloads, unseen = workloads[:-others], workloads[-others:]
    else:
        unseen = [os.fspath(one) for one in held_out]
    if not workloads or not unseen or set(workloads) & set(unseen):
        raise _native.ConfigError("tuning takes workloads to tune on and others to hold out; name some in held_out")
    return workloads, unseen


@dataclass(frozen=True)
class _Asked:
    """What is to be tuned, and for what."""

    layer: AnyLayer
    workloads: list[str]
    objective: Objective
    direction: Literal["minimize", "maximize"]
    config: dict[str, Any]
    drive: str | os.PathLike[str] | None
    options: dict[str, Any]

    @property
    def layer_name(self) -> str:
        return Cell("", self.layer).layer_name

    def cell(self, workload: str, config: Mapping[str, Any]) -> Cell:
        drive = None if self.drive is None else os.fspath(self.drive)
        return Cell(workload, self.layer, self.config | dict(config), drive, self.options)

    def value(self, row: Mapping[str, Any]) -> float:
        """The objective of a row. What is no positive number cannot be set in relation to another."""
        if callable(self.objective):
            value = self.objective(row)
        elif self.objective in row:
            value = row[self.objective]
        else:
            raise _native.ConfigError(f"objective: a row has no column {self.objective}")
        if not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
            raise _native.ConfigError(f"objective: {value!r} on {row['asked.workload']} is no positive number")
        return float(value)


@dataclass(frozen=True)
class _Values:
    """The objective on workloads, or why there is none."""

    values: dict[str, float]
    error: str | None

    def need(self) -> dict[str, float]:
        if self.error is not None:
            raise _native.Error(self.error)
        return self.values


@dataclass(frozen=True)
class _Runs:
    """The runs that settings are judged by."""

    asked: _Asked
    dataset: Dataset
    client: Any

    def objectives(self, configs: Sequence[Mapping[str, Any]], workloads: Sequence[str]) -> list[_Values]:
        """The objective of each setting on each workload."""
        cells = [[self.asked.cell(workload, config) for workload in workloads] for config in configs]
        run_all([cell for own in cells for cell in own], self.dataset, cluster=self.client, progress=False)
        return [self._objective(own) for own in cells]

    def uncleaned(self, workloads: Sequence[str]) -> list[str]:
        """The workloads on which the layer as it is, which has run on them, had nothing to clean."""
        rows = self.dataset.rows(self.asked.cell(workload, {}).key for workload in workloads).to_pylist()
        return [workload for workload, row in zip(workloads, rows, strict=True) if had_nothing_to_clean(row)]

    def _objective(self, cells: Sequence[Cell]) -> _Values:
        rows = self.dataset.rows(cell.key for cell in cells).to_pylist()
        errors = [f"{row['asked.workload']}: {row['error']}" for row in rows if row.get("error")]
        if errors:
            return _Values({}, "; ".join(errors))
        return _Values({cell.workload: self.asked.value(row) for cell, row in zip(cells, rows, strict=True)}, None)


def _study(
    asked: _Asked,
    fields: Mapping[str, Axis],
    storage: str | optuna.storages.BaseStorage | None,
    dataset: Dataset,
    seed: int,
) -> optuna.Study:
    """The study of what is asked, the one that was begun if it was. Another question in its place is another one."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    cells = [asked.cell(workload, {}).asked for workload in asked.workloads]
    axes = {key: repr(axis) for key, axis in fields.items()}
    question = json.dumps([cells, _written(asked.objective), asked.direction, axes, seed], sort_keys=True)
    name = f"{asked.layer_name}-{hashlib.sha256(question.encode()).hexdigest()[:16]}"
    if storage is None:
        dataset.folder.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(dataset.folder / "trials.log")))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=storage, study_name=name, direction=asked.direction, load_if_exists=True
    )
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        # Whoever began it was interrupted. It is tried again, with the same values.
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _written(objective: Objective) -> str:
    """What tells an objective from others: two functions may have the same name, or none."""
    if isinstance(objective, str):
        return objective
    name, code = getattr(objective, "__qualname__", repr(type(objective))), getattr(objective, "__code__", None)
    does = () if code is None else (code.co_code.hex(), code.co_names, [repr(one) for one in code.co_consts])
    return f"{name} {does}"


def _round(
    study: optuna.Study,
    runs: _Runs,
    default: Mapping[str, float],
    fields: Mapping[str, Axis],
    seed: int,
    several: int,
) -> None:
    """Tries several settings. Which ones follows from the seed and from what was tried before."""
    import optuna

    with warnings.catch_warnings():
        # Several trials at a time are what this is for.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True, multivariate=True)
    asked = [study.ask() for _ in range(several)]
    configs = [{key: _suggested(trial, key, axis) for key, axis in fields.items()} for trial in asked]
    came = runs.objectives(configs, list(default))
    for trial, config, values in zip(asked, configs, came, strict=True):
        trial.set_user_attr("tried", {"config": config, "values": values.values, "error": values.error})
        if values.error is None:
            ratios = [values.values[workload] / default[workload] for workload in default]
            study.tell(trial, _geometric(ratios))
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)


def _suggested(trial: optuna.Trial, key: str, axis: Axis) -> Any:
    if isinstance(axis, range):
        return trial.suggest_int(key, axis[0], axis[-1], step=axis.step)
    if not isinstance(axis, Between):
        return trial.suggest_categorical(key, list(axis))
    if isinstance(axis.low, int) and isinstance(axis.high, int):
        return trial.suggest_int(key, axis.low, axis.high, log=axis.log)
    return trial.suggest_float(key, axis.low, axis.high, log=axis.log)


def _tried(study: optuna.Study) -> list[Trial]:
    """What was tried to the end, in order."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
    whole = [
        (trial.value, trial.user_attrs["tried"])
        for trial in done
        # One that was interrupted has failed without an error of its own.
        if trial.state == TrialState.COMPLETE or trial.user_attrs.get("tried", {}).get("error")
    ]
    return [Trial(number, score=score, **tried) for number, (score, tried) in enumerate(whole)]


def _best(tried: Sequence[Trial], direction: str) -> Trial | None:
    """The best of them, the first of equals, if one betters the layer as it is."""
    sign = 1 if direction == "minimize" else -1
    better = [trial for trial in tried if trial.score is not None and sign * trial.score < sign]
    return min(better, key=lambda trial: sign * (trial.score or 0.0), default=None)


def _gain(direction: str, default: float, found: float) -> float:
    return default / found if direction == "minimize" else found / default


def _geometric(ratios: Any) -> float:
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs))
