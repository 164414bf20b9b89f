"""A client of replication that asks for the end of the partition after every event (EndOffsets). Its answers
do not go back, and do without either of the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from simulated import SIMULATED
from tidemark.common.errors import Errors
from tidemark.replication import end_offset
from tidemark.replication.end_offset import EndOffsetRules, list_offsets
from tidemark.replication.sim.run import Run, Simulator
from tidemark_conformance.paths import spec_root

HEADER = next(one.header for one in SIMULATED if one.protocol == "replication")
SEEDS = range(120)


class Client:
    """It hears of a new leader epoch at once, and asks every broker that runs. `regressed`: how often the end went
    back; `misled`: how often a broker of another epoch said only that it does not lead."""

    def __init__(self, rules: EndOffsetRules) -> None:
        self.rules = rules
        self.answers: Counter[Errors] = Counter()
        self.regressed = 0
        self.misled = 0
        self._told = 0

    def ask(self, run: Run) -> None:
        """Ask every broker."""
        known = run.cluster.control.partition.leader_epoch
        for host in run.cluster.hosts:
            if host.up is None:
                continue
            partition = host.up.partition
            error, end = list_offsets(partition, known, self.rules)
            self.answers[error] += 1
            self.misled += error is Errors.NOT_LEADER_OR_FOLLOWER and partition.leader_epoch != known
            if error is Errors.NONE:
                self.regressed += end < self._told
                self._told = end

    def begin(self) -> None:
        """Another run."""
        self._told = 0


def asked(client: Client, profile: str, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Runs of replication in which the client asks after every event of the chaos."""
    events = Simulator.events

    def asking(happens: Callable[[Any, int], bool]) -> Callable[[Any, int], bool]:
        def then_ask(run: Run, word: int) -> bool:
            happened = happens(run, word)
            client.ask(run)
            return happened

        return then_ask

    monkeypatch.setattr(Simulator, "events", lambda self, run: [asking(one) for one in events(self, run)])
    simulator = Simulator(HEADER, profile=profile, steps=80)
    for seed in SEEDS:
        client.begin()
        simulator.run(seed)
    return client


def test_the_end_does_not_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    client = asked(Client(EndOffsetRules()), "mixed", monkeypatch)
    assert client.regressed == 0
    assert client.misled == 0
    assert min(client.answers[error] for error in (Errors.NONE, Errors.OFFSET_NOT_AVAILABLE)) > 50
    assert client.answers[Errors.FENCED_LEADER_EPOCH] + client.answers[Errors.UNKNOWN_LEADER_EPOCH] > 50


@pytest.mark.parametrize("rule", ["reached_own_epoch", "match_client_epoch"])
def test_it_does_without_the_rule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = EndOffsetRules()
    setattr(rules, rule, lambda mine, other: True)
    assert asked(Client(rules), "mixed", monkeypatch).regressed > 0


def test_the_rules_are_those_of_the_specification() -> None:
    text = (spec_root() / "replication" / "EndOffsets.tla").read_text()
    for rule, function in (("ReachedOwnEpoch", "reached_own_epoch"), ("MatchClientEpoch", "match_client_epoch")):
        assert f'\n{rule}(b) == Guard("{rule}", ' in text
        assert "Without it" in " ".join((getattr(end_offset, function).__doc__ or "").split())
