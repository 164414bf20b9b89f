"""The space-time diagram of a run, as data: the steps of each node, and the arrows between nodes.

Nothing is assumed about messages. A step of one node may read a value that another node wrote last. It learns something
from it: that is an arrow, drawn at the first such step of the reading node. A step that only replaces a value learns
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tidemark_conformance.explain.reads import Cell, cell_text, written
from tidemark_conformance.explain.record import Arrow, Diagram, Shown, StepView
from tidemark_conformance.explain.run import INITIAL, Run, State
from tidemark_conformance.explain.text import changes, value_text

WINDOW = 20
"""The default number of records drawn before the one that matters."""

Reads = Callable[[int], Iterable[Cell]]
"""An index in the run's events -> the cells that this step read."""


def views(
    run: Run, states: Sequence[State], names: Mapping[str, tuple[str, ...]], ghosts: Sequence[str]
) -> list[StepView]:
    """Every record of a run for display.

    `states`: the state after each record, with history as far as it was computed; `names`: the formal parameters of
    each action.
    """
    found: list[StepView] = []
    before: State | None = None
    for number, event in enumerate(run.events):
        state = states[number] if number < len(states) else event.state
        shown = tuple(
            Shown(name, value_text(value))
            for name, value in zip(names.get(event.action, ()), event.params, strict=True)
        )
        changed = changes(before, state, ghosts) if before is not None else ()
        found.append(StepView(event.number, event.kind, event.node, event.label, event.action, shown, changed))
        before = state if number + 1 < len(states) else event.state
    return found


def diagram(
    run: Run, rows: Sequence[StepView], reads: Reads, failing: Iterable[int], window: int | None = WINDOW
) -> Diagram:
    """The diagram of a run, from `window` records before the first of the `failing` ones to the last of them.

    If `window` is None, or nothing fails, it goes from the first record, or to the last one.

    Columns are the header's nodes that act in the run, in the header's order. Records without a node get a column with
    an empty name in front, if one of them, or an arrow from one, is drawn.
    """
    marked = tuple(sorted(failing))
    last = marked[-1] if marked and window is not None else len(rows) - 1
    first = 0 if window is None else max(0, (marked[0] if marked else last) - window)
    shown = tuple(rows[first : last + 1])
    arrows = tuple(arrow for arrow in _arrows(run, reads, last) if arrow.target >= first)
    acting = {row.node for row in rows if row.kind != INITIAL}
    nameless = any(not row.node for row in shown if row.kind != INITIAL) or any(not arrow.node for arrow in arrows)
    columns = tuple(node for node in ("", *run.nodes) if node in acting and (node or nameless))
    return Diagram(columns or ("",), shown, arrows, marked)


def _arrows(run: Run, reads: Reads, last: int) -> list[Arrow]:
    writers = _Writers()
    heard: set[tuple[str, int]] = set()
    found: list[Arrow] = []
    for number in range(1, last + 1):
        event, before = run.events[number], run.events[number - 1]
        sources: dict[str, tuple[int, list[str]]] = {}
        for cell in reads(number):
            writer = writers.last(cell)
            if writer is None or run.events[writer].node == event.node or (event.node, writer) in heard:
                continue
            heard.add((event.node, writer))
            node = run.events[writer].node
            known = sources.get(node)
            if known is None or writer > known[0]:
                sources[node] = (writer, [cell_text(cell)])
            elif writer == known[0]:
                known[1].append(cell_text(cell))
        found += [Arrow(source, number, node, tuple(units)) for node, (source, units) in sources.items()]
        for cell in written(before.state, event.state):
            writers.write(cell, number)
    return found


class _Writers:
    """The last step that wrote each cell."""

    def __init__(self) -> None:
        self._by_variable: dict[object, dict[Cell, int]] = {}

    def write(self, cell: Cell, number: int) -> None:
        self._by_variable.setdefault(cell[0], {})[cell] = number

    def last(self, cell: Cell) -> int | None:
        """The latest write to the cell, to a part of it, or to something that contains it."""
        known = self._by_variable.get(cell[0], {})
        size = len(cell)
        numbers = [number for other, number in known.items() if other[:size] == cell or cell[: len(other)] == other]
        return max(numbers, default=None)
