"""One simulated run of a KIP-848 group: the attempt of each kind of event, and the room of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.consumer_group.abstraction import READS, TOUCHES, Abstraction
from tidemark.consumer_group.coordinator import ConsumerGroupConfig
from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.sim.cluster import ConsumerGroupCluster
from tidemark.consumer_group.sim.healing import heal
from tidemark.consumer_group.sim.profiles import MIXES, PROFILES, ConsumerGroupProfile
from tidemark.consumer_group.table import ConsumerGroupTable
from tidemark.groups.purgatory import Timer
from tidemark.groups.sim.network import Broker
from tidemark.groups.sim.running import AnyRun, AnySimulator
from tidemark.groups.table import NOWHERE
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder

ROOM = 2
"""So many member ids are kept for the healing."""
EPOCHS = 16
"""So many group epochs likewise."""
REFRESH_MS = 7_500
"""So long a coordinator may overlook that there are other partitions."""


class ConsumerGroupSimulator(AnySimulator):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        self.table = ConsumerGroupTable(header)
        super().__init__(self.table, ConsumerGroupRun, Mix(profile, PROFILES, MIXES), steps)
        self.plan = Plan(header, "the consumer group", READS, TOUCHES, self.table.parties, "bc", NOWHERE)
        self.rules = rules if rules is not None else Rules()


class ConsumerGroupRun(AnyRun[ConsumerGroupCluster]):
    """The state of one run of a KIP-848 group."""

    def __init__(self, simulator: ConsumerGroupSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        table, first = simulator.table, self.first_word
        assignor = "range" if first >> 16 & 3 == 0 else "uniform"
        profile = self.profile
        assert isinstance(profile, ConsumerGroupProfile)
        intervals_ms = profile.intervals_ms
        config = ConsumerGroupConfig(
            assignment_interval_ms=intervals_ms[(first >> 18 & 63) % len(intervals_ms)],
            metadata_refresh_interval_ms=REFRESH_MS,
            assignor=assignor,
        )
        self.cluster = cluster = ConsumerGroupCluster(
            self._brokers, self._static, table.timeouts, self._counts, first % self._brokers, simulator.rules, config
        )
        self.recorder = Recorder(simulator.plan, Abstraction(table, cluster))
        cluster.recorder = self.recorder
        self._member_limit = table.max_member - ROOM
        self._group_epoch_limit = table.max_group_epoch - EPOCHS

    def heal(self) -> bool:
        """Faults stop; whether the group came to rest."""
        return heal(self.cluster)

    def _may_arrive(self, broker: Broker) -> bool:
        """Whether the trace has room for what a request may lead to."""
        return super()._may_arrive(broker) and (
            self.cluster.coordinators[broker].group.group_epoch < self._group_epoch_limit
        )

    # --- events -----------------------------------------------------------------------------------------------------

    def heartbeat(self, word: int) -> bool:
        """Some consumer's heartbeat moves on."""
        cluster = self.cluster
        consumers, exchanges = cluster.consumers, cluster.network.heartbeat
        for client in self.orders[word % self._clients]:
            exchange = exchanges[client]
            if exchange is None:
                if consumers[client] is None:
                    continue
                if cluster.send_heartbeat(client, self._broker_for(client, word >> 8)):
                    return True
            elif exchange.response is not None:
                return cluster.receive_heartbeat(client)
            elif not exchange.arrived and self._may_arrive(exchange.broker):
                return cluster.deliver_heartbeat(client)
        return False

    def reconcile(self, word: int) -> bool:
        """A rebalance listener begins, or returns."""
        cluster = self.cluster
        for client in self.orders[word % self._clients]:
            if cluster.finish_reconciliation(client) or cluster.reconcile(client):
                return True
        return False

    def start(self, word: int) -> bool:
        """A process starts, if there is room for its member id."""
        if len(self.cluster.numbers) >= self._member_limit:
            return False
        return self.cluster.start_consumer(word % self._clients)

    def subscribe(self, word: int) -> bool:
        """An application changes its mind."""
        mask = 1 + (word >> 8) % (len(self._subsets) - 1)
        return self.cluster.change_subscription(word % self._clients, self._subsets[mask], mask)

    def expire(self, word: int) -> bool:
        """A session or a revocation takes too long."""
        broker = self._serving(word)
        timers: list[Timer] = sorted(self.cluster.coordinators[broker].timers)
        if not timers or not self._may_arrive(broker):
            return False
        return self.cluster.expire(broker, timers[(word >> 8) % len(timers)])

    def repeat(self, word: int) -> bool:
        """A request will arrive twice."""
        cluster = self.cluster
        for client in self.orders[word % self._clients]:
            if cluster.repeat_heartbeat(client) if word & 0x100 else cluster.repeat_commit_request(client):
                return True
        return False

    def stray(self, word: int) -> bool:
        """A late request arrives."""
        client = word % self._clients
        exchange = self.cluster.network.stray[client]
        return exchange is not None and self._may_arrive(exchange.broker) and self.cluster.deliver_stray(client)

    def lose(self, word: int) -> bool:
        """Something is lost."""
        client, cluster = word % self._clients, self.cluster
        losses = (cluster.lose_heartbeat, cluster.lose_heartbeat, cluster.lose_offset_rpc, cluster.lose_stray)
        return losses[(word >> 8) % len(losses)](client)
