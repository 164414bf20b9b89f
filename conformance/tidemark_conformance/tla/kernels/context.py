"""The generator's state: the lines written so far, names, scopes, and the plan of the kernels' memory.

The memory is one int64 array `p`. It holds flags, the working states S (current) and N (next), dirty masks and
parameters. It holds run-time constants, coverage counters, tables of constants, and scratch. All offsets are constants
of the generated text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.ir import Expr, Loc
from tidemark_conformance.tla.kernels.symbols import Address, Place, Symbol
from tidemark_conformance.tla.layout import Layout
from tidemark_conformance.tla.types import Evaluate, Type, encode, size, unsupported
from tidemark_conformance.tla.values import Value

ERROR, OVERFLOW, BLOCKED, CHANGED, REACHED = range(5)
"""Flags: an evaluation error; a value without cells; evaluate guards only; dirty variables (a mask); guards passed."""
HIDDEN, OVERFLOWING, OBSERVER, LAST, SEEN, COUNTED = range(7, 13)
"""Six more. The hidden variables' state (0: nothing yet, 1: computed, 2: one has no value), and the variables that
overflowed. The observation that is compared, its number in its record, and how many the trace has. The places of rules
that the step has counted (a mask). (5 and 6: driver.)"""
_FLAGS = 13
_ATOMIC = re.compile(r"^-?\w+$")
_CHEAP = re.compile(r"^(-?\w+|p\[[\w +*()]+\])$")


Helpers = dict[tuple[str, Hashable], tuple[str, str]]
"""The helper functions of a generated module: (kind, all that the text says) -> (name, text)."""


class Impossible(Unsupported):
    """An expression that certainly has no value; a branch of an IF may be one, and is an evaluation error then."""


class Mode(Enum):
    """Why an expression is evaluated: for its lines, for its type alone, or to learn whether it may raise an error."""

    WRITE = auto()
    TYPE = auto()
    PROBE = auto()


class Erring(Exception):
    """An expression that is probed may raise an evaluation error."""


class Memory:
    """Where everything is in the memory; grows while code is generated, then is fixed."""

    def __init__(self, layout: Layout, parameters: int, rules: Sequence[str]) -> None:
        self.layout = layout
        self.current = _FLAGS
        self.next = self.current + layout.cells
        self.dirty = self.next + layout.cells
        self.parameters = self.dirty + len(layout.variables)
        self.coverage = self.parameters + parameters
        self.rules = {rule: self.coverage + 2 * i for i, rule in enumerate(rules)}
        self.constants = self.coverage + 2 * len(rules)
        self.hoisted: list[Expr] = []
        self._hoisted: dict[Expr, int] = {}
        self._tables: dict[tuple[int, ...], int] = {}
        self.tables: list[int] = []
        self.scratch = 0

    def table(self, cells: Sequence[int]) -> str:
        """The offset of a constant table, as text (tables lie behind the constants, whose number is still open)."""
        key = tuple(cells)
        if key not in self._tables:
            self._tables[key] = len(self.tables)
            self.tables.extend(key)
        return f"TABLES + {self._tables[key]}"

    def hoist(self, expr: Expr) -> str:
        """The cell of a run-time constant, as text."""
        if expr not in self._hoisted:
            self._hoisted[expr] = len(self.hoisted)
            self.hoisted.append(expr)
        return f"p[{self.constants + self._hoisted[expr]}]"

    def plan(self) -> dict[str, int]:
        """The offsets that the text names: TABLES and SCRATCH, and the memory's SIZE."""
        tables = self.constants + len(self.hoisted)
        scratch = tables + len(self.tables)
        return {"TABLES": tables, "SCRATCH": scratch, "SIZE": scratch + self.scratch + 64}


@dataclass
class Scope:
    """A stretch of code that is executed as a whole; values computed in it are at hand while it is alive."""

    alive: bool = True
    inner: list[Scope] = field(default_factory=list)

    def end(self) -> None:
        """Its values are no longer at hand."""
        self.alive = False
        for scope in self.inner:
            scope.end()


@dataclass
class Lazy:
    """A LET definition: evaluated where it is first needed, and again where that place is not on the way."""

    value: Expr
    env: Env
    known: list[tuple[Scope, Symbol, bool]] = field(default_factory=list)
    """With the scopes in which they are at hand; whether they are so only for a use that applies them (`eager`)."""


Env = Mapping[int, "Symbol | Lazy"]


@dataclass(frozen=True)
class Operations:
    """The operations on a value of any kind, or an expression of any form.

    A record's fields may be sets, whose elements may be records: the modules of the kinds need each other. A module
    calls those below it by name, and an operation of one above it through the context.
    """

    equal: Callable[[Context, Symbol, Symbol, bool], str]
    member: Callable[[Context, Symbol, Symbol], str]
    rank: Callable[[Context, Symbol, tuple[object, ...], Type], tuple[str, bool]]
    iterate: Callable[[Context, Symbol, Callable[[Symbol], None], str | None], None]
    materialize: Callable[[Context, Symbol], Place]
    evaluate: Callable[[Context, Expr, Env, bool], Symbol]


class Context:
    """The state of writing one function."""

    def __init__(
        self,
        memory: Memory,
        constant: Evaluate,
        constants: Mapping[str, Value],
        operations: Operations,
        scopes: list[Scope] | None = None,
    ) -> None:
        self.memory = memory
        self.layout = memory.layout
        self.constant = constant
        self.constants = constants
        self.operations = operations
        self.lines: list[str] = []
        self.helpers: Helpers = {}
        self.loc: Loc | None = None
        self.counting = False
        self.counted: list[Expr] | None = None
        self.checked = 0
        self.mode = Mode.WRITE
        self.scratch = 0
        self.scopes = scopes or [Scope()]
        self._names = 0

    def equal(self, a: Symbol, b: Symbol, must: bool = False) -> str:
        """The text of a = b (`must` as in `conjunction`)."""
        return self.operations.equal(self, a, b, must)

    def member(self, value: Symbol, container: Symbol) -> str:
        """The text of value \\in container."""
        return self.operations.member(self, value, container)

    def rank(self, value: Symbol, members: tuple[object, ...], elem: Type) -> tuple[str, bool]:
        """The index of a compound value among the members of a universe, and whether it certainly is one of them."""
        return self.operations.rank(self, value, members, elem)

    def iterate(self, value: Symbol, body: Callable[[Symbol], None], stop: str | None) -> None:
        """Write a loop over a set's elements, which a condition may `stop`."""
        self.operations.iterate(self, value, body, stop)

    def materialize(self, value: Symbol) -> Place:
        """A compound value as a place in the memory."""
        return self.operations.materialize(self, value)

    def evaluate(self, expr: Expr, env: Env, lazy: bool = False) -> Symbol:
        """The symbolic value of an expression (`lazy` as in `expressions.evaluate`)."""
        return self.operations.evaluate(self, expr, env, lazy)

    def count(self, guard: Expr, cell: str) -> None:
        """Write lines that count one in a cell. Where an action's text is split (`counted` is a list), a rule's place
        is counted the first time that it is met in a step."""
        if self.counted is None:
            self.line(f"{cell} += 1")
            return
        if guard not in self.counted:
            self.counted.append(guard)
        bit = 1 << min(self.counted.index(guard), 61)
        self.line(f"if p[{COUNTED}] & {bit} == 0:")
        self.nest([f"p[{COUNTED}] |= {bit}", f"{cell} += 1"])

    def unsupported(self, what: str) -> Unsupported:
        """The refusal of a construct at the current place."""
        return unsupported(what, self.loc)

    def impossible(self, what: str) -> Impossible:
        """The refusal of an expression that certainly has no value."""
        return Impossible(str(unsupported(what, self.loc)))

    def name(self, prefix: str = "t") -> str:
        """A fresh local name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def line(self, text: str) -> None:
        """Write one line at the current depth."""
        self.lines.append(text)

    def keep(self, code: str, prefix: str = "t") -> str:
        """The text itself if it is a name, a number or a plain cell; otherwise the name of a local that holds it."""
        if _CHEAP.match(code):
            return code
        name = self.name(prefix)
        self.line(f"{name} = {code}")
        return name

    def named(self, code: str, prefix: str = "t") -> str:
        """As `keep`, but never a cell."""
        if _ATOMIC.match(code):
            return code
        name = self.name(prefix)
        self.line(f"{name} = {code}")
        return name

    @contextmanager
    def captured(self) -> Iterator[Captured]:
        """Lines written inside go to a buffer, with a scope of its own that the caller ends or adopts."""
        outer = self.lines
        scope = Scope()
        buffer = Captured([], scope, self.checked)
        self.lines = buffer.lines
        self.scopes.append(scope)
        try:
            yield buffer
        except BaseException:
            scope.end()
            raise
        finally:
            self.scopes.pop()
            self.lines = outer

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """`header` (an if, else or while), with the lines written inside as its body."""
        with self.captured() as buffer:
            yield
        buffer.scope.end()
        self.line(header)
        self.nest(buffer.lines or ["pass"])

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The lines written inside run if a condition holds."""
        if condition == "True":
            yield
            return
        with self.block(f"if {condition}:"):
            yield

    def nest(self, lines: Sequence[str]) -> None:
        """Write lines one level deeper."""
        self.lines.extend("    " + line for line in lines)

    def adopt(self, buffer: Captured) -> None:
        """Write a buffer's lines here: they are executed whenever the following lines are."""
        self.lines.extend(buffer.lines)
        self.scopes[-1].inner.append(buffer.scope)

    @contextmanager
    def only(self, mode: Mode) -> Iterator[None]:
        """Evaluations inside write no line that stays."""
        outer, checked, scratch, counting = self.mode, self.checked, self.scratch, self.counting
        self.mode, self.counting = mode, False
        try:
            with self.captured() as buffer:
                yield
        finally:
            buffer.scope.end()
            self.mode, self.checked, self.scratch, self.counting = outer, checked, scratch, counting

    def counts(self, buffer: Captured) -> bool:
        """Whether a buffer's lines count a rule's sides: they may be written only where the rule is asked."""
        return any("+= 1" in line and f"p[{self.memory.coverage}" in line for line in buffer.lines)

    def drop(self, buffer: Captured) -> None:
        """Forget a buffer, and the checks in it."""
        buffer.scope.end()
        self.checked = buffer.checked

    def check(self, code: str, prefix: str = "t") -> str:
        """A local that holds the value of text which may raise an evaluation error (it calls a helper that sets the
        flag). The error is raised here, also if nobody needs the value."""
        self.errs()
        return self.named(code, prefix)

    def errs(self) -> None:
        """Say that the line written next may raise an evaluation error. Raises Erring where that is all one asks."""
        if self.mode is Mode.PROBE:
            raise Erring
        self.checked += 1

    def helper(self, kind: str, key: Hashable, text: Callable[[str], str]) -> str:
        """The name of a helper function of the generated module. `key` is all that its `text` (given the name) says."""
        known = self.helpers.get((kind, key))
        if known is None:
            name = f"{kind}_{len(self.helpers)}"
            known = self.helpers[kind, key] = name, text(name)
        return known[0]

    def room(self, kind: Type) -> Address:
        """Scratch cells for one value."""
        at = self.scratch
        self.scratch += size(kind)
        self.memory.scratch = max(self.memory.scratch, self.scratch)
        return Address(at, ("SCRATCH",))

    def rows(self, kind: Type, values: Sequence[Value]) -> str:
        """A constant table of encoded values, one row each."""
        return self.memory.table([cell for value in values for cell in encode(kind, value)])


@dataclass
class Captured:
    """Lines written apart, their scope, and how many checks there were before."""

    lines: list[str]
    scope: Scope
    checked: int


def both(a: str, b: str) -> str:
    """a and b."""
    if a == "True":
        return b
    if b == "True":
        return a
    if a == "False":
        return a
    return f"({a} and {b})"


def either(a: str, b: str) -> str:
    """a or b."""
    if a == "False":
        return b
    if b == "False":
        return a
    if a == "True":
        return a
    return f"({a} or {b})"


def negated(a: str) -> str:
    """not a."""
    if a in ("True", "False"):
        return "False" if a == "True" else "True"
    return f"(not {a})"


def require(c: Context, code: str) -> None:
    """The function that is being written returns False unless a condition holds."""
    if code != "True":
        c.line(f"if not {code}:")
        c.nest(["return False"])


def conjunction(c: Context, parts: Sequence[Callable[[], str]], connective: str = "and", must: bool = False) -> str:
    """The text of parts joined by `and` (or `or`), each evaluated only if those before it leave that open.

    `must`: the function being written returns False unless all parts hold. So it does so at the first that does not,
    and the next parts can use all that was computed for one part.
    """
    if must and connective == "and":
        for part in parts:
            require(c, part())
        return "True"
    neutral, absorbing, combine = ("True", "False", both) if connective == "and" else ("False", "True", either)
    code = neutral
    flag: str | None = None
    pending: list[Captured] = []
    for part in parts:
        if code == absorbing:
            break
        with c.captured() as buffer:
            value = part()
        if code == neutral:
            c.adopt(buffer)
            code = value
            continue
        pending.append(buffer)
        if not buffer.lines:
            code = combine(code, value)
            continue
        if code != flag:
            flag = flag or c.name("f")
            c.line(f"{flag} = {code}")
        c.line(f"if {flag}:" if connective == "and" else f"if not {flag}:")
        c.nest([*buffer.lines, f"{flag} = {value}"])
        code = flag
    for buffer in pending:
        buffer.scope.end()
    return code
