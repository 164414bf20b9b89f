"""The folder that a run leaves, and the facts that can be read off it: while it goes on, and long afterwards.

nodes/<broker>/server.log, data/...     of each node: what it logged, and its logs
clients/<client>.log                    what a client logged
answers.ndjson                          a line per answer of a client: {"as": "commit", "ok": [...]}, or "error"
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark_conformance.lab import segments
from tidemark_conformance.lab.schedule import Condition, Fact

ANSWERS = "answers.ndjson"
LINE = re.compile(r"^\[[^]]*\] [A-Z]+ (.*) \([\w.$]+\)$")
MESSAGE = r"\1"
"""A line of a log, as the lab has Kafka write them: time, level, message, class."""
SEEN_MOST = 160
"""Characters of what was seen, in one line for people."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Whether a condition holds, and what was seen, in one line."""

    holds: bool
    text: str


class Recorded:
    """The folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def node(self, name: str) -> Path:
        """The folder of a node."""
        return self.folder / "nodes" / name

    def said(self, who: str) -> Path:
        """The file that a node or a client writes its log to."""
        node = self.node(who)
        return node / "server.log" if node.is_dir() else self.folder / "clients" / f"{who}.log"

    def size(self, who: str) -> int:
        """Bytes that a node or a client has logged."""
        file = self.said(who)
        return file.stat().st_size if file.is_file() else 0

    def answer(self, name: str) -> Mapping[str, Any] | None:
        """The last answer that goes by a name; None if there is none yet."""
        file = self.folder / ANSWERS
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        return next((found for found in map(json.loads, reversed(lines)) if found["as"] == name), None)

    def answered(self, name: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer."""
        with (self.folder / ANSWERS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"as": name, **answer}) + "\n")

    def see(self, condition: Condition, since: Mapping[str, int] | None = None) -> Seen:
        """A condition of the kinds "says", "log" and "answer". `since`: bytes of each log that are left out."""
        if condition.kind == "says":
            return self._says(condition.of[0], condition.words[0], (since or {}).get(condition.of[0], 0))
        if condition.kind == "answer":
            return seen_answer(self.answer(condition.of[0]), condition.how, condition.words)
        return self._log(condition)

    def _says(self, who: str, pattern: str, since: int) -> Seen:
        file = self.said(who)
        if not file.is_file():
            return Seen(False, f"{who} has logged nothing")
        with file.open("rb") as opened:
            opened.seek(since)
            lines = opened.read().decode(errors="replace").splitlines()
        found = next((line for line in lines if re.search(pattern, line)), None)
        if found is None:
            return Seen(False, f"{who} has not logged {pattern!r}")
        return Seen(True, _cut(f"{who}: {LINE.sub(MESSAGE, found)}"))

    def _log(self, condition: Condition) -> Seen:
        holds = True
        brokers: dict[str, list[str]] = {}
        for broker in condition.of:
            partition = self.node(broker) / "data" / condition.topic
            entries = [record.text for record in segments.log(partition)]
            holds = holds and partition.is_dir() and entries_are(entries, condition.how, condition.words)
            brokers.setdefault(" | ".join(entries) or "(empty)", []).append(broker)
        return Seen(holds, _cut("; ".join(f"{','.join(names)}: {text}" for text, names in brokers.items())))


def seen_answer(answer: Mapping[str, Any] | None, how: str, words: Sequence[str]) -> Seen:
    """A condition on an answer (None: there is none, and nothing holds)."""
    if answer is None:
        return Seen(False, "no answer")
    if "error" in answer:
        text = f"{answer['error']}: {answer.get('message', '')}".removesuffix(": ")
        return Seen(how == "known" or (how == "fails" and answer["error"] == words[0]), _cut(text))
    holds = how in ("known", "ok") or (how != "fails" and entries_are(answer["ok"], how, words))
    return Seen(holds, _cut(" | ".join(answer["ok"]) or "(nothing)"))


def entries_are(entries: Sequence[str], how: str, words: Sequence[str]) -> bool:
    """Whether entries are as a condition asks (schedule.py). An entry is a few words."""
    fitting = [place for place, entry in enumerate(entries) if set(words) <= set(entry.split())]
    match how:
        case "has":
            return bool(fitting)
        case "lacks":
            return not fitting
        case "ends":
            return bool(fitting) and fitting[-1] == len(entries) - 1
        case "twice":
            return len(fitting) >= 2
        case _:
            return not entries


def judged(evidence: Sequence[Fact], folder: Path) -> list[tuple[str, Seen]]:
    """Each fact of a schedule's evidence, as the folder of a run shows it: the find has occurred if all hold."""
    recorded = Recorded(folder)
    return [(fact.text, recorded.see(fact.holds.means)) for fact in evidence if isinstance(fact.holds.means, Condition)]


def _cut(text: str) -> str:
    return text if len(text) <= SEEN_MOST else f"{text[: SEEN_MOST - 2]} …"
