"""`tidemark lint` and the schema that a header declares: their findings without a specification, a JVM or a
compiler."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry import protocols
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.declared import declared
from tidemark_conformance.trace.files import file_traces
from tidemark_conformance.trace.header import parse_header
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.lint import lint
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from tidemark_conformance.trace.schema import Schema, schema_of, written_domains
from trace_lines import header_of, signed, traces_of, write

Capture = pytest.CaptureFixture[str]
MODELS = Path(__file__).parent / "models"
ELECTION = Path(__file__).parents[1] / "traces" / "examples" / "election" / "Election.tla"


def _schemas() -> dict[str, Schema]:
    files = {one.spec.stem: (one.spec, one.config) for one in protocols.protocols().values()}
    for module in (MODELS / "Bestiary.tla", MODELS / "Alphabet.tla", MODELS / "Ledger.tla", ELECTION):
        files[module.stem] = module, module.with_suffix(".cfg")
    return {name: schema_of(load(*pair)) for name, pair in files.items()}


@pytest.fixture(name="schemas", scope="module")
def _all_schemas() -> dict[str, Schema]:
    return _schemas()


def test_every_header_declares_its_schema(schemas: dict[str, Schema]) -> None:
    """Layout, arities, domains and observations are those of the specification: streams mean the same under both."""
    assert len(schemas) > 8
    for name, known in schemas.items():
        header = parse_header(known.with_nodes(["a"]).text(), name)
        found = declared(header, name)
        assert found.layout.base_cells == known.layout.base_cells
        cells = known.layout.base_cells
        assert (found.layout.lows, found.layout.highs) == (known.layout.lows[:cells], known.layout.highs[:cells])
        assert (found.actions, found.arities) == (known.actions, known.arities)
        for one, other in zip(found.parameters.values(), known.parameters.values(), strict=True):
            assert written_domains(one) == written_domains(other)
        if known.observables is not None:
            assert found.observables is not None
            assert (found.observables.count, found.observables.keys) == (
                known.observables.count,
                known.observables.keys,
            )


@pytest.mark.deep
@given(st.data())
def test_cells_mean_the_same_under_a_declared_schema(data: st.DataObject) -> None:
    """Random states of every specification, written and read by both: the same lines, the same bytes."""
    schemas = _kept()
    name = data.draw(st.sampled_from(sorted(schemas)))
    known = schemas[name]
    mine = declared(parse_header(known.header.text(), name), name)
    cells = [
        data.draw(st.integers(max(low, -5), min(high, 5)))
        for low, high in zip(known.layout.lows, known.layout.highs, strict=True)
    ][: known.layout.base_cells]
    out = known.writer()
    out.initial(cells)
    for _ in range(3):
        action = data.draw(st.integers(0, len(known.actions) - 1))
        domains = known.parameters[known.actions[action]].domains
        out.step(action, [data.draw(st.integers(0, len(domain) - 1)) for domain in domains], 0, [])
    stream = out.end()
    try:
        lines = LineWriter(known, []).lines("t", stream)
    except Unusable:
        return  # a vector that is no state
    assert LineWriter(mine, []).lines("t", stream) == lines
    streams = []
    for schema in (known, mine):
        (raw,) = split_traces(lines)
        streams.append(LineReader(schema, [], "x").stream(raw)[1])
    assert streams[0] == streams[1]


_memory: dict[str, Schema] = {}


def _kept() -> dict[str, Schema]:
    if not _memory:
        _memory.update(_schemas())
    return _memory


STRANGE: list[tuple[str, Any]] = [
    ("no type", {"offset": 0, "cells": 3, "units": 3}),
    ("no place", {"type": {"int": [0, 1]}}),
    ("another place", {"offset": 1, "cells": 1, "units": 1, "type": {"int": [0, 1]}}),
    ("a word", {"offset": 0, "cells": 1, "units": 1, "type": "integer"}),
    ("a huge sequence", {"offset": 0, "cells": 1, "units": 1, "type": {"sequence": "boolean", "capacity": 10**12}}),
    ("a large state", {"offset": 0, "cells": 1, "units": 1, "type": {"sequence": "boolean", "capacity": 1 << 20}}),
    ("no arguments", {"offset": 0, "cells": 0, "units": 0, "type": {"function": "boolean", "domain": []}}),
    ("mixed arguments", {"offset": 0, "cells": 2, "units": 2, "type": {"function": "boolean", "domain": [1, "a"]}}),
    ("an argument twice", {"offset": 0, "cells": 2, "units": 2, "type": {"function": "boolean", "domain": [1, 1]}}),
    ("names twice", {"offset": 0, "cells": 1, "units": 1, "type": {"atom": ["a", "a"]}}),
    ("a member of another kind", {"offset": 0, "cells": 1, "units": 1, "type": {"set": "boolean", "members": [3]}}),
    ("fractions", {"offset": 0, "cells": 1, "units": 1, "type": {"int": [0, 1.5]}}),
    ("a list", []),
    ("null", None),
]


@pytest.mark.parametrize(("name", "entry"), STRANGE, ids=[case[0] for case in STRANGE])
def test_a_header_that_declares_no_types_is_refused(
    name: str, entry: Any, two_phase: TwoPhase, tmp_path: Path, capsys: Capture
) -> None:
    header = header_of(two_phase.good)
    header["variables"] = {**header["variables"], "rmState": entry}
    path = write(tmp_path / "a.ndjson", header, traces_of(two_phase.good)[:1])
    for command in (["lint"], ["convert", "-o", str(tmp_path / "out.parquet")]):
        assert main([command[0], str(path), *command[1:]]) == 2
        said = capsys.readouterr().err
        assert f"the header of {path} declares" in said
        assert len(said.splitlines()) == 1


def test_a_deep_type_is_refused(two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    kind: Any = "boolean"
    for _ in range(200):
        kind = {"tuple": [kind]}
    header = header_of(two_phase.good)
    header["variables"]["rmState"]["type"] = kind
    assert main(["lint", str(write(tmp_path / "a.ndjson", header, []))]) == 2
    assert "nested too deeply" in capsys.readouterr().err


def test_a_conversion_needs_no_specification(two_phase: TwoPhase, tmp_path: Path) -> None:
    """Nor one that is known here: the header says all, in both directions."""
    header = {**header_of(two_phase.hasty), "spec": "Elsewhere", "spec_hash": "0" * 64}
    path = write(tmp_path / "a.ndjson", header, traces_of(two_phase.hasty))
    packed, again = tmp_path / "a.parquet", tmp_path / "b.ndjson"
    assert main(["convert", str(path), "-o", str(packed)]) == 0
    assert main(["convert", str(packed), "-o", str(again)]) == 0
    assert header_of(again) == header
    own = [(one.id, one.stream) for one in file_traces(two_phase.hasty, two_phase.schema)]
    mine = declared(parse_header(json.dumps(header), "x"), "x")
    assert [(one.id, one.stream) for one in file_traces(again, mine)] == own
    spec, config = two_phase.specification.path, two_phase.specification.cfg
    compared = ["--spec", str(spec), "--config", str(config)]
    assert main(["convert", str(path), "-o", str(tmp_path / "c.parquet"), *compared]) == 2


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_clean_input_is_clean_and_counted(form: str, two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "in"
    for source in (two_phase.good, two_phase.hasty):
        text = source.read_text().replace('"tx-', f'"{source.stem}-')
        folder.mkdir(exist_ok=True)
        path = folder / f"{source.stem}.ndjson"
        path.write_text(text)
        traces = [signed(trace) for trace in traces_of(path)]
        write(path, header_of(path), traces)
        if form == "parquet":
            convert([path], path.with_suffix(".parquet"), two_phase.schema)
            path.unlink()
    assert main(["lint", str(folder), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["ok"], document["files"], document["traces"]) == (
        "tidemark.lint/1",
        True,
        2,
        60,
    )
    assert main(["audit", "--local", str(folder), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["steps"] == document["steps"]


def test_the_first_wrong_line_of_every_file_is_told(two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    header, traces = header_of(two_phase.good), traces_of(two_phase.good)
    for name, change in (("a", {"action": "RMExplode"}), ("b", {"params": {}}), ("c", {"node": "r9"})):
        first, second = traces.pop(), traces.pop()
        write(
            tmp_path / f"{name}.ndjson",
            header,
            [signed(first), signed([second[0], {**second[1], **change}, *second[2:]])],
        )
    assert main(["lint", str(tmp_path), "--json", str(tmp_path / "lint.json")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in said] == [str(tmp_path / f"{name}.ndjson") for name in "abc"]
    assert all("step 1 of trace" in line for line in said)
    document = json.loads((tmp_path / "lint.json").read_text())
    assert (document["ok"], len(document["unusable"])) == (False, 3)


def test_an_id_in_two_files_is_told(two_phase: TwoPhase, tmp_path: Path) -> None:
    header, traces = header_of(two_phase.good), [signed(trace) for trace in traces_of(two_phase.good)]
    write(tmp_path / "a.ndjson", header, traces[:2])
    write(tmp_path / "b.ndjson", header, traces[1:3])
    found = lint([tmp_path / "a.ndjson", tmp_path / "b.ndjson"], "x")
    (said,) = found.unusable.values()
    assert f"trace tx-1 stands at {tmp_path}/a.ndjson:" in said


def test_headers_are_compared_with_each_other_and_with_a_specification(
    two_phase: TwoPhase, tmp_path: Path, capsys: Capture
) -> None:
    header, traces = header_of(two_phase.good), [signed(trace) for trace in traces_of(two_phase.good)]
    write(tmp_path / "a.ndjson", header, traces[:1])
    write(tmp_path / "b.ndjson", {**header, "spec_hash": "f" * 64}, traces[1:2])
    assert main(["lint", str(tmp_path)]) == 2
    assert "b.ndjson has another header than" in capsys.readouterr().err
    assert main(["lint", str(tmp_path / "b.ndjson")]) == 0
    spec, config = two_phase.specification.path, two_phase.specification.cfg
    assert main(["lint", str(tmp_path / "b.ndjson"), "--spec", str(spec), "--config", str(config)]) == 2
    assert "another text of TwoPhase" in capsys.readouterr().err
    assert main(["lint", str(tmp_path / "b.ndjson"), "--config", str(config)]) == 2


def test_lint_needs_nothing_that_is_heavy(two_phase: TwoPhase) -> None:
    """No JVM, no compiler, none of their packages; nor does it load a specification."""
    program = (
        "import sys, subprocess\n"
        "def refuse(*_, **__): raise AssertionError('a process is started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "from tidemark_conformance.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "heavy = ('pyspark', 'pyarrow', 'pandas', 'numpy', 'llvmlite')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "sys.exit(code)\n"
    )
    command = [sys.executable, "-c", program, "lint", str(two_phase.good)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr
