"""A broker's process (ReplicaManager, BrokerLifecycleManager) with its one replica of the partition.

    STARTING             the log is recovered; the broker registers until the controller accepts it
    RUNNING              it applies metadata, leads or follows
    STOPPING             it wants to stop: heartbeats ask for a controlled shutdown until the controller lets it go

A new incarnation knows nothing of the partition before it has applied the metadata up to its own registration.
"""

from __future__ import annotations

from tidemark.common.errors import NONE
from tidemark.log.log import Log
from tidemark.log.storage import Storage
from tidemark.replication.fetcher import ReplicaFetcher
from tidemark.replication.messages import (
    BrokerHeartbeatRequest,
    BrokerId,
    BrokerRegistrationRequest,
    ProduceRequest,
    ProduceResponse,
    Refused,
)
from tidemark.replication.partition import Partition, PartitionState, ReplicationConfig
from tidemark.replication.purgatory import ProducePurgatory
from tidemark.replication.rules import Rules

STARTING, RUNNING, STOPPING = "starting", "running", "stopping"


class Broker:
    """One incarnation of a broker, opened on its disk.

    `epoch` is 0 until it is registered. `metadata_offset` is the metadata log's offset up to which it has read.
    `published_offset` is that up to which the partition has heard of it: less only before it has its own registration.
    """

    __slots__ = (
        "_config",
        "epoch",
        "fetcher",
        "id",
        "log",
        "metadata_offset",
        "partition",
        "published_offset",
        "purgatory",
        "state",
        "storage",
    )

    def __init__(
        self,
        broker_id: BrokerId,
        storage: Storage,
        replicas: tuple[BrokerId, ...],
        config: ReplicationConfig,
        rules: Rules,
    ) -> None:
        self.id = broker_id
        self.epoch = 0
        self.state = STARTING
        self.metadata_offset = 0
        self.published_offset = 0
        self.storage = storage
        self._config = config
        self.log = Log(storage)
        self.partition = Partition(broker_id, replicas, self.log, config, rules)
        self.fetcher = ReplicaFetcher(self.partition, 0, rules)
        self.purgatory = ProducePurgatory(self.partition, rules)

    # --- life cycle -----------------------------------------------------------------------------------------------

    def registration(self) -> BrokerRegistrationRequest:
        """The request that a starting broker repeats; it tells of the last incarnation only if that stopped cleanly."""
        return BrokerRegistrationRequest(self.id, self.storage.clean_shutdown_epoch)

    def registered(self, broker_epoch: int) -> None:
        """The controller has accepted the registration. From now on a failure is an unclean stop."""
        self.epoch = broker_epoch
        self.fetcher.broker_epoch = broker_epoch
        self.state = RUNNING
        self.storage.clean_shutdown_epoch = None

    def heartbeat(self) -> BrokerHeartbeatRequest:
        """The heartbeat that the broker sends to the controller from time to time."""
        return BrokerHeartbeatRequest(self.id, self.epoch, self.metadata_offset, self.state == STOPPING)

    def ask_to_stop(self) -> None:
        """The operator asks the broker to stop; the next heartbeat asks the controller."""
        self.state = STOPPING

    def stop_broker(self) -> None:
        """The controller has let go: flush everything, checkpoint the high watermark, note the clean stop."""
        self.log.flush_log()
        self.log.checkpoint_high_watermark()
        self.storage.clean_shutdown_epoch = self.epoch

    def load_metadata(self, end_offset: int) -> None:
        """Read the metadata log up to `end_offset`, which is before its own registration: nothing hears of it yet."""
        self.metadata_offset = end_offset

    # --- what the partition needs of its broker ---------------------------------------------------------------------

    def apply_metadata(self, state: PartitionState | None, end_offset: int, now: int) -> bool:
        """Apply a delta of the metadata log that ends at `end_offset` and leaves the partition in `state` (None:
        untouched).

        Returns whether the partition changed.
        """
        self.metadata_offset = self.published_offset = end_offset
        return state is not None and self.partition.apply_metadata(state, now)

    def append_record(self, request: ProduceRequest, now: int, waits_later: bool = False) -> ProduceResponse | Refused:
        """Append a produce attempt; with acks=all it waits in the purgatory, and its answer comes from there.
        `waits_later`: the handler lets the lock go, and adds it to the purgatory later."""
        response = self.partition.append_record(request)
        if request.acks == "all" and type(response) is ProduceResponse and response.error is NONE:
            deadline_ms = now + self._config.request_timeout_ms
            self.purgatory.park(response.payload, response.base_offset, deadline_ms, waits_later)
        return response
