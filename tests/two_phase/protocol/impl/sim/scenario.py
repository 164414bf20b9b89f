"""Two-phase commit driven by a text (simulator/script.py): how each action is caused, and the transcript's columns.

The transcript shows of a resource manager how far it is, and of the transaction manager its decision, or the promises
that it has read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder
from tidemark.two_phase_commit.abstraction import Abstraction
from tidemark.two_phase_commit.messages import OUTCOMES
from tidemark.two_phase_commit.rules import Rules
from tidemark.two_phase_commit.sim.cluster import TwoPhaseCommitCluster
from tidemark.two_phase_commit.sim.run import TwoPhaseCommitSimulator


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """The managers before their first event. Raises KeyError for any option."""
    if options:
        raise KeyError(str(options))
    simulator = TwoPhaseCommitSimulator(header, rules=rules)
    names = simulator.table.names
    cluster = TwoPhaseCommitCluster(len(names), simulator.rules)
    abstraction = Abstraction(simulator.table, cluster)

    def columns() -> Cells:
        manager = cluster.transaction_manager
        promised = [names[r] for r in sorted(manager.prepared)]
        decided = manager.decision.value if manager.decision else " ".join(["undecided", *promised])
        seen = [(one, abstraction.rm_state(r)) for r, one in enumerate(names)]
        return {"tm": decided} | {one: str(getattr(state, "value", state)) for one, state in seen}

    return Performance(cluster, Recorder(simulator.plan, abstraction), columns)


EVENTS: dict[str, Callable[..., bool]] = {
    "RMPrepare": lambda cluster, r: cluster.prepare(r),
    "RMAbort": lambda cluster, r: cluster.abort(r),
    "RMReceiveDecision": lambda cluster, r, outcome: cluster.receive_decision(r, OUTCOMES[outcome]),
    "TMReceivePrepared": lambda cluster, r: cluster.receive_prepared(r),
    "TMDecide": lambda cluster, outcome: cluster.decide(OUTCOMES[outcome]),
    "TMRestart": lambda cluster: cluster.restart(),
}
"""The call that makes each action happen."""

STAGE = Stage(begin, EVENTS)
