"""`tidemark check --spec`: TLC on anybody's specification, of whatever language TLC reads."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.tla.values import Fn, ModelValue
from tidemark_conformance.tlc import config, graph, messages, runner, values, verify

# A junction of its own kind, a recursive operator, a variable of functions, no TypeOK, no Without.
LAMPS = r"""---- MODULE Lamps ----
EXTENDS Integers, Sequences
CONSTANTS Lamp, Limit
VARIABLES on, count, possible
vars == <<on, count, possible>>
RECURSIVE Sum(_)
Sum(s) == IF s = <<>> THEN 0 ELSE Head(s) + Sum(Tail(s))
Init == on = [l \in Lamp |-> FALSE] /\ count = 0 /\ possible = [Lamp -> {0}]
Switch(l) == count < Limit /\ on' = [on EXCEPT ![l] = ~@] /\ count' = Sum(<<count, 1>>) /\ UNCHANGED possible
Next == (\E l \in Lamp : Switch(l)) \/ (count < 0 /\ UNCHANGED vars)
Fair == Init /\ [][Next]_vars /\ WF_vars(Next)
Few == count <= Limit
NotAll == \E l \in Lamp : ~on[l]
Odd == count = 2 => on[7]
Up == [][count' > count + 1]_vars
Lit == <>[](\A l \in Lamp : on[l])
====
"""
POSSIBLE = "{(a :> 0 @@ b :> 0)}"
CONSTANTS = "CONSTANTS Lamp = {a, b} Limit = 3\n"
CFG = "INIT Init\nNEXT Next\n" + CONSTANTS


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The specification, nobody's cache."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Lamps.tla").write_text(LAMPS)
    return tmp_path


def check(folder: Path, cfg: str, *more: str) -> tuple[int, dict[str, Any]]:
    (folder / "Lamps.cfg").write_text(cfg)
    target = folder / "check.json"
    target.unlink(missing_ok=True)
    code = main(["check", "--spec", str(folder / "Lamps.tla"), "--json", str(target), *more])
    return code, json.loads(target.read_text())["models"][0] if target.exists() else {}


def test_it_holds_with_its_counts_and_the_second_time_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = check(folder, CFG + "INVARIANT Few\nCHECK_DEADLOCK FALSE\n")
    assert (code, found["verdict"], found["distinct"], found["depth"], found["cached"]) == (0, "holds", 7, 4, False)
    said = capsys.readouterr()
    assert "Lamps.cfg: holds\n7 distinct states, 11 generated, depth 4" in said.out
    assert "a second, 0 waiting" in said.err
    code, found = check(folder, CFG + "INVARIANT Few\nCHECK_DEADLOCK FALSE\n")
    assert (code, found["distinct"], found["cached"]) == (0, 7, True)
    assert "(by an earlier run)" in capsys.readouterr().out


def test_an_invariant_falls_with_a_trace_to_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for cached in (False, True):  # the trace is kept, too
        code, found = check(folder, CFG + "INVARIANT Few NotAll\n")
        assert (code, found["fell"], found["property"], found["cached"]) == (1, "invariant", "NotAll", cached)
        states = found["counterexample"]["states"]
        assert [state["action"] for state in states] == [None, "Switch", "Switch"]
        assert states[2]["variables"] == {"on": "(a :> TRUE @@ b :> TRUE)", "count": "2", "possible": POSSIBLE}
        out = capsys.readouterr().out
        assert "invariant NotAll falls after 2 steps" in out
        assert f"        possible = {POSSIBLE}\n" in out
        assert "   2  Switch  on[b] = TRUE; count = 2\n" in out


@pytest.mark.deep
def test_a_dead_end_is_a_violation_as_it_is_of_tlc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = check(folder, CFG)
    assert (code, found["fell"], found["depth"]) == (1, "deadlock", 4)
    assert "deadlock after 3 steps" in capsys.readouterr().out
    assert check(folder, CFG, "--no-deadlock")[0] == 0
    assert check(folder, CFG + "CHECK_DEADLOCK FALSE\n")[0] == 0
    assert check(folder, CFG + "CHECK_DEADLOCK TRUE\n")[0] == 1
    assert check(folder, CFG + "\\* CHECK_DEADLOCK FALSE\n")[0] == 1
    assert config.without_deadlock("INIT I (* CHECK_DEADLOCK FALSE *) NEXT N") == (
        "INIT I (* CHECK_DEADLOCK FALSE *) NEXT N",
        None,
    )


def test_properties_of_steps_and_of_behaviours_fall(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = check(folder, CFG + "PROPERTY Up\n", "--no-deadlock")
    assert (code, found["fell"], found["property"], found["depth"]) == (1, "action-property", "Up", 2)
    assert "property Up falls after 1 step\n" in capsys.readouterr().out
    code, found = check(folder, "SPECIFICATION Fair\n" + CONSTANTS + "PROPERTIES Lit\n", "--no-deadlock")
    assert (code, found["fell"], found["property"]) == (1, "temporal", "Lit")
    out = capsys.readouterr().out
    assert "temporal property Lit falls" in out
    assert "  and so it stays for ever" in out


def test_what_cannot_be_evaluated_is_said_with_its_line_and_the_way_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = check(folder, CFG + "INVARIANT Odd\n")
    assert (code, found["verdict"], found["depth"]) == (2, "error", 3)
    said = capsys.readouterr()
    assert "   2  Switch  " in said.out
    last = said.err.splitlines()[-1]
    assert last.startswith(f"tidemark check: {folder / 'Lamps.tla'} cannot be evaluated: ")
    assert last.endswith("(at Lamps.tla:14)")


@pytest.mark.deep
def test_what_is_missing_is_one_sentence_with_its_module_and_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*arguments: str) -> str:
        assert main(["check", *arguments]) == 2
        said = capsys.readouterr().err.splitlines()
        return said[-1].removeprefix("tidemark check: ")

    spec = str(folder / "Lamps.tla")
    assert refused("--spec", str(folder / "Lamp.tla")).endswith(
        "Lamp.tla does not exist: give the path of a TLA+ module"
    )
    assert "Lamps.cfg does not exist, and --config gives no other" in refused("--spec", spec)
    (folder / "Lamps.cfg").write_text(CFG + "INVARIANT Fewer\n")
    assert "The invariant Fewer specified in the configuration" in refused("--spec", spec)
    (folder / "Lamps.cfg").write_text(CFG)
    (folder / "Lamps.tla").write_text(LAMPS.replace("Few == count", "Few == counts"))
    assert (
        refused("--spec", spec)
        == "TLC cannot parse Lamps: Lamps.tla:12: Unknown operator: `counts': correct the module"
    )
    (folder / "Lamps.tla").write_text(LAMPS.replace("<= Limit", "<= )"))
    assert refused("--spec", spec).startswith("TLC cannot parse Lamps: Lamps.tla:12: Encountered")
    (folder / "Lamps.tla").write_text(LAMPS.replace("Sequences", "Sequences, Elsewhere"))
    assert "refers to module Elsewhere, which is not beside it" in refused("--spec", spec)
    assert "leave models, --deep and --manifest out" in refused("--spec", spec, "TwoPhase")
    assert "--config is for --spec" in refused("--config", "x.cfg")
    assert "--workers 0 is too little" in refused("--spec", spec, "--workers", "0")
    assert "--jar names" in refused("--spec", spec, "--jar", str(folder / "none.jar"))
    assert "Lamps.cfg has no modules of TLA+" in refused("--spec", spec, "--jar", str(folder / "Lamps.cfg"))


def test_a_budget_that_ends_leaves_it_undecided(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "Lamps.tla").write_text(LAMPS)
    code, found = check(folder, CFG, "--budget", "0.1")
    assert (code, found["verdict"]) == (3, "stopped")
    assert "not decided: the budget of 0.1 s ran out" in capsys.readouterr().out


def test_modules_of_the_jar_need_no_file(folder: Path) -> None:
    (folder / "Lamps.tla").write_text(LAMPS.replace("Sequences", "Sequences, Randomization"))
    assert check(folder, CFG, "--no-deadlock")[0] == 0


def test_one_jar_for_all_that_a_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(toolchain.JAR_VARIABLE, raising=False)
    bundled = toolchain.find_jar()
    own = tmp_path / "own.jar"
    own.write_bytes(bundled.read_bytes())
    with toolchain.chosen(own):
        assert toolchain.find_jar() == own
        assert os.environ[toolchain.JAR_VARIABLE] == str(own)  # for processes that it starts
    assert toolchain.find_jar() == bundled
    with pytest.raises(Unusable, match="--jar names"), toolchain.chosen(tmp_path / "none.jar"):
        pass


def test_a_jar_says_when_it_was_built_and_what_it_brings_along(tmp_path: Path) -> None:
    own = tmp_path / "own.jar"
    with zipfile.ZipFile(own, "w") as archive:
        archive.writestr(
            "META-INF/MANIFEST.MF", "Implementation-Version: 2.0 2025-0\r\n 9-11\r\nClass-Path: more.jar\r\n"
        )
        archive.writestr("tla2sany/StandardModules/Json.tla", "")
        archive.writestr("elsewhere/Other.tla", "")
    alone = toolchain.look_into(own)
    assert (alone.built, alone.modules) == ("2025-09-11", {"Json"})
    with zipfile.ZipFile(tmp_path / "more.jar", "w") as archive:
        archive.writestr("SequencesExt.tla", "")
        archive.writestr("tlc2/Hidden.tla", "")
    os.utime(own, ns=(1, 1))
    both = toolchain.look_into(own)
    assert both.modules == {"Json", "SequencesExt"}
    assert both.digest != alone.digest


def test_parameters_that_newer_versions_print() -> None:
    """Heading and dump as TLC 2.20 writes them."""
    reading = runner._Reading("Lamps", runner.Options(), None, None)
    lines = [
        "@!@!@STARTMSG 2110:1 @!@!@\nInvariant NotAll is violated.\n@!@!@ENDMSG 2110 @!@!@",
        "@!@!@STARTMSG 2217:4 @!@!@\n1: <Initial predicate>\nx = 0\n@!@!@ENDMSG 2217 @!@!@",
        "@!@!@STARTMSG 2217:4 @!@!@\n2: <Move(a, <<1>>) line 7, col 14 to line 9, col 34 of module Lamps>\nx = 1\n"
        "@!@!@ENDMSG 2217 @!@!@",
    ]
    for message in messages.read("\n".join(lines).splitlines()):
        reading.take(message)
    assert reading.trace == [runner.Step(None, {"x": 0}), runner.Step("Move", {"x": 1}, "(a, <<1>>)")]
    node = graph._NODE.match(
        '-23 [label="/\\\\ on = \\"x\\"\\n/\\\\ y = 1",tooltip="/\\\\ on = \\"x\\"\\n/\\\\ y = 1"];'
    )
    assert node is not None
    assert node[2] == '/\\\\ on = \\"x\\"\\n/\\\\ y = 1'


def test_what_is_no_value_keeps_its_text_where_it_is_only_shown() -> None:
    text = "/\\ f = [S -> {1,\n  2}]\n/\\ x = (a :> 1)\n"
    with pytest.raises(values.UnreadableValue):
        values.StateParser().parse(text)
    shown = values.StateParser(lenient=True).parse(text)
    assert shown == {"f": ModelValue("[S -> {1, 2}]"), "x": Fn({ModelValue("a"): 1})}


def test_a_model_that_should_hold_and_is_of_unknown_size_is_no_brief_one(folder: Path) -> None:
    from argparse import Namespace

    from tidemark_conformance.commands import check as command

    (folder / "Lamps.cfg").write_text(CFG)
    given = Namespace(spec=folder / "Lamps.tla", config=None, workers=None, budget=None, heap=None, no_deadlock=False)
    given.models, given.deep, given.manifest = [], False, None
    assert not verify.prepare(command._model_of(given)).options.brief


NAMES = r"""---- MODULE Lamps ----
EXTENDS Integers
CONSTANT Lamp
LOCAL Private == CHOOSE n : n \notin Int
Public == CHOOSE n : n \notin Int
VARIABLE lit
Init == lit \in {Private, Public, Lamp} \cup {n \in Nat : n < 1}
Next == UNCHANGED lit
====
"""


def test_a_constant_that_the_module_does_not_have_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TLC ignores it, so that a misspelled name would check something else."""
    code, found = check(folder, "INIT Init\nNEXT Next\nCONSTANTS\n    Lamp = {a, b}\n    Limit = 3\n    Limt = 4\n")
    assert (code, found) == (2, {})
    said = capsys.readouterr().err
    assert f"{folder / 'Lamps.cfg'}:6: Limt is given a value, but is no constant and no operator of Lamps: " in said
    assert "started" not in said


def test_a_value_may_stand_for_an_operator(folder: Path) -> None:
    """The module's own, a LOCAL one too, and that of a module which it extends."""
    (folder / "Lamps.tla").write_text(NAMES)
    code, found = check(folder, "INIT Init\nNEXT Next\nCONSTANTS Lamp = l Private = one Public = other Nat = {0}\n")
    assert (code, found["distinct"]) == (0, 4)
