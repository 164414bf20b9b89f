"""What a protocol can be shown by: one long run of its implementation, counted by a client that knows nothing of the
specification, with a trace for the audit.

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
    """What a run came to. `facts`: what is counted, in the order in which it is shown, `bad` those of them that should
    be 0; `wrong`: one line for everything that must not be; `verdict`: the sentence below them; `trace`: for the
    audit."""

    facts: Mapping[str, int]
    bad: Collection[str]
    wrong: Sequence[str]
    verdict: str
    trace: Simulated


class Demonstration(ABC):
    """A protocol's demonstration. `summary`: what is shown; `counted`: what its progress counts, as a plural;
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
