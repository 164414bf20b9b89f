"""A group over a replicated log that is composed wrongly: forbidden effects are seen in the group's trace and by the
client that reads back. And the single events of a composition that is right."""

from __future__ import annotations

from typing import Any

import pytest
from composing import CommitsAtOnce, Composed, simulator
from tidemark.common.errors import BrokenInvariant
from tidemark.compositions import group_cluster, group_run
from tidemark.compositions.group_cluster import ComposedCluster, ReplicatedOffsets
from tidemark.compositions.replicated_log import FIRST_PAYLOAD, LostRecordsReturnedError, ReplicatedLog
from tidemark.groups.messages import GroupMetadataRecord, OffsetCommitRecord
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import JOIN_TIMER
from tidemark.groups.sim.network import Broker


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed")


@pytest.fixture(scope="module")
def headers(composed: Composed) -> dict[str, dict[str, Any]]:
    return composed.headers


class LoadsTooMuch(ReplicatedLog[Any]):
    """A leader serves at once all records up to its log's end. It may lose some of them again, as in Kafka."""

    __slots__ = ()

    def may_load(self, broker: Broker) -> bool:
        return self.leads_anew(broker)


class TellsNobody(ReplicatedLog[Any]):
    """Nobody hears that its broker follows."""

    __slots__ = ()

    def observe(self) -> None:
        """Nobody is told anything."""


class HearsOfAnyHighWatermark(ComposedCluster):
    """A coordinator that has not been told that its broker follows takes the new leader's high watermark for its own
    (KAFKA-20634)."""

    __slots__ = ()

    def commit_entry(self) -> bool:
        pending, process = self.replica.pending[B1], self.replica.replicated.hosts[B1].up
        if self.acting(B1) or process is None or not pending or process.log.high_watermark <= pending[0][1]:
            return super().commit_entry()
        pending.popleft()
        self.log.appended[B1].popleft()
        outcome = self.coordinators[B1].commit_entry(self.now)
        self.settle(B1, outcome)
        self.recorder.did("CommitEntry", B1)
        return bool(outcome.replies)


B1, B2, B3 = range(3)
C1 = 0
"""A dynamic consumer."""
S1 = 2
"""The first of the static consumers, by its number among all."""


class Stage:
    """A run that a test drives by hand; b1 leads, and its coordinator has appended an assignment at offset 0."""

    def __init__(self, headers: dict[str, dict[str, Any]]) -> None:
        made = simulator(headers, "calm")
        leads = (seed for seed in range(20) if group_run.ComposedRun(made, seed).cluster.log.leader == B1)
        self.run = group_run.ComposedRun(made, next(leads))
        self.cluster = self.run.cluster
        self.replica = self.cluster.replica
        self.replica.room = self.replica.payloads = 9
        self.partition = self.replica.replicated
        self.run.partition.recorder.begin()
        self.run.group.recorder.begin()
        cluster = self.cluster
        assert cluster.start_consumer(S1, 0)
        assert cluster.send_join(S1, B1)
        assert cluster.deliver_member(S1)
        assert cluster.expire(B1, JOIN_TIMER)
        assert cluster.receive_member(S1)
        assert cluster.deliver_member(S1)
        assert [len(pending) for pending in self.replica.pending] == [1, 0, 0]

    def fetch(self, follower: Broker) -> None:
        """A follower fetches once."""
        source = self.partition.hosts[follower].broker.partition.leader_id  # type: ignore[union-attr]
        assert source is not None
        connection = self.partition.network.fetches[follower][source]
        assert self.partition.send_fetch(follower)
        assert self.partition.receive_fetch(connection, 3)
        assert self.partition.receive_response(connection)
        self.replica.observe()

    def sends_commit(self) -> None:
        """The assignment has committed; its consumer hears of it, reads, and commits."""
        cluster = self.cluster
        assert cluster.commit_entry()
        assert cluster.receive_member(S1)
        assert cluster.send_offset_fetch(S1, B1)
        assert cluster.deliver_offset(S1)
        assert cluster.receive_offset(S1)
        assert any(self.run.group.poll(word) for word in range(12))
        assert cluster.send_commit(S1, B1)

    def elect(self, broker: Broker, *others: Broker) -> None:
        """A broker is elected; it and the others hear of it."""
        assert self.partition.elect_leader(broker)
        for one in (broker, *others):
            assert self.partition.apply_metadata(one)
        self.replica.observe()

    def ends(self, composed: Composed) -> dict[str, set[str]]:
        """The checks that the traces so far fail in, by part."""
        runs = {"replication": self.run.partition, "classic-group": self.run.group}
        return {name: composed.judge(name, [run.recorder.end(False, False)])[0] for name, run in runs.items()}


def test_a_coordinator_serves_when_all_that_it_has_loaded_is_committed(composed: Composed) -> None:
    stage = Stage(composed.headers)
    stage.fetch(B2)
    stage.elect(B2)
    assert not stage.cluster.load(B2)
    stage.elect(B3)
    assert stage.cluster.load(B3)
    assert (stage.replica.kept, stage.replica.dropped) == (0, 1)
    assert stage.ends(composed) == {"replication": set(), "classic-group": set()}


def test_serving_what_may_be_lost_again_is_seen(composed: Composed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_cluster, "ReplicatedLog", LoadsTooMuch)
    stage = Stage(composed.headers)
    stage.fetch(B2)
    stage.elect(B2)
    assert stage.cluster.load(B2)
    stage.elect(B3)
    assert stage.cluster.load(B3)
    found = stage.ends(composed)
    assert found["replication"] == set()
    assert {"not a step", "GenerationMonotone"} <= found["classic-group"]


def test_what_a_successor_has_counts_as_committed(composed: Composed) -> None:
    stage = Stage(composed.headers)
    assert stage.replica.read_back() == [], "nobody has fetched it"
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    assert len(stage.replica.read_back()) == 1
    for broker, others in ((B2, (B1, B3)), (B3, (B1, B2))):
        stage.elect(broker, *others)
        assert stage.cluster.load(broker)
        assert (stage.replica.kept, stage.replica.dropped) == (1, 0)
        assert len(stage.replica.committed) == 1
    assert stage.ends(composed) == {"replication": set(), "classic-group": set()}


def test_a_coordinator_that_is_elected_again_goes_on(headers: dict[str, dict[str, Any]]) -> None:
    stage = Stage(headers)
    stage.elect(B2)
    stage.elect(B1, B2, B3)
    assert (stage.replica.serves[B1], stage.replica.leader_epoch) == ((stage.partition.hosts[B1].up, 2), 2)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    assert stage.cluster.commit_entry()


def test_a_coordinator_that_is_elected_again_after_another_was_deposed(
    headers: dict[str, dict[str, Any]],
) -> None:
    stage = Stage(headers)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    stage.elect(B2)
    assert stage.cluster.load(B2)
    assert stage.replica.serves[B1] is not None, "nobody has told it"
    stage.elect(B1, B2, B3)
    assert (stage.replica.serves[B1], stage.replica.leader) == (None, B2)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    assert not stage.cluster.load(B1), "it has not resigned"
    assert stage.replica.leader == B2


def test_records_that_were_never_lost_do_not_come_back(headers: dict[str, dict[str, Any]]) -> None:
    """A bookkeeping that forgets what a predecessor appended must not pass for a run that ends."""
    stage = Stage(headers)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    stage.replica.pending[B1].clear()
    stage.elect(B2, B1, B3)
    with pytest.raises(BrokenInvariant, match=r"broker 1 leads with \[2\] uncommitted, after \[\]"):
        stage.cluster.load(B2)


def test_a_run_ends_where_lost_records_come_back(composed: Composed) -> None:
    stage = Stage(composed.headers)
    stage.fetch(B2)
    stage.elect(B3)
    assert stage.cluster.load(B3)
    stage.elect(B2, B1, B3)
    for follower in (B1, B3) * 3:
        stage.fetch(follower)
    with pytest.raises(LostRecordsReturnedError):
        stage.cluster.load(B2)
    assert stage.ends(composed) == {"replication": set(), "classic-group": set()}


def test_a_run_ends_where_what_a_deposed_coordinator_appended_comes_back(headers: dict[str, dict[str, Any]]) -> None:
    stage = Stage(headers)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    stage.elect(B2)
    assert stage.cluster.load(B2)
    assert stage.replica.append(B1, ()), "nobody has told b1"
    assert (stage.replica.orphaned, stage.partition.hosts[B1].storage.end_offset) == (1, 2)
    assert not stage.cluster.resign(B1)
    stage.elect(B1, B2, B3)
    assert stage.cluster.resign(B1)
    assert not stage.replica.pending[B1]
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    with pytest.raises(LostRecordsReturnedError):
        stage.cluster.load(B1)


def test_what_a_successor_lacks_does_not_count_any_more(headers: dict[str, dict[str, Any]]) -> None:
    """Replication without a rule loses entries that were seen to commit: then the next leader's entries count as
    committed."""
    stage = Stage(headers)
    replica = stage.replica
    stage.fetch(B2)
    replica.count_as_committed()
    (lost,) = replica.committed
    stage.elect(B3)
    assert replica.become_leader(B3) == 0
    assert (replica.committed, replica.gone, list(replica.pending[B3])) == ([], {lost}, [])
    assert (replica.kept, replica.dropped) == (0, 0), "that is no matter of what was not committed"
    stage.elect(B2)
    with pytest.raises(LostRecordsReturnedError):
        replica.become_leader(B2)


def test_who_produced_an_entry_hears_that_it_has_committed(headers: dict[str, dict[str, Any]]) -> None:
    stage = Stage(headers)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    host = stage.partition.hosts[B1]
    broker = host.broker
    assert broker is not None
    assert list(broker.purgatory.waiting) == [FIRST_PAYLOAD]
    host.pause(True)
    assert not stage.cluster.commit_entry(), "it hears of nothing"
    host.pause(False)
    stage.run.hears(0)
    assert (list(broker.purgatory.waiting), stage.partition.answers.acked) == ([], {FIRST_PAYLOAD: 0})


def test_nothing_arrives_at_a_coordinator_that_is_not_up(composed: Composed) -> None:
    stage = Stage(composed.headers)
    cluster, host = stage.cluster, stage.partition.hosts[B1]
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    assert cluster.commit_entry()
    assert cluster.receive_member(S1)
    assert cluster.send_heartbeat(S1, B1)
    assert cluster.send_offset_fetch(S1, B1)
    assert cluster.start_consumer(C1, 0)
    assert cluster.send_join(C1, B1)
    assert cluster.repeat_member_request(C1)
    host.pause(True)
    (session,) = cluster.coordinators[B1].timers
    events = (
        lambda: cluster.deliver_heartbeat(S1),
        lambda: cluster.deliver_offset(S1),
        lambda: cluster.deliver_member(C1),
        lambda: cluster.deliver_stray(C1),
        lambda: cluster.expire(B1, session),
    )
    assert not any(event() for event in events)
    host.pause(False)
    assert all(event() for event in events)
    assert stage.ends(composed) == {"replication": set(), "classic-group": set()}


def test_who_is_no_coordinator_says_so_if_it_is_up(composed: Composed) -> None:
    stage = Stage(composed.headers)
    cluster, host = stage.cluster, stage.partition.hosts[B2]
    assert cluster.start_consumer(C1, 0)
    assert cluster.send_join(C1, B2)
    host.pause(True)
    assert not cluster.deliver_member(C1)
    host.pause(False)
    assert cluster.deliver_member(C1)
    assert stage.ends(composed) == {"replication": set(), "classic-group": set()}


def test_a_coordinator_handles_nothing_while_the_isr_is_too_small(headers: dict[str, dict[str, Any]]) -> None:
    stage = Stage(headers)
    partition, cluster = stage.partition, stage.cluster
    assert cluster.start_consumer(C1, 0)
    assert cluster.send_join(C1, B1)
    for member in (B2, B3):
        assert cluster.takes(B1)
        assert partition.shrink_isr(B1, member)
        assert partition.receive_alter_partition(B1)
        assert partition.receive_alter_reply(B1)
    assert not cluster.deliver_member(C1)
    assert partition.hosts[B1].storage.end_offset == 1


def test_who_reads_back_asks_whoever_leads(headers: dict[str, dict[str, Any]]) -> None:
    """Not the one that was elected before."""
    stage = Stage(headers)
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    stage.elect(B2, B1, B3)
    assert stage.replica.leader == B1
    stage.partition.hosts[B1].pause(True)
    assert len(stage.replica.read_back()) == 1


def test_a_coordinator_handles_nothing_that_its_log_has_no_room_for(headers: dict[str, dict[str, Any]]) -> None:
    replica = Stage(headers).replica
    assert replica.handles(B1)
    assert not replica.leads_anew(B1), "it has served in this epoch"
    replica.room = 1
    assert not replica.handles(B1), "one record is there"
    replica.room, replica.payloads = 2, 1
    assert not replica.handles(B1), "one was appended"
    replica.payloads = 2
    assert replica.handles(B1)
    assert not replica.handles(B2), "it does not serve"


def test_a_coordinator_reads_what_its_replica_holds_and_nothing_else() -> None:
    log = ReplicatedOffsets(3, B1)
    first, second = (GroupMetadataRecord(number, None, None, ()) for number in (1, 2))
    old, new = (OffsetCommitRecord(TopicPartition("t1", 0), offset) for offset in (3, 4))
    log.found = [(first,), (old,), (second, new)]
    assert list(log.elect(B2, 0)) == [second, new]
    log.found = [(first,), (old,)]
    assert list(log.elect(B3, 0)) == [first, old]
    log.found = []
    assert list(log.elect(B1, 0)) == []


def test_who_reads_back_finds_what_was_acknowledged_too_early(
    headers: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the partition's leader, whichever broker serves."""
    monkeypatch.setattr(group_cluster, "ReplicatedLog", CommitsAtOnce)
    stage = Stage(headers)
    cluster = stage.cluster
    stage.sends_commit()
    assert cluster.deliver_offset(S1)
    assert stage.run.lost() == 0, "nobody was told anything"
    assert cluster.commit_entry()
    assert (stage.run.lost(), stage.run.group.lost()) == (3, 0), "of every partition"
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    assert stage.run.lost() == 0


@pytest.mark.parametrize("wrong", [False, True])
def test_a_followers_high_watermark_acknowledges_nothing(
    composed: Composed, monkeypatch: pytest.MonkeyPatch, wrong: bool
) -> None:
    if wrong:
        monkeypatch.setattr(group_run, "ComposedCluster", HearsOfAnyHighWatermark)
        monkeypatch.setattr(group_cluster, "ReplicatedLog", TellsNobody)
    stage = Stage(composed.headers)
    cluster = stage.cluster
    for follower in (B2, B3) * 3:
        stage.fetch(follower)
    stage.sends_commit()
    assert cluster.deliver_offset(S1), "b1 has appended the offsets at 1"
    stage.elect(B2, B1, B3)
    assert cluster.load(B2)
    (session,) = cluster.coordinators[B2].timers
    assert cluster.expire(B2, session), "b2 has appended the empty group at 1"
    for follower in (B1, B3) * 4:
        stage.fetch(follower)
    assert stage.partition.hosts[B1].storage.end_offset == 2
    assert cluster.commit_entry()
    cluster.commit_entry()
    exchange = cluster.network.offset[S1]
    assert exchange is not None
    assert (exchange.response is not None) == wrong
    assert cluster.read_back() == {}, "the offsets are gone"
    found = stage.ends(composed)
    assert found["replication"] == set()
    assert ("not a step" in found["classic-group"]) == wrong
