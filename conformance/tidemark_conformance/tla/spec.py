"""A specification with its constants, ready for the backends: `load(spec, cfg)`.

The work of SANY and the elaborator on a module is kept in the cache folder. The key is the text of every module read,
the cfg, the jar and this compiler's source. Without Java a specification loads as long as it is in the cache.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance import cache, paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import modules, toolchain
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla import ir, sany, walk
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.extract import CAPACITIES, Extract, extract
from tidemark_conformance.tla.python import EvaluationError, evaluate_constant
from tidemark_conformance.tla.values import Value, show

LIBRARY = ("Folds", "Bounded")
"""The modules of `spec/lib` that the compiler knows by their text."""


@dataclass(frozen=True)
class Specification:
    """A compiled module with a cfg's constants.

    `constants`: every constant that the module mentions, and `Without` -> its value (a frozenset of rule names).
    `capacities`: the constants that only bound a trace (`limits.py`), None where the module does not say. `invariants`,
    `properties` (action properties), in the cfg's order; `quiescence`, `environment` in the text's. `temporal`: names
    of the cfg's properties that only TLC checks. `places`: operator -> (place, last line). `sources`: module name ->
    file, the root first. `hash`: of the canonical IR of TypeOK, Init and the actions, without ghosts, locations, marks
    and names of locals. So it depends neither on the cfg nor on the properties that are checked.
    """

    module: ir.Module
    constants: dict[str, Value]
    capacities: frozenset[str] | None
    invariants: tuple[ir.Named, ...]
    properties: tuple[ir.Named, ...]
    quiescence: tuple[ir.Named, ...]
    environment: tuple[ir.Named, ...]
    temporal: tuple[str, ...]
    hash: str
    path: Path
    cfg: Path
    config: Config
    sources: dict[str, Path]
    places: dict[str, tuple[ir.Loc, int]]

    @property
    def without(self) -> frozenset[str]:
        """The rules that are not in force."""
        return frozenset(self.constants[WITHOUT])

    def action(self, name: str) -> ir.Action:
        """The action of this name; Unusable if there is none."""
        for action in self.module.actions:
            if action.name == name:
                return action
        raise Unusable(f"{self.module.name} has no action {name}: its actions are {', '.join(self.action_names)}")

    @property
    def action_names(self) -> list[str]:
        """The actions in the order of Next."""
        return [action.name for action in self.module.actions]


def load(spec: Path, cfg: Path, also: Iterable[str] = (), texts: Mapping[str, str] | None = None) -> Specification:
    """Load the module file `spec` with TLC's configuration file `cfg`.

    `also` names further parameterless operators whose bodies `module.definitions` shall hold; `texts` gives texts of
    generated modules by name, which win over files. Raises Unusable if the cfg's constants break an ASSUME. Raises it
    (Unsupported: with module and line) if the module, the cfg or the conventions do not allow it.
    """
    spec, cfg = Path(spec), Path(cfg)
    config = cfg_files.read(cfg)
    found = modules.closure(spec, given=texts)
    sources = {name: file for name, (file, _) in found.items()}
    result = _extracted({name: text for name, (_, text) in found.items()}, spec.stem, config, tuple(also))
    module = result.module
    values = _values(module, config)
    _require_assumed(result.assumptions, values, config)
    constants = _constants(module, config, values)
    named = module.definitions
    return Specification(
        module=module,
        constants=constants,
        capacities=_capacities(module, config),
        invariants=tuple(named[name] for name in result.invariants),
        properties=tuple(named[name] for name in result.properties),
        quiescence=tuple(named[name] for name in result.quiescence),
        environment=tuple(named[name] for name in result.environment),
        temporal=result.temporal,
        hash=specification_hash(module),
        path=spec,
        cfg=cfg,
        config=config,
        sources=sources,
        places=result.places,
    )


def _values(module: ir.Module, config: Config) -> dict[str, Value]:
    """The values of all constants, with those of the operators that the cfg puts for some."""
    values: dict[str, Value] = dict(config.constants)
    substituted = {name: operator for name, operator in config.substitutions.items() if operator in module.definitions}
    waiting = {name: module.definitions[operator].body for name, operator in substituted.items()}
    while waiting:
        ready = [name for name, body in waiting.items() if not walk.constants_used(body) & waiting.keys()]
        if not ready:
            raise Unusable(
                f"{config.path}: the constants {', '.join(sorted(waiting))} define each other: give one a value"
            )
        for name in ready:
            values[name] = evaluate_constant(waiting.pop(name), values)
    return values


def _require_assumed(assumptions: Iterable[ir.Named], values: Mapping[str, Value], config: Config) -> None:
    """Refuse constants that break an ASSUME, as TLC does, and an ASSUME that is neither TRUE nor FALSE."""
    for assumed in assumptions:
        try:
            holds = evaluate_constant(assumed.body, values)
        except EvaluationError as problem:
            raise Unusable(
                f"{assumed.loc}: the ASSUME cannot be evaluated ({problem.message}); correct it, or the cfg's constants"
            ) from None
        if type(holds) is not bool:
            raise Unusable(f"{assumed.loc}: the ASSUME is neither TRUE nor FALSE; write a predicate of constants")
        if not holds:
            read = sorted(walk.constants_used(assumed.body))
            given = ", ".join(f"{name} = {textwrap.shorten(show(values[name]), 80)}" for name in read)
            raise Unusable(
                f"{assumed.loc}: the ASSUME is false{f' with {given}' if given else ''}; "
                f"give the constants in {config.path} values that it allows"
            )


def _constants(module: ir.Module, config: Config, values: Mapping[str, Value]) -> dict[str, Value]:
    """The values of the constants that `module` mentions, with `Without` (empty if the cfg does not give it)."""
    without = values.get(WITHOUT, frozenset())
    if not isinstance(without, frozenset) or not all(isinstance(rule, str) for rule in without):
        raise Unusable(f"{config.path}: {WITHOUT} is no set of strings: write {WITHOUT} = {{}} or name rules in quotes")
    unknown = sorted(without - set(module.rules))
    if unknown:
        raise Unusable(
            f"{config.path}: {WITHOUT} names {unknown[0]}, which is no rule of {module.name}: correct its name"
        )
    return {**{name: values[name] for name in module.constants}, WITHOUT: without}


def parsed(spec: Path, texts: Mapping[str, str] | None = None) -> tuple[dict[str, str], sany.Tables]:
    """The texts of all modules that `spec` reaches, by name, and SANY's tables of them; `texts` as in `load`."""
    found = {name: text for name, (_, text) in modules.closure(spec, given=texts).items()}
    return found, _tables(found, spec.stem, (spec.stem, sorted(found.items()), _jar_digest()))


def _capacities(module: ir.Module, config: Config) -> frozenset[str] | None:
    """The names that the operator `Capacities` lists."""
    named = module.definitions.get(CAPACITIES)
    if named is None:
        return None
    names = evaluate_constant(named.body, dict(config.constants))
    if not isinstance(names, frozenset) or not all(isinstance(name, str) for name in names):
        raise Unusable(f"{named.loc}: {CAPACITIES} is no set of strings: write the names of constants in quotes")
    unknown = sorted(names - set(config.constants) - set(config.substitutions))
    if unknown:
        raise Unusable(f"{named.loc}: {CAPACITIES} names {unknown[0]}, which is no constant: correct its name")
    return names


# The cache


def _extracted(texts: dict[str, str], root: str, config: Config, also: tuple[str, ...]) -> Extract:
    modules_key = (root, sorted(texts.items()), _jar_digest())
    asked = (modules_key, _cfg_key(config), sorted(also), cache.code(__name__))
    return cache.made("ir", root, asked, Extract, lambda: extract(_tables(texts, root, modules_key), config, also))


def _tables(texts: dict[str, str], root: str, modules_key: object) -> sany.Tables:
    """SANY's tables, kept apart from the IR: other cfgs of the same modules need no second run of SANY."""
    asked = (modules_key, sorted(_library(texts)), cache.code(__name__))
    return cache.made("sany", root, asked, sany.Tables, lambda: sany.read(root, texts, _library(texts)))


def names(spec: Path) -> frozenset[str]:
    """The constants, variables and operators that the module file `spec` can name, those that it extends included.

    Of a module that keeps no convention, too. Raises Unusable if SANY cannot read it, or a module of it is nowhere.
    """
    provided = toolchain.modules_of(toolchain.find_jar())
    texts = {name: text for name, (_, text) in modules.closure(spec, provided=provided).items()}
    asked = ((spec.stem, sorted(texts.items()), _jar_digest()), cache.code(__name__))
    return cache.made("names", spec.stem, asked, frozenset, lambda: sany.names(spec.stem, texts))


def _cfg_key(config: Config) -> str:
    """A text that is equal for cfgs that ask for the same IR: constants' values and places do not matter."""
    fields = {name: getattr(config, name) for name in config.__slots__ if name not in ("path", "lines")}
    fields["constants"] = sorted(config.constants)
    return repr(sorted(fields.items()))


def _library(texts: Mapping[str, str]) -> frozenset[str]:
    """The modules among `texts` that are those of `spec/lib`, by their text."""
    known: set[str] = set()
    for name in LIBRARY:
        file = paths.spec_root() / "lib" / f"{name}.tla"
        if name in texts and file.is_file() and file.read_text(encoding="utf-8") == texts[name]:
            known.add(name)
    return frozenset(known)


def _jar_digest() -> str:
    try:
        return toolchain.jar_digest(toolchain.find_jar())
    except Unusable:
        return "none"


# The hash


def specification_hash(module: ir.Module) -> str:
    """SHA-256 (hex) of all that a trace depends on: variables, TypeOK, Init and actions in canonical IR, no ghosts.

    A trace carries no ghost, so that neither names, types, first values nor updates of ghosts are hashed.
    """
    document = [
        [name for name in module.variables if name not in module.ghosts],
        [canonical(conjunct) for conjunct in _carried(module)],
        canonical(module.init),
        [_canonical_action(action) for action in module.actions],
    ]
    if module.hidden or module.observed is not None:
        document += [module.hidden, _canonical_observed(module.observed)]
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical_observed(observed: ir.Observed | None) -> list[object]:
    if observed is None:
        return []
    numbers = {observed.observer.uid: 0} if observed.observer is not None else {}
    domain = canonical(observed.observer.domain) if observed.observer is not None else []
    return [domain, [[name, canonical(value, dict(numbers))] for name, value in observed.fields]]


def _carried(module: ir.Module) -> list[ir.Expr]:
    """The conjuncts of TypeOK but those of ghosts alone."""
    ghosts = set(module.ghosts)
    conjuncts = [(one, walk.variables_used(one)) for one in walk.conjuncts(module.type_ok)]
    return [one for one, variables in conjuncts if not variables or variables - ghosts]


def _canonical_action(action: ir.Action) -> list[object]:
    numbers = {param.uid: index for index, param in enumerate(action.params)}
    domains = [[param.name, canonical(param.domain)] for param in action.params]
    return [action.name, domains, canonical(action.body, dict(numbers))]


_UIDS = frozenset({"uid", "at", "element", "accumulator"})


def canonical(value: object, numbers: dict[int, int] | None = None) -> object:
    """Nested lists of names and literals; locals are numbered in the order in which they are met."""
    numbers = {} if numbers is None else numbers
    while isinstance(value, ir.Mark):
        value = value.body
    if isinstance(value, ir.Local):
        return ["Local", numbers.setdefault(value.uid, len(numbers))]
    if isinstance(value, (ir.Expr, ir.Binder)):
        parts: list[object] = [type(value).__name__]
        names = value.__dataclass_fields__
        labelled = isinstance(value, (ir.Binder, ir.Let))
        for name in names:
            if name in _UIDS:
                uid = getattr(value, name)
                parts.append(numbers.setdefault(uid, len(numbers)))
            elif not (labelled and name == "name"):
                parts.append(canonical(getattr(value, name), numbers))
        return parts
    if isinstance(value, tuple):
        return [canonical(item, numbers) for item in value]
    return value
