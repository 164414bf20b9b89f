r"""Schedules of finds on real Kafka: `traces/golden/<protocol>/<find>.toml`, beside the golden scenarios.

    find = "CAND-2"                       # its name here and in docs/finds.md
    title = "one sentence: the effect"
    shown = ["4.3.1"]                     # the versions that it was shown on
    seconds = 40                          # of one run, about
    [cluster]
    brokers = ["A", "B", "C"]             # ids 1, 2, 3; a name that is a number is its id
    settings = {"min.insync.replicas" = 2}
    proxied = true                        # clients reach each broker through a proxy
    features = {"transaction.version" = 1}
    topics = [{name = "x", replicas = ["A"], settings = {}}]   # the replicas of each partition: "A,B"
    clients = [{name = "p", kind = "producer", settings = {}}]
                                          # without brokers and topics: no cluster, and one client of the kind "log"
    [control]
    text = "what the control leaves out, or does instead"
    settings, features, clients           # optional: these replace those of the cluster, or of a client by its name
    [[step]]
    text = "one sentence for people"
    decisive = true                       # the control leaves it out
    instead = true                        # the control alone takes it
    do = ["STOP C"]                       # in order
    until = ["says B Elected"]            # then all of these, each within `within` seconds (30), else the run is void
    watch = ["admin offsets g lacks t-0"] # the same, but the run goes on without it
    [[evidence]]
    text = "one sentence for people"
    holds = "answer commit ok"            # the find has occurred if all of these hold

Lines of `do`:

    STOP|CONT|TERM|KILL X     a signal to a node or a client; KILL waits for the end
    mute X | speak X          a broker's proxy loses all that it says to clients, and nobody connects; or no longer
    start X                   a node again, once its process has ended, or a client (which a first call does by itself)
    pause SECONDS WHY         only where no condition can be waited for
    CLIENT CALL ARGUMENTS     a call of the driver (`CALLS`), and its answer; a run whose call fails is void
      ... fails ERROR           it must fail, with this class of error
      ... either                it may fail
      ... later                 its answer is not waited for
      ... as NAME               by which evidence names the answer (else the call's own name)

Conditions, in `until`, `watch` and `holds`:

    ready X | exited X        a node serves; a process has ended
    says X PATTERN            a line of its log has the pattern; in a step, a line that was written since it began
    log TOPIC-N A,B HOW WORDS the records of a partition on these brokers, each
    answer NAME ok | answer NAME fails ERROR | answer NAME known | answer NAME HOW WORDS
    CLIENT CALL ... HOW WORDS the call is repeated until its answer is so (no condition of evidence)

HOW is `has`, `lacks`, `ends`, `twice` or `empty`. An answer and a log are lists of entries; an entry is a few words.
`has` asks for an entry with all these words, `ends` for such a one at the end, `twice` for two or more.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tidemark.common.naming import instead

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_root

CALLS = {
    "create": (2, 99),
    "partitions": (2, 2),
    "describe": (1, 1),
    "reassign": (2, 2),
    "cancel": (1, 1),
    "elect": (1, 1),
    "configure": (3, 99),
    "brokers": (0, 0),
    "group": (1, 1),
    "offsets": (1, 1),
    "reset": (3, 3),
    "read": (2, 2),
    "init": (0, 0),
    "begin": (0, 0),
    "send": (2, 2),
    "fill": (3, 3),
    "commit": (0, 0),
    "abort": (0, 0),
    "subscribe": (1, 1),
    "assignment": (0, 0),
    "consumed": (0, 0),
    "commit-offsets": (0, 0),
    "close": (0, 0),
    "open": (1, 1),
    "append": (2, 2),
    "roll": (0, 0),
    "truncate": (1, 1),
    "task": (1, 1),
    "lose": (2, 2),
    "tear": (2, 2),
    "look": (0, 0),
}
"""The calls of the drivers (Driver.java, LogDriver.java), and how few and how many arguments each takes."""
SIGNALS = ("STOP", "CONT", "TERM", "KILL")
HOWS = ("has", "lacks", "ends", "twice", "empty")
ADMIN = "admin"
"""The client that every cluster has."""
WITHIN_S = 30.0
LOG = "log"
"""The kind of a client that is no client: a process with one log of a partition, as Kafka's classes keep it."""
KINDS = ("producer", "consumer", LOG)


@dataclass(frozen=True, slots=True)
class Topic:
    """`replicas`: of each partition, the preferred leader first."""

    name: str
    replicas: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Client:
    """`kind`: "producer", "consumer", "admin" or "log"."""

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The nodes that are started. `brokers`: name -> id. `proxied`: clients reach each broker through a proxy."""

    brokers: Mapping[str, int]
    topics: tuple[Topic, ...]
    clients: Mapping[str, Client]
    settings: Mapping[str, Any]
    features: Mapping[str, Any]
    proxied: bool


@dataclass(frozen=True, slots=True)
class Mute:
    """A broker's proxy becomes mute, or ends to be so."""

    broker: str
    mute: bool


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal to a node or a client."""

    name: str
    to: str


@dataclass(frozen=True, slots=True)
class Start:
    """A process is started, after the end of the one before it."""

    who: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Seconds that go by."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a client. `outcome`: "ok", "either" or "fails"; `error`: the class that it fails with; `later`: its
    answer is not waited for; `known_as`: the name of the answer."""

    client: str
    name: str
    arguments: tuple[str, ...]
    outcome: str = "ok"
    error: str = ""
    later: bool = False
    known_as: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """`kind`: "ready", "exited", "says", "log", "answer" or "call". `of`: nodes, a client, or an answer's name.
    `topic`: of a log. `how`: one of HOWS, "ok", "known", "fails", or "" (then `words` is a pattern)."""

    kind: str
    of: tuple[str, ...]
    how: str = ""
    words: tuple[str, ...] = ()
    topic: str = ""
    call: Call | None = None


Action = Mute | Signal | Start | Pause | Call


@dataclass(frozen=True, slots=True)
class Line:
    """An action or a condition, and the line that says it."""

    said: str
    means: Action | Condition


@dataclass(frozen=True, slots=True)
class Step:
    """`number`: from 1, also where steps are left out. `within`: seconds for each condition."""

    number: int
    text: str
    do: tuple[Line, ...]
    until: tuple[Line, ...]
    watch: tuple[Line, ...]
    within: float
    decisive: bool
    instead: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """Evidence: it must hold if the find occurred."""

    text: str
    holds: Line


@dataclass(frozen=True, slots=True)
class Schedule:
    """A find's schedule, or its control."""

    find: str
    protocol: str
    title: str
    shown: tuple[str, ...]
    seconds: float
    cluster: Cluster
    control: str
    steps: tuple[Step, ...]
    evidence: tuple[Fact, ...]


def files() -> dict[str, Path]:
    """The schedules of this installation: name of the find -> file."""
    return {file.stem: file for file in sorted(golden_root().glob("*/*.toml"), key=_order)}


def _order(file: Path) -> tuple[str, int]:
    found = re.fullmatch(r"(\D*)(\d*).*", file.stem)
    return (found[1], int(found[2] or 0)) if found else (file.stem, 0)


def schedule(find: str, control: bool = False) -> Schedule:
    """The schedule of a find; Unusable for one that has none."""
    known = files()
    if find not in known:
        raise Unusable(f"no schedule shows {find}; {instead(find, known, '`tidemark reproduce` lists them')}")
    return read(known[find], control)


@cache
def read(file: Path, control: bool = False) -> Schedule:
    """A schedule, or its control. Raises Unusable for a file that is none; the sentence names the place."""
    try:
        with file.open("rb") as opened:
            return _Reader(tomllib.load(opened), control).schedule(file)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise Unusable(f"{file} is no schedule: {problem}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        said = f"it lacks {problem}" if isinstance(problem, KeyError) else problem
        raise Unusable(f"{file} is no schedule: {said} (lab/schedule.py has the form)") from None


class _Reader:
    """The content of one file, as data."""

    def __init__(self, content: Mapping[str, Any], control: bool) -> None:
        self._content = content
        self._instead: Mapping[str, Any] = content["control"] if control else {}
        self._control = control
        self._cluster = self._read_cluster(content["cluster"])

    def schedule(self, file: Path) -> Schedule:
        content = self._content
        unknown = set(content) - {"find", "title", "shown", "seconds", "cluster", "control", "step", "evidence"}
        if unknown:
            raise ValueError(f"it has {min(unknown)!r}, which means nothing")
        steps = tuple(self._step(number, one) for number, one in enumerate(content["step"], 1))
        if not any(one.decisive or one.instead for one in steps) and not set(content["control"]) - {"text"}:
            raise ValueError("the control is the same: no step is decisive or taken instead, and it replaces nothing")
        evidence = tuple(Fact(one["text"], self._proof(one["holds"])) for one in content["evidence"])
        if content["find"] != file.stem or not evidence:
            raise ValueError(f"its find is {content['find']!r}, with {len(evidence)} facts of evidence")
        return Schedule(
            content["find"],
            file.parent.name,
            content["title"],
            tuple(content["shown"]),
            float(content["seconds"]),
            self._cluster,
            content["control"]["text"],
            tuple(one for one in steps if not (one.decisive if self._control else one.instead)),
            evidence,
        )

    def _read_cluster(self, content: Mapping[str, Any]) -> Cluster:
        names = [str(name) for name in content["brokers"]]
        brokers = {name: int(name) if name.isdigit() else place for place, name in enumerate(names, 1)}
        clients = {ADMIN: Client(ADMIN, ADMIN)}
        for one in content.get("clients", []):
            if one["kind"] not in KINDS or one["name"] in (*clients, *brokers):
                raise ValueError(f"the client {one['name']!r} needs a kind of {' or '.join(KINDS)}, and its own name")
            clients[one["name"]] = Client(one["name"], one["kind"], one.get("settings", {}))
        for name, settings in self._instead.get("clients", {}).items():
            clients[name] = replace(clients[name], settings={**clients[name].settings, **settings})
        topics = [Topic(one["name"], tuple(one["replicas"]), one.get("settings", {})) for one in content["topics"]]
        for name in {name for topic in topics for replicas in topic.replicas for name in replicas.split(",")}:
            if name not in brokers:
                raise ValueError(f"a topic has its replica on {name!r}, which is no broker")
        settings = {**content.get("settings", {}), **self._instead.get("settings", {})}
        features = {**content.get("features", {}), **self._instead.get("features", {})}
        return Cluster(brokers, tuple(topics), clients, settings, features, bool(content.get("proxied", False)))

    def _step(self, number: int, content: Mapping[str, Any]) -> Step:
        unknown = set(content) - {"text", "do", "until", "watch", "within", "decisive", "instead"}
        if unknown:
            raise ValueError(f"step {number} has {min(unknown)!r}, which means nothing")
        try:
            return Step(
                number,
                content["text"],
                tuple(Line(said, self._action(shlex.split(said))) for said in content.get("do", [])),
                tuple(Line(said, self._condition(shlex.split(said))) for said in content.get("until", [])),
                tuple(Line(said, self._condition(shlex.split(said))) for said in content.get("watch", [])),
                float(content.get("within", WITHIN_S)),
                bool(content.get("decisive", False)),
                bool(content.get("instead", False)),
            )
        except ValueError as problem:
            raise ValueError(f"step {number}: {problem}") from None

    def _proof(self, said: str) -> Line:
        means = self._condition(shlex.split(said))
        if means.kind in ("call", "ready", "exited"):
            raise ValueError(f"{said!r} cannot be seen afterwards, and is no evidence")
        return Line(said, means)

    def _action(self, words: list[str]) -> Action:
        match words:
            case [name, to] if name in SIGNALS:
                return Signal(name, self._process(to))
            case ["mute" | "speak" as name, broker] if self._cluster.proxied:
                return Mute(self._broker(broker), name == "mute")
            case ["start", who]:
                return Start(self._process(who))
            case ["pause", seconds, _, *_]:
                return Pause(float(seconds))
            case [client, *_] if client in self._cluster.clients:
                return self._call(words)
        raise ValueError(f"{shlex.join(words)!r} is no action")

    def _call(self, words: Sequence[str]) -> Call:
        client, name, *rest = words
        made = Call(client, name, (), known_as=name)
        while rest:
            match rest:
                case [*before, "later"]:
                    rest, made = before, replace(made, later=True)
                case [*before, "either"]:
                    rest, made = before, replace(made, outcome="either")
                case [*before, "fails", error]:
                    rest, made = before, replace(made, outcome="fails", error=error)
                case [*before, "as", known_as]:
                    rest, made = before, replace(made, known_as=known_as)
                case _:
                    break
        few, many = CALLS.get(name, (0, -1))
        if not few <= len(rest) <= many:
            raise ValueError(f"{shlex.join(words)!r} is no call; {instead(name, CALLS, 'schedule.py has them')}")
        return replace(made, arguments=tuple(rest))

    def _condition(self, words: list[str]) -> Condition:
        match words:
            case ["ready" | "exited" as kind, who]:
                return Condition(kind, (self._process(who),))
            case ["says", who, pattern]:
                _require_pattern(pattern)
                return Condition("says", (self._process(who),), words=(pattern,))
            case ["log", topic, nodes, how, *wanted] if how in HOWS:
                return Condition("log", tuple(map(self._broker, nodes.split(","))), how, tuple(wanted), topic)
            case ["answer", name, "ok" | "known" as how]:
                return Condition("answer", (name,), how)
            case ["answer", name, "fails", error]:
                return Condition("answer", (name,), "fails", (error,))
            case ["answer", name, how, *wanted] if how in HOWS:
                return Condition("answer", (name,), how, tuple(wanted))
            case [client, _, *rest] if client in self._cluster.clients:
                place = next((place for place, word in enumerate(rest, 2) if word in HOWS), 0)
                if place:
                    call = replace(self._call(words[:place]), outcome="either")
                    return Condition("call", (client,), words[place], tuple(words[place + 1 :]), call=call)
        raise ValueError(f"{shlex.join(words)!r} is no condition")

    def _process(self, name: str) -> str:
        if name not in self._cluster.brokers and name not in self._cluster.clients:
            raise ValueError(f"{name!r} is no broker and no client")
        return name

    def _broker(self, name: str) -> str:
        if name not in self._cluster.brokers:
            raise ValueError(f"{name!r} is no broker")
        return name


def _require_pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as problem:
        raise ValueError(f"{text!r} is no pattern: {problem}") from None
