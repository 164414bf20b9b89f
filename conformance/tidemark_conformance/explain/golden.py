"""Golden runs: where the scenarios of zoo rows stand, a row's run, and its judgement without some rules."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import Judgement
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.run import Run
from tidemark_conformance.java import modules
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of

Judged = tuple[Explainer, Run, Judgement]
"""A run, decoded, with its judgement and whose it is."""


def golden_root() -> Path:
    """The folder of golden scenarios, a folder each protocol, beside the specifications."""
    return spec_root().parent / "traces" / "golden"


def golden_file(row: zoo.Row) -> Path:
    """Where a row's scenario is."""
    return golden_root() / row.protocol.replace("-", "_") / f"{row.id}.txt"


def golden_run(
    row: zoo.Row, known: protocols.Protocol, header: Header, without: Collection[str] | None = None
) -> Stored:
    """The run of a row's golden scenario without some rules (None: without the row's). Raises Unusable if there is
    none, or it fails."""
    file = golden_file(row)
    if not known.scripted or not file.is_file():
        raise Unusable(f"row {row.id} has no golden scenario {file.name}; write one")
    text = file.read_text(encoding="utf-8")
    removed = row.rules if without is None else tuple(without)
    return Stored(row.id, simulators.transcript(known, header, text, removed)[0], file, header)


class Stage:
    """A protocol's specification, and judges of its runs by the reference evaluator: one per set of rules removed. The
    one with all rules in force is kept.

    `header`: of its traces, with the nodes by the names that the protocol has.
    """

    def __init__(self, name: str) -> None:
        self._known = protocols.protocol(name)
        self._specification = load(self._known.spec, self._known.config)
        self._schema = schema_of(self._specification)
        self.header: Header = self._schema.with_nodes(self._known.nodes())

    def judge(self, trace: Stored, without: Collection[str]) -> Judged:
        """Judge one trace by the specification without some rules."""
        explainer = self._explainer(frozenset(without)) if without else self._right
        run = decoded(trace, self._schema)
        return explainer, run, explainer.judge(run)

    @functools.cached_property
    def _right(self) -> Explainer:
        return self._explainer(frozenset())

    def _explainer(self, without: frozenset[str]) -> Explainer:
        return Explainer(with_rules_off(self._specification, without))

    def golden(self, row: zoo.Row, without: Collection[str]) -> Judged:
        """The golden run of a row without some rules, judged without them. Raises Unusable as `golden_run` does."""
        return self.judge(golden_run(row, self._known, self.header, without), without)


def stage(name: str) -> Stage:
    """The stage of a protocol: made once, and anew when the protocol's entry, a module or the cfg has changed."""
    known = protocols.protocol(name)
    texts = sorted((module, text) for module, (_, text) in modules.closure(known.spec).items())
    return _stage(name, repr((known, texts, known.config.read_text(encoding="utf-8"))))


@functools.lru_cache(maxsize=8)
def _stage(name: str, _key: str) -> Stage:
    return Stage(name)
