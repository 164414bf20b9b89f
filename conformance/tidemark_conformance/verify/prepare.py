"""The implementation, and the checks of every registered protocol, compiled in a process of its own, while something
else has the user's eye.

Compiling keeps one core busy: three minutes for the implementation, 4 to 30 s for a specification, once per
text. `tidemark verify` lets TLC have the others meanwhile. A part that cannot be compiled is left to its user, and says
why.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from tidemark_conformance.audit.judge import judge_for
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.processes import raise_on_sigterm, started
from tidemark_conformance.registry import protocols
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.tla.spec import load
from tidemark_conformance.verify import clean


@contextlib.contextmanager
def compiling(needed: bool) -> Iterator[None]:
    """Compile beside the block, if it is `needed`, and wait at its end; an exception ends the compiling."""
    if not needed:
        yield
        return
    command = [sys.executable, "-m", __name__]
    quiet = subprocess.DEVNULL
    with started(command, gently=True, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        yield
        process.wait()


def judged() -> Iterator[Protocol]:
    """Every protocol, and every part of a composition with the cfg that it has there."""
    yield from protocols.protocols().values()
    for composition in protocols.compositions().values():
        yield from composition.parts.values()


def main() -> None:
    """Compile the implementation, and the checks of all that is judged, into the cache folder."""
    with contextlib.suppress(Unusable):
        compiled.build()
    for protocol in judged():
        with contextlib.suppress(Unusable):
            judge_for(clean.judging(protocol))  # as the unflawed run asks
            judge_for(with_rules_off(load(protocol.spec, protocol.config), frozenset()))  # as the kill matrix asks


if __name__ == "__main__":
    raise_on_sigterm(SystemExit)
    main()
