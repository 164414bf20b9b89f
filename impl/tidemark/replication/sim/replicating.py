"""The events of replication: fetches of followers and of consumers, produces, ISR proposals.

An event method runs one handler, moves the messages that it made, and tells the recorder which action of the
specification that was. It returns False, and nothing has happened, when the event is not possible now.
"""

from __future__ import annotations

from tidemark.common.errors import NONE
from tidemark.log.storage import Payload
from tidemark.replication.broker import Broker
from tidemark.replication.fetcher import APPEND, OUT_OF_RANGE, TRUNCATE
from tidemark.replication.messages import (
    REFUSED,
    AlterPartitionRequest,
    BrokerId,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ReadRequest,
    Refused,
)
from tidemark.replication.partition import UncountedFetch
from tidemark.replication.sim.network import FetchConnection
from tidemark.replication.sim.state import ClusterState


def _count(request: FetchRequest, response: FetchResponse) -> int:
    """How many records a response brings."""
    batches = response.records
    return batches[-1].next_offset - request.fetch_offset if batches else 0


class Replication(ClusterState):
    """The steps of leaders and followers, and the fates of their messages."""

    __slots__ = ()

    # --- fetch ----------------------------------------------------------------------------------------------------

    def send_fetch(self, follower: BrokerId) -> bool:
        """A follower asks the leader that it knows of."""
        host = self.hosts[follower]
        broker = host.up
        if broker is None or host.stalled:
            return False
        source = broker.partition.leader_id
        if source is None or source == follower:
            return False
        connection = self.network.fetches[follower][source]
        if connection.request is not None:
            return False
        self.ask(broker, connection)
        return True

    def ask(self, follower: Broker, connection: FetchConnection) -> None:
        """A follower that is up asks the leader that it knows of, on its idle connection to it."""
        connection.request = follower.fetcher.send_fetch()
        self.recorder.did("SendFetch", connection.follower, connection.source)

    def receive_fetch(
        self, connection: FetchConnection, limit: int, lazily: bool = False, counts_later: bool = False
    ) -> bool:
        """A fetch request arrives at its source; `lazily`: its bytes are read later; `counts_later`: it is counted
        later."""
        source, follower, request = connection.source, connection.follower, connection.request
        host = self.hosts[source]
        broker = host.up
        if (
            broker is None
            or request is None
            or connection.uncounted is not None
            or connection.read is not None
            or connection.response is not None
            or self.network.cut[follower][source]
        ):
            return False
        partition, now = broker.partition, self.now + host.skew_ms
        answer = partition.receive_fetch(request, now)
        if answer is not None:
            connection.response = answer
            self.recorder.did("RejectFetch" if answer.diverging is None else "AnswerDiverging", source, follower)
        elif counts_later or host.crowded:
            connection.uncounted = uncounted = partition.fetch_records(request, limit)
            self.recorder.did("FetchRecords", source, follower, _count(request, uncounted.response))
        elif lazily and request.fetch_offset < broker.log.end_offset:
            connection.read = read = partition.validate_fetch(request, limit, now)
            self.recorder.did("ValidateFetch", source, follower, read.limit)
        else:
            connection.response = response = partition.handle_fetch(request, limit, now)
            self.recorder.did("HandleFetch", source, follower, _count(request, response))
        return True

    def count_fetch(self, connection: FetchConnection) -> bool:
        """The thread of a validated fetch has its lock again: the fetch is counted, and the answer goes out."""
        broker, uncounted = self.hosts[connection.source].up, connection.uncounted
        if broker is None or uncounted is None:
            return False
        self._goes_on(broker, connection, uncounted)
        self.recorder.did("UpdateFollowerFetchState", connection.source, connection.follower)
        return True

    def answer_uncounted(self, broker: Broker) -> None:
        """A leader was deposed: the threads of its validated fetches go on, in the same step."""
        for row in self.network.fetches:
            connection = row[broker.id]
            if connection.uncounted is not None:
                self._goes_on(broker, connection, connection.uncounted)

    def _goes_on(self, broker: Broker, connection: FetchConnection, uncounted: UncountedFetch) -> None:
        connection.response = broker.partition.update_follower_fetch_state(uncounted, self.clock(broker.id))
        connection.uncounted = None

    def read_fetch(self, connection: FetchConnection) -> bool:
        """The socket takes the bytes of a validated fetch. Where the broker refuses to send them, it closes the
        connection."""
        broker, read = self.hosts[connection.source].up, connection.read
        if broker is None or read is None:
            return False
        response = broker.partition.read_fetch(read)
        if isinstance(response, Refused):
            self.recorder.blocked("ReadFetch", connection.source, connection.follower)
            return self.lose_fetch(connection)
        connection.response = response
        connection.read = None
        self.recorder.did("ReadFetch", connection.source, connection.follower)
        return True

    def receive_response(
        self, connection: FetchConnection, adopt_first: bool = False, check_first: bool = False
    ) -> bool:
        """A fetch response arrives at the follower, or one that was checked goes on to truncate. `adopt_first`: of a
        diverging one the follower would like to take the high watermark and nothing more, for now. `check_first`: it
        checks a diverging one, and truncates later."""
        follower, source = connection.follower, connection.source
        request, response = connection.request, connection.response
        host = self.hosts[follower]
        broker = host.up
        if broker is None or request is None or response is None:
            return False
        if connection.checked:
            return self._truncate_checked(broker, connection, request, response)
        if self.network.cut[source][follower]:
            return False
        fetcher, record = broker.fetcher, self.recorder
        if (check_first or host.crowded) and fetcher.check_diverging(source, request, response):
            connection.checked = True
            record.did("CheckDiverging", follower, source)
            return True
        verdict = fetcher.verdict(source, request, response)
        if adopt_first and verdict is TRUNCATE:
            if fetcher.follower_adopt_hw(response):
                record.did("FollowerAdoptHw", follower, source)
            else:
                record.blocked("FollowerAdoptHw", follower, source)
            return True
        connection.request = connection.response = None
        if verdict is APPEND:
            fetcher.follower_append(request, response)
            record.did("FollowerAppend", follower, source)
        elif verdict is TRUNCATE:
            fetcher.follower_truncate(response)
            record.did("FollowerTruncate", follower, source)
        elif verdict is OUT_OF_RANGE:
            fetcher.follower_out_of_range(response)
            record.did("FollowerOutOfRange", follower, source)
        else:
            record.did("DropFetchResponse", follower, source)
        return True

    def _truncate_checked(
        self, broker: Broker, connection: FetchConnection, request: FetchRequest, response: FetchResponse
    ) -> bool:
        """The fetcher's thread has its lock again, and truncates by an answer that it checked before."""
        follower, source = connection.follower, connection.source
        connection.clear()
        if broker.fetcher.still_truncates(source, request):
            broker.fetcher.follower_truncate(response)
            self.recorder.did("FollowerTruncate", follower, source)
        else:
            self.recorder.did("DropFetchResponse", follower, source)
        return True

    def lose_fetch(self, connection: FetchConnection) -> bool:
        """The connection breaks; a new one starts idle. An answer that was checked has arrived."""
        if connection.request is None or connection.checked:
            return False
        connection.clear()
        self.recorder.did("LoseFetch", connection.follower, connection.source)
        return True

    def stall_fetcher(self, follower: BrokerId) -> bool:
        """The thread that fetches dies; the process lives on."""
        host = self.hosts[follower]
        if host.up is None or host.stalled:
            return False
        host.stalled = True
        self.recorder.did("StallFetcher", follower)
        return True

    # --- consumers ------------------------------------------------------------------------------------------------

    def learn_leader(self, consumer: int, broker_id: BrokerId) -> None:
        """A consumer asks a broker for metadata; it does not go back to an older leader epoch."""
        broker, connection = self.hosts[broker_id].up, self.network.reads[consumer]
        if broker is None or connection.request is not None:
            return
        if broker.partition.leader_id is None or broker.partition.leader_epoch < connection.epoch:
            return
        connection.source, connection.epoch = broker.partition.leader_id, broker.partition.leader_epoch

    def send_read(self, consumer: int, source: BrokerId | None = None) -> bool:
        """A consumer asks a broker (None: the one it takes for the leader) for records that it has not read."""
        connection = self.network.reads[consumer]
        if connection.request is not None:
            return False
        if source is not None:
            connection.source = source
        connection.request = ReadRequest(connection.epoch, connection.position)
        self.recorder.did("SendRead", consumer, connection.source, connection.epoch)
        return True

    def receive_read(self, consumer: int, limit: int) -> bool:
        """The request arrives."""
        connection = self.network.reads[consumer]
        broker, request = self.hosts[connection.source].up, connection.request
        if broker is None or request is None or connection.response is not None:
            return False
        response = connection.response = broker.partition.receive_read(request, limit)
        if response.error is not NONE:
            self.recorder.did("RejectRead", connection.source, consumer)
        else:
            count = sum([len(batch.records) for batch in response.records])
            self.recorder.did("AnswerRead", connection.source, consumer, count)
        return True

    def take_read(self, consumer: int) -> bool:
        """The response arrives: the consumer goes on behind the last record."""
        connection = self.network.reads[consumer]
        response = connection.response
        if response is None:
            return False
        connection.clear()
        if response.records:
            connection.position = response.records[-1].next_offset
        self.recorder.did("TakeRead", consumer)
        return True

    def lose_read(self, consumer: int) -> bool:
        """A consumer's connection breaks."""
        connection = self.network.reads[consumer]
        if connection.request is None:
            return False
        connection.clear()
        self.recorder.did("LoseRead", consumer)
        return True

    # --- produce --------------------------------------------------------------------------------------------------

    def append_record(self, broker_id: BrokerId, payload: Payload, acks: str, waits_later: bool = False) -> bool:
        """A produce attempt arrives at a broker that believes to lead. `waits_later`: with acks=all its handler lets
        the lock go, and adds it to the purgatory later."""
        host = self.hosts[broker_id]
        broker = host.up
        if broker is None or not broker.partition.is_leader:
            return False
        later = acks == "all" and (waits_later or host.crowded)
        response = broker.append_record(ProduceRequest(payload, acks), self.now + host.skew_ms, later)
        value = len(self.values) + 1
        if response is REFUSED:
            self.recorder.blocked("AppendRecord", broker_id, value, acks)
            self.answers.failed.append(payload)
            return True
        self.values[payload] = value
        if later:
            self.recorder.did("AppendRecordsToLeader", broker_id, value)
        else:
            self.recorder.did("AppendRecord", broker_id, value, acks)
        return True

    def add_delayed_produce(self, broker_id: BrokerId, payload: Payload) -> bool:
        """The handler of an appended produce has its thread again: the produce waits, or is answered with an error."""
        broker = self.hosts[broker_id].up
        if broker is None:
            return False
        if broker.purgatory.add_delayed_produce(payload):
            self.recorder.did("AddDelayedProduce", broker_id, self.values[payload])
            return True
        return self.fail_produce(broker_id, payload)

    def complete_produce(self, broker_id: BrokerId, payload: Payload, reply_arrives: bool = True) -> bool:
        """The purgatory looks at a waiting produce."""
        broker = self.hosts[broker_id].up
        if broker is None:
            return False
        response = broker.purgatory.complete_produce(payload)
        if response is None:
            return False
        value = self.values[payload]
        if isinstance(response, Refused):
            would_be_told = broker.purgatory.waiting[payload].base_offset
            self.recorder.blocked("CompleteProduce", broker_id, value, would_be_told)
            return True
        self.recorder.did("CompleteProduce", broker_id, value, response.base_offset)
        if reply_arrives:
            self.answers.acked[payload] = response.base_offset
        else:
            self.answers.lost_replies.append(payload)
        return True

    def fail_produce(self, broker_id: BrokerId, payload: Payload) -> bool:
        """The purgatory answers a waiting produce with the error that is due."""
        broker = self.hosts[broker_id].up
        if broker is None:
            return False
        response = broker.purgatory.fail_produce(payload, self.clock(broker_id))
        if response is None:
            return False
        value = self.values[payload]
        self.recorder.did("FailProduce", broker_id, value, response.error)
        self.answers.failed.append(payload)
        return True

    # --- the ISR --------------------------------------------------------------------------------------------------

    def shrink_isr(self, broker_id: BrokerId, member: BrokerId | None = None) -> bool:
        """The leader's periodic check finds a member that lags (`member`: this one)."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.partition.is_leader or not self.network.alters[broker_id].idle:
            return False
        if member is None:
            member = broker.partition.lagging_member(self.clock(broker_id))
        request = None if member is None else broker.partition.shrink_isr(member, broker.epoch)
        if request is None:
            return False
        connection = self.network.alters[broker_id]
        connection.ask(request)
        self.recorder.did("ShrinkIsr", broker_id, member)
        return True

    def expand_isr(self, broker_id: BrokerId, follower: BrokerId) -> bool:
        """The leader checks whether a follower has caught up."""
        broker = self.hosts[broker_id].up
        if broker is None or follower == broker_id or not self.network.alters[broker_id].idle:
            return False
        request = broker.partition.expand_isr(follower, broker.epoch)
        if request is None:
            return False
        if not isinstance(request, AlterPartitionRequest):
            self.recorder.blocked("ExpandIsr", broker_id, follower)
            return True
        connection = self.network.alters[broker_id]
        connection.ask(request)
        self.recorder.did("ExpandIsr", broker_id, follower)
        return True

    def resend_alter_partition(self, broker_id: BrokerId) -> bool:
        """The leader heard nothing of its proposal and sends it again."""
        broker = self.hosts[broker_id].up
        if broker is None or not self.network.alters[broker_id].idle:
            return False
        request = broker.partition.resend_alter_partition(broker.epoch)
        if request is None:
            return False
        connection = self.network.alters[broker_id]
        connection.ask(request)
        self.recorder.did("ResendAlterPartition", broker_id)
        return True

    def receive_alter_partition(self, broker_id: BrokerId) -> bool:
        """A proposal arrives at the controller."""
        connection = self.network.alters[broker_id]
        if connection.request is None or self.network.cut[broker_id][self.count]:
            return False
        result, response = self.control.handle_alter_partition(connection.request)
        self._commit(result)
        connection.answer(response)
        self.recorder.did("HandleAlterPartition", broker_id)
        return True

    def receive_alter_reply(self, broker_id: BrokerId) -> bool:
        """The controller's decision arrives at the leader that proposed."""
        connection, broker = self.network.alters[broker_id], self.hosts[broker_id].up
        reply = connection.response
        if broker is None or reply is None or self.network.cut[self.count][broker_id]:
            return False
        connection.clear()
        broker.partition.handle_alter_partition_reply(reply)
        self.recorder.did("HandleAlterPartitionReply", broker_id)
        return True

    def lose_alter_partition(self, broker_id: BrokerId) -> bool:
        """The connection to the controller breaks."""
        connection = self.network.alters[broker_id]
        if connection.idle:
            return False
        connection.clear()
        self.recorder.did("LoseAlterPartition", broker_id)
        return True
