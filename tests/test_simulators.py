"""Every protocol's simulator. Deltas equal the full state, and one seed is one trace. Healing converges, clients notice
losses, rules matter, and every step is one of the specification."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from composing import Composed
from simulated import (
    SIMULATED,
    Lost,
    Simulated,
    assert_deltas_are_all_that_changed,
    assert_one_seed_is_one_trace,
    noting,
)
from tidemark.trace.cells import CapacityExceeded
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.registry import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.kernels.runtime import compile_kernels
from tidemark_conformance.tla.kernels.stream import End, Record, records
from tidemark_conformance.verify.clean import flaw_actions

each = pytest.mark.parametrize("one", SIMULATED, ids=lambda one: one.protocol)
users = pytest.mark.as_users_have_it
FACTS = Path(__file__).parent / "snapshots" / "facts.txt"


def test_every_protocol_has_an_entry() -> None:
    assert [one.protocol for one in SIMULATED] == list(protocols.protocols())


@pytest.mark.deep
@pytest.mark.parametrize(
    ("one", "profile"),
    [pytest.param(one, profile, id=f"{one.protocol}-{profile}") for one in SIMULATED for profile in one.profiles],
)
def test_deltas_are_all_that_changed(one: Simulated, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = one.make(one.header, profile=profile)
    states = noting(one, monkeypatch)
    for seed in range(one.deltas):
        stream = one.run(simulator, seed).run().stream
        assert_deltas_are_all_that_changed(stream, states, one.parameters, f"seed {seed}")


@pytest.mark.deep
@each
def test_one_seed_is_one_trace_under_any_hash_seed(one: Simulated) -> None:
    assert_one_seed_is_one_trace(one)


@users
@each
def test_what_is_healed_comes_to_rest_and_loses_nothing(one: Simulated) -> None:
    healed = 0
    for seed in range(one.rests):
        result = one.descriptor.simulate(seed, table=one.header)
        assert not result.capacity, seed
        assert not result.lost, seed
        assert result.converged or not result.healed, seed
        assert result.acked or not result.healed, seed
        healed += result.healed
    assert one.healed < healed < one.rests


@each
def test_what_does_not_come_to_rest_is_said_so(one: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator believes its healing in any case."""
    if hasattr(one.run, "heal"):
        monkeypatch.setattr(one.run, "heal", lambda _: False)
    else:
        monkeypatch.setattr(f"{one.run.__module__}.heal", lambda *_: False)
    results = [one.descriptor.simulate(seed, table=one.header) for seed in range(20)]
    assert any(result.healed for result in results)
    assert not any(result.converged for result in results)


@each
def test_a_trace_that_is_cut_at_a_capacity_is_not_at_rest(one: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any) -> bool:
        raise CapacityExceeded("the log")

    if hasattr(one.run, "heal"):
        monkeypatch.setattr(one.run, "heal", exhausted)
    else:
        monkeypatch.setattr(f"{one.run.__module__}.heal", exhausted)
    results = [one.descriptor.simulate(seed, table=one.header) for seed in range(20)]
    cut = [result for result in results if result.capacity]
    assert cut
    for result in cut:
        assert (result.healed, result.converged, result.lost) == (False, False, 0)
        *_, end = records(result.stream, one.cells, one.parameters)
        assert isinstance(end, End)
        assert (end.capacity, end.quiescent) == (True, False)


@users
@pytest.mark.parametrize(
    ("one", "lost"),
    [pytest.param(one, lost, id=f"{one.protocol}-{min(lost.without)}") for one in SIMULATED for lost in one.lost],
)
def test_a_client_notices_what_is_lost_without_a_rule(one: Simulated, lost: Lost) -> None:
    rules = one.descriptor.rules_without(lost.without)
    runs = (one.descriptor.simulate(n, table=one.header, profile=lost.profile, rules=rules) for n in range(lost.seeds))
    assert any(result.lost for result in runs)


@users
def test_what_is_told_of_a_run_is_told_in_the_words_of_its_protocol() -> None:
    """The names of the facts, as the clean run and its complaints print them. TIDEMARK_SNAPSHOTS=write rewrites the
    file; read the diff before it is committed."""
    runs = {one.protocol: simulators.simulator(one.known, one.head, steps=5)(0).facts for one in SIMULATED}
    for name in protocols.compositions():
        one = Composed(name)
        traces = simulators.composed(one.composition, one.headers, steps=5)(0)
        runs |= {f"{name}, {part}": trace.facts for part, trace in traces.items()}
    text = "\n".join("\n    ".join([run, *facts]) + "\n" for run, facts in runs.items())
    if os.environ.get("TIDEMARK_SNAPSHOTS") == "write":
        FACTS.write_text(text)
    assert text == FACTS.read_text()


@pytest.mark.parametrize("one", [one for one in SIMULATED if not one.lost], ids=lambda one: one.protocol)
def test_a_client_compares_what_it_was_told_with_what_it_finds(one: Simulated) -> None:
    """Where no rule's absence alone loses acknowledged results: the groups' commits."""
    simulator = one.make(one.header)
    told = 0
    for seed in range(40):
        run = one.run(simulator, seed)
        if not run.run().healed:
            continue
        safe, since = run.cluster.commits.safe, run.cluster.commits.since
        for partition, offset in list(safe.items()):
            safe[partition] = 1_000
            assert run.lost() == (offset not in since.get(partition, ())), seed
            safe[partition] = offset
            told += 1
    assert told > 20


@users
@each
def test_every_action_is_taken(one: Simulated) -> None:
    names = [action["name"] for action in one.header["actions"]]
    simulator = one.make(one.header)
    taken: Counter[str] = Counter()
    for seed in range(one.taken):
        for record in records(simulator.run(seed).stream, one.cells, one.parameters):
            if isinstance(record, Record) and record.action >= 0 and record.kind == 0:
                taken[names[record.action]] += 1
    assert sorted(set(names) - set(taken)) == sorted(flaw_actions(one.specification))


@users
@each
def test_every_step_happens_at_a_node_that_takes_part(one: Simulated) -> None:
    """At one that the action's parameters name; at one that none names (the controller); or nowhere. All are seen."""
    nodes, actions = one.header["nodes"], one.header["actions"]
    domains = [[domain for domain in action["params"].values() if isinstance(domain[0], str)] for action in actions]
    apart = set(nodes) - {name for of_action in domains for domain in of_action for name in domain}
    seen: set[str] = set()
    simulator = one.make(one.header)
    for seed in range(60):
        for record in records(simulator.run(seed).stream, one.cells, one.parameters):
            if isinstance(record, Record) and record.action >= 0 and record.node:
                node = nodes[record.node - 1]
                params = zip(actions[record.action]["params"].values(), record.params, strict=True)
                assert node in apart or node in [domain[place] for domain, place in params], actions[record.action]
                seen.add(node)
    assert seen == set(nodes)


def varints(data: bytes) -> list[int]:
    """The numbers that the bytes of a step hold."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


NOWHERE = ("Repeat", "Lose", "DropLate", "Disconnect")
"""Actions of the network begin so, in every specification."""


@each
def test_every_action_of_a_node_has_its_node(one: Simulated) -> None:
    """Only those of the network have none though their first parameter is one. Those that no run takes are asked, too.
    A partition of transactions is no node."""
    plan = one.make(one.header).plan
    apart = set(one.module.NOWHERE) if one.protocol == "transactions" else set()
    nodes, owned = one.header["nodes"], 0
    for action in one.header["actions"]:
        name, domains = action["name"], list(action["params"].values())
        if not domains or not set(map(str, domains[0])) <= set(nodes):
            continue
        if not all(isinstance(domain[0], str | int) for domain in domains):
            continue
        first = [0 if isinstance(domain[0], str) else domain[0] for domain in domains]
        node = varints(plan.step((name, *first)))[1]
        assert bool(node) != (name.startswith(NOWHERE) or name in apart), name
        owned += bool(node)
    assert owned > min(5, len(one.header["actions"]) // 3)


@each
def test_every_action_says_what_it_touches(one: Simulated) -> None:
    plan = one.make(one.header).plan
    assert sorted(one.touches) == sorted(action["name"] for action in one.header["actions"])
    with pytest.raises(ValueError, match="no action Sleep"):
        plan.touches(("Sleep", 0))


@each
def test_a_parameter_outside_its_domain_is_written_for_the_auditor(one: Simulated) -> None:
    """A number beyond its domain by one is the second index behind the last; one parameter too many is a mistake. Of
    every action with names and numbers only."""
    plan = one.make(one.header).plan
    beyond = numbers = 0
    for action in one.header["actions"]:
        name, domains = action["name"], list(action["params"].values())
        if not all(isinstance(domain[0], str | int) for domain in domains):
            continue
        numbers += sum(not isinstance(domain[0], str) for domain in domains)
        first = [0 if isinstance(domain[0], str) else domain[0] for domain in domains]
        last = [len(domain) - 1 if isinstance(domain[0], str) else domain[-1] for domain in domains]
        assert plan.step((name, *first)) != plan.step((name, *last)) or first == last
        for number, (formal, domain) in enumerate(action["params"].items()):
            if isinstance(domain[0], str) or len(domain) > 126:
                continue
            values = [*last[:number], last[number] + 1, *last[number + 1 :]]
            for good, bad in (
                (plan.step((name, *last)), plan.step((name, *values))),
                (plan.refusal((name, *last)), plan.refusal((name, *values))),
            ):
                (at,) = [place for place, (was, byte) in enumerate(zip(good, bad, strict=True)) if was != byte]
                assert (good[at], bad[at]) == (len(domain) - 1, len(domain) + 1), (name, formal)
            beyond += 1
        with pytest.raises(ValueError, match=f"no action {name} with {len(first) + 1} parameters"):
            plan.step((name, *first, 0))
    assert bool(beyond) == bool(numbers)  # two-phase commit, say, has none


@users
@each
def test_an_unknown_profile_is_refused(one: Simulated) -> None:
    with pytest.raises(ValueError, match="no profile storm"):
        one.descriptor.simulate(0, table=one.header, profile="storm")


@each
def test_a_header_of_another_specification_is_refused(one: Simulated) -> None:
    """A header is refused that lacks any one variable, or has one more."""
    variables = one.header["variables"]
    for lacking in variables:
        others = {name: variable for name, variable in variables.items() if name != lacking}
        with pytest.raises(ValueError, match=f"no variable {lacking}|not that of|other variables than"):
            one.descriptor.simulate(0, table={**one.header, "variables": others})


def judged(one: Simulated, without: frozenset[str], streams: list[bytes]) -> Any:
    """The kernels' verdicts on traces, by the specification without some rules."""
    constants = {**one.specification.constants, "Without": without}
    kernels = compile_kernels(dataclasses.replace(one.specification, constants=constants))
    offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    return kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets)


@users
@each
def test_unflawed_traces_have_no_flag_and_flawed_ones_conform_without_their_rule(one: Simulated) -> None:
    clean = [one.descriptor.simulate(seed, table=one.header).stream for seed in range(400)]
    assert judged(one, frozenset(), clean).verdict.max() == 0
    without = frozenset({one.flawed})
    rules = one.descriptor.rules_without(without)
    runs = [
        one.descriptor.simulate(seed, table=one.header, profile=one.flawed_profile, rules=rules) for seed in range(120)
    ]
    flawed = [run.stream for run in runs]
    assert judged(one, frozenset(), flawed).first[:, 0].max() > 0
    assert judged(one, without, flawed).first[:, 0].max() < 0
    assert judged(one, without, flawed).verdict.max() == 1


@users
@each
def test_every_step_is_a_step_of_the_specification(one: Simulated) -> None:
    """By the reference evaluator, which shares nothing with the kernels."""
    explainer = Explainer(one.specification)
    for seed in range(one.judged):
        stored = Stored(f"seed-{seed}", one.descriptor.simulate(seed, table=one.header).stream, Path("none"), one.head)
        judgement = explainer.judge(decoded(stored, one.schema))
        assert judgement.verdict == "pass", (seed, judgement.reason, judgement.first)


def outside_environment(one: Simulated, profile: str, seeds: int) -> list[str]:
    """The assumptions about the environment (`Environment...`) that are false in some state of unflawed traces."""
    assumed = dataclasses.replace(one.specification, invariants=one.specification.environment)
    kernels = compile_kernels(assumed)
    # twice the usual steps, so that requests grow old
    streams = [
        one.descriptor.simulate(seed, table=one.header, profile=profile, steps=120).stream for seed in range(seeds)
    ]
    result = kernels.check(
        np.frombuffer(b"".join(streams), np.uint8), np.cumsum([0, *map(len, streams)]).astype(np.int64)
    )
    assert (result.reason == 0).all()
    named = {named.name for named in assumed.invariants}
    return [name for place, name in enumerate(kernels.checks) if name in named and result.first[:, place].max() >= 0]


@users
@each
def test_the_environment_is_as_the_specification_assumes(one: Simulated) -> None:
    """Replication's assumption has a parameter and is a guard of its crashes: every step is checked for it anyway."""
    assumed = {"idempotence": {"EnvironmentRequestsAreRecent"}}
    assert {named.name for named in one.specification.environment} == assumed.get(one.protocol, set())
    for profile in one.profiles if one.specification.environment else ():
        assert outside_environment(one, profile, seeds=40) == []
