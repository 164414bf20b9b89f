"""TLC's configuration files, read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfgs
from tidemark_conformance.tla.values import ModelValue


def test_cfg_with_everything() -> None:
    config = cfgs.parse(
        r"""
        \* a comment with INVARIANT inside
        SPECIFICATION Spec (* nested (* comment *) *)
        CONSTANT N = 3 Low = -2
        CONSTANTS
            Nodes = {n1, n2, "s", {1, 7}}   Flag = FALSE
            None = None, Text = "a \" b"
            Bound <- MCBound
        INVARIANT TypeOK INVARIANTS Safe, Sound
        PROPERTIES Live
        PROPERTY Also
        SYMMETRY Perms VIEW Shown
        CONSTRAINT Small
        CONSTRAINTS Tiny
        ACTION_CONSTRAINT Fast
        """
    )
    assert config.specification == "Spec"
    assert config.constants == {
        "N": 3,
        "Low": -2,
        "Nodes": frozenset({ModelValue("n1"), ModelValue("n2"), "s", frozenset({1, 7})}),
        "Flag": False,
        "None": ModelValue("None"),
        "Text": 'a " b',
    }
    assert config.substitutions == {"Bound": "MCBound"}
    assert config.invariants == ("TypeOK", "Safe", "Sound")
    assert config.properties == ("Live", "Also")
    assert (config.symmetry, config.view) == ("Perms", "Shown")
    assert config.constraints == ("Small", "Tiny")
    assert config.action_constraints == ("Fast",)
    assert config.check_deadlock is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("INIT Init\nNEXT", ":2: expected the name that NEXT gives"),
        ("CONSTANT\nN", ":2: constant N has no value"),
        ("CONSTANT N = {1, 2", "expected a set's }|expected `}`|has no `,` or `}`"),
        ("CONSTANT N = 1 N = 2", "given twice"),
        ("Foo", "stands where a statement should start"),
        ("CONSTANT N = <<1>>", "has no meaning in a cfg"),
        ("(* open", "has no end"),
        ("CONSTANT N <- [Other] Foo", "for one module only"),
        ("INIT A\nINIT B", "INIT is given twice"),
        ("CHECK_DEADLOCK MAYBE", "write TRUE or FALSE"),
    ],
)
def test_cfg_refusals(text: str, complaint: str) -> None:
    with pytest.raises(Unusable, match=complaint):
        cfgs.parse(text, "x.cfg")


def test_a_cfg_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="cannot be read"):
        cfgs.read(tmp_path / "none.cfg")
