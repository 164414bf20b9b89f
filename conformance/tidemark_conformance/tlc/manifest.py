r"""`spec/<protocol>/manifest.json`: the models, and the verdict that TLC must find for each.

    {"schema": "tidemark.manifest/1",
     "models": [{"name": "TwoPhase", "module": "TwoPhase.tla", "cfg": "TwoPhase.cfg",
                 "kind": "safety", "expected": "holds", "property": null, "distinct": 296, "depth": 12,
                 "scope": "full", "tier": "check", "workers": 1, "deadlock": false, "covers": "two-phase",
                 "agree": true}],
     "unreached": {"two-phase": {"actions": {"Name": "why"}, "rules": {"Rule": {"false": "why"}}}}}

| key | meaning | if absent |
|---|---|---|
| `name` | unique; what `tidemark check NAME` selects | required |
| `module`, `cfg` | paths below the manifest's folder | required |
| `kind` | `safety`, `liveness`, `zoo` (rule removed), `reachability` ("never happens"); the last two fall | required |
| `expected` | `holds` or `violates` | required |
| `property` | which property falls, by name (an invariant, an action property, a temporal property) | null |
| `distinct` | number of distinct states; null for a model that falls | required if it holds |
| `depth` | length of the longest shortest path, or of the counterexample, in states; null: not compared | null |
| `scope` | what a "holds" covers: `full`, `hurried fetch`, `liveness`, ... | `full` |
| `tier` | `check` (every `tidemark check`) or `deep` (`--deep` only) | `check` |
| `workers` | of TLC; 1 for liveness, and for every model that falls | 1 |
| `deadlock` | whether a state without a successor is a violation | false |
| `covers` | a group: its models together take every action and see both sides of every rule in force | null |
| `agree` | whether `tidemark agree` compares the backends on its full graph | false |
| `budget_s`, `heap_mib` | limits of a run | 600 (deep: 7200), 1024 |
| `checks` | what its cfg has otherwise than its module's entry in the manifest's own `checks` | required beside those |

`checks` pins the cfgs (`tlc/pins.py`).
`unreached` excuses, with its reason, an action or a side of a rule that no model of a group reaches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.common.naming import instead

from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.tlc import pins

MANIFEST = "manifest.json"
SCHEMA = "tidemark.manifest/1"
KINDS = ("safety", "liveness", "zoo", "reachability")
TIERS = ("check", "deep")
VERDICTS = ("holds", "violates")
WIDTH = 140
"""Characters of a line of the manifest at most, in the text written by `pin`."""
_BUDGET_S = {"check": 600.0, "deep": 7200.0}


@dataclass(frozen=True, slots=True)
class Model:
    """One entry of the manifest; paths absolute, otherwise as the module's table says.

    `checks`: all that its cfg must say (`tlc.pins`); None where the manifest pins nothing.
    """

    name: str
    module: Path
    cfg: Path
    kind: str
    expected: str
    property: str | None
    distinct: int | None
    depth: int | None
    scope: str
    tier: str
    workers: int
    deadlock: bool
    covers: str | None
    agree: bool
    budget_s: float | None
    heap_mib: int
    checks: pins.Checks | None = None

    def require_checks(self) -> None:
        """Raises Unusable where the cfg checks something else than the manifest pins."""
        if self.checks is not None:
            pins.require(self.name, self.cfg, self.checks, self.property)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The models in the file's order; `unreached`: group -> excused thing ("action A", "rule R true") -> reason."""

    path: Path
    models: tuple[Model, ...]
    unreached: Mapping[str, Mapping[str, str]]

    def select(
        self, names: Iterable[str] = (), deep: bool = False, meant: Callable[[Model], bool] = lambda _: True
    ) -> list[Model]:
        """The named models (of any tier), or all of tier "check" (with `deep`: all). Unusable for an unknown name, with
        those that come close to it among the `meant` models."""
        wanted = list(dict.fromkeys(names))
        known = {model.name: model for model in self.models}
        for name in wanted:
            if name not in known:
                suggested = [model.name for model in self.models if meant(model)]
                hint = instead(name, suggested, f"spec/<protocol>/{MANIFEST} lists those of a protocol")
                raise Unusable(f"no manifest has a model {name}: {hint}")
        if wanted:
            return [known[name] for name in wanted]
        return [model for model in self.models if deep or model.tier == "check"]


def files() -> list[Path]:
    """The manifests, one in each protocol's folder."""
    return sorted(paths.spec_root().glob(f"*/{MANIFEST}"))


def load(path: Path | None = None) -> Manifest:
    """The models of all protocols, or of one manifest; Unusable names the entry and the key that is wrong."""
    parts = [_load(one) for one in (files() if path is None else [path])]
    if path is not None:
        return parts[0]
    models = [model for part in parts for model in part.models]
    for model in models:
        if sum(other.name == model.name for other in models) > 1:
            raise Unusable(f"two manifests list the model {model.name}: give each its own name")
    unreached = {group: excused for part in parts for group, excused in part.unreached.items()}
    return Manifest(paths.spec_root() / MANIFEST, tuple(models), unreached)


def _load(path: Path) -> Manifest:
    """One manifest."""
    document = _document(path)
    pinned = document.get("checks")
    models = tuple(_model(entry, at, path, pinned) for at, entry in enumerate(document["models"]))
    names = [model.name for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Unusable(f"{path} lists the model {twice} twice: give each its own name")
    return Manifest(path, models, _unreached(document.get("unreached", {}), path))


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise Unusable(f"{path} cannot be read: a manifest of models is expected there") from None
    except ValueError as problem:
        raise Unusable(f"{path} is not JSON ({problem}): correct it") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise Unusable(f"{path} is no manifest: its schema must be {SCHEMA!r}")
    entries = document.get("models")
    if not isinstance(entries, list) or not entries:
        raise Unusable(f"{path} lists no models: add one under 'models'")
    return document


def pin(path: Path | None = None) -> bool:
    """Write into the manifests (or into one) what the cfgs of their models check now; whether that changes one.
    Unusable as of `load`."""
    changed = [_pin(one) for one in (files() if path is None else [path])]
    return any(changed)


def _pin(path: Path) -> bool:
    """Pin one manifest."""
    document = {key: value for key, value in _document(path).items() if key != "checks"}
    for at, entry in enumerate(document["models"]):
        _model(entry, at, path, None)  # a damaged entry is better refused than rewritten
    text = _written(pins.pin(document, path.parent)) + "\n"
    if text == path.read_text(encoding="utf-8"):
        return False
    draft = path.with_suffix(".draft")
    with writable(path):
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    return True


def _written(value: Any, key: str = "", margin: str = "") -> str:
    """JSON with two blanks of indentation; the value of a key `checks` is on one line where it fits."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or (key == "checks" and len(margin + short) < WIDTH):
        return short
    inner = margin + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_written(one, key or _only(name), inner)}" for name, one in value.items()]
    else:
        parts = [_written(one, key, inner) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = ",\n".join(inner + part for part in parts)
    return f"{first}\n{lines}\n{margin}{last}"


def _only(name: str) -> str:
    return name if name == "checks" else ""


_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "module": (str,),
    "cfg": (str,),
    "kind": (str,),
    "expected": (str,),
    "property": (str, type(None)),
    "distinct": (int, type(None)),
    "depth": (int, type(None)),
    "scope": (str,),
    "tier": (str,),
    "workers": (int,),
    "deadlock": (bool,),
    "covers": (str, type(None)),
    "agree": (bool,),
    "budget_s": (int, float),
    "heap_mib": (int,),
    "note": (str,),
    "checks": (dict,),
}


def _model(entry: Any, at: int, path: Path, pinned: Any) -> Model:
    if not isinstance(entry, dict):
        raise Unusable(f"model {at + 1} of {path} is not an object: give it its keys")
    where = f"model {entry.get('name', at + 1)} of {path}"

    def get(key: str, *default: Any) -> Any:
        if key not in entry and not default:
            raise Unusable(f"{where} has no {key!r}: add it")
        value = entry.get(key, *default)
        kinds = _TYPES[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Unusable(f"{where} has {key!r} = {value!r}, which is no {kinds[0].__name__}: correct it")
        return value

    for key in entry:
        if key not in _TYPES:
            raise Unusable(f"{where} has an unknown key {key!r}: remove or correct it")
    tier = get("tier", "check")
    model = Model(
        name=get("name"),
        module=path.parent / get("module"),
        cfg=path.parent / get("cfg"),
        kind=get("kind"),
        expected=get("expected"),
        property=get("property", None),
        distinct=get("distinct", None),
        depth=get("depth", None),
        scope=get("scope", "full"),
        tier=tier,
        workers=get("workers", 1),
        deadlock=get("deadlock", False),
        covers=get("covers", None),
        agree=get("agree", False),
        budget_s=float(get("budget_s", _BUDGET_S.get(tier, 600.0))),
        heap_mib=get("heap_mib", 1024),
        checks=None if pinned is None else _checks(pinned, get("module"), get("checks"), where),
    )
    _consistent(model, where)
    return model


def _checks(pinned: Any, module: str, changed: pins.Checks, where: str) -> pins.Checks:
    try:
        return pins.expanded(pinned[module], changed)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        said = f"{module} is not under the manifest's 'checks'" if isinstance(problem, KeyError) else problem
        raise Unusable(f"{where} has 'checks' that cannot be read ({said}): run `tidemark check --pin`") from None


def _consistent(model: Model, where: str) -> None:
    """Raises Unusable where an entry contradicts itself or known behaviour of TLC."""
    rules = [
        (model.kind in KINDS, f"kind {model.kind!r}: use one of {', '.join(KINDS)}"),
        (model.tier in TIERS, f"tier {model.tier!r}: use one of {', '.join(TIERS)}"),
        (model.expected in VERDICTS, f"expected {model.expected!r}: use one of {', '.join(VERDICTS)}"),
        (model.workers >= 1, "no worker: give it 1 or more"),
        (
            model.kind != "liveness" or model.workers == 1,
            "temporal properties and several workers, which TLC checks unsoundly: set workers to 1",
        ),
        (
            model.expected == "holds" or model.workers == 1,
            "several workers and an expected violation, whose depth then varies: set workers to 1",
        ),
        (
            (model.expected == "holds") == (model.distinct is not None),
            "no 'distinct' though it holds, or one though it falls: one that holds must find exactly that many",
        ),
        (
            model.property is None if model.expected == "holds" else model.property is not None or model.deadlock,
            "a 'property' though it holds, or none though it falls: name what must fall",
        ),
        (
            model.kind not in ("zoo", "reachability") or model.expected == "violates",
            "an expected 'holds': it must fall",
        ),
        (model.covers is None or model.expected == "holds", "'covers' though it falls: only a whole graph covers"),
    ]
    for fine, complaint in rules:
        if not fine:
            raise Unusable(f"{where} has {complaint}")
    for file in (model.module, model.cfg):
        if not file.is_file():
            raise Unusable(f"{where} names {file}, which does not exist: correct the path")


def _unreached(document: Any, path: Path) -> dict[str, dict[str, str]]:
    """Flattens `unreached`; every reason must be a sentence."""
    excused: dict[str, dict[str, str]] = {}
    try:
        for group, parts in document.items():
            flat = excused.setdefault(group, {})
            for name, why in parts.get("actions", {}).items():
                flat[f"action {name}"] = str(why)
            for name, sides in parts.get("rules", {}).items():
                for side, why in sides.items():
                    if side not in ("true", "false"):
                        raise Unusable(f"{path} excuses side {side!r} of rule {name}: use 'true' or 'false'")
                    flat[f"rule {name} {side}"] = str(why)
    except AttributeError:
        raise Unusable(
            f"{path} has an 'unreached' of another shape than tlc/manifest.py describes: correct it"
        ) from None
    for group, flat in excused.items():
        for thing, why in flat.items():
            if not why.strip():
                raise Unusable(f"{path} excuses {thing} in {group} without a reason: give one")
    return excused
