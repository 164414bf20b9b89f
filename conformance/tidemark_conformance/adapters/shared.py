"""What the simulators of `tidemark` share as `spec/protocols.toml` wants them, whatever the protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from tidemark_conformance.check import zoo
from tidemark_conformance.check.generate import Simulated
from tidemark_conformance.errors import Unusable

if TYPE_CHECKING:
    from tidemark.sim.shared import SimResult

R = TypeVar("R")


def removing(rules_without: Callable[[tuple[str, ...]], R]) -> Callable[[Collection[str]], R]:
    """A protocol's `rules_without`, made once for each set of names. It raises Unusable for a name that is no rule."""

    @cache
    def made(names: tuple[str, ...]) -> R:
        try:
            return rules_without(names)
        except ValueError as problem:
            raise Unusable(f"{problem}; correct the rules of that row in spec/zoo.toml") from problem

    return lambda names: made(tuple(sorted(names)))


def out_of_force(flaw: str | None, without: Collection[str]) -> tuple[str, ...]:
    """The rules of a row of the zoo (by id or number) and those of `without`, sorted. Raises Unusable for an unknown
    row."""
    return tuple(sorted({*without, *(zoo.select([flaw])[0].rules if flaw else ())}))


def require_options(owner: str, profile: str, known: Collection[str], others: Mapping[str, Any]) -> None:
    """Raises Unusable for a profile that is not one of `known`, and for any of `others`: options that there are not."""
    if others:
        raise Unusable(f"{owner}'s simulator has no option {sorted(others)[0]}; it takes profile and without")
    if profile not in known:
        raise Unusable(f"{owner}'s simulator has no profile {profile}; choose from {', '.join(sorted(known))}")


def simulated(seed: int, result: SimResult, lost: str, cluster: str) -> Simulated:
    """A run with what a client found after healing among its facts. `lost`, `cluster`: what its clients call what they
    lose ("records"), and what is healed ("clusters")."""
    facts = {
        "changing": result.changing,
        "healed": int(result.healed),
        "acknowledged": result.acked,
        f"traces with lost {lost}": int(result.lost > 0),
        f"bad.lost {lost}": result.lost,
        f"bad.healed {cluster} that did not come to rest": int(result.healed and not result.converged),
        "good.an acknowledgement after healing": int(not result.healed or result.acked > 0),
    }
    return Simulated(f"seed-{seed}", result.stream, result.steps, facts)
