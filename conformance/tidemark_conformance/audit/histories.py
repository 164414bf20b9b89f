"""History variables of one trace, computed by the reference evaluator: which of them leaves its limits, and where."""

from __future__ import annotations

from tidemark_conformance.tla.kernels.stream import STEP
from tidemark_conformance.tla.python import EvaluationError, compile_python
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import Misfit, encode
from tidemark_conformance.trace.replay import events
from tidemark_conformance.trace.schema import Schema


def exceeding_history(specification: Specification, schema: Schema, stream: bytes) -> str:
    """A sentence on the first history variable whose computed value TypeOK has no room for; empty if there is none.

    The stream is whole, and all its values are within their limits.
    """
    python = compile_python(specification)
    ghosts = [variable for variable in schema.layout.variables if variable.ghost]
    state: dict[str, object] = {}
    for step, event in enumerate(events(stream, schema)):
        try:
            if not state:
                after = {**event.state, **python.initial_ghosts(event.state)}
            else:
                after = {**state, **event.state}
                if event.kind == STEP and event.action is not None:
                    after |= python.ghosts(event.action, event.params, state, after)
        except EvaluationError:
            after = {**state, **event.state}
        for variable in ghosts:
            try:
                encode(variable.type, after[variable.name])
            except Misfit as problem:
                return f"step {step}: the history variable {variable.name} exceeds its limit in TypeOK ({problem})"
        state = after
    return ""
