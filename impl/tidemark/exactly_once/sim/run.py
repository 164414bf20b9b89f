"""One simulated run of consume-transform-produce: how it begins, how it ends, and how much room a trace has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.exactly_once.abstraction import NOWHERE, READS, TOUCHES, WHOLE, Abstraction, Table
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.exactly_once.sim.events import ExactlyOnceEvents
from tidemark.exactly_once.sim.healing import heal
from tidemark.exactly_once.sim.profiles import MIXES, PROFILES, ExactlyOnceProfile
from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder

ROOM = 3
"""So many member ids and generations are kept for the healing, times two for what every instance does there."""
OUTPUT_ROOM = 24
"""So many records of the output are."""
RECORDS = (0, 1, 1, 2)
"""So many records an input partition has."""


class ExactlyOnceSimulator(SimulatorBase):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        super().__init__(ExactlyOnceRun, Mix(profile, PROFILES, MIXES), steps)
        self.table = table = Table(header)
        self.plan = Plan(header, "exactly once", READS, TOUCHES, table.parties, "i", NOWHERE, whole=WHOLE)
        self.rules = rules if rules is not None else Rules()


class ExactlyOnceRun(RunBase[ExactlyOnceCluster, ExactlyOnceProfile], ExactlyOnceEvents[ExactlyOnceCluster]):
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    def __init__(self, simulator: ExactlyOnceSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.table = table = simulator.table
        first = self.first_word
        self._instances, self._partitions = self.acting(len(table.instances)), len(table.partitions)
        inputs = [RECORDS[first >> 2 * number & 3] for number in range(self._partitions)]
        if not any(inputs):  # a run that has nothing to deliver shows nothing
            inputs[0] = 1
        self.cluster = cluster = ExactlyOnceCluster(inputs, table.static, simulator.rules)
        self.recorder = Recorder(simulator.plan, Abstraction(cluster))
        cluster.recorder = self.recorder

    def heal(self) -> bool:
        """Faults stop; whether everything came to rest."""
        return heal(self.cluster)

    def acked(self) -> int:
        """How many results a reader of the output has got."""
        return len(self.cluster.readers[OUTPUT].returned)

    def lost(self) -> int:
        """How many records' results it has not got exactly once."""
        return sum(abs(times - 1) for times in self.cluster.times_returned().values())

    # --- what a trace has room for ---------------------------------------------------------------------------------

    def _has_room(self) -> bool:
        """Whether the trace has room for one more result, and for what follows from it."""
        return len(self.cluster.outputs[OUTPUT].log) < self.table.max_output - OUTPUT_ROOM

    def _has_epochs(self, i: int) -> bool:
        """Whether an instance may begin something anew."""
        return self.cluster.coordinators[i].value.producer_epoch < self.table.max_epoch - 2 * ROOM

    def _may_join(self, i: int) -> bool:
        cluster, table = self.cluster, self.table
        room = cluster.group.issued < table.max_member - 2 * ROOM
        return room or cluster.instances[i].member_id in cluster.group.members

    def _may_replace(self) -> bool:
        return self.cluster.group.issued < self.table.max_member - 2 * ROOM

    def _may_begin(self) -> bool:
        return self.cluster.group.generation < self.table.max_generation - ROOM

    def _may_send(self, i: int, p: int) -> bool:
        within = self.cluster.instances[i].producer.sequences[OUTPUT] < self.table.max_sequence - 1
        return within and self._has_room() and self._has_epochs(i) and p in self.cluster.instances[i].owned
