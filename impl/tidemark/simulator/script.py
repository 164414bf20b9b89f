"""The common part of all protocols' scenarios: lines, expectations, the transcript. A scenario whose events have the
names of the specification's actions needs no language of its own.

One event a line; `#` starts a comment.

    expect ... | expect right: ...    the facts that must hold then (with the rules removed | with all rules in force),
                                      each also with `not`; the protocol defines the facts

In an `ActionScript` the other lines are

    begin coordinator=b1 ...          how it begins, with the protocol's options. Must come first
    SendJoin c1 b1                    an action: its nodes and places by name, in any order; a set is {p1,p2} or {},
    Poll c1 p1 offset=3                 a number is named,
    RejectSync b1 c1 late               a truth value is named where it is TRUE
    wait 8000                         so many milliseconds go by, where the protocol has a clock
    right: SendJoin c1 b1             this happens only with all rules in force
    expect c1: m2                     c1's cell of the transcript then has these words

Parameters that the implementation decides may be left out: the number of a new member, an assignor's assignment.
With rules removed every line must happen as it says. With all rules in force it may end differently: an impossible
event changes nothing and is shown as such. So is another action that happens in its place.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from tidemark.trace.recording import Recorder, TraceRecorder

Cells = dict[str, str]
"""A transcript's cells beside an event, by the column's title."""


class ScenarioError(ValueError):
    """A line that says nothing, or an expectation that does not hold; the message names the line."""


@dataclass(slots=True)
class ScenarioResult:
    """`stream`: the trace; `transcript`: a table with a line per event, its steps in the trace, and a column per node;
    `impossible`: lines that could not happen."""

    stream: bytes
    transcript: str
    impossible: int


@cache
def spoken(text: str) -> tuple[tuple[int, str], ...]:
    """The lines of a text that say something, with their numbers and without comments."""
    lines = [(number, line.split("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1)]
    return tuple([(number, said) for number, said in lines if said])


class Script(ABC):
    """One run of a text. `right`: all rules are in force, so that `expect right:` is checked and plain `expect` is
    not."""

    _recorder: TraceRecorder

    def __init__(self, right: bool) -> None:
        self.right = right
        self.impossible = 0
        self.shown: list[tuple[str, str, Cells]] = []
        self._told = 0  # the last step that a line of the transcript tells

    def drive(self, text: str) -> None:
        """Run a text and leave the trace open. Raises ScenarioError as `run` does."""
        for number, said in spoken(text):
            verb, _, rest = said.partition(" ")
            try:
                if verb == "expect":
                    self._expect(number, rest.strip())
                else:
                    self.event(number, said, verb, rest.split())
            except (KeyError, IndexError) as problem:
                message = f"line {number}: {said!r} lacks something or names what is not there"
                raise ScenarioError(message) from problem

    def run(self, text: str) -> ScenarioResult:
        """Run a text. Raises ScenarioError for a line that says nothing, and for an expectation that does not hold."""
        self.drive(text)
        return ScenarioResult(self.end(), self.transcript(), self.impossible)

    def show(self, note: str, cells: Cells) -> None:
        """A line of the transcript: it tells the steps that were written since the line before it."""
        first, last = self._told + 1, self._recorder.records - 1
        steps = "" if last < first else str(last) if last == first else f"{first}-{last}"
        self._told = last
        self.shown.append((steps, note, cells))

    def transcript(self) -> str:
        """The table of the transcript's rows."""
        titles = self.titles()
        rows = [["step", "event", *titles]]
        rows += ([steps, note, *(cells[one] for one in titles)] for steps, note, cells in self.shown)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def _expect(self, number: int, said: str) -> None:
        right = said.startswith("right:")
        if right != self.right:
            return
        said = said.removeprefix("right:").strip()
        wanted = not said.startswith("not ")
        said = said.removeprefix("not ").strip()
        if self.holds(said) != wanted:
            raise ScenarioError(f"line {number}: expected {'' if wanted else 'not '}{said}\n{self.transcript()}")

    # --- what a protocol brings -------------------------------------------------------------------------------------

    @abstractmethod
    def event(self, number: int, said: str, verb: str, words: list[str]) -> None:
        """A line that is no expectation. Raises ScenarioError, and KeyError or IndexError for a missing name or
        number."""

    @abstractmethod
    def holds(self, said: str) -> bool:
        """Whether an expectation holds. Raises KeyError or IndexError for a missing name or number."""

    @abstractmethod
    def titles(self) -> Sequence[str]:
        """The titles of the columns."""

    @abstractmethod
    def end(self) -> bytes:
        """The trace ends."""


class AnyRecorder(TraceRecorder, Protocol):
    """A recorder, as a cluster tells it of its events."""

    def did(self, *what: Any) -> None:
        """A handler has run."""

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""


class Listening(Recorder):
    """A recorder that remembers the last action it was told."""

    def __init__(self, recorder: AnyRecorder) -> None:
        self._recorder = recorder
        self.happened: tuple[Any, ...] | None = None
        self.refused = False

    def did(self, *what: Any) -> None:
        """See AnyRecorder."""
        self._recorder.did(*what)
        self.happened = what

    def blocked(self, *what: Any) -> None:
        """See AnyRecorder."""
        self._recorder.blocked(*what)
        self.refused = True


class Performance(NamedTuple):
    """A cluster that a text drives. `recorder` is to be its recorder. `columns()`: the shown state of every node and of
    the parts that they share, in the order of a transcript."""

    cluster: Any
    recorder: AnyRecorder
    columns: Callable[[], Cells]


@dataclass(frozen=True, slots=True)
class Stage:
    """A protocol's part of scenarios: it makes a cluster and performs actions by their names.

    `begin(header, rules, options)`: a cluster before its first event; `rules` None: all in force. It raises KeyError
    for an option or a name that there is not. `events`: action -> its cause: a function that gets the cluster and the
    parameters that it names, and returns whether something happened. Strings are given by their place in the sorted
    domain, sets as frozensets. `clock`: the cluster has one, `now` in milliseconds, which is no variable of the
    specification.
    """

    begin: Callable[[Mapping[str, Any], Any, Mapping[str, str]], Performance]
    events: Mapping[str, Callable[..., bool]]
    clock: bool = False


class ActionScript(Script):
    """A script whose verbs are the actions of a trace header."""

    def __init__(self, stage: Stage, header: Mapping[str, Any], rules: Any) -> None:
        super().__init__(rules is None)
        self._stage = stage
        self._header = header
        self._rules = rules
        self._actions: dict[str, dict[str, list[Any]]] = {one["name"]: one["params"] for one in header["actions"]}
        self._begin({})

    def _begin(self, options: dict[str, str]) -> None:
        self.cluster, self._recorder, self._columns = self._stage.begin(self._header, self._rules, options)
        self._heard = self.cluster.recorder = Listening(self._recorder)
        self._recorder.begin()
        self._first = self._columns()

    def event(self, number: int, said: str, verb: str, words: list[str]) -> None:
        """A line that is no expectation."""
        if verb == "right:":
            if self.right and words:
                self.event(number, said.removeprefix("right:").strip(), words[0], words[1:])
        elif verb == "begin":
            if self.shown:
                raise ScenarioError(f"line {number}: how it begins is said before the first event")
            self._begin(dict(word.split("=", 1) for word in words if "=" in word))
        elif verb == "wait" and self._stage.clock:
            self.cluster.now += int(words[0])
        elif verb in self._stage.events:
            self._act(number, said, verb, words)
        else:
            raise ScenarioError(f"line {number}: there is no action {verb}")

    def _act(self, number: int, said: str, action: str, words: list[str]) -> None:
        heard, happens = self._heard, self._stage.events[action]
        given = self._given(number, said, action, words)
        asked = list(inspect.signature(happens).parameters)[1:]
        heard.happened, heard.refused = None, False
        happens(self.cluster, **{formal: given[formal] for formal in asked})
        note = self._note(action, given)
        if note and not self.right:
            raise ScenarioError(f"line {number}: {said}{note}\n{self.transcript()}")
        self.impossible += heard.happened is None
        self.show(said + note, self._columns())

    def _note(self, action: str, given: dict[str, Any]) -> str:
        """The note on an event that did not happen as its line says."""
        heard = self._heard
        if heard.happened is None:
            return "   (a rule says no)" if heard.refused else "   (not possible)"
        name, *values = heard.happened
        formals = self._actions[name]
        if name == action and all(
            formal not in given or _number(domain, given[formal]) == value
            for (formal, domain), value in zip(formals.items(), values, strict=True)
        ):
            return ""
        return f"   (instead: {_words(name, formals, values)})"

    def _given(self, number: int, said: str, action: str, words: list[str]) -> dict[str, Any]:
        """The parameters that a line gives."""
        formals = self._actions[action]
        given: dict[str, Any] = {}
        for word in words:
            name, named, text = word.partition("=")
            if not named:
                fits = (formal for formal in formals if formal not in given and _fits(formals[formal], formal, word))
                name, text = next(fits, ""), word
            if name not in formals:
                raise ScenarioError(f"line {number}: {said!r}: {action} has no parameter {word}")
            given[name] = _value(formals[name], text)
        for formal, domain in formals.items():
            if isinstance(domain[0], bool):
                given.setdefault(formal, False)
        return given

    def holds(self, said: str) -> bool:
        """`c1: words` of what the transcript shows."""
        name, _, words = said.partition(":")
        return words.strip() in self._columns()[name.strip()]

    def titles(self) -> Sequence[str]:
        """The columns that change during the scenario."""
        return [one for one in self._first if any(cells[one] != self._first[one] for *_, cells in self.shown)]

    def end(self) -> bytes:
        """The trace ends; faults may go on."""
        return self._recorder.end(False, False)


def _fits(domain: Sequence[Any], formal: str, word: str) -> bool:
    """Whether a word can be the value of a parameter that it does not name."""
    first = domain[0]
    if isinstance(first, bool):
        return word == formal
    if isinstance(first, list):
        return word.startswith("{")
    return isinstance(first, str) and word in domain


def _value(domain: Sequence[Any], text: str) -> Any:
    """The value of a text, as a `Stage`'s events take it. Raises KeyError for a value outside the domain."""
    first = domain[0]
    value: Any
    if isinstance(first, bool):
        return True
    if isinstance(first, list):
        value = frozenset(one for one in text.strip("{}").split(",") if one)
        known = value in map(frozenset, domain)
    else:
        value = text if isinstance(first, str) else int(text)
        known = value in domain
    if not known:
        raise KeyError(text)
    return domain.index(value) if isinstance(first, str) else value


def _number(domain: Sequence[Any], value: Any) -> Any:
    """The number for a value in the recorder; for a set, the mask over the sorted names."""
    if not isinstance(value, frozenset):
        return value
    names = sorted({name for one in domain for name in one})
    return sum(1 << place for place, name in enumerate(names) if name in value)


def _words(name: str, formals: Mapping[str, Sequence[Any]], values: Sequence[Any]) -> str:
    """An action as a line says it."""
    found = [name]
    for (formal, domain), value in zip(formals.items(), values, strict=True):
        first = domain[0]
        if isinstance(first, bool):
            found += [formal] if value else []
        elif isinstance(first, str):
            found.append(domain[value])
        elif isinstance(first, list):
            names = sorted({name for one in domain for name in one})
            found.append("{" + ",".join(name for place, name in enumerate(names) if value >> place & 1) + "}")
        elif isinstance(first, int):
            found.append(f"{formal}={value}")
    return " ".join(found)


def run_script(stage: Stage, header: Mapping[str, Any], text: str, rules: Any = None) -> ScenarioResult:
    """Run a text with these rules (None: all in force). Raises ScenarioError as `Script.run` does."""
    return ActionScript(stage, header, rules).run(text)
