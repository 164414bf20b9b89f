r"""The full state graph of a small model, with TLC's own verdict on everything that a backend will be asked.

A generated root extends the model's. Next is a disjunction of ground instances, one operator per action and parameter
tuple. So the labels of the dump carry the parameters. TLC itself prints the parameters' domains. More disjuncts carry
TLC's verdicts:

    tm_here == UNCHANGED             a loop at every state: TLC was not asked about a state without
    tm_false_n == ~P /\ UNCHANGED    a loop at every state where the nth predicate (invariant, quiescence) is false
    tm_next == Next /\ good         together with tm_bad exactly the ground edges: no action or parameter was forgotten
    tm_bad == Next /\ ~good         the edges on which some action property P == [][Q]_v is false

Where there are such edges a second dump, of the same states, has one disjunct Next /\ ~[Q]_v per property. Thus a
predicate is evaluated once per state, and Next three times whatever the number of properties.

No invariant, SYMMETRY or VIEW stands in the cfg, so violating states are there and expanded like all others. A
CONSTRAINT becomes a guard on the *source* state. A variable of its own carries it, a function of the state, so that it
multiplies nothing. A state outside the constraint is in the graph, but not expanded. Every successor of an expanded
state is in the graph. So a pair that is no edge from an expanded state is no step, in TLC's own opinion.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.values import Value, in_order
from tidemark_conformance.tlc import config, definitions, runner
from tidemark_conformance.tlc.values import MODEL_VALUE, StateParser, declarations, parse_value, to_tla

BOUND = "use a smaller model, or bound it with a CONSTRAINT (docs/bring-your-own-spec.md, step 1)"
"""The advice for a graph that TLC does not finish."""
ROOT = "TidemarkGraph"
EXPANDED = "tidemark_expanded"
MOST_STATES = 300_000
"""States after which a model is given up as too large to be compared."""
COUNTER = 1000
"""The register of TLCSet that counts states; `probes` has those behind it."""
SAID_AFTER = 5_000
"""TLC prints its count each time it has looked at so many more states."""
_NODE = re.compile(r'^(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?(?:,tooltip="(?:[^"\\]|\\.)*")?\]')
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="(\w+)"')
_COUNTED = re.compile(r'<<"tidemark-states", (\d+)>>')
_DOMAIN = re.compile(r'<<\s*"tidemark-domain",\s*(\d+),\s*(\d+),\s*"((?:[^"\\]|\\.)*)"\s*>>')


@dataclass(frozen=True, slots=True)
class Edge:
    """A step of the model: indices of the states, the action, its parameters in the action's order."""

    source: int
    action: str
    params: tuple[Value, ...]
    target: int


@dataclass(frozen=True, slots=True)
class Graph:
    """A model's states and steps, and TLC's verdicts.

    `states`: each a dict variable -> value, ghosts included. `initial`: indices. `expanded[i]`: state i satisfies the
    constraint, so all its successors are there. `predicates`: name -> TLC's verdict per state (invariants, quiescence
    predicates); `invariants`, `quiescence`: their names. `broken`: action property -> (source, target) pairs that break
    it, among all edges. `domains`: action -> per parameter the domain, sorted canonically. `temporal`: properties of
    other forms, which are TLC's alone.
    """

    states: list[dict[str, Value]]
    initial: list[int]
    expanded: list[bool]
    invariants: tuple[str, ...]
    quiescence: tuple[str, ...]
    predicates: dict[str, list[bool]]
    domains: dict[str, tuple[tuple[Value, ...], ...]]
    edges: list[Edge]
    broken: dict[str, set[tuple[int, int]]]
    temporal: tuple[str, ...]
    seconds: float


Progress = Callable[[int, float], None]
"""Called with the number of states that TLC has looked at, and their rate per second."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """How far a dump may go, where it reports its progress, and the advice about a model that is too large."""

    options: runner.Options
    jar: str | Path | None
    most: int
    on_progress: Progress | None
    cure: str


class _Counting:
    """Takes in TLC's messages about its progress."""

    def __init__(self, plan: _Plan, limits: _Limits) -> None:
        self.plan = plan
        self.limits = limits
        self.started = time.monotonic()

    def printed(self, line: str) -> None:
        """A line that the generated module printed."""
        found = _COUNTED.match(line.strip())
        if found is not None:
            self.states(int(found[1]))

    def states(self, count: int) -> None:
        """So many states so far. Raises Unusable if they are too many."""
        if self.limits.on_progress is not None:
            self.limits.on_progress(count, count / max(time.monotonic() - self.started, 0.001))
        if count > self.limits.most:
            raise Unusable(
                f"{self.plan.module.stem} has more than {self.limits.most:,} states, too many to be compared one by "
                f"one: {self.limits.cure}"
            )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of a model that a generated root needs."""

    module: Path
    texts: dict[str, str]
    variables: tuple[str, ...]
    parsed: cfg_files.Config
    init: str
    next: str
    disjuncts: tuple[definitions.Disjunct, ...]
    invariants: tuple[str, ...]
    quiescence: tuple[str, ...]
    constraints: tuple[str, ...]
    properties: Mapping[str, definitions.Boxed]
    temporal: tuple[str, ...]


def dump(
    module: Path,
    cfg: Path,
    *,
    jar: str | Path | None = None,
    budget_s: float = 300.0,
    heap_mib: int = 1024,
    most_states: int = MOST_STATES,
    on_progress: Progress | None = None,
    cure: str = BOUND,
) -> Graph:
    """The state graph of the model; Unusable if TLC cannot finish it, Unsupported if Next has no conventional form.

    A model with more than `most_states` is Unusable, too; `cure` says what to do about one that is too large.
    """
    plan = _plan(module, cfg)
    options = runner.Options(budget_s=budget_s, heap_mib=heap_mib, brief=True)
    limits = _Limits(options, jar, most_states, on_progress, cure)
    domains, first = _domains(plan, limits)
    instances = [
        (disjunct.action, params)
        for disjunct, own in zip(plan.disjuncts, domains, strict=True)
        for params in itertools.product(*own)
    ]
    read = _dumped(plan, _ground(plan, instances), [params for _, params in instances], limits)
    broken = {name: set[tuple[int, int]]() for name in plan.properties}
    if read.arrows.get("tm_bad"):
        again = _dumped(plan, _by_property(plan), [], limits)
        numbers = again.numbered_as(read)
        broken = {name: again.between(f"tm_bad_{at}", numbers) for at, name in enumerate(plan.properties)}
        first += again.seconds
    return _graph(plan, read, instances, domains, broken, first + read.seconds)


def _finished(result: runner.TlcResult, module: Path, cure: str = BOUND) -> None:
    if result.verdict != "holds":
        cure = cure if result.verdict == "stopped" else "use a corrected model"
        raise Unusable(f"TLC cannot dump the whole graph of {module.stem}: {result.reason or result.verdict}; {cure}")


def _plan(module: Path, cfg: Path) -> _Plan:
    parsed = cfg_files.read(cfg)
    if parsed.action_constraints:
        raise Unusable(f"{cfg} has an ACTION_CONSTRAINT, which hides real steps: give agree a model without one")
    quoted = definitions.Quoted(module, parsed)
    init, next_ = quoted.behaviour
    return _Plan(
        module=module,
        texts=quoted.texts,
        variables=quoted.variables,
        parsed=parsed,
        init=init,
        next=next_,
        disjuncts=quoted.disjuncts,
        invariants=parsed.invariants,
        quiescence=quoted.quiescence,
        constraints=parsed.constraints,
        properties=quoted.boxed,
        temporal=quoted.temporal,
    )


def _cfg(plan: _Plan, init: str, next_: str) -> str:
    return f"INIT {init}\nNEXT {next_}\n{config.constants(plan.parsed)}"


def _module(name: str, extends: str, body: list[str]) -> str:
    return "\n".join([f"{'-' * 20} MODULE {name} {'-' * 20}", f"EXTENDS {extends}", *body, "=" * 60]) + "\n"


def _domains(plan: _Plan, limits: _Limits) -> tuple[list[tuple[tuple[Value, ...], ...]], float]:
    """Per disjunct the domains of its parameters as TLC evaluates them, sorted; and the seconds it took."""
    body: list[str] = []
    prints: list[str] = []
    for at, disjunct in enumerate(plan.disjuncts):
        for index, domain in enumerate(disjunct.domains):
            name = f"tidemark_domain_{at}_{index}"
            body += definitions.operator(name, domain)
            shown = f"ToString({{tidemark_x : tidemark_x \\in {name}}})"
            prints.append(f'PrintT(<<"tidemark-domain", {at}, {index}, {shown}>>)')
    if not prints:
        return [() for _ in plan.disjuncts], 0.0
    body += ["ASSUME " + "\n    /\\ ".join(["TRUE", *prints])]
    body += ["tidemark_never == FALSE /\\ UNCHANGED <<>>"]
    lines: list[str] = []
    result = runner.run(
        plan.module.with_name(f"{ROOT}.tla"),
        _cfg(plan, plan.init, "tidemark_never"),
        limits.options,
        jar=limits.jar,
        given={**plan.texts, ROOT: _module(ROOT, f"{plan.module.stem}, TLC", body)},
        on_print=lines.append,
    )
    _finished(result, plan.module, limits.cure)
    found: dict[tuple[int, int], tuple[Value, ...]] = {}
    for at, index, printed in _DOMAIN.findall(" ".join(lines)):
        value = parse_value(parse_value(f'"{printed}"'))
        if not isinstance(value, frozenset):
            raise Unusable(f"a parameter's domain of {plan.disjuncts[int(at)].action} is no set: {printed[:80]}")
        found[int(at), int(index)] = tuple(in_order(value))
    return [
        tuple(found[at, index] for index in range(len(disjunct.domains))) for at, disjunct in enumerate(plan.disjuncts)
    ], result.seconds


def _head(plan: _Plan, declared: str) -> list[str]:
    """The first lines of both generated roots."""
    return [
        declared,
        f"VARIABLE {EXPANDED}",
        f"ASSUME TLCSet({COUNTER}, 0)",
        "tidemark_N == INSTANCE Naturals",  # by name: the specification may have a Nat, or a +, of its own
        f"tidemark_counted == /\\ TLCSet({COUNTER}, tidemark_N!+(TLCGet({COUNTER}), 1))",
        f"    /\\ IF tidemark_N!%(TLCGet({COUNTER}), {SAID_AFTER}) = 0 "
        f'THEN PrintT(<<"tidemark-states", TLCGet({COUNTER})>>) ELSE TRUE',
        "tidemark_within == " + " /\\ ".join([*plan.constraints, "TRUE"]),
        f"tidemark_init == {plan.init} /\\ {EXPANDED} = tidemark_within",
        *(line for at, boxed in enumerate(plan.properties.values()) for line in boxed.kept(f"tidemark_good_{at}")),
    ]


def _disjunction(guarded: Mapping[str, str], free: Mapping[str, str]) -> list[str]:
    """Next of a generated root: operators by name, the guarded ones only where the constraint holds."""
    lines = [f"{name} == {EXPANDED} /\\ {text} /\\ {EXPANDED}' = tidemark_within'" for name, text in guarded.items()]
    lines += [f"{name} == {text}" for name, text in free.items()]
    return [*lines, "tidemark_next == " + "\n    \\/ ".join(["", *guarded, *free])]


def _ground(plan: _Plan, instances: list[tuple[str, tuple[Value, ...]]]) -> list[str]:
    """Every action with every parameter, Next with and without a property that falls, where predicates are false."""
    guarded = {}
    for at, (action, params) in enumerate(instances):
        call = f"({', '.join(to_tla(value, MODEL_VALUE) for value in params)})" if params else ""
        guarded[f"tm_{at}"] = f"{action}{call}"
    good = " /\\ ".join(["TRUE", *(f"tidemark_good_{at}" for at in range(len(plan.properties)))])
    # As a condition: TLC takes a disjunction among an action's conjuncts for two ways to take the step.
    guarded["tm_next"] = f"{plan.next} /\\ (IF {good} THEN TRUE ELSE FALSE)"
    guarded["tm_bad"] = f"{plan.next} /\\ (IF {good} THEN FALSE ELSE TRUE)"
    stays = f"UNCHANGED <<{', '.join([*plan.variables, EXPANDED])}>>"
    predicates = [*plan.invariants, *plan.quiescence]
    false = {f"tm_false_{at}": f"~{name} /\\ {stays}" for at, name in enumerate(predicates)}
    return _disjunction(guarded, {"tm_here": f"{stays} /\\ tidemark_counted", **false})


def _by_property(plan: _Plan) -> list[str]:
    """Next, and for each property the steps on which it falls."""
    bad = {
        f"tm_bad_{at}": f"{plan.next} /\\ (IF tidemark_good_{at} THEN FALSE ELSE TRUE)"
        for at in range(len(plan.properties))
    }
    return _disjunction({"tm_next": plan.next, **bad}, {})


@dataclass(frozen=True, slots=True)
class _Dump:
    """TLC's dump: states with their numbers by TLC's name, arrows between these names by label."""

    numbers: dict[str, int]
    states: list[dict[str, Value]]
    initial: list[int]
    expanded: list[bool]
    arrows: dict[str, set[tuple[str, str]]]
    seconds: float

    def between(self, label: str, numbers: Mapping[str, int] | None = None) -> set[tuple[int, int]]:
        """The arrows of a label, between states by their numbers here (`numbers`: by others)."""
        numbers = self.numbers if numbers is None else numbers
        return {(numbers[source], numbers[target]) for source, target in self.arrows.get(label, ())}

    def numbered_as(self, other: _Dump) -> dict[str, int]:
        """TLC's names of this dump's states -> their numbers in another dump of the same states.

        Names are fingerprints, which need not be the same in a run of another text. Fields of a record are ordered as
        their names are first met.
        """
        places = {_values(state): at for at, state in enumerate(other.states)}
        return {name: places[_values(self.states[at])] for name, at in self.numbers.items()}


def _values(state: Mapping[str, Value]) -> tuple[Value, ...]:
    return tuple(value for _, value in sorted(state.items()))


def _dumped(plan: _Plan, body: list[str], params: list[tuple[Value, ...]], limits: _Limits) -> _Dump:
    """TLC's dump of the graph of a generated root, in whose text the values of `params` stand."""
    declared, configured = declarations(params)
    counting = _Counting(plan, limits)
    with toolchain.room("tidemark-graph-") as folder:
        dot = folder / "graph.dot"
        result = runner.run(
            plan.module.with_name(f"{ROOT}.tla"),
            _cfg(plan, "tidemark_init", "tidemark_next") + configured,
            replace(limits.options, extra=("-dump", "dot,actionlabels", "graph")),
            jar=limits.jar,
            given={
                **plan.texts,
                ROOT: _module(ROOT, f"{plan.module.stem}, TLC", [*_head(plan, declared), *body]),
            },
            keep={"graph.dot": dot},
            on_print=counting.printed,
        )
        _finished(result, plan.module, limits.cure)
        counting.states(result.distinct)
        read = _read(dot, result.seconds)
    if len(read.states) != result.distinct:
        raise Unusable(
            f"the dump of {plan.module.stem} has {len(read.states)} states where TLC found {result.distinct}: "
            "free some disk space and run again"
        )
    return read


def _read(dot: Path, seconds: float) -> _Dump:
    """A file of TLC's dump."""
    read = _Dump({}, [], [], [], {}, seconds)
    parser = StateParser()
    with dot.open(encoding="utf-8") as lines:
        for line in lines:
            edge = _EDGE.match(line)
            if edge:
                read.arrows.setdefault(edge[3], set()).add((edge[1], edge[2]))
                continue
            node = _NODE.match(line)
            if node and node[1] not in read.numbers:
                state = parser.parse(_unescape(node[2]))
                read.numbers[node[1]] = len(read.states)
                if node[3]:
                    read.initial.append(len(read.states))
                read.expanded.append(bool(state.pop(EXPANDED)))
                read.states.append(state)
    return read


def _graph(
    plan: _Plan,
    read: _Dump,
    instances: list[tuple[str, tuple[Value, ...]]],
    domains: list[tuple[tuple[Value, ...], ...]],
    broken: dict[str, set[tuple[int, int]]],
    seconds: float,
) -> Graph:
    """The graph out of TLC's dump."""
    edges = [
        Edge(source, action, params, target)
        for at, (action, params) in enumerate(instances)
        for source, target in sorted(read.between(f"tm_{at}"))
    ]
    together = read.between("tm_next") | read.between("tm_bad")
    if {(edge.source, edge.target) for edge in edges} != together:
        raise Unusable(
            f"the ground actions of {plan.module.stem} do not make up {plan.next}: write it as the conventions say"
        )
    if read.between("tm_here") != {(at, at) for at in range(len(read.states))}:
        raise Unusable(
            f"TLC was not asked about every state of {plan.module.stem}: its dump lacks loops; use another jar"
        )
    false = [
        {source for source, _ in read.between(f"tm_false_{at}")}
        for at in range(len(plan.invariants) + len(plan.quiescence))
    ]
    names = [*plan.invariants, *plan.quiescence]
    return Graph(
        states=read.states,
        initial=read.initial,
        expanded=read.expanded,
        invariants=plan.invariants,
        quiescence=plan.quiescence,
        predicates={
            name: [at not in found for at in range(len(read.states))] for name, found in zip(names, false, strict=True)
        },
        domains=_by_action(plan, domains),
        edges=edges,
        broken=broken,
        temporal=plan.temporal,
        seconds=seconds,
    )


def _by_action(plan: _Plan, domains: list[tuple[tuple[Value, ...], ...]]) -> dict[str, tuple[tuple[Value, ...], ...]]:
    found: dict[str, tuple[tuple[Value, ...], ...]] = {}
    for disjunct, own in zip(plan.disjuncts, domains, strict=True):
        if disjunct.action in found:
            raise Unusable(f"{disjunct.action} stands twice in {plan.next} of {plan.module.stem}: let it stand once")
        found[disjunct.action] = own
    return found


def _unescape(label: str) -> str:
    r"""A node's label as TLC printed the state: `\\` is a backslash, `\n` a line end, `\"` a quote."""
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], label)
