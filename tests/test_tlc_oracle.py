"""Traces replayed in TLC itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tlc_evaluator
from ledger import FLAWED, GHOSTS, LEDGER, SOUND
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.tla.values import Fn, ModelValue, function
from tidemark_conformance.tlc import oracle, replay_module, runner, shared

ANN, BOB, NONE = ModelValue("ann"), ModelValue("bob"), ModelValue("None")
INITIAL = {"balance": Fn({ANN: 0, BOB: 0}), "queue": (), "holder": NONE}
DEPOSIT = Fn({"type": "deposit", "to": ANN, "amount": 1})
MOVE = Fn({"type": "move", "from": ANN, "to": BOB})


@pytest.fixture(scope="module", autouse=True)
def _in_one_java() -> Iterator[None]:
    """All runs share a Java, where one can be shared: each finds the same as in its own (test_shared_java.py)."""
    if shared.server_jar(toolchain.find_jar()) is None:
        yield
        return
    with tlc_evaluator.java() as java, pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run", partial(runner.run, java=java))
        yield


def step(action: str | None, *params: Any, blocked: bool = False, **change: Any) -> tuple[Any, ...]:
    return action, params, change, blocked


def trace(name: str, *steps: tuple[Any, ...], initial: dict[str, Any] = INITIAL) -> replay_module.Trace:
    """A trace from changes of single variables."""
    state, made = initial, []
    for action, params, change, blocked in steps:
        state = {**state, **change}
        made.append(replay_module.Step(action, params, state, blocked))
    return replay_module.Trace(name, initial, made)


LOCK = step("Lock", ANN, holder=ANN)
ASK = step("AskDeposit", ANN, 1, queue=(DEPOSIT,))
SERVE = step("Serve", queue=(), balance=Fn({ANN: 1, BOB: 0}))


def replay(*traces: replay_module.Trace, cfg: Path = SOUND, **more: Any) -> Sequence[oracle.Replay]:
    return oracle.replay(LEDGER, cfg, GHOSTS, traces, **more).traces


def test_verdicts_of_many_traces_in_one_run() -> None:
    good, blocked, free, wrong, lying, moving, start, money = replay(
        trace("good", LOCK, ASK, SERVE, step("Unlock", holder=NONE), step(None)),
        trace("blocked", LOCK, step("Lock", BOB, blocked=True), ASK),
        trace("free", LOCK, step("Unlock", blocked=True), ASK),
        trace("wrong", LOCK, step("Lock", BOB, holder=BOB), ASK),
        trace("lying", LOCK, step(None, holder=NONE), ASK),
        trace("moving", LOCK, step("Lock", BOB, blocked=True, queue=(DEPOSIT,)), ASK),
        trace("start", LOCK, initial={**INITIAL, "holder": BOB}),
        trace(
            "money",
            LOCK,
            *(ASK, SERVE),
            step("AskMove", ANN, BOB, queue=(MOVE,)),
            step("Serve", queue=(), balance=Fn({ANN: 0, BOB: 1})),
            *(ASK, step("Serve", queue=(), balance=Fn({ANN: 1, BOB: 1}))),
        ),
    )
    assert (good.steps, good.accepted, good.rejected, good.passes) == (5, 5, None, True)
    assert blocked.passes
    assert (free.accepted, free.rejected) == (1, 2)
    assert (wrong.accepted, wrong.rejected, wrong.passes) == (1, 2, False)
    assert (lying.accepted, lying.rejected) == (1, 2)
    assert (moving.accepted, moving.rejected) == (1, 2)
    assert (start.accepted, start.rejected) == (-1, 0)
    # `paid` is a ghost that says 1 at most: by the specification's own reckoning the third Serve breaks the invariant.
    assert (money.accepted, money.invariants, money.passes) == (7, {"NothingFromNothing": 7}, False)


def test_the_rules_in_force_decide_and_properties_fall_at_their_step() -> None:
    handed = trace("handed", LOCK, step("Lock", BOB, holder=BOB), step("Unlock", holder=NONE))
    assert replay(handed)[0].rejected == 2
    one = replay(handed, cfg=FLAWED)[0]
    assert (one.rejected, one.properties, one.invariants) == (None, {"ThroughNobody": 2}, {})
    one = replay(handed, constants={"Without": frozenset({"LockIsFree"})})[0]
    assert (one.rejected, one.properties) == (None, {"ThroughNobody": 2})


def test_evaluation_errors_are_answers_and_do_not_hide_other_traces() -> None:
    broken = Fn({"type": "deposit", "to": NONE, "amount": 1})
    stray = trace("stray", LOCK, step("AskDeposit", NONE, 1, queue=(broken,)))
    good = trace("good", LOCK, ASK, SERVE)
    # A balance without bob: TypeOK is false, the sum over all clients cannot be evaluated.
    short = trace("short", LOCK, initial={**INITIAL, "balance": Fn({ANN: 0})})
    odd, fine, cut = replay(stray, good, short, workers=2)
    assert fine.passes
    assert odd.rejected == 2
    assert cut.rejected == 0
    (text,) = replay(trace("text", LOCK, step("Serve", queue=())))
    assert (text.rejected, len(text.errors)) == (2, 0)


@dataclass(frozen=True)
class Told:
    """The result of a run of TLC, and what it has printed."""

    result: runner.TlcResult
    printed: list[str]


TOLD = trace("good", LOCK, ASK, SERVE), trace("short", LOCK, ASK)


@pytest.fixture(scope="module")
def told() -> Told:
    """The replay of two traces, as TLC tells of it."""
    run, printed, results = runner.run, list[str](), list[runner.TlcResult]()

    def noting(*arguments: Any, on_print: Callable[[str], None], **more: Any) -> runner.TlcResult:
        def heard(line: str) -> None:
            printed.append(line)
            on_print(line)

        results.append(run(*arguments, on_print=heard, **more))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run", noting)
        replay(*TOLD)
    return Told(results[0], printed)


def _another_number(result: runner.TlcResult) -> runner.TlcResult:
    return replace(result, distinct=result.distinct + 1)


def _stopped(result: runner.TlcResult) -> runner.TlcResult:
    return replace(result, verdict="stopped", reason="the budget of 600 s ran out")


def _violated(result: runner.TlcResult) -> runner.TlcResult:
    return replace(result, verdict="violates", kind="invariant", property="TypeOK")


def _as_it_is(result: runner.TlcResult) -> runner.TlcResult:
    return result


@pytest.mark.parametrize(
    ("lie", "line", "instead", "message"),
    [
        (_another_number, "", [], "TLC found 9 states in a replay but reported others"),
        (_stopped, "", [], "did not finish the replay of 2 traces: the budget of 600 s ran out"),
        (_violated, "", [], "did not finish the replay of 2 traces: violates"),
        (_as_it_is, "<<1, 2, 0>>", [], "TLC found 8 states in a replay but reported others"),
        (_as_it_is, "<<1, 2, 0>>", ["<<1, 7, 0>>"], "TLC reported trace good with gaps"),
        (_as_it_is, "<<2, 1, 0>>", ["<<3, 1, 0>>"], "TLC reported trace 3 of 2"),
        (_as_it_is, "<<2, 1, 0>>", ["<<0, 1, 0>>"], "TLC reported trace 0 of 2"),
    ],
)
def test_a_run_that_does_not_tell_all_of_what_it_found_is_void(
    lie: Callable[[runner.TlcResult], runner.TlcResult],
    line: str,
    instead: list[str],
    message: str,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two traces, 4 + 3 states and the one of no trace: a line is lost or another, or TLC ends in another way."""

    def lying(*_: Any, on_print: Callable[[str], None], **__: Any) -> runner.TlcResult:
        for printed in told.printed:
            for one in instead if printed.strip() == line else [printed]:
                on_print(one)
        return lie(told.result)

    monkeypatch.setattr(runner, "run", lying)
    with pytest.raises(Unusable, match=message):
        replay(*TOLD)


def test_what_a_run_has_told_is_believed(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told once more as it was: the lies above are all that is wrong with theirs."""

    def telling(*_: Any, on_print: Callable[[str], None], **__: Any) -> runner.TlcResult:
        for printed in told.printed:
            on_print(printed)
        return told.result

    monkeypatch.setattr(runner, "run", telling)
    assert all(one.passes for one in replay(*TOLD))


def test_limits_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, jars = _seen(monkeypatch)
    jar = toolchain.find_jar()
    replay(trace("t", LOCK), budget_s=77.0, heap_mib=333, workers=2, jar=jar)
    assert [(one.budget_s, one.heap_mib, one.workers) for one in asked] == [(77.0, 333, 2)]
    assert jars == [jar]


def _seen(monkeypatch: pytest.MonkeyPatch) -> tuple[list[runner.Options], list[Any]]:
    """The options and the jars of the runs from now on."""
    asked: list[runner.Options] = []
    jars: list[Any] = []
    run = runner.run

    def seen(module: Path, cfg: str, options: runner.Options, **more: Any) -> runner.TlcResult:
        asked.append(options)
        jars.append(more.get("jar"))
        return run(module, cfg, options, **more)

    monkeypatch.setattr(runner, "run", seen)
    return asked, jars


def test_quiescence_is_part_of_passing_and_counts_what_was_taken() -> None:
    for family in ("invariants", "properties", "quiescence"):
        one = oracle.Replay("t", 3, 3)
        assert one.passes
        setattr(one, family, {"Some": 3})
        assert not one.passes
    start = trace("start", LOCK, ASK, initial={**INITIAL, "holder": BOB})
    wrong = trace("wrong", LOCK, step("Lock", BOB, holder=BOB), ASK)
    assert oracle.replay(LEDGER, SOUND, GHOSTS, [start, wrong]).steps == 1


@pytest.fixture
def odd(tmp_path: Path) -> Callable[..., list[oracle.Replay]]:
    """Replays traces, each given by the n of its steps, of a counter that can be evaluated at 0 and 1 alone."""
    (tmp_path / "Odd.tla").write_text(
        "---- MODULE Odd ----\nEXTENDS Naturals\nVARIABLES x, f\nvars == <<x, f>>\nInit == x = 0 /\\ f = <<1, 2>>\n"
        "Step(n) == f[n] > 0 /\\ x' = x + n /\\ UNCHANGED f\n"
        "Next == \\E n \\in 1..5 : Step(n)\nFirst == f[x + 1] > 0\nZero == x # 1 /\\ f[x + 1] > 0\n"
        "Late == x = 0\nUp == [][f[x + 1] > 0 /\\ x' > x]_vars\nQuiescentAtNine == x = 9\n====\n"
    )

    def run(*traces: Sequence[int], checks: str = "", quiescent: bool = False, workers: int = 1) -> list[oracle.Replay]:
        cfg = tmp_path / "Odd.cfg"
        cfg.write_text(f"INIT Init\nNEXT Next\n{checks}")
        made = []
        for params in traces:
            at, steps = 0, []
            for n in params:
                at += abs(n) if n > 0 else 0
                steps.append(replay_module.Step("Step", (abs(n),), {"x": at, "f": (1, 2)}, blocked=n < 0))
            made.append(replay_module.Trace(repr(params), {"x": 0, "f": (1, 2)}, steps, quiescent))
        return oracle.replay(tmp_path / "Odd.tla", cfg, (), made, workers=workers).traces

    return run


def test_an_action_that_cannot_be_evaluated_is_no_step(odd: Callable[..., list[oracle.Replay]]) -> None:
    (error,) = odd([1, 3])
    assert (error.rejected, len(error.errors)) == (2, 1)
    assert "after record 1" in error.errors[0]
    (one,) = odd([1, -3, 1])
    assert (one.passes, one.accepted) == (True, 3)
    (outside,) = odd([1, 1, 1], checks="INVARIANT First\n")
    assert (outside.rejected, outside.invariants) == (None, {"First": 2})
    assert outside.errors
    (outside,) = odd([1, 1, 1], checks="PROPERTY Up\n")
    assert (outside.rejected, outside.properties) == (None, {"Up": 3})


def test_an_error_is_held_against_its_own_trace(odd: Callable[..., list[oracle.Replay]]) -> None:
    fine, error, outside = odd([1], [1, 3], [2, 1], checks="INVARIANT First\n")
    assert (fine.passes, fine.errors) == (True, [])
    assert (error.rejected, error.invariants, len(error.errors)) == (2, {}, 1)
    assert (outside.rejected, outside.invariants, len(outside.errors)) == (None, {"First": 1}, 1)


def test_what_is_false_before_it_has_no_value_falls_where_it_is_false(odd: Callable[..., list[oracle.Replay]]) -> None:
    (one,) = odd([1, 1, 1], checks="INVARIANT Zero\n")
    assert (one.rejected, one.invariants) == (None, {"Zero": 1})


@pytest.mark.parametrize("order", [list, reversed])
def test_the_first_of_several_falls_counts_in_whatever_order_they_are_printed(
    order: Callable[[list[str]], Sequence[str]],
    odd: Callable[..., list[oracle.Replay]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = runner.run

    def ordered(*arguments: Any, on_print: Callable[[str], None], **more: Any) -> runner.TlcResult:
        lines: list[str] = []
        result = run(*arguments, on_print=lines.append, **more)
        for line in order(lines):
            on_print(line)
        return result

    monkeypatch.setattr(runner, "run", ordered)
    (one,) = odd([1, 1, 1], checks="INVARIANT Late\n")
    assert one.invariants == {"Late": 1}


def test_rest_is_not_asked_of_a_trace_that_tlc_does_not_reach_the_end_of(
    odd: Callable[..., list[oracle.Replay]],
) -> None:
    whole, cut = odd([1], [1, 3], quiescent=True)
    assert (whole.rejected, whole.quiescence) == (None, {"QuiescentAtNine": 1})
    assert (cut.rejected, cut.quiescence) == (2, {})


def test_too_many_errors_are_refused(odd: Callable[..., list[oracle.Replay]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MOST_ERRORS", 2)
    assert [one.rejected for one in odd([3], [1, 3])] == [1, 2]
    with pytest.raises(Unusable, match="over 2 evaluation errors"):
        odd([3], [1, 3], [1, 1, 4])


def test_errors_of_several_workers_are_found_again_by_one(
    odd: Callable[..., list[oracle.Replay]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, _ = _seen(monkeypatch)
    (error,) = odd([1, 3], workers=2)
    assert (error.rejected, len(error.errors)) == (2, 1)
    assert [one.workers for one in asked] == [2, 1, 1]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (list, "no trace"),
        (lambda: [trace("t", step("Fly"))], "action Fly with 0 parameters"),
        (lambda: [trace("t", step("Lock", holder=ANN))], "action Lock with 0 parameters"),
        (lambda: [trace("t", LOCK), trace("u", LOCK, initial={"holder": NONE})], "variable balance in record 0"),
    ],
)
def test_traces_that_do_not_fit_are_refused(bad: Any, message: str) -> None:
    with pytest.raises(Unusable, match=message):
        replay(*bad())


@pytest.mark.parametrize(("bound", "runs"), [("BATCH_STEPS", 3), ("BATCH_CHARACTERS", 3), ("MOST_ERRORS", 1)])
def test_batches_and_rate(bound: str, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    run = runner.run

    def counted(module: Path, *arguments: Any, **more: Any) -> runner.TlcResult:
        started.append(module.stem)
        return run(module, *arguments, **more)

    monkeypatch.setattr(runner, "run", counted)
    monkeypatch.setattr(oracle, bound, 4)
    long = trace("long", *([LOCK, step("Unlock", holder=NONE)] * 3))
    found = oracle.replay(LEDGER, SOUND, GHOSTS, [long, trace("short", LOCK), long])
    assert [one.name for one in found.traces] == ["long", "short", "long"]
    assert all(one.passes for one in found.traces)
    assert found.steps == 13
    assert found.steps_per_s == pytest.approx(13 / found.seconds)
    assert started == [replay_module.ROOT] * runs


def test_a_batch_is_filled_up_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "BATCH_STEPS", 4)
    traces = [trace(f"{length}", *[step(None)] * length) for length in (2, 2, 1, 3, 9, 1)]
    batches = [[len(one.steps) for one in batch] for batch in oracle._batches(traces)]
    assert batches == [[2, 2], [1, 3], [9], [1]]


def test_what_values_have_in_common_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    run = runner.run

    def read(*arguments: Any, given: dict[str, str], **more: Any) -> runner.TlcResult:
        texts.append(given[replay_module.ROOT])
        return run(*arguments, given=given, **more)

    monkeypatch.setattr(runner, "run", read)
    one, two = Fn({**DEPOSIT, "amount": 1}), Fn({**DEPOSIT, "amount": 2})
    asked = step("AskDeposit", ANN, 2, queue=(one, two))
    served = step("Serve", queue=(two,), balance=Fn({ANN: 1, BOB: 0}))
    assert replay(trace("t", LOCK, ASK, asked, served))[0].rejected is None
    assert texts[0].count('"deposit"') == 2


def test_one_and_true_are_not_the_same_value(tmp_path: Path) -> None:
    (tmp_path / "Kinds.tla").write_text(
        "---- MODULE Kinds ----\nVARIABLES x, y\nInit == x = <<TRUE>> /\\ y = <<1>>\n"
        "Swap == x' = <<FALSE>> /\\ y' = y\nNext == Swap\nTypeOK == x[1] \\in BOOLEAN\n====\n"
    )
    (tmp_path / "Kinds.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT TypeOK\n")
    first = {"x": (True,), "y": (1,)}
    steps = [replay_module.Step("Swap", (), {"x": (False,), "y": (1,)})]
    found = oracle.replay(tmp_path / "Kinds.tla", tmp_path / "Kinds.cfg", (), [replay_module.Trace("t", first, steps)])
    assert found.traces[0].passes
    assert function({1: True}) == (True,)


def test_a_change_from_true_to_one_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "Kinds.tla").write_text(
        "---- MODULE Kinds ----\nVARIABLE x\nInit == x = <<TRUE>>\nCount == x' = <<1>>\nNext == Count\n====\n"
    )
    (tmp_path / "Kinds.cfg").write_text("INIT Init\nNEXT Next\n")
    steps = [replay_module.Step("Count", (), {"x": (1,)})]
    one = replay_module.Trace("t", {"x": (True,)}, steps)
    assert oracle.replay(tmp_path / "Kinds.tla", tmp_path / "Kinds.cfg", (), [one]).traces[0].passes
