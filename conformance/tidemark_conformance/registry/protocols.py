"""The protocols that have a simulator: `spec/protocols.toml`, read here so that the machinery knows none of them by
name.

    [twophase]                                     # the protocol's name, as in `tidemark simulate twophase`
    spec = "twophase/TwoPhase.tla"                 # below spec/
    config = "twophase/TwoPhase.cfg"
    simulator = "package.module:factory"           # what makes traces
    transcript = "package.module:function"         # runs a scenario of traces/golden/ (commands/golden.py); this and
    resimulator = "package.module:function"        # the next ones may be missing: runs a trace again, changed
                                                   # (explain/shrink.py)
    demonstration = "package.module:class"         # `tidemark demo` (simulate/demonstration.py)
    package = "package"                            # where its rules are (explain/card.py), if not in tidemark.<folder>
    sizes = { 5 = "twophase/TwoPhaseFive.cfg" }    # other sizes, for `tidemark simulate --size`
    traces = 100000                                # how many unflawed ones `tidemark verify` makes at most
    [twophase.unreached]                           # what `tidemark verify` need not see, each with its reason
    "rule KeepDecision blocked" = "why"
    [together]                                     # a composition: runs that several specifications judge
    simulator = "package.module:factory"
    [together.parts]                               # protocols of this table, each with the cfg by which it judges;
    twophase = "twophase/TwoPhaseFive.cfg"         # a part that is not called as its protocol says which it is
    other = { protocol = "twophase", config = "twophase/TwoPhase.cfg" }

`factory(header, *, steps, flaw, **options) -> simulate` gets the trace header (a dict, as `tidemark schema` prints
it), the number of steps that a trace should have, and the name of a flaw or None; `simulate(seed)` returns an object
with the attributes of `check.generate.Simulated`. `options` are the simulator's own (`profile`, say); one that can take
`without`, a list of rules to remove, serves `tidemark simulate --without`. Both travel to Spark's workers by pickle.
The factory's module may define `NODES`, the names of the nodes in its traces.

A composition's `factory(headers, *, steps, **options) -> simulate` gets the header of every part by its name, and
`simulate(seed)` returns the part's traces by the same names, all with the same id; its module may define
`nodes_of(part)`.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import spec_root
from tidemark_conformance.simulate.generate import Composed, Simulator
from tidemark_conformance.trace.header import Header

REGISTRY = "protocols.toml"
OPTIONAL = ("transcript", "resimulator", "demonstration", "package")
"""What a protocol may name beside its simulator."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol with a simulator; `spec` and `config` are the files by which its traces are judged.

    `transcript`, `resimulator`, `demonstration`: functions as `package.module:name`, "" where there is none; `package`:
    of its rules, "" for the one that is called as the specification's folder; `sizes`:
    size -> its cfg; `unreached`: "action A", "rule R held" or "rule R blocked" -> why the unflawed run need not show
    it; `traces`: so many unflawed traces at most are made by `tidemark verify` (0: as many as for any protocol).
    """

    name: str
    spec: Path
    config: Path
    simulator: str
    transcript: str = ""
    resimulator: str = ""
    demonstration: str = ""
    package: str = ""
    sizes: dict[int, Path] = field(default_factory=dict)
    unreached: dict[str, str] = field(default_factory=dict)
    traces: int = 0

    def function(self, named: str) -> Callable[..., Any]:
        """The function that `package.module:name` (one of this protocol's) names; Unusable if there is none."""
        return _function(self.name, named)

    def _factory(self) -> tuple[Any, Callable[..., Simulator]]:
        return _factory(self.name, self.simulator)

    def packages(self) -> tuple[str, ...]:
        """The top-level packages that its simulation is made of: the simulator's, and the one that it simulates."""
        return _packages(self.simulator)

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


@dataclass(frozen=True, slots=True)
class Composition:
    """Runs that several specifications judge, each its own trace. `parts`: by name, the protocols, with the cfg by
    which their traces are judged here; several may be of one protocol."""

    name: str
    simulator: str
    parts: dict[str, Protocol]

    def packages(self) -> tuple[str, ...]:
        """The top-level packages that its simulation is made of, as of a protocol."""
        return _packages(self.simulator)

    def nodes(self, part: str) -> tuple[str, ...]:
        """The names of the nodes in a part's traces."""
        nodes_of = getattr(_factory(self.name, self.simulator)[0], "nodes_of", None)
        return tuple(nodes_of(part)) if nodes_of else self.parts[part].nodes()

    def make_simulator(self, headers: Mapping[str, Header], *, steps: int, **options: Any) -> Composed:
        """A function from a seed to its traces, by part; `options` go to the factory as they are."""
        tables = {name: header.to_json() for name, header in headers.items()}
        made: Composed = _factory(self.name, self.simulator)[1](tables, steps=steps, **options)
        return made


def _function(owner: str, named: str) -> Callable[..., Any]:
    module, _, attribute = named.partition(":")
    compiled.use()
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as problem:
        raise Unusable(
            f"{named} of the protocol {owner} cannot be loaded ({problem}); correct it in {spec_root() / REGISTRY}"
        ) from problem
    return found


def _factory(owner: str, named: str) -> tuple[Any, Callable[..., Any]]:
    """A simulator's module, and its factory."""
    found = _function(owner, named)
    return importlib.import_module(named.partition(":")[0]), found


def _packages(simulator: str) -> tuple[str, ...]:
    return tuple(sorted({simulator.partition(":")[0].partition(".")[0], "tidemark"}))


def _table() -> dict[str, Any]:
    """The registry as it stands in its file."""
    path = spec_root() / REGISTRY
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, ValueError) as problem:
        raise _no_table(problem) from problem


def _no_table(problem: Exception) -> Unusable:
    return Unusable(
        f"{spec_root() / REGISTRY} is no table of protocols ({problem}); each needs spec, config and simulator"
    )


def protocols() -> dict[str, Protocol]:
    """The registered protocols by name; Unusable if the registry cannot be read."""
    try:
        return {
            name: Protocol(
                name,
                spec_root() / entry["spec"],
                spec_root() / entry["config"],
                entry["simulator"],
                **{key: str(entry[key]) for key in OPTIONAL if key in entry},
                sizes={int(size): spec_root() / config for size, config in entry.get("sizes", {}).items()},
                unreached=dict(entry.get("unreached", {})),
                traces=int(entry.get("traces", 0)),
            )
            for name, entry in _table().items()
            if "parts" not in entry
        }
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise _no_table(problem) from problem


def compositions() -> dict[str, Composition]:
    """The registered compositions by name; Unusable if the registry cannot be read, or for a part that it has not."""
    known = protocols()
    try:
        return {
            name: Composition(
                name,
                entry["simulator"],
                {part: _part(known, part, how) for part, how in entry["parts"].items()},
            )
            for name, entry in _table().items()
            if "parts" in entry
        }
    except (KeyError, TypeError, AttributeError) as problem:
        raise _no_table(problem) from problem


def _part(known: Mapping[str, Protocol], part: str, how: str | Mapping[str, str]) -> Protocol:
    """A composition's part: a cfg where it is called as its protocol, else the protocol and the cfg."""
    named, config = (part, how) if isinstance(how, str) else (how["protocol"], how["config"])
    return replace(known[named], config=spec_root() / config)


def protocol(name: str, others: Iterable[str] = ()) -> Protocol:
    """The registered protocol `name`; Unusable if there is none. `others`: names that its caller takes, too."""
    known = protocols()
    if name not in known:
        names = ", ".join(sorted({*known, *others})) or "none"
        raise Unusable(f"no protocol is called {name} (known: {names}); register it in {spec_root() / REGISTRY}")
    return known[name]
