r"""SANY's tables -> closed, inlined IR.

Operators are inlined where they are used. An argument is a closure over the place it was written in, so a prime around
a call reaches the variables inside the arguments. An argument that a body uses more than once becomes a lazy `Let`. A
LET definition is evaluated where it stands: a prime around its name is refused (write the prime inside). INSTANCE's
substitutions are passed down dynamically, since SANY wraps only the operator that is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidemark_conformance.java.modules import STANDARD
from tidemark_conformance.tla import sany, walk, written
from tidemark_conformance.tla.forms import FORMS
from tidemark_conformance.tla.ir import (
    Const,
    Expr,
    Fold,
    HasRule,
    If,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    RuleGuard,
    SetEnum,
    TupleLit,
    Var,
)
from tidemark_conformance.tla.scope import (
    ADVICE,
    GENERAL_ADVICE,
    NATIVE,
    SPOKEN,
    STANDARD_OPERATORS,
    Closure,
    Context,
    Fixed,
    Meaning,
    Operator,
    Shared,
    refuse,
)

WITHOUT = "Without"
"""The constant that holds the rules that are not in force."""


class Elaborator:
    """Elaborates expressions of one parsed root module; every bound identifier gets a uid of its own."""

    def __init__(self, tables: sany.Tables) -> None:
        self.tables = tables
        self.fresh = 0
        self.stateful: set[int] = set()
        self.uses: dict[int, dict[int, int]] = {}

    # Names

    def local(self, name: str) -> Local:
        self.fresh += 1
        return Local(self.fresh, name)

    def entry(self, uid: int, loc: Loc) -> sany.Entry:
        entry = self.tables.entries.get(uid)
        if entry is None:
            raise refuse(loc, "the name means a module, theorem or assumption", "use an operator of the module")
        return entry

    def is_argument(self, node: sany.Node) -> bool:
        """Is this the name of a parameter, so that its text stands elsewhere?"""
        return isinstance(node, sany.Apply) and isinstance(self.tables.entries.get(node.operator), sany.Formal)

    def origin(self, definition: sany.Definition) -> tuple[str, str]:
        """Module and name of a definition, seen through INSTANCE: where the text of its body stands."""
        body = definition.body
        while isinstance(body, sany.Substitution):
            body = body.body
        module = body.loc.module if body is not None else definition.loc.module
        return module, definition.name.rsplit("!", 1)[-1]

    def is_library(self, uid: int) -> bool:
        """Is this an operator of a standard module, or of the fold library (whose text is checked)?"""
        entry = self.tables.entries.get(uid)
        if not isinstance(entry, sany.Definition):
            return isinstance(entry, sany.Builtin)
        module, _ = self.origin(entry)
        return module in STANDARD or (module == "Folds" and module in self.tables.library)

    # Expressions

    def expression(self, node: sany.Node, context: Context) -> Expr:
        """The IR of `node`. Raises Unsupported with its place for a node that has none."""
        if isinstance(node, sany.Apply):
            return self._apply(node, context)
        if isinstance(node, sany.Numeral):
            return Lit(node.value, "int")
        if isinstance(node, sany.String):
            return Lit(node.value, "str")
        if isinstance(node, sany.LetIn):
            return self._let(node, context)
        if isinstance(node, sany.At):
            if context.at is None:
                raise refuse(node.loc, "@ stands outside EXCEPT", "use it only in the value of an EXCEPT")
            return context.at
        if isinstance(node, sany.Substitution):
            given = {uid: Closure(value, context) for uid, value in node.substitutions}
            return self.expression(
                node.body, replace(context, substitutions={**context.substitutions, **given}, at=None)
            )
        tag = node.tag if isinstance(node, sany.Unknown) else type(node).__name__
        raise refuse(node.loc, f"{tag} is no expression that can be compiled", "express it with the conventions' means")

    def inner(self, node: sany.Node, context: Context) -> Expr:
        """The IR of a subexpression that is no part of the predicate's skeleton."""
        return self.expression(node, replace(context, spine=False) if context.spine else context)

    def _apply(self, node: sany.Apply, context: Context) -> Expr:
        entry = self.entry(node.operator, node.loc)
        if isinstance(entry, sany.Builtin):
            return self._builtin(entry.name, node, context)
        if isinstance(entry, sany.Formal):
            return self._name(node, entry.name, context)
        if isinstance(entry, sany.Declaration):
            return self._declared(node, entry, context)
        meaning = context.env.get(node.operator)
        if isinstance(meaning, Shared):
            return self._shared(meaning, node.loc, context)
        arguments: list[Meaning] = [Closure(operand, context) for operand in node.operands]
        home = meaning.context if isinstance(meaning, Operator) else None
        return self._call(node.operator, arguments, context, node.loc, home)

    def _name(self, node: sany.Apply, name: str, context: Context) -> Expr:
        meaning = context.env.get(node.operator)
        if meaning is None:
            raise refuse(node.loc, f"{name} is not bound here", "use it inside the expression that binds it")
        if node.operands:
            return self._apply_meaning(meaning, [Closure(o, context) for o in node.operands], context, node.loc)
        return self._meaning(meaning, node.loc, context)

    def _meaning(self, meaning: Meaning, loc: Loc, context: Context) -> Expr:
        if isinstance(meaning, Fixed):
            return meaning.expr
        if isinstance(meaning, Shared):
            return self._shared(meaning, loc, context)
        if isinstance(meaning, Closure):
            there = meaning.context
            return self.expression(
                meaning.node,
                replace(there, primed=there.primed or context.primed, spine=context.spine),
            )
        raise refuse(loc, "an operator stands where a value is needed", "apply it to its arguments")

    def _apply_meaning(self, meaning: Meaning, arguments: list[Meaning], context: Context, loc: Loc) -> Expr:
        """An operator argument applied: `meaning` leads, maybe through other parameters, to an operator."""
        if isinstance(meaning, Operator):
            return self._call(meaning.uid, arguments, context, loc, meaning.context)
        if isinstance(meaning, Closure) and isinstance(meaning.node, sany.OperatorArgument):
            further = meaning.context.env.get(meaning.node.operator)
            if further is None:
                return self._call(meaning.node.operator, arguments, context, loc, meaning.context)
            return self._apply_meaning(further, arguments, context, loc)
        raise refuse(loc, "a value is applied like an operator", "use f[x] for a function")

    def _shared(self, shared: Shared, loc: Loc, context: Context) -> Expr:
        if context.primed == shared.primed or not shared.stateful:
            shared.used = True
            return shared.local
        if not shared.argument:
            raise refuse(
                loc,
                f"the prime reaches the LET definition {shared.local.name}, which is evaluated in the state",
                "write the prime inside the definition",
            )
        return self._meaning(shared.closure, loc, context)

    def _declared(self, node: sany.Apply, entry: sany.Declaration, context: Context) -> Expr:
        substituted = context.substitutions.get(node.operator)
        if substituted is not None:
            if node.operands:
                return self._apply_meaning(substituted, [Closure(o, context) for o in node.operands], context, node.loc)
            return self._meaning(substituted, node.loc, context)
        if entry.kind == "variable":
            return Var(entry.name, context.primed)
        if entry.kind != "constant" or entry.arity:
            raise refuse(node.loc, f"{entry.name} is a constant operator", "declare constants without parameters")
        return Const(entry.name)

    # Inlining

    def _call(self, uid: int, arguments: Sequence[Meaning], context: Context, loc: Loc, home: Context | None) -> Expr:
        """Operator `uid` applied; `home` is where its free names live (None: the top of a module)."""
        entry = self.entry(uid, loc)
        flat = replace(context, spine=False)
        if isinstance(entry, sany.Builtin):
            name = NATIVE.get(entry.name)
            if name is None:
                raise refuse(loc, f"{entry.name} is given as an argument", "wrap it in a LAMBDA or an operator")
            return Op(name, tuple(self._meaning(argument, loc, flat) for argument in arguments))
        if not isinstance(entry, sany.Definition):
            raise refuse(loc, f"{entry.name} is given as an operator", "define an operator for it")
        module, name = self.origin(entry)
        if module in STANDARD:
            return self._standard(module, name, arguments, flat, loc)
        if module == "Folds" and module in self.tables.library and name in ("FoldSet", "FoldSeq"):
            return self._fold("set" if name == "FoldSet" else "seq", arguments, flat, loc)
        if entry.recursive:
            raise refuse(loc, f"{name} is RECURSIVE", "use FoldSet or FoldSeq of lib/Folds.tla")
        if entry.body is None:
            raise refuse(loc, f"{name} has no definition", "define it")
        return self._inline(uid, entry, name, arguments, context, home)

    def _inline(
        self,
        uid: int,
        entry: sany.Definition,
        name: str,
        arguments: Sequence[Meaning],
        context: Context,
        home: Context | None,
    ) -> Expr:
        if entry.body is None or len(entry.params) != len(arguments):
            raise refuse(entry.loc, f"{name} is applied to {len(arguments)} arguments", "give one per parameter")
        env = dict(home.env) if home is not None else {}
        lets: list[Shared] = []
        counts = self._uses(uid, entry)
        for formal, argument in zip(entry.params, arguments, strict=True):
            env[formal] = self._argument(formal, argument, counts.get(formal, 0), context)
            if isinstance(shared := env[formal], Shared):
                lets.append(shared)
        inside = Context(
            env,
            home.substitutions if home is not None else context.substitutions,
            context.primed,
            home.at if home is not None else None,
            context.spine,
        )
        body = self.expression(entry.body, inside)
        plain = walk.strip(body)
        if isinstance(plain, HasRule) or (isinstance(plain, RuleGuard) and self._names(arguments, plain.rule)):
            return body
        given = tuple(written.argument(one, self.tables) for one in arguments)
        if isinstance(plain, RuleGuard) and plain.rule == name:
            return replace(plain, predicate=Mark(name, entry.loc, self._wrap(lets, plain.predicate), given))
        return Mark(name, entry.loc, self._wrap(lets, body), given)

    @staticmethod
    def _names(arguments: Sequence[Meaning], rule: str) -> bool:
        """Is the first argument the name of this rule? Then the operator is one of those that all rules are made of."""
        first = arguments[0] if arguments else None
        return isinstance(first, Closure) and isinstance(first.node, sany.String) and first.node.value == rule

    def _argument(self, formal: int, argument: Meaning, uses: int, context: Context) -> Meaning:
        """The meaning of a formal parameter inside the body: the argument itself, or a `Let` if the body uses it
        repeatedly."""
        entry = self.tables.entries[formal]
        if not isinstance(argument, Closure) or isinstance(argument.node, sany.OperatorArgument):
            return argument
        if uses < 2 or (isinstance(entry, sany.Formal) and entry.arity):
            return argument
        value = self._meaning(argument, argument.node.loc, replace(context, spine=False))
        plain = walk.strip(value)
        if isinstance(plain, (Lit, Const, Local, Var, HasRule)):
            return argument
        return self._share(entry.name, argument, value, context.primed, argument=True)

    def _share(self, name: str, closure: Closure, value: Expr, primed: bool, argument: bool) -> Shared:
        local = self.local(name)
        stateful = bool(walk.variables_used(value)) or bool(walk.locals_used(value) & self.stateful)
        if stateful:
            self.stateful.add(local.uid)
        return Shared(local, closure, value, primed, stateful, argument)

    def _wrap(self, lets: list[Shared], body: Expr) -> Expr:
        for shared in reversed(lets):
            if shared.used:
                body = walk.wrap_let(Let(shared.local.uid, shared.local.name, shared.value, body), body)
        return body

    def _uses(self, uid: int, entry: sany.Definition) -> dict[int, int]:
        """How often the body of a definition mentions each formal; a place that may be evaluated often counts twice."""
        known = self.uses.get(uid)
        if known is None:
            known = {}
            self.uses[uid] = known
            if entry.body is not None:
                self._count(entry.body, known, 1)
        return known

    def _count(self, node: sany.Node, counts: dict[int, int], weight: int) -> None:
        if isinstance(node, sany.Apply):
            if isinstance(self.tables.entries.get(node.operator), sany.Formal):
                counts[node.operator] = counts.get(node.operator, 0) + weight
            for bound in node.bounds:
                if bound.domain is not None:
                    self._count(bound.domain, counts, weight)
            for operand in node.operands:
                self._count(operand, counts, 2 if node.bounds else weight)
        elif isinstance(node, sany.LetIn):
            self._count(node.body, counts, weight)
            for uid in node.definitions:
                self._count_definition(uid, counts)
        elif isinstance(node, sany.OperatorArgument):
            self._count_definition(node.operator, counts)
        elif isinstance(node, sany.Substitution):
            self._count(node.body, counts, weight)

    def _count_definition(self, uid: int, counts: dict[int, int]) -> None:
        """A local definition counts in full, and twice where it has parameters: it may be applied often."""
        entry = self.tables.entries.get(uid)
        if isinstance(entry, sany.Definition) and entry.body is not None and not self.is_library(uid):
            self._count(entry.body, counts, 2 if entry.params else 1)

    def _let(self, node: sany.LetIn, context: Context) -> Expr:
        env = dict(context.env)
        inside = replace(context, env=env)
        lets: list[Shared] = []
        for uid in node.definitions:
            entry = self.entry(uid, node.loc)
            if not isinstance(entry, sany.Definition) or entry.body is None or entry.recursive:
                raise refuse(node.loc, f"LET {getattr(entry, 'name', '')} is RECURSIVE", "use lib/Folds.tla")
            if entry.params:
                env[uid] = Operator(uid, inside)
                continue
            value = self.inner(entry.body, inside)
            shared = self._share(entry.name, Closure(entry.body, inside), value, context.primed, argument=False)
            env[uid] = shared
            lets.append(shared)
        return self._wrap(lets, self.expression(node.body, inside))

    # Standard operators

    def _standard(self, module: str, name: str, arguments: Sequence[Meaning], context: Context, loc: Loc) -> Expr:
        operator = STANDARD_OPERATORS.get(module, {}).get(name)
        if module == "Sequences" and name == "SelectSeq":
            element, accumulator = self.local("e"), self.local("acc")
            test = self._apply_meaning(arguments[1], [Fixed(element)], context, loc)
            body = If(test, Op("append", (accumulator, element)), accumulator)
            sequence = self._meaning(arguments[0], loc, context)
            return Fold("seq", sequence, TupleLit(()), element.uid, accumulator.uid, body)
        if operator is None:
            raise refuse(loc, f"{name} of module {module} cannot be compiled", "express it with the conventions' means")
        operands = tuple(self._meaning(argument, loc, context) for argument in arguments)
        if operator == "neg" and isinstance(operands[0], Lit):
            return Lit(-int(operands[0].value), "int")
        return Op(operator, operands)

    def _fold(self, kind: str, arguments: Sequence[Meaning], context: Context, loc: Loc) -> Expr:
        start = self._meaning(arguments[1], loc, context)
        collection = self._meaning(arguments[2], loc, context)
        element, accumulator = self.local("e"), self.local("acc")
        body = self._apply_meaning(arguments[0], [Fixed(element), Fixed(accumulator)], context, loc)
        return Fold(kind, collection, start, element.uid, accumulator.uid, body)

    # Builtins

    def _builtin(self, name: str, node: sany.Apply, context: Context) -> Expr:
        form = FORMS.get(name)
        if form is not None:
            return form(self, node, context)
        if name in ("TRUE", "FALSE"):
            return Lit(name == "TRUE", "bool")
        inner = replace(context, spine=False) if context.spine else context
        native = NATIVE.get(name)
        if native is not None:
            operands = tuple(self.expression(operand, inner) for operand in node.operands)
            if native == "notin" and walk.strip(operands[1]) == Const(WITHOUT):
                rule = walk.strip(operands[0])
                if not isinstance(rule, Lit) or rule.kind != "str":
                    raise refuse(node.loc, "a rule's name is computed", 'name the rule by a string: Has("Rule")')
                return HasRule(str(rule.value))
            return Op(native, operands)
        if name in ("$Tuple", "$SetEnumerate"):
            items = tuple(self.expression(operand, inner) for operand in node.operands)
            return TupleLit(items) if name == "$Tuple" else SetEnum(items)
        raise refuse(node.loc, f"{SPOKEN.get(name, name)} cannot be compiled", ADVICE.get(name, GENERAL_ADVICE))

    def variable_names(self, expr: Expr, loc: Loc) -> list[str]:
        """The variables of a (nested) tuple of variables, in order; Unsupported for anything else."""
        expr = walk.strip(expr)
        if isinstance(expr, Var) and not expr.primed:
            return [expr.name]
        if isinstance(expr, TupleLit):
            return [name for item in expr.items for name in self.variable_names(item, loc)]
        raise refuse(loc, "a tuple of variables is needed here", "list variables: <<x, y>>")
