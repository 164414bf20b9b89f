"""Many runs of TLC in one Java: each finds the same as in a Java of its own, after any other runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.tlc import control, manifest, runner, shared, verify

COUNTER = r"""---- MODULE Counter ----
EXTENDS Naturals, TLC
CONSTANTS Limit, Names
VARIABLES count, last
vars == <<count, last>>
Init == count = 0 /\ last = CHOOSE n \in Names : TRUE
Up(n) == count < Limit /\ count' = count + 1 /\ last' = n
Down == count > 0 /\ count' = 0 /\ UNCHANGED last
Next == Down \/ \E n \in Names : Up(n)
Fair == Init /\ [][Next]_vars /\ WF_vars(Down)
Low == count <= Limit
Small == count < 2
Grows == [][count' > count]_vars
Home == []<>(count = 0)
Dark == <>[](count = 0)
Odd == last.x = 1
Seen == TLCGet(1) = 0
====
"""
OTHER = r"""---- MODULE Other ----
EXTENDS Naturals
CONSTANTS last, Up
VARIABLES Limit, Names
count == Limit + Names
Down == 2
Init == Limit = 0 /\ Names = 0
Next == /\ Limit' = (Limit + 1) % Down
        /\ Names' \in {Names, (Names + last) % Up}
Low == count < 100
Small == count < Up
====
"""
COUNTED = 'CONSTANTS Limit = 3 Names = {"count", "Up", "b"}\n'
PLAIN = f"INIT Init\nNEXT Next\n{COUNTED}"
FAIR = f"SPECIFICATION Fair\n{COUNTED}"
OTHERS = "INIT Init\nNEXT Next\nCONSTANTS last = 1 Up = 3\n"
RUNS: dict[str, tuple[str, str]] = {
    "holds": ("Counter", f"{PLAIN}INVARIANT Low\n"),
    "an invariant falls": ("Counter", f"{PLAIN}INVARIANTS Low Small\n"),
    "names mean something else": ("Other", f"{OTHERS}INVARIANT Low\n"),
    "and one falls": ("Other", f"{OTHERS}INVARIANT Small\n"),
    "a step falls": ("Counter", f"{PLAIN}PROPERTY Grows\n"),
    "a temporal property falls": ("Counter", f"{FAIR}PROPERTY Dark\n"),
    "a temporal property holds": ("Counter", f"{FAIR}PROPERTY Home\n"),
    "model values": ("Counter", "INIT Init\nNEXT Next\nCONSTANTS Limit = 2 Names = {a, b}\nINVARIANT Low\n"),
    "another order": ("Counter", "INIT Init\nNEXT Next\nCONSTANTS Limit = 2 Names = {b, a}\nINVARIANT Small\n"),
    "no value": ("Counter", f"{PLAIN}INVARIANT Odd\n"),
    "a register that is not set": ("Counter", f"{PLAIN}INVARIANT Seen\n"),
}
TEXTS = {"Counter": COUNTER, "Other": OTHER}


def run(which: str, java: shared.Java | None, **options: Any) -> runner.TlcResult:
    module, cfg = RUNS[which]
    found = runner.run(Path(f"{module}.tla"), cfg, runner.Options(**options), given=TEXTS, java=java)
    return replace(found, seconds=0.0, trace=())  # `depth` is its length


@pytest.fixture(scope="module", name="server")
def _server() -> Path:
    found = shared.server_jar(toolchain.find_jar())
    if found is None:
        pytest.skip("Py4J is not here, or the jar is another")
    return found


@pytest.fixture(name="start")
def _start(server: Path) -> Iterator[Callable[[], shared.Java]]:
    started: list[shared.Java] = []

    def start() -> shared.Java:
        started.append(shared.Java(toolchain.find_jar(), server))
        return started[-1]

    yield start
    for java in started:
        java.close()


@pytest.mark.deep
def test_what_ran_before_changes_nothing(start: Callable[[], shared.Java]) -> None:
    """Forwards and backwards: verdict, property, counts, depth, and the place of an error."""
    alone = {which: run(which, None) for which in RUNS}
    assert {one.verdict for one in alone.values()} == {"holds", "violates", "error"}
    java = start()
    for order in (list(RUNS), list(reversed(RUNS)), ["holds", "holds"]):
        assert {which: run(which, java) for which in order} == {which: alone[which] for which in order}
    assert java.alive


def test_what_cannot_be_read_does_not_touch_the_next(start: Callable[[], shared.Java]) -> None:
    java = start()
    for text, cfg in ((COUNTER.replace("Low ==", "Low = ="), PLAIN), (COUNTER, f"{PLAIN}INVARIANT Nothing\n")):
        with pytest.raises(Unusable):
            runner.run(Path("Counter.tla"), cfg, given={"Counter": text}, java=java)
    assert run("holds", java) == run("holds", None)


def test_a_java_that_ends_leaves_no_verdict(start: Callable[[], shared.Java]) -> None:
    java = start()
    java._process.kill()
    with pytest.raises(Unusable, match="cannot start"):
        run("holds", java)
    assert not java.alive


ENDLESS = COUNTER.replace("count < Limit", "count < 2147483647")


@pytest.mark.deep
def test_the_budget_ends_the_java(start: Callable[[], shared.Java]) -> None:
    java = start()
    found = runner.run(
        Path("Counter.tla"), f"{PLAIN}INVARIANT TypeOK\n", runner.Options(budget_s=4.0),
        given={"Counter": ENDLESS.replace("Low ==", "TypeOK == count >= 0\nLow ==")}, java=java,
    )  # fmt: skip
    assert (found.verdict, found.reason) == ("stopped", "the budget of 4 s ran out")
    assert not java.alive


def test_another_tlc_and_no_py4j_share_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "tla2tools.jar"
    other.write_bytes(toolchain.find_jar().read_bytes() + b"\0")
    assert shared.server_jar(other) is None
    monkeypatch.setattr(shared, "_CLIENT", "no_such_package")
    monkeypatch.setattr(toolchain, "jar_digest", lambda _: shared.TLC_DIGEST)
    assert shared.server_jar(other) is None


class Lent:
    """Stands for a Java of the pool."""

    def __init__(self) -> None:
        self.alive, self.closed = True, 0

    def close(self) -> None:
        self.alive, self.closed = False, self.closed + 1


def pool(javas: list[Lent | Exception]) -> shared.Pool:
    made = shared.Pool(Path("jar"), Path("server"))

    def start() -> Any:
        one = javas.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    made._start = start
    return made


def test_a_pool_lends_what_came_back_well() -> None:
    first, second = Lent(), Lent()
    javas = pool([first, second])
    for _ in range(2):
        with javas.lent() as java:
            assert java is first  # type: ignore[comparison-overlap]
    with pytest.raises(ValueError, match="unexpected"), javas.lent() as java:
        raise ValueError("unexpected")
    assert first.closed == 1
    with javas.lent() as java:
        assert java is second  # type: ignore[comparison-overlap]
        second.alive = False
    javas.close()
    assert second.closed == 1


def test_what_does_not_start_is_not_tried_again() -> None:
    javas = pool([shared.Broken("no"), Lent()])
    for _ in range(2):
        with javas.lent() as java:
            assert java is None


def sharing(name: str) -> verify.Job:
    """The job of a model, without TLC's coverage."""
    (model,) = manifest.load().select([name])
    job = verify.prepare(model)
    return replace(job, options=replace(job.options, coverage=False))


@pytest.mark.parametrize(
    ("here", "asked"),
    [
        ({}, [True]),
        ({"depth": 5}, [True, False]),
        ({"property": "OneDecision"}, [True, False]),
        ({"verdict": "holds", "kind": None, "property": None}, [True, False]),
        ({"verdict": "stopped"}, [True, False]),
        (None, [True, False]),
    ],
)
def test_only_what_is_expected_is_believed(
    here: dict[str, Any] | None, asked: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Anything else is asked of a Java of its own, and that is the verdict."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    job = sharing("TwoPhaseFlawed")
    right = runner.TlcResult("violates", kind="invariant", property="Consistency", depth=4, generated=1)
    java, runs = Lent(), []

    def found(*_: Any, **given: Any) -> runner.TlcResult:
        runs.append(given["java"] is not None)
        if given["java"] and here is None:
            raise Unusable("TLC cannot start")
        return replace(right, **here) if given["java"] and here else right

    monkeypatch.setattr(verify.runner, "run", found)
    outcome = verify._run(job, lambda *_: None, pool([java]), Event())
    assert (outcome.result, runs, java.alive) == (right, asked, asked == [True])
    over = Event()
    over.set()
    if len(asked) > 1:
        with pytest.raises(Unusable, match="interrupted"):
            verify._run(job, lambda *_: None, pool([Lent()]), over)


@pytest.mark.parametrize(
    ("here", "falls", "asked"),
    [
        ({}, True, [True]),
        ({}, False, [True, False]),
        ({}, None, [True, False]),
        ({"distinct": 295}, True, [True, False]),
        ({"depth": 11}, True, [True, False]),
        ({"verdict": "violates", "kind": "invariant", "property": "Consistency"}, True, [True, False]),
    ],
)
def test_a_model_that_holds_is_believed_if_the_control_falls(
    here: dict[str, Any], falls: bool | None, asked: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All pinned states and nothing false; then, in the same Java, the control."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    job = sharing("TwoPhase")
    right = runner.TlcResult("holds", distinct=296, depth=12, generated=1)
    java, runs = Lent(), []

    def found(module: Path, cfg: str, *_: Any, java: Any, **__: Any) -> runner.TlcResult:
        if module.stem == control.NAME:
            if falls is None:
                raise Unusable("TLC cannot start")
            which = next(name for name, one in control.CONTROLS.items() if one[0] == cfg.strip())
            _, name, depth = control.CONTROLS[which]
            return runner.TlcResult("violates", kind=which, property=name, depth=depth if falls else depth + 1)
        runs.append(java is not None)
        return replace(right, **here) if java else right

    monkeypatch.setattr(verify.runner, "run", found)
    outcome = verify._run(job, lambda *_: None, pool([java]), Event())
    assert (outcome.result, runs, java.alive) == (right, asked, asked == [True])


@pytest.mark.deep
def test_every_control_falls_in_a_java_that_works(start: Callable[[], shared.Java]) -> None:
    """After a model that holds, too; and not where TLC leaves properties out."""
    java, jar = start(), toolchain.find_jar()
    for which in control.CONTROLS:
        assert run("holds", java).verdict == "holds"
        assert control.falls(java, jar, which)


@pytest.mark.parametrize("which", control.CONTROLS)
def test_a_control_whose_property_is_left_out_does_not_fall(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg, *expected = control.CONTROLS[which]
    without = cfg.removesuffix("Low").removesuffix("PROPERTY Slow").removesuffix("PROPERTY Home")
    monkeypatch.setitem(control.CONTROLS, which, (without, *expected))
    asked: Any = None  # a Java of its own
    assert not control.falls(asked, toolchain.find_jar(), which)


def test_the_control_has_the_form_of_the_model() -> None:
    models = {model.name: model for model in manifest.load().models}
    liveness = next(model for model in models.values() if model.kind == "liveness")
    safety = models["TwoPhase"]
    assert control.form(liveness, True) == "temporal"
    assert control.form(safety, True) == "action-property"
    assert control.form(safety, False) == "invariant"


def test_which_models_share_a_java() -> None:
    job = sharing("TwoPhaseFlawed")
    assert verify._may_share(job)
    holds = sharing("TwoPhase")
    assert verify._may_share(holds)
    assert not verify._may_share(replace(holds, model=replace(holds.model, distinct=None))), (
        "nothing says how many states"
    )
    deep = replace(job, model=replace(job.model, tier="deep"))
    others = [replace(job, options=replace(job.options, **one)) for one in ({"coverage": True}, {"workers": 2})]
    large = replace(job, options=replace(job.options, heap_mib=shared.HEAP_MIB + 1))
    assert not any(verify._may_share(one) for one in (deep, large, *others))
