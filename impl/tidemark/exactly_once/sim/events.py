"""The kinds of event of consume-transform-produce. Slices of a random word choose the instance and the amount."""

from __future__ import annotations

from typing import Generic, TypeVar

from mypy_extensions import trait

from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.exactly_once.sim.healing import expire_dead
from tidemark.exactly_once.sim.profiles import ExactlyOnceProfile
from tidemark.groups.partitions import NO_GENERATION
from tidemark.transactions.transactional_producer import ProducerState

Cluster = TypeVar("Cluster", bound=ExactlyOnceCluster)


@trait
class ExactlyOnceEvents(Generic[Cluster]):
    """The kinds of events that profiles name, a method each; it says whether something happened. Here there is room for
    everything: who writes traces of bounded size says what there is room for."""

    cluster: Cluster
    profile: ExactlyOnceProfile
    _instances: int
    _partitions: int

    # --- what there is room for -------------------------------------------------------------------------------------

    def _has_room(self) -> bool:
        """Whether there is room for one more result, and for what follows from it."""
        return True

    def _has_epochs(self, i: int) -> bool:
        """Whether an instance may begin something anew."""
        return True

    def _may_join(self, i: int) -> bool:
        """Whether an instance may get a member id, if it needs one."""
        return True

    def _may_replace(self) -> bool:
        """Whether an instance may get a member id in another's place."""
        return True

    def _may_begin(self) -> bool:
        """Whether there may be another generation."""
        return True

    def _may_send(self, i: int, p: int) -> bool:
        """Whether an instance may process one more record of a partition."""
        return p in self.cluster.instances[i].owned

    def _partition(self, i: int, word: int) -> int:
        """An input partition that an instance looks at; perhaps it is another's."""
        return word % self._partitions

    # --- events -----------------------------------------------------------------------------------------------------

    def work(self, word: int) -> bool:
        """An instance does the next thing that its application wants."""
        i, cluster, profile, chance = word % self._instances, self.cluster, self.profile, word >> 16 & 255
        p = self._partition(i, word >> 8)
        instance = cluster.instances[i]
        state = instance.producer.state
        if cluster.receive_reply(i):
            return True
        if word >> 24 & 255 < profile.careless:
            return self._careless(i, word >> 32)
        if state is ProducerState.UNINITIALIZED or state is ProducerState.INITIALIZING:
            return self._has_epochs(i) and cluster.init_producer_id(i)
        if state is ProducerState.FATAL_ERROR:
            return cluster.crash(i)
        if state is ProducerState.ABORTABLE_ERROR:
            return cluster.send_end_txn(i, False)
        if not instance.owned and (self._enter(i, word >> 32) or not self._is_back(i)):
            return True  # in the midst of a poll; who has revoked with its transaction open goes on when it is back
        if state is ProducerState.IN_TRANSACTION:
            if chance < profile.aborts:
                return cluster.send_end_txn(i, False)
            if instance.sent:
                return cluster.send_end_txn(i, True)
            if chance < profile.ends or not self._may_send(i, p):
                return cluster.send_offsets(i)
            return cluster.send_result(i, p)
        if state is not ProducerState.READY:
            return False
        if chance < profile.polls and cluster.must_rejoin(i):
            return cluster.revoke_partitions(i)
        if instance.positions[p] < 0:
            return cluster.fetch_offset(i, p)
        return self._may_send(i, p) and cluster.send_result(i, p)

    def _is_back(self, i: int) -> bool:
        """Whether an instance knows its generation."""
        return self.cluster.instances[i].generation != NO_GENERATION and not self.cluster.must_rejoin(i)

    def _careless(self, i: int, which: int) -> bool:
        """An application breaks the rules for using the API."""
        cluster = self.cluster
        if which & 3 == 0:
            return cluster.send_end_txn(i, True)
        if which & 3 == 1:
            return cluster.send_txn_offset_commit(i, False)
        return cluster.commit_offset(i) if which & 1 == 0 else cluster.revoke_partitions(i)

    def _enter(self, i: int, word: int) -> bool:
        """An instance that owns nothing joins, or hears what it was assigned."""
        cluster = self.cluster
        if word & 1 and self._may_replace() and cluster.replace_member(i):
            return True
        return cluster.sync_group(i) or (cluster.must_rejoin(i) and self._may_join(i) and cluster.join_group(i))

    def go_on(self, word: int) -> bool:
        """An instance whose offsets are in its transaction processes one more record of the same partitions in it."""
        i, cluster = word % self._instances, self.cluster
        instance = cluster.instances[i]
        if not instance.sent:
            return False
        return any(self._may_send(i, p) and cluster.send_result(i, p) for p in sorted(instance.processed))

    def serve(self, word: int) -> bool:
        """A request arrives."""
        return self.cluster.handle(word % self._instances, False)

    def decide(self, word: int) -> bool:
        """The markers of a decided transaction are written, and it is complete."""
        i, cluster = word % self._instances, self.cluster
        target = (word >> 32) % len(cluster.outputs) if word >> 8 & 1 else cluster.offsets
        copy = word >> 16 & 255 < self.profile.copies
        return cluster.write_marker(i, target, copy) or cluster.complete_transaction(i)

    def group(self, word: int) -> bool:
        """The group goes on: an instance joins or hears of its assignment, or the next generation begins, which waits
        for all members most of the time."""
        cluster, i = self.cluster, word % self._instances
        group = cluster.group
        if word >> 8 & 1 and group.joined:
            waited = len(group.joined) == len(group.members)
            return (waited or word >> 12 & 255 < self.profile.hasty) and self._may_begin() and cluster.complete_join()
        if not cluster.instances[i].owned:
            return self._enter(i, word >> 12)
        return not (group.members or group.joined) and cluster.complete_join()

    def read(self, word: int) -> bool:
        """A consumer reads on; one record in some steps, all that it may in others."""
        cluster, number = self.cluster, (word >> 8) % len(self.cluster.outputs)
        if word & 7:
            return not cluster.readers[number].waits and cluster.read_output(number)
        return cluster.read_output(number)

    # --- faults -----------------------------------------------------------------------------------------------------

    def crash(self, word: int) -> bool:
        """A process ends."""
        i = word % self._instances
        return self._has_epochs(i) and self.cluster.crash(i)

    def strand(self, word: int) -> bool:
        """A process ends while it waits for a reply, and, if it is static, another takes its place in the group at
        once; what it has sent arrives later."""
        i, cluster = word % self._instances, self.cluster
        exchange = cluster.rpc[i]
        if exchange is None or exchange.answered or cluster.late[i] is not None or not self._has_epochs(i):
            return False
        return cluster.crash(i) and (not self._may_replace() or cluster.replace_member(i))

    def strike(self, word: int) -> bool:
        """A repeated marker or request arrives in the midst of the next transaction."""
        i, cluster = word % self._instances, self.cluster
        open_here = cluster.outputs[OUTPUT].transactions.is_open(i + 1)
        if not open_here or cluster.instances[i].producer.sequences[OUTPUT] < 2:
            return False
        return (self._has_room() and cluster.handle_late_marker(i)) or cluster.handle(i, True)

    def bury(self, word: int) -> bool:
        """The sessions of members that are no process's any more are over."""
        return expire_dead(self.cluster)

    def slip(self, word: int) -> bool:
        """An application tries what the rules forbid."""
        return self._careless(word % self._instances, word >> 8)

    def time_out(self, word: int) -> bool:
        """A transaction's time is over."""
        i = word % self._instances
        return self._has_epochs(i) and self.cluster.abort_timed_out_transaction(i)

    def give_up(self, word: int) -> bool:
        """A request's time is over."""
        i = word % self._instances
        return self._has_epochs(i) and self.cluster.give_up_request(i)

    def repeat(self, word: int) -> bool:
        """A request is sent again."""
        return self.cluster.repeat_request(word % self._instances)

    def late(self, word: int) -> bool:
        """A late request arrives, or never will."""
        i, cluster = word % self._instances, self.cluster
        return cluster.handle(i, True) if word >> 8 & 7 else cluster.lose_late(i)

    def late_marker(self, word: int) -> bool:
        """A copy of a marker arrives, or never will."""
        i, cluster = word % self._instances, self.cluster
        if not word >> 8 & 7:
            return cluster.lose_late_marker(i)
        return self._has_room() and cluster.handle_late_marker(i)

    def expire(self, word: int) -> bool:
        """A member was not heard of for its session time-out."""
        members = list(self.cluster.group.members)
        return bool(members) and self.cluster.remove_member(members[word % len(members)])

    def rebalance(self, word: int) -> bool:
        """An instance between its transactions looks, and joins again."""
        return self._may_begin() and self.cluster.revoke_partitions(word % self._instances)
