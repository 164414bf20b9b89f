"""Integers in the kernels: a result beyond 64 bits is an evaluation error, as it is one to TLC beyond its 32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.runtime import Kernels
from tidemark_conformance.tla.spec import load

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
EDGES = "---- MODULE Edges ----\nEXTENDS Integers\nVARIABLES x, y, z\n"
WIDE = "-9223372036854775808..9223372036854775807"
TYPE = f"TypeOK == x \\in {WIDE} /\\ y \\in {WIDE} /\\ z \\in {WIDE}\n"
REST = "Init == x = 0 /\\ y = 0 /\\ z = 0\nStay == UNCHANGED <<x, y, z>>\nNext == Stay\n"
PREDICATES = {
    "Sum": ("x + y = z", lambda x, y: x + y),
    "Difference": ("x - y = z", lambda x, y: x - y),
    "Product": ("x * y = z", lambda x, y: x * y),
    "Negative": ("-x = z", lambda x, y: -x),
    "Quotient": ("x \\div y = z", lambda x, y: x // y if y else None),
    "Fourth": ("x * x * x * x = z", lambda x, y: x**4),
}


def compiled(folder: Path, body: str, invariants: str = "") -> Kernels:
    file, config = folder / "Edges.tla", folder / "Edges.cfg"
    file.write_text(f"{EDGES}{body}====\n")
    config.write_text(f"INIT Init\nNEXT Next\nINVARIANTS TypeOK {invariants}\n")
    return compile_kernels(load(file, config))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    stated = "".join(f"{name} == {text}\n" for name, (text, _) in PREDICATES.items())
    return compiled(tmp_path_factory.mktemp("edges"), TYPE + REST + stated, " ".join(PREDICATES))


def wrapped(value: int) -> int:
    return (value - LEAST) % (1 << 64) + LEAST


edges = [*range(-3, 4), *range(LEAST, LEAST + 3), *range(GREATEST - 2, GREATEST + 1)]
numbers = st.one_of(st.sampled_from(edges), st.integers(LEAST, GREATEST), st.integers(-(1 << 33), 1 << 33))


@given(numbers, numbers, st.integers(-1, 1))
def test_what_needs_more_than_64_bits_is_no_value(kernels: Kernels, x: int, y: int, off: int) -> None:
    for name, (_, meant) in PREDICATES.items():
        value = meant(x, y)
        z = 0 if value is None else wrapped(value + off)
        right = value is not None and LEAST <= value <= GREATEST and value == z
        assert kernels.invariants_batch(name, np.array([[x, y, z]], np.int64)).tolist() == [right], name


@pytest.mark.parametrize("number", ["18446744073709551616", "9223372036854775807 + 1", "-9223372036854775807 - 2"])
def test_a_number_of_more_than_64_bits_is_refused_with_its_line(number: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"Edges\.tla:8: .*needs more than 64 bits"):
        compiled(tmp_path, f"{TYPE}{REST}Never == x # {number}\n", "Never")


def test_a_range_of_more_than_64_bits_has_no_cardinality(tmp_path: Path) -> None:
    body = f"EXTENDS FiniteSets\n{TYPE}{REST}Small == Cardinality(x..y) = z\n".replace("EXTENDS FiniteSets\n", "")
    found = compiled(tmp_path, "LOCAL INSTANCE FiniteSets\n" + body, "Small")
    rows = np.array([[0, 6, 7], [LEAST, GREATEST, 0], [3, 1, 0], [LEAST, -2, GREATEST]], np.int64)
    assert found.invariants_batch("Small", rows).tolist() == [True, False, True, True]


def test_constants_that_lead_beyond_64_bits_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, config = tmp_path / "Big.tla", tmp_path / "Big.cfg"
    file.write_text(
        "---- MODULE Big ----\nEXTENDS Integers\nCONSTANT Max\nVARIABLE x\nTypeOK == x \\in 0..Max\n"
        "Init == x = 0\nGo == x' = IF x > Max * Max * Max THEN 0 ELSE 1\nNext == Go\n====\n"
    )
    for value in (2147483647, 1 << 64):
        config.write_text(f"INIT Init\nNEXT Next\nCONSTANT Max = {value}\nINVARIANT TypeOK\n")
        with pytest.raises(Unusable, match="needs more than 64 bits"):
            compile_kernels(load(file, config))
    (tmp_path / "a.ndjson").write_text("")
    assert main(["audit", str(tmp_path / "a.ndjson"), "--spec", str(file), "--config", str(config)]) == 2
    assert "Traceback" not in capsys.readouterr().err
