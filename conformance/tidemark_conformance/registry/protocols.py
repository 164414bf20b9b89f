"""The protocols that have a simulator: `spec/<protocol>/protocol.toml`, read here so that the machinery knows none of
them by name.

    [two-phase]                                    # the protocol's name, as in `tidemark simulate two-phase`
    spec = "TwoPhase.tla"                          # beside this file
    config = "TwoPhase.cfg"
    implementation = "package.module:DESCRIPTOR"   # a `tidemark.simulator.protocol.Protocol`; or, of anybody's program,
    simulator = "package.module:factory"           # a function that makes traces
    sizes = { 5 = "TwoPhaseFive.cfg" }             # other sizes, for `tidemark simulate --size`
    traces = 100000                                # how many unflawed ones `tidemark verify` makes at most
    order = 1                                      # its place in lists; without one it comes last
    [two-phase.unreached]                          # events that `tidemark verify` need not see, each with its reason
    "rule KeepDecision blocked" = "why"
    [together]                                     # a composition: runs that several specifications judge
    implementation = "package.module:DESCRIPTOR"   # a `tidemark.compositions.protocol.Composition`
    [together.parts]                               # protocols, each with the cfg by which it judges (below spec/);
    two-phase = "two_phase/TwoPhaseFive.cfg"       # a part of another name than its protocol names it
    other = { protocol = "two-phase", config = "two_phase/TwoPhase.cfg" }

`factory(header, *, steps, flaw, **options) -> simulate` gets the trace header (a dict, as `tidemark schema` prints it)
and the number of steps that a trace should have. `flaw` is the name of a flaw or None. `simulate(seed)` returns an
object with the attributes of `simulate.generate.Simulated`. `options` are the simulator's own (`profile`, say); one
that can take `without`, a list of rules to remove, serves `tidemark simulate --without`. Both travel to Spark's workers
by pickle. The factory's module may define `NODES`, the names of the nodes in its traces. A composition may name a
factory, too. It gets the header of every part by its name, and `simulate(seed)` returns the part's traces by the same
names.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tidemark.common.naming import instead, underscored

from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import spec_root

REGISTRY = "protocol.toml"
LAST = 1000
"""The place of a protocol without one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The registry's entry of a protocol or a composition.

    `implementation`: its descriptor, or "" where `simulator` names somebody's factory. Both have the form
    `package.module:name`.
    """

    name: str
    implementation: str = ""
    simulator: str = ""

    @property
    def named(self) -> str:
        """The one of the two that is given."""
        return self.implementation or self.simulator

    def descriptor(self) -> Any:
        """The implementation's descriptor, None where there is only a factory. Raises Unusable for a wrong name."""
        return self.function(self.implementation) if self.implementation else None

    def function(self, named: str) -> Any:
        """The object that `package.module:name` names; Unusable if there is none."""
        module, _, attribute = named.partition(":")
        compiled.use()
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as problem:
            raise Unusable(
                f"{named} of the protocol {self.name} cannot be loaded ({problem}); correct it in the {REGISTRY} that "
                "names it"
            ) from problem

    def packages(self) -> tuple[str, ...]:
        """The top-level packages that its simulation is made of: the simulator's, and the one that it simulates."""
        return tuple(sorted({self.named.partition(":")[0].partition(".")[0], "tidemark"}))


@dataclass(frozen=True, slots=True)
class Protocol(Entry):
    """A protocol with a simulator; `spec` and `config` are the files by which its traces are judged.

    `sizes`: size -> its cfg. `unreached`: "action A", "rule R held" or "rule R blocked" -> why the unflawed run need
    not show it. `traces`: `tidemark verify` makes at most so many unflawed traces (0: as many as for any protocol).
    """

    spec: Path = Path()
    config: Path = Path()
    sizes: dict[int, Path] = field(default_factory=dict)
    unreached: dict[str, str] = field(default_factory=dict)
    traces: int = 0

    @property
    def package(self) -> str:
        """The package that has its rules, "" where no descriptor says it."""
        return self.implementation.partition(":")[0].rpartition(".")[0]

    @property
    def scripted(self) -> bool:
        """Whether its golden scenarios can be run."""
        return bool(self.implementation)

    def nodes(self, size: int | None = None) -> tuple[str, ...]:
        """The names of the nodes in its traces, of a size that is not the default by the descriptor's `sized`."""
        known = self.descriptor()
        if known is None:
            self.function(self.simulator)
            return tuple(getattr(importlib.import_module(self.simulator.partition(":")[0]), "NODES", ()))
        return tuple(known.nodes if size is None else known.sized(size))

    def sized(self, size: int) -> Protocol:
        """The protocol with the cfg of another size; Unusable if it has none of that size."""
        if size not in self.sizes:
            known = ", ".join(map(str, self.sizes)) or "its default"
            raise Unusable(f"{self.name} does not come in size {size}; choose from {known}")
        return replace(self, config=self.sizes[size])


@dataclass(frozen=True, slots=True)
class Composition(Entry):
    """Runs that several specifications judge, each its own trace. `parts`: by name, the protocols, with the cfg by
    which their traces are judged here; several may be of one protocol."""

    parts: dict[str, Protocol] = field(default_factory=dict)

    def nodes(self, part: str) -> tuple[str, ...]:
        """The names of the nodes in a part's traces."""
        known = self.descriptor()
        return self.parts[part].nodes() if known is None else tuple(known.nodes(part))


def modules(package: str, kind: str) -> list[ModuleType]:
    """The modules of an implementation's package, and of packages in it, that are called `kind` or end so: a folder of
    specifications may have several. None where there is no such package; Unusable where it lacks what it imports."""
    try:
        found = importlib.import_module(package)
    except ModuleNotFoundError as problem:
        if problem.name is not None and package.startswith(problem.name):
            return []
        raise Unusable(f"{package} cannot be imported ({problem}); install what it needs") from problem
    names = [one.name for one in pkgutil.walk_packages(found.__path__, f"{package}.")]
    return [importlib.import_module(name) for name in names if name.endswith((f".{kind}", f"_{kind}"))]


def files() -> list[Path]:
    """The registry's files, one in each protocol's folder."""
    return sorted(spec_root().glob(f"*/{REGISTRY}"))


def _table() -> dict[str, tuple[dict[str, Any], Path]]:
    """The entries of the registry's files by name, in the order of places, each with the path of its file."""
    found: dict[str, tuple[dict[str, Any], Path]] = {}
    for path in files():
        try:
            for name, entry in tomllib.loads(path.read_text()).items():
                if name in found:
                    raise Unusable(f"{path} names {name}, as does another {REGISTRY}; give each its own name")
                found[name] = entry, path
            ordered = sorted(found, key=lambda name: (int(found[name][0].get("order", LAST)), name))
        except (tomllib.TOMLDecodeError, ValueError, TypeError, AttributeError) as problem:
            raise _no_table(path, problem) from problem
        found = {name: found[name] for name in ordered}
    return found


def _no_table(path: Path, problem: Exception) -> Unusable:
    return Unusable(
        f"{path} is no table of protocols ({problem}); each needs spec, config, and implementation or simulator"
    )


def _named(entry: Mapping[str, Any]) -> dict[str, str]:
    """How an entry names its implementation. Raises KeyError where it does not."""
    key = "implementation" if "implementation" in entry else "simulator"
    return {key: str(entry[key])}


def protocols() -> dict[str, Protocol]:
    """The registered protocols by name; Unusable if the registry cannot be read."""
    return {name: _protocol(name, entry, path) for name, (entry, path) in _table().items() if "parts" not in entry}


def _protocol(name: str, entry: Mapping[str, Any], path: Path) -> Protocol:
    folder = path.parent
    try:
        return Protocol(
            name,
            **_named(entry),
            spec=folder / entry["spec"],
            config=folder / entry["config"],
            sizes={int(size): folder / config for size, config in entry.get("sizes", {}).items()},
            unreached=dict(entry.get("unreached", {})),
            traces=int(entry.get("traces", 0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise _no_table(path, problem) from problem


def compositions() -> dict[str, Composition]:
    """The registered compositions by name; Unusable if the registry cannot be read, or for a part that it has not."""
    known = protocols()
    found = {}
    for name, (entry, path) in _table().items():
        if "parts" not in entry:
            continue
        try:
            parts = {part: _part(known, part, how) for part, how in entry["parts"].items()}
            found[name] = Composition(name, **_named(entry), parts=parts)
        except (KeyError, TypeError, AttributeError) as problem:
            raise _no_table(path, problem) from problem
    return found


def _part(known: Mapping[str, Protocol], part: str, how: str | Mapping[str, str]) -> Protocol:
    """A composition's part: a cfg where it is called as its protocol, else the protocol and the cfg."""
    named, config = (part, how) if isinstance(how, str) else (how["protocol"], how["config"])
    return replace(known[named], config=spec_root() / config)


def protocol(name: str, others: Iterable[str] = ()) -> Protocol:
    """The registered protocol `name`; Unusable if there is none. `others`: names that its caller takes, too."""
    known = protocols()
    if name not in known:
        names = sorted({*known, *others})
        where = f"choose from {', '.join(names)}" if names else f"register it in spec/<protocol>/{REGISTRY}"
        raise Unusable(f"no protocol is called {name}: {instead(name, names, where, underscored)}")
    return known[name]
