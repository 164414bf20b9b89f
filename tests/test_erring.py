"""Expressions without a value in some states: the kernels and the Python backend against TLC's evaluator.

`tidemark agree` cannot compare them: TLC ends at the first error. A check that has an error is not true, so a backend
that goes on is one that lets a wrong trace pass.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tlc_evaluator
from generated_specs import Env, Writer
from kernel_reference import MODELS, subject
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tlc import shared
from tlc_evaluator import Verdict, evaluated

pytest.importorskip(shared._CLIENT)

HEAD = r"""EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
VARIABLES f, k, r, s
vars == <<f, k, r, s>>
TypeOK == f \in [1..2 -> 0..2] /\ k \in 0..3 /\ r \in [a : 0..2, b : 0..2] /\ s \in BoundedSeq(0..2, 2)
Init == f \in {<<0, 2>>, <<2, 0>>} /\ k \in 0..3 /\ r = [a |-> 1, b |-> 0] /\ s \in {<<>>, <<1>>, <<2, 0>>}
Stay == UNCHANGED vars
Next == Stay
"""
WITHOUT_VALUE = [r"(2 \div (k - 1))", "s[1]"]
TEMPLATES, _, PLAIN = (MODELS / "erring.txt").read_text(encoding="utf-8").partition("\n\n")
FORMS = [
    *(
        re.sub(r"\bD\b", lambda _, danger=danger: danger, line)  # type: ignore[misc]
        for danger in WITHOUT_VALUE
        for line in TEMPLATES.splitlines()
        if not line.startswith("#")
    ),
    *PLAIN.split("\n"),
]
FORMS = [form for form in dict.fromkeys(FORMS) if form]
STRICTER = {
    r"(LET g == [x \in 1..3 |-> f[x]] IN g[1] >= 0 /\ DOMAIN g = 1..3)",
    r"[[x \in 1..3 |-> f[x]] EXCEPT ![1] = 1][1] = 1",
    r"<<[x \in 1..3 |-> f[x]], 1>>[2] = 1",
    r"[x \in 1..3, y \in 1..2 |-> f[x]][1, 2] >= 0",
    r"[[x \in 1..3 |-> [y \in 1..2 |-> f[x]]] EXCEPT ![1][2] = 1][1][2] = 1",
}
"""TLC does not evaluate these function literals whole, a backend does: it refuses what TLC accepts."""
A_MODULE = 90
"""Expressions for one module of kernels."""


Compared = tuple[str, list[Verdict], list[bool], list[Verdict]]
"""A form, and what TLC, the kernels and the Python backend say of it in every initial state."""


@pytest.fixture(scope="module")
def java() -> Iterator[shared.Java]:
    with tlc_evaluator.java() as started:
        yield started


def compared(java: shared.Java, folder: Path, forms: list[str]) -> list[Compared]:
    """Each form with what TLC, the kernels and the Python backend say of it in every initial state."""
    names = {f"E{at}": form for at, form in enumerate(forms)}
    module, cfg = folder / "Erring.tla", folder / "Erring.cfg"
    body = "".join(f"{name} == {form}\n" for name, form in names.items())
    module.write_text(f"---- MODULE Erring ----\n{HEAD}{body}====\n", encoding="utf-8")
    cfg.write_text("INIT Init\nNEXT Next\nINVARIANTS\n" + "\n".join(["TypeOK", *names]) + "\n", encoding="utf-8")
    one = subject(module, cfg)
    rows = evaluated(java, module)
    states = [state for state, _ in rows]
    cells = one.rows(states)
    found = []
    for name, form in names.items():
        if name in rows[0][1]:
            said = [verdicts[name] for _, verdicts in rows]
            kernels = np.asarray(one.kernels.invariants_batch(name, cells)).tolist()
            found.append((form, said, kernels, [_asked(one.python.invariant, name, state) for state in states]))
    return found


@cache
def compared_from(java: shared.Java, first: int) -> list[Compared]:
    """The forms of the module that begins with this one."""
    with temporary_folder("erring-") as folder:
        return compared(java, folder, FORMS[first : first + A_MODULE])


def _asked(invariant: Callable[..., bool], name: str, state: object) -> Verdict:
    try:
        return bool(invariant(name, state))
    except EvaluationError:
        return None


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, len(FORMS), A_MODULE))
def test_errors_are_tlcs(java: shared.Java, first: int) -> None:
    for form, said, kernels, python in compared_from(java, first):
        true = [verdict is True for verdict in said]
        if form in STRICTER:
            assert python != said, f"{form}: no longer stricter"
            assert all(mine is None or mine == theirs for mine, theirs in zip(python, said, strict=True)), form
            assert all(theirs or not mine for mine, theirs in zip(kernels, true, strict=True)), form
        else:
            assert (kernels, python) == (true, said), form


@pytest.mark.deep
def test_the_forms_err_in_some_states_only(java: shared.Java) -> None:
    """Of most forms TLC has a value in some states and an error in others, so that they tell something."""
    found = compared_from(java, 0)
    assert sum(None in said and True in said for _, said, _, _ in found) > 0.8 * len(found)


class Erring(Writer):
    """Writes expressions over the variables of HEAD that may have no value."""

    def int_forms(self) -> list[Callable[[Env, int], str]]:
        several: list[Callable[[Env, int], str]] = [
            lambda e, d: f"({self.write('int', e, d)} \\div {self.write('int', e, 0)})",
            lambda e, d: f"{self.write('seq', e, d)}[{self.write('int', e, 0)}]",
            lambda e, d: f"Head({self.write('seq', e, d)})",
            lambda e, d: f"<<{self.write('int', e, d)}, {self.write('int', e, d)}>>[{self.draw.choice('12')}]",
            lambda e, d: f"[a |-> {self.write('int', e, d)}, on |-> {self.write('bool', e, d)}].a",
        ]
        several.append(self.applied)
        chosen = (self.only, self.least)
        return [form for form in super().int_forms() if form not in chosen] + several * 2

    def applied(self, env: Env, depth: int) -> str:
        (name,) = self.names(env, 1)
        body = self.write("int", (*env, (name, "int")), depth)
        return f"[{name} \\in {self.write('ints', env, depth)} |-> {body}][{self.write('int', env, 0)}]"


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
def test_generated_expressions_err_where_tlc_says(java: shared.Java, seed: int, tmp_path: Path) -> None:
    """Without CHOOSE, of which the backends want one witness where TLC takes the first."""
    writer = Erring(random.Random(seed), state=True)
    writer.variables = {"k": "int", "s": "seq", "st_": "ints"}
    writer.taken = {"f", "k", "r", "s"}
    written = [writer.write("bool", (), 4).replace("st_", "{s[k]}") for _ in range(70)]
    forms = [form for form in written if re.search(r"\b[ks]\b", form)]  # TLC evaluates constants at once
    found = compared(java, tmp_path, forms)
    assert sum(None in said for _, said, _, _ in found) > 10
    for form, said, kernels, python in found:
        assert kernels == [verdict is True for verdict in said], form
        assert all(mine is None or mine == theirs for mine, theirs in zip(python, said, strict=True)), form
