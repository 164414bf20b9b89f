"""A driver for test_cluster.py: python cluster_audit.py MASTER PATH OUT. It prints finished tasks of an audit of PATH
and its document. Then it prints the number of traces of a simulation into OUT and the findings of a flawed one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.inputs import open_input
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.registry.zoo import Row, Simulation
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import generate
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify.matrix import kill

TOY = Protocol(
    "TwoPhase",
    simulator="two_phase_simulator:factory",
    spec=spec_root() / "two_phase" / "TwoPhase.tla",
    config=spec_root() / "two_phase" / "TwoPhase.cfg",
)
"""A simulator that stands beside the tests, where no worker of a cluster finds it by itself."""
HASTY = Row(
    "hasty", 1, "TwoPhase", ("CommitOnlyIfAllPrepared",), "Consistency", "", "", "", "none", Simulation(0, 300, 20)
)


class Printed:
    """Progress as lines."""

    def update(self, done: int, total: int) -> None:
        """One line per look."""
        print(json.dumps({"done": done, "total": total}), flush=True)


def simulated(session: Any, out: Path) -> dict[str, Any]:
    """Traces of the toy, in parts."""
    header = schema_of(load(TOY.spec, TOY.config)).with_nodes(TOY.nodes())
    simulator = simulators.simulator(TOY, header, steps=20)
    made = generate(simulator, range(40), out, header, {}, session=session, seeds_per_part=10, packages=TOY.packages())
    return {"parts": [part.name for part in made.parts], "steps": made.steps, "facts": made.facts}


def killed(session: Any) -> dict[str, Any]:
    """The toy's one flaw."""
    (found,) = kill(session, [HASTY], {"TwoPhase": TOY})
    return {"simulated": found.simulated, "no step": found.by_step, "conforms": not found.strange + found.undecided}


def main() -> None:
    """Audit, simulate and kill on the cluster."""
    master, path, out = sys.argv[1:]
    with spark_session(master) as session:
        source = open_input(session, [path])
        specification, _ = load_for(source.header.spec, None, None)
        document = audit(session, source, specification, progress=Printed()).document()
        print(json.dumps({"audit": document}), flush=True)
        print(json.dumps({"simulated": simulated(session, Path(out))}), flush=True)
        print(json.dumps({"killed": killed(session)}), flush=True)


if __name__ == "__main__":
    main()
