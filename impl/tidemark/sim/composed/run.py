"""One simulated run of a group over a replicated log: chaos in both, then perhaps healing of both.

The two simulators' own runs say what each kind of event does; this one draws the words and couples the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tidemark.cells import CapacityExceeded
from tidemark.sim.composed.cluster import ComposedCluster, LostRecordsReturnedError
from tidemark.sim.composed.healing import heal
from tidemark.sim.group.network import Broker, Client
from tidemark.sim.group.profiles import CALM as GROUP_CALM
from tidemark.sim.group.run import GroupRun, GroupSimulator
from tidemark.sim.healing import at_rest
from tidemark.sim.profiles import CALM as PARTITION_CALM
from tidemark.sim.readback import lost_payloads
from tidemark.sim.run import Run, Simulator
from tidemark.sim.shared import WORD, SimResult

PROFILES = {
    "calm": ("calm", "calm"),
    "chaos": ("chaos", "chaos"),
    "elections": ("elections", "fail-overs"),
    "restarts": ("restarts", "chaos"),
    "members": ("calm", "restarts"),
    "left-behind": ("elections", "left-behind"),
}
"""Name -> the profile of replication, and that of the group. Payloads are the coordinators' alone."""

MIXES = {"mixed": ("chaos", "elections", "members", "left-behind", "restarts", "elections")}
"""Names of several profiles under one: they take turns, seed by seed."""

GROUPS_SHARE = 128
"""Of 256 events so many are tried in the group."""
FAULTS_SHARE = 48, 48
"""Of 256 events that a calm run would not have, so many are tried in the partition and in the group: what a group does
takes longer here, and needs its time."""
CALM = frozenset(PARTITION_CALM), frozenset({*GROUP_CALM, "elect", "resign"})
"""What a calm partition and a calm group do; whoever leads loads and resigns as the partition says."""
LONGEST = 1.6, 3.2
"""The group's chaos goes on until its trace, or the partition's, has so many times the steps that were asked for."""
ELECTION = 4
"""Partition changes that an election may come to, with the ISR's on the way back."""
RESERVE = 5
"""Records that the log must still have room for when healing begins."""


@dataclass(frozen=True, slots=True)
class ComposedResult:
    """Both traces of a run. `returned`: it ended where records came back that a fail-over had lost; `fail_overs`: how
    often another broker became the coordinator; `kept`, `dropped`: how many batches that were not committed then it had
    and had not; `orphaned`: how many batches a deposed coordinator appended."""

    replication: SimResult
    group: SimResult
    returned: bool
    fail_overs: int
    kept: int
    dropped: int
    orphaned: int


class ComposedSimulator:
    """Everything that runs of one kind share. Call `run(seed)`. `replication`, `group`: the headers of the two traces,
    with the same brokers.

    Raises ValueError for headers of other specifications or of other brokers, or a profile that there is not.
    """

    def __init__(
        self, replication: Mapping[str, Any], group: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed"
    ) -> None:
        if profile not in PROFILES and profile not in MIXES:
            raise ValueError(f"there is no profile {profile}; the profiles are {', '.join([*PROFILES, *MIXES])}")
        chosen = [PROFILES[name] for name in MIXES.get(profile, (profile,))]
        self.steps = steps
        self.simulators = [
            (
                Simulator(dict(replication), steps=steps, profile=ours),
                GroupSimulator(group, steps=steps, profile=theirs),
            )
            for ours, theirs in chosen
        ]
        first = self.simulators[0]
        if first[0].table.brokers != first[1].table.brokers:
            raise ValueError("the two headers have other brokers")

    def run(self, seed: int) -> ComposedResult:
        """The traces of a seed."""
        return ComposedRun(self, seed).run()


class PartitionRun(Run):
    """A run of replication whose producers are coordinators; they need room for one more election in the healing."""

    def _room_for_changes(self) -> bool:
        return len(self.cluster.metadata.partition_changes) < self._metadata_limit - ELECTION


class ReplicatedGroupRun(GroupRun):
    """A group's run whose coordinators are the brokers of a replication's run."""

    def __init__(self, simulator: GroupSimulator, seed: int, partition: Run) -> None:
        self.partition = partition
        super().__init__(simulator, seed)

    def _make_cluster(self, static: Sequence[bool], counts: dict[str, int], first: Broker) -> ComposedCluster:
        simulator, replicated = self.simulator, self.partition.cluster
        leader = replicated.control.partition.leader
        self.composed = ComposedCluster(
            replicated, static, counts, first if leader is None else leader, simulator.rules, simulator.config
        )
        return self.composed

    def _broker_for(self, client: Client, word: int) -> Broker:
        """Whom a consumer takes for its coordinator: now and then the partition's leader, which may not serve yet."""
        consumer, leader = self.composed.consumers[client], self.composed.replicated.control.partition.leader
        if consumer is not None and consumer.coordinator is None and leader is not None and not word & 0xF00:
            consumer.coordinator = leader
        return super()._broker_for(client, word)

    def commit_entry(self, word: int) -> bool:
        """The coordinator in office hears of its high watermark."""
        return self.composed.commit_entry()

    def elect(self, word: int) -> bool:
        """Whoever leads the partition loads."""
        composed = self.composed
        return composed.log.epoch < self._epoch_limit and any(
            composed.load((word + step) % self._brokers) for step in range(self._brokers)
        )


class ComposedRun:
    """The state of one run: both runs, and what is left to do."""

    def __init__(self, simulator: ComposedSimulator, seed: int) -> None:
        ours, theirs = simulator.simulators[seed % len(simulator.simulators)]
        self.seed = seed
        self.steps = simulator.steps
        self.partition = PartitionRun(ours, seed)
        self.group = ReplicatedGroupRun(theirs, seed, self.partition)
        self.cluster = self.group.composed
        self._bits = Random(f"composed {seed}").getrandbits
        self._heals = self._bits(8) < 176
        table = ours.table
        self.cluster.room, self.cluster.payloads = table.max_log - RESERVE, table.max_value - RESERVE

    def run(self) -> ComposedResult:
        """Chaos, then perhaps healing."""
        partition, group, cluster = self.partition, self.group, self.cluster
        replicated = partition.cluster
        partition.recorder.begin()
        group.recorder.begin()
        capacity = converged = returned = healed = False
        try:
            self._chaos()
            if self._heals:
                cluster.room = cluster.payloads = 1 << 30
                healed, converged = heal(cluster, group._modes[0])
        except CapacityExceeded:
            capacity, healed = True, False
        except LostRecordsReturnedError:
            returned, healed = True, False
        lost = cluster.commits.lost(cluster.read_back()) if healed else 0
        lost_records = len(lost_payloads(replicated)) if healed else 0
        return ComposedResult(
            SimResult(
                self.seed,
                partition.recorder.end(healed, capacity),
                partition.recorder.records - 1,
                partition.recorder.changing,
                len(replicated.answers.acked),
                lost_records,
                healed,
                at_rest(replicated),
                capacity,
            ),
            SimResult(
                self.seed,
                group.recorder.end(healed, capacity),
                group.recorder.records - 1,
                group.recorder.changing,
                cluster.commits.acked,
                lost,
                healed,
                converged,
                capacity,
            ),
            returned,
            cluster.log.epoch - 1,
            cluster.kept,
            cluster.dropped,
            cluster.orphaned,
        )

    def _chaos(self) -> None:
        bits, partition, group, cluster = self._bits, self.partition, self.group, self.cluster
        replicated, steps = partition.cluster, self.steps - (self.steps // 3 if self._heals else 0)
        longest = LONGEST[0] * steps, LONGEST[1] * steps
        for _ in range(80 * steps):
            if group.recorder.records > longest[0] or partition.recorder.records > longest[1]:
                break
            word = bits(WORD)
            kept = word >> 32 & 255
            if word & 255 < GROUPS_SHARE:
                cluster.now += 100 * (1 + (word >> 40 & 7))
                kind = group.kinds[word >> 8 & 255]
                if kind in CALM[1] or kept < FAULTS_SHARE[1]:
                    getattr(group, kind)(word >> 16)
                continue
            replicated.now += 1 + (word >> 40 & 7)
            kind = partition.kinds[word >> 8 & 255]
            if kind == "produce" or (kind not in CALM[0] and kept >= FAULTS_SHARE[0]):
                continue
            if getattr(partition, kind)(word >> 16):
                cluster.observe()
                if word >> 40 & 1:
                    cluster.commit_entry()
