"""An ASSUME that a cfg's constants break is refused wherever a specification is loaded, as TLC refuses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of
from trace_lines import signed, write

BASE = """---- MODULE Base ----
EXTENDS Integers
CONSTANT Low
ASSUME Low \\in Nat
====
"""

TOP = """---- MODULE Top ----
EXTENDS Integers, FiniteSets, Base
CONSTANTS Max, Nodes, None
ASSUME /\\ Max > 0
       /\\ IsFiniteSet(Nodes) /\\ None \\notin Nodes
ASSUME Ordered == Low < Max
%s
VARIABLE x
TypeOK == x \\in Low..9
Init == x = Low
Up == x < 9 /\\ x' = x + 1
Next == Up
====
"""

GOOD = {"Low": "0", "Max": "7", "Nodes": "{a, b}", "None": "None"}


def _files(folder: Path, more: str = "", **constants: str) -> tuple[Path, Path]:
    (folder / "Base.tla").write_text(BASE)
    (folder / "Top.tla").write_text(TOP % more)
    given = "".join(f"    {name} = {value}\n" for name, value in {**GOOD, **constants}.items())
    (folder / "Top.cfg").write_text(f"INIT Init\nNEXT Next\nCONSTANTS\n{given}")
    return folder / "Top.tla", folder / "Top.cfg"


def test_assumptions_that_hold_change_nothing(tmp_path: Path) -> None:
    specification = load(*_files(tmp_path))
    assert set(specification.constants) == {"Low", "Without"}  # those of the ASSUMEs alone are not a trace's


@pytest.mark.parametrize(
    ("more", "constants", "message"),
    [
        ("", {"Low": "7"}, r"Top\.tla:6: the ASSUME is false with Low = 7, Max = 7; give the constants in .*Top\.cfg"),
        ("", {"Low": "-1"}, r"Base\.tla:4: the ASSUME is false with Low = -1;"),
        ("", {"None": "a"}, r"Top\.tla:4: the ASSUME is false with Max = 7, Nodes = \{a, b\}, None = a;"),
        (
            "ASSUME Max = Nodes",
            {},
            r"Top\.tla:7: the ASSUME cannot be evaluated \(7 and \{a, b\} cannot be compared\);",
        ),
        ("ASSUME 1 = 2", {}, r"Top\.tla:7: the ASSUME is false; give"),
        ("ASSUME Max", {}, r"Top\.tla:7: the ASSUME is neither TRUE nor FALSE"),
        ("ASSUME CHOOSE n \\in Nodes : FALSE", {}, r"Top\.tla:7: the ASSUME cannot be evaluated \(.*\); correct it"),
    ],
)
def test_constants_that_break_an_assumption_are_refused(
    tmp_path: Path, more: str, constants: dict[str, str], message: str
) -> None:
    with pytest.raises(Unusable, match=message):
        load(*_files(tmp_path, more, **constants))


def test_an_assumption_outside_the_language_is_refused(tmp_path: Path) -> None:
    files = _files(tmp_path, "ASSUME \\A n : n = n")
    with pytest.raises(Unsupported, match=r"^Top\.tla:7: "):
        load(*files)


def test_an_instance_assumes_nothing_of_its_user(tmp_path: Path) -> None:
    """TLC evaluates the ASSUMEs of extended modules, not of an INSTANCE."""
    files = _files(tmp_path, "B == INSTANCE Other WITH Size <- 0")
    (tmp_path / "Other.tla").write_text(
        "---- MODULE Other ----\nEXTENDS Integers\nCONSTANT Size\nASSUME Size > 3\n====\n"
    )
    assert load(*files).module.name == "Top"


@pytest.mark.parametrize("command", ["audit", "lint", "schema", "agree"])
def test_every_command_refuses_them(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    trace = tmp_path / "top.ndjson"
    spec, config = _files(tmp_path)
    header = json.loads(schema_of(load(spec, config)).with_nodes([]).text())
    first, end = {"trace": "t", "step": 0, "state": {"x": 0}}, {"trace": "t", "end": {"steps": 0}, "crc32c": ""}
    write(trace, header, [signed([first, end])])
    _files(tmp_path, "ASSUME Max > 100")
    traces = [str(trace)] if command in ("audit", "lint") else []
    assert main([command, *traces, "--spec", str(spec), "--config", str(config)]) == 2
    assert "Top.tla:7: the ASSUME is false with Max = 7" in capsys.readouterr().err
