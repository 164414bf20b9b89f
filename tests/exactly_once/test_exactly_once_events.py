"""The events that profiles name happen: of every kind of event, some run has one."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from simulated import SIMULATED
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.sim import demonstration
from tidemark.exactly_once.sim.demonstrated import DEMONSTRATED
from tidemark.exactly_once.sim.demonstration import Demonstration
from tidemark.exactly_once.sim.profiles import DEMONSTRATION, MISHAPS, PROFILES
from tidemark.exactly_once.sim.run import ExactlyOnceRun
from tidemark.simulator.shared import WORD
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.kernels.stream import End, records
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

SPEC, CONFIG = (spec_root() / "exactly_once" / one for one in (DEMONSTRATED.spec, DEMONSTRATED.config))
(SIMULATOR,) = (one for one in SIMULATED if one.protocol == "exactly-once")


def waiting(run: type, kinds: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds of events of which nothing has come yet."""
    left = set(kinds)

    def noted(kind: str) -> None:
        event = getattr(run, kind)

        def and_note(one: object, word: int) -> bool:
            happened: bool = event(one, word)
            if happened:
                left.discard(kind)
            return happened

        monkeypatch.setattr(run, kind, and_note)

    for kind in tuple(left):
        noted(kind)
    return left


@pytest.mark.parametrize("profile", PROFILES)
def test_every_kind_of_event_of_a_profile_happens(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left = waiting(ExactlyOnceRun, PROFILES[profile].weights, monkeypatch)
    simulator = SIMULATOR.make(SIMULATOR.header, profile=profile)
    for seed in range(800):
        simulator.run(seed)
        if not left:
            break
    assert left == set()


@pytest.mark.deep
def test_every_mishap_of_a_long_run_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    header = schema_of(load(SPEC, CONFIG)).with_nodes(["i1", "i2", "i3"]).to_json()
    left = waiting(Demonstration, {*MISHAPS, *DEMONSTRATION.weights}, monkeypatch)
    for seed in range(12):
        Demonstration(header, [1000, 1000, 1000], 2, 3, seed, PROTOCOL.rules_without(()), 3, 4).run(lambda _: None)
        if not left:
            break
    assert left == set()


def test_every_run_has_something_to_deliver() -> None:
    simulator = SIMULATOR.make(SIMULATOR.header)
    seed = next(seed for seed in range(10_000) if not Random(seed).getrandbits(WORD) & 255)  # no partition has any
    run = SIMULATOR.run(simulator, seed)
    assert sum(run.cluster.inputs) == 1


@pytest.mark.parametrize(("chance", "arrives"), [(0, False), (1, True), (7, True)])
def test_what_is_late_arrives_or_never_will(chance: int, arrives: bool) -> None:
    run = SIMULATOR.run(SIMULATOR.make(SIMULATOR.header), 0)
    cluster = run.cluster
    run.recorder.begin()
    assert cluster.init_producer_id(0)
    assert cluster.join_group(0)
    assert cluster.complete_join()
    assert cluster.sync_group(0)
    p = next(p for p, count in enumerate(cluster.inputs) if count)
    assert cluster.fetch_offset(0, p)
    assert cluster.send_result(0, p)
    assert cluster.crash(0)
    word = next(word for word in range(chance << 8, chance + 1 << 8) if word % run._instances == 0)
    assert run.late(word)
    assert len(cluster.outputs[OUTPUT].log) == arrives
    assert not cluster.under_way()


def test_what_strikes_nobody_strikes_again() -> None:
    header = schema_of(load(SPEC, CONFIG)).with_nodes(["i1", "i2", "i3"]).to_json()
    made = Demonstration(header, [9], 2, 1, 0, PROTOCOL.rules_without(()), 1, 0)
    made._delivery.begin()
    made._due = [(0, "crash")]
    made._strike_when_due()
    assert made._due == [(0, "crash")]  # a process that has done nothing yet
    assert made.cluster.init_producer_id(0)
    made._strike_when_due()
    assert made._due == []
    assert made._delivery.counts["Crash"] == 1


def test_a_long_run_says_whether_it_came_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = schema_of(load(SPEC, CONFIG))
    header = schema.with_nodes(["i1", "i2", "i3"]).to_json()
    for rests in (True, False):
        monkeypatch.setattr(demonstration, "heal", lambda _, rests=rests: rests)
        found = Demonstration(header, [9], 2, 1, 0, PROTOCOL.rules_without(()), 0, 0).run(lambda _: None)
        cells = sum(variable["cells"] for variable in header["variables"].values())
        *_, end = records(found.stream, cells, schema.arities)
        assert isinstance(end, End)
        assert (found.converged, end.quiescent) == (rests, rests)
