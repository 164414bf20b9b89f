"""An inductive invariant as the text gives it: `<Name>Inductive.tla` beside a specification, and its cfg.

`Inductive` is a conjunction of named lemmas. The cfg's other INVARIANTs are implied by them, and its PROPERTYs hold of
every step from a state in which they hold. `History` adds variables of the proof; `KeptBounds` names capacities that
the proof keeps, and `AnyNumber` constants that it leaves open.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.prove.behaviour import require_behaviours
from tidemark_conformance.prove.universe import ANY_NUMBER, KEPT_BOUNDS, Universe
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla import ir
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.extract import HISTORY, as_memberships
from tidemark_conformance.tla.python import evaluate_constant
from tidemark_conformance.tla.spec import Specification, canonical, load, names
from tidemark_conformance.tla.typeok import strip
from tidemark_conformance.tla.values import show

INDUCTIVE = "Inductive"
SUFFIX = "Inductive"
RESTS_ON = "RestsOn"
"""The operator that names a theorem, some of whose lemmas this one uses; they are not judged again."""
COROLLARIES = "Corollaries"
"""The operator with what follows from the lemmas in the same state; the conditions of actions use it like a lemma."""
GROUP = "Lemmas"
"""The end of the name of a conjunct that stands for its own conjuncts."""


@dataclass(frozen=True)
class Lemma:
    """A conjunct of the invariant, or a property that follows; `reason`: the comment before its definition."""

    name: str
    body: ir.Expr
    loc: ir.Loc
    reason: str


@dataclass(frozen=True)
class Theorem:
    """The claim of a module and a cfg: lemmas that are inductive together, and what they imply.

    `corollaries`: state properties that each follow from the lemmas and the corollaries before it. `given`: those of
    the lemmas that the theorem `rests_on` has shown to hold in every run. `constraints`: the cfg's CONSTRAINTs; no step
    is taken from a state in which one is false, as in TLC. `implied`: state properties. `steps`: properties of steps.
    `kept`: capacities that stay bounded; `free`: constants that are any number, with the least. `bounded`: everything
    finite in the claim, in words.
    """

    name: str
    spec: Specification
    lemmas: tuple[Lemma, ...]
    implied: tuple[Lemma, ...]
    steps: tuple[Lemma, ...]
    kept: frozenset[str]
    free: Mapping[str, int]
    bounded: tuple[str, ...]
    rests_on: str | None = None
    given: frozenset[str] = frozenset()
    corollaries: tuple[Lemma, ...] = ()
    constraints: tuple[Lemma, ...] = ()

    def universe(self, without: Iterable[str] | None = None) -> Universe:
        """The specification's terms, with the cfg's rules or without these."""
        removed = None if without is None else frozenset(without)
        return Universe(self.spec, kept=self.kept, free=self.free, without=removed)


def modules(root: Path | None = None) -> dict[str, tuple[Path, Path]]:
    """Every theorem of spec/: name -> (module, cfg), in the order of names. A module's cfgs begin with its name."""
    found: dict[str, tuple[Path, Path]] = {}
    base = paths.spec_root() if root is None else root
    for module in sorted(base.glob(f"*/*{SUFFIX}.tla")):
        for cfg in sorted(module.parent.glob(f"{module.stem}*.cfg")):
            found[cfg.stem] = (module, cfg)
    return found


def grounds_first(theorems: Mapping[str, tuple[Path, Path]]) -> dict[str, tuple[Path, Path]]:
    """The same, each theorem behind those of them that it rests on: a theorem below is judged before it is asked for.

    Raises Unusable as `read` does.
    """
    known = {**modules(), **theorems}

    @functools.cache
    def below(name: str) -> int:
        """How many theorems it rests on, one on another."""
        under = read(name, *known[name]).rests_on
        return 1 + below(under) if under in known else 0

    return {name: theorems[name] for name in sorted(theorems, key=below)}


def read(name: str, module: Path, cfg: Path, above: tuple[str, ...] = ()) -> Theorem:
    """The theorem of a module and a cfg. Raises Unusable where the module does not keep the conventions of proofs.

    `above`: the theorems that rest on it.
    """
    asked = cfg_files.read(cfg)
    known = names(module)
    if INDUCTIVE not in known:
        raise Unusable(f"{module} does not define {INDUCTIVE}: define it as a conjunction of lemmas")
    require_behaviours(module, asked)
    more = {KEPT_BOUNDS, ANY_NUMBER, RESTS_ON, COROLLARIES} & known
    spec = load(module, cfg, also=[INDUCTIVE, *asked.constraints, *more])
    named = spec.module.definitions
    kept: frozenset[str] = frozenset()
    if KEPT_BOUNDS in named:
        kept = frozenset(evaluate_constant(named[KEPT_BOUNDS].body, spec.constants))
    free = dict(evaluate_constant(named[ANY_NUMBER].body, spec.constants).items()) if ANY_NUMBER in named else {}
    lemmas = tuple(_lemmas(named[INDUCTIVE].body, spec))
    corollaries = tuple(_lemmas(named[COROLLARIES].body, spec, COROLLARIES)) if COROLLARIES in named else ()
    every = (*lemmas, *corollaries)
    twice = [one.name for at, one in enumerate(every) if one.name in {other.name for other in every[:at]}]
    if twice:
        raise Unusable(f"{module}: {INDUCTIVE} names {twice[0]} twice: name it once")
    whole = strip(spec.module.type_ok) if HISTORY in known else spec.module.type_ok
    typed = whole.args if isinstance(whole, ir.Op) and HISTORY in known else (whole,)
    for types, body in zip(("TypeOK", "HistoryTypeOK"), typed, strict=False):
        if not any(one.name == types and canonical(as_memberships(one.body)) == canonical(body) for one in lemmas):
            raise Unusable(f"{module}: {types} is no conjunct of {INDUCTIVE}, and the terms follow its types: add it")
    implied = tuple(_plain(named[one]) for one in asked.invariants if one != INDUCTIVE)
    steps = tuple(_plain(one) for one in spec.properties)
    constraints = tuple(_plain(named[one]) for one in asked.constraints)
    base = evaluate_constant(named[RESTS_ON].body, spec.constants) if RESTS_ON in named else None
    if base is not None and base in (name, *above):
        raise Unusable(f"{module} rests on {base}, which rests on it: correct {RESTS_ON}")
    given = frozenset[str]()
    if base is not None:
        given = _given(base, spec, lemmas, (kept, free), constraints, module, (*above, name))
    bounded = (*_bounded(spec, kept, free), *(f"every state but the last: {one.name}" for one in constraints))
    return Theorem(name, spec, lemmas, implied, steps, kept, free, bounded, base, given, corollaries, constraints)


def _given(
    base: str,
    spec: Specification,
    lemmas: tuple[Lemma, ...],
    bounds: tuple[frozenset[str], Mapping[str, int]],
    constraints: tuple[Lemma, ...],
    module: Path,
    above: tuple[str, ...],
) -> frozenset[str]:
    """The lemmas that the theorem `base` has shown, of the same specification with the same constants."""
    beside = next((folder for folder in module.parents if (folder / f"{base}.tla").is_file()), None)
    if beside is None:
        raise Unusable(f"{module} rests on {base}, and there is no {base}.tla beside it: correct {RESTS_ON}")
    other = read(base, beside / f"{base}.tla", beside / f"{base}.cfg", above)
    if (other.spec.hash, other.spec.constants, (other.kept, other.free)) != (spec.hash, spec.constants, bounds):
        raise Unusable(f"{module} rests on {base}, whose constants or bounds are others: give both the same")
    if [one.body for one in other.constraints] != [one.body for one in constraints]:
        raise Unusable(f"{module} rests on {base}, whose CONSTRAINTs are others: give both the same")
    if _whole(other.spec.module) != _whole(spec.module):
        raise Unusable(f"{module} rests on {base}, whose variables or history are others: give both the same")
    shown = {one.name: one.body for one in other.lemmas}
    return frozenset(one.name for one in lemmas if shown.get(one.name) == one.body)


def _whole(module: ir.Module) -> tuple[object, ...]:
    """All that determines a specification's behaviours, history included."""
    actions = [(one.name, one.params, one.body, one.ghosts) for one in module.actions]
    return module.variables, module.ghosts, module.type_ok, module.init, module.initial_ghosts, actions


def _plain(named: ir.Named) -> Lemma:
    return Lemma(named.name, named.body, named.loc, "")


def _lemmas(body: ir.Expr, spec: Specification, of: str = INDUCTIVE) -> Iterable[Lemma]:
    """The conjuncts of an operator by their names; one whose name ends in `Lemmas` stands for its own conjuncts."""
    whole = strip(body)
    parts = whole.args if isinstance(whole, ir.Op) and whole.name == "and" else (body,)
    for part in parts:
        mark = part
        while isinstance(mark, ir.Mark) and mark.name in ("", of):
            mark = mark.body
        if not isinstance(mark, ir.Mark):
            raise Unusable(f"{spec.path}: a conjunct of {of} has no name: make it an operator of its own")
        if mark.name.endswith(GROUP):
            yield from _lemmas(mark.body, spec, of)
            continue
        file = spec.sources.get(mark.loc.module)
        reason = _comment(file.read_text(encoding="utf-8"), mark.loc.line) if file is not None else ""
        if not reason and mark.name != "TypeOK":
            raise Unusable(
                f"{mark.loc}: the lemma {mark.name} has no sentence before it that says why it holds: add it"
            )
        yield Lemma(mark.name, mark, mark.loc, reason)


def _comment(text: str, line: int) -> str:
    """The comment lines that end just before a line."""
    lines = text.splitlines()[: line - 1]
    found: list[str] = []
    while lines and lines[-1].startswith("\\*"):
        found.insert(0, lines.pop().removeprefix("\\*").strip())
    return " ".join(found)


def _bounded(spec: Specification, kept: frozenset[str], free: Mapping[str, int]) -> tuple[str, ...]:
    """The finite parts of a theorem: constants that are sets, and numbers that stay."""
    capacities = spec.capacities
    found = []
    for name, value in sorted(spec.constants.items()):
        if name == WITHOUT or name in free or name not in spec.module.constants:
            continue
        if isinstance(value, frozenset):
            found.append(f"{name} has {len(value)} element{'s' if len(value) != 1 else ''}")
        elif type(value) is int and (name in kept or (capacities is not None and name not in capacities)):
            found.append(f"{name} = {show(value)}")
    return tuple(found)
