"""Runs of a protocol whose logs are really replicated. Chaos strikes all logs, then perhaps healing follows. Each log
and the protocol get a trace in the terms of their own specification.

The simulators' own runs say what each kind of event does; these draw the words and couple them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from tidemark.compositions.replicated_log import LostRecordsReturnedError, ReplicatedLog
from tidemark.replication.broker import STARTING
from tidemark.replication.messages import BrokerId
from tidemark.replication.sim.cluster import Cluster
from tidemark.replication.sim.healing import at_rest, beyond_repair, fair_round, stop_faults
from tidemark.replication.sim.profiles import CALM
from tidemark.replication.sim.readback import lost_payloads
from tidemark.replication.sim.run import Run, Simulator
from tidemark.simulator.running import AnyRunBase, Leg
from tidemark.simulator.shared import WORD, SimResult
from tidemark.simulator.worlds import ANY_WORLD, SWARM, Beginning, is_world, parts_of
from tidemark.trace.cells import CapacityExceeded
from tidemark.trace.recording import watched

Profiles = Mapping[str, tuple[str, str]]
"""Name -> the profile of replication, and that of the protocol above it. Payloads are that protocol's alone."""

ABOVE_SHARE = 128
"""Of 256 events so many are tried in the protocol above."""
FAULTS_SHARE = 48
"""Of 256 events that a calm run would not have, so many are tried. A protocol's steps take longer over replicated logs,
and need their time."""
HEALS = 176
"""In so many of 256 runs faults stop in the end."""
ELECTION = 4
"""Partition changes that an election may come to, with the ISR's on the way back."""
ROUNDS = 60
"""So many fair rounds are enough for a partition to come to rest."""


@dataclass(frozen=True, slots=True)
class ComposedResult:
    """The traces of a run, by part. `returned`: it ended where records came back that a fail-over had lost.
    `fail_overs`: how often another broker was elected. `kept`, `dropped`: how many entries uncommitted at that time its
    log had, and had not. `orphaned`: how many entries were appended by brokers that were deposed."""

    parts: Mapping[str, SimResult]
    returned: bool
    fail_overs: int
    kept: int
    dropped: int
    orphaned: int


class HasTable(Protocol):
    """A simulator. `table`: the names and capacities of its traces, brokers' among them."""

    @property
    def table(self) -> Any: ...

    def enter(self, world: str) -> None:
        """See SimulatorBase."""

    def legs(self, seed: int) -> list[Leg]:
        """See SimulatorBase."""


A = TypeVar("A", bound=HasTable)


class ComposedSimulatorBase(Generic[A]):
    """Everything that runs of one kind share. Call `run(seed)`. `kind`: the class of a run. `above`: that of the
    protocol's simulator, whose header is `header` and whose rules are `rules` (all of them if None). `replication`: the
    header of the logs' traces, with the same brokers; replication has all of its rules. `profiles`, `mixes`: those that
    there are; runs take the pairs of `profile` in turns.

    Raises ValueError for headers of other specifications or of other brokers, or a profile that there is not.
    """

    def __init__(
        self,
        kind: Callable[[Any, int], ComposedRunBase],
        above: Callable[..., A],
        profiles: Profiles,
        mixes: Mapping[str, Sequence[str]],
        replication: Mapping[str, Any],
        header: Mapping[str, Any],
        *,
        steps: int,
        profile: str,
        rules: Any,
    ) -> None:
        self._world = ""
        self.beginnings: list[tuple[Beginning, Leg, Leg]] = []
        if is_world(profile):
            pairs = [(ANY_WORLD, ANY_WORLD)]
        elif profile in profiles or profile in mixes:
            pairs = [profiles[name] for name in mixes.get(profile, (profile,))]
        else:
            raise ValueError(f"there is no profile {profile}; the profiles are {', '.join([*profiles, *mixes])}")
        self._kind = kind
        self.steps = steps
        self.simulators = [
            (
                Simulator(dict(replication), steps=steps, profile=ours),
                above(header, steps=steps, profile=theirs, rules=rules),
            )
            for ours, theirs in pairs
        ]
        if is_world(profile):
            self.enter(profile)
        ours, theirs = self.simulators[0]
        if ours.table.brokers != theirs.table.brokers:
            raise ValueError("the two headers have other brokers")

    def enter(self, world: str) -> None:
        """From now on both runs have the swarm world of this name, each by its own profiles; so have its beginnings."""
        if world == self._world:
            return
        before, last = parts_of(world)
        self.beginnings = []
        for one in before:
            ours, theirs = self._entered(one.world)
            self.beginnings.append((one, ours, theirs))
        self.last = self._entered(last)
        if before:
            self._entered(before[0].world)
        self._world = world

    def _entered(self, world: str) -> tuple[Leg, Leg]:
        """The events of the two simulators in a world without beginnings."""
        ours, theirs = self.simulators[0]
        for one in (ours, theirs):
            one.enter(SWARM + world)
        return ours.legs(0)[0], theirs.legs(0)[0]

    def first_seed(self, seed: int) -> int:
        """The seed that decides how a seed's run begins."""
        return self.beginnings[0][0].seed if self.beginnings else seed

    def of_seed(self, seed: int) -> tuple[Simulator, A]:
        """The simulators of replication, and of the protocol above, whose profiles a seed has."""
        return self.simulators[seed % len(self.simulators)]

    def run(self, seed: int) -> ComposedResult:
        """The traces of a seed."""
        return self._kind(self, seed).run()


class PartitionRun(Run):
    """A run of replication whose producer is the protocol above; it needs room for one more election in the healing."""

    def __init__(self, simulator: Simulator, seed: int, reserve: int) -> None:
        super().__init__(simulator, seed)
        self.reserve = reserve

    def _room_for_changes(self) -> bool:
        return len(self.cluster.metadata.partition_changes) < self._metadata_limit - ELECTION

    def runs(self, broker: BrokerId) -> bool:
        """Whether a broker's process has a replica of this partition."""
        process = self.cluster.hosts[broker].broker
        return process is not None and process.state != STARTING

    def may_crash(self, broker: BrokerId) -> bool:
        """Whether a machine may fail, whatever its disk keeps: another is intact, and the trace has room."""
        cluster = self.cluster
        return (
            cluster.control.registrations[broker].broker_epoch < self._incarnation_limit
            and self._another_intact(broker)
            and cluster.leaves_one_intact(broker)
        )

    def limit(self, log: ReplicatedLog[Any]) -> None:
        """The log must have room for so many records more when healing begins."""
        table = self.simulator.table
        log.room, log.payloads = table.max_log - self.reserve, table.max_value - self.reserve


class ComposedRunBase(ABC):
    """The state of one run. `above`: the run of the protocol; `partitions`: those of its logs, by part, and `logs` what
    the protocol sees of them, in the same order.

    `ABOVE`: the protocol's part. `CALM`: the events of a calm run of it. `LONGEST`: its chaos goes on until its trace,
    or one of the logs', has so many times the steps that were asked for.
    """

    ABOVE: ClassVar[str]
    CALM: ClassVar[Collection[str]]
    LONGEST: ClassVar[tuple[float, float]]

    above: AnyRunBase
    partitions: Mapping[str, PartitionRun]
    logs: Sequence[ReplicatedLog[Any]]

    def __init__(self, name: str, simulator: ComposedSimulatorBase[Any], seed: int) -> None:
        self.seed = seed
        self.steps = simulator.steps
        self._beginnings = simulator.beginnings
        self._last = simulator.last if simulator.beginnings else None
        self._name = name
        self._bits = Random(f"{name} {seed}").getrandbits
        self._heals = self._bits(8) < HEALS

    @abstractmethod
    def heal_above(self) -> bool:
        """The partitions are at rest and run fairly; whether the protocol came to rest, too."""

    @abstractmethod
    def load(self, broker: BrokerId) -> bool:
        """A broker that leads the coordinators' log, the first one, loads it and serves."""

    @abstractmethod
    def resign(self, broker: BrokerId) -> bool:
        """A deposed coordinator has heard of it."""

    @abstractmethod
    def lost(self) -> int:
        """How much of what the protocol's clients were told they do not find, once all is healed."""

    @abstractmethod
    def observe(self, part: int) -> None:
        """After an event of replication in a log: the serving broker hears of its consequences at once."""

    @abstractmethod
    def hears(self, part: int) -> None:
        """The leader of a log learns that its high watermark has advanced."""

    def replicate(self, part: int, run: PartitionRun, kind: str, word: int) -> bool:
        """An event of replication in a log; whether it did something."""
        happened: bool = getattr(run, kind)(word)
        return happened

    def run(self) -> ComposedResult:
        """Chaos, then perhaps healing."""
        above, partitions, logs = self.above, self.partitions, self.logs
        for recorder in (*[one.recorder for one in partitions.values()], above.recorder):
            recorder.begin()
            if watched(self.seed):
                recorder.watch(self.seed)
        capacity = converged = returned = healed = False
        try:
            self._chaos()
            if self._heals:
                for log in logs:
                    log.room = log.payloads = 1 << 30
                healed, converged = self._heal()
        except CapacityExceeded:
            capacity, healed = True, False
        except LostRecordsReturnedError:
            returned, healed = True, False
        lost = self.lost() if healed else 0
        parts = {name: self._replicated(one, healed, capacity) for name, one in partitions.items()}
        recorder = above.recorder
        parts[self.ABOVE] = SimResult(
            self.seed,
            recorder.end(healed, capacity),
            recorder.records - 1,
            recorder.changing,
            above.acked(),
            lost,
            healed,
            converged,
            capacity,
        )
        return ComposedResult(
            parts,
            returned,
            sum(log.fail_overs for log in logs),
            sum(log.kept for log in logs),
            sum(log.dropped for log in logs),
            sum(log.orphaned for log in logs),
        )

    def _replicated(self, run: PartitionRun, healed: bool, capacity: bool) -> SimResult:
        cluster, recorder = run.cluster, run.recorder
        return SimResult(
            self.seed,
            recorder.end(healed, capacity),
            recorder.records - 1,
            recorder.changing,
            len(cluster.answers.acked),
            len(lost_payloads(cluster)) if healed else 0,
            healed,
            at_rest(cluster),
            capacity,
        )

    def _chaos(self) -> None:
        steps = self.steps - (self.steps // 3 if self._heals else 0)
        for one, ours, theirs in self._beginnings:
            self._take(ours, theirs)
            bits = Random(f"{self._name} {one.seed}").getrandbits
            bits(8)
            self._until(bits, one.records, steps)
        if self._last is not None:
            self._take(*self._last)
        else:
            for run in (self.above, *self.partitions.values()):
                run.keep_places()
        steps *= self.above.profile.length
        self._until(self._bits, self.LONGEST[0] * steps, steps)

    def _take(self, ours: Leg, theirs: Leg) -> None:
        """The chaos goes on in another world."""
        self.above.take(theirs)
        for run in self.partitions.values():
            run.take(ours)

    def _until(self, bits: Callable[[int], int], most: float, steps: int) -> None:
        """Chaos until the trace above has so many records, or one of the logs' too many."""
        above, runs = self.above, list(self.partitions.values())
        most_replicated = self.LONGEST[1] * steps
        run, calm = runs[0], self.CALM
        for _ in range(80 * steps):
            if above.recorder.records > most or run.recorder.records > most_replicated:
                break
            word = bits(WORD)
            tried = word >> 32 & 255 < FAULTS_SHARE
            if word & 255 < ABOVE_SHARE:
                if above.TICK_MS:
                    above.advance(above.TICK_MS * (1 + (word >> 40 & 7)))
                kind = above.kinds[word >> 8 & 255]
                if tried or kind in calm:
                    getattr(above, kind)(above.placed(kind, word >> 16))
                continue
            part = (word >> 43) % len(runs)
            run = runs[part]
            run.advance(1 + (word >> 40 & 7))
            kind = run.kinds[word >> 8 & 255]
            if kind == "produce" or (kind not in CALM and not tried):
                continue
            if self.replicate(part, run, kind, run.placed(kind, word >> 16)):
                self.observe(part)
                if word >> 40 & 1:
                    self.hears(part)

    # --- healing ----------------------------------------------------------------------------------------------------

    def _heal(self) -> tuple[bool, bool]:
        """The partitions first, then the leaders serve, then the protocol. While it waits for its records to commit,
        the partitions are run fairly. Whether faults have stopped for good (nobody may lead any more, else), and
        whether all came to rest."""
        for run in (self.above, *self.partitions.values()):
            run.try_all()
        clusters = [one.cluster for one in self.partitions.values()]
        for cluster in clusters:
            stop_faults(cluster)
        self.settle()
        if any(map(beyond_repair, clusters)):
            return False, False
        if not self.serves():
            return True, False
        for log in self.logs:
            log.heals = True
        converged = self.heal_above()
        self.settle()
        return True, converged and all(map(at_rest, clusters))

    def serves(self) -> bool:
        """The leader becomes the coordinator. If it cannot, an operator moves the leadership. It cannot if it was the
        coordinator, has forgotten that, and no other broker has served since."""
        log = self.logs[0]
        replicated = log.replicated
        for _ in range(2):
            leader = replicated.control.partition.leader
            if leader is None:
                return False
            for broker in replicated.replicas:
                self.resign(broker)
            if self.load(leader) or log.serves[leader] is not None:
                return True
            replicated.elect_leader((leader + 1) % replicated.count)
            self._settle(0, replicated)
        return False

    def settle(self) -> None:
        """The partitions come to rest."""
        for part, run in enumerate(self.partitions.values()):
            self._settle(part, run.cluster)

    def _settle(self, part: int, cluster: Cluster) -> None:
        for _ in range(ROUNDS):
            fair_round(cluster)
            self.observe(part)
            if at_rest(cluster) or beyond_repair(cluster):
                break
