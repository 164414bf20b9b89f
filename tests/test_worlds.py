"""Swarm worlds: a name is a world, a world and a seed are a trace, and a beginning is the beginning of a run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simulated import SIMULATED, Simulated
from tidemark.classic_group.sim.profiles import PROFILES as CLASSIC
from tidemark.classic_group.sim.profiles import GroupProfile
from tidemark.compositions.protocol import COMPOSED
from tidemark.consumer_group.sim.profiles import PROFILES as KIP_848
from tidemark.consumer_group.sim.profiles import ConsumerGroupProfile
from tidemark.exactly_once.sim.profiles import PROFILES as EXACTLY_ONCE
from tidemark.replication.protocol import PROTOCOL as REPLICATION
from tidemark.replication.sim.profiles import PROFILES, ReplicationProfile
from tidemark.simulator import worlds
from tidemark.simulator.shared import ANY, Profile
from tidemark.simulator.worlds import CHANGED, LATER, SWARM, Beginning, Change, Mix, drawn, parts_of
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.protocols import Protocol, compositions, protocol
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.kernels.stream import Record, records
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

each = pytest.mark.parametrize("one", SIMULATED, ids=lambda one: one.protocol)
WORLDS = range(200)


def stream(one: Simulated, world: str, seed: int, steps: int = 40) -> bytes:
    """The trace of a seed in a world."""
    found: bytes = one.descriptor.simulate(seed, table=one.header, steps=steps, profile=SWARM + world).stream
    return found


def taken(one: Simulated, data: bytes) -> list[Record]:
    """The records of a trace, the initial state among them."""
    return [found for found in records(data, cells(one.known), one.parameters) if isinstance(found, Record)]


@cache
def base_cells(spec: Path, config: Path) -> int:
    """How many cells a state in a trace has."""
    return schema_of(load(spec, config)).layout.base_cells


def cells(known: Protocol) -> int:
    """Those of a protocol."""
    return base_cells(known.spec, known.config)


def test_worlds_differ_in_which_kinds_of_events_exist_and_in_every_chance() -> None:
    """No kind is in all worlds or in none: an event that is rare everywhere is common in one. Nothing is scripted."""
    worlds = [drawn(str(number), PROFILES) for number in WORLDS]
    kinds = {kind for profile in PROFILES.values() for kind in profile.weights}
    for kind in kinds:
        there = sum(kind in one.weights for one in worlds)
        assert 20 < there < 200, kind
        shares = [one.weights[kind] / sum(one.weights.values()) for one in worlds if kind in one.weights]
        assert max(shares) > 4 * min(shares), kind
    assert {one.prelude for one in worlds} == {""}
    for field in dataclasses.fields(PROFILES["chaos"]):
        if field.name not in ("name", "weights", "drawn", "prelude"):
            assert len({repr(getattr(one, field.name)) for one in worlds}) > 1, field.name


@pytest.mark.parametrize("known", [CLASSIC, KIP_848], ids=["classic-group", "consumer-group"])
def test_a_later_field_has_dice_of_its_own(known: dict[str, GroupProfile] | dict[str, ConsumerGroupProfile]) -> None:
    """In half of the worlds it is 0, and these are the worlds that they were before the field came."""
    worlds = [drawn(str(number), known) for number in WORLDS]
    values = Counter(one.disconnects for one in worlds)
    assert set(values) == set(LATER["disconnects"])
    assert len(worlds) / 3 < values[0] < 2 * len(worlds) / 3
    assert all(drawn(f"{number}.5", known).disconnects == worlds[number].disconnects for number in WORLDS)


def test_a_later_kind_has_dice_of_its_own() -> None:
    """In a third of the worlds it is there; the others are what they were before it came."""
    before = {name: one for name, one in EXACTLY_ONCE.items() if one.drawn}
    worlds = [(drawn(str(number), EXACTLY_ONCE), drawn(str(number), before)) for number in WORLDS]
    there = [now for now, _ in worlds if "go_on" in now.weights]
    assert len(worlds) / 5 < len(there) < len(worlds) / 2
    assert all(now == then for now, then in worlds if "go_on" not in now.weights)
    assert Mix("several-offsets", EXACTLY_ONCE, {}).every_kind == Mix("chaos", before, {}).every_kind


def test_late_reads_need_no_script() -> None:
    """In many worlds disks are slow from the start, or become so, while leaders change."""
    worlds = [drawn(str(number), PROFILES) for number in WORLDS]
    late = [one for one in worlds if (one.slow > 64 or "slow_disk" in one.weights) and "elect" in one.weights]
    assert len(late) > 40


@each
def test_a_world_is_a_profile_of_its_protocol(one: Simulated) -> None:
    known: dict[str, Profile] = one.descriptor.simulators(one.header).mix._known
    kinds = {kind for profile in known.values() for kind in profile.weights}
    for number in WORLDS:
        world = drawn(f"{number}.{number}", known)
        assert type(world) is type(next(iter(known.values())))
        assert world.weights.keys() <= kinds
        assert world.weights
        assert world == drawn(f"{number}.{number}", known)
    changed = [drawn("3", known), *(drawn(f"3.{change}", known) for change in range(20))]
    assert len({repr(dataclasses.replace(world, name="")) for world in changed}) > 10


@each
def test_runs_of_worlds_heal_and_stop_in_the_midst_of_it(one: Simulated) -> None:
    """A property that falls after the healing alone is not found where few runs heal."""
    seeds = range(120)
    runs = [one.descriptor.simulate(seed, table=one.header, steps=4, profile=f"{SWARM}{seed}") for seed in seeds]
    assert 0.15 < sum(run.healed for run in runs) / len(runs) < 0.7


def proportions(first: str, second: str, *weights: dict[str, int]) -> list[float]:
    """How much more often the first kind of events comes than the second, in 600 worlds of profiles of these
    weights."""
    known = {str(number): ReplicationProfile(str(number), weights=one) for number, one in enumerate(weights)}
    several = [drawn(str(number), known).weights for number in range(600)]
    return [one[first] / one[second] for one in several if first in one and second in one]


def test_a_kind_that_all_profiles_have_is_rare_in_one_world_of_three() -> None:
    """By itself the proportion of two that are equal is 4 at most."""
    found = proportions("elect", "fetch", {"elect": 20, "fetch": 20})
    apart = sum(not 1 / 4.5 < one < 4.5 for one in found) / len(found)
    assert 0.25 < apart < 0.55


def test_a_kind_that_not_all_profiles_have_prevails_in_some_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself its proportion to an equal one is 8 at most."""
    monkeypatch.setattr(worlds, "RARE", 1.0)
    found = proportions("elect", "fetch", {"fetch": 20}, {"elect": 20, "fetch": 20})
    assert 0.02 < sum(one > 9 for one in found) / len(found) < 0.15


@each
def test_a_name_and_a_seed_are_one_trace(one: Simulated) -> None:
    """The same after any other simulation, and by any simulator."""
    names = ("5", "5.1", "5@3#20/8", "5@3#20/8@4#30/9.2")
    before = [stream(one, name, 7) for name in names]
    assert len(set(before)) == len(names)
    assert [stream(one, name, 7) for name in reversed(names)] == before[::-1]
    for name, known in zip(names, before, strict=True):
        alone = one.descriptor.simulators(one.header, steps=40, profile=SWARM + name)
        assert alone.run(7).stream == known


@pytest.mark.deep
@each
def test_a_beginning_is_the_beginning_of_its_run(one: Simulated) -> None:
    """Up to its record the trace is that of the beginning's own world and seed; two seeds then part. In a world that is
    too quiet the healing comes first, so at least the three longest runs are asked."""
    wholes = [taken(one, stream(one, f"{number}", 3, steps=90)) for number in range(8)]
    lengths = sorted(map(len, wholes))
    at = 25 if lengths[4] >= 75 else lengths[-3] // 3  # half of the runs are so long, but of a protocol of few steps
    assert at >= 3
    lively = 0
    for number, whole in enumerate(wholes):
        if len(whole) < 3 * at:
            continue
        lively += 1
        gone_on = [taken(one, stream(one, f"{number}@3#{at}/77", seed, steps=90)) for seed in range(4)]
        for other in gone_on:
            assert other[:at] == whole[:at]
        assert len({repr(other) for other in gone_on}) > 1
    assert lively >= 3


def test_a_change_is_events_more_or_events_of_a_kind_fewer() -> None:
    """One to three such parts, each from some record on, near the beginning's end, and for some records."""
    kinds = ["apply", "elect", "fetch"]

    def change(draw: int) -> Change:
        return Change(str(draw), 100, kinds, ["apply", *kinds], 40)

    def added(one: Change) -> list[tuple[int, tuple[str, int]]]:
        return [(records, event) for records in range(101) for event in iter(partial(one.more, records), None)]

    parts, spans, asked, where = Counter[int](), Counter[int](), Counter[str](), Counter[tuple[int, ...]]()
    for draw in range(400):
        more = added(change(draw))
        assert more == added(change(draw))
        assert all(records > 100 - CHANGED and kind in kinds for records, (kind, _) in more)
        one, fewer = change(draw), 0
        for kind in kinds:
            left_out = [at for at in range(30, 101) if any(one.leaves_out(kind, word, at) for word in range(6))]
            if left_out:
                assert left_out[0] > 100 - CHANGED
                assert left_out == list(range(left_out[0], left_out[-1] + 1))
                spans[len(left_out)] += 1
                where[tuple(word for word in range(6) if one.leaves_out(kind, word, left_out[0]))] += 1
                asked[kind] += 1
                fewer += 1
        parts[len(more) + fewer] += 1
    assert parts.keys() == {1, 2, 3}
    assert min(parts.values()) > 50
    assert min(spans[one] for one in (1, 3, 10)) > 10
    assert where.keys() == {tuple(range(6)), (0, 2, 4), (1, 3, 5), (0, 3), (1, 4), (2, 5)}
    assert min(where.values()) > 20
    assert 1.3 < asked["apply"] / asked["fetch"] < 2.7, "kinds that come often are left out often"


def happened(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> list[tuple[str, list[int]]]:
    """The actions of replication's runs under a profile of these fields, with the places of their parameters."""
    known = protocol("replication")
    schema = schema_of(load(known.spec, known.config))
    monkeypatch.setitem(PROFILES, "own", ReplicationProfile("own", **fields))
    one = REPLICATION.simulators(schema.with_nodes(known.nodes()).to_json(), steps=60, profile="own")
    streams = [one.run(seed).stream for seed in range(30)]
    found = [record for data in streams for record in schema.records(data) if isinstance(record, Record)]
    return [(schema.actions[one.action], list(one.params)) for one in found if one.action >= 0]


BUSY = {"fetch": 60, "produce": 20, "apply": 40, "elect": 20}


def test_events_lean_to_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event of a place is at that place, of three brokers too; ANY stands for no place in particular."""

    def elected(*places: int) -> Counter[int]:
        leanings = {"elect": places} if places else {}
        actions = happened(monkeypatch, weights=BUSY, heals=0, leanings=leanings)
        return Counter(params[0] for action, params in actions if action == "ElectLeader")

    for place in (7, 8, 9, 840 - 1):
        assert elected(place).keys() == {place % 3}
    assert elected(0, 1).keys() == {0, 1}
    assert elected().keys() == {0, 1, 2}
    half = elected(1, ANY)
    assert half.keys() == {0, 1, 2}
    assert half[1] > 1.3 * max(half[0], half[2])


def test_places_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the place seldom changes, one action is mostly at the broker of the action before."""

    def same(turns: int) -> float:
        actions = happened(monkeypatch, weights={"apply": 60, "flush": 60, "elect": 20}, heals=0, turns=turns)
        pairs = [(one[1][0], other[1][0]) for one, other in pairwise(actions)]
        return sum(one == other for one, other in pairs) / len(pairs)

    assert same(10) > 1.3 * same(0)
    assert same(10) > same(128)


def test_a_place_may_be_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is not possible at its place then happens nowhere. The healing is at all places."""

    def applying(alone: bool, heals: int) -> set[int]:
        actions = happened(monkeypatch, weights=BUSY, heals=heals, alone=alone, leanings={"apply": (1,)})
        return {params[0] for action, params in actions if action == "ApplyMetadata"}

    assert applying(True, 0) == {1}
    assert applying(False, 0) == {0, 1, 2}
    assert applying(True, 256) == {0, 1, 2}


def test_a_world_may_lean() -> None:
    """Some kinds of events then happen at one place, at two, or half of them at one; a changed world leans as
    before."""
    worlds = [drawn(str(number), PROFILES) for number in WORLDS]
    leaning = [one for one in worlds if one.leanings]
    assert 0.3 < len(leaning) / len(worlds) < 0.7
    assert all(drawn(f"{number}.5", PROFILES).leanings == worlds[number].leanings for number in WORLDS)
    forms = Counter((len(places), ANY in places) for one in leaning for places in one.leanings.values())
    assert forms.keys() == {(1, False), (2, False), (2, True)}
    assert min(forms.values()) > sum(forms.values()) / 5


@each
def test_a_changed_beginning_is_a_run_of_its_own(one: Simulated) -> None:
    """Some draws change what happens, and every one is repeated as it was, by `explain`, too."""
    known = protocol(one.protocol)
    header = schema_of(load(known.spec, known.config)).with_nodes(known.nodes())
    changed = 0
    for draw in range(30):
        name = f"5@3#30~{draw}/8"
        found = stream(one, name, 4)
        assert found == stream(one, name, 4)
        changed += found != stream(one, "5@3#30/8", 4)
        if draw < 5:
            again = simulators.again(known, header, "seed-4", {"profile": f"{SWARM}{name}", "steps": 40})
            assert again.stream(range(len(again.decisions))) == found
    assert changed >= 5


@each
def test_a_run_of_a_beginning_is_repeated_with_some_of_its_events(one: Simulated) -> None:
    """`explain` shrinks it as any other run: all its events are its trace, and some of them are another one."""
    known = protocol(one.protocol)
    header = schema_of(load(known.spec, known.config)).with_nodes(known.nodes())
    again = simulators.again(known, header, "seed-4", {"profile": f"{SWARM}5@3#20/8", "steps": 40})
    every = range(len(again.decisions))
    whole = again.stream(every)
    assert whole == stream(one, "5@3#20/8", 4)
    half = again.stream(every[: len(every) // 2])
    assert half != whole
    assert half == again.stream(every[: len(every) // 2])
    assert taken(one, half)[:5] == taken(one, whole)[:5]


def test_a_composition_has_worlds_and_beginnings_too() -> None:
    known = compositions()["composed"]
    tables: dict[str, dict[str, Any]] = {
        name: schema_of(load(part.spec, part.config)).with_nodes(known.nodes(name)).to_json()
        for name, part in known.parts.items()
    }

    def run(world: str, seed: int) -> dict[str, bytes]:
        found = COMPOSED.simulate(seed, tables["replication"], tables["classic-group"], steps=40, profile=SWARM + world)
        return {name: part.stream for name, part in found.parts.items()}

    width = cells(known.parts["classic-group"])
    arities = [len(one["params"]) for one in tables["classic-group"]["actions"]]

    def above(streams: dict[str, bytes]) -> list[Record]:
        return [one for one in records(streams["classic-group"], width, arities) if isinstance(one, Record)]

    whole = above(run("2", 3))
    at = 10  # before the healing, which is no part of a beginning
    gone_on = [above(run(f"2@3#{at}/9", seed)) for seed in range(3)]
    assert run(f"2@3#{at}/9", 1) == run(f"2@3#{at}/9", 1)
    assert len(whole) > 10
    assert all(other[:at] == whole[:at] for other in gone_on)
    assert len({repr(other) for other in gone_on}) > 1


def test_the_parts_of_a_name() -> None:
    assert parts_of("swarm:17.3") == ([], "17.3")
    assert parts_of("swarm:1@2#3/4.5@6#7/8") == ([Beginning("1", 2, 3), Beginning("4.5", 6, 7)], "8")


@pytest.mark.parametrize("name", ["swarm:", "swarm:x", "swarm:1/2", "swarm:1@2#3/", "swarm:1@2/3", "swarm:-1", "17"])
def test_what_names_no_world_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names no swarm world"):
        parts_of(name)
    known = protocol("replication")
    header = schema_of(load(known.spec, known.config)).with_nodes(known.nodes())
    with pytest.raises(Unusable, match=r"swarm world|has no profile"):
        simulators.simulator(known, header, steps=40, profile=name)
