"""The state that a trace, or a golden scenario of the zoo, has reached: where a symbolic search can begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain import load
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.golden import golden_run
from tidemark_conformance.explain.run import Run
from tidemark_conformance.prove.universe import Universe
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import protocol
from tidemark_conformance.registry.specifications import load_for, with_rules_off
from tidemark_conformance.symbolic.search import loaded
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.files import file_header
from tidemark_conformance.trace.schema import schema_of

ROOM = 2
"""How far beyond the first state the capacities reach, where the cfg's are larger."""


@dataclass(frozen=True)
class Beginning:
    """A trace up to a step, with the state there, history included, and the specification that judges it."""

    spec: Specification
    run: Run
    state: dict[str, Value]


def beginning(place: str, spec: Specification | None, without: frozenset[str] | None) -> Beginning:
    """The state at `TRACE:STEP`. TRACE is a trace file or folder of one trace, `PATH:ID`, or a row of the zoo.

    `spec`: judges it (None: the one that its header names). `without`: the rules that are not in force (None: the
    cfg's, of a golden scenario the row's). Raises Unusable where there is no such state, or the trace fails before.
    """
    trace, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal():
        raise Unusable(f"--from {place} names no step: give TRACE:STEP, such as witness.ndjson:12")
    spec, run = _golden(trace, spec, without) if not _stored(trace) else _of_file(trace, spec, without)
    step = int(number)
    if step >= len(run.events):
        raise Unusable(f"--from {place}: {trace} has {len(run.events) - 1} steps: give one of them")
    run = replace(run, events=run.events[: step + 1], quiescent=False, damage=None, beyond=None)
    judgement = Explainer(spec).judge(run)
    if judgement.verdict == "undecided":
        raise Unusable(f"--from {place}: the trace cannot be judged ({judgement.reason}): correct it")
    if judgement.first:
        (kind, name), at = min(judgement.first.items(), key=lambda item: item[1])
        raise Unusable(f"--from {place}: {name or kind} fails at step {at} already: begin before it")
    return Beginning(spec, run, judgement.states[-1])


def _stored(trace: str) -> bool:
    return Path(trace).exists() or Path(trace.rpartition(":")[0] or "/nowhere").exists()


def _golden(trace: str, spec: Specification | None, without: frozenset[str] | None) -> tuple[Specification, Run]:
    row = zoo.one(trace)
    known = protocol(row.protocol)
    rules = frozenset(row.rules) if without is None else without
    spec = with_rules_off(spec or loaded(known.spec, known.config), rules)
    schema = schema_of(spec)
    header = schema.with_nodes(known.nodes())
    return spec, load.decoded(golden_run(row, known, header, rules), schema)


def _of_file(trace: str, spec: Specification | None, without: frozenset[str] | None) -> tuple[Specification, Run]:
    path, wanted = Path(trace), None
    if not path.exists():
        name, _, wanted = trace.rpartition(":")
        path = Path(name)
    header = file_header(load.files(path)[0])
    if spec is None:
        named, _ = load_for(header.spec, None, None, constants=header.constants)
        spec = loaded(named.path, named.cfg)
    if without is not None:
        spec = with_rules_off(spec, without)
    schema = schema_of(spec)
    found = list(load.stored(path, schema, wanted))
    if len(found) != 1:
        raise Unusable(f"{trace} holds {len(found)} traces: name one, as PATH:ID:STEP")
    return spec, load.decoded(found[0], schema)


def with_room(spec: Specification, state: Mapping[str, Value], steps: int) -> Specification:
    """The specification with capacities that hold the state and a little more, none larger than the cfg's.

    Fewer cells are fewer terms. A run that needs larger ones is not found.
    """
    if spec.capacities is None:
        return spec
    for name in sorted(Universe(spec, infinite=False).lifted):
        least, most = 0, spec.constants[name]
        while least < most:
            middle = (least + most) // 2
            if _typed(_with(spec, name, middle), state):
                most = middle
            else:
                least = middle + 1
        spec = _with(spec, name, min(spec.constants[name], least + min(ROOM, steps)))
    return spec


def _with(spec: Specification, name: str, value: int) -> Specification:
    return replace(spec, constants={**spec.constants, name: value})


def _typed(spec: Specification, state: Mapping[str, Value]) -> bool:
    return bool(compile_python(spec).invariant("TypeOK", state))
