"""The one descriptor of a protocol: everything that the machinery asks of its implementation.

Each protocol has one, `PROTOCOL` in its own `protocol.py`; the registry beside its specification names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidemark.common.removal import Variant, rules_without
from tidemark.common.transitions import Table
from tidemark.simulator.demonstration import Demonstration
from tidemark.simulator.running import SimulatorBase
from tidemark.simulator.script import ScenarioResult
from tidemark.simulator.shared import Prepared, SimResult
from tidemark.simulator.worlds import ANY_WORLD, is_world

DEFAULT_PROFILE = "mixed"

Scenario = Callable[[Mapping[str, Any], str, Any], ScenarioResult]
"""A golden scenario's run: from a trace header, a text and the rules in force (None: all)."""


class Protocol:
    """A protocol's nodes, profiles, simulator, stage and words.

    `owner`: the protocol in messages. `nodes`: the names of the nodes in its traces. `simulators`: the class of its
    simulators. `rules`: the class of its rules. `variants`: the computations that replace others without some of them.
    `profiles`: the names of nemesis schedules and mixes of them. `scenario`: the run of a golden scenario. `lost`,
    `healed`: its clients' words for a loss ("records") and for that which heals ("clusters"). `faults`: kinds of events
    that may change something although no step is recorded. `sized`: the nodes of another size, None where there is one
    size only. `demonstration`: its long run for people, None where there is none. `machines`: its state machines, by
    their names in documents ("group-states").
    """

    def __init__(
        self,
        owner: str,
        *,
        nodes: tuple[str, ...],
        simulators: Callable[..., SimulatorBase],
        rules: Callable[[], Any],
        profiles: Iterable[str],
        scenario: Scenario,
        lost: str,
        healed: str,
        variants: Iterable[Variant] = (),
        faults: Iterable[str] = (),
        sized: Callable[[int], tuple[str, ...]] | None = None,
        demonstration: Demonstration | None = None,
        machines: Mapping[str, Table] | None = None,
    ) -> None:
        self.owner, self.nodes, self.sized = owner, nodes, sized
        self.simulators, self.rules, self.scenario = simulators, rules, scenario
        self.variants = tuple(variants)
        self.profiles, self.faults = frozenset(profiles), frozenset(faults)
        self.lost, self.healed = lost, healed
        self.demonstration = demonstration
        self.machines = dict(machines or {})
        self._prepared: Prepared[SimulatorBase] = Prepared(simulators)

    def rules_without(self, names: Iterable[str]) -> Any:
        """Its rules with some removed; names as in the specification ("TruncateByEpoch") or in Python.

        Raises ValueError for a name that is no rule.
        """
        return rules_without(self.rules, names, self.variants)

    def simulate(
        self, seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = DEFAULT_PROFILE, rules: Any = None
    ) -> SimResult:
        """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). The simulator is kept for the
        next call with the same arguments, and serves all swarm worlds.

        Raises ValueError for a header of another specification, or an unknown profile.
        """
        if not is_world(profile):
            return self._prepared(table, steps=steps, profile=profile, rules=rules).run(seed)
        simulator = self._prepared(table, steps=steps, profile=ANY_WORLD, rules=rules)
        simulator.enter(profile)
        return simulator.run(seed)
