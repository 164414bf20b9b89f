"""One safety rule side by side: its lines in the specification, its Python, its zoo rows, how it fails without it.

Nothing here knows a protocol. A rule `ReachedEpochStart` of `spec/<protocol>/` is the function `reached_epoch_start` of
the module `tidemark.<protocol>.rules`. `tidemark.common.removal` names its replacement;
`tidemark.<protocol>.flaws`, if it exists, replaces computations. The rows that remove it are in
`spec/<protocol>/zoo.toml`, their models in `spec/<protocol>/manifest.json`, their scenarios in `traces/golden/`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from types import ModuleType
from typing import Any

from tidemark.common.naming import EVERY_RULE, instead, snake_case

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.asking import Ask, asks
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.golden import golden_file, golden_run
from tidemark_conformance.explain.load import Stored
from tidemark_conformance.explain.record import Change, Reason
from tidemark_conformance.explain.search import choose
from tidemark_conformance.explain.source import Line, Source
from tidemark_conformance.explain.text import changes, label
from tidemark_conformance.java import modules
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.registry.protocols import REGISTRY
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import HasRule, RuleGuard
from tidemark_conformance.tla.python import EvaluationError, PythonChecks, compile_python
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tla.walk import walk
from tidemark_conformance.tlc import manifest as manifests
from tidemark_conformance.tlc import verify
from tidemark_conformance.tlc.runner import Step
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of

SIMULATED = 500
"""Where a row has no golden scenario, at most so many of its simulated traces are looked at."""

_ORIGIN = re.compile(r"(KIP|KAFKA|CAND)-\d|This project's|Kafka .* lacks it")
"""How a sentence begins that tells where a rule comes from."""


@dataclass(frozen=True, slots=True)
class PythonRule:
    """A function of the implementation: `place` is `impl/package/module.py:line` (without `impl/` where it is installed
    elsewhere), `text` its source."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """A model from which the rule is removed: for a zoo row, or (`row` is then its own name) only in the manifest.

    `named`: the model's name as the row gives it; `model`: None where the manifest has none of this name.
    """

    row: str
    named: str
    model: manifests.Model | None
    note: str


@dataclass(frozen=True, slots=True)
class CounterStep:
    """One step of a counterexample: the action with its parameters and the values that it changed."""

    number: int
    label: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """TLC's shortest trace to the violation in a row's model; `note` says why there is none.

    `loop`: of a liveness property, the number of steps after which its end repeats for ever; else None.
    """

    row: str
    property: str
    steps: tuple[CounterStep, ...]
    cached: bool
    note: str
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Flagged:
    """The first step of a row's golden trace that the right specification refuses; `note` says why there is none."""

    row: str
    source: str
    step: int | None
    label: str
    headline: str
    note: str
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A rule in the list of all: where it is defined, the harm without it, the rows that remove it.

    `of`: the specification, and its name for `tidemark simulate` if it has one. `told`: the harm with the sentences
    before it that say what the rule does.
    """

    name: str
    of: str
    place: str
    sentence: str
    told: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Home:
    """A specification of this installation with rules: `protocol` is its folder's name, `package` implements it."""

    protocol: str
    package: str
    specification: Specification
    source: Source


@dataclass(frozen=True, slots=True)
class Card:
    """All that is known of one rule.

    `actions`: those of the specification that have it; `asks`: the functions of the implementation that ask it.
    """

    name: str
    home: Home
    definition: tuple[Line, ...]
    uses: tuple[tuple[str, Line], ...]
    actions: tuple[str, ...]
    python: PythonRule | None
    asks: tuple[Ask, ...]
    flaws: tuple[PythonRule, ...]
    rows: tuple[zoo.Row, ...]
    removals: tuple[Removal, ...]
    counterexamples: tuple[Counterexample, ...] = ()
    flagged: tuple[Flagged, ...] = ()
    notes: tuple[str, ...] = ()


def homes() -> list[Home]:
    """The specifications `spec/<protocol>/<Name>.tla` with a `<Name>.cfg`, theorems left out; of several with the same
    rules, the last."""
    registered = protocols.protocols().values()
    found: dict[tuple[str, tuple[str, ...]], Home] = {}
    for module in sorted(spec_root().glob("*/*.tla")):
        config = module.with_suffix(".cfg")
        if config.is_file() and not module.stem.endswith("Inductive"):
            specification = load(module, config)
            key = module.parent.name, tuple(specification.module.rules)
            named = next((one.package for one in registered if one.spec == module), "")
            package = named or f"tidemark.{module.parent.name}"
            found[key] = Home(module.parent.name, package, specification, Source(specification.sources))
    return list(found.values())


def listed() -> list[Listed]:
    """Every rule of every specification, in the order of its text."""
    rows = zoo.rows()
    found = []
    for home in homes():
        said, below = ("", ""), 0
        for rule in sorted(home.specification.module.rules, key=lambda rule: _order(home, rule)):
            removing = tuple(row.id for row in rows if rule in row.rules and _is_of(row, home))
            definition = _definition(home, rule)
            if definition and definition[0].number != below:  # else one comment stands above both rules
                said = ("", "")
            said = _said(definition) or said
            below = definition[-1].number + 1 if definition else 0
            found.append(Listed(rule, heading(home), str(_place(home, rule)), *said, removing))
    return found


def heading(home: Home) -> str:
    """The name of a specification, and the protocol that `tidemark simulate` knows it by: `Offsets (tidemark simulate
    offsets)`."""
    name = home.specification.path.stem.removesuffix("Properties")
    known = [one.name for one in protocols.protocols().values() if one.spec == home.specification.path]
    return f"{name} (tidemark simulate {known[0]})" if known else name


def _order(home: Home, rule: str) -> tuple[str, int]:
    place = home.specification.places.get(rule)
    return (place[0].module, place[0].line) if place else ("", 0)


def of_rule(name: str) -> list[Card]:
    """The cards of a rule, one for each specification that has it, without the parts that need a run (counterexamples,
    golden traces). `name` is the specification's (`ReachedEpochStart`) or the implementation's (`reached_epoch_start`).
    It may also be the id or number of a row of the zoo, for the rules that the row removes.

    Raises Unusable, with the names that come close, for another name.
    """
    known = homes()
    rules = [(rule, home) for home in known for rule in home.specification.module.rules]
    found = [(rule, home) for rule, home in rules if name in (rule, snake_case(rule))]
    if not found:
        row = zoo.one(name) if any(name in (row.id, str(row.number)) for row in zoo.rows()) else None
        removed = row.rules if row is not None else ()
        found = [(rule, home) for rule in removed for home in known if row is not None and _is_of(row, home)]
    if not found:
        hint = instead(name, [rule for rule, _ in rules], EVERY_RULE, snake_case)
        raise Unusable(f"no specification in {spec_root()} has a rule {name}: {hint}")
    return [_card(rule, home) for rule, home in found]


def _card(name: str, home: Home) -> Card:
    uses = tuple((home.source.enclosing(line), line) for line in home.source.uses(name))
    notes: list[str] = []
    siblings = home.specification.module.rules
    python = python_rule(home.package, name, siblings)
    found_in = rules_module(home.package, name, siblings)
    actions = tuple(having(home.specification, name))
    handlers = {snake_case(action.partition("(")[0]) for action in actions}
    asked = asks(home.package, found_in.__name__, snake_case(name), handlers) if found_in is not None else ()
    flaws = flawed_rules(home.package, name, siblings)
    if python is None:
        notes.append(_no_python(home, name))
    rows = tuple(row for row in zoo.rows() if name in row.rules and _is_of(row, home))
    if not rows:
        notes.append(f"No row of {zoo.ZOO} removes it.")
    definition = tuple(_definition(home, name))
    found = removals(name, rows, home)
    if not found:
        notes.append("No model of the manifest does without it alone.")
    return Card(name, home, definition, uses, actions, python, asked, flaws, rows, found, notes=tuple(notes))


def _no_python(home: Home, rule: str) -> str:
    """Why a rule has no Python: nothing implements its specification, or the implementation lacks the rule."""
    if not protocols.modules(home.package, "rules"):
        return f"Nothing here implements {home.protocol}: the rule is the specification's alone."
    return f"The implementation {home.package} has no rule {snake_case(rule)}."


def having(specification: Specification, rule: str) -> Iterator[str]:
    """The actions whose formula has a rule, with their parameters, in the order of Next."""
    for action in specification.module.actions:
        if any(isinstance(node, RuleGuard | HasRule) and node.rule == rule for node in walk(action.body)):
            formals = ", ".join(param.name for param in action.params)
            yield f"{action.name}({formals})" if formals else action.name


def _is_of(row: zoo.Row, home: Home) -> bool:
    """Whether a row's traces are judged by this specification."""
    known = protocols.protocols().get(row.protocol)
    return known.spec == home.specification.path if known else row.protocol == home.protocol


def python_rule(package: str, rule: str, siblings: Iterable[str] = ()) -> PythonRule | None:
    """The function of a rule in the module of `package` that has most of its `siblings`, the rules of the same
    specification. None where there is no such module or function."""
    module = rules_module(package, rule, siblings)
    return None if module is None else _source(getattr(module, snake_case(rule)))


def rules_module(package: str, rule: str, siblings: Iterable[str] = ()) -> ModuleType | None:
    """The module of rules of `package` that has the rule, and most of its `siblings`; None where there is none."""
    modules = sorted(protocols.modules(package, "rules"), key=lambda module: -_shared(module, siblings))
    return next((module for module in modules if callable(getattr(module, snake_case(rule), None))), None)


def _shared(rules: object, siblings: Iterable[str]) -> int:
    """How many of these rules are there."""
    return sum(hasattr(rules, snake_case(one)) for one in siblings)


def flawed_rules(package: str, rule: str, siblings: Iterable[str] = ()) -> tuple[PythonRule, ...]:
    """The methods that differ without the rule: attributes of the protocol's rules that are others than with all
    rules, and what `FLAWED` of its flaws puts in place."""
    found = [
        kind
        for module in protocols.modules(package, "rules")
        for kind in vars(module).values()
        if isinstance(kind, type) and is_dataclass(kind) and hasattr(kind, snake_case(rule))
    ]
    if not found:
        return ()
    kind: type[Any] = max(found, key=lambda kind: _shared(kind, siblings))
    from tidemark.common.removal import rules_without

    modules = protocols.modules(package, "flaws")
    variants = [one for flaws in modules for one in getattr(flaws, "VARIANTS", ())]
    replaced = [flaws.FLAWED.get(snake_case(rule)) for flaws in modules if hasattr(flaws, "FLAWED")]
    sources = [source for one in replaced if one is not None and (source := _source(one)) is not None]
    return _differences(kind(), rules_without(kind, {rule}, variants)) + tuple(sources)


def _differences(right: Any, flawed: Any) -> tuple[PythonRule, ...]:
    names = [field.name for field in fields(right)] if is_dataclass(right) else sorted(vars(right))
    pairs = [(name, getattr(flawed, name)) for name in names if getattr(flawed, name) is not getattr(right, name)]
    found = [(name, _source(function)) for name, function in pairs if callable(function)]
    return tuple(replace(source, text=f"# in place of {name}\n{source.text}") for name, source in found if source)


def _source(function: Callable[..., Any]) -> PythonRule | None:
    """Where a function stands and how it reads; None of one without a text."""
    plain = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        return None
    file = Path(inspect.getfile(plain)).resolve()
    tree = spec_root().parent
    inside = file.relative_to(tree) if file.is_relative_to(tree) else f"{plain.__module__.replace('.', '/')}.py"
    place = f"{inside}:{first}"
    return PythonRule(place, textwrap.dedent("".join(lines)).rstrip())


def _place(home: Home, rule: str) -> object:
    place = home.specification.places.get(rule)
    return place[0] if place else home.specification.path.name


def _definition(home: Home, rule: str) -> list[Line]:
    place = home.specification.places.get(rule)
    return home.source.definition(place[0]) if place else []


def _said(lines: list[Line]) -> tuple[str, str] | None:
    """The harm without the rule, taken from the comment above it; else the comment's first sentence. And the same with
    the sentences before it, but for a first one that only tells where the rule comes from. None without a comment."""
    comment = " ".join(line.text.removeprefix("\\*").strip() for line in lines if line.text.startswith("\\*"))
    sentences = [sentence for sentence in re.split(r"(?<=\.)\s+", comment) if sentence]
    if not sentences:
        return None
    at = next((number for number, sentence in enumerate(sentences) if sentence.startswith("Without")), None)
    if at is None:
        return sentences[0], sentences[0]
    plain = re.sub(r"^Without (it|this|them) ", "", sentences[at])
    harm = f"{plain[:1].upper()}{plain[1:]}"
    before = [one for number, one in enumerate(sentences[:at]) if number or not _ORIGIN.match(one)]
    alone = not before and not plain.startswith("and ")
    return harm, harm if alone else " ".join([*before, sentences[at]])


# --- parts that need a run -----------------------------------------------------------------------------------------


def removals(rule: str, rows: tuple[zoo.Row, ...], home: Home) -> tuple[Removal, ...]:
    """Where a specification's rule is out of force: its rows' models; where it has no row, models of the manifest that
    fall."""
    manifest = manifests.load()
    found = [Removal(row.id, row.model, _model(manifest, row.model), row.excused) for row in rows]
    if not found:
        found = [
            Removal(model.name, model.name, model, "")
            for model in manifest.models
            if model.expected == "violates"
            and model.kind != "reachability"
            and _without(model) == {rule}
            and home.specification.path.stem in modules.closure(model.module)
        ]
    return tuple(found)


def _model(manifest: manifests.Manifest, name: str) -> manifests.Model | None:
    return next((model for model in manifest.models if name in (model.name, model.cfg.stem)), None)


def _without(model: manifests.Model) -> frozenset[str]:
    without = cfg.read(model.cfg).constants.get(WITHOUT, frozenset())
    return without if isinstance(without, frozenset) else frozenset()


def counterexample(
    removal: Removal, home: Home, jar: str | None = None, tell: Callable[[str], None] = lambda _: None
) -> Counterexample:
    """TLC's trace of a model without the rule, from the verdict cache or by running it; `home` has the rule.

    `tell` hears the model's name before TLC runs.
    """

    def nothing(note: str) -> Counterexample:
        return Counterexample(removal.row, "", (), False, note)

    model = removal.model
    if model is None:
        missing = f"Its model {removal.named} is not in the manifest." if removal.named else "It names no model."
        return nothing(removal.note or missing)

    def listener(kind: str, one: manifests.Model, _what: object) -> None:
        if kind == "started":
            tell(one.name)

    try:
        outcome = verify.verify([model], jar=jar, listener=listener)[0]
    except Unusable as problem:
        return nothing(f"TLC cannot be asked: {problem}.")
    if outcome.result.verdict != "violates":
        return nothing(f"TLC finds no violation in {model.name}: {outcome.result.reason or outcome.result.verdict}.")
    result = outcome.result
    specification = _of_model(model, home.specification)
    steps = tuple(_counter_steps(result.trace, compile_python(specification), specification.module.ghosts))
    return Counterexample(removal.row, result.property or result.kind or "", steps, outcome.cached, "", result.loop)


def _of_model(model: manifests.Model, specification: Specification) -> Specification:
    """The specification of a model; of one whose module does not keep the conventions, that of the rule with the
    model's constants."""
    try:
        return load(model.module, model.cfg)
    except Unusable:
        given = cfg.read(model.cfg).constants
        return replace(specification, constants={**specification.constants, **_chosen(given, specification)})


def _chosen(given: dict[str, Value], specification: Specification) -> dict[str, Value]:
    return {name: value for name, value in given.items() if name in specification.constants}


def _counter_steps(trace: tuple[Step, ...], checks: PythonChecks, ghosts: tuple[str, ...]) -> Iterator[CounterStep]:
    for number, (before, after) in enumerate(pairwise(trace), 1):
        named = _labelled(checks, after.action or "", before.state, after.state)
        yield CounterStep(number, named, changes(before.state, after.state, ghosts))


def _labelled(checks: PythonChecks, name: str, before: dict[str, Value], after: dict[str, Value]) -> str:
    """The action with the parameters that lead from one state to the next, which TLC does not print.

    TLC names no action either where a model wraps Next: then it is the first one that fits.
    """
    actions = [action.name for action in checks.module.actions]
    for action in [name] if name in actions else actions:
        for params in product(*checks.parameters(action)):
            try:
                if checks.action(action, params, before, after):
                    return label(action, params)
            except EvaluationError:
                continue
    return name or "a step"


def flagged(row: zoo.Row) -> Flagged:
    """The first step that the right specification refuses in a trace of the implementation without the row's rules.

    The trace is the row's golden scenario (commands/golden.py). Without one: the first simulated trace that fails, of
    the row's first `SIMULATED` seeds.
    """
    file = golden_file(row)
    golden = f"traces/golden/{file.parent.name}/{file.name}"
    known = protocols.protocols().get(row.protocol)
    if known is None:
        return Flagged(row.id, golden, None, "", "", f"The protocol {row.protocol} is not in {REGISTRY}.")
    specification = load(known.spec, known.config)
    schema = schema_of(specification)
    explainer = Explainer(specification)
    header = schema.with_nodes(known.nodes())
    if file.is_file() and known.scripted:
        try:
            traces: Iterator[Stored] = iter([golden_run(row, known, header)])
        except Unusable as problem:
            return Flagged(row.id, golden, None, "", "", f"It does not run: {problem}.")
        source = golden
    else:
        traces = _simulated(row, known, header)
        source = f"simulated traces (there is no {golden} yet)"
    found = choose(traces, explainer, schema)
    if found is None or found[1].verdict != "fail":
        return Flagged(row.id, source, None, "", "", row.simulation.excused or "No step of them is refused.")
    explained = explainer.explain(*found, 0)
    first = explained.findings[0]
    named = explained.step.label if explained.step is not None else "the end of the trace"
    if source != golden:
        source = f"simulated trace {found[0].id} (there is no {golden} yet)"
    return Flagged(row.id, source, first.step, named, first.headline, "", first.reason)


def _simulated(row: zoo.Row, known: protocols.Protocol, header: Header) -> Iterator[Stored]:
    settings = row.simulation
    simulate = simulators.simulator(known, header, steps=settings.steps, flaw=row.id, **settings.options)
    for seed in range(settings.first_seed, settings.first_seed + min(settings.count, SIMULATED)):
        made = simulate(seed)
        yield Stored(made.trace, made.stream, Path(known.name), header)
