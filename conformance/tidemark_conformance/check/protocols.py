"""The protocols that have a simulator: `spec/protocols.toml`, read here so that the machinery knows none of them by
name.

    [twophase]                                     # the protocol's name, as in `tidemark simulate twophase`
    spec = "twophase/TwoPhase.tla"                 # below spec/
    config = "twophase/TwoPhase.cfg"
    simulator = "package.module:factory"           # what makes traces
    [twophase.unreached]                           # what `tidemark verify` need not see, each with its reason
    "rule KeepDecision blocked" = "why"

`factory(header, *, steps, flaw, **options) -> simulate` gets the trace header (a dict, as `tidemark schema` prints
it), the number of steps that a trace should have, and the name of a flaw or None; `simulate(seed)` returns an object
with the attributes of `check.generate.Simulated`. Both travel to Spark's workers by pickle. The factory's module may
define `NODES`, the names of the nodes in its traces.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark_conformance.check.generate import Simulator
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.trace.header import Header

REGISTRY = "protocols.toml"


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol with a simulator; `spec` and `config` are the files by which its traces are judged.

    `unreached`: "action A", "rule R held" or "rule R blocked" -> why the unflawed run need not show it.
    """

    name: str
    spec: Path
    config: Path
    simulator: str
    unreached: dict[str, str] = field(default_factory=dict)

    def _factory(self) -> tuple[Any, Callable[..., Simulator]]:
        module_name, _, attribute = self.simulator.partition(":")
        try:
            module = importlib.import_module(module_name)
            return module, getattr(module, attribute)
        except (ImportError, AttributeError) as problem:
            raise Unusable(
                f"the simulator of {self.name}, {self.simulator}, cannot be loaded ({problem}); "
                f"correct it in {spec_root() / REGISTRY}"
            ) from problem

    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes in its traces."""
        return tuple(getattr(self._factory()[0], "NODES", ()))

    def make_simulator(self, header: Header, *, steps: int, flaw: str | None = None, **options: Any) -> Simulator:
        """A function from a seed to a trace; `options` go to the factory as they are."""
        return self._factory()[1](header.to_json(), steps=steps, flaw=flaw, **options)


def protocols() -> dict[str, Protocol]:
    """The registered protocols by name; Unusable if the registry cannot be read."""
    path = spec_root() / REGISTRY
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text())
        return {
            name: Protocol(
                name,
                spec_root() / entry["spec"],
                spec_root() / entry["config"],
                entry["simulator"],
                dict(entry.get("unreached", {})),
            )
            for name, entry in table.items()
        }
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise Unusable(
            f"{path} is no table of protocols ({problem}); each needs spec, config and simulator"
        ) from problem


def protocol(name: str) -> Protocol:
    """The registered protocol `name`; Unusable if there is none."""
    known = protocols()
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise Unusable(f"no protocol is called {name} (known: {names}); register it in {spec_root() / REGISTRY}")
    return known[name]
