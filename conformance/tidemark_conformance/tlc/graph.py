r"""The full state graph of a small model, with TLC's own verdict on everything that a backend will be asked.

A generated root extends the model's. One variable carries the tuple of TLC's verdicts on every invariant (every
quiescence predicate, the constraint) in the state; it is a function of the state, so it multiplies nothing. Next is a
disjunction of ground instances, one operator per action and parameter tuple, so that the labels of the dump carry the
parameters; the parameters' domains are printed by TLC itself. Two more kinds of disjunct cost one Next each:

    tm_next == Next             its edges must be exactly the ground ones: no action or parameter was forgotten
    tm_bad_P == Next /\ ~[Q]_v  the edges on which the action property P == [][Q]_v is false

No invariant, SYMMETRY or VIEW stands in the cfg, so violating states are there and expanded like all others. A
CONSTRAINT becomes a guard on the *source* state: a state outside it is in the graph, but not expanded, and every
successor of an expanded state is there; so what is no edge from an expanded state is no step, in TLC's own opinion.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.values import Value, in_order
from tidemark_conformance.tlc import config, definitions, modules, runner, toolchain
from tidemark_conformance.tlc.values import MODEL_VALUE, StateParser, declarations, parse_value, to_tla

BOUND = "use a smaller model, or bound it with a CONSTRAINT (docs/bring-your-own-spec.md, step 1)"
"""What to do about a graph that TLC does not finish."""
ROOT = "TidemarkGraph"
VERDICTS = "tidemark_verdicts"
_NODE = re.compile(r'^(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?\]')
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="(\w+)"')
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a generated root needs to know of a model."""

    module: Path
    texts: dict[str, str]
    parsed: cfg_files.Config
    init: str
    next: str
    disjuncts: tuple[definitions.Disjunct, ...]
    invariants: tuple[str, ...]
    quiescence: tuple[str, ...]
    constraints: tuple[str, ...]
    properties: dict[str, tuple[str, str]]
    temporal: tuple[str, ...]


def dump(
    module: Path,
    cfg: Path,
    *,
    jar: str | Path | None = None,
    budget_s: float = 300.0,
    heap_mib: int = 1024,
) -> Graph:
    """The state graph of the model; Unusable if TLC cannot finish it, Unsupported if Next has no conventional form."""
    plan = _plan(module, cfg)
    options = runner.Options(budget_s=budget_s, heap_mib=heap_mib, brief=True)
    domains, first = _domains(plan, options, jar)
    instances = [
        (disjunct.action, params)
        for disjunct, own in zip(plan.disjuncts, domains, strict=True)
        for params in itertools.product(*own)
    ]
    declared, configured = declarations(params for _, params in instances)
    with toolchain.room("tidemark-graph-") as folder:
        dot = folder / "graph.dot"
        result = runner.run(
            module.with_name(f"{ROOT}.tla"),
            _cfg(plan, "tidemark_init", "tidemark_next") + configured,
            runner.Options(
                budget_s=budget_s, heap_mib=heap_mib, brief=True, extra=("-dump", "dot,actionlabels", "graph")
            ),
            jar=jar,
            given={**plan.texts, ROOT: _text(plan, instances, declared)},
            keep={"graph.dot": dot},
        )
        _finished(result, module)
        graph = _read(dot, plan, instances, domains, first + result.seconds)
    if len(graph.states) != result.distinct:
        raise Unusable(
            f"the dump of {module.stem} has {len(graph.states)} states where TLC found {result.distinct}: "
            "free some disk space and run again"
        )
    return graph


def _finished(result: runner.TlcResult, module: Path) -> None:
    if result.verdict != "holds":
        cure = BOUND if result.verdict == "stopped" else "use a corrected model"
        raise Unusable(f"TLC cannot dump the whole graph of {module.stem}: {result.reason or result.verdict}; {cure}")


def _plan(module: Path, cfg: Path) -> _Plan:
    texts = {name: text for name, (_, text) in modules.closure(module).items()}
    parsed = cfg_files.read(cfg)
    if parsed.action_constraints:
        raise Unusable(f"{cfg} has an ACTION_CONSTRAINT, which hides real steps: give agree a model without one")
    init, next_ = config.init_next(parsed)
    boxed = {name: definitions.boxed(texts, name) for name in parsed.properties}
    return _Plan(
        module=module,
        texts=texts,
        parsed=parsed,
        init=init,
        next=next_,
        disjuncts=tuple(definitions.disjuncts(texts, next_)),
        invariants=parsed.invariants,
        quiescence=tuple(definitions.named_like(texts, "Quiescent")),
        constraints=parsed.constraints,
        properties={name: found for name, found in boxed.items() if found},
        temporal=tuple(name for name, found in boxed.items() if not found),
    )


def _cfg(plan: _Plan, init: str, next_: str) -> str:
    return f"INIT {init}\nNEXT {next_}\n{config.constants(plan.parsed)}"


def _module(name: str, extends: str, body: list[str]) -> str:
    return "\n".join([f"{'-' * 20} MODULE {name} {'-' * 20}", f"EXTENDS {extends}", *body, "=" * 60]) + "\n"


def _domains(
    plan: _Plan, options: runner.Options, jar: str | Path | None
) -> tuple[list[tuple[tuple[Value, ...], ...]], float]:
    """Per disjunct the domains of its parameters as TLC evaluates them, sorted; and the seconds it took."""
    prints = [
        f'PrintT(<<"tidemark-domain", {at}, {index}, ToString({{tidemark_x : tidemark_x \\in {domain}}})>>)'
        for at, disjunct in enumerate(plan.disjuncts)
        for index, domain in enumerate(disjunct.domains)
    ]
    if not prints:
        return [() for _ in plan.disjuncts], 0.0
    body = ["ASSUME " + "\n    /\\ ".join(["TRUE", *prints])]
    body += ["tidemark_never == FALSE /\\ UNCHANGED <<>>"]
    lines: list[str] = []
    result = runner.run(
        plan.module.with_name(f"{ROOT}.tla"),
        _cfg(plan, plan.init, "tidemark_never"),
        options,
        jar=jar,
        given={**plan.texts, ROOT: _module(ROOT, f"{plan.module.stem}, TLC", body)},
        on_print=lines.append,
    )
    _finished(result, plan.module)
    found: dict[tuple[int, int], tuple[Value, ...]] = {}
    for at, index, printed in _DOMAIN.findall(" ".join(lines)):
        value = parse_value(parse_value(f'"{printed}"'))
        if not isinstance(value, frozenset):
            raise Unusable(f"a parameter's domain of {plan.disjuncts[int(at)].action} is no set: {printed[:80]}")
        found[int(at), int(index)] = tuple(in_order(value))
    return [
        tuple(found[at, index] for index in range(len(disjunct.domains))) for at, disjunct in enumerate(plan.disjuncts)
    ], result.seconds


def _text(plan: _Plan, instances: list[tuple[str, tuple[Value, ...]]], declared: str) -> str:
    """The generated root module."""
    verdicts = [*plan.invariants, *plan.quiescence, " /\\ ".join([*plan.constraints, "TRUE"])]
    guard = f"{VERDICTS}[{len(verdicts)}] /\\ "  # the constraint, evaluated once per state
    carry = f"{VERDICTS}' = tidemark_all'"
    lines = [declared, f"VARIABLE {VERDICTS}", "tidemark_all == <<" + ", ".join(verdicts) + ">>"]
    lines.append(f"tidemark_init == {plan.init} /\\ {VERDICTS} = tidemark_all")
    labels = []
    for at, (action, params) in enumerate(instances):
        call = f"({', '.join(to_tla(value, MODEL_VALUE) for value in params)})" if params else ""
        lines.append(f"tm_{at} == {guard}{action}{call} /\\ {carry}")
        labels.append(f"tm_{at}")
    lines.append(f"tm_next == {guard}{plan.next} /\\ {carry}")
    labels.append("tm_next")
    for name, (body, subscript) in plan.properties.items():
        lines.append(f"tidemark_step_{name} ==\n{body}")
        lines.append(
            f"tm_bad_{name} == {guard}{plan.next} /\\ ~(tidemark_step_{name} \\/ UNCHANGED ({subscript})) /\\ {carry}"
        )
        labels.append(f"tm_bad_{name}")
    lines.append("tidemark_next == " + "\n    \\/ ".join(["", *labels]))
    return _module(ROOT, f"{plan.module.stem}, TLC", lines)


def _read(
    dot: Path,
    plan: _Plan,
    instances: list[tuple[str, tuple[Value, ...]]],
    domains: list[tuple[tuple[Value, ...], ...]],
    seconds: float,
) -> Graph:
    """The graph out of TLC's dump."""
    numbers: dict[str, int] = {}
    states: list[dict[str, Value]] = []
    verdicts: list[tuple[Value, ...]] = []
    initial: list[int] = []
    arrows: dict[str, set[tuple[str, str]]] = {}
    parser = StateParser()
    with dot.open(encoding="utf-8") as lines:
        for line in lines:
            edge = _EDGE.match(line)
            if edge:
                arrows.setdefault(edge[3], set()).add((edge[1], edge[2]))
                continue
            node = _NODE.match(line)
            if node and node[1] not in numbers:
                state = parser.parse(_unescape(node[2]))
                numbers[node[1]] = len(states)
                if node[3]:
                    initial.append(len(states))
                verdicts.append(state.pop(VERDICTS))
                states.append(state)
    pairs = {label: {(numbers[a], numbers[b]) for a, b in found} for label, found in arrows.items()}
    edges = [
        Edge(source, action, params, target)
        for at, (action, params) in enumerate(instances)
        for source, target in sorted(pairs.get(f"tm_{at}", ()))
    ]
    if {(edge.source, edge.target) for edge in edges} != pairs.get("tm_next", set()):
        raise Unusable(
            f"the ground actions of {plan.module.stem} do not make up {plan.next}: write it as the conventions say"
        )
    names = [*plan.invariants, *plan.quiescence]
    return Graph(
        states=states,
        initial=initial,
        expanded=[bool(verdict[-1]) for verdict in verdicts],
        invariants=plan.invariants,
        quiescence=plan.quiescence,
        predicates={name: [bool(verdict[at]) for verdict in verdicts] for at, name in enumerate(names)},
        domains=_by_action(plan, domains),
        edges=edges,
        broken={name: pairs.get(f"tm_bad_{name}", set()) for name in plan.properties},
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
