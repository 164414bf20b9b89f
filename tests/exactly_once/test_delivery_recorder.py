"""The demo's recorder, which tells a run in the terms of Delivery, against the refinement mapping of the specification.
Python and TLA+ tell the same, compared in every state of simulated runs."""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.exactly_once.sim.delivery import DeliveryPlan, DeliveryRecorder
from tidemark.exactly_once.sim.network import Exchange
from tidemark.exactly_once.sim.run import ExactlyOnceRun, ExactlyOnceSimulator
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry import protocols
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.python.checks import Check, Compiler
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.replay import events
from tidemark_conformance.trace.schema import Schema, schema_of

FOLDER = spec_root() / "exactly_once"
MODEL = FOLDER / "models/MCExactlyOnce.tla"
AUDIT = FOLDER / "ExactlyOnceProperties.cfg"
MAPPED = ("open", "committed", "delivered", "stray")


@cache
def mapping() -> tuple[Specification, dict[str, Check]]:
    """ExactlyOnce, and per variable of Delivery what the models' `INSTANCE Delivery WITH` puts for it."""
    _, _, rest = MODEL.read_text().partition("(* Refinement *)")
    vocabulary, _, rest = rest.partition("Abstract == INSTANCE Delivery WITH")
    substitutions, _, _ = rest.partition("DeliveryRefined ==")
    found = {one: re.search(rf"^\s+{one}\s+<- (.*?),?$", substitutions, re.MULTILINE) for one in MAPPED}
    definitions = [f"Mapped_{name} == {one[1]}" for name, one in found.items() if one]
    assert len(definitions) == len(MAPPED)
    text = "\n".join(
        ["---- MODULE Mapped ----", "EXTENDS ExactlyOnceProperties", vocabulary, *definitions, "=" * 20, ""]
    )
    names = [f"Mapped_{name}" for name in MAPPED]
    specification = load(FOLDER / "Mapped.tla", AUDIT, also=names, texts={"Mapped": text})
    rules = dict.fromkeys(specification.module.rules, True)
    compiler = Compiler("Mapped", specification.constants, rules, None)
    named = specification.module.definitions
    return specification, {name: compiler.compile(name, named[f"Mapped_{name}"].body, {}) for name in MAPPED}


@cache
def delivery() -> tuple[Specification, Schema]:
    """Delivery for the instances, partitions and records of the simulator's traces."""
    specification = load(FOLDER / "Delivery.tla", FOLDER / "Delivery.cfg")
    given = mapping()[0].constants
    sizes = {"Workers": given["Instances"], "Topics": given["Partitions"], "MaxOffset": 60}
    made = dataclasses.replace(specification, constants={**specification.constants, **sizes})
    return made, schema_of(made)


class Both:
    """Every call of a run's recorder goes to the recorder of Delivery, too. After each record of the first, the number
    of records that the second has written is noted."""

    def __init__(self, first: Any, second: DeliveryRecorder) -> None:
        self._both = first, second
        self.written = [1]

    def did(self, *what: Any) -> None:
        for one in self._both:
            one.did(*what)
        self.written.append(self._both[1].records)

    def blocked(self, *what: Any) -> None:
        for one in self._both:
            one.blocked(*what)
        self.written.append(self._both[1].records)


State = dict[str, Value]


def recorded(seed: int, without: frozenset[str], profile: str) -> tuple[list[tuple[State, State]], bytes]:
    """The states of a run, by the recorder of ExactlyOnce and by Delivery's; and the trace of the second."""
    known = protocols.protocol("exactly-once")
    schema = schema_of(mapping()[0])
    simulator = ExactlyOnceSimulator(
        schema.with_nodes(known.nodes()).to_json(), profile=profile, rules=PROTOCOL.rules_without(without)
    )
    run = ExactlyOnceRun(simulator, seed)
    header = delivery()[1].with_nodes(known.nodes()).to_json()
    second = DeliveryRecorder(DeliveryPlan(header), run.cluster)
    second.begin()
    run.cluster.recorder = both = Both(run.recorder, second)
    stream = run.run().stream
    told = second.end(False, False)
    concrete = [event.state for event in events(stream, schema)]
    abstract = [event.state for event in events(told, delivery()[1])]
    assert len(concrete) == len(both.written)
    assert len(abstract) == both.written[-1]
    return [(state, abstract[n - 1]) for state, n in zip(concrete, both.written, strict=True)], told


def differences(without: frozenset[str], profile: str, seeds: int) -> tuple[set[str], dict[str, int]]:
    """The variables in which the two differ, with where; and of each how many values were seen."""
    found: set[str] = set()
    values: dict[str, set[Value]] = {name: set() for name in MAPPED}
    for seed in range(seeds):
        for place, (concrete, abstract) in enumerate(recorded(seed, without, profile)[0]):
            for name, mapped in mapping()[1].items():
                values[name].add(abstract[name])
                if mapped(concrete, concrete) != abstract[name]:
                    found.add(f"{name}: seed {seed}, state {place}: {mapped(concrete, concrete)} # {abstract[name]}")
    return found, {name: len(seen) for name, seen in values.items()}


@pytest.mark.deep
def test_the_recorder_says_what_the_mapping_says() -> None:
    found, values = differences(frozenset(), "chaos", 25)
    assert found == set()
    assert values["stray"] == 1
    assert min(values[name] for name in ("open", "committed", "delivered")) > 15


@pytest.mark.deep
@pytest.mark.parametrize(
    ("without", "profile"),
    [
        pytest.param({"RecognizeDuplicate", "SequenceIsNext"}, "late", id="written twice"),
        pytest.param({"TxnCommitOfCurrentGeneration", "CommitOfMember", "MemberOfInstance"}, "chaos", id="by two"),
        pytest.param({"RewindAfterAbort"}, "chaos", id="left out"),
        pytest.param({"ReadCommitted"}, "chaos", id="read before it counts"),
    ],
)
def test_it_says_so_of_results_that_are_read_twice(without: set[str], profile: str) -> None:
    """(With VerifyTransaction in force: a late batch that joins a decided transaction is no step of Delivery's.)"""
    found, values = differences(frozenset(without), profile, 10)
    assert found == set()
    assert values["stray"] > 1


@pytest.mark.deep
def test_it_says_so_of_offsets_that_are_committed_beside_the_transaction() -> None:
    without = frozenset({"CommitOutsideTransaction"})
    assert differences(without, "careless", 12)[0] == set()
    traces = [recorded(seed, without, "careless")[1] for seed in range(12)]
    assert "Commit" in {action for trace in traces for action in wrong_steps(trace).values()}


def wrong_steps(trace: bytes) -> dict[int, str | None]:
    """The actions of a trace of Delivery that are not steps of their name, by record."""
    specification, schema = delivery()
    checks = compile_python(specification)
    told = list(events(trace, schema))
    return {
        number: after.action
        for number, (before, after) in enumerate(pairwise(told), 1)
        if after.action is None or not checks.action(after.action, after.params, before.state, after.state)
    }


def processed(offset: int) -> bytes:
    """The trace of an instance that processes the first of two records, and commits this offset in the transaction."""
    cluster = ExactlyOnceCluster([2], [False], PROTOCOL.rules_without(()))
    header = delivery()[1].with_nodes(["i1", "i2", "i3"]).to_json()
    cluster.recorder = recorder = DeliveryRecorder(DeliveryPlan(header), cluster)
    recorder.begin()
    assert cluster.join_group(0)
    assert cluster.complete_join()
    assert cluster.sync_group(0)
    assert cluster.init_producer_id(0)
    assert cluster.fetch_offset(0, 0)
    assert cluster.send_result(0, 0)
    assert cluster.handle(0, False)
    assert cluster.receive_reply(0)
    assert cluster.send_txn_offset_commit(0, True)
    sent = cluster.rpc[0]
    assert sent is not None
    assert isinstance(sent.request, tuple)
    cluster.rpc[0] = Exchange(tuple(one._replace(offset=offset) for one in sent.request))
    assert cluster.handle(0, False)
    assert cluster.receive_reply(0)
    assert cluster.send_end_txn(0, True)
    assert cluster.handle(0, False)
    return recorder.end(False, False)


def test_an_offset_behind_or_ahead_of_the_results_is_not_a_step_of_commit() -> None:
    assert wrong_steps(processed(1)) == {}
    assert wrong_steps(processed(0)) == {2: "Commit"}
    assert wrong_steps(processed(2)) == {2: "Commit"}
