"""The kill matrix, traces' side: every row's flawed implementation simulated and judged twice, as one Spark job.

Against the right specification some step must be no step. Against the specification without the row's rules every step
must be one, and the row's property must fall. Simulated traces are judged in the same task and never written.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidemark_conformance.audit.judge import NOT_A_STEP, Batch, Judge, batch_of, judge_for
from tidemark_conformance.audit.result import by_number
from tidemark_conformance.audit.tally import Group, Tally
from tidemark_conformance.console.progress import Progress, Silent
from tidemark_conformance.errors import Unusable
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.registry.zoo import Row
from tidemark_conformance.simulate import simulators
from tidemark_conformance.spark.bootstrap import Partition
from tidemark_conformance.spark.session import readable_errors, run_with_progress
from tidemark_conformance.spark.shipping import partition_work
from tidemark_conformance.tla.spec import Specification, load

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SEEDS_PER_TASK = 250
"""Traces simulated and judged together."""
PARTS = 16
"""Spark's tasks at least, if there is as much to do. Each unpickles all specifications in some tenths of a second. Each
has the tasks of rows that stand together, so that a row's judges are made once. More would balance no better."""


@dataclass(frozen=True, slots=True)
class Killed:
    """The findings in the traces of one row's flawed implementation.

    `by_step`: traces with a step that is none of the right specification's. `strange`: traces with a step that is none
    without the row's rules either; it must be 0. `by_property`: traces in which the row's property falls there.
    `first`: the first of these by its number ("": there is none). `first_step`: where it falls there. `undecided`:
    traces that could not be judged; it must be 0. `facts`: the simulator's own counts, summed. `seconds`: of simulation
    and judging, summed over the tasks.
    """

    row: Row
    simulated: int
    by_step: int
    strange: int
    by_property: int
    first: str
    first_step: int | None
    undecided: int
    facts: Mapping[str, int]
    seconds: float

    @property
    def ok(self) -> bool:
        """Killed on both counts and conforming; or excused with a reason. For an excused row the property falls
        nowhere, but some step is wrong; otherwise nothing shows that the flaw is there."""
        shown = not self.by_property if self.row.simulation.excused else bool(self.by_property)
        return bool(self.by_step) and shown and not self.strange and not self.undecided


@dataclass(frozen=True, slots=True)
class Task:
    """The seeds from `first` up to `stop` (excluded) of one row's flawed implementation; `nodes` in its traces."""

    row: Row
    simulate: Any
    first: int
    stop: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know: every task, and the right specification of each protocol."""

    tasks: Sequence[Task]
    specifications: Mapping[str, Specification]


def kill(
    session: SparkSession,
    rows: Sequence[Row],
    protocols: Mapping[str, Protocol],
    progress: Progress | None = None,
) -> list[Killed]:
    """Simulate and judge every row's flaw; results in the order of `rows`.

    Raises Unusable for a property that a row names and its specification does not check.
    """
    specifications = {
        name: load(protocols[name].spec, protocols[name].config) for name in {row.protocol for row in rows}
    }
    for row in rows:
        _property_index(row, specifications[row.protocol])
    tasks = [task for row in rows for task in _tasks(row, protocols[row.protocol], specifications[row.protocol])]
    for specification in specifications.values():
        judge_for(with_rules_off(specification, frozenset()))  # compile once, here; the workers find it in the cache
    packages = [name for row in rows for name in protocols[row.protocol].packages()]
    work = partition_work(session, kill_partition, Job(tasks, specifications), packages)
    parts = min(len(tasks), max(PARTS, 2 * session.sparkContext.defaultParallelism))
    frame = session.range(0, len(tasks), 1, parts).mapInArrow(work, "found binary")
    with readable_errors("the kill matrix"):
        collected = run_with_progress(session, frame.collect, progress or Silent())
    found = [pickle.loads(row.found) for row in collected]
    return [merge(row, [one for one in found if one.row.id == row.id]) for row in rows]


def kill_partition(job: Job) -> Partition:
    """The function for `mapInArrow` over the tasks' numbers: a pickled `Killed` for each."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            found = [pickle.dumps(judge_task(job.tasks[i], job.specifications)) for i in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["found"])

    return work


def _tasks(row: Row, protocol: Protocol, specification: Specification) -> Iterator[Task]:
    from tidemark_conformance.trace.schema import schema_of

    header = schema_of(specification).with_nodes(protocol.nodes())
    plan = row.simulation
    simulate = simulators.simulator(protocol, header, steps=plan.steps, flaw=row.id, **plan.options)
    end = plan.first_seed + plan.count
    for first in range(plan.first_seed, end, SEEDS_PER_TASK):
        yield Task(row, simulate, first, min(first + SEEDS_PER_TASK, end), len(header.nodes))


def judge_task(task: Task, specifications: Mapping[str, Specification]) -> Killed:
    """Simulate a task's seeds and judge their traces, by the right specification and by the one without the rules."""
    row, started = task.row, time.monotonic()
    specification = specifications[row.protocol]
    with seldom_collecting():
        runs = [task.simulate(seed) for seed in range(task.first, task.stop)]
    batch = batch_of([run.trace for run in runs], [run.stream for run in runs])
    right = _tally(judge_for(with_rules_off(specification, frozenset())), batch, task.nodes)
    flawed = _tally(judge_for(with_rules_off(specification, frozenset(row.rules))), batch, task.nodes)
    index = _property_index(row, specification)
    falls = flawed.failures.get((index, -1), Group())
    facts: dict[str, int] = {}
    for run in runs:
        for name, number in run.facts.items():
            facts[name] = facts.get(name, 0) + number
    return Killed(
        row=row,
        simulated=len(runs),
        by_step=_not_steps(right),
        strange=_not_steps(flawed),
        by_property=falls.traces,
        first=falls.examples[0].trace if falls.examples else "",
        first_step=falls.examples[0].step if falls.examples else None,
        undecided=int(right.verdicts[2]) + int(flawed.verdicts[2]),
        facts=facts,
        seconds=time.monotonic() - started,
    )


def _tally(judge: Judge, batch: Batch, nodes: int) -> Tally:
    tally = judge.tally()
    judge.add(tally, batch, nodes)
    return tally


def _not_steps(tally: Tally) -> int:
    return sum(group.traces for (check, _), group in tally.failures.items() if check == NOT_A_STEP)


def _property_index(row: Row, specification: Specification) -> int:
    """The index of the row's property among the kernels' checks."""
    names = [one.name for one in (*specification.invariants, *specification.properties, *specification.quiescence)]
    if row.property not in names:
        raise Unusable(
            f"row {row.id} of the zoo expects {row.property} to fall, which {specification.cfg.name} does not check; "
            f"its properties are {', '.join(names)}"
        )
    return names.index(row.property) + 1


def merge(row: Row, parts: Sequence[Killed]) -> Killed:
    """All parts of a row together."""
    first = min((part for part in parts if part.first), key=lambda part: by_number(part.first), default=None)
    facts: dict[str, int] = {}
    for part in parts:
        for name, number in part.facts.items():
            facts[name] = facts.get(name, 0) + number
    return Killed(
        row=row,
        simulated=sum(part.simulated for part in parts),
        by_step=sum(part.by_step for part in parts),
        strange=sum(part.strange for part in parts),
        by_property=sum(part.by_property for part in parts),
        first=first.first if first else "",
        first_step=first.first_step if first else None,
        undecided=sum(part.undecided for part in parts),
        facts=facts,
        seconds=sum(part.seconds for part in parts),
    )
