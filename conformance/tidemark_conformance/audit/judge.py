"""One worker's part of an audit: batches of delta streams in, a tally out. No Spark in here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance.audit.locate import at_rest
from tidemark_conformance.audit.result import by_number
from tidemark_conformance.audit.tally import EXAMPLES, Example, Group, Signature, Tally
from tidemark_conformance.console.progress import say
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import walk
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import Expr
from tidemark_conformance.tla.kernels.driver import CAPACITY
from tidemark_conformance.tla.kernels.runtime import Kernels, compile_kernels
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.values import show
from tidemark_conformance.trace.schema import Schema, schema_of

NOT_A_STEP = 0
"""The index of "not a step" in `kernels.checks`."""
PASS, FAIL, UNDECIDED = range(3)
"""Verdicts of the kernels."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of traces: stream i is `data[offsets[i]:offsets[i + 1]]`, `ids[i]` 64 bits of its id, `name(i)` its
    id."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    name: Callable[[int], str]

    def stream(self, row: int) -> bytes:
        """One trace's bytes."""
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()


def batch_of(names: Sequence[str], streams: Sequence[bytes]) -> Batch:
    """A batch of traces that are at hand one by one."""
    offsets = np.zeros(len(streams) + 1, np.int64)
    np.cumsum([len(stream) for stream in streams], out=offsets[1:])
    data = np.frombuffer(b"".join(streams) or b"\0", np.uint8)
    return Batch(data, offsets, np.array([id_hash(name) for name in names], np.int64), names.__getitem__)


def id_hash(name: str) -> int:
    """64 bits of a trace's id, as a signed integer."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


class Judge:
    """The compiled checks of one specification, and how to count their findings.

    `wanted`: passing traces to sample. `snapshot`: traces may start anywhere, and checks with history do not run.
    `located`: failing traces that are named keep their streams, not the first of a kind alone.
    """

    def __init__(
        self,
        specification: Specification,
        schema: Schema,
        wanted: int = 0,
        snapshot: bool = False,
        located: bool = False,
    ) -> None:
        if snapshot and specification.module.hidden:
            raise Unusable(
                f"{specification.module.name} hides {specification.module.hidden[0]}, which is computed from Init: "
                "leave --from-snapshot out"
            )
        self.specification = specification
        self.schema = schema
        self.kernels: Kernels = compile_kernels(
            specification,
            starting=lambda: say(
                f"compiling the checks of {specification.module.name} (once per text and set of rules)"
            ),
            form=(schema.layout, dict(schema.parameters)),
        )
        self._wanted = wanted
        self._snapshot = snapshot
        self._streams = EXAMPLES if located else 1

    def tally(self) -> Tally:
        """An empty tally."""
        fields = len(self.schema.observables.fields) if self.schema.observables is not None else 0
        actions, rules = len(self.schema.actions), len(self.specification.module.rules)
        return Tally.empty(actions, rules, self._wanted, fields, self._streams)

    def add(self, tally: Tally, batch: Batch, nodes: int) -> NDArray[np.uint8]:
        """Judge a batch whose header names so many nodes, and count it in `tally`; returns the verdicts."""
        found = self.kernels.check(batch.data, batch.offsets, nodes=nodes, snapshot=self._snapshot)
        tally.traces += len(batch.ids)
        tally.steps += int(found.steps.sum())
        tally.verdicts += np.bincount(found.verdict, minlength=3)
        tally.stepless += int(((found.verdict == PASS) & (found.steps == 0)).sum())
        tally.quiescent += int((at_rest(batch.data, batch.offsets) & (found.verdict != UNDECIDED)).sum())
        tally.actions += found.actions
        tally.rules += found.rules
        tally.told += found.told
        tally.ids.append(batch.ids)
        if found.verdict.any():
            self._count_failures(tally, batch, found.verdict == FAIL, found.first)
            self._count_undecided(tally, batch, np.flatnonzero(found.verdict == UNDECIDED), found.reason)
        if self._wanted:
            self._sample(tally, batch, np.flatnonzero(found.verdict == PASS))
        return found.verdict

    def _count_failures(self, tally: Tally, batch: Batch, failing: NDArray[np.bool_], first: NDArray[np.int32]) -> None:
        for check in range(first.shape[1]):
            rows = np.flatnonzero(failing & (first[:, check] >= 0))
            if not len(rows):
                continue
            actions = self._actions(batch, rows, first) if check == NOT_A_STEP else np.full(len(rows), -1, np.int64)
            for action in np.unique(actions):
                chosen = rows[actions == action]
                signature = (check, int(action))
                smallest = nsmallest(EXAMPLES, ((batch.name(int(row)), int(row)) for row in chosen), key=_by_number)
                group = tally.failing(signature)
                for index, (name, row) in enumerate(smallest):
                    counted = len(chosen) if index == 0 else 0
                    detail = group.wants(name) and index < self._streams
                    group.add(self._example(name, row, int(first[row, check]), batch, first, detail), counted)

    def _actions(self, batch: Batch, rows: NDArray[np.int64], first: NDArray[np.int32]) -> NDArray[np.int64]:
        """The action that each failing record claims to be."""
        return self.kernels.claimed_actions(batch.data, batch.offsets, rows, first[rows, NOT_A_STEP])

    def _example(self, name: str, row: int, step: int, batch: Batch, first: NDArray[np.int32], detail: bool) -> Example:
        if not detail:
            return Example(name, step)
        failures: list[tuple[Signature, int]] = []
        for check in np.flatnonzero(first[row] >= 0):
            rows = np.array([row])
            action = int(self._actions(batch, rows, first)[0]) if check == NOT_A_STEP else -1
            failures.append(((int(check), action), int(first[row, check])))
        return Example(name, step, batch.stream(row), tuple(failures))

    def _count_undecided(self, tally: Tally, batch: Batch, rows: NDArray[np.int64], reason: NDArray[np.uint8]) -> None:
        for code in np.unique(reason[rows]):
            chosen = rows[reason[rows] == code]
            names = nsmallest(EXAMPLES, (batch.name(int(row)) for row in chosen), key=by_number)
            group = tally.undecided.setdefault(int(code), Group())
            rows_of = {batch.name(int(row)): int(row) for row in chosen}
            for index, name in enumerate(names):
                stream = batch.stream(rows_of[name]) if index == 0 and code == CAPACITY and group.wants(name) else b""
                group.add(Example(name, -1, stream), len(chosen) if index == 0 else 0)

    def _sample(self, tally: Tally, batch: Batch, rows: NDArray[np.int64]) -> None:
        keys = batch.ids[rows]
        for index in np.argsort(keys)[: self._wanted]:
            row = int(rows[index])
            tally.keep_sample([(int(keys[index]), batch.name(row), batch.stream(row))])


def _by_number(named: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    return by_number(named[0])


_loaded: dict[object, tuple[object, Judge]] = {}
"""With what each asks, of which the key has but the names, and which limits it takes for capacities."""


def _schema_for(specification: Specification) -> Schema:
    """The schema, that of a judge by other rules where no set and no domain in it asks for a rule."""
    module = specification.module
    forms = [module.type_ok, *(param.domain for action in module.actions for param in action.params)]
    if module.observed is None and not any(map(_asks_for_rules, forms)):
        for _, judge in _loaded.values():
            if _same_but_rules(judge.specification, specification):
                return judge.schema
    return schema_of(specification)


def _asks_for_rules(form: Expr) -> bool:
    found = walk.mentioned(form)
    return bool(found.rules) or WITHOUT in found.constants


def _same_but_rules(one: Specification, other: Specification) -> bool:
    """Whether two specifications are of one module, as it was read once, under the same constants but the rules."""
    return (
        one.module is other.module
        and one.hash == other.hash
        and one.capacities == other.capacities
        and _constants(one) == _constants(other)
    )


def _constants(specification: Specification) -> list[tuple[str, str]]:
    """The constants but the rules, as texts: TRUE equals 1 in Python."""
    return sorted((name, show(value)) for name, value in specification.constants.items() if name != WITHOUT)


def judge_for(specification: Specification, wanted: int = 0, snapshot: bool = False, located: bool = False) -> Judge:
    """The judge of a specification, made once per process; anew when a check says something else than it did."""
    checked = (specification.invariants, specification.properties, specification.quiescence)
    key = (
        specification.module.name,
        str(specification.path),
        str(specification.cfg),
        specification.hash,
        tuple(_constants(specification)),
        specification.without,
        tuple((one.name, one.body) for one in specification.module.actions),
        tuple(tuple(one.name for one in family) for family in checked),
        wanted,
        snapshot,
        located,
    )
    asked = checked, specification.capacities
    known = _loaded.get(key)
    if known is None or known[0] != asked:
        known = _loaded[key] = asked, Judge(specification, _schema_for(specification), wanted, snapshot, located)
    return known[1]
