"""Plays a schedule on a cluster of released Kafka, tells it as it goes, and judges it by what it has left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark_conformance.lab.cluster import Client, Lost, Node, Running, cluster
from tidemark_conformance.lab.recorded import Recorded, Seen, judged, seen_answer
from tidemark_conformance.lab.runtime import Runtime
from tidemark_conformance.lab.schedule import Call, Condition, Line, Mute, Pause, Schedule, Signal, Start, Step

OCCURRED, NOT, VOID = "occurred", "did not occur", "void"
TRIES = 3
CALL_S = 60.0
"""Seconds for a call of a client."""
LOOK_S, ASK_S = 0.02, 0.1
"""Seconds between two looks at a file, and between two calls."""

Told = Callable[[float, str, bool], None]
"""Hears what happens: seconds since the run began, a line, and whether it begins a step."""


@dataclass(slots=True)
class Run:
    """One run. `steps`: number, text and what was seen; `evidence`: each fact and what was seen; `void`: why it is
    ("" if it is not)."""

    seconds: float = 0.0
    steps: list[tuple[int, str, str]] = field(default_factory=list)
    evidence: list[tuple[str, Seen]] = field(default_factory=list)
    void: str = ""

    @property
    def verdict(self) -> str:
        """OCCURRED if all facts hold, NOT, or VOID."""
        if self.void:
            return VOID
        return OCCURRED if all(seen.holds for _, seen in self.evidence) else NOT


def runs(schedule: Schedule, runtime: Runtime, folder: Callable[[int], Path], told: Callable[[int], Told]) -> list[Run]:
    """Play a schedule, again while it is void, at most TRIES times; the last run is the one that counts. `folder` and
    `told` are of each try, from 1."""
    tried: list[Run] = []
    while not tried or (tried[-1].void and len(tried) < TRIES):
        number = len(tried) + 1
        tried.append(play(schedule, runtime, folder(number), told(number)))
    return tried


def play(schedule: Schedule, runtime: Runtime, folder: Path, told: Told) -> Run:
    """Play a schedule once, in a folder that it makes."""
    run = Run()
    folder.mkdir(parents=True)
    recorded = Recorded(folder)
    begun = time.monotonic()

    def say(text: str, step: bool = False) -> None:
        told(time.monotonic() - begun, text, step)

    step = ""
    try:
        brokers = [*schedule.cluster.brokers]
        if brokers:
            say(f"{_listed(brokers)} and a controller start")
        with cluster(schedule.cluster, runtime, recorded) as running:
            if brokers:
                say("they serve")
            player = _Player(running, recorded, say)
            for one in schedule.steps:
                step = f"step {one.number}: "
                say(f"{one.number}. {one.text}", True)
                run.steps.append((one.number, one.text, "; ".join(player.step(one))))
            step = ""
        run.evidence = judged(schedule.evidence, folder)
    except Lost as problem:
        run.void = f"{step}{problem}"
    run.seconds = time.monotonic() - begun
    return run


class _Player:
    """Takes the steps of one run."""

    def __init__(self, running: Running, recorded: Recorded, say: Callable[[str], None]) -> None:
        self._running = running
        self._recorded = recorded
        self._say = say
        self._awaited: dict[str, tuple[Client, int]] = {}
        """Calls whose answers are to come: by the answer's name."""

    def step(self, step: Step) -> list[str]:
        """Take a step; returns what was seen. Raises Lost where it does not come about."""
        names = [*self._running.nodes, *self._running.clients]
        since = {name: self._recorded.size(name) for name in names}
        seen: list[str] = []
        for line in step.do:
            seen += self._tell(line.said, self._act(line))
        for line in (*step.until, *step.watch):
            found = self._wait(line, step.within, since)
            seen += self._tell(line.said if line in step.until else f"watch: {line.said}", found.text)
            if not found.holds and line in step.until:
                raise Lost(f"not in {step.within:g} s: {line.said} ({found.text})")
        return seen

    def _tell(self, said: str, seen: str) -> list[str]:
        self._say(f"{said}  ->  {seen}" if seen else said)
        return [seen] if seen else []

    def _act(self, line: Line) -> str:
        match line.means:
            case Signal(name, to):
                self._running.process(to).send(name)
            case Mute(broker, mute):
                proxy = self._running.proxies[broker]
                proxy.mute() if mute else proxy.speak()
            case Start(who):
                self._running.process(who).start()
            case Pause(seconds):
                time.sleep(seconds)
            case Call() as call:
                return self._call(call)
        return ""

    def _call(self, call: Call) -> str:
        client = self._running.clients[call.client]
        number = client.ask(call.name, call.arguments)
        if call.later:
            self._awaited[call.known_as] = (client, number)
            return ""
        answer = client.answer(number, CALL_S)
        if answer is None:
            raise Lost(f"{call.client} has no answer to its call {call.name} in {CALL_S:g} s")
        self._recorded.answered(call.known_as, answer)
        seen = seen_answer(answer, call.outcome, (call.error,))
        if call.outcome != "either" and not seen.holds:
            raise Lost(f"{call.client} {call.name}: {seen.text}")
        return seen.text

    def _wait(self, line: Line, seconds: float, since: Mapping[str, int]) -> Seen:
        assert isinstance(line.means, Condition)
        condition = line.means
        end = time.monotonic() + seconds
        while True:
            found, answer = self._look(condition, since, max(end - time.monotonic(), ASK_S))
            if found.holds or time.monotonic() > end:
                if condition.call is not None and answer is not None:
                    self._recorded.answered(condition.call.known_as, answer)
                return found
            time.sleep(ASK_S if condition.kind == "call" else LOOK_S)

    def _look(
        self, condition: Condition, since: Mapping[str, int], left: float
    ) -> tuple[Seen, Mapping[str, Any] | None]:
        """The fact as it is seen now, and the answer of a call."""
        if condition.kind in ("ready", "exited"):
            process = self._running.process(condition.of[0])
            ended = condition.kind == "exited"
            holds = not process.running() if ended or not isinstance(process, Node) else process.ready()
            return Seen(holds, "" if holds else f"{process.name} {'runs' if ended else 'does not serve'}"), None
        if condition.call is not None:
            client = self._running.clients[condition.call.client]
            answer = client.answer(client.ask(condition.call.name, condition.call.arguments), left)
            return seen_answer(answer, condition.how, condition.words), answer
        if condition.kind == "answer":
            self._collect(condition.of[0])
        return self._recorded.see(condition, since), None

    def _collect(self, name: str) -> None:
        """Keep an answer that is awaited, if it has come."""
        if name in self._awaited:
            client, number = self._awaited[name]
            answer: Mapping[str, Any] | None = client.answer(number, 0)
            if answer is not None:
                del self._awaited[name]
                self._recorded.answered(name, answer)


def _listed(names: list[str]) -> str:
    return f"the brokers {', '.join(names[:-1])} and {names[-1]}," if len(names) > 1 else f"the broker {names[0]}"
