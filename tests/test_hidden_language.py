"""`Hidden` and `Observed` in a specification: the updates that determine a variable, and the others' refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla import spec as specs
from tidemark_conformance.tla.python import compile_python

MODULE = r"""---- MODULE Part ----
EXTENDS Naturals, Sequences
VARIABLES x, h, k
vars == <<x, h, k>>
Hidden == <<h, k>>
Observed == [h |-> h, both |-> h + k]
TypeOK == /\ x \in 0..9 /\ h \in 0..9 /\ k \in [0..1 -> 0..9]
Init == /\ x = 0
        /\ h = 1
        /\ k = [i \in 0..1 |-> i]
Do(p) ==
  BODY
Next == \E p \in 0..1 : Do(p)
Spec == Init /\ [][Next]_vars
====
"""


def load(tmp_path: Path, body: str, **replaced: str) -> specs.Specification:
    """The module with this action; `replaced`: other texts for the definitions of these names."""
    text = MODULE.replace("BODY", body).replace("both |-> h + k]", "both |-> h + k[0]]")
    for name, definition in replaced.items():
        lines = [line for line in text.splitlines() if not line.startswith(f"{name} ==")]
        lines.insert(4, f"{name} == {definition}")
        text = "\n".join(lines)
    file = tmp_path / "Part.tla"
    file.write_text(text)
    cfg = tmp_path / "Part.cfg"
    cfg.write_text("SPECIFICATION Spec\nINVARIANT TypeOK\n")
    return specs.load(file, cfg)


STATE = {"x": 0, "h": 1}
GOOD = [
    ("x' = x + 1 /\\ h' = h + x' /\\ UNCHANGED k", 1, 2),
    ("h' = k'[0] + 1 /\\ k' = [k EXCEPT ![p] = 5] /\\ x' = x", 0, 6),
    ("IF x = 0 THEN x' = 1 /\\ h' = 7 /\\ UNCHANGED k ELSE k' = [k EXCEPT ![0] = 2] /\\ UNCHANGED <<h, x>>", 1, 7),
    ("(CASE x = 0 -> h' = 3 [] OTHER -> UNCHANGED h) /\\ UNCHANGED <<x, k>>", 0, 3),
    ("LET y == h + 1 IN /\\ h' = y /\\ x' = y /\\ k' = [k EXCEPT ![p] = y]", 2, 2),
    ("/\\ h > 0 /\\ 4 = h' /\\ UNCHANGED <<x, k>>", 0, 4),
    ("/\\ h' = 4 /\\ h' = x' /\\ x' \\in 0..9 /\\ UNCHANGED k", 4, 4),
]


@pytest.mark.parametrize(("body", "x", "h"), GOOD)
def test_updates_that_determine(body: str, x: int, h: int, tmp_path: Path) -> None:
    checks = compile_python(load(tmp_path, body))
    first: dict[str, Any] = {"x": 0, **checks.initial_hidden({"x": 0})}
    assert first["h"] == 1
    assert checks.init(first)
    after = {"x": x, **checks.hidden("Do", (0,), first, {"x": x})}
    assert after["h"] == h
    assert checks.action("Do", (0,), first, after)
    assert not checks.action("Do", (0,), first, {**after, "h": 8})
    assert not checks.action("Do", (0,), first, {**after, "x": 9})


BAD = [
    ("h' \\in 0..1 /\\ UNCHANGED <<x, k>>", "make the value a parameter"),
    ("(h' = 0 \\/ h' = 1) /\\ UNCHANGED <<x, k>>", "a disjunction may give h' two values"),
    ("(\\E z \\in 0..1 : h' = z) /\\ UNCHANGED <<x, k>>", "make the value a parameter"),
    ("(x = 0 => h' = 1) /\\ UNCHANGED <<x, k>>", "only sometimes"),
    ("(IF x = 0 THEN h' = 1 ELSE TRUE) /\\ UNCHANGED <<x, k>>", "a branch says nothing of h'"),
    ("(IF x = 0 THEN h' = 1 ELSE h' > 2) /\\ UNCHANGED <<x, k>>", "is not of the form h' = e"),
    ("k'[0] = 1 /\\ UNCHANGED <<x, h>>", "is not of the form k' = e"),
    ("h' = k'[0] /\\ k' = [k EXCEPT ![0] = h'] /\\ UNCHANGED x", "by each other, a circle"),
    ("h' = h' + 0 /\\ UNCHANGED <<x, k>>", "by each other, a circle"),
]


@pytest.mark.parametrize(("body", "complaint"), BAD)
def test_updates_that_do_not(body: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=complaint) as found:
        load(tmp_path, body)
    assert str(found.value).startswith(("Part.tla:11: ", "Part.tla:12: "))


FINE = "UNCHANGED <<x, h, k>>"


@pytest.mark.parametrize(
    ("replaced", "complaint"),
    [
        ({"Init": "x = 0 /\\ h \\in 0..1 /\\ k = [i \\in 0..1 |-> i]"}, "Init does not determine the hidden"),
        ({"Init": "x = 0 /\\ h = k[0] /\\ k = [i \\in 0..1 |-> h]"}, "a circle"),
        ({"Hidden": "<<h, h, k>>"}, "h is hidden and a ghost, or hidden twice"),
        ({"Hidden": "<<h, k>>\nGhosts == <<h>>"}, "h is hidden and a ghost, or hidden twice"),
        ({"Observed": "h"}, "Observed is no record"),
        ({"Observed": "[h |-> h']"}, "mentions the next state"),
        ({"Observed(n)": "[h |-> k[n]]"}, "does not define Observers"),
        ({"Observed(n, m)": "[h |-> k[n]]"}, "more than one parameter"),
    ],
)
def test_other_refusals(replaced: dict[str, str], complaint: str, tmp_path: Path) -> None:
    text = MODULE
    if "Init" in replaced:
        text = text.replace("        /\\ h = 1\n        /\\ k = [i \\in 0..1 |-> i]\n", "")
    lines = text.replace("BODY", FINE).splitlines()
    for name, definition in replaced.items():
        plain = name.split("(")[0]
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{plain} =="))
        lines[at] = f"{name} == {definition}"
    (tmp_path / "Part.tla").write_text("\n".join(lines).replace("h + k]", "h]"))
    (tmp_path / "Part.cfg").write_text("SPECIFICATION Spec\nINVARIANT TypeOK\n")
    with pytest.raises(Exception, match=complaint):
        specs.load(tmp_path / "Part.tla", tmp_path / "Part.cfg")


def test_observed_without_hidden_is_an_operator_like_another(tmp_path: Path) -> None:
    text = MODULE.replace("BODY", FINE).replace("Hidden == <<h, k>>\n", "").replace("h + k]", "h]")
    (tmp_path / "Part.tla").write_text(text)
    (tmp_path / "Part.cfg").write_text("SPECIFICATION Spec\nINVARIANT TypeOK\n")
    module = specs.load(tmp_path / "Part.tla", tmp_path / "Part.cfg").module
    assert (module.hidden, module.observed, module.carried) == ((), None, ("x", "h", "k"))


def test_the_hash_knows_what_is_hidden_and_observed(tmp_path: Path) -> None:
    hashes = {
        load(tmp_path, FINE).hash,
        load(tmp_path, FINE, Hidden="<<h>>").hash,
        load(tmp_path, FINE, Observed="[h |-> h]").hash,
        load(tmp_path, FINE.replace("h, k>>", "k>> /\\ h' = h")).hash,
    }
    assert len(hashes) == 4
