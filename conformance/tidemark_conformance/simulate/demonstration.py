"""Protocols' demonstrations, as `tidemark demo` runs them: one long run of the implementation, with a trace for the
audit. A protocol's descriptor has its demonstration (tidemark/simulator/demonstration.py)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark.common.naming import snake_case

from tidemark_conformance.console.progress import Progress
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.registry.protocols import Protocol, protocols
from tidemark_conformance.tla import cfg

if TYPE_CHECKING:
    from tidemark.simulator.demonstration import Demonstrated, Demonstration


@dataclass(frozen=True, slots=True)
class Shown:
    """A registered protocol's demonstration."""

    protocol: Protocol
    demonstration: Demonstration

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its own options."""
        for one in self.demonstration.options:
            said = f"{one.help} ({one.default:,})"
            parser.add_argument(f"--{one.name}", type=int, default=one.default, metavar="N", help=said)

    def prepared(self, args: argparse.Namespace, out: Path) -> Prepared:
        """The run that the arguments ask for. Where it does not fit into the cfg, one of its size is written to `out`.
        Raises Unusable for arguments that mean nothing."""
        one = self.demonstration
        sizes = {option.name: int(getattr(args, option.name)) for option in one.options}
        for option in one.options:
            size = sizes[option.name]
            if size < option.least:
                wrong = "leaves nothing to do" if option.least else "is no number of them"
                raise Unusable(f"--{option.name} {size} {wrong}; give {option.least} or more")
        rules = self._rules(args.without)
        folder = self.protocol.spec.parent
        spec, config = folder / one.spec, folder / one.config
        fit = one.fit(sizes, cfg.read(config).constants)
        if fit.constants:
            config = _of_another_size(config, fit.constants, out)
        return Prepared(one, sizes, args.seed, rules, spec, config, fit.nodes)

    def _rules(self, without: str | None) -> Any:
        """The rules in force. Raises Unusable where `--without` has no name, or one that is no rule and no alias."""
        aliases = self.demonstration.aliases
        names = [one for one in (without or "").split(",") if one]
        if without is not None and not names:
            raise Unusable(
                f"--without {without!r} names no rule; leave the option out, or give rules, separated by commas"
            )
        rules = sorted({rule for name in names for rule in aliases.get(name, (name,))}, key=snake_case)
        try:
            return self.protocol.descriptor().rules_without(rules)
        except ValueError as problem:
            raise Unusable(f"{problem} (for several at once: {', '.join(aliases)})") from problem


@dataclass(frozen=True, slots=True)
class Prepared:
    """A demonstration of certain sizes. `spec`, `config`: by which its trace is judged; `nodes`: those in the trace."""

    demonstration: Demonstration
    sizes: Mapping[str, int]
    seed: int
    rules: Any
    spec: Path
    config: Path
    nodes: tuple[str, ...]

    def run(self, header: Mapping[str, Any], progress: Progress) -> Demonstrated:
        """All of it; `header` is that of its trace."""
        return self.demonstration.run(self.sizes, self.seed, self.rules, header, progress.update)


def _of_another_size(config: Path, constants: Mapping[str, str], out: Path) -> Path:
    """A copy of a cfg with other constants, written to `out`."""
    lines = config.read_text().splitlines()
    for number, line in enumerate(lines):
        constant = line.split("=")[0].strip()
        if constant in constants:
            lines[number] = f"    {constant} = {constants[constant]}"
    own = out / f"_{config.name}"
    with writable(own):
        own.write_text("\n".join(lines) + "\n")
    return own


def demonstrations() -> dict[str, Shown]:
    """The demonstrations by their protocols' names. Raises Unusable for a descriptor that cannot be loaded."""
    found = {}
    for name, protocol in protocols().items():
        descriptor = protocol.descriptor()
        if descriptor is not None and descriptor.demonstration is not None:
            found[name] = Shown(protocol, descriptor.demonstration)
    return found
