"""Bad input of every kind: one sentence and exit code 2, or UNDECIDED with its reason and 3; never a PASS, no
traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TwoPhase
from crc32c import crc32c
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.specifications import find
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.files import one_form
from tidemark_conformance.trace.ndjson import with_end
from tidemark_conformance.trace.parquet import PartWriter
from trace_lines import header_of, signed, traces_of, write

Capture = pytest.CaptureFixture[str]
Trace = list[dict[str, Any]]
pytestmark = pytest.mark.usefixtures("spark")


def _audit(path: Path, capsys: Capture, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and standard error of an audit, on Spark and without it, which are the same. In no case is
    there a traceback, or more than one sentence."""
    spark = _one_audit(path, capsys, *arguments)
    local = _one_audit(path, capsys, "--local", *arguments)
    assert local[:2] == spark[:2]
    assert local[2] == spark[2] or ("b.parquet cannot be read" in local[2] and "b.parquet cannot be read" in spark[2])
    if not arguments:
        _linted(path, spark, capsys)
    return spark


def _linted(path: Path, audited: tuple[int, dict[str, Any], str], capsys: Capture) -> None:
    """`lint` reports everything that an audit refuses or cannot decide, but for traces that do not start in Init."""
    spec, config = find("TwoPhase")
    code, document, _ = audited
    known = sum(_undecided(document).values()) - _undecided(document).get("not from Init", 0) if document else 0
    expected = 2 if code == 2 else 3 if known else 0
    assert main(["lint", str(path), "--spec", str(spec), "--config", str(config)]) == expected
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    alone = main(["lint", str(path)])  # without the specification nobody can say that a header is another's
    said = capsys.readouterr()
    headers = ("another text", "the specification in use has", "other actions", "not in")
    assert alone == expected or (alone == 0 and any(text in audited[2] for text in headers))
    assert bool(said.err) == (alone != 0)


def _one_audit(path: Path, capsys: Capture, *arguments: str) -> tuple[int, dict[str, Any], str]:
    target = path.parent / "audit.json"
    target.unlink(missing_ok=True)
    code = main(["audit", str(path), "--json", str(target), *arguments])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    # A slow machine shows progress first, a new one compiles.
    said = [line for line in captured.err.splitlines() if not line.startswith(("audit of ", "compiling "))]
    if code == 2:
        assert len(said) == 1
        assert said[0].startswith("tidemark audit: ")
        assert not target.exists()
        return code, {}, said[0]
    return code, {**json.loads(target.read_text()), "seconds": 0}, "\n".join(said)


def _undecided(document: dict[str, Any]) -> dict[str, int]:
    return {group["reason"]: group["traces"] for group in document["undecided"]}


@pytest.fixture(name="lines")
def _lines(two_phase: TwoPhase) -> tuple[dict[str, Any], list[Trace]]:
    return header_of(two_phase.good), [signed(trace) for trace in traces_of(two_phase.good)[:4]]


Lines = tuple[dict[str, Any], list[Trace]]

DAMAGE: list[tuple[str, Callable[[Trace], Trace], str]] = [
    ("no end", lambda t: t[:-1], "no end record"),
    ("flipped", lambda t: [t[0], {**t[1], "step": 11}, *t[2:]], "bad checksum"),
    ("steps missing", lambda t: signed(t[:2] + t[3:]), "missing steps"),
    (
        "capacity",
        lambda t: signed([*t[:-1], {**t[-1], "end": {**t[-1]["end"], "capacity": True}}]),
        "capacity exceeded",
    ),
    (
        "not from Init",
        lambda t: signed([{**t[0], "state": {**t[0]["state"], "tmState": "aborted"}}, *t[1:]]),
        "not from Init",
    ),
]


@pytest.mark.deep
@pytest.mark.parametrize(("name", "spoil", "reason"), DAMAGE, ids=[case[0] for case in DAMAGE])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_damaged_trace_is_undecided(
    form: str,
    name: str,
    spoil: Callable[[Trace], Trace],
    reason: str,
    lines: Lines,
    two_phase: TwoPhase,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    header, traces = lines
    path = write(tmp_path / "a.ndjson", header, [spoil(traces[0]), *traces[1:]])
    if form == "parquet":
        convert([path], tmp_path / "a.parquet", two_phase.schema)
        path = tmp_path / "a.parquet"
    code, document, _ = _audit(path, capsys)
    assert (code, _undecided(document)) == (3, {reason: 1})
    assert document["verdicts"] == {"pass": 3, "fail": 0, "undecided": 1}
    assert document["undecided"][0]["first"] == {"trace": "tx-0"}


def test_a_truncated_file_leaves_its_last_trace_undecided(two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    content = two_phase.good.read_bytes()
    (tmp_path / "a.ndjson").write_bytes(content[: len(content) - 40])
    code, document, _ = _audit(tmp_path / "a.ndjson", capsys)
    assert (code, _undecided(document)) == (3, {"no end record": 1})


def test_failure_comes_before_undecided(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    header, traces = lines
    lie = next(index for index, event in enumerate(traces[1]) if event.get("action") == "RMPrepare")
    wrong = signed([*traces[1][:lie], {**traces[1][lie], "action": "RMAbort"}, *traces[1][lie + 1 :]])
    code, document, _ = _audit(write(tmp_path / "a.ndjson", header, [traces[0][:-1], wrong]), capsys)
    assert code == 1
    assert document["verdicts"] == {"pass": 0, "fail": 1, "undecided": 1}


def _rewritten(source: Path, target: Path, change: Callable[[bytes], bytes]) -> None:
    """Copy a Parquet trace file with every stream changed."""
    table = pq.read_table(source)
    streams = pa.array([change(stream) for stream in table["stream"].to_pylist()], pa.binary())
    pq.write_table(table.set_column(2, table.schema.field(2), streams), target, compression="zstd")


@pytest.fixture(name="packed")
def _packed(two_phase: TwoPhase, tmp_path: Path) -> Path:
    convert([two_phase.good], tmp_path / "good.parquet", two_phase.schema)
    return tmp_path / "good.parquet"


@pytest.mark.parametrize("at", [0, 3, 11, -7, -1])
def test_a_flipped_byte_in_a_stream_is_undecided(at: int, packed: Path, tmp_path: Path, capsys: Capture) -> None:
    def flip(stream: bytes) -> bytes:
        place = at % len(stream)
        return stream[:place] + bytes([stream[place] ^ 0x40]) + stream[place + 1 :]

    _rewritten(packed, tmp_path / "b.parquet", flip)
    code, document, _ = _audit(tmp_path / "b.parquet", capsys)
    assert code == 3
    assert document["verdicts"] == {"pass": 0, "fail": 0, "undecided": 30}
    assert set(_undecided(document)) <= {"bad checksum", "no end record"}


def test_flipped_bytes_in_the_file_make_the_part_unreadable(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    content = bytearray(packed.read_bytes())
    start = pq.read_metadata(packed).row_group(0).column(2).data_page_offset
    for place in range(start + 100, start + 110):
        content[place] ^= 0xFF
    (tmp_path / "b.parquet").write_bytes(content)
    code, _, message = _audit(tmp_path / "b.parquet", capsys)
    assert code == 2
    assert "b.parquet cannot be read" in message


def test_a_truncated_parquet_file_is_unreadable(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "b.parquet").write_bytes(packed.read_bytes()[:-500])
    code, _, message = _audit(tmp_path / "b.parquet", capsys)
    assert code == 2
    assert "b.parquet cannot be read" in message


WRONG_HEADERS: list[tuple[str, dict[str, Any], str]] = [
    ("version", {"version": 3}, "trace format version 3, this program reads version 1"),
    ("version's kind", {"version": 1.0}, "trace format version 1.0, this program reads version 1"),
    ("a number's kind", {"constants": {"RM": ["r1", "r2", True]}}, 'constant RM = ["r1","r2",true]'),
    ("half a pair", {"nodes": ["\ud800"]}, "one half of a surrogate pair"),
    ("hash", {"spec_hash": "0" * 64}, "was written for another text of TwoPhase"),
    ("constants", {"constants": {"RM": ["r1", "r2"]}}, 'constant RM = ["r1","r2"]'),
    ("variables", {"variables": {}}, "variable rmState = nothing"),
    ("specification", {"spec": "Elsewhere"}, "specification Elsewhere, which is not in"),
    ("no header", {"tidemark": "log"}, "does not start with a trace header"),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG_HEADERS, ids=[case[0] for case in WRONG_HEADERS])
def test_a_wrong_header_is_refused(
    name: str, change: dict[str, Any], message: str, lines: Lines, tmp_path: Path, capsys: Capture
) -> None:
    header, traces = lines
    code, _, said = _audit(write(tmp_path / "a.ndjson", {**header, **change}, traces), capsys)
    assert code == 2
    assert message in said


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_one_part_with_another_hash_is_refused(
    form: str, lines: Lines, two_phase: TwoPhase, packed: Path, tmp_path: Path, capsys: Capture
) -> None:
    header, traces = lines
    folder = tmp_path / "in"
    write(folder / "a.ndjson", header, traces[:1])
    write(folder / "b.ndjson", {**header, "spec_hash": "f" * 64}, traces[1:2])
    if form == "parquet":
        for name in ("a", "b"):
            (folder / f"{name}.ndjson").unlink()
        shutil.copy(packed, folder / "a.parquet")
        table = pq.read_table(packed).slice(0, 1)
        other = json.dumps({**header, "spec_hash": "f" * 64})
        table = table.set_column(0, "trace", pa.array(["other"])).set_column(3, "header", pa.array([other]))
        pq.write_table(table, folder / "b.parquet")
    code, _, said = _audit(folder, capsys)
    assert code == 2
    assert "written for another text of TwoPhase (specification hash ffffffffffff" in said


def test_a_part_without_header_is_refused(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(packed, folder / "a.parquet")
    table = pq.read_table(packed).slice(1, 1)
    pq.write_table(table.set_column(0, "trace", pa.array(["other"])), folder / "b.parquet")
    code, _, said = _audit(folder, capsys)
    assert code == 2
    assert "b.parquet is a Parquet file without a trace header" in said


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("action", {"action": "RMExplode"}, 'TwoPhase has no action "RMExplode"'),
    (
        "parameter",
        {"action": "RMPrepare", "params": {"r": "r9"}},
        'RMPrepare: parameter r = "r9" is outside its domain',
    ),
    ("parameters", {"action": "RMPrepare", "params": {"rm": "r1"}}, "RMPrepare takes the parameters r"),
]


@pytest.mark.parametrize(("name", "change", "message"), MISTAKES, ids=[case[0] for case in MISTAKES])
def test_an_unknown_action_or_parameter_is_refused(
    name: str, change: dict[str, Any], message: str, lines: Lines, tmp_path: Path, capsys: Capture
) -> None:
    header, (trace, *_) = lines
    code, _, said = _audit(
        write(tmp_path / "a.ndjson", header, [signed([trace[0], {**trace[1], **change}, *trace[2:]])]), capsys
    )
    assert code == 2
    assert f"a.ndjson:3: step 1 of trace tx-0: {message}" in said


def _one_stream(two_phase: TwoPhase, path: Path, record: bytes) -> None:
    """A Parquet file with one trace: the initial state, one record of these bytes, a right end record."""
    schema = two_phase.schema
    out = StreamWriter(schema.layout.base_cells, schema.arities)
    out.initial([3, 3, 3, 2, 0, 0])
    body = out.end()[:-7]
    with PartWriter(path, schema.with_nodes(["tm", "r1", "r2", "r3"])) as writer:
        writer.add("t", 1, with_end(body + record, 0, 2))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (bytes([4 * 7, 0, 0]), "an unknown action"),
        (bytes([4 * 1, 0, 9, 0]), "a parameter out of its domain"),
        (bytes([4 * 1, 9, 0, 0]), "an unknown node"),
        (bytes([4 * 1, 1, 0, 1, 100, 0]), "a malformed stream"),
    ],
    ids=["action", "parameter", "node", "delta"],
)
def test_a_stream_that_means_nothing_is_refused(
    record: bytes, reason: str, two_phase: TwoPhase, tmp_path: Path, capsys: Capture
) -> None:
    _one_stream(two_phase, tmp_path / "a.parquet", record)
    code, _, said = _audit(tmp_path / "a.parquet", capsys)
    assert code == 2
    assert reason in said


@pytest.mark.deep
def test_duplicate_ids_are_refused_across_parts(
    lines: Lines, two_phase: TwoPhase, packed: Path, tmp_path: Path, capsys: Capture
) -> None:
    header, traces = lines
    folder = tmp_path / "lines"
    write(folder / "a.ndjson", header, traces[:2])
    write(folder / "b.ndjson", header, traces[1:])
    code, _, said = _audit(folder, capsys)
    assert (code, "trace tx-1 stands twice" in said) == (2, True)
    folder = tmp_path / "packed"
    folder.mkdir()
    shutil.copy(packed, folder / "a.parquet")
    shutil.copy(packed, folder / "b.parquet")
    code, _, said = _audit(folder, capsys)
    assert (code, "stands twice" in said) == (2, True)


def test_interleaved_traces_are_refused(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    header, (first, second, *_) = lines
    path = write(tmp_path / "a.ndjson", header, [first[:2], second, first[2:]])
    code, _, said = _audit(path, capsys)
    assert (code, "its lines are apart" in said) == (2, True)


def test_ids_that_share_a_hash_are_no_duplicates(
    packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("tidemark_conformance.audit.audit.REMEMBERED_IDS", 3)
    code, document, _ = _audit(packed, capsys)
    assert (code, document["traces"]) == (0, 30)


REPEATED: list[tuple[str, str, str, str]] = [
    ("header", '"version":', '"version": 2, "version":', "header of {0} has the key version twice"),
    ("state", '"tmState": "init"', '"tmState": "committed", "tmState": "init"', "{0}:2: the key tmState stands twice"),
    ("delta", '"prepared"}', '"committed", "{r}": "prepared"}', "{0}:3: the key {r} stands twice"),
]


@pytest.mark.parametrize("command", ["audit", "explain", "convert"])
@pytest.mark.parametrize(("name", "text", "lie", "message"), REPEATED, ids=[case[0] for case in REPEATED])
def test_a_key_that_stands_twice_is_refused(
    command: str, name: str, text: str, lie: str, message: str, lines: Lines, tmp_path: Path, capsys: Capture
) -> None:
    header, traces = lines
    trace = next(one for one in traces if one[1]["action"] == "RMPrepare")
    (resource,) = trace[1]["delta"]["rmState"]
    *events, end = [json.dumps(header), *(json.dumps(event) for event in trace)]
    at = ["header", "state", "delta"].index(name)
    assert text in events[at]
    events[at] = events[at].replace(text, lie.replace("{r}", resource), 1)
    crc = crc32c("".join(f"{event}\n" for event in events[1:]).encode())
    path = tmp_path / "a.ndjson"
    path.write_text("\n".join([*events, json.dumps({**json.loads(end), "crc32c": format(crc, "08x")})]) + "\n")
    assert main([command, str(path), *(["-o", str(tmp_path / "out.parquet")] if command == "convert" else [])]) == 2
    assert message.replace("{0}", str(path)).replace("{r}", resource) in capsys.readouterr().err
    if name != "header" and command == "audit":  # a sum that is wrong: nobody knows the original line
        path.write_text("\n".join([*events, end]) + "\n")
        assert _undecided(_audit(path, capsys)[1]) == {"bad checksum": 1}


@pytest.mark.parametrize("number", [True, 1.0])
def test_a_step_has_an_integer_for_its_number(number: Any, lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    header, (trace, *_) = lines
    spoilt = signed([trace[0], {**trace[1], "step": number}, *trace[2:]])
    code, document, _ = _audit(write(tmp_path / "a.ndjson", header, [spoilt]), capsys)
    assert (code, _undecided(document)) == (3, {"missing steps": 1})


@pytest.mark.parametrize("command", ["audit", "explain", "convert"])
def test_an_id_that_is_no_text_is_refused(command: str, lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    header, (trace, *_) = lines
    path = write(tmp_path / "a.ndjson", header, [signed([{**event, "trace": "\ud800x"} for event in trace])])
    assert main([command, str(path), *(["-o", str(tmp_path / "out.parquet")] if command == "convert" else [])]) == 2
    assert "the trace's id has one half of a surrogate pair" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["audit", "explain", "convert"])
def test_a_deep_header_is_refused(command: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text("[" * 100_000)
    assert main([command, str(path), *(["-o", str(tmp_path / "out.parquet")] if command == "convert" else [])]) == 2
    assert "does not start with a trace header" in capsys.readouterr().err


def test_a_part_whose_header_stands_in_another_is_refused(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    table = pq.read_table(packed)
    header = table["header"][0].as_py()
    twice = table.slice(0, 2).set_column(3, table.schema.field(3), pa.array([header, header]))
    pq.write_table(twice, folder / "a.parquet")
    pq.write_table(table.slice(2, 1), folder / "b.parquet")
    code, _, said = _audit(folder, capsys)
    assert (code, "b.parquet is a Parquet file without a trace header" in said) == (2, True)
    for command in ("explain", "convert"):
        assert main([command, str(folder), *(["-o", str(tmp_path / "out")] if command == "convert" else [])]) == 2
        assert "b.parquet is a Parquet file without a trace header" in capsys.readouterr().err


def test_the_header_of_a_parquet_file_is_its_column(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    """Every reader takes it from there: without the footer's copy all of them read the file, with it alone none."""
    table = pq.read_table(packed).replace_schema_metadata(None)
    pq.write_table(table, tmp_path / "column.parquet")
    copy = {**(pq.read_schema(packed).metadata or {}), b"tidemark": table["header"][0].as_py().encode()}
    footer = table.set_column(3, table.schema.field(3), pa.nulls(len(table), pa.string())).replace_schema_metadata(copy)
    pq.write_table(footer, tmp_path / "footer.parquet")
    for name, expected in (("column", 0), ("footer", 2)):
        path = tmp_path / f"{name}.parquet"
        assert _audit(path, capsys)[0] == expected
        assert main(["explain", str(path)]) == expected
        assert main(["convert", str(path), "-o", str(tmp_path / f"{name}.ndjson")]) == expected


def test_the_column_of_steps_is_checked(packed: Path, tmp_path: Path, capsys: Capture) -> None:
    table = pq.read_table(packed)
    steps = table["steps"].to_pylist()
    steps[3] += 1
    pq.write_table(table.set_column(1, table.schema.field(1), pa.array(steps, pa.int32())), tmp_path / "b.parquet")
    code, _, said = _audit(tmp_path / "b.parquet", capsys)
    assert (code, "the column `steps` of trace tx-3 is not what its stream says" in said) == (2, True)


def test_traces_without_a_step_are_refused(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    header, (trace, *_) = lines
    end = {**trace[-1], "end": {"steps": 0, "quiescent": False, "capacity": False}}
    code, _, said = _audit(write(tmp_path / "a.ndjson", header, [signed([trace[0], end])]), capsys)
    assert (code, "holds no step of any trace" in said) == (2, True)


def test_hidden_files_and_folders_are_left_out(
    lines: Lines, two_phase: TwoPhase, tmp_path: Path, capsys: Capture
) -> None:
    """By the audit, `explain` and `convert` alike; a hidden file that is named is refused."""
    header, traces = lines
    folder = tmp_path / "in"
    for number, name in enumerate(("a.ndjson", "_b.ndjson", ".c.ndjson", "_sub/d.ndjson", ".sub/e.ndjson")):
        write(folder / name, header if number == 0 else {**header, "spec": "Elsewhere"}, traces[:1])
    assert _audit(folder, capsys)[1]["traces"] == 1
    assert main(["explain", str(folder)]) == 0
    assert main(["convert", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a.parquet"]
    for command in ("audit", "explain", "convert"):
        more = ["-o", str(tmp_path / "b.parquet")] if command == "convert" else []
        assert main([command, str(folder / "_b.ndjson"), *more]) == 2


@pytest.mark.deep
@pytest.mark.parametrize("name", ["br[1]", "cur{a,b}", "st*r", "q?", "back\\slash", "per%20cent", "sp ace"])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_file_may_have_any_name(
    form: str, name: str, lines: Lines, two_phase: TwoPhase, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / f"in {name}"
    path = write(folder / f"{name}.ndjson", *lines)
    if form == "parquet":
        convert([path], folder / f"{name}.parquet", two_phase.schema)
        path.unlink()
        path = folder / f"{name}.parquet"
    assert [_audit(one, capsys)[0] for one in (folder, path)] == [0, 0]


def test_a_colon_in_a_name_is_refused_on_spark(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "col:on.ndjson", *lines)
    code, _, said = _one_audit(path, capsys)
    assert (code, "has a colon in its name" in said) == (2, True)
    assert _one_audit(path, capsys, "--local")[0] == 0


def test_a_negative_sample_is_refused(two_phase: TwoPhase, capsys: Capture) -> None:
    assert main(["audit", str(two_phase.good), "--oracle", "-5"]) == 2
    assert "--oracle -5 is no number of traces" in capsys.readouterr().err


def test_empty_input_is_refused(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "nothing").mkdir()
    assert _audit(tmp_path / "nothing", capsys)[0] == 2
    (tmp_path / "a.ndjson").write_text("")
    assert "does not start with a trace header" in _audit(tmp_path / "a.ndjson", capsys)[2]
    write(tmp_path / "in" / "a.ndjson", *lines)
    (tmp_path / "in" / "b.ndjson").write_text("")
    assert "b.ndjson does not start with a trace header" in _audit(tmp_path / "in", capsys)[2]
    write(tmp_path / "b.ndjson", lines[0], [])
    assert "holds no trace" in _audit(tmp_path / "b.ndjson", capsys)[2]
    assert "does not exist" in _audit(tmp_path / "missing", capsys)[2]


def test_a_folder_that_mixes_forms_is_refused(lines: Lines, packed: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "in"
    write(folder / "a.ndjson", lines[0], lines[1][:1])
    shutil.copy(packed, folder / "b.parquet")
    code, _, said = _audit(folder, capsys)
    assert (code, "mixes forms" in said) == (2, True)
    (folder / "b.parquet").rename(folder / "notes.txt")
    code, _, said = _audit(folder, capsys)
    assert (code, "notes.txt is no trace file by its name" in said) == (2, True)


def test_what_lies_here_is_refused_before_spark_starts(
    lines: Lines, packed: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark is asked for")

    monkeypatch.setattr("tidemark_conformance.commands.audit.spark_session", started)
    (tmp_path / "a.ndjson").write_text("{}\n")
    assert "does not start with a trace header" in _audit(tmp_path / "a.ndjson", capsys)[2]
    write(tmp_path / "in" / "a.ndjson", *lines)
    shutil.copy(packed, tmp_path / "in" / "b.parquet")
    assert "mixes forms" in _audit(tmp_path / "in", capsys)[2]
    assert "is no rule of TwoPhase" in _audit(packed, capsys, "--without", "NoSuchRule")[2]
    with pytest.raises(AssertionError, match="Spark is asked for"):
        main(["audit", str(packed)])


def test_a_foreign_parquet_file_is_refused(tmp_path: Path, capsys: Capture) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    code, _, said = _audit(tmp_path / "a.parquet", capsys)
    assert (code, "without a trace header" in said) == (2, True)


def test_unreadable_lines_between_traces_are_counted(two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    lines = two_phase.good.read_text().splitlines()
    end = next(index for index, line in enumerate(lines) if '"end"' in line)
    (tmp_path / "a.ndjson").write_text("\n".join([*lines[: end + 1], "\x00{", *lines[end + 1 :]]) + "\n")
    code, document, _ = _audit(tmp_path / "a.ndjson", capsys)
    assert code == 3
    assert document["verdicts"] == {"pass": 30, "fail": 0, "undecided": 1}


def test_another_specification_than_the_traces_is_refused(two_phase: TwoPhase, capsys: Capture) -> None:
    other = [str(two_phase.specification.path), "--config", str(two_phase.specification.cfg)]
    code, document, _ = _audit(two_phase.good, capsys, "--spec", *other)
    assert (code, document["spec"]) == (0, "TwoPhase")


def test_a_golden_scenario_is_no_trace_file_and_called_so() -> None:
    scenario = spec_root().parent / "traces" / "golden" / "transactions" / "KIP-890-a.txt"
    with pytest.raises(Unusable, match="it is a golden scenario: `tidemark rule KIP-890-a` leads"):
        one_form([str(scenario)], str(scenario))
