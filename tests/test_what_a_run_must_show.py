"""The requirements on a clean run, each shown something that must not pass: no Spark, no TLC, streams by hand.

The runs include an implementation that does nothing, traces that could not be judged, and a run that shows too little.
Every one must turn its line red. The example is two-phase commit.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from shown import RULE, SHOWN, audited, cleaned, cut, hasty, nothing, sound
from tidemark_conformance import cache
from tidemark_conformance.audit import judge
from tidemark_conformance.audit.locate import at_rest
from tidemark_conformance.audit.result import Oracle
from tidemark_conformance.commands.verify import audit_document
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify import clean


def test_a_run_that_shows_everything(specification: Specification) -> None:
    facts = {"seeds": 30, "bad.lost records": 0, "good.an answer": 30, "healed": 30}
    found = cleaned(specification, sound(), facts)
    assert found.complaints == ()
    assert found.ok
    assert (found.result.quiescent, found.result.document()["quiescent"]) == (30, 30)


def test_an_implementation_that_does_nothing_is_not_clean(specification: Specification) -> None:
    found = cleaned(specification, [nothing()] * 30)
    assert found.result.exit_code == 0
    assert not found.ok
    document = audit_document(found, cached=False)
    assert (document["ok"], document["verdicts"]["fail"], document["complaints"]) == (False, 0, list(found.complaints))
    assert set(found.complaints) == {
        *(f"action {name}: never" for name in specification.action_names if name != "RMAbort"),
        f"rule {RULE} held: never",
        f"rule {RULE} blocked: never",
        "rule KeepDecision blocked: never",
    }


def test_one_flagged_or_undecided_trace_is_enough(specification: Specification) -> None:
    assert not cleaned(specification, [*sound(), hasty()]).ok
    assert not cleaned(specification, [*sound(), cut()]).ok
    assert not cleaned(specification, sound(), oracle=Oracle(20, ("trace seed-1: TLC rejects step 2",))).ok


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"bad.lost records": 2}, "2 x lost records"),
        ({"good.an answer": 29}, "1 traces without an answer"),
        ({"healed": 31}, "31 traces were healed, but 30 judged by the quiescence properties"),
        ({"healed": 0}, "0 traces were healed, but 30 judged by the quiescence properties"),
    ],
)
def test_what_the_simulator_counts_itself(specification: Specification, facts: dict[str, int], complaint: str) -> None:
    found = cleaned(specification, sound(), facts)
    assert found.complaints == (complaint,)
    assert not found.ok


def test_quiescence_cannot_vanish(specification: Specification) -> None:
    def busy(stream: bytes) -> bytes:
        """The trace without its claim that faults have stopped."""
        return rewritten(stream, 0)

    streams = sound()
    none = cleaned(specification, [busy(stream) for stream in streams])
    assert none.result.quiescent == 0
    assert none.complaints == ("no trace declares its faults stopped, so no quiescence property has judged anything",)
    some = cleaned(specification, [busy(streams[0]), *streams[1:]], {"healed": 30})
    assert some.complaints == ("30 traces were healed, but 29 judged by the quiescence properties",)
    full = cleaned(specification, [rewritten(streams[0], 3), *streams[1:]], {"healed": 29})
    assert (full.complaints, full.ok) == ((), False)  # it declares a capacity: undecided, and not judged at rest


def rewritten(stream: bytes, flags: int) -> bytes:
    """The stream with other flags in its end record (its count of records is below 128, so of one byte)."""
    import crc32c

    body = stream[:-6] + bytes([flags]) + stream[-5:-4]
    return body + crc32c.crc32c(body).to_bytes(4, "little")


def test_an_action_that_needs_a_rule_out_of_force_is_not_taken(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "flaw_actions", lambda _: frozenset({"TMDecide"}))
    found = cleaned(specification, sound())
    assert found.complaints == ("TMDecide is taken, though it needs a rule out of force",)
    assert not found.ok
    assert cleaned(specification, sound(), actions={**found.result.actions, "TMDecide": (0, 5)}).ok, "only tried"


def test_excuses_must_be_true_and_known(specification: Specification) -> None:
    stale = dataclasses.replace(SHOWN, unreached={**SHOWN.unreached, "action TMDecide": "lazy"})
    (complaint,) = cleaned(specification, sound(), protocol=stale).complaints
    assert complaint.startswith("action TMDecide is excused in protocol.toml but reached 30 times")
    odd = dataclasses.replace(SHOWN, unreached={**SHOWN.unreached, "action Fly": "no wings"})
    assert cleaned(specification, sound(), protocol=odd).complaints == (
        "action Fly is excused in protocol.toml but unknown",
    )


def test_traces_that_were_not_audited_and_replays_that_were_not_made(specification: Specification) -> None:
    lost = cleaned(specification, sound(), traces=29)
    assert lost.complaints == ("30 traces were simulated, but 29 audited",)
    few = cleaned(specification, sound(), asked=20, oracle=Oracle(19))
    assert few.complaints == ("TLC replayed 19 traces of the 20 that it was asked for",)
    all_there_are = cleaned(specification, sound(), asked=40, oracle=Oracle(30))
    assert all_there_are.ok


def test_a_run_is_simulated_again_when_anything_that_decides_it_has_changed(
    specification: Specification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, code = audited(specification, sound()), ["of today"]
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    monkeypatch.setattr(clean, "digest", lambda _: code[-1])
    monkeypatch.setattr(clean, "counted", lambda *_: lambda: result)

    def found(steps: int = 20, fresh: bool = False) -> bool:
        with clean.replaying() as beside:
            run = clean.clean_run(None, SHOWN, 30, steps, 0, beside, fresh=fresh).result().run
        return run.kept == len(run.parts)

    assert [found(), found(), found(fresh=True), found()] == [False, True, False, True]
    assert [found(steps=21), found(steps=21), found()] == [False, True, True]
    code.append("of tomorrow")
    assert [found(), found()] == [False, True]
    latest = max((tmp_path / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
    for number, file in enumerate(sorted(latest.iterdir())):
        content = file.read_bytes()
        at = len(content) * number // 7 % len(content)
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert [found(), found()] == [False, True], f"{file.name} was damaged"
    assert number >= 2
    without = {**specification.constants, "Without": frozenset({RULE})}
    for change in ({"hash": "0" * 64}, {"constants": without}):
        other = dataclasses.replace(specification, **change)
        monkeypatch.setattr(clean, "judging", lambda _, other=other: other)
        assert [found(), found()] == [False, True]


def test_an_interrupted_run_is_resumed_from_parts_that_are_whole(
    specification: Specification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its seal a part is believed by the checksum that was written with it, and by no other."""
    result = audited(specification, sound())
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    monkeypatch.setattr(clean, "counted", lambda *_: lambda: result)

    def kept() -> int:
        with clean.replaying() as beside:
            return clean.clean_run(None, SHOWN, 32, 20, 0, beside).result().run.kept

    assert [kept(), kept()] == [0, 4], "two cores end at about the same time"
    (folder,) = (tmp_path / "runs").iterdir()
    first, second, third, fourth = sorted(folder.glob("part-*"))
    whole = first.read_bytes()

    def interrupted() -> int:
        (folder / cache.SEAL).unlink()
        return kept()

    assert interrupted() == 4
    first.write_bytes(second.read_bytes())
    assert interrupted() == 3, "the part of other seeds"
    assert first.read_bytes() == whole
    for file in (first, second, third, fourth):
        (sums,) = folder.glob(f".{file.name}*")
        sums.unlink()
    assert interrupted() == 0, "no checksum"
    (folder / cache.SEAL).unlink()
    for place in (folder, folder.parent, tmp_path):
        place.chmod(0o777)
        with pytest.raises(Unusable, match="others can write to"):
            kept()
        place.chmod(0o700)
    assert kept() == 4


def test_what_must_happen_in_some_run_is_missed(specification: Specification) -> None:
    assert cleaned(specification, sound(), {"some.fail-over": 1}).ok
    never = cleaned(specification, sound(), {"some.fail-over": 0})
    assert never.complaints == ("no trace with fail-over",)


def test_as_many_replication_traces_end_at_rest_as_were_healed() -> None:
    replication = protocols.protocol("replication")
    header = schema_of(load(replication.spec, replication.config)).with_nodes(replication.nodes())
    simulate = simulators.simulator(replication, header, steps=30)
    runs = [simulate(seed) for seed in range(40)]
    batch = judge.batch_of([run.trace for run in runs], [run.stream for run in runs])
    assert at_rest(batch.data, batch.offsets).tolist() == [run.facts[clean.HEALED] == 1 for run in runs]
    assert 0 < sum(run.facts[clean.HEALED] for run in runs) < 40
