"""A simulator of two-phase commit for tests of the machinery that serves any protocol: as in a `protocol.toml`,
`factory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from tidemark_conformance.tla.kernels.stream import StreamWriter

NODES = ("tm", "r1", "r2", "r3")


@dataclass
class Run:
    """A simulator's result for a seed."""

    trace: str
    stream: bytes
    steps: int
    facts: Mapping[str, int] = field(default_factory=dict)


def factory(header: dict[str, Any], *, steps: int, flaw: str | None, **options: Any) -> Any:
    """A simulator for traces of about `steps` steps; its one flaw is "hasty"."""
    if flaw not in (None, "hasty") or options:
        raise ValueError(f"no such flaw or option: {flaw} {options}")
    arities = tuple(len(action["params"]) for action in header["actions"])
    return partial(simulate, arities, steps, flaw == "hasty")


def simulate(arities: tuple[int, ...], steps: int, hasty: bool, seed: int) -> Run:
    """Every resource manager prepares in some order; the manager restarts now and then, and decides at last."""
    random = Random(seed)
    out = StreamWriter(6, list(arities))
    out.initial([3, 3, 3, 2, 0, 0])
    prepared, order = 0, [0, 1, 2]
    random.shuffle(order)
    for number, rm in enumerate(order):
        prepared |= 4 << rm
        out.step(0, [rm], rm + 2, [(rm, 2), (5, prepared)])
        if hasty and number == 0:
            break
    votes = 0
    while out.records < steps - 4:
        if random.random() < 0.1:
            votes = 0
            out.step(4, [], 1, [(4, 0)])
        else:
            rm = random.choice(order[:1] if hasty else order)
            votes |= 1 << rm
            out.step(2, [rm], 1, [(4, votes)])
        if votes != 7:
            out.blocked(3, [1], 1) if not hasty else None
    outcome = 1 if votes == 7 or hasty else 0
    out.step(3, [outcome], 1, [(3, outcome), (5, prepared | 1 << outcome)])
    for rm in order:
        out.step(5, [rm, outcome], rm + 2, [(rm, outcome)])
    return Run(f"two-phase-{seed}", out.end(quiescent=True), out.records - 1, {"seeds": 1, "odd": seed % 2})


def together(headers: Mapping[str, dict[str, Any]], *, steps: int) -> Any:
    """A composition of two-phase commits, as many as there are headers; the seed decides each."""
    return partial(
        simulate_together, {name: factory(header, steps=steps, flaw=None) for name, header in headers.items()}
    )


def amiss(headers: Mapping[str, dict[str, Any]], *, steps: int) -> Any:
    """A composition whose clients find something amiss: other things in the first part than in the second."""
    return partial(simulate_amiss, {name: factory(header, steps=steps, flaw=None) for name, header in headers.items()})


def simulate_amiss(simulators: Mapping[str, Any], seed: int) -> dict[str, Run]:
    """One run, a trace of each; all conform."""
    first, *others = simulate_together(simulators, seed).items()
    found = [{"bad.losses": seed % 2, "some.fail-overs": 1}, {"some.fail-overs": 0, "good.answers": seed % 3 // 2}]
    return {name: replace(run, facts=facts) for (name, run), facts in zip([first, *others], found, strict=True)}


def simulate_together(simulators: Mapping[str, Any], seed: int) -> dict[str, Run]:
    """One run, a trace of each."""
    return {name: simulator(seed) for name, simulator in simulators.items()}
