"""`spec/anomalies.toml`: the names that users of history checkers know for our properties' violations.

[anomaly.lost-write]
meaning = "..."
unless = "..."      # when it is none; may be missing
allowed = "..."     # why Kafka allows it, so that no property forbids it; may be missing

[property.Replication]                      # the specification's module
AckedOnLeader = ["lost-write"]              # a property -> anomalies that clients may see once it has fallen
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root

ANOMALIES = "anomalies.toml"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A name of history checkers. `unless`: when it is none; `allowed`: why Kafka allows it, so that nothing is flagged
    by it ("": it does not)."""

    name: str
    meaning: str
    unless: str = ""
    allowed: str = ""


@dataclass(frozen=True, slots=True)
class Glossary:
    """The names in the order of the file; `properties`: specification -> property -> names."""

    names: dict[str, Anomaly]
    properties: dict[str, dict[str, tuple[str, ...]]]


@cache
def glossary() -> Glossary:
    """The content of the file; an empty glossary where there is no file. Raises Unusable for a malformed one."""
    path = spec_root() / ANOMALIES
    if not path.is_file():
        return Glossary({}, {})
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        names = {name: Anomaly(name, **entry) for name, entry in table["anomaly"].items()}
        properties = {
            specification: {name: tuple(names[one].name for one in said) for name, said in entries.items()}
            for specification, entries in table["property"].items()
        }
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise Unusable(f"{path} is no table of anomalies ({problem!r}); correct it") from problem
    return Glossary(names, properties)


def anomalies(specification: str, properties: Iterable[str]) -> tuple[str, ...]:
    """The anomalies that clients may see once these properties of a specification have fallen. The specification goes
    by its module's name. Empty where no history shows one, or the file has no entry."""
    known = glossary().properties.get(specification, {})
    return tuple(dict.fromkeys(name for one in properties for name in known.get(one, ())))
