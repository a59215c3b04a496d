"""Layers in Python: replayed, verified, compared and explored like the others; and mistakes in them are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

import imbrex
from imbrex import Field, Layer, Plan, Pressure, Space, Step
from imbrex.examples import ZoneCopy

SMALL: dict[str, Any] = {"drive": "small-zoned", "beyond": "wrap", "requests": 400, "verify": True}


def test_a_layer_runs_beside_others_and_counts_as_they_do() -> None:
    both = imbrex.compare("uniform", ["in-place", ZoneCopy], config={"in-place": {"ahead": "pad"}}, **SMALL)
    own, other = both["zone-copy"], both["in-place"]
    assert own.rmw == other.rmw > 0
    assert own.media_write_blocks["host"] == other.media_write_blocks["host"]
    assert own.capacity_blocks == other.capacity_blocks
    written = [run.media_write_blocks["destage"] + run.media_write_blocks["pad"] for run in both]
    assert written[0] == written[1]


def test_a_layer_survives_power_cuts() -> None:
    exploration = imbrex.explore(ZoneCopy, cuts=30, seed=5)
    assert exploration.finding is None
    assert exploration.survived["cuts"] >= 30


def test_the_same_seed_gives_the_same_runs() -> None:
    assert imbrex.explore(ZoneCopy, cuts=1, seed=9) == imbrex.explore(ZoneCopy, cuts=1, seed=9)


class Forgetful(ZoneCopy):
    """Does not say where a zone lies now."""

    name = "forgetful"

    def change(self, plan: Plan, record: imbrex.Record, redo: bool = False) -> None:
        self.apply(record)


class Hasty(ZoneCopy):
    """Believes that a zone which a power cut left half written is empty."""

    name = "hasty"

    def recovered(self, units: Any, plan: Plan) -> None:
        super().recovered(units, plan)
        if self.given_up:
            self.spare = self.given_up.pop()
            self.filled[self.spare] = 0


@pytest.mark.parametrize("layer", [Forgetful, Hasty])
def test_a_layer_that_loses_something_is_found_out(layer: type[Layer]) -> None:
    exploration = imbrex.explore(layer, cuts=2000)
    finding = exploration.finding
    assert finding is not None
    again = imbrex.explore(layer, cuts=1, seed=finding.seed).finding
    assert again == finding, "its seed finds it again"


class Straight(Layer):
    """Blocks lie where their numbers say."""

    recording = "conventional"
    fields: ClassVar[Sequence[Field]] = (
        Field("first", 0, "the first block", samples=(0, 1)),
        Field("part", 1.0, "what is used"),
    )

    def capacity(self) -> int:
        return self.space.conventional_blocks - int(self.config["first"])

    def locate(self, lba: int, blocks: int, plan: Plan) -> None:
        plan.copy(self.at(lba), imbrex.Host(), blocks)

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        plan.copy(imbrex.Host(), self.at(lba), blocks)
        return blocks

    def at(self, lba: int) -> int:
        return self.space.conventional + int(self.config["first"]) + lba

    def facts(self) -> imbrex.Facts:
        return imbrex.Facts(unwritten="old-content")


def test_the_base_class_is_enough_for_a_layer_without_a_map() -> None:
    own = imbrex.replay("zipf", Straight, requests=500, verify=True, config={"first": 7, "part": 1})
    other = imbrex.replay("zipf", "conventional", requests=500, verify=True)
    assert own.layer == "Straight"
    assert own.capacity_blocks == other.capacity_blocks - 7
    assert imbrex.explore(Straight, cuts=5).is_safe


class Noticing(Straight):
    """Counts the blocks that are read."""

    counters = (imbrex.Counter("noticed_blocks", "blocks", "that were read"),)

    def read(self, lba: int, blocks: int, plan: Plan) -> None:
        plan.count("noticed_blocks", blocks)
        super().read(lba, blocks, plan)


def test_a_layer_may_keep_what_it_wants_to_know_of_reads() -> None:
    result = imbrex.replay("zipf", Noticing, requests=200, prefill=0.0)
    assert result.counters == {"noticed_blocks": result.host_read_blocks}
    assert result.host_read_blocks > 0


def test_fields_are_checked_as_those_of_other_layers() -> None:
    with pytest.raises(imbrex.ConfigError, match="layer Straight: there is no field last; known are first, part"):
        imbrex.replay("zipf", Straight, requests=10, config={"last": 7})
    with pytest.raises(imbrex.ConfigError, match='first is "x", and takes a value of type integer'):
        imbrex.replay("zipf", Straight, requests=10, config={"first": "x"})
    with pytest.raises(imbrex.ConfigError, match="layer zone-copy: step_blocks must be at least 1"):
        imbrex.replay("zipf", ZoneCopy, requests=10, config={"step_blocks": 0})


class Other(Straight):
    """Reads the block beside the one that was asked for."""

    def locate(self, lba: int, blocks: int, plan: Plan) -> None:
        plan.copy(self.at(lba ^ 1), imbrex.Host(), blocks)


def test_the_verifying_media_find_a_wrong_read() -> None:
    with pytest.raises(imbrex.LayerError, match="must read as"):
        imbrex.replay("zipf", Other, requests=500, verify=True, prefill=0.0)


class Broken(Straight):
    """Raises."""

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        raise KeyError("there is no such block")


class Greedy(Straight):
    """Takes more than there is."""

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        return blocks + 1


class Lying(Straight):
    """Answers what it must not."""

    def clean(self, why: Pressure, waiting: Any, plan: Plan) -> Any:
        return "done"

    def write(self, lba: int, blocks: int, plan: Plan) -> int:
        return 0


class Untrue(Straight):
    """Has an invariant that does not hold."""

    def check(self) -> None:
        assert self.space.conventional_blocks == 0, "there are blocks"


def test_what_a_layer_raises_is_the_cause_of_the_error() -> None:
    with pytest.raises(imbrex.LayerError, match="layer Broken, write raised KeyError") as raised:
        imbrex.replay("zipf", Broken, requests=500, prefill=0.0)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(imbrex.LayerError, match="seed 1, .*layer Broken, write raised KeyError"):
        imbrex.explore(Broken, cuts=10)
    with pytest.raises(imbrex.LayerError, match="write answers .*, which is not from 0 to"):
        imbrex.replay("zipf", Greedy, requests=500)
    with pytest.raises(imbrex.LayerError, match="layer Lying, clean raised TypeError"):
        imbrex.replay("zipf", Lying, requests=500)
    with pytest.raises(imbrex.LayerError, match="there are blocks"):
        imbrex.replay("zipf", Untrue, requests=500, verify=True)


def test_a_layer_needs_a_name_of_its_own() -> None:
    class Taken(Straight):
        name = "fifo-log"

    with pytest.raises(imbrex.ConfigError, match="there is a layer 'fifo-log' already"):
        imbrex.replay("zipf", Taken)


def test_a_class_that_was_changed_is_another_layer() -> None:
    class Changing(Straight):
        fields: ClassVar[Sequence[Field]] = ()

    with pytest.raises(imbrex.ConfigError, match="there is no field first; it has none"):
        imbrex.replay("zipf", Changing, requests=10, config={"first": 1})
    Changing.fields = (Field("first", 3, "the first block"),)
    assert imbrex.replay("zipf", Changing, requests=10).requests == 10


def test_plans_refuse_what_means_nothing() -> None:
    plan = Plan()
    plan.copy(imbrex.ZERO, 8, 4, "pad")
    plan.copy(imbrex.Ram(0), imbrex.Host(2), 1, redo=True)
    plan.record(imbrex.Map(1, 2, 3))
    plan.reset(5)
    plan.free(8, 4)
    plan.count("rmw")
    assert len(plan) == 6
    wrongs: list[Callable[[], object]] = [
        lambda: plan.copy(8, imbrex.ZERO, 1),
        lambda: plan.copy(8, 9, 0),
        lambda: plan.copy(8, 9, 1, "fun"),
        lambda: plan.copy(1 << 60, 9, 1),
        lambda: plan.copy(imbrex.Host((1 << 32) - 1), 9, 7),
        lambda: plan.record(imbrex.Map(1, 0, 3)),
        lambda: plan.count("fun"),
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            wrong()
    untyped: Any = plan
    with pytest.raises(TypeError):
        untyped.copy("8", 9, 1)
    with pytest.raises(TypeError):
        untyped.record(7)
    assert len(plan) == 6


def test_records_can_be_matched_and_compared() -> None:
    match imbrex.Map(lba=1, blocks=2, to=3):
        case imbrex.Map(lba, blocks, to):
            assert (lba, blocks, to) == (1, 2, 3)
    assert imbrex.Note(1, 2) == imbrex.Note(1, 2) != imbrex.Note(1, 3)
    assert repr(imbrex.UnitRole(4, 5)) == "UnitRole(unit=4, role=5)"
    assert Step.DONE is not Step.MORE
    assert Space.__doc__ is not None
