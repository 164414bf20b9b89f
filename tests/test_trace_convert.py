"""NDJSON to Parquet and back: nothing is lost, sums are checked and written anew, damage stays the same damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TwoPhase
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.files import file_traces
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, NO_END
from tidemark_conformance.trace.parquet import PartWriter
from tidemark_conformance.trace.replay import events
from trace_lines import header_of, signed, traces_of, write

Trace = list[dict[str, Any]]


def _meaning(path: Path) -> list[Trace]:
    """The traces with optional parts filled in and sets sorted, sums left away."""
    meant = []
    for trace in traces_of(path):
        meant.append([{key: value for key, value in event.items() if value and key != "crc32c"} for event in trace])
        for event in meant[-1]:
            for state in (event.get("state", {}), event.get("delta", {})):
                for name in ("messages", "tmPrepared"):
                    if name in state:
                        state[name] = sorted(state[name], key=json.dumps)
    return meant


def test_ndjson_to_parquet_and_back_loses_nothing(two_phase: TwoPhase, tmp_path: Path) -> None:
    packed, lines, again = tmp_path / "a.parquet", tmp_path / "b.ndjson", tmp_path / "c.parquet"
    assert main(["convert", str(two_phase.hasty), "-o", str(packed)]) == 0
    assert main(["convert", str(packed), "-o", str(lines)]) == 0
    assert main(["convert", str(lines), "-o", str(again)]) == 0
    assert header_of(lines) == header_of(two_phase.hasty)
    assert _meaning(lines) == _meaning(two_phase.hasty)
    assert pq.read_table(packed).equals(pq.read_table(again))


def test_our_own_lines_are_canonical(two_phase: TwoPhase, tmp_path: Path) -> None:
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson.gz"
    convert([two_phase.good], first, two_phase.schema)
    convert([first], second, two_phase.schema)
    convert([second], tmp_path / "third.ndjson", two_phase.schema)
    assert (tmp_path / "third.ndjson").read_bytes() == first.read_bytes()


def test_a_folder_is_converted_file_by_file(two_phase: TwoPhase, tmp_path: Path) -> None:
    for name in ("x/a", "x/b", "y/a"):
        write(tmp_path / "in" / f"{name}.ndjson", header_of(two_phase.good), traces_of(two_phase.good)[:2])
    result = convert([tmp_path / "in"], tmp_path / "out", two_phase.schema)
    assert (result.files, result.traces) == (3, 6)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["a-2.parquet", "a.parquet", "b.parquet"]


@pytest.mark.parametrize("target", ["packed", "packed/", "there.d"])
def test_one_file_is_converted_into_a_folder(target: str, two_phase: TwoPhase, tmp_path: Path) -> None:
    """A name without a suffix is a folder, and so is an existing folder of any name."""
    (tmp_path / "there.d").mkdir()
    assert main(["convert", str(two_phase.good), "-o", f"{tmp_path}/{target}"]) == 0
    assert [file.name for file in (tmp_path / target).iterdir()] == ["good.parquet"]


def test_a_name_that_says_no_form_is_refused(
    two_phase: TwoPhase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(two_phase.good), "-o", str(tmp_path / "good.csv")]) == 2
    assert "name a file, such as good.parquet or good.ndjson, or a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_parquet_is_as_documented(two_phase: TwoPhase, tmp_path: Path) -> None:
    convert([two_phase.good], tmp_path / "a.parquet", two_phase.schema)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.names == ["trace", "steps", "stream", "header"]
    assert json.loads(table["header"][0].as_py()) == header_of(two_phase.good)
    assert table["header"].null_count == table.num_rows - 1
    assert table["steps"].to_pylist() == [trace[-1]["end"]["steps"] for trace in traces_of(two_phase.good)]


def test_streams_decode_to_the_states_of_the_lines(two_phase: TwoPhase) -> None:
    stored = next(iter(file_traces(two_phase.good, two_phase.schema)))
    decoded = list(events(stored.stream, two_phase.schema))
    lines = traces_of(two_phase.good)[0]
    assert [event.action for event in decoded] == [line.get("action") for line in lines[:-1]]
    assert {str(key): value for key, value in decoded[0].state["rmState"].items()} == lines[0]["state"]["rmState"]


def _flip(trace: Trace) -> Trace:
    changed = [dict(event) for event in trace]
    changed[2]["node"] = "tm" if changed[2]["node"] != "tm" else "r1"
    return changed


DAMAGE: list[tuple[str, Callable[[Trace], Trace], str]] = [
    ("cut before the end", lambda trace: trace[:-1], NO_END),
    ("a byte flipped", _flip, BAD_SUM),
    ("a line lost", lambda trace: trace[:3] + trace[4:], BAD_SUM),
    ("a line lost, then summed", lambda trace: signed(trace[:3] + trace[4:]), MISSING_STEPS),
    ("the last line lost, then summed", lambda trace: signed([*trace[:-2], trace[-1]]), MISSING_STEPS),
]


@pytest.mark.parametrize(("name", "spoil", "damage"), DAMAGE, ids=[case[0] for case in DAMAGE])
def test_damage_survives_conversions(
    name: str, spoil: Callable[[Trace], Trace], damage: str, two_phase: TwoPhase, tmp_path: Path
) -> None:
    first, *others = traces_of(two_phase.good)[:3]
    source = write(tmp_path / "a.ndjson", header_of(two_phase.good), [spoil(first), *map(signed, others)])
    for step, target in enumerate(["b.parquet", "c.ndjson", "d.parquet"]):
        result = convert([source], tmp_path / target, two_phase.schema)
        assert (result.traces, dict(result.damaged)) == (3, {damage: 1}), (name, step)
        source = tmp_path / target


def test_an_unreadable_line_between_traces_is_counted(two_phase: TwoPhase, tmp_path: Path) -> None:
    lines = two_phase.good.read_text().splitlines()
    end = next(index for index, line in enumerate(lines) if '"end"' in line)
    (tmp_path / "a.ndjson").write_text("\n".join([*lines[: end + 1], "{", *lines[end + 1 :]]) + "\n")
    result = convert([tmp_path / "a.ndjson"], tmp_path / "a.parquet", two_phase.schema)
    assert (result.traces, dict(result.damaged)) == (31, {NO_END: 1})


def test_damage_is_told_with_exit_code_3(
    two_phase: TwoPhase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.ndjson"
    source.write_bytes(two_phase.good.read_bytes()[:-100])
    assert main(["convert", str(source), "-o", str(tmp_path / "a.parquet")]) == 3
    assert capsys.readouterr().err == "1 of them are damaged and stay so: no end record\n"


MISTAKES: list[tuple[str, Callable[[Trace], Trace], str]] = [
    ("unknown action", lambda t: [t[0], {**t[1], "action": "RMExplode"}, *t[2:]], 'has no action "RMExplode"'),
    ("parameter", lambda t: [t[0], {**t[1], "params": {"r": "r9"}}, *t[2:]], "outside its domain|takes the parameters"),
    ("unknown node", lambda t: [t[0], {**t[1], "node": "r9"}, *t[2:]], 'lists no node "r9"'),
    ("unknown variable", lambda t: [t[0], {**t[1], "delta": {"x": 1}}, *t[2:]], "has no variable x"),
    ("history", lambda t: [t[0], {**t[1], "delta": {"decided": {}}}, *t[2:]], "decided is a history variable"),
    ("wrong kind", lambda t: [t[0], {**t[1], "delta": {"tmState": 1}}, *t[2:]], "tmState: 1 where one of"),
    ("misspelt key", lambda t: [t[0], {**t[1], "deltas": {}}, *t[2:]], "no key 'deltas'"),
    ("misspelt flag", lambda t: [*t[:-1], {**t[-1], "end": {"steps": len(t) - 2, "quiet": True}}], "no key 'quiet'"),
    ("more in the end", lambda t: [*t[:-1], {**t[-1], "quiescent": True}], "no key 'quiescent'"),
    ("no state", lambda t: [{key: t[0][key] for key in ("trace", "step")}, *t[1:]], "carries no state"),
    ("half a state", lambda t: [{**t[0], "state": {"tmState": "init"}}, *t[1:]], "lacks the variable rmState"),
]


@pytest.mark.parametrize(("name", "spoil", "message"), MISTAKES, ids=[case[0] for case in MISTAKES])
def test_what_an_emitter_got_wrong_is_refused_with_its_line(
    name: str, spoil: Callable[[Trace], Trace], message: str, two_phase: TwoPhase, tmp_path: Path
) -> None:
    trace = traces_of(two_phase.good)[0]
    source = write(tmp_path / "a.ndjson", header_of(two_phase.good), [signed(spoil(trace))])
    with pytest.raises(Unusable, match=message) as caught:
        convert([source], tmp_path / "a.parquet", two_phase.schema)
    assert str(caught.value).startswith(f"{source}:")
    assert not list(tmp_path.glob("*.parquet")), "a refused conversion leaves nothing behind"


@pytest.mark.parametrize("source", ["missing.ndjson", "a.txt", "folder"])
def test_no_input_is_one_sentence(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    assert main(["convert", str(tmp_path / source), "-o", str(tmp_path / "b.parquet")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_id_twice_in_a_file_is_refused(two_phase: TwoPhase, tmp_path: Path) -> None:
    trace = traces_of(two_phase.good)[0]
    source = write(tmp_path / "a.ndjson", header_of(two_phase.good), [signed(trace), signed(trace)])
    with pytest.raises(Unusable, match="trace tx-0 stands twice"):
        convert([source], tmp_path / "a.parquet", two_phase.schema)


def test_a_parquet_file_appears_only_when_it_is_whole(two_phase: TwoPhase, tmp_path: Path) -> None:
    header = two_phase.schema.header

    def interrupted() -> None:
        with PartWriter(tmp_path / "a.parquet", header) as writer:
            writer.add("x", 0, b"")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_foreign_parquet_file_is_refused(two_phase: TwoPhase, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(Unusable, match="without a trace header"):
        list(file_traces(tmp_path / "a.parquet", two_phase.schema))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(Unusable, match="cannot be read as Parquet"):
        list(file_traces(tmp_path / "b.parquet", two_phase.schema))


def test_schema_prints_the_header(two_phase: TwoPhase, capsys: pytest.CaptureFixture[str]) -> None:
    spec = str(two_phase.specification.path)
    config = str(two_phase.specification.cfg)
    assert main(["schema", "--spec", spec, "--config", config, "--nodes", "tm,r1,r2,r3"]) == 0
    assert capsys.readouterr().out == two_phase.header.read_text()
    assert main(["schema", "--spec", spec, "--config", config, "--nodes", "a,a"]) == 2


def test_one_file_goes_beside_itself_in_its_other_form(
    two_phase: TwoPhase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a flag: the header tells the extra keys."""
    lines = tmp_path / "t.ndjson"
    lines.write_bytes(two_phase.good.read_bytes())
    assert main(["convert", str(lines)]) == 0
    assert str(tmp_path / "t.parquet") in capsys.readouterr().out
    assert main(["convert", str(tmp_path / "t.parquet")]) == 2
    assert "t.ndjson is there already; give another name" in capsys.readouterr().err
    lines.unlink()
    assert main(["convert", str(tmp_path / "t.parquet")]) == 0
    assert _meaning(lines) == _meaning(two_phase.good)
    assert main(["convert", str(tmp_path)]) == 2
    assert "give its name with -o" in capsys.readouterr().err
