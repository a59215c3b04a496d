"""Runs give what the program gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import imbrex

CLOCKS = {"replay_seconds", "blocks_per_second"}


def without_clocks(row: dict[str, Any]) -> dict[str, Any]:
    # Notes name the command that was typed.
    return {name: value for name, value in row.items() if name not in CLOCKS and name != "notes"}


def test_a_replay_gives_the_row_of_the_program(program: Program) -> None:
    words = ["--layer", "fifo-log", "--requests", "4000", "--seed", "7", "--buffer", "1MiB", "--verify"]
    [row] = program("replay", "zipf", *words, "--set", "fifo-log.spare_zones=2", "--warm-up", "1000")
    result = imbrex.replay(
        "zipf", "fifo-log", requests=4000, seed=7, buffer="1MiB", verify=True, config={"spare_zones": 2}, warm_up=1000
    )
    assert without_clocks(result.to_dict()) == without_clocks(row)
    assert (result.requests, result.config, result.seed) == (row["requests"], {"spare_zones": 2}, 7)


def test_numbers_of_bytes_are_sizes(program: Program) -> None:
    [row] = program("replay", "zipf", "--layer", "fifo-log", "--requests", "1000", "--buffer", "1MiB")
    result = imbrex.replay("zipf", "fifo-log", requests=1000, buffer=1 << 20)
    assert result.buffer_blocks == row["buffer_blocks"] == 256


def test_a_comparison_gives_the_rows_of_the_program(program: Program) -> None:
    rows = program("compare", "zipf", "uniform", "--layers", "conventional,log-greedy", "--requests", "1000")
    comparison = imbrex.compare(["zipf", "uniform"], ["conventional", "log-greedy"], requests=1000)
    assert [without_clocks(row) for row in comparison.to_dicts()] == [without_clocks(row) for row in rows]
    table = comparison.to_arrow()
    assert table["layer"] == ["conventional", "log-greedy"] * 2
    assert table["latency_ms.p99"] == [row["latency_ms"]["p99"] for row in rows]
    assert comparison[1:3][0].layer == "log-greedy"
    with pytest.raises(KeyError, match="2 results"):
        comparison["conventional"]


def test_a_family_runs_on_its_own_drives() -> None:
    comparison = imbrex.compare("hm_0", family="interlaced", requests=300, config={"tracklace": {}})
    assert {result.drive for result in comparison} == {"imr-tracklace"}
    assert len(comparison) == 7


def test_series_and_contents_are_those_of_the_program(program: Program, tmp_path: Path) -> None:
    series, bands = tmp_path / "series.json", tmp_path / "bands.json"
    words = ["--layer", "log-greedy", "--capacity", "fit", "--requests", "3000", "--window", "1000req"]
    program(
        "replay", "hot-cold", *words, "--series", str(series), "--bands", str(bands), "--bands-at", "50%"
    )
    result = imbrex.replay("hot-cold", "log-greedy", capacity="fit", requests=3000, window=1000, contents=["50%"])
    assert result.series is not None and result.contents is not None
    expected = json.loads(series.read_text())
    assert result.series["requests"] == [row["requests"] for row in expected]
    assert result.series["media_write_blocks.host"] == [row["media_write_blocks"]["host"] for row in expected]
    assert result.contents.to_pylist() == json.loads(bands.read_text())
    assert imbrex.replay("zipf", "fifo-log", requests=100).series is None


def test_a_result_says_of_what_kind_its_numbers_are() -> None:
    result = imbrex.replay("zipf", "lru-cache", drive="st8000as0002", requests=500)
    known = set(imbrex.Result.__annotations__) - {"series", "contents"}
    assert set(result.to_dict()) <= known
    assert result.devices is not None and result.growth is None
    with pytest.raises(AttributeError, match="speed"):
        result.speed  # noqa: B018


def test_wrong_things_are_exceptions_with_the_messages_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(imbrex.ConfigError, match="there is no layer 'fifo'; known are conventional"):
        imbrex.replay("zipf", "fifo")
    with pytest.raises(imbrex.ConfigError, match="there is no field zones; known are"):
        imbrex.replay("zipf", "fifo-log", config={"zones": 1})
    with pytest.raises(imbrex.ConfigError, match="buffer: '2x' is no buffer size"):
        imbrex.replay("zipf", "fifo-log", buffer="2x")
    with pytest.raises(imbrex.ConfigError, match="small-zoned"):
        imbrex.replay("zipf", "fifo-log", drive="none")
    with pytest.raises(imbrex.ConfigError, match="ends beyond the layer's capacity"):
        imbrex.replay("uniform", "in-place", drive="small-zoned", requests=100)
    with pytest.raises(imbrex.TraceError, match="no built-in workload zipff"):
        imbrex.replay("zipff", "fifo-log")
    with pytest.raises(imbrex.TraceError, match="cannot open"):
        imbrex.replay(tmp_path / "none.csv", "fifo-log")
    with pytest.raises(imbrex.Error, match="is no synthetic workload"):
        (tmp_path / "trace.csv").write_text("1,h,0,Write,0,512,0\n")
        imbrex.replay(tmp_path / "trace.csv", "fifo-log", seed=1)
    with pytest.raises(imbrex.ConfigError, match="in-place takes no part"):
        imbrex.compare("zipf", ["fifo-log"], config={"in-place": {}})
    with pytest.raises(TypeError, match="a class made from imbrex.Layer"):
        imbrex.replay("zipf", dict)  # type: ignore[arg-type]


def test_progress_is_told_and_what_it_raises_ends_the_run() -> None:
    told: list[tuple[str, int, int]] = []
    imbrex.replay("zipf", "fifo-log", requests=5000, progress=lambda *how_far: told.append(how_far))
    assert told[-1] == ("replaying", 5000, 5000)

    def enough(phase: str, done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        imbrex.replay("zipf", "in-place", requests=100_000_000, progress=enough)


def test_other_threads_go_on_meanwhile() -> None:
    done = threading.Event()
    counted = 0

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    imbrex.replay("zipf", "fifo-log", requests=300_000, progress=False)
    done.set()
    thread.join()
    assert counted > 1000


def test_ctrl_c_ends_a_run() -> None:
    begun = threading.Event()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        imbrex.replay("zipf", "fifo-log", requests=4_000_000_000, progress=lambda *_: begun.set())
    thread.join()


def test_pages_show_what_was_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = imbrex.replay("zipf", "fifo-log", requests=2000, watch=True)
    result.report(page)
    assert "<title>zipf on fifo-log" in page.read_text()
    without = page.stat().st_size
    imbrex.replay("zipf", "fifo-log", requests=2000).report(page)
    assert page.stat().st_size < without, "what was seen of it is left out"
    comparison = imbrex.compare("zipf", ["conventional", "fifo-log"], requests=500)
    imbrex.report([*comparison, result], page, title="Three")
    assert page.stat().st_size > 0 and "Three" in page.read_text()
    assert list(tmp_path.iterdir()) == [page]


def test_traces_are_measured_as_by_the_program(program: Program) -> None:
    assert [imbrex.trace.stat("hm_0", requests=3000)] == program("trace", "stat", "hm_0", "--requests", "3000")


def test_what_there_is_to_choose_from_is_what_the_program_lists(program: Program) -> None:
    listed = {row["name"]: row for row in program("list", "layers")}
    assert {layer.name: [field.key for field in layer.fields] for layer in imbrex.layers()} == {
        name: [field["key"] for field in row["fields"]] for name, row in listed.items()
    }
    drives = [vars(drive) for drive in imbrex.drives()]
    assert drives == program("list", "drives")
    workloads = [workload.name for workload in [*imbrex.workloads(), *imbrex.profiles()]]
    assert workloads == [row["name"] for row in program("list", "workloads")]


def test_holding_the_simulator_against_others_can_be_ended() -> None:
    def enough(phase: str, done: int, total: int) -> None:
        raise RuntimeError(f"enough of {phase}")

    with pytest.raises(RuntimeError, match="enough of checking"):
        imbrex.validate(progress=enough)
    with pytest.raises(imbrex.Error, match="none"):
        imbrex.validate(disksim="none")


def test_pictures_are_made_for_notebooks() -> None:
    result = imbrex.replay("zipf", "fifo-log", requests=2000, watch=True)
    marks = json.dumps(result.plot().to_dict())
    assert "mean latency, ms" in marks and "zipf (synthetic) on fifo-log" in marks
    both = imbrex.compare(["zipf", "uniform"], ["conventional", "fifo-log"], requests=500).plot().to_dict()
    assert "write amplification" in json.dumps(both)


def test_importing_it_imports_nothing_large() -> None:
    listed = "import imbrex, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    modules = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True).stdout.split()
    assert "imbrex" in modules
    assert not {"altair", "numpy", "pandas", "polars", "pyarrow", "tqdm", "IPython"} & set(modules)


def test_a_layer_is_measured_when_it_is_steady(program: Program) -> None:
    words = ["--requests", "500", "--buffer", "64blocks", "--untimed", "--steady", "--steady-rounds", "30"]
    [row] = program("replay", "hm_0", "--layer", "block-lru", *words)
    result = imbrex.replay(
        "hm_0", "block-lru", requests=500, buffer="64blocks", untimed=True, steady=True, steady_rounds=30
    )
    assert without_clocks(result.to_dict()) == without_clocks(row)
    assert result.steady is not None and result.repeat == result.steady["rounds"] * result.steady["round_passes"]
    with pytest.raises(imbrex.ConfigError, match="steady: it cannot be used with warm_up"):
        imbrex.replay("hm_0", "block-lru", steady=True, warm_up=7)


def test_a_map_in_bounded_memory_costs_what_the_program_says(program: Program) -> None:
    words = ["--capacity", "1GiB", "--zone-size", "1MiB", "--beyond", "wrap", "--map-memory", "64KiB"]
    [row] = program("replay", "zipf", "--layer", "sepbit", "--requests", "2000", *words)
    options: dict[str, Any] = {"capacity": "1GiB", "zone_size": "1MiB", "beyond": "wrap", "map_memory": 1 << 16}
    result = imbrex.replay("zipf", "sepbit", requests=2000, **options)
    assert result.map is not None and result.map == row["map"]
    assert result.map["read_pages"] == row["media_read_blocks"]["metadata"] > 0
    assert imbrex.replay("zipf", "sepbit", requests=2000, **{**options, "map_memory": "1GiB"}).map is None
    with pytest.raises(imbrex.ConfigError, match="at least 65536"):
        imbrex.replay("zipf", "sepbit", requests=2000, **{**options, "map_memory": 1})


def test_a_sample_of_the_blocks_is_one_that_the_program_takes() -> None:
    whole = imbrex.replay("zipf", "log-greedy", requests=2000, untimed=True)
    sampled = imbrex.replay("zipf", "log-greedy", requests=2000, untimed=True, sample="1/16")
    assert (whole.sample, sampled.sample) == (None, 16)
    assert sampled.block_bytes == 16 * whole.block_bytes
    with pytest.raises(imbrex.Error, match="sample: in-place does not move block by block"):
        imbrex.replay("zipf", "in-place", requests=2000, untimed=True, sample="1/16")
