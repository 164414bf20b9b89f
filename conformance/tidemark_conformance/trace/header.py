"""A trace file's header: which specification, constants and layout its traces are written for.

The same JSON object stands in the first line of an NDJSON file. A Parquet file has it, as one line of text, in its
first row. `Without` is never part of it: a trace does not say by which rules it wants to be judged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.values import Fn, ModelValue, Value

FORMAT = "trace"
VERSION, PARTIAL = 1, 2
"""The versions of the format: of traces that carry every variable that is no ghost, and of those that show a part."""
Json = Any
"""Any value that `json.loads` returns."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=_object)
_LENIENT = json.JSONDecoder()
TOO_DEEP = '"(nested too deeply)"'
"""How a value is written that is nested so deeply that it can be read, but not written."""


class RepeatedKey(ValueError):
    """A JSON object that has a key twice, which one reader takes to mean this and another that; the message is the
    key."""


def loads(text: str | bytes, strict: bool = True) -> Json:
    """Reads JSON in UTF-8. Raises ValueError for bytes that are no JSON, RepeatedKey for an object that has a key twice
    (not `strict`: the last one counts)."""
    decoder = _STRICT if strict else _LENIENT
    try:
        return decoder.decode(text.decode() if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def encodable(text: str) -> bool:
    """Whether a text can be written in UTF-8: JSON's escapes can spell one half of a surrogate pair alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


RESERVED = (
    *("tidemark", "version", "spec", "spec_hash", "constants", "nodes", "variables", "actions"),
    *("hidden", "observed"),
)


def dumps(value: Json) -> str:
    """One line of compact JSON, in the order given (all our writers use it, so that equal data are equal bytes)."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        return TOO_DEEP


def shortened(value: Json, most: int = 60) -> str:
    """One line of JSON for a message, cut to so many characters."""
    text = dumps(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def constant_json(value: Value) -> Json:
    """A constant's value as JSON: sets as sorted arrays, functions with keys that are no strings as sorted pair
    lists."""
    if isinstance(value, ModelValue):
        return value.name
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple):
        return [constant_json(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted((constant_json(item) for item in value), key=_order)
    if isinstance(value, Fn):
        pairs = sorted(([constant_json(key), constant_json(item)] for key, item in value.items()), key=_order)
        if all(isinstance(key, str | ModelValue) for key in value):
            return dict(pairs)
        return pairs
    raise TypeError(f"not a TLA+ value: {value!r}")


def _order(value: Json) -> tuple[str, Json]:
    """A sort key over JSON values of mixed kinds: by kind, then integers by value and the rest by text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return ("0", value)
    return ("1" + type(value).__name__, dumps(value))


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a trace file.

    `constants`: the specification's constants but `Without`, as JSON. `nodes`: names that a step's `node` may carry.
    `variables`: per variable that traces carry its type and its cells in the layout. `actions`: in the order of Next
    their names and their parameters' domains, sorted. `extra`: further keys, kept by conversions.

    `hidden`: variables that no trace carries and that actions may read. `observed`: the fields of Observed with their
    types, and its observers; None where nothing can be observed.
    """

    spec: str
    spec_hash: str
    constants: dict[str, Json]
    nodes: tuple[str, ...]
    variables: dict[str, Json]
    actions: list[Json]
    extra: dict[str, Json] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    observed: Json = None

    @property
    def version(self) -> int:
        """The least version of the format that has all that the traces need."""
        return PARTIAL if self.hidden or self.observed is not None else VERSION

    def to_json(self) -> dict[str, Json]:
        """The header as the JSON object of docs/trace-format.md."""
        return {
            "tidemark": FORMAT,
            "version": self.version,
            "spec": self.spec,
            "spec_hash": self.spec_hash,
            "constants": self.constants,
            "nodes": list(self.nodes),
            "variables": self.variables,
            "actions": self.actions,
            **({"hidden": list(self.hidden), "observed": self.observed} if self.version == PARTIAL else {}),
            **self.extra,
        }

    def text(self) -> str:
        """The header as one line of JSON, without the line feed."""
        return dumps(self.to_json())

    def require(self, expected: Header, where: str) -> None:
        """Refuse traces that were written for something else than `expected`, the header of the specification in use.

        `where` names the file. Nodes may differ: they only name where a step happened.
        Raises Unusable for another specification, hash, constants or variable table.
        """
        if self.spec != expected.spec:
            raise Unusable(
                f"{where} holds traces of {self.spec[:60]}, but the specification in use is {expected.spec}; "
                "pass its own with --spec and --config"
            )
        if self.spec_hash != expected.spec_hash:
            raise Unusable(
                f"{where} was written for another text of {self.spec} (specification hash {self.spec_hash[:12]}, "
                f"in use {expected.spec_hash[:12]}); write it again with the header that `tidemark schema` prints"
            )
        _require_equal(self.constants, expected.constants, "constant", self.spec, where)
        _require_equal(self.variables, expected.variables, "variable", self.spec, where)
        if self.hidden != expected.hidden or not same(self.observed, expected.observed):
            raise Unusable(
                f"{where} has other hidden variables or other fields of Observed than {self.spec} in use; "
                "write the traces again with its header"
            )
        if not same(self.actions, expected.actions):
            raise Unusable(
                f"{where} lists other actions than {self.spec} in use; write the traces again with its header"
            )


def _require_equal(have: Json, want: Json, what: str, spec: str, where: str) -> None:
    if same(have, want):
        return
    if isinstance(have, dict) and isinstance(want, dict):
        names = [name for name in [*want, *have] if not same(have.get(name), want.get(name))]
        if names:
            name = names[0]
            raise Unusable(
                f"{where} has {what} {name} = {_shown(have, name)}, the specification in use has {_shown(want, name)}; "
                f"audit it with the cfg of {spec} that it was written for (--config)"
            )
    raise Unusable(f"{where} has another table of {what}s than {spec} in use; write the traces again with its header")


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are the same; to Python 1, 1.0 and true are equal."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except RecursionError:
        return False


def _shown(table: dict[str, Json], name: str) -> str:
    if name not in table:
        return "nothing"
    return shortened(table[name], 80)


def parse_header(text: str | bytes, where: str) -> Header:
    """Read a header line; `where` names the file in errors.

    Raises Unusable for text that is no header, another format version, a missing key or one that stands twice.
    """
    try:
        data = loads(text)
    except RepeatedKey as problem:
        raise Unusable(f"the header of {where} has the key {problem} twice in one object; write it once") from None
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("tidemark") != FORMAT:
        raise Unusable(f'{where} does not start with a trace header ({{"tidemark":"trace",...}}); is it a trace file?')
    if data.get("version") not in (VERSION, PARTIAL) or type(data["version"]) is not int:
        raise Unusable(
            f"{where} has trace format version {shortened(data.get('version'))}, this program reads version "
            f"{VERSION}, and {PARTIAL} where a part is shown; "
            "convert it with the program that wrote it"
        )
    kinds: dict[str, type] = {
        "spec": str,
        "spec_hash": str,
        "constants": dict,
        "nodes": list,
        "variables": dict,
        "actions": list,
    }
    for key, kind in kinds.items():
        if not isinstance(data.get(key), kind):
            raise Unusable(
                f"the header of {where} lacks {key!r} or has it as another kind of value; see `tidemark schema`"
            )
    if not all(isinstance(node, str) for node in data["nodes"]) or len(set(data["nodes"])) != len(data["nodes"]):
        raise Unusable(f"the header of {where} must list every node once, by name, under 'nodes'")
    hidden = data.get("hidden", [])
    if not isinstance(hidden, list) or not all(isinstance(name, str) for name in hidden):
        raise Unusable(f"the header of {where} must list variables by name under 'hidden'; see `tidemark schema`")
    if (data["version"] == PARTIAL) != ("hidden" in data or "observed" in data):
        raise Unusable(
            f"the header of {where} has version {data['version']}, and version {PARTIAL} is that of traces with "
            "'hidden' or 'observed'; copy the header that `tidemark schema` prints"
        )
    if dumps(data) == TOO_DEEP:
        raise Unusable(f"the header of {where} is nested too deeply; copy the header that `tidemark schema` prints")
    if not encodable(dumps(data)):
        raise Unusable(f"the header of {where} has one half of a surrogate pair in a string; write it in UTF-8")
    extra = {key: value for key, value in data.items() if key not in RESERVED}
    return Header(
        data["spec"],
        data["spec_hash"],
        data["constants"],
        tuple(data["nodes"]),
        data["variables"],
        data["actions"],
        extra,
        tuple(hidden),
        data.get("observed"),
    )
