"""Prints digests of every simulator's streams as JSON: some seeds of every protocol, profile, flaw of the kill matrix
and composition. `compiled` says whether the implementation is compiled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidemark_conformance.implementation import compiled
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.simulate import simulators
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify.clean import judging

SEEDS, PROFILE_SEEDS, FLAW_SEEDS, RUNS = range(300), range(20), 6, range(12)
REPEATED = range(5)
STEPS = 50


def header_of(one: protocols.Protocol) -> Header:
    """Of a protocol's traces."""
    return schema_of(judging(one)).with_nodes(one.nodes())


def digest(simulate: Callable[[int], Any], seeds: Iterable[int]) -> str:
    """Of the traces of some seeds, and of what else is told of them."""
    hashed = hashlib.sha256()
    for seed in seeds:
        found = simulate(seed)
        for name, run in sorted(found.items()) if isinstance(found, Mapping) else [("", found)]:
            hashed.update(repr((name, run.trace, run.steps, sorted(run.facts.items()))).encode() + run.stream)
    return hashed.hexdigest()


def profiles(one: protocols.Protocol) -> Iterable[str]:
    """The names of its nemesis profiles."""
    return sorted(one.descriptor().profiles)


def again(one: protocols.Protocol, header: Header) -> str:
    """Of runs once more, with every other of their events, as explanations simulate them."""
    hashed = hashlib.sha256()
    for seed in REPEATED:
        run = simulators.again(one, header, f"seed-{seed}", {"steps": STEPS})
        kept = range(0, len(run.decisions), 2)
        hashed.update(repr(run.decisions).encode() + run.stream(range(len(run.decisions))) + run.stream(kept))
    return hashed.hexdigest()


def digests() -> dict[str, str]:
    """Of everything that simulates."""
    known = protocols.protocols()
    headers = {name: header_of(one) for name, one in known.items()}
    found = {}
    for name, one in known.items():
        found[name] = digest(simulators.simulator(one, headers[name], steps=STEPS), SEEDS)
        found[f"{name}, again"] = again(one, headers[name])
        for profile in profiles(one):
            simulate = simulators.simulator(one, headers[name], steps=STEPS, profile=profile)
            found[f"{name}, {profile}"] = digest(simulate, PROFILE_SEEDS)
    for row in zoo.rows():
        plan = row.simulation
        simulate = simulators.simulator(
            known[row.protocol], headers[row.protocol], steps=plan.steps, flaw=row.id, **plan.options
        )
        found[f"row {row.id}"] = digest(simulate, range(plan.first_seed, plan.first_seed + FLAW_SEEDS))
    for name, composition in protocols.compositions().items():
        parts = {
            part: schema_of(judging(one)).with_nodes(composition.nodes(part)) for part, one in composition.parts.items()
        }
        found[name] = digest(
            simulators.composed(composition, {name: header.to_json() for name, header in parts.items()}, steps=STEPS),
            RUNS,
        )
    return found


if __name__ == "__main__":
    print(json.dumps({"compiled": compiled.use(), "digests": digests()}))
