"""What the simulators of `tidemark` share as `spec/protocols.toml` wants them, whatever the protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tidemark.common.errors import UndeclaredChange
from tidemark.common.removal import Variant, rules_without
from tidemark.simulator.script import ScenarioError

from tidemark_conformance.errors import DefectError, Unusable
from tidemark_conformance.registry import zoo
from tidemark_conformance.simulate.again import Again
from tidemark_conformance.simulate.generate import BAD, GOOD, Simulated, Simulator

if TYPE_CHECKING:
    from tidemark.simulator.running import SimulatorBase
    from tidemark.simulator.script import ScenarioResult
    from tidemark.simulator.shared import SimResult

DEFAULT_PROFILE = "mixed"


@dataclass(frozen=True, slots=True)
class Adapter:
    """A protocol's simulator, bound to the registry. It travels to Spark's workers by pickle.

    `owner`: what messages call the protocol; `simulate`: the implementation's; `rules`: the class of its rules;
    `profiles`: the names that it takes; `lost`, `healed`: what its clients call what they lose ("records"), and what is
    healed ("clusters"); `variants`: what it computes otherwise without some rules.
    """

    owner: str
    simulate: Callable[..., SimResult]
    rules: Callable[[], Any]
    profiles: frozenset[str]
    lost: str
    healed: str
    variants: tuple[Variant, ...] = ()

    def simulator(
        self,
        header: Mapping[str, Any],
        *,
        steps: int,
        flaw: str | None = None,
        profile: str = DEFAULT_PROFILE,
        without: Collection[str] = (),
        **others: Any,
    ) -> Simulator:
        """Traces of simulated runs. `flaw`: a row of the zoo, by id or number, whose rules are removed, as are those of
        `without`.

        Raises Unusable for an unknown flaw, rule, profile or option.
        """
        require_options(self.owner, profile, self.profiles, others)
        rules = out_of_force(flaw, without)
        self.removed(rules)
        return partial(self.run, dict(header), steps, profile, rules)

    def removed(self, names: Collection[str]) -> Any:
        """The implementation's rules without some, made once. Raises Unusable for a name that is no rule."""
        return _removed(self.rules, tuple(sorted(names)), self.variants)

    def rules_without(self, names: Collection[str]) -> Any:
        """The implementation's rules without some. Raises ValueError for a name that is no rule."""
        return rules_without(self.rules, names, self.variants)

    def run(self, header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int) -> Simulated:
        """The trace of one seed, with what a client found after healing among its facts."""
        with defects_named(self.owner):
            result = self.simulate(seed, table=header, steps=steps, profile=profile, rules=self.removed(without))
        return simulated(seed, result, self.lost, self.healed)

    def resimulation(
        self, make: Callable[..., SimulatorBase], faults: Collection[str] = ()
    ) -> Callable[[Mapping[str, Any], str, Mapping[str, Any]], Again]:
        """What repeats the trace `seed-<n>` of a run with given settings (again.py); it raises ValueError for another
        id.

        `make`: the implementation's class of simulators; `faults`: see `Again`.
        """

        def again(header: Mapping[str, Any], trace: str, settings: Mapping[str, Any]) -> Again:
            seed = int(trace.removeprefix("seed-"))
            profile = settings.get("profile") or DEFAULT_PROFILE
            rules = self.removed(out_of_force(settings.get("flaw"), settings.get("without", ())))
            simulator = make(dict(header), steps=settings["steps"], profile=profile, rules=rules)
            return Again(simulator, seed, faults)

        return again

    def transcript(
        self, scenario: Callable[[Mapping[str, Any], str, Any], ScenarioResult]
    ) -> Callable[[Mapping[str, Any], str, Collection[str]], tuple[bytes, str]]:
        """What runs a golden scenario with some rules removed: its delta stream and its transcript. It raises Unusable
        for a text that is no scenario, or whose expectations do not hold.

        `scenario(header, text, rules)` is the implementation's; its `rules` are None where all are in force.
        """

        def transcribed(header: Mapping[str, Any], text: str, without: Collection[str]) -> tuple[bytes, str]:
            try:
                result = scenario(header, text, self.removed(without) if without else None)
            except ScenarioError as problem:
                raise Unusable(f"a golden scenario does not run as it says: {problem}") from problem
            return result.stream, result.transcript

        return transcribed


@contextlib.contextmanager
def defects_named(owner: str) -> Iterator[None]:
    """Turns the end of a watched run into DefectError. `owner`: what messages call the protocol."""
    try:
        yield
    except UndeclaredChange as problem:
        raise DefectError(f"{owner}'s simulator, {problem}") from problem


@cache
def _removed(rules: Callable[[], Any], names: tuple[str, ...], variants: tuple[Variant, ...]) -> Any:
    try:
        return rules_without(rules, names, variants)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem


def out_of_force(flaw: str | None, without: Collection[str]) -> tuple[str, ...]:
    """The rules of a row of the zoo (by id or number) and those of `without`, sorted. Raises Unusable for an unknown
    row, and for a number that several rows have."""
    return tuple(sorted({*without, *(zoo.one(flaw).rules if flaw else ())}))


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
        f"{BAD}lost {lost}": result.lost,
        f"{BAD}healed {cluster} that did not come to rest": int(result.healed and not result.converged),
        f"{GOOD}an acknowledgement after healing": int(not result.healed or result.acked > 0),
    }
    return Simulated(f"seed-{seed}", result.stream, result.steps, facts)
