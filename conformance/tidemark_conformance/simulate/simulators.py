"""Runs registered protocols: traces of seeds, golden scenarios, runs once more.

A protocol of the registry names a descriptor of `tidemark` or a factory of anybody's (registry/protocols.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tidemark_conformance.errors import DefectError, Unusable
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import Composition, Protocol
from tidemark_conformance.simulate.generate import BAD, GOOD, SOME, Composed, Simulated, Simulator
from tidemark_conformance.trace.header import Header

if TYPE_CHECKING:
    from tidemark.simulator.running import SimulatorBase
    from tidemark.simulator.shared import SimResult

DEFAULT_PROFILE = "mixed"
OTHERS = "attempts that changed nothing"


def simulator(known: Protocol, header: Header, *, steps: int, flaw: str | None = None, **options: Any) -> Simulator:
    """A function from a seed to a trace. `flaw`: a row of the zoo, by id or number, whose rules are removed. `options`:
    `profile` and `without`, rules that are removed, too; of a factory its own.

    Raises Unusable for an unknown flaw, rule, profile or option.
    """
    if not known.implementation:
        made: Simulator = known.function(known.simulator)(header.to_json(), steps=steps, flaw=flaw, **options)
        return made
    profile, without = _options(known, known.descriptor().owner, known.descriptor().profiles, options)
    rules = out_of_force(flaw, without)
    _removed(known, rules)
    return partial(_run, known, header.to_json(), steps, profile, rules)


def composed(known: Composition, tables: Mapping[str, dict[str, Any]], *, steps: int, **options: Any) -> Composed:
    """A function from a seed to its traces, by part. `tables`: the parts' trace headers, as dicts; `options`: `profile`
    and `without`, rules of the protocol above that are removed; of a factory its own.

    Raises Unusable for an unknown rule, profile or option, and for parts that are not those of a run.
    """
    if not known.implementation:
        made: Composed = known.function(known.simulator)(tables, steps=steps, **options)
        return made
    one = known.descriptor()
    profile, without = _options(known, "the composition", one.profiles, options)
    above = tables[one.part]
    logs = {name: table for name, table in tables.items() if name != one.part}
    if logs.keys() != one.logs(above["constants"]) or any(table != logs[one.log] for table in logs.values()):
        names = ", ".join(sorted(one.logs(above["constants"])))
        raise Unusable(
            f"{known.name} has the parts {one.part}, {names}, all but the first with the same cfg; correct the "
            "protocol.toml that names it"
        )
    rules = tuple(sorted(without))
    _removed(known, rules)
    return partial(_run_composed, known, logs[one.log], above, steps, profile, rules)


Swarm = Callable[[str, int], Mapping[str, Simulated]]
"""From the name of a swarm world and a seed to the traces of a run, by part ("" where there is one). It travels as a
`Simulator` does."""


def swarm(
    known: Protocol | Composition, tables: Mapping[str, dict[str, Any]], *, steps: int, without: Collection[str]
) -> Swarm:
    """The runs of all swarm worlds without some rules. `tables`: the parts' trace headers, as dicts.

    Raises Unusable for an unknown rule, and for an implementation that has no descriptor and so no worlds.
    """
    if not known.implementation:
        raise Unusable(f"{known.name} has a simulator of its own, which has no worlds to hunt in; name a descriptor")
    rules = tuple(sorted(without))
    if isinstance(known, Composition):
        composed(known, tables, steps=steps, without=rules)
        one = known.descriptor()
        return partial(_world_composed, known, tables[one.log], tables[one.part], steps, rules)
    _removed(known, rules)
    return partial(_world, known, tables[""], steps, rules)


def _world(
    known: Protocol, table: dict[str, Any], steps: int, rules: tuple[str, ...], world: str, seed: int
) -> dict[str, Simulated]:
    return {"": _run(known, table, steps, world, rules, seed)}


def _world_composed(
    known: Composition,
    log: dict[str, Any],
    table: dict[str, Any],
    steps: int,
    rules: tuple[str, ...],
    world: str,
    seed: int,
) -> dict[str, Simulated]:
    return _run_composed(known, log, table, steps, world, rules, seed)


def transcript(known: Protocol, header: Header, text: str, without: Collection[str]) -> tuple[bytes, str]:
    """Runs a golden scenario with some rules removed: its delta stream and its transcript. Raises Unusable for a text
    that is no scenario, and where its expectations do not hold."""
    from tidemark.simulator.script import ScenarioError

    rules = _removed(known, tuple(sorted(without))) if without else None
    try:
        result = known.descriptor().scenario(header.to_json(), text, rules)
    except ScenarioError as problem:
        raise Unusable(f"a golden scenario does not run as it says: {problem}") from problem
    return result.stream, result.transcript


def again(known: Protocol, header: Header, trace: str, settings: Mapping[str, Any]) -> Again:
    """The trace `seed-<n>` of a run with given settings, to be simulated once more. Raises ValueError for another
    id."""
    seed, one = int(trace.removeprefix("seed-")), known.descriptor()
    profile = settings.get("profile") or DEFAULT_PROFILE
    rules = _removed(known, out_of_force(settings.get("flaw"), settings.get("without", ())))
    return Again(one.simulators(header.to_json(), steps=settings["steps"], profile=profile, rules=rules), seed, one)


class Again:
    """The repetition of one trace, with some of its events left out.

    A decision is an event that did something; the first one stands for all others. Of kinds that are among the
    descriptor's faults, an event may have done something although the run recorded nothing.
    """

    def __init__(self, simulator: SimulatorBase, seed: int, descriptor: Any) -> None:
        from tidemark.simulator.running import Selection

        self._selection: type[Selection] = Selection
        self._simulator, self._seed, self._faults = simulator, seed, descriptor.faults
        everything = Selection(self._faults)
        simulator.again(seed, everything)
        self._drawn = everything.drawn
        self._played = everything.played
        self._others = frozenset(range(sum(self._drawn))) - {number for number, _ in self._played}

    @property
    def decisions(self) -> Sequence[str]:
        """The kind of every event."""
        return [OTHERS, *(kind for _, kind in self._played)]

    def stream(self, kept: Sequence[int]) -> bytes:
        """The trace with only these events; the steps of the healing follow from them."""
        numbers = {self._played[index - 1][0] for index in kept if index}
        if 0 in kept:
            numbers |= self._others
        return self._simulator.again(self._seed, self._selection(self._faults, numbers, self._drawn)).stream


def out_of_force(flaw: str | None, without: Collection[str]) -> tuple[str, ...]:
    """The rules of a row of the zoo (by id or number) and those of `without`, sorted. Raises Unusable for an unknown
    row, and for a number that several rows have."""
    return tuple(sorted({*without, *(zoo.one(flaw).rules if flaw else ())}))


def _options(
    known: Protocol | Composition, owner: str, profiles: Collection[str], options: Mapping[str, Any]
) -> tuple[str, Collection[str]]:
    """The profile and the rules to remove. Raises Unusable for an unknown profile, and for any other option."""
    from tidemark.simulator.worlds import is_world, parts_of

    others = sorted(options.keys() - {"profile", "without"})
    if others:
        raise Unusable(f"{owner}'s simulator has no option {others[0]}; it takes profile and without")
    profile = options.get("profile", DEFAULT_PROFILE)
    if is_world(profile):
        try:
            parts_of(profile)
        except ValueError as problem:
            raise Unusable(f"{problem}") from problem
    elif profile not in profiles:
        raise Unusable(f"{owner}'s simulator has no profile {profile}; choose from {', '.join(sorted(profiles))}")
    return profile, options.get("without", ())


def _removed(known: Protocol | Composition, names: tuple[str, ...]) -> Any:
    """The implementation's rules without some, made once. Raises Unusable for a name that is no rule."""
    one = known.descriptor()
    return _rules(one.protocol.rules_without if isinstance(known, Composition) else one.rules_without, names)


@cache
def _rules(rules_without: Callable[[tuple[str, ...]], Any], names: tuple[str, ...]) -> Any:
    try:
        return rules_without(names)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem


def _run(
    known: Protocol, header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int
) -> Simulated:
    """The trace of one seed, with what a client found after healing among its facts."""
    one = known.descriptor()
    with _defects_named(one.owner):
        result = one.simulate(seed, table=header, steps=steps, profile=profile, rules=_removed(known, without))
    return _simulated(seed, result, one.lost, one.healed)


def _run_composed(
    known: Composition,
    log: dict[str, Any],
    header: dict[str, Any],
    steps: int,
    profile: str,
    without: tuple[str, ...],
    seed: int,
) -> dict[str, Simulated]:
    """All traces of one seed. The facts of the protocol above tell the clients' findings after healing, and the events
    of the logs."""
    one = known.descriptor()
    with _defects_named(f"the composition of {one.protocol.owner} and its logs"):
        result = one.simulate(seed, log, header, steps=steps, profile=profile, rules=_removed(known, without))
    facts = {
        f"{SOME}fail-overs": result.fail_overs,
        f"{SOME}{one.entries} that were not committed and that a successor had": result.kept,
        f"{SOME}{one.entries} that were not committed and that no successor had": result.dropped,
        f"{SOME}{one.entries} that a deposed coordinator appended": result.orphaned,
        "runs that ended where lost records came back": int(result.returned),
    }
    highest = _simulated(seed, result.parts[one.part], one.protocol.lost, one.protocol.healed)
    parts = {one.part: replace(highest, facts={**highest.facts, **facts})}
    for name, part in result.parts.items():
        if name != one.part:  # the protocol is asked for the records acknowledged after healing: not every log needs it
            log_part = _simulated(seed, part, "records", "clusters")
            kept = {fact: n for fact, n in log_part.facts.items() if not fact.startswith(GOOD)}
            parts[name] = replace(log_part, facts=kept)
    return parts


@contextlib.contextmanager
def _defects_named(owner: str) -> Iterator[None]:
    """Turns the end of a watched run into DefectError. `owner`: the protocol's name in messages."""
    from tidemark.common.errors import UndeclaredChange

    try:
        yield
    except UndeclaredChange as problem:
        raise DefectError(f"{owner}'s simulator, {problem}") from problem


def _simulated(seed: int, result: SimResult, lost: str, cluster: str) -> Simulated:
    """A run with what a client found after healing among its facts. `lost`, `cluster`: the clients' words for the
    things lost ("records") and the thing healed ("clusters")."""
    facts = {
        "changing": result.changing,
        "healed": int(result.healed),
        "acknowledged": result.acked,
        f"traces with lost {lost}": int(result.lost > 0),
        f"{BAD}lost {lost}": result.lost,
        f"{BAD}healed {cluster} that did not come to rest": int(result.healed and not result.converged),
        f"{GOOD}an acknowledgement after healing": int(not result.healed or result.acked > 0),
    }
    return Simulated(f"seed-{seed}", result.stream, result.steps, facts)
