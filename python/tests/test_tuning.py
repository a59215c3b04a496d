"""Tuning: it finds what is better, says what that is worth elsewhere, and goes on where it was."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import imbrex
from imbrex import Between, tune

distributed = pytest.importorskip("distributed")
pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Threads of this process: nothing here depends on what kind of worker it is."""
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
        with distributed.Client(local) as client:
            yield client


ASKED: dict[str, Any] = {
    "layer": "fifo-log",
    "workloads": ["zipf", "uniform", "hot-cold"],
    "objective": "write_amplification",
    "fields": {"spare_zones": range(1, 3), "at_pointer": ["direct", "buffer"], "idle_free": Between(0.0, 1.0)},
    "drive": "small-zoned",
    "options": {"requests": 1000, "beyond": "wrap", "buffer": "64blocks"},
    "trials": 12,
}


def test_what_is_found_is_better_and_is_held_against_others(client: Any, tmp_path: pathlib.Path) -> None:
    found = tune(**ASKED, into=tmp_path, cluster=client)
    assert list(found.gains) == ["zipf", "uniform"] and list(found.held_out) == ["hot-cold"]
    scores = [trial.score for trial in found.trials if trial.score is not None]
    assert len(found.trials) == 12 and found.gain == pytest.approx(max(1.0, 1 / min(scores)))
    # The evidence is what replay says.
    options = ASKED["options"]
    plain, tuned = (
        imbrex.replay("hot-cold", "fifo-log", config=config, drive="small-zoned", **options).write_amplification
        for config in ({}, found.config)
    )
    assert found.gain_held_out == pytest.approx(plain / tuned)
    table = found.to_arrow()
    assert table["score"].to_pylist() == [trial.score for trial in found.trials]
    assert table["config.idle_free"].to_pylist() == [trial.config["idle_free"] for trial in found.trials]


def test_it_says_that_nothing_was_cleaned(client: Any, tmp_path: pathlib.Path) -> None:
    idle = ASKED | {"options": ASKED["options"] | {"buffer": "8MiB", "requests": 300}, "trials": 1}
    with pytest.warns(UserWarning, match="fifo-log has nothing to clean on zipf, uniform"):
        found = tune(**idle, into=tmp_path, cluster=client)
    assert found.uncleaned == ("zipf", "uniform", "hot-cold")
    assert "; nothing was cleaned on zipf, uniform, hot-cold)" in repr(found)


def test_it_goes_on_where_it_was(client: Any, tmp_path: pathlib.Path) -> None:
    whole = tune(**ASKED, into=tmp_path / "whole", cluster=client)
    tune(**ASKED | {"trials": 8}, into=tmp_path / "parts", cluster=client)
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").rglob("*.parquet")}
    parts = tune(**ASKED, into=tmp_path / "parts", cluster=client)
    assert (parts.trials, parts.config) == (whole.trials, whole.config)
    assert {path: path.stat().st_mtime_ns for path in runs} == runs


def test_another_objective_is_another_question(client: Any, tmp_path: pathlib.Path) -> None:
    def found(objective: Callable[[Mapping[str, Any]], float]) -> Any:
        return tune(**ASKED | {"objective": objective, "trials": 2}, into=tmp_path, cluster=client)

    means, longest = found(lambda row: row["latency_ms.mean"]), found(lambda row: row["latency_ms.max"])
    assert [trial.config for trial in means.trials] == [trial.config for trial in longest.trials]
    assert [trial.values for trial in means.trials] != [trial.values for trial in longest.trials]


def test_a_setting_that_the_layer_refuses_is_a_trial_with_its_error(client: Any, tmp_path: pathlib.Path) -> None:
    found = tune(**ASKED | {"fields": {"idle_free": [0.5, 7.0]}, "trials": 4}, into=tmp_path, cluster=client)
    failed = [trial for trial in found.trials if trial.error]
    assert failed and all(trial.config == {"idle_free": 7.0} and trial.score is None for trial in failed)
    assert "layer fifo-log" in str(failed[0].error)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"workloads": ["zipf"]}, "others to hold out"),
        ({"held_out": ["zipf"]}, "others to hold out"),
        ({"trials": 0}, "at least one trial"),
        ({"objective": "colour"}, "no column colour"),
        ({"objective": "resets", "layer": "conventional", "drive": None}, "no positive number"),
        ({"options": {"requests": 0}}, "requests"),
    ],
)
def test_what_cannot_be_tuned_is_said(part: dict[str, Any], message: str, client: Any, tmp_path: pathlib.Path) -> None:
    with pytest.raises(imbrex.Error, match=message):
        tune(**ASKED | part, into=tmp_path, cluster=client)
