"""An explanation as data: all findings of `tidemark explain`, complete, before anything renders it.

Every text in here is TLA+ (values, paths such as `rmState[r1]`, labels such as `TMDecide("committed")`) or one plain
sentence; places are `Module.tla:line`. The terminal, the HTML page and the JSON document show this record and nothing
else, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "tidemark.explain/1"


@dataclass(frozen=True, slots=True)
class Shown:
    """A name or an expression, and its value as TLA+ text."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Change:
    """One unit that a step changed: a variable or a part of it (`fetch[b1][b2].type`).

    `how`: "set" (`old` became `new`), "added" / "removed" (an element of a set), "appended" / "truncated" (the elements
    at a sequence's end). The side that does not apply is empty. `ghost`: a history variable, computed by the check.
    """

    variable: str
    unit: str
    how: str
    old: str
    new: str
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a formula has its value: one node of a chain that ends where nothing but values is left to say.

    `text`: the formula. `operator`, `place`: the named operator whose body it is, with its arguments, and where that,
    or the formula, stands. `outcome`: "false", "true" or "error". `note`: a sentence where the formula alone does not
    say it. `bindings`: the quantified variables that make it so. `values`: those of its parts. `because`: the parts
    that decide.
    """

    text: str
    outcome: str
    operator: str = ""
    place: str = ""
    note: str = ""
    bindings: tuple[Shown, ...] = ()
    values: tuple[Shown, ...] = ()
    because: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The first failure of one check: `kind` is "not-a-step", "observation", "invariant", "action-property" or
    "quiescence".

    `name` is the property's, or that of the action that the step claims to be (empty for a stutter). `step`: the record
    where it fails first. `said`: the failure in a few words, where kind and name do not say it. `anomalies`: a history
    checker's names for it.
    """

    kind: str
    name: str
    step: int
    place: str
    reason: Reason
    said: str = ""
    anomalies: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The failure in a few words."""
        if self.said:
            return self.said
        return f"not a step of {self.name}" if self.kind == "not-a-step" else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class StepView:
    """One record of the trace: `kind` is "initial", "step", "blocked", "stutter"; `node` may be empty."""

    number: int
    kind: str
    node: str
    label: str
    action: str
    params: tuple[Shown, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the last good state. `units` are its parts that matter (`[b1][b2]`; `[3..5]`: equal elements of a
    sequence), or one part without a name.

    `folded`: how many elements of its outermost function do not matter and are left out.
    """

    name: str
    units: tuple[Shown, ...]
    ghost: bool = False
    folded: int = 0


@dataclass(frozen=True, slots=True)
class Enabled:
    """An action that was enabled in the last good state, with the parameters that it could have had."""

    action: str
    labels: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """Something that one step wrote and a step of another node read or replaced: both by record number.

    `node`: the writer's node; its record may stand before the diagram's first row. `units`: the units that were read.
    """

    source: int
    target: int
    node: str
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredCell:
    """One element of stored state: its text, and the number of its colour (-1: none).

    `how`: "stored"; "absent", the place of an element that is not there; "beyond", one after the last
    element; "lost", an element that ought to be there. "other" differs from the right one, "twice" is one of several
    that are alike, and "contested" belongs to another lane, too.
    """

    text: str
    colour: int
    how: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A mark in a strip behind its first `at` cells: the high watermark, say."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Strip:
    """Stored state of one lane after a step (-1: there are no steps): `title` names it, `row` tells several of that
    title apart (it may be empty).

    `kind`: its cells are those of a sequence ("cells"), a "set", a function ("values"), or it has none (""). `tag`: a
    few words in front of the cells. `marked`: it stands out, as a leader does. `faded`: its process is down. `spans`:
    the offsets from which something is open to the end of the cells.
    """

    step: int
    lane: str
    title: str
    kind: str
    row: str
    tag: str
    cells: tuple[StoredCell, ...]
    bars: tuple[Bar, ...] = ()
    spans: tuple[int, ...] = ()
    marked: bool = False
    faded: bool = False

    @property
    def wrong(self) -> bool:
        """Whether it shows a loss, a duplicate, or two owners."""
        return any(cell.how not in ("stored", "absent") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Hue:
    """A line of a diagram's legend.

    `kind`: "colour", "bar", "span", or the `how` of a cell; `number`: of the colour, or of the bar in its strip.
    """

    kind: str
    text: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Diagram:
    """A space-time diagram: one column per node, one row per record (`first` to `last`), arrows between them.

    `strips`: the state that a lane stores, at the first row, at each row that changes it, at failing rows and at the
    last. `lanes`: the columns, and behind them stored state that belongs to no node. `legend`: the meaning of the
    strips. `whole`: the strips come from a picture of the specification; else they may be a part of the state.
    """

    columns: tuple[str, ...]
    rows: tuple[StepView, ...]
    arrows: tuple[Arrow, ...]
    failing: tuple[int, ...]
    lanes: tuple[str, ...] = ()
    strips: tuple[Strip, ...] = ()
    legend: tuple[Hue, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest run found by re-simulation that fails in the same way.

    `decisions`/`steps`: their numbers in this run, out of `decisions_before`/`steps_before`. `runs`: simulations it
    took. `kept`: the decisions that are left, as text. `diagram`: the run. `note`: why there is none, or what to know.
    """

    note: str
    decisions_before: int = 0
    decisions: int = 0
    steps_before: int = 0
    steps: int = 0
    runs: int = 0
    kept: tuple[str, ...] = ()
    diagram: Diagram | None = None


@dataclass(frozen=True, slots=True)
class Sliced:
    """The steps that the first failure depends on: they alone, from the same first state, fail for the same reason.

    `kept`: their numbers, the failing one the last; `left_out`: how many other steps stand before it. The diagram shows
    these steps and their effects.
    """

    kept: tuple[int, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say about one trace.

    `verdict`: "pass", "fail" or "undecided" (`reason` says why). `steps`: records after the initial one. `without`: the
    rules that are not in force. `findings`: the first failure of every check, earliest first.

    The fields from `step` on speak of the earliest failing step and are empty where nothing fails. Where only the end
    of the trace fails there is no step, and the state is the last. `state`: the last good state, only the units that
    matter; `folded` names the other variables. `enabled`: the steps that could have happened instead (or next).
    `allowed`: labels of steps that would make exactly this change. `allowed_without`: sets of rules, each of which,
    taken out of force, makes it a step of the action it claims to be.
    """

    spec: str
    trace: str
    source: str
    verdict: str
    reason: str
    steps: int
    without: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    step: StepView | None = None
    state: tuple[Variable, ...] = ()
    folded: tuple[str, ...] = ()
    enabled: tuple[Enabled, ...] = ()
    allowed: tuple[str, ...] = ()
    allowed_without: tuple[tuple[str, ...], ...] = ()
    diagram: Diagram | None = None
    shrunk: Shrunk | None = None
    sliced: Sliced | None = None

    @property
    def first(self) -> tuple[Finding, ...]:
        """The findings of the earliest failing step."""
        return tuple(finding for finding in self.findings if finding.step == self.findings[0].step)

    @property
    def later(self) -> tuple[Finding, ...]:
        """The checks that fail first at a later step."""
        return tuple(finding for finding in self.findings if finding.step != self.findings[0].step)

    def document(self) -> dict[str, Any]:
        """The JSON document `tidemark.explain/1`: this record's fields under their names."""
        return {"schema": SCHEMA, "ok": self.verdict == "pass", **asdict(self)}
