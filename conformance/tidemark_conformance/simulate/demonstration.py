"""Demonstrates a protocol by one long run of its implementation, with a trace for the audit. A client that knows
nothing of the specification counts the results.

    [exactly-once]
    demonstration = "package.module:name"          # in spec/<protocol>/protocol.toml: a `Demonstration`
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark_conformance.console.progress import Progress
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.simulate.generate import Simulated


@dataclass(frozen=True, slots=True)
class Demonstrated:
    """The result of a demonstration's run.

    `facts`: the counts, in the order in which they are shown. `bad`: names of counts that should be 0. `wrong`: one
    line for every error. `verdict`: the sentence below them. `trace`: for the audit.
    """

    facts: Mapping[str, int]
    bad: Collection[str]
    wrong: Sequence[str]
    verdict: str
    trace: Simulated


class Demonstration(ABC):
    """A protocol's demonstration. `summary`: its claim. `counted`: the things that its progress counts, as a plural.
    `without`: the help of the option that takes rules out."""

    summary: str
    counted: str
    without: str

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its own arguments (seed, rules and output are everybody's)."""

    @abstractmethod
    def judged_by(self, args: argparse.Namespace, out: Path) -> tuple[Path, Path]:
        """The specification of the trace and its cfg, which is written to `out` if there is none of that size. Raises
        Unusable for arguments that mean nothing."""

    @abstractmethod
    def nodes(self, args: argparse.Namespace) -> tuple[str, ...]:
        """The names of the nodes in the trace."""

    @abstractmethod
    def run(self, args: argparse.Namespace, header: Mapping[str, Any], progress: Progress) -> Demonstrated:
        """The run; `header` is that of its trace."""


def demonstrations() -> dict[str, Demonstration]:
    """The registered demonstrations by their protocols' names. Raises Unusable for one that cannot be loaded."""
    return {name: one.function(one.demonstration)() for name, one in protocols().items() if one.demonstration}
