"""TLC's own evaluator: the value of every invariant in every initial state, errors included.

A model checker stops at the first error. Here TLC's classes are asked one invariant and one state at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tidemark_conformance.java import toolchain
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc import shared
from tidemark_conformance.tlc.values import parse_state

Verdict = bool | None
"""The value of an invariant; None where its evaluation is an error."""


@contextmanager
def java() -> Iterator[shared.Java]:
    """A Java with TLC's classes, for one module after another."""
    jar = toolchain.find_jar(None)
    server = shared.server_jar(jar)
    assert server is not None
    with closing(shared.Java(jar, server)) as started:
        yield started


def evaluated(java: shared.Java, module: Path) -> list[tuple[dict[str, Value], dict[str, Verdict]]]:
    """Every initial state of a module, with its cfg beside it, and what each invariant is there. TLC leaves out an
    invariant that reads no variable."""
    from py4j.protocol import Py4JError, Py4JNetworkError

    for library in (spec_root() / "lib").glob("*.tla"):
        shutil.copy(library, module.parent)
    java._as_new()
    jvm = java._jvm
    jvm.java.lang.System.setProperty("TLA-Library", str(module.parent))
    resolver = jvm.util.SimpleFilenameToStream()
    tool = jvm.tlc2.tool.impl.FastTool(str(module.parent), module.stem, module.stem, resolver)
    states, found = tool.getInitStates(), []
    invariants = list(zip(tool.getInvNames(), tool.getInvariants(), strict=True))
    for at in range(states.size()):
        state = states.elementAt(at)
        verdicts: dict[str, Verdict] = {}
        for name, invariant in invariants:
            try:
                verdicts[name] = bool(tool.isValid(invariant, state))
            except Py4JNetworkError:
                raise
            except Py4JError:  # PySpark, once imported, turns Py4JJavaError into others
                verdicts[name] = None
        found.append((parse_state(state.toString()), verdicts))
    return found
