"""The steps that a run's first failure depends on, for runs that no simulator can repeat.

It goes backwards from the failure. It takes the parts of the state that were read, the step that wrote each of them
last, and the parts that this step read. The steps that it finds, taken alone from the same first state, are a run
again. Each changes the same units as before. That run is judged. It is shown if it is a behaviour up to the failing
step, and fails there for the same reason, of the same values. Otherwise the step where the two runs part is taken to
read all that its action mentions, and the search begins again. So no step is left out that the failure needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidemark_conformance.explain.ddmin import ddmin
from tidemark_conformance.explain.judge import ACTION_PROPERTY, NOT_A_STEP, OBSERVATION, QUIESCENCE, Judgement, Key
from tidemark_conformance.explain.reads import Cell, Member, reads, written
from tidemark_conformance.explain.record import Diagram, Explanation, Sliced
from tidemark_conformance.explain.run import BLOCKED, STEP, Event, Run, State
from tidemark_conformance.explain.scope import Env
from tidemark_conformance.explain.spacetime import views
from tidemark_conformance.explain.text import is_record
from tidemark_conformance.tla.ir import Expr, Unchanged, Var
from tidemark_conformance.tla.values import Fn, Value
from tidemark_conformance.tla.walk import children, enabling, variables_used

if TYPE_CHECKING:
    from tidemark_conformance.explain.explaining import Explainer

TRIALS, FEWER = 40, 200
"""Slices that are judged before none is shown, and smaller ones of the first that will do."""
STEPS, LEAST = 3_000, 3
"""About so many steps are judged on either way, but at least so many slices."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some steps of a run that fail as the whole does.

    `kept`: their numbers in order, the failing one the last; `run`: they alone, numbered anew; `judgement`: its own.
    """

    kept: tuple[int, ...]
    run: Run
    judgement: Judgement


def sliced(
    run: Run, judgement: Judgement, explainer: Explainer, told: Callable[[int], None] = lambda _: None
) -> Slice | None:
    """The steps that the first failure of a failing run depends on; None where no smaller run fails so. `told` hears
    how many runs have been judged."""
    number = min(judgement.first.values(), default=0)
    if number == 0 or run.beyond is not None or len(judgement.states) <= number:
        return None
    keys = {key for key, at in judgement.first.items() if at == number}
    slicing = _Slicing(run, judgement, explainer, number, keys, told)
    return slicing.found()


def with_slice(
    explained: Explanation, found: Slice, judgement: Judgement, explainer: Explainer, window: int | None
) -> Explanation:
    """An explanation whose diagram has the steps of a slice, by their numbers in the whole run. It keeps the steps
    after the failure that it had before. `judgement`: of the whole run; `window`: at most so many before the failing
    one."""
    numbers = (0, *found.kept)
    rows = views(found.run, found.judgement.states, explainer.formals, explainer.module.ghosts)
    drawn = explainer.drawn(found.run, found.judgement, rows, [len(rows) - 1], window)
    shown = [replace(row, number=numbers[row.number]) for row in drawn.rows]
    arrows = [replace(one, source=numbers[one.source], target=numbers[one.target]) for one in drawn.arrows]
    failing = {numbers[at] for at in drawn.failing}
    columns = set(drawn.columns)
    whole = explained.diagram
    if whole is not None:
        shown += [row for row in whole.rows if row.number > numbers[-1]]
        known = {row.number for row in shown}
        arrows += [one for one in whole.arrows if one.target > numbers[-1] and one.source in known]
        failing |= set(whole.failing)
        columns |= set(whole.columns)
    named = tuple(node for node in ("", *found.run.nodes) if node in columns)
    states = dict(enumerate(judgement.states))
    states |= {numbers[at]: state for at, state in enumerate(found.judgement.states)}
    bare = Diagram(named, tuple(shown), tuple(arrows), tuple(sorted(failing)))
    diagram = explainer.stored(bare, found.run, states)
    left_out = numbers[-1] - len(found.kept)
    return replace(explained, diagram=diagram, sliced=Sliced(found.kept, left_out), shrunk=None)


@dataclass
class _Slicing:
    run: Run
    judgement: Judgement
    explainer: Explainer
    number: int
    keys: set[Key]
    told: Callable[[int], None] = lambda _: None
    judged: int = 0
    whole: set[int] = field(default_factory=set)
    """Steps that are taken to read all of the variables that their action mentions."""

    def found(self) -> Slice | None:
        tried = steps = 0
        while tried < LEAST or (tried < TRIALS and steps < STEPS):
            kept = self.dependencies()
            tried, steps = tried + 1, steps + len(kept)
            alone = self.alone(kept)
            if alone is None:
                return None
            judged = self.judge(alone)
            parted = self.parted(alone, judged)
            if parted is None:
                some = self.fewest(Slice(tuple(kept), alone, judged))
                return some if len(some.kept) < self.number else None
            blamed = kept[min(parted, len(kept)) - 1]
            if blamed in self.whole:
                return None
            self.whole.add(blamed)
        return None

    def judge(self, alone: Run) -> Judgement:
        self.judged += 1
        self.told(self.judged)
        return self.explainer.judge(alone)

    def fewest(self, known: Slice) -> Slice:
        """Fewer of a slice's steps that still fail so: a step may read values that make no difference."""
        smallest = known

        def fails(some: Sequence[int]) -> bool:
            nonlocal smallest
            kept = [*(known.kept[at] for at in some), self.number]
            alone = self.alone(kept)
            if alone is None:
                return False
            judged = self.judge(alone)
            if self.parted(alone, judged) is not None:
                return False
            if len(kept) < len(smallest.kept):
                smallest = Slice(tuple(kept), alone, judged)
            return True

        ddmin(range(len(known.kept) - 1), fails, max(LEAST, min(FEWER, STEPS // len(known.kept))))
        return smallest

    # --- which steps ----------------------------------------------------------------------------------------------

    def dependencies(self) -> list[int]:
        """The numbers of the steps that the failure depends on, as far as reads and writes tell."""
        needed = _Needed()
        needed.add(self.asked())
        kept = [self.number]
        at_the_end = {kind for kind, _ in self.keys} == {QUIESCENCE}
        if not at_the_end or any(needed.touches(cell) for cell in self.writes(self.number)):
            self.pass_by(self.number, needed)
        for number in range(self.number - 1, 0, -1):
            if any(needed.touches(cell) for cell in self.writes(number)):
                kept.append(number)
                self.pass_by(number, needed)
        return sorted(kept)

    def pass_by(self, number: int, needed: _Needed) -> None:
        """Turn the cells needed after a step into those needed before it."""
        for cell in self.writes(number):
            needed.cover(cell)
        needed.add(self.read(number))

    def asked(self) -> Iterator[Cell]:
        """The cells that the failing checks read in the state after the failing step. A refused step reads the state
        before it instead."""
        after = self.judgement.states[self.number]
        for kind, name in self.keys:
            if kind == NOT_A_STEP:
                continue
            if kind == OBSERVATION:
                observed = self.explainer.module.observed
                fields = dict(observed.fields) if observed else {}
                yield from ((one,) for one in variables_used(fields[name.removeprefix("Observed.")]))
                continue
            body = next(one.body for one in self.explainer.named(kind) if one.name == name)
            if self.number in self.whole:
                yield from ((one,) for one in variables_used(body))
            if kind != ACTION_PROPERTY:
                yield from self.cut(reads(body, self.explainer.still(after), Env()), after)

    def read(self, number: int) -> Iterator[Cell]:
        """The cells that a step reads in the state before it: its guards, its effects, and values that its effects
        change in part. A failing step adds the cells that it changes and those that a property reads."""
        event, before = self.run.events[number], self.judgement.states[number - 1]
        scope = self.explainer.scope(self.judgement, number)
        if event.kind in (STEP, BLOCKED):
            action = self.explainer.specification.action(event.action)
            body = action.body if event.kind == STEP else enabling(action)
            yield from self.cut(reads(body, scope, self.explainer.parameters(action, event)), before)
            own = _mentioned(body)
            if number in self.whole:
                yield from ((name,) for name in own)
            for cell in self.writes(number):
                if number == self.number or (cell[0] in own and _made_of_the_old(cell, before, body)):
                    yield cell
        if number == self.number:
            for kind, name in self.keys:
                if kind == ACTION_PROPERTY:
                    body = next(one.body for one in self.explainer.named(kind) if one.name == name)
                    yield from self.cut(reads(body, scope, Env()), before)

    def writes(self, number: int) -> list[Cell]:
        """The parts of the state that a step changed, history and hidden variables included."""
        before, after = self.judgement.states[number - 1], self.judgement.states[number]
        return list(dict.fromkeys(self.cut(written(before, after), before)))

    @staticmethod
    def cut(cells: Iterable[Cell], state: Mapping[str, Value]) -> Iterator[Cell]:
        """Cells down to arguments of functions and elements of sets: a sequence, a record, a number is one."""
        for cell in cells:
            value: Value = state[str(cell[0])]
            path: list[Value] = [cell[0]]
            for key in cell[1:]:
                if isinstance(key, Member):
                    if isinstance(value, frozenset):
                        path.append(key)
                    break
                if not _is_map(value) or key not in value:
                    break
                path.append(key)
                value = value[key]
            yield tuple(path)

    # --- the run of them alone ------------------------------------------------------------------------------------

    def alone(self, kept: Sequence[int]) -> Run | None:
        """The run of these steps alone; None where a step's change has no meaning without the others."""
        first = self.run.events[0]
        events: list[Event] = [replace(first, told=())]
        state: State = dict(first.state)
        for number in kept:
            event = self.run.events[number]
            before = self.run.events[number - 1].state
            state = dict(state)
            try:
                for cell in self.cut(written(before, event.state), before):
                    state[str(cell[0])] = _put(state[str(cell[0])], cell[1:], event.state[str(cell[0])])
            except _Elsewhere:
                return None
            told = event.told if number == self.number else ()
            events.append(replace(event, number=len(events), state=state, told=told))
        quiescent = self.run.quiescent and any(kind == QUIESCENCE for kind, _ in self.keys)
        return replace(self.run, events=tuple(events), quiescent=quiescent, damage=None)

    def parted(self, alone: Run, judged: Judgement) -> int | None:
        """The record from which on a run of some steps is not what the whole was; None: it fails as the whole does."""
        last = len(alone.events) - 1
        early = [at for at in judged.first.values() if at < last]
        if judged.verdict != "fail" or early:
            return min(early, default=last)
        if {key for key, at in judged.first.items() if at == last} != self.keys:
            return last
        for key in self.keys:
            before, _ = self.explainer.finding(key, self.number, self.run, self.judgement)
            after, _ = self.explainer.finding(key, last, alone, judged)
            if (before.reason, before.headline) != (after.reason, after.headline):
                return last
        return None


class _Needed:
    """Parts of a state that are needed; one contains those that it is a prefix of."""

    def __init__(self) -> None:
        self.cells: dict[Value, set[Cell]] = {}

    def add(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            self.cells.setdefault(cell[0], set()).add(cell)

    def touches(self, cell: Cell) -> bool:
        """Whether a cell, a part of it, or something that contains it is needed."""
        size = len(cell)
        return any(one[:size] == cell or cell[: len(one)] == one for one in self.cells.get(cell[0], ()))

    def cover(self, cell: Cell) -> None:
        """A cell gets its value here: its value before is not needed."""
        own = self.cells.get(cell[0], set())
        own -= {one for one in own if one[: len(cell)] == cell}


class _Elsewhere(Exception):
    """A change of a part that is not there."""


def _put(value: Value, path: Cell, new: Value) -> Value:
    """The value with the part at a path as it is in `new`."""
    if not path:
        return new
    key = path[0]
    if isinstance(key, Member):
        if not isinstance(value, frozenset) or not isinstance(new, frozenset):
            raise _Elsewhere
        return value | {key.element} if key.element in new else value - {key.element}
    if not _is_map(value) or not _is_map(new) or key not in value or key not in new:
        raise _Elsewhere
    return Fn({**value, key: _put(value[key], path[1:], new[key])})


def _at(state: Mapping[str, Value], cell: Cell) -> Value:
    """The value at a cell, of an element the set that has it."""
    value: Value = state[str(cell[0])]
    for key in cell[1:]:
        if not isinstance(key, Member):
            value = value[key]
    return value


def _made_of_the_old(cell: Cell, before: Mapping[str, Value], body: Expr) -> bool:
    """Whether a step may make a cell's new value of the old one, where `reads` does not tell: a sequence, a record, a
    whole variable."""
    value = _at(before, cell)
    if isinstance(value, tuple) or is_record(value):
        return True
    return len(cell) == 1 and not isinstance(value, frozenset) and cell[0] in _mentioned(body, primed=False)


def _is_map(value: Value) -> bool:
    return isinstance(value, Fn) and not is_record(value)


def _mentioned(expr: Expr, primed: bool | None = None) -> set[Value]:
    """The variables of a formula (of this state, the next, or either), but for those that it only leaves unchanged."""
    if isinstance(expr, Unchanged):
        return set()
    found: set[Value] = {expr.name} if isinstance(expr, Var) and primed in (None, expr.primed) else set()
    for child in children(expr):
        found |= _mentioned(child, primed)
    return found
