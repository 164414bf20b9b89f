"""No conjunct of a property is there for nothing: without it, some way to fall (`falls_*.py`) is not noticed any more.

Each property is weakened in one place at a time. A conjunct, one direction of an equivalence or one end of a range is
left out. Only the Python backend is asked about a weakened property. `test_properties_can_fall.py` holds that all
judges agree about a property.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import pytest
from falls import State, Table, tables
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.python import EvaluationError, PythonChecks

ASKED = [(table, name) for table in tables() for name in sorted({fall.name for fall in table.falls})]

NEVER_ALONE: dict[tuple[str, str], dict[int, str]] = {
    ("ClassicGroupProperties", "GroupWellFormed"): {1: "who leads is a member"},
    ("ClassicGroupProperties", "CommittedByAccepted"): {2: "the last of the commits that are needed is a commit"},
    ("ClassicGroupProperties", "QuiescentAllOwned"): {
        1: "only running consumers are asked",
        2: "no member has the id 0",
        3: "a running consumer that is no member is not in the group, so QuiescentGroupSettled is false, too",
    },
    ("ConsumerGroup848Properties", "LiveIsReplay"): {3: "PartitionEpochsMatch says it, too, of what members hold"},
    ("ConsumerGroup848Properties", "CommittedByAccepted"): {2: "the last of the commits that are needed is a commit"},
    ("ConsumerGroup848Properties", "QuiescentAllOwned"): {
        1: "only running consumers are asked",
        3: "a running consumer that is no member is not in the group, so QuiescentGroupSettled is false, too",
        5: "who owns just what it is assigned owns no more",
    },
    ("IdempotentProducerProperties", "AckedIsThere"): {
        2: "an offset past the log is past the high watermark, or that is past the log (SenderWellFormed)",
    },
    ("ReplicationProperties", "DivergingPointIsExact"): {
        4: "what ends before the offset is of the named epoch at most, and that is not later than the request's",
        5: "what is of the named epoch at most is of the request's at most, so it ends before the offset",
    },
    ("ReplicationProperties", "QuiescentIsrIsFull"): {1: "without a leader QuiescentLogsEqual is false, too"},
    ("ReplicationProperties", "QuiescentLogsEqual"): {1: "without a leader QuiescentIsrIsFull is false, too"},
    ("TransactionsProperties", "CompleteFollowsMarkers"): {
        2: "what is behind the last record of a producer id, and of that id, is a marker",
    },
    ("TransactionsProperties", "ReadsCommitted"): {1: "what is decided for good is decided"},
}
"""Conjuncts that are never all that is false, by module, property and number in the text, and why."""


def weakenings(expr: ir.Expr, where: ir.Loc) -> Iterator[tuple[ir.Loc, ir.Expr]]:
    """`expr` without one of its conjuncts, each in turn, and the place of that one.

    Looks below quantifiers, definitions, disjunctions, branches and on the right of implications; an equivalence has
    its two directions as conjuncts, `x \\in a..b` its two ends.
    """
    match expr:
        case ir.Mark() | ir.Let() | ir.Quant():
            inner = expr.loc if isinstance(expr, ir.Mark) and not expr.name else where
            for loc, body in weakenings(expr.body, inner):
                yield loc, dataclasses.replace(expr, body=body)
        case ir.Op("and", args):
            for i, arg in enumerate(args):
                loc = arg.loc if isinstance(arg, ir.Mark) and not arg.name else where
                for place, weaker in list(weakenings(arg, loc)) or [(loc, walk.TRUE)]:
                    yield place, dataclasses.replace(expr, args=(*args[:i], weaker, *args[i + 1 :]))
        case ir.Op("or", args):
            for i, arg in enumerate(args):
                for loc, weaker in weakenings(arg, where):
                    yield loc, dataclasses.replace(expr, args=(*args[:i], weaker, *args[i + 1 :]))
        case ir.Op("implies", (premise, conclusion)):
            for loc, weaker in weakenings(conclusion, where):
                yield loc, ir.Op("implies", (premise, weaker))
        case ir.Op("iff", (left, right)):
            yield where, ir.Op("implies", (right, left))
            yield where, ir.Op("implies", (left, right))
        case ir.Op("in", (value, ir.Op("range", (low, high)))):
            yield where, ir.Op("le", (value, high))
            yield where, ir.Op("ge", (value, low))
        case ir.If(condition, then, orelse):
            for loc, weaker in weakenings(then, where):
                yield loc, ir.If(condition, weaker, orelse)
            for loc, weaker in weakenings(orelse, where):
                yield loc, ir.If(condition, then, weaker)
        case ir.Case(arms, other):
            for i, (condition, value) in enumerate(arms):
                for loc, weaker in weakenings(value, where):
                    yield loc, ir.Case((*arms[:i], (condition, weaker), *arms[i + 1 :]), other)


class Weakened:
    """The properties of a table without one conjunct each, and per property their names and places in the text."""

    def __init__(self, table: Table) -> None:
        spec = table.judges.spec
        definitions = dict(spec.module.definitions)
        self.places: dict[str, dict[str, ir.Loc]] = {}
        for name in {fall.name for fall in table.falls}:
            whole = definitions[name]
            self.places[name] = {}
            for number, (loc, body) in enumerate(weakenings(whole.body, whole.loc), 1):
                weaker = f"{name}_{number}"
                definitions[weaker] = ir.Named(weaker, body, loc)
                self.places[name][weaker] = loc
        module = dataclasses.replace(spec.module, definitions=definitions)
        self.checks = PythonChecks(dataclasses.replace(spec, module=module))

    def is_false(self, kind: str, name: str, before: State, after: State) -> bool:
        """Is it false there? Not if it has no value."""
        try:
            if kind == "property":
                return not self.checks.property(name, before, after)
            return not self.checks.invariant(name, after)
        except EvaluationError:
            return False


weakened = cache(Weakened)


def not_needed(table: Table, name: str) -> dict[int, str]:
    """The property's conjuncts that no way to fall needs: their number in the text, and where they stand.

    A conjunct is needed where the property is false and without it is true, or has no value. Some conjuncts only see to
    it that the others have one.
    """
    judges, weaker = table.judges, weakened(table)
    falls = [fall for fall in table.falls if fall.name == name]
    kind = table.kind(falls[0])
    pairs = [pair for pair in (judges.wrong(fall, kind) for fall in falls) if weaker.is_false(kind, name, *pair)]
    return {
        number: str(loc)
        for number, (one, loc) in enumerate(weaker.places[name].items(), 1)
        if all(weaker.is_false(kind, one, *pair) for pair in pairs)
    }


@pytest.mark.parametrize(("table", "name"), ASKED, ids=[f"{table.spec.stem} {name}" for table, name in ASKED])
def test_every_conjunct_is_needed(table: Table, name: str) -> None:
    known = NEVER_ALONE.get((table.spec.stem, name), {})
    found = not_needed(table, name)
    assert found.keys() == known.keys(), {n: found.get(n, "is needed") for n in found.keys() ^ known.keys()}


def test_what_is_never_alone_is_of_a_property() -> None:
    assert NEVER_ALONE.keys() <= {(table.spec.stem, name) for table, name in ASKED}


def test_each_place_is_left_out_once() -> None:
    a, b, low, high = (ir.Var(name, primed=False) for name in ("a", "b", "low", "high"))
    both = ir.Op("and", (a, ir.Op("implies", (b, ir.Op("and", (low, high))))))
    assert [weaker for _, weaker in weakenings(both, ir.Loc("M", 1))] == [
        ir.Op("and", (walk.TRUE, both.args[1])),
        ir.Op("and", (a, ir.Op("implies", (b, ir.Op("and", (walk.TRUE, high)))))),
        ir.Op("and", (a, ir.Op("implies", (b, ir.Op("and", (low, walk.TRUE)))))),
    ]
    within = ir.Op("or", (ir.Op("in", (a, ir.Op("range", (low, high)))), ir.Op("iff", (a, b))))
    assert [weaker for _, weaker in weakenings(within, ir.Loc("M", 1))] == [
        ir.Op("or", (ir.Op("le", (a, high)), within.args[1])),
        ir.Op("or", (ir.Op("ge", (a, low)), within.args[1])),
        ir.Op("or", (within.args[0], ir.Op("implies", (b, a)))),
        ir.Op("or", (within.args[0], ir.Op("implies", (a, b)))),
    ]
