"""The protocols that have a simulator: `spec/protocols.toml`, read here so that the machinery knows none of them by
name.

    [twophase]                                     # the protocol's name, as in `tidemark simulate twophase`
    spec = "twophase/TwoPhase.tla"                 # below spec/
    config = "twophase/TwoPhase.cfg"
    simulator = "package.module:factory"           # what makes traces
    golden = "package.module:function"             # runs a scenario of traces/golden/ (explain/card.py); this and the
    transcript = "package.module:function"         # next ones may be missing: the same with its transcript
    resimulator = "package.module:function"        # runs a trace again, changed (explain/shrink.py)
    sizes = { 5 = "twophase/TwoPhaseFive.cfg" }    # other sizes, for `tidemark simulate --size`
    [twophase.unreached]                           # what `tidemark verify` need not see, each with its reason
    "rule KeepDecision blocked" = "why"

`factory(header, *, steps, flaw, **options) -> simulate` gets the trace header (a dict, as `tidemark schema` prints
it), the number of steps that a trace should have, and the name of a flaw or None; `simulate(seed)` returns an object
with the attributes of `check.generate.Simulated`. `options` are the simulator's own (`profile`, say); one that can take
`without`, a list of rules to remove, serves `tidemark simulate --without`. Both travel to Spark's workers by pickle.
The factory's module may define `NODES`, the names of the nodes in its traces.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

    `golden`, `transcript`, `resimulator`: functions as `package.module:name`, "" where there is none; `sizes`: size ->
    its cfg; `unreached`: "action A", "rule R held" or "rule R blocked" -> why the unflawed run need not show it.
    """

    name: str
    spec: Path
    config: Path
    simulator: str
    golden: str = ""
    transcript: str = ""
    resimulator: str = ""
    sizes: dict[int, Path] = field(default_factory=dict)
    unreached: dict[str, str] = field(default_factory=dict)

    def function(self, named: str) -> Callable[..., Any]:
        """The function that `package.module:name` (one of this protocol's) names; Unusable if there is none."""
        module, _, attribute = named.partition(":")
        try:
            found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as problem:
            raise Unusable(
                f"{named} of the protocol {self.name} cannot be loaded ({problem}); "
                f"correct it in {spec_root() / REGISTRY}"
            ) from problem
        return found

    def _factory(self) -> tuple[Any, Callable[..., Simulator]]:
        factory = self.function(self.simulator)
        return importlib.import_module(self.simulator.partition(":")[0]), factory

    def packages(self) -> tuple[str, ...]:
        """The top-level packages that its simulation is made of: the simulator's, and the one that it simulates."""
        return tuple(sorted({self.simulator.partition(":")[0].partition(".")[0], "tidemark"}))

    def nodes(self, size: int | None = None) -> tuple[str, ...]:
        """The names of the nodes in its traces, of a size that is not the default by the module's `nodes_for(size)`."""
        module = self._factory()[0]
        return tuple(getattr(module, "NODES", ()) if size is None else module.nodes_for(size))

    def sized(self, size: int) -> Protocol:
        """The protocol with the cfg of another size; Unusable if it has none of that size."""
        if size not in self.sizes:
            known = ", ".join(map(str, self.sizes)) or "its default"
            raise Unusable(f"{self.name} does not come in size {size}; choose from {known}")
        return replace(self, config=self.sizes[size])

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
                **{key: str(entry[key]) for key in ("golden", "transcript", "resimulator") if key in entry},
                sizes={int(size): spec_root() / config for size, config in entry.get("sizes", {}).items()},
                unreached=dict(entry.get("unreached", {})),
            )
            for name, entry in table.items()
        }
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as problem:
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
