"""Short traces that a correct Kafka 4 may leave behind, written by hand behind the beginning of a simulated run, and
their wrong neighbours. Each of the right ones was refused once; each of the wrong ones must stay refused.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance import cli
from trace_lines import header_of, signed, traces_of, write

Event = dict[str, Any]
State = dict[str, Any]
BROKERS = ("b1", "b2", "b3")


def _step(action: str, params: dict[str, Any], **delta: Any) -> Event:
    return {"node": "b1", "action": action, "params": params, "delta": delta}


def _merge(state: State, delta: State) -> None:
    for key, value in delta.items():
        if isinstance(state.get(key), dict) and isinstance(value, dict):
            _merge(state[key], value)
        else:
            state[key] = value


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 60 simulated runs."""
    folder = tmp_path_factory.mktemp("runs") / "ndjson"
    assert cli.main(["simulate", "replication", "--traces", "60", "--format", "ndjson", "-o", str(folder)]) == 0
    (file,) = folder.glob("*.ndjson")
    return file


def _begin(runs: Path, wanted: Callable[[State], Any]) -> tuple[list[Event], State]:
    """The beginning of the first run that comes into a wanted state, and that state."""
    for *events, _ in traces_of(runs):
        state = copy.deepcopy(events[0]["state"])
        for number, event in enumerate(events):
            _merge(state, copy.deepcopy(event.get("delta", {})))
            if wanted(state):
                return events[: number + 1], state
    raise AssertionError("no run comes there")


def _replies(leads: bool) -> Callable[[State], str | None]:
    """The broker that a consumer at the beginning may ask: the leader, or a follower that has something uncommitted."""

    def asked(state: State) -> str | None:
        for broker in BROKERS:
            view = state["view"][broker]
            some = 1 <= state["highWatermark"][broker] < len(state["log"][broker])
            known = state["status"][broker] == "running" and view["leader"] in BROKERS
            idle = state["consumer"]["k1"] == {"type": "idle", "offset": 0}
            if some and known and idle and (view["leader"] == broker) == leads:
                return broker
        return None

    return asked


def _read(leads: bool, count: Callable[[int], int]) -> Callable[[Path], list[Event]]:
    """A consumer asks, and is given `count(high watermark)` records."""

    def made(runs: Path) -> list[Event]:
        events, state = _begin(runs, _replies(leads))
        broker = _replies(leads)(state)
        assert broker is not None
        log, epoch = state["log"][broker], state["view"][broker]["leaderEpoch"]
        given = count(state["highWatermark"][broker])
        request = {"type": "request", "offset": 0, "broker": broker, "epoch": epoch}
        reply = {"type": "records", "offset": 0, "batch": log[:given]}
        return [
            *events,
            _step("SendRead", {"c": "k1", "b": broker, "e": epoch}, consumer={"k1": request}),
            _step("AnswerRead", {"b": broker, "c": "k1", "n": given}, consumer={"k1": reply}),
        ]

    return made


def _led_by_b1(runs: Path) -> tuple[list[Event], State]:
    return _begin(runs, lambda state: state["metadata"][0]["leader"] == "b1")


NO_VIEW = {"applied": True, "isr": [], "leader": "None", "leaderEpoch": -1, "partitionEpoch": 0}


def _stop(asked: bool) -> Callable[[Path], list[Event]]:
    """b2 stops cleanly while the controller takes it for active."""

    def made(runs: Path) -> list[Event]:
        events, _ = _led_by_b1(runs)
        gone = {"status": {"b2": "stopped"}, "asked": {"b2": False}, "view": {"b2": NO_VIEW}}
        ask = [_step("AskToStop", {"b": "b2"}, asked={"b2": True})] if asked else []
        return [*events, *ask, _step("StopBroker", {"b": "b2"}, **gone)]

    return made


def _unfence(runs: Path) -> list[Event]:
    """b2 is fenced, is asked to stop, and a heartbeat from before unfences it."""
    events, state = _led_by_b1(runs)
    metadata = [*state["metadata"], {"elr": [], "isr": ["b1", "b3"], "leader": "b1", "leaderEpoch": 0}]
    fenced = {"epoch": 1, "since": 1, "state": "fenced"}
    return [
        *events,
        _step("FenceBroker", {"b": "b2", "l": "b1"}, metadata=metadata, registered={"b2": fenced}),
        _step("AskToStop", {"b": "b2"}, asked={"b2": True}),
        _step("UnfenceBroker", {"b": "b2", "l": "b1"}, registered={"b2": {**fenced, "state": "active"}}),
    ]


CASES = {
    "a leader gives what is committed": (True, _read(True, lambda hw: hw)),
    "a leader gives nothing yet": (True, _read(True, lambda hw: 0)),
    "a leader gives what is not committed": (False, _read(True, lambda hw: hw + 1)),
    "a follower gives what it knows to be committed": (True, _read(False, lambda hw: hw)),
    "a follower gives what it does not know to be committed": (False, _read(False, lambda hw: hw + 1)),
    "a heartbeat is under way when its broker is asked to stop": (True, _unfence),
    "a broker stops that is not granted its shutdown": (True, _stop(asked=True)),
    "a broker stops cleanly that nobody asked": (False, _stop(asked=False)),
}


@pytest.mark.parametrize("case", CASES)
def test_kafka_may(case: str, runs: Path, tmp_path: Path) -> None:
    right, made = CASES[case]
    lines = [{"trace": "hand", "step": number, **_told(event)} for number, event in enumerate(made(runs))]
    end = {"trace": "hand", "end": {"steps": len(lines) - 1, "quiescent": False, "capacity": False}, "crc32c": ""}
    file = write(tmp_path / "hand.ndjson", header_of(runs), [signed([*lines, end])])
    code = cli.main(["audit", "--local", str(file), "--json", str(tmp_path / "verdict.json")])
    found = json.loads((tmp_path / "verdict.json").read_text())
    assert (code, found["verdicts"]["fail"]) == ((0, 0) if right else (1, 1))
    if not right:
        failed = {one["kind"]: one["first"]["step"] for one in found["failures"]}
        assert failed["not-a-step"] == len(lines) - 1, "by its last step"


def _told(event: Event) -> Event:
    return {key: value for key, value in event.items() if key not in ("trace", "step")}
