r"""Init, Next and action properties as the text gives them, by SANY's tables.

Their allowed forms are decided here and nowhere else. The compiler elaborates them, and the modules that are generated
for TLC quote them. Next is a disjunction of named actions, their parameters bound by `\E` around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import sany
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.elaborate import Elaborator
from tidemark_conformance.tla.overrides import overridden
from tidemark_conformance.tla.scope import refuse

_OR = ("\\lor", "$DisjList")
_AND = ("\\land", "$ConjList")
_EXISTS = "$BoundedExists"


@dataclass(frozen=True)
class Disjunct:
    """A named action as Next uses it: its definition, and the domain of each parameter (in its own order)."""

    call: sany.Apply
    definition: sany.Definition
    domains: tuple[sany.Node, ...]

    @property
    def name(self) -> str:
        return self.definition.name


@dataclass(frozen=True)
class Box:
    """`[][action]_subscript`."""

    action: sany.Node
    subscript: sany.Node


class Relation:
    """A parsed module under a cfg: its behaviours, and its properties of steps."""

    def __init__(self, tables: sany.Tables, config: Config) -> None:
        self.tables = tables = overridden(tables, config)
        self.config = config
        self.elaborator = Elaborator(tables)
        self.families: set[str] = set()
        """Operators of Next that stand for several actions, as far as `disjuncts` has met them."""

    def definition(self, name: str, why: str) -> tuple[int, sany.Definition]:
        """The parameterless operator `name`, which is `why`. Raises Unusable if there is none."""
        uid = self.tables.operator(name)
        entry = self.tables.entries.get(uid) if uid is not None else None
        if uid is None or not isinstance(entry, sany.Definition) or entry.body is None:
            raise Unusable(f"module {self.tables.root} does not define {name}, {why}: define it")
        if entry.params:
            raise refuse(entry.loc, f"{name} has parameters", f"it must have none, being {why}")
        return uid, entry

    # Init and Next

    def behaviour(self) -> tuple[sany.Node, sany.Node]:
        """The nodes of Init and Next, by INIT and NEXT or from the cfg's SPECIFICATION."""
        config = self.config
        if config.specification is None:
            _, init = self.definition(config.init or "Init", "the initial predicate")
            _, following = self.definition(config.next or "Next", "the next-state relation")
            if init.body is None or following.body is None:
                raise Unusable(f"module {self.tables.root} leaves Init or Next open: define them")
            return init.body, following.body
        _, spec = self.definition(config.specification, "the cfg's SPECIFICATION")
        parts = self.temporal_parts(spec.body)
        first = [part for part in parts if part.level <= 1]
        boxes = [box for part in parts if (box := self.square(part)) is not None]
        if len(first) != 1 or len(boxes) != 1:
            raise refuse(spec.loc, f"{spec.name} is not Init /\\ [][Next]_vars", "write it so (fairness may follow)")
        return first[0], boxes[0].action

    def temporal_parts(self, node: sany.Node | None) -> list[sany.Node]:
        """The conjuncts of a temporal formula, seen through parameterless operators that are temporal themselves."""
        if isinstance(node, sany.Apply):
            name = self.tables.entries[node.operator].name
            if name in _AND and node.level >= 3:
                return [part for operand in node.operands for part in self.temporal_parts(operand)]
            aliased = self.alias(node)
            if aliased is not None and node.level >= 3:
                return self.temporal_parts(aliased)
        return [] if node is None else [node]

    def alias(self, node: sany.Node) -> sany.Node | None:
        """The body of the parameterless operator that `node` is a plain mention of."""
        if isinstance(node, sany.Apply) and not node.operands:
            entry = self.tables.entries[node.operator]
            if isinstance(entry, sany.Definition):
                return entry.body
        return None

    def square(self, node: sany.Node) -> Box | None:
        """A and v of `[][A]_v`, None for another formula."""
        if not isinstance(node, sany.Apply) or self.tables.entries[node.operator].name != "[]":
            return None
        inner = node.operands[0]
        if not isinstance(inner, sany.Apply) or self.tables.entries[inner.operator].name != "$SquareAct":
            return None
        return Box(inner.operands[0], inner.operands[1])

    def property(self, name: str) -> Box | None:
        """A and v of the cfg's property `name`, None if it is no action property."""
        _, entry = self.definition(name, "a PROPERTY of the cfg")
        node = entry.body
        while node is not None and (aliased := self.alias(node)) is not None:
            node = aliased
        return self.square(node) if node is not None else None

    def predicates(self, prefix: str) -> tuple[str, ...]:
        """The parameterless operators whose names start so, in the order of the text, but Next's own actions.

        Raises Unsupported for one that mentions the next state or time.
        """
        actions = {one.name for one in self.disjuncts()}
        found: list[str] = []
        for uid in self.tables.members:
            one = self.tables.entries[uid]
            if not isinstance(one, sany.Definition) or not one.name.startswith(prefix):
                continue
            if one.params or one.body is None or one.name in actions or one.name in self.families:
                continue
            if one.body.level > 1:
                raise refuse(
                    one.loc,
                    f"{one.name} is named as a state predicate and is none",
                    f"let it mention no next state, or call it otherwise than {prefix}...",
                )
            found.append(one.name)
        return tuple(found)

    def names_bound(self, node: sany.Node) -> set[str]:
        """The names that an expression's own text binds."""
        if isinstance(node, sany.LetIn):
            found = self.names_bound(node.body)
            for uid in node.definitions:
                found |= {self.tables.entries[uid].name} | self._names_in(uid)
            return found
        if isinstance(node, sany.OperatorArgument):
            entry = self.tables.entries[node.operator]
            return self._names_in(node.operator) if entry.name == "LAMBDA" else set()
        if not isinstance(node, sany.Apply):
            return set()
        found = {self.tables.entries[uid].name for bound in node.bounds for uid in bound.formals}
        inner = [bound.domain for bound in node.bounds if bound.domain is not None]
        return found.union(*(self.names_bound(part) for part in (*node.operands, *inner)))

    def _names_in(self, uid: int) -> set[str]:
        entry = self.tables.entries[uid]
        if not isinstance(entry, sany.Definition) or entry.body is None:
            return set()
        return {self.tables.entries[formal].name for formal in entry.params} | self.names_bound(entry.body)

    # The actions of Next

    def disjuncts(self) -> list[Disjunct]:
        """The actions of Next, in its order. Raises Unsupported (module and line) for a Next of another form."""
        _, node = self.behaviour()
        while (aliased := self.alias(node)) is not None and self.is_disjunction(aliased):
            node = aliased
        found: dict[str, Disjunct] = {}
        for call, binders in self._disjuncts(node, {}):
            one = self._disjunct(call, binders)
            if one.name in found:
                raise refuse(call.loc, f"Next has the action {one.name} twice", "give each action one disjunct")
            found[one.name] = one
        return list(found.values())

    def is_disjunction(self, node: sany.Node) -> bool:
        if not isinstance(node, sany.Apply):
            return False
        if self.tables.entries[node.operator].name in (*_OR, _EXISTS):
            return True
        aliased = self.alias(node)
        return aliased is not None and self.is_disjunction(aliased)

    def _disjuncts(
        self, node: sany.Node, binders: dict[int, sany.Node]
    ) -> Iterator[tuple[sany.Apply, dict[int, sany.Node]]]:
        """The named actions of Next with the domains (by uid) of the identifiers bound around them."""
        if isinstance(node, sany.Apply):
            entry = self.tables.entries[node.operator]
            if entry.name in _OR:
                for operand in node.operands:
                    yield from self._disjuncts(operand, binders)
                return
            if entry.name == _EXISTS:
                inner = dict(binders)
                for bound in node.bounds:
                    if bound.pattern or bound.domain is None:
                        raise refuse(node.loc, "Next binds a tuple of parameters", "bind each parameter by its name")
                    inner.update(dict.fromkeys(bound.formals, bound.domain))
                yield from self._disjuncts(node.operands[0], inner)
                return
            if isinstance(entry, sany.Definition) and not self.elaborator.is_library(node.operator):
                group = self.alias(node)
                if group is not None and self._is_group(group):
                    self.families.add(entry.name)
                    yield from self._disjuncts(group, binders)
                else:
                    yield node, binders
                return
        raise refuse(
            node.loc, "Next has a disjunct that is no named action", "write \\E p \\in D : Action(p), bounds apart"
        )

    def _is_group(self, node: sany.Node) -> bool:
        """Is this a disjunction of named actions (so that its name stands for a family of them)?"""

        def named(part: sany.Node) -> bool:
            if not isinstance(part, sany.Apply):
                return False
            entry = self.tables.entries[part.operator]
            if entry.name in (*_OR, _EXISTS):
                return all(named(operand) for operand in part.operands)
            return isinstance(entry, sany.Definition) and not self.elaborator.is_library(part.operator)

        return self.alias(node) is None and self.is_disjunction(node) and named(node)

    def _disjunct(self, call: sany.Apply, binders: Mapping[int, sany.Node]) -> Disjunct:
        entry = self.tables.entries[call.operator]
        if not isinstance(entry, sany.Definition) or entry.body is None:
            raise refuse(call.loc, "Next has a disjunct that is no named action", "define an operator for it")
        seen: list[int] = []
        for operand in call.operands:
            if not isinstance(operand, sany.Apply) or operand.operator not in binders or operand.operator in seen:
                raise refuse(
                    operand.loc, f"an argument of {entry.name} is no parameter of its own", "bind one \\E per parameter"
                )
            seen.append(operand.operator)
        unused = [uid for uid in binders if uid not in seen]
        if unused:
            raise refuse(
                call.loc,
                f"{self.tables.entries[unused[0]].name} is bound but not passed to {entry.name}",
                "leave it out",
            )
        return Disjunct(call, entry, tuple(binders[uid] for uid in seen))
