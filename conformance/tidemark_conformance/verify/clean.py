"""The unflawed implementation at scale: simulate, audit, and ask that the run shows everything it should.

A run is kept in the cache folder under a digest of all that decides its traces. It is simulated again only when the
implementation, the specification or the settings change; it is audited every time. Spark's part of an audit needs both
cores and the session. TLC's replays need one core and no session: they go on beside Spark's next work.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidemark_conformance import cache
from tidemark_conformance.audit.audit import counted
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.console.progress import Progress, Silent
from tidemark_conformance.implementation.packages import digest
from tidemark_conformance.registry.protocols import Composition, Protocol
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import (
    BAD,
    GOOD,
    MANIFEST,
    SEEDS_PER_PART,
    SOME,
    Generated,
    Output,
    generate,
    generate_together,
)
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification, load, parsed
from tidemark_conformance.tla.values import show
from tidemark_conformance.tlc import runner
from tidemark_conformance.trace.header import Json
from tidemark_conformance.trace.schema import schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_USE_S = 3600
"""Seconds after the last part was written, or the last audit began, in which a run may still be in use by somebody."""
HEALED = "healed"
"""The fact that counts the traces whose faults have stopped: as many must be judged by the quiescence properties."""


@dataclass(frozen=True, slots=True)
class CleanRun:
    """An unflawed run and its audit. `complaints`: every way in which it does not show what it should. `simulated_s`:
    seconds that simulating (or finding) the run took."""

    protocol: str
    run: Generated
    result: AuditResult
    complaints: tuple[str, ...]
    simulated_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Not a flag, and nothing missed."""
        return self.result.exit_code == 0 and not self.complaints


@contextmanager
def replaying() -> Iterator[Executor]:
    """Where TLC replays traces beside the block, one run's after another's; an exception ends them.

    A block that waits for the results of all that it began here leaves nothing behind.
    """
    with ThreadPoolExecutor(1) as beside:
        try:
            yield beside
        except BaseException:
            beside.shutdown(wait=False, cancel_futures=True)
            runner.stop_all()
            raise


def clean_run(
    session: SparkSession,
    protocol: Protocol,
    traces: int,
    steps: int,
    oracle: int,
    beside: Executor,
    shown: Callable[[str], AbstractContextManager[Progress]] = lambda _: nullcontext(Silent()),
    fresh: bool = False,
) -> Future[CleanRun]:
    """Simulate (or find) `traces` unflawed traces of a protocol, and audit them with all rules in force.

    `oracle`: passing traces that TLC replays, too, and `beside` does it (`replaying`): when this returns, nothing else
    is left to do. `shown`: from a title to a display of progress; `fresh`: simulate, even if the traces are there.
    Raises Unusable where the run or the audit cannot be made, the result where TLC cannot run.
    """
    specification = judging(protocol)
    header = schema_of(specification).with_nodes(protocol.nodes())
    simulator = simulators.simulator(protocol, header, steps=steps)
    settings: dict[str, Json] = {
        "protocol": protocol.name,
        "steps": steps,
        "flaw": None,
        "code": _digest(protocol),
    }
    folder = _folder(protocol.name, settings | {"traces": traces}, specification)
    _forget(folder, fresh)
    started = time.monotonic()
    with shown(f"simulating {protocol.name}") as progress:
        run = generate(
            simulator,
            range(traces),
            folder,
            header,
            settings,
            session=session,
            progress=progress,
            seeds_per_part=_seeds_per_part(traces),
            packages=protocol.packages(),
            sums=True,
        )
    _keep(folder)
    simulated_s = time.monotonic() - started
    with shown(f"auditing {protocol.name}") as progress:
        rest = counted(session, [str(folder)], specification, Options(oracle=oracle), progress)
    missed = partial(complaints, protocol, specification, run, oracle=oracle)
    return beside.submit(_judged, protocol.name, run, rest, missed, simulated_s)


def composed_run(
    session: SparkSession,
    composition: Composition,
    traces: int,
    steps: int,
    oracle: int,
    beside: Executor,
    shown: Callable[[str], AbstractContextManager[Progress]] = lambda _: nullcontext(Silent()),
    fresh: bool = False,
) -> list[Future[CleanRun]]:
    """Simulate (or find) `traces` runs of a composition once, and audit each part's traces by its own specification.

    Every part must pass whole; that its every action is seen is asked of its protocol's own run. Arguments and errors
    as of `clean_run`.
    """
    specifications = {name: judging(part) for name, part in composition.parts.items()}
    headers = {
        name: schema_of(specification).with_nodes(composition.nodes(name))
        for name, specification in specifications.items()
    }
    judges = [
        (one.hash, sorted((name, show(value)) for name, value in one.constants.items()))
        for one in specifications.values()
    ]
    settings: dict[str, Json] = {
        "protocol": composition.name,
        "steps": steps,
        "code": _digest(composition),
        "parts": repr(judges),
    }
    folders = {
        name: _folder(f"{composition.name}-{name}", settings | {"traces": traces}, specification)
        for name, specification in specifications.items()
    }
    for folder in folders.values():
        _forget(folder, fresh)
    started = time.monotonic()
    with shown(f"simulating {composition.name}") as progress:
        runs = generate_together(
            simulators.composed(composition, {name: header.to_json() for name, header in headers.items()}, steps=steps),
            range(traces),
            {name: Output(folders[name], headers[name]) for name in headers},
            settings,
            session=session,
            progress=progress,
            seeds_per_part=_seeds_per_part(traces),
            packages=composition.packages(),
            sums=True,
        )
    for folder in folders.values():
        _keep(folder)
    simulated_s = time.monotonic() - started
    found = []
    for name, specification in specifications.items():
        with shown(f"auditing {name} of {composition.name}") as progress:
            rest = counted(session, [str(folders[name])], specification, Options(oracle=oracle), progress)
        missed = partial(_amiss, specification, runs[name], oracle=oracle)
        found.append(beside.submit(_judged, name, runs[name], rest, missed, simulated_s))
    return found


def _seeds_per_part(traces: int) -> int:
    """So that every run has four parts or more: two cores end at about the same time."""
    return max(1, min(SEEDS_PER_PART, traces // 4))


def _judged(
    name: str,
    run: Generated,
    rest: Callable[[], AuditResult],
    missed: Callable[[AuditResult], Iterable[str]],
    simulated_s: float,
) -> CleanRun:
    """A run whose audit Spark has done, once the `rest` of it is done, too."""
    result = rest()
    return CleanRun(name, run, result, tuple(missed(result)), simulated_s)


def judging(protocol: Protocol) -> Specification:
    """The specification that judges an unflawed run, with its `FlawActions` if it has any."""
    _, tables = parsed(protocol.spec)
    also = ["FlawActions"] if tables.operator("FlawActions") is not None else []
    return load(protocol.spec, protocol.config, also=also)


def complaints(
    protocol: Protocol, specification: Specification, run: Generated, result: AuditResult, oracle: int
) -> Iterable[str]:
    """Complaints: things that a do-nothing implementation would leave out, errors by the simulator's own client, and
    traces that were not judged.

    `oracle`: how many passing traces TLC was asked to replay.
    """
    yield from _amiss(specification, run, result, oracle)
    flaws = flaw_actions(specification)
    shown = {f"action {action}": taken for action, (taken, _) in result.actions.items() if action not in flaws}
    shown |= {f"rule {rule} held": held for rule, (held, _) in result.rules.items()}
    shown |= {f"rule {rule} blocked": blocked for rule, (_, blocked) in result.rules.items()}
    for thing, number in shown.items():
        if not number and thing not in protocol.unreached:
            yield f"{thing}: never"
        if number and thing in protocol.unreached:
            yield f"{thing} is excused in protocol.toml but reached {number:,} times"
    for thing in protocol.unreached:
        if thing not in shown:
            yield f"{thing} is excused in protocol.toml but unknown"
    for action in flaws & result.actions.keys():
        if result.actions[action][0]:
            yield f"{action} is taken, though it needs a rule out of force"


def _amiss(specification: Specification, run: Generated, result: AuditResult, oracle: int) -> Iterable[str]:
    """Complaints about traces that were not judged, and about errors by the simulator's own client."""
    if result.traces != run.traces:
        yield f"{run.traces:,} traces were simulated, but {result.traces:,} audited"
    if result.oracle.replayed < min(oracle, result.passed):
        yield f"TLC replayed {result.oracle.replayed} traces of the {min(oracle, result.passed)} that it was asked for"
    if specification.quiescence and not result.quiescent:
        yield "no trace declares its faults stopped, so no quiescence property has judged anything"
    if run.facts.get(HEALED, result.quiescent) != result.quiescent:
        yield f"{run.facts[HEALED]:,} traces were healed, but {result.quiescent:,} judged by the quiescence properties"
    yield from found_by_clients(run)
    for name, number in sorted(run.facts.items()):
        if name.startswith(SOME) and not number:
            yield f"no trace with {name.removeprefix(SOME)}"


def found_by_clients(run: Generated) -> Iterable[str]:
    """Errors by the simulator's own count, which knows nothing of the specification, however few the traces are."""
    for name, number in sorted(run.facts.items()):
        if name.startswith(BAD) and number:
            yield f"{number:,} x {name.removeprefix(BAD)}"
        if name.startswith(GOOD) and number != run.traces:
            yield f"{run.traces - number:,} traces without {name.removeprefix(GOOD)}"


def flaw_actions(specification: Specification) -> frozenset[str]:
    """The actions that are enabled only while a rule is not in force (`FlawActions`; none if it is not defined)."""
    named = specification.module.definitions.get("FlawActions")
    return frozenset(compile_python(specification).constant(named.body)) if named else frozenset()


def _folder(protocol: str, settings: dict[str, Json], specification: Specification) -> Path:
    """The run's folder. Other runs of the protocol with so many traces take room: those that nobody has used for
    IN_USE_S are deleted. Raises Unusable where others can write to the folder of all runs."""
    constants = sorted((name, show(value)) for name, value in specification.constants.items())
    digest = hashlib.sha256(repr((sorted(settings.items()), specification.hash, constants)).encode()).hexdigest()[:16]
    root = cache.folder("runs")
    name = f"{protocol}-{settings['traces']}"
    folder = root / f"{name}-{digest}"
    if folder.is_dir():
        os.utime(folder)
    ours = re.compile(re.escape(name) + "-[0-9a-f]{16}")
    for other in root.glob(f"{name}-*"):
        if other == folder or not ours.fullmatch(other.name) or not (other / MANIFEST).is_file():
            continue
        if time.time() - other.stat().st_mtime > IN_USE_S:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _forget(folder: Path, fresh: bool) -> None:
    """Delete the parts of a kept run that are not to be believed: all of one that is damaged, or (`fresh`) of any.

    A run without a seal was interrupted: of it each part goes that is not as it was sealed.
    Raises Unusable for a folder that others can write to.
    """
    cache.trusted(folder)
    if fresh or ((folder / cache.SEAL).exists() and not cache.sealed(folder)):
        shutil.rmtree(folder, ignore_errors=True)
    elif not (folder / cache.SEAL).exists():
        for part in folder.glob("part-*"):
            if not cache.sealed(part):
                part.unlink()
    folder.mkdir(mode=0o700, exist_ok=True)


def _keep(folder: Path) -> None:
    """Write down the checksums of a finished run, once."""
    if not (folder / cache.SEAL).exists():
        cache.seal(folder)


def _digest(protocol: Protocol | Composition) -> str:
    """Of the packages that simulate it."""
    return " ".join(map(digest, protocol.packages()))
