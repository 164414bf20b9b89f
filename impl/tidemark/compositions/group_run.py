"""One simulated run of a group over a replicated log: chaos in both, then perhaps healing of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.healing import heal
from tidemark.classic_group.sim.profiles import CALM
from tidemark.classic_group.sim.run import GroupRun, GroupSimulator
from tidemark.compositions.group_cluster import ComposedCluster
from tidemark.compositions.running import ComposedRunBase, ComposedSimulatorBase, PartitionRun
from tidemark.groups.sim.network import Broker, Client
from tidemark.replication.sim.run import Run

PROFILES = {
    "calm": ("calm", "calm"),
    "chaos": ("chaos", "chaos"),
    "elections": ("elections", "fail-overs"),
    "restarts": ("restarts", "chaos"),
    "members": ("calm", "restarts"),
    "left-behind": ("elections", "left-behind"),
}
"""Name -> the profile of replication, and that of the group."""

MIXES = {"mixed": ("chaos", "elections", "members", "left-behind", "restarts", "elections")}
"""Names of several profiles under one: they take turns, seed by seed."""

RESERVE = 5
"""Records that the log must still have room for when healing begins."""


class ComposedSimulator(ComposedSimulatorBase[GroupSimulator]):
    """A group over a replicated log. `replication`, `group`: the headers of the two traces; `rules`: the group's."""

    def __init__(
        self,
        replication: Mapping[str, Any],
        group: Mapping[str, Any],
        *,
        steps: int = 50,
        profile: str = "mixed",
        rules: Rules | None = None,
    ) -> None:
        super().__init__(
            ComposedRun,
            GroupSimulator,
            PROFILES,
            MIXES,
            replication,
            group,
            steps=steps,
            profile=profile,
            rules=rules,
        )


class ReplicatedGroupRun(GroupRun):
    """A group's run whose coordinators are the brokers of a replication's run."""

    def __init__(self, simulator: GroupSimulator, seed: int, partition: Run) -> None:
        self.partition = partition
        super().__init__(simulator, seed)

    def _make_cluster(self, static: Sequence[bool], counts: dict[str, int], first: Broker) -> ComposedCluster:
        simulator, replicated = self.simulator, self.partition.cluster
        leader = replicated.control.partition.leader
        self.composed = ComposedCluster(
            replicated,
            static,
            simulator.table.timeouts,
            counts,
            first if leader is None else leader,
            simulator.rules,
            simulator.config,
        )
        return self.composed

    def heal(self) -> bool:
        """Faults stop; whether the group came to rest."""
        return heal(self.composed, self._modes[0])

    def _broker_for(self, client: Client, word: int) -> Broker:
        """The broker that a consumer takes for its coordinator: now and then the partition's leader, which may not
        serve yet."""
        consumer = self.composed.consumers[client]
        leader = self.composed.replica.replicated.control.partition.leader
        if consumer is not None and consumer.coordinator is None and leader is not None and not word & 0xF00:
            consumer.coordinator = leader
        return super()._broker_for(client, word)

    def commit_entry(self, word: int) -> bool:
        """The current coordinator learns its high watermark."""
        return self.composed.commit_entry()

    def elect(self, word: int) -> bool:
        """The leader of the partition loads the group and becomes its coordinator."""
        composed = self.composed
        return composed.log.epoch < self._epoch_limit and any(
            composed.load((word + step) % self._brokers) for step in range(self._brokers)
        )


class ComposedRun(ComposedRunBase):
    """The state of one run: both runs, and the work still to do."""

    ABOVE = "classic-group"
    CALM = frozenset({*CALM, "elect", "resign"})
    LONGEST = 1.6, 3.2

    def __init__(self, simulator: ComposedSimulator, seed: int) -> None:
        super().__init__("composed", simulator, seed)
        first = simulator.first_seed(seed)
        ours, theirs = simulator.of_seed(seed)
        self.partition = PartitionRun(ours, first, RESERVE)
        self.partitions = {"replication": self.partition}
        self.above = self.group = ReplicatedGroupRun(theirs, first, self.partition)
        self.cluster = self.group.composed
        self.logs = [self.cluster.replica]
        self.partition.limit(self.cluster.replica)

    def heal_above(self) -> bool:
        """The group heals."""
        return self.group.heal()

    def load(self, broker: Broker) -> bool:
        """A broker that leads the partition loads it, and serves."""
        return self.cluster.load(broker)

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator has heard of it."""
        return self.cluster.resign(broker)

    def lost(self) -> int:
        """Of how many partitions another offset is read than was acknowledged."""
        return self.cluster.commits.lost(self.cluster.read_back())

    def observe(self, part: int) -> None:
        """Coordinators forget; the next one to load, and the time of its load, are events of their own."""
        self.cluster.replica.observe()

    def hears(self, part: int) -> None:
        """The current coordinator learns its high watermark."""
        self.cluster.commit_entry()
