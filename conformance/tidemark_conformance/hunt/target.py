"""The target of a hunt: a registered protocol or composition, some rules out of force, and the judges of its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.hunt.island import Job, Part
from tidemark_conformance.registry.protocols import Composition, Protocol, compositions, protocol
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.registry.zoo import Row
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of

STEPS = 60
"""Steps of a run, about; a world's runs have so many times its length."""


@dataclass(frozen=True, slots=True)
class Target:
    """`headers`: those of the traces, by part."""

    known: Protocol | Composition
    without: tuple[str, ...]
    parts: tuple[Part, ...]
    headers: dict[str, Header]

    @property
    def judged_by(self) -> str:
        """SHA-256 (hex) of the texts that judge the runs: the modules and the cfg of every part."""
        hashed = hashlib.sha256()
        for part in self.parts:
            for file in (*part.specification.sources.values(), part.specification.cfg):
                text = file.read_bytes()
                hashed.update(len(text).to_bytes(8, "big") + text)
        return hashed.hexdigest()

    def job(self, seed: int, until: str | None = None) -> Job:
        """The hunt of a seed; `until` as of `Job`."""
        tables = {name: header.to_json() for name, header in self.headers.items()}
        swarm = simulators.swarm(self.known, tables, steps=STEPS, without=self.without)
        return Job(swarm, self.parts, seed, until)


def known_as(name: str, others: Collection[str] = ()) -> Protocol | Composition:
    """The protocol or composition of a name. Raises Unusable where there is none, or where it has no descriptor.
    `others`: names that the caller takes, too."""
    composed = compositions()
    known = composed.get(name) or protocol(name, [*composed, *others])
    if not known.implementation:
        raise Unusable(f"{name} has a simulator of its own, which has no worlds to hunt in; name a descriptor")
    return known


def target(known: Protocol | Composition, without: Collection[str] = ()) -> Target:
    """The implementation without some rules, judged by the specification without them. Raises Unusable for a name that
    is no rule."""
    rules = frozenset(without)
    if isinstance(known, Protocol):
        part, header = _part("", known, known.nodes(), rules)
        return Target(known, tuple(sorted(rules)), (part,), {"": header})
    above = known.descriptor().part
    parts: list[Part] = []
    headers: dict[str, Header] = {}
    for name, one in sorted(known.parts.items(), key=lambda item: item[0] != above):
        removed = rules if name == above else frozenset[str]()
        part, headers[name] = _part(name, one, known.nodes(name), removed)
        parts.append(part)
    return Target(known, tuple(sorted(rules)), tuple(parts), headers)


def _part(name: str, known: Protocol, nodes: Sequence[str], removed: frozenset[str]) -> tuple[Part, Header]:
    whole = load(known.spec, known.config)
    specification = with_rules_off(whole, removed)
    header = schema_of(specification).with_nodes(nodes)
    return Part(name, specification, len(header.nodes), whole if removed else None), header


def rules_of(row: Row, known: Protocol | Composition) -> tuple[str, ...]:
    """The rules of a row of the zoo. Raises Unusable for a row of another protocol."""
    if row.protocol != known.name:
        command = f"tidemark hunt {row.protocol} --flaw {row.id}"
        raise Unusable(f"row {row.number} ({row.id}) is one of {row.protocol}: `{command}`")
    return row.rules
