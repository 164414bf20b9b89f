"""Random small TLA+ specifications whose names are as awkward as they may be, for a comparison with TLC.

Every expression has a value, every state stays within TypeOK, and CHOOSE has one witness. So any difference from TLC is
a fault of a backend. Names are taken at random from `AWKWARD`, where TLA+ allows it again and again: bound names of
sibling expressions, formals of operators, LET definitions. TLA+ itself forbids a name inside its own scope.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

AWKWARD = """
k k_1 k_7 s t lazy lazy_0 v_k c_N has_R lambda None is def class len range frozenset int tuple tally ordered
apply freeze Fn Lazy Range function choose equal p d i1 i64 i32 t1 f1 m m1 u w2 n3 err ix need ctz popcount main
rank_0 check_action_0 SCRATCH TABLES CURRENT DIRTY x x_1 at e acc v7_k k7_ k0_ z3_lazy c0_N f0_ r0_R True self
and or not if eval globals number_ snapshot why act_ P0 p0 np
""".split()  # noqa: SIM905
"""Names that generated Python, the kernels, LLVM, Python and the front end use themselves, now or in the past."""

Env = tuple[tuple[str, str], ...]
KEYS = '{"a", "b"}'
TYPES = {
    "int": "0..3",
    "ints": "SUBSET (0..2)",
    "fun": f"[{KEYS} -> 0..2]",
    "seq": "BoundedSeq(0..1, 2)",
    "rec": "[a : 0..2, on : BOOLEAN]",
}
"""Kinds of values, and what their variables range over."""
FIRST = {"int": "1", "ints": "{1}", "fun": f"[q_ \\in {KEYS} |-> 1]", "seq": "<<1>>", "rec": "[a |-> 1, on |-> TRUE]"}


@dataclass
class Writer:
    """Writes one module. `state`: variables may be read; `steps`: primed ones, too. `operators`: name,
    kinds of operands, kind of result, whether it reads variables."""

    draw: random.Random
    state: bool = False
    steps: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    operators: list[tuple[str, tuple[str, ...], str, bool]] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    # Names

    def own(self) -> str:
        """A name for something of the module."""
        name = self.draw.choice([name for name in AWKWARD if name not in self.taken])
        self.taken.add(name)
        return name

    def bound(self, env: Env) -> str:
        """A name that may be bound here."""
        inside = {name for name, _ in env}
        return self.draw.choice([name for name in AWKWARD if name not in self.taken and name not in inside])

    # Expressions

    def write(self, kind: str, env: Env, depth: int) -> str:
        """An expression of a kind, in parentheses where that matters."""
        leaves = self.leaves(kind, env)
        if leaves and (depth <= 0 or self.draw.random() < 0.25):
            return self.draw.choice(leaves)
        if depth <= 0:
            return self.plain(kind, env)
        shape = self.draw.random()
        if shape < 0.12:
            name = self.bound(env)
            other = self.draw.choice(["int", "ints", "fun", "bool"])
            value = self.write(other, env, depth - 1)
            return f"(LET {name} == {value} IN {self.write(kind, (*env, (name, other)), depth - 1)})"
        if shape < 0.18:
            return self.local_operator(kind, env, depth)
        if shape < 0.28:
            parts = self.write("bool", env, depth - 1), self.write(kind, env, depth - 1)
            return f"(IF {parts[0]} THEN {parts[1]} ELSE {self.write(kind, env, depth - 1)})"
        if shape < 0.33:
            arms = [f"{self.write('bool', env, depth - 1)} -> {self.write(kind, env, depth - 1)}" for _ in "ab"]
            return f"(CASE {' [] '.join(arms)} [] OTHER -> {self.write(kind, env, depth - 1)})"
        if shape < 0.48:
            known = [one for one in self.operators if one[2] == kind and one[3] <= self.state]
            if known:
                name, kinds, *_ = self.draw.choice(known)
                return f"{name}({', '.join(self.write(one, env, depth - 1) for one in kinds)})"
        makers: list[Callable[[Env, int], str]] = getattr(self, f"{kind}_forms")()
        return self.draw.choice(makers)(env, depth - 1)

    def leaves(self, kind: str, env: Env) -> list[str]:
        found = [name for name, own in env if own == kind] * 3
        found += [name for name, own in self.constants.items() if own == kind]
        if self.state:
            named = [name for name, own in self.variables.items() if own == kind]
            found += named + ([f"{name}'" for name in named] if self.steps else [])
        return found

    def plain(self, kind: str, env: Env) -> str:
        if kind == "bool":
            return f"({self.write('int', env, 0)} {self.draw.choice(['<', '=', '#', '>='])} {self.draw.randrange(3)})"
        if kind == "key":
            return self.draw.choice(['"a"', '"b"'])
        if kind == "fun":
            name = self.bound(env)
            return f"[{name} \\in {KEYS} |-> {self.small((*env, (name, 'key')), 0)}]"
        if kind == "int":
            return str(self.draw.randrange(3))
        if kind == "rec":
            return f"[a |-> {self.small(env, 0)}, on |-> {self.draw.choice(['TRUE', 'FALSE'])}]"
        return self.draw.choice({"ints": ["{0, 2}", "{}", "(1..2)"], "seq": ["<<>>", "<<1, 0>>"]}[kind])

    def local_operator(self, kind: str, env: Env, depth: int) -> str:
        name = self.bound(env)
        formal = self.bound((*env, (name, "")))
        own = self.draw.choice(["int", "ints", "key"])
        # The formal's name is free again outside the operator: TLA+ has it bound twice there, in sibling scopes.
        body = self.write(kind, (*env, (name, ""), (formal, own)), depth - 1)
        argument = self.write(own, (*env, (name, "")), depth - 1)
        return f"(LET {name}({formal}) == {body} IN {name}({argument}))"

    def small(self, env: Env, depth: int) -> str:
        """An integer of 0..2."""
        return f"({self.write('int', env, depth)} % 3)"

    def element(self, env: Env, depth: int) -> tuple[str, str, Env]:
        """A bound name, the set it ranges over, and the names inside."""
        kind = self.draw.choice(["int", "int", "key"])
        domain = self.write("ints", env, depth) if kind == "int" else KEYS
        name = self.bound(env)
        return name, domain, (*env, (name, kind))

    def int_forms(self) -> list[Callable[[Env, int], str]]:
        return [
            lambda e, d: f"(({self.write('int', e, d)} + {self.write('int', e, d)}) % 4)",
            lambda e, d: f"(({self.write('int', e, d)} * {self.write('int', e, d)}) % 4)",
            lambda e, d: f"(({self.write('int', e, d)} - {self.write('int', e, d)}) % 4)",
            lambda e, d: f"Cardinality({self.write('ints', e, d)})",
            lambda e, d: f"{self.write('fun', e, d)}[{self.write('key', e, 0)}]",
            lambda e, d: f"Len({self.write('seq', e, d)})",
            lambda e, d: f"{self.write('rec', e, d)}.a",
            self.least,
            self.only,
            self.summed,
            self.looked_up,
        ]

    def least(self, env: Env, depth: int) -> str:
        domain, (whole, name, other) = self.write("ints", env, depth), self.names(env, 3)
        least = f"CHOOSE {name} \\in {whole} : \\A {other} \\in {whole} : {name} <= {other}"
        return f"(LET {whole} == {domain} IN IF {whole} = {{}} THEN 0 ELSE {least})"

    def only(self, env: Env, depth: int) -> str:
        (name,) = self.names(env, 1)
        return f"(CHOOSE {name} \\in 0..3 : {name} = ({self.write('int', env, depth)}) % 4)"

    def names(self, env: Env, count: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            found.append(self.bound((*env, *((name, "") for name in found))))
        return found

    def summed(self, env: Env, depth: int) -> str:
        one, sofar = self.names(env, 2)
        inner: Env = (*env, (one, "int"))
        if self.draw.random() < 0.5:
            body = f"({sofar} + {self.write('int', inner, depth - 1)}) % 4"
            return f"FoldSet(LAMBDA {one}, {sofar} : {body}, 0, {self.write('ints', env, depth)})"
        body = f"({sofar} * 2 + {self.write('int', (*inner, (sofar, 'int')), depth - 1)}) % 4"
        return f"FoldSeq(LAMBDA {one}, {sofar} : {body}, 1, {self.write('seq', env, depth)})"

    def looked_up(self, env: Env, depth: int) -> str:
        (name,) = self.names(env, 1)
        body = self.write("int", (*env, (name, "int")), depth)
        return f"[{name} \\in 0..2 |-> {body}][{self.small(env, depth)}]"

    def bool_forms(self) -> list[Callable[[Env, int], str]]:
        def two(kind: str, *signs: str) -> Callable[[Env, int], str]:
            return lambda e, d: f"({self.write(kind, e, d)} {self.draw.choice(signs)} {self.write(kind, e, d)})"

        return [
            two("int", "<", "=", "#", ">="),
            two("ints", "=", "\\subseteq", "#"),
            two("fun", "=", "#"),
            two("seq", "="),
            two("rec", "=", "#"),
            two("bool", "/\\", "\\/", "=>", "<=>"),
            lambda e, d: f"(~{self.write('bool', e, d)})",
            lambda e, d: f"({self.write('int', e, d)} \\in {self.write('ints', e, d)})",
            self.quantified,
            self.quantified,
            self.paired,
        ]

    def quantified(self, env: Env, depth: int) -> str:
        name, domain, inside = self.element(env, depth)
        if self.draw.random() < 0.3:
            (other,) = self.names(inside, 1)
            names, inside = f"{name}, {other}", (*inside, (other, inside[-1][1]))
        else:
            names = name
        return f"(\\{self.draw.choice('AE')} {names} \\in {domain} : {self.write('bool', inside, depth)})"

    def paired(self, env: Env, depth: int) -> str:
        one, other = self.names(env, 2)
        body = self.write("bool", (*env, (one, "int"), (other, "key")), depth)
        return f"(\\{self.draw.choice('AE')} <<{one}, {other}>> \\in ((0..1) \\X {KEYS}) : {body})"

    def key_forms(self) -> list[Callable[[Env, int], str]]:
        return [lambda e, d: self.draw.choice(['"a"', '"b"'])]

    def ints_forms(self) -> list[Callable[[Env, int], str]]:
        def both(e: Env, d: int) -> str:
            sign = self.draw.choice(["\\cup", "\\cap", "\\"])
            return f"({self.write('ints', e, d)} {sign} {self.write('ints', e, d)})"

        return [
            both,
            lambda e, d: "{" + ", ".join(self.small(e, d) for _ in range(self.draw.randrange(3))) + "}",
            self.filtered,
            self.mapped,
            self.mapped,
        ]

    def filtered(self, env: Env, depth: int) -> str:
        domain, name = self.write("ints", env, depth), *self.names(env, 1)
        return f"{{{name} \\in {domain} : {self.write('bool', (*env, (name, 'int')), depth)}}}"

    def mapped(self, env: Env, depth: int) -> str:
        name, domain, inside = self.element(env, depth)
        return f"{{{self.small(inside, depth)} : {name} \\in {domain}}}"

    def fun_forms(self) -> list[Callable[[Env, int], str]]:
        return [self.built, self.built, self.updated]

    def built(self, env: Env, depth: int) -> str:
        (name,) = self.names(env, 1)
        return f"[{name} \\in {KEYS} |-> {self.small((*env, (name, 'key')), depth)}]"

    def updated(self, env: Env, depth: int) -> str:
        return (
            f"[{self.write('fun', env, depth)} EXCEPT ![{self.write('key', env, 0)}] = "
            f"(@ + {self.write('int', env, depth)}) % 3]"
        )

    def seq_forms(self) -> list[Callable[[Env, int], str]]:
        def selected(e: Env, d: int) -> str:
            (one,) = self.names(e, 1)
            return f"SelectSeq({self.write('seq', e, d)}, LAMBDA {one} : {self.write('bool', (*e, (one, 'int')), d)})"

        return [
            lambda e, d: f"<<{self.write('int', e, d)} % 2>>",
            lambda e, d: f"<<{self.write('int', e, d)} % 2, {self.write('int', e, d)} % 2>>",
            selected,
        ]

    def rec_forms(self) -> list[Callable[[Env, int], str]]:
        return [
            lambda e, d: f"[a |-> {self.small(e, d)}, on |-> {self.write('bool', e, d)}]",
            lambda e, d: f"[{self.write('rec', e, d)} EXCEPT !.a = (@ + {self.write('int', e, d)}) % 3]",
            lambda e, d: f"[{self.write('rec', e, d)} EXCEPT !.on = @ /\\ {self.write('bool', e, d)}]",
        ]

    # Definitions

    def operator(self) -> str:
        """An operator over values, which later definitions use."""
        name, result = self.own(), self.draw.choice(["int", "int", "bool", "ints", "fun", "seq", "rec"])
        kinds = tuple(self.draw.choice(["int", "ints", "key", "fun", "bool"]) for _ in range(self.draw.choice((1, 2))))
        formals: Env = ()
        for kind in kinds:
            formals = (*formals, (self.bound(formals), kind))
        body = self.write(result, formals, 3)
        self.operators.append((name, kinds, result, self.state))
        return f"{name}({', '.join(formal for formal, _ in formals)}) == {body}"

    def domain(self, kind: str) -> str:
        """A constant set of values that a variable of a kind may have."""
        if kind == "int":
            return f"({{1}} \\cup {self.write('ints', (), 2)})"
        if kind == "ints" and self.draw.random() < 0.3:
            return "SUBSET {0, 1}"
        if kind == "fun" and self.draw.random() < 0.3:
            return f"[{KEYS} -> {{0, 1}}]"
        return "{" + ", ".join(self.write(kind, (), 2) for _ in range(self.draw.randint(1, 3))) + "}"

    def action(self, name: str) -> tuple[str, str]:
        """An action's definition, and its disjunct of Next."""
        self.state = False
        kinds = [self.draw.choice(list(TYPES)) for _ in range(self.draw.randrange(3))]
        env: Env = ()
        for kind in kinds:
            env = (*env, (self.bound(env), kind))
        binders = ", ".join(f"{formal} \\in {self.domain(kind)}" for formal, kind in env)
        self.state = True
        formals = f"({', '.join(formal for formal, _ in env)})" if env else ""
        lines = [f"{name}{formals} ==", f"    /\\ {self.write('bool', env, 3)}"]
        changed = self.draw.sample(list(self.variables), self.draw.randint(1, len(self.variables)))
        for variable in self.variables:
            kind = self.variables[variable]
            if variable not in changed:
                lines.append(f"    /\\ UNCHANGED {variable}")
            elif kind == "int" and self.draw.random() < 0.3:
                (one,) = self.names(env, 1)
                value = self.write("int", (*env, (one, "int")), 2)
                lines.append(f"    /\\ \\E {one} \\in {self.write('ints', env, 2)} : {variable}' = {value} % 4")
            elif self.draw.random() < 0.2:
                parts = self.write("bool", env, 2), self.value(kind, env), self.value(kind, env)
                lines.append(f"    /\\ IF {parts[0]} THEN {variable}' = {parts[1]} ELSE {variable}' = {parts[2]}")
            else:
                lines.append(f"    /\\ {variable}' = {self.value(kind, env)}")
        return "\n".join(lines), f"(\\E {binders} : {name}{formals})" if env else name

    def value(self, kind: str, env: Env) -> str:
        value = self.write(kind, env, 3)
        return f"({value} % 4)" if kind == "int" else value

    def module(self, name: str, actions: int = 6, predicates: int = 8) -> tuple[str, str]:
        """The texts of a module and of its cfg."""
        self.constants = {self.own(): "int", self.own(): "ints"}
        for kind in self.draw.sample(list(TYPES), 3):
            self.variables[self.own()] = kind
        lines = [f"---- MODULE {name} ----", "EXTENDS Integers, Sequences, FiniteSets, Folds, Bounded"]
        lines += [f"CONSTANTS {', '.join(self.constants)}", f"VARIABLES {', '.join(self.variables)}"]
        lines += [self.operator() for _ in range(4)]
        lines.append("TypeOK == " + " /\\ ".join(f"{one} \\in {TYPES[kind]}" for one, kind in self.variables.items()))
        starts = [
            f"    /\\ {one} \\in {{{FIRST[kind]}}} \\cup {self.domain(kind)}" for one, kind in self.variables.items()
        ]
        self.state = True
        lines += ["Init ==", *starts]
        lines += [self.operator() for _ in range(2)]
        # Text quoted in modules for TLC binds no name that is defined later on.
        names, invariants, properties = ([self.own() for _ in range(count)] for count in (actions, predicates, 3))
        disjuncts = []
        for one in names:
            text, disjunct = self.action(one)
            lines.append(text)
            disjuncts.append(disjunct)
        lines += ["Next ==", *(f"    \\/ {one}" for one in disjuncts)]
        lines += [f"{one} == {self.write('bool', (), 4)}" for one in invariants]
        self.steps = True
        held = f"<<{', '.join(self.variables)}>>"
        lines += [f"{one} == [][{self.write('bool', (), 3)}]_{held}" for one in properties]
        given = zip(self.constants, (str(self.draw.randrange(3)), "{0, 2}"), strict=True)
        cfg = "INIT Init\nNEXT Next\nCONSTANTS\n" + "".join(f"    {one} = {value}\n" for one, value in given)
        cfg += f"INVARIANTS TypeOK {' '.join(invariants)}\nPROPERTIES {' '.join(properties)}\n"
        return "\n".join([*lines, "===="]) + "\n", cfg
