"""The first result of `make check`: some traces of one protocol, simulated and audited, before TLC's long part begins.

A process of its own does it: the implementation is not compiled yet, and a process that has loaded it so cannot load it
otherwise.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.options import Options
from tidemark_conformance.errors import DefectError
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.processes import raise_on_sigterm, started
from tidemark_conformance.registry import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import generate
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify import clean

TRACES, STEPS = 1_000, 50


@dataclass(frozen=True, slots=True)
class First:
    """The result for the first traces of a protocol. `flags`: traces that fail or are undecided; times in seconds."""

    protocol: str
    traces: int
    steps: int
    flags: int
    seconds: float


def look() -> First | None:
    """The first result, from a process of its own; None where no protocol is registered.

    Raises DefectError where that process fails: its words go to standard error.
    """
    if not protocols.protocols():
        return None
    command = [sys.executable, "-m", __name__]
    with started(command, gently=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate()
    if process.returncode:
        raise DefectError(f"the first traces could not be judged (exit code {process.returncode})")
    return First(**json.loads(said))


def first() -> First:
    """Traces of the protocol that comes first in the registry, judged in this process."""
    started = time.monotonic()
    protocol = next(iter(protocols.protocols().values()))
    specification = clean.judging(protocol)
    header = schema_of(specification).with_nodes(protocol.nodes())
    simulator = simulators.simulator(protocol, header, steps=STEPS)
    with temporary_folder("tidemark-first-") as folder:
        run = generate(simulator, range(TRACES), folder / protocol.name, header, {})
        result = audit(None, [str(folder / protocol.name)], specification, Options())
    flags = result.traces - result.passed
    return First(protocol.name, run.traces, run.steps, flags, round(time.monotonic() - started, 1))


if __name__ == "__main__":
    raise_on_sigterm(SystemExit)
    print(json.dumps(asdict(first())))
