"""The compiler's front end: elaboration, the conventions that it enforces, hash and cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla import ir, sany, walk
from tidemark_conformance.tla import spec as specs
from tidemark_conformance.tla.ir import HasRule, If, Let, Lit, Local, Op, RuleGuard, Unchanged, Var

# Elaboration

BASE = r"""---- MODULE M ----
EXTENDS Integers, Sequences, FiniteSets, Folds, Bounded
CONSTANTS D, Without
VARIABLES x, y, h
vars == <<x, y, h>>
Ghosts == <<h>>
Has(rule) == rule \notin Without
TypeOK == x \in 0..3 /\ y \in [D -> 0..3] /\ h \in 0..9
Init == x = 0 /\ y = [d \in D |-> 0] /\ h = x
"""
NEXT = r"""
Next == \E d \in D : Act(d)
===="""
CFG = "INIT Init\nNEXT Next\nCONSTANTS D = {d1, d2}\nWithout = {}\n"


def load(
    folder: Path, body: str, cfg: str = CFG, also: tuple[str, ...] = (), texts: Mapping[str, str] | None = None
) -> specs.Specification:
    text = BASE + body
    (folder / "M.tla").write_text(text if "====" in body else text + NEXT)
    (folder / "M.cfg").write_text(cfg)
    return specs.load(folder / "M.tla", folder / "M.cfg", also=also, texts=texts)


def plain(expr: ir.Expr) -> ir.Expr:
    return walk.without_marks(expr)


ACT = "Act(d) == x' = 1 /\\ UNCHANGED <<y, h>>\n"
X, XP = Var("x", False), Var("x", True)
ONE = Lit(1, "int")


ELABORATED = [
    ("(x + 1)'", Op("add", (XP, ONE))),
    ("LET inc(a) == a + 1 IN inc(x)'", Op("add", (XP, ONE))),
    ("LET p(a) == a' IN p(x)", XP),
    ('Has("R") => x = 1', RuleGuard("R", "implies", Op("eq", (X, ONE)))),
    ('Has("R") /\\ x = 1', RuleGuard("R", "and", Op("eq", (X, ONE)))),
    (
        'IF Has("R") /\\ x = 1 THEN 1 ELSE 2',
        If(RuleGuard("R", "and", Op("eq", (X, ONE))), ONE, Lit(2, "int")),
    ),
    ('~Has("R")', Op("not", (HasRule("R"),))),
    ('"R" \\notin Without', HasRule("R")),
    (
        'x = 1 /\\ Has("R") /\\ x = 1 /\\ TRUE',
        Op("and", (Op("eq", (X, ONE)), RuleGuard("R", "and", Op("eq", (X, ONE))), Lit(True, "bool"))),
    ),
    ("UNCHANGED <<<<x>>, y>>", Unchanged(("x", "y"))),
    ("UNCHANGED vars", Unchanged(("x", "y", "h"))),
    ("-1", Lit(-1, "int")),
    ("x # 1", Op("ne", (X, ONE))),
    ("LET unused == 1 IN x", X),
]


def test_elaboration(tmp_path: Path) -> None:
    names = [f"E{number}" for number in range(len(ELABORATED))]
    body = "".join(f"{name} == {text}\n" for name, (text, _) in zip(names, ELABORATED, strict=True))
    spec = load(tmp_path, body + ACT, also=tuple(names))
    for name, (text, expected) in zip(names, ELABORATED, strict=True):
        assert plain(spec.module.definitions[name].body) == expected, text


def test_an_argument_used_twice_is_evaluated_once(tmp_path: Path) -> None:
    spec = load(tmp_path, "Sq(a) == a * a\nE == Sq(x + 1)\nF == Sq(x)\n" + ACT, also=("E", "F"))
    body = plain(spec.module.definitions["E"].body)
    assert isinstance(body, Let)
    assert body.value == Op("add", (X, ONE))
    assert body.body == Op("mul", (Local(body.uid, "a"), Local(body.uid, "a")))
    assert plain(spec.module.definitions["F"].body) == Op("mul", (X, X))


def test_a_mark_says_what_its_operator_is_given(tmp_path: Path) -> None:
    body = (
        """
P(a, b) == a < b /\\ x = x
Q(c) == \\A k \\in {1, 2} : P(c + k, y[k]) \\/ P(c * (k + 1), <<k, "s">>[1])
R(f(_), s) == LET n == f(x) IN P(n, s) /\\ P(IF x = 1 THEN 1 ELSE 2, x')
Neg(a) == 0 - a
E(d) == Q(d - 1) /\\ R(Neg, Len(<<d, x>>)) /\\ P({d}, [i |-> d].i) /\\ P(d, d + 1000000001 + 1000000002 + 1000000003)
G == \\E d \\in {1} : E(d)
"""
        + ACT
    )
    spec = load(tmp_path, body, also=("G",))
    calls = [node.call for node in walk.walk(spec.module.definitions["G"].body) if isinstance(node, ir.Mark)]
    assert list(dict.fromkeys(call for call in calls if call)) == [
        "G",
        "E(d)",
        "Q(d - 1)",
        "P((d - 1) + k, y[k])",
        'P((d - 1) * (k + 1), <<k, "s">>[1])',
        "R(Neg, Len(<<d, x>>))",
        "Neg(x)",
        "P(n, Len(<<d, x>>))",
        "P(..., x')",
        "P({d}, ...)",
        "P(d, ...)",
    ]


def test_what_an_operator_is_given_moves_no_key() -> None:
    marks = [ir.Mark("P", ir.Loc("M", 1), X, arguments) for arguments in ((), ("a",), ("b", "..."))]
    assert len(set(marks)) == 1
    assert len({repr(mark) for mark in marks}) == 1
    assert [mark.call for mark in marks] == ["P", "P(a)", "P(b, ...)"]


def test_every_bound_identifier_has_its_own_uid(tmp_path: Path) -> None:
    body = "P(S) == \\A a \\in S : \\E b \\in S : a <= b\nE == P({1}) /\\ P({2}) /\\ P({x})\n" + ACT
    spec = load(tmp_path, body, also=("E",))
    uids = [uid for node in walk.walk(spec.module.definitions["E"].body) for uid in walk.bound_by(node)]
    assert len(uids) == len(set(uids)) == 9


def test_an_action_is_split_into_body_and_ghosts(tmp_path: Path) -> None:
    body = """
NextH(d) == IF x' > x THEN h + y[d] ELSE h
Act(e) == LET n == x + 1
              k == h + n IN
    /\\ x < 3
    /\\ x' = n
    /\\ UNCHANGED y
    /\\ h' = NextH(e) + k
"""
    spec = load(tmp_path, body)
    (action,) = spec.module.actions
    assert [param.name for param in action.params] == ["e"]
    assert walk.variables_used(action.body) == {"x", "y"}
    assert walk.variables_used(action.ghosts["h"]) == {"x", "y", "h"}
    enabling = plain(walk.enabling(action))
    assert enabling == Op("lt", (X, Lit(3, "int")))
    lines = [mark.loc.line for mark in walk.walk(action.body) if isinstance(mark, ir.Mark) and not mark.name]
    assert lines == [14, 15, 16]
    assert spec.module.initial_ghosts.keys() == {"h"}
    assert walk.variables_used(spec.module.init) == {"x", "y"}


def test_two_phase_commit() -> None:
    folder = spec_root() / "two_phase"
    spec = specs.load(folder / "TwoPhase.tla", folder / "TwoPhase.cfg")
    assert spec.action_names == [
        "RMPrepare",
        "RMAbort",
        "TMReceivePrepared",
        "TMDecide",
        "TMRestart",
        "RMReceiveDecision",
    ]
    assert spec.module.variables == ("rmState", "tmState", "tmPrepared", "messages", "decided")
    assert spec.module.ghosts == ("decided",)
    assert spec.module.rules == ("CommitOnlyIfAllPrepared", "KeepDecision", "PreparedWaits")
    assert spec.module.constants == ("RM",)
    assert [named.name for named in spec.properties] == ["OutcomeIsFinal"]
    assert [named.name for named in spec.quiescence] == ["QuiescentAllDecided"]
    loc, last = spec.places["RMAbort"]
    text = (folder / "TwoPhase.tla").read_text().splitlines()[loc.line - 1 : last]
    assert text[0].startswith("RMAbort(r) ==")
    assert text[-1].strip().startswith("/\\ decided'")


def test_next_may_name_families_of_actions(tmp_path: Path) -> None:
    body = """
A(d) == x' = 1 /\\ UNCHANGED <<y, h>>
B == x' = 2 /\\ UNCHANGED <<y, h>>
C(d, e) == \\/ x' = 3 /\\ y' = [y EXCEPT ![d] = 1] /\\ e
           \\/ x' = 4 /\\ UNCHANGED y /\\ ~e
Both(d, e) == C(d, e) /\\ UNCHANGED h
Some == \\/ \\E a \\in D : A(a)
        \\/ B
Next == Some \\/ \\E b \\in D, e \\in BOOLEAN : Both(b, e)
===="""
    spec = load(tmp_path, body.replace("/\\ y' =", "/\\ y' ="))
    assert spec.action_names == ["A", "B", "Both"]
    assert [param.name for param in spec.action("Both").params] == ["d", "e"]


# The refused text, and its place

REFUSED = {
    "a guard reads a ghost": (
        "Act(d) == /\\ h < 3\n /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n",
        "@0 Act mentions a ghost",
    ),
    "an update reads a ghost": ("Act(d) == x' = h /\\ UNCHANGED <<y, h>>\n", "@0 Act mentions a ghost"),
    "no conjunct for a ghost": (
        "Act(d) == x' = 1 /\\ UNCHANGED y\n",
        "@0 Act has no conjunct of its own for .* h",
    ),
    "a ghost in a disjunction": (
        "Act(d) == (x' = 1 /\\ UNCHANGED <<y, h>>) \\/ (x' = 2 /\\ UNCHANGED <<y, h>>)\n",
        "@0 Act mentions a ghost",
    ),
    "a ghost under IF": (
        "Act(d) == x' = 1 /\\ UNCHANGED y\n /\\ IF x = 0 THEN h' = 1 ELSE h' = 2\n",
        "@1 Act mentions a ghost",
    ),
    "a ghost twice": ("Act(d) == x' = 1 /\\ UNCHANGED <<y, h>>\n /\\ h' = 1\n", "@1 the ghost h is given twice"),
    "a variable left open": ("Act(d) == x' = 1 /\\ UNCHANGED h\n", "@0 Act does not say what becomes of y"),
    "a guard with a prime": (
        "Act(d) ==\n /\\ x' = 1\n /\\ Has(\"R\") => x' > x\n /\\ UNCHANGED <<y, h>>\n",
        "@2 the guard R reads the next state",
    ),
    "a domain that is not constant": (
        "Act(d) == x' = d /\\ UNCHANGED <<y, h>>\nNext == \\E d \\in 0..x : Act(d)\n====",
        "@1 a parameter of Act ranges over a set that is not constant",
    ),
    "an unnamed disjunct": (
        ACT + "Next == \\E d \\in D : Act(d) /\\ x < 3\n====",
        "@1 Next has a disjunct that is no",
    ),
    "a bound that is not passed": (
        "Act == x' = 1 /\\ UNCHANGED <<y, h>>\nNext == \\E d \\in D : Act\n====",
        "@1 d is bound but not passed to Act",
    ),
    "an argument that is no parameter": (ACT + "Next == Act(1)\n====", "@1 an argument of Act is no parameter"),
    "an action twice": (ACT + "Next == (\\E d \\in D : Act(d)) \\/ (\\E e \\in D : Act(e))\n====", "action Act twice"),
    "recursion": (
        "RECURSIVE F(_)\nF(n) == IF n = 0 THEN 0 ELSE F(n - 1)\nAct(d) == x' = F(1) /\\ UNCHANGED <<y, h>>\n",
        "@2 F is RECURSIVE: use FoldSet",
    ),
    "a recursive function": (
        "f[n \\in 0..2] == IF n = 0 THEN 0 ELSE f[n - 1]\nAct(d) == x' = f[1] /\\ UNCHANGED <<y, h>>\n",
        "@0 a recursive function cannot be compiled",
    ),
    "CHOOSE without a set": (
        "Act(d) == x' = (CHOOSE v : v > 1) /\\ UNCHANGED <<y, h>>\n",
        "@0 CHOOSE without a domain",
    ),
    "a quantifier without a set": (
        "Act(d) == (\\A v : v = x) /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n",
        "@0 a quantifier",
    ),
    "ENABLED": (
        "Act(d) == ENABLED (x' = 2) /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n",
        "@0 ENABLED cannot be compiled",
    ),
    "a power": ("Act(d) == x' = 2 ^ x /\\ UNCHANGED <<y, h>>\n", "@0 \\^ of module Naturals cannot be compiled"),
    "a prime on a LET": (
        "Act(d) == LET v == x + 1 IN x' = 1 /\\ v' = 2 /\\ UNCHANGED <<y, h>>\n",
        "@0 the prime reaches the LET definition v",
    ),
    "a computed rule": (
        'Act(d) == (\\A r \\in {"A"} : Has(r)) /\\ x\' = 1 /\\ UNCHANGED <<y, h>>\n',
        "@-3 a rule's name is computed",
    ),
    "another use of Without": (
        "Act(d) == Without = {} /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n",
        "@0 Without is read otherwise than by Has",
    ),
    "UNCHANGED of an expression": (
        "Act(d) == UNCHANGED (x + 1) /\\ UNCHANGED <<y, h>>\n",
        "@0 a tuple of variables",
    ),
    "a ghost's next value that reads one": (
        "Act(d) == x' = 1 /\\ UNCHANGED y /\\ h' = (IF h' = 1 THEN 1 ELSE 2)\n",
        "@0 the next value of h mentions a ghost",
    ),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """One module that holds every refused text, its names made different, and the line where each begins."""
    folder = tmp_path_factory.mktemp("refused")
    text = BASE
    lines: dict[str, int] = {}
    for number, (what, (body, _)) in enumerate(REFUSED.items()):
        whole = body.replace("====", "") if "Next ==" in body else body + NEXT.replace("====", "")
        lines[what] = text.count("\n") + 1
        text += re.sub(r"\b(Act|Next|F|f)\b", rf"\g<1>{number}", whole).rstrip("\n") + "\n"
    (folder / "M.tla").write_text(text + "====\n")
    return folder, lines


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_the_line(refused: tuple[Path, dict[str, int]], tmp_path: Path, what: str) -> None:
    folder, lines = refused
    number = list(REFUSED).index(what)
    complaint = re.sub(r"\b(Act|F)\b", rf"\g<1>{number}", REFUSED[what][1])
    found = re.match(r"@(-?\d+) (.*)", complaint)
    if found:
        line = lines[what] + int(found[1]) if int(found[1]) >= 0 else 10 + int(found[1])
        complaint = rf"^M\.tla:{line}: {found[2]}"
    (tmp_path / "M.cfg").write_text(CFG.replace("NEXT Next", f"NEXT Next{number}"))
    with pytest.raises(Unsupported, match=complaint):
        specs.load(folder / "M.tla", tmp_path / "M.cfg")


@pytest.mark.parametrize(
    ("cfg", "complaint"),
    [
        ("INIT Init\nNEXT Next\nCONSTANT Without = {}", "no value to the constant D"),
        (CFG + "CONSTANT E = 1", "E is given a value, but is no constant"),
        (CFG.replace("Without = {}", 'Without = {"Q"}'), "Without names Q, which is no rule"),
        (CFG + "INVARIANT Missing", "does not define Missing"),
        (CFG + "INVARIANT Act", "Act has parameters"),
        (CFG + "INVARIANT Moves", "Moves mentions the next state"),
        ("SPECIFICATION Odd\nCONSTANTS D = {d1}\nWithout = {}", "Odd is not Init"),
        (CFG.replace("D = {d1, d2}", "D <- Var"), "Var mentions variables"),
        (CFG.replace("INIT Init", "INIT Start"), "does not define Start"),
    ],
)
def test_cfgs_that_do_not_fit(tmp_path: Path, cfg: str, complaint: str) -> None:
    with pytest.raises(Unusable, match=complaint):
        load(tmp_path, ACT + "Moves == x' = 1\nOdd == [][Moves]_vars\nVar == {x}\n", cfg)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("Act(d) == x' = = 1\n", "M.tla:10: "),
        ("Act(d) == x' = z\n", "M.tla:10: Unknown operator: `z'"),
    ],
)
def test_what_sany_refuses_is_one_sentence(tmp_path: Path, body: str, complaint: str) -> None:
    with pytest.raises(Unusable, match=complaint) as caught:
        load(tmp_path, body)
    assert "\n" not in str(caught.value)


# Models, constants, hash, cache

MODEL = r"""---- MODULE MCM ----
EXTENDS M, TLC
CONSTANT MaxX
MCWithout == {"R"}
MCD == LET two == {"p", "q"} IN two \cup {"r"}
Small == x < MaxX
Perms == Permutations(D)
==== """


def test_a_model_module_keeps_the_specifications_hash(tmp_path: Path) -> None:
    body = 'Act(d) == (Has("R") => x < 3) /\\ x\' = 1 /\\ UNCHANGED <<y, h>>\n'
    spec = load(tmp_path, body)
    (tmp_path / "MCM.tla").write_text(MODEL)
    (tmp_path / "MCM.cfg").write_text(
        "INIT Init\nNEXT Next\nCONSTANTS D <- MCD Without <- MCWithout MaxX = 2\nCONSTRAINT Small\nINVARIANT TypeOK\n"
    )
    model = specs.load(tmp_path / "MCM.tla", tmp_path / "MCM.cfg")
    assert model.hash == spec.hash
    assert model.module.name == spec.module.name == "M"
    assert model.constants == {"D": frozenset({"p", "q", "r"}), "Without": frozenset({"R"})}
    assert model.without == {"R"}
    assert list(model.sources) == ["MCM", "M", "Bounded", "Folds"]


@pytest.mark.deep
def test_the_hash_ignores_comments_places_and_names_of_locals(tmp_path: Path) -> None:
    first = load(tmp_path, "Act(d) == (\\A a \\in D : y[a] < 3) /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n")
    same = load(
        tmp_path,
        "\\* a comment\nAll == \\A b \\in D : y[b] < 3\nAct(d) ==\n  /\\ All\n  /\\ x' = 1\n  /\\ UNCHANGED <<y, h>>\n",
        CFG + "INVARIANT TypeOK\n",
    )
    other = load(tmp_path, "Act(d) == (\\A a \\in D : y[a] < 2) /\\ x' = 1 /\\ UNCHANGED <<y, h>>\n")
    assert first.hash == same.hash
    assert first.hash != other.hash


@pytest.mark.deep
def test_the_hash_covers_what_a_trace_depends_on_and_no_ghost(tmp_path: Path) -> None:
    text = BASE + "Act(d) == x < 3 /\\ x' = x + 1 /\\ UNCHANGED y /\\ h' = h + x" + NEXT

    def hash_of(*changes: tuple[str, str]) -> str:
        changed = text
        for old, new in changes:
            assert old in changed
            changed = changed.replace(old, new)
        return load(tmp_path, "", texts={"M": changed}).hash

    first = hash_of()
    same = [
        (("h' = h + x", "h' = h + 2 * x"),),
        (("h' = h + x", "UNCHANGED h"),),
        (("/\\ h = x", "/\\ h = 1"),),
        (("h \\in 0..9", "h \\in 0..8"),),
        (("h \\in 0..9", "h \\in {0, 1, 2} \\cup 3..9"),),
        (("VARIABLES x, y, h", "VARIABLES x, h, y"),),
        (("x, y, h\n", "x, y, g\n"), ("<<h>>", "<<g>>"), ("h \\in", "g \\in"), ("h = x", "g = x"), ("h' = h", "g' = g"),
         ("y, h>>", "y, g>>")),
        (("x, y, h\n", "x, y\n"), ("<<h>>", "<<>>"), ("/\\ h \\in 0..9", ""), ("/\\ h = x", ""), ("/\\ h' = h + x", ""),
         ("y, h>>", "y>>")),
        (("x, y, h\n", "x, y, h, g\n"), ("<<h>>", "<<g, h>>"), ("h \\in 0..9", "h \\in 0..9 /\\ g \\in BOOLEAN"),
         ("h = x", "h = x /\\ g = (x = 0)"), ("h' = h + x", "h' = h + x /\\ g' = (x = 1)"),
         ("y, h>>", "y, h, g>>")),
    ]  # fmt: skip
    assert {hash_of(*changes) for changes in same} == {first}
    others = [
        (("x \\in 0..3", "x \\in 0..4"),),
        (("[D -> 0..3]", "[D -> 0..2]"),),
        (("Init == x = 0", "Init == x = 1"),),
        (("[d \\in D |-> 0]", "[d \\in D |-> 1]"),),
        (("x < 3", "x < 2"),),
        (("x' = x + 1", "x' = x + 2"),),
        (("\\E d \\in D : Act(d)", "\\E d \\in {CHOOSE d \\in D : TRUE} : Act(d)"),),
        (("Act(", "Step("),),
        (("x, y, h\n", "x, z, h\n"), ("y \\in", "z \\in"), ("y =", "z ="), ("UNCHANGED y", "UNCHANGED z"),
         ("x, y,", "x, z,")),
    ]  # fmt: skip
    found = [hash_of(*changes) for changes in others]
    assert len({first, *found}) == len(found) + 1


def test_loading_again_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    spec = load(tmp_path, ACT)

    def fail(*_: object, **__: object) -> sany.Tables:
        raise AssertionError("SANY ran again")

    monkeypatch.setattr(sany, "read", fail)
    assert specs.load(tmp_path / "M.tla", tmp_path / "M.cfg") == spec
    for file in (tmp_path / "cache").glob("*/*.pickle"):
        file.write_bytes(b"damaged")
    with pytest.raises(AssertionError):
        specs.load(tmp_path / "M.tla", tmp_path / "M.cfg")
    with pytest.raises(AssertionError):
        load(tmp_path, ACT + "\\* changed\n")
