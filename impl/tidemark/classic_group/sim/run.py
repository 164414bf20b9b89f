"""One simulated run of a classic group: the attempt of each kind of event, and the room of a trace. running.py has
the part that runs of other groups share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.classic_group.abstraction import READS, TOUCHES, Abstraction
from tidemark.classic_group.rebalance import GroupConfig
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.classic_group.sim.healing import heal
from tidemark.classic_group.sim.profiles import MIXES, PROFILES
from tidemark.classic_group.table import Table
from tidemark.groups.purgatory import JOIN_TIMER, SYNC_TIMER
from tidemark.groups.sim.network import Broker
from tidemark.groups.sim.running import AnyRun, AnySimulator
from tidemark.groups.table import NOWHERE
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder

ROOM = 5
"""So many member ids are kept for the healing: one for every consumer, and one that is lost."""


class GroupSimulator(AnySimulator):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        self.table = Table(header)
        super().__init__(self.table, GroupRun, Mix(profile, PROFILES, MIXES), steps)
        self.plan = Plan(header, "the classic group", READS, TOUCHES, self.table.parties, "bc", NOWHERE)
        self.rules = rules if rules is not None else Rules()
        self.config = GroupConfig(epoch_generations=self.table.epoch_generations)


class GroupRun(AnyRun[GroupCluster]):
    """The state of one run of a classic group."""

    def __init__(self, simulator: GroupSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.simulator = simulator
        table = simulator.table
        self.cluster = cluster = self._make_cluster(self._static, self._counts, self.first_word % self._brokers)
        self.recorder = Recorder(simulator.plan, Abstraction(table, cluster))
        cluster.recorder = self.recorder
        self._modes = self.profile.modes[(self.first_word >> 16) % len(self.profile.modes)]
        self._member_limit = table.max_member - ROOM
        self._epoch_limit = min(table.max_epoch, table.max_generation // table.epoch_generations) - 1

    def _make_cluster(self, static: Sequence[bool], counts: dict[str, int], first: Broker) -> GroupCluster:
        """The cluster of this run; `first` is the first coordinator."""
        simulator = self.simulator
        timeouts = simulator.table.timeouts
        return GroupCluster(self._brokers, static, timeouts, counts, first, simulator.rules, simulator.config)

    def heal(self) -> bool:
        """Faults stop; whether the group came to rest."""
        return heal(self.cluster, self._modes[0])

    # --- events -----------------------------------------------------------------------------------------------------

    def member(self, word: int) -> bool:
        """Some consumer's joining moves on."""
        cluster = self.cluster
        consumers, exchanges = cluster.consumers, cluster.network.member
        for client in self.orders[word % self._clients]:
            if consumers[client] is None:
                continue
            exchange = exchanges[client]
            if exchange is None:
                if cluster.send_join(client, self._broker_for(client, word >> 8)):
                    return True
            elif exchange.response is not None:
                return cluster.receive_member(client)
            elif not exchange.arrived and self._may_arrive(exchange.broker):
                return cluster.deliver_member(client)
        return False

    def _may_arrive(self, broker: Broker) -> bool:
        """Whether the trace has room for what a request may lead to."""
        return len(self.cluster.numbers) < self._member_limit and not self._full(broker)

    def heartbeat(self, word: int) -> bool:
        """Some heartbeat moves on."""
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
            elif cluster.deliver_heartbeat(client):
                return True
        return False

    def revoked(self, word: int) -> bool:
        """A rebalance listener returns."""
        return any(map(self.cluster.finish_revocation, self.orders[word % self._clients]))

    def notice(self, word: int) -> bool:
        """A leader looks at the partitions."""
        return any(map(self.cluster.notice_partitions, self.orders[word % self._clients]))

    def start(self, word: int) -> bool:
        """A process starts, if there is room for its member id."""
        if len(self.cluster.numbers) >= self._member_limit:
            return False
        return self.cluster.start_consumer(word % self._clients, self._modes[(word >> 8) % len(self._modes)])

    def subscribe(self, word: int) -> bool:
        """An application changes its mind."""
        mask = (word >> 8) % len(self._subsets)
        return self.cluster.change_subscription(word % self._clients, self._subsets[mask], mask)

    def end_join(self, word: int) -> bool:
        """The time for joining, or for SyncGroup, is over."""
        broker = self._serving(word)
        timers = self.cluster.coordinators[broker].timers
        for timer in (JOIN_TIMER, SYNC_TIMER) if word & 0x700 else (SYNC_TIMER, JOIN_TIMER):
            if timer in timers and not self._full(broker):
                if timer is SYNC_TIMER and word & 0x3800:
                    continue
                return self.cluster.expire(broker, timer)
        return False

    def expire(self, word: int) -> bool:
        """A session ends, or nobody joined with an id."""
        broker = self._serving(word)
        timers = [timer for timer in self.cluster.coordinators[broker].timers if timer.member_id]
        if not timers or self._full(broker):
            return False
        timers.sort(key=lambda timer: (timer.member_id, timer.kind.value))
        return self.cluster.expire(broker, timers[(word >> 8) % len(timers)])

    def repeat(self, word: int) -> bool:
        """A request will arrive twice."""
        client, cluster = word % self._clients, self.cluster
        if word & 0x300:
            return cluster.repeat_member_request(client)
        return cluster.repeat_commit_request(client)

    def stray(self, word: int) -> bool:
        """A late request arrives."""
        client = word % self._clients
        exchange = self.cluster.network.stray[client]
        return exchange is not None and self._may_arrive(exchange.broker) and self.cluster.deliver_stray(client)

    def lose(self, word: int) -> bool:
        """Something is lost."""
        client, cluster = word % self._clients, self.cluster
        losses = (
            cluster.lose_member_rpc, cluster.lose_member_rpc, cluster.lose_heartbeat, cluster.lose_offset_rpc,
            cluster.lose_stray,
        )  # fmt: skip
        return losses[(word >> 8) % len(losses)](client)
