"""The foreign example as its page tells it: its own program, its two traces, the commands of
docs/bring-your-own-spec.md."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, TwoPhase
from tidemark_conformance.cli import main

FOLDER = EXAMPLES / "two_phase"
PAGE = Path(__file__).parent.parent / "docs" / "bring-your-own-spec.md"
pytestmark = pytest.mark.usefixtures("spark")


def _audit(path: Path, target: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["audit", str(path), "--json", str(target), *arguments])
    return code, json.loads(target.read_text())


@pytest.mark.deep
def test_the_good_trace_passes(tmp_path: Path) -> None:
    code, document = _audit(FOLDER / "good.ndjson", tmp_path / "a.json", "--oracle", "1")
    assert (code, document["traces"], document["oracle"]) == (0, 1, {"replayed": 1, "disagreements": 0, "details": []})


def test_the_bad_trace_fails_where_the_page_says(tmp_path: Path) -> None:
    code, document = _audit(FOLDER / "bad.ndjson", tmp_path / "a.json", "--oracle", "1")
    found = {(one["kind"], one["name"], one["first"]["step"]) for one in document["failures"]}
    assert (code, found) == (1, {("invariant", "Consistency", 7), ("not-a-step", "TMDecide", 5)})
    assert document["oracle"]["disagreements"] == 0
    for kind, name, step in found:
        assert re.search(rf"{kind} +{name} +1  tx-59 +{step}\n", PAGE.read_text())
    code, document = _audit(FOLDER / "bad.ndjson", tmp_path / "b.json", "--without", "CommitOnlyIfAllPrepared")
    assert [(one["name"], one["first"]["step"]) for one in document["failures"]] == [("Consistency", 7)]


@pytest.mark.parametrize(
    ("name", "arguments"), [("good.ndjson", ["--seed", "12"]), ("bad.ndjson", ["--seed", "59", "--hasty"])]
)
def test_the_program_writes_them_again(name: str, arguments: list[str], two_phase: TwoPhase, tmp_path: Path) -> None:
    program = [sys.executable, "-I", str(FOLDER / "two_phase.py"), str(two_phase.header), str(tmp_path / name)]
    subprocess.run([*program, "--transactions", "1", *arguments], check=True)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_the_program_imports_nothing_of_ours() -> None:
    tree = ast.parse((FOLDER / "two_phase.py").read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= set(sys.stdlib_module_names)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def test_a_specification_from_anywhere_is_audited(two_phase: TwoPhase, tmp_path: Path) -> None:
    """Copied under another name to another folder: nothing is found by its name, and nothing needs to be."""
    source = two_phase.specification.path
    spec, config = tmp_path / "Elsewhere.tla", tmp_path / "any.cfg"
    spec.write_text(source.read_text().replace("MODULE TwoPhase", "MODULE Elsewhere"))
    shutil.copy(two_phase.specification.cfg, config)
    traces = tmp_path / "a.ndjson"
    traces.write_text((FOLDER / "bad.ndjson").read_text().replace('"spec": "TwoPhase"', '"spec": "Elsewhere"', 1))
    arguments = ["--spec", str(spec), "--config", str(config)]
    code, document = _audit(traces, tmp_path / "a.json", *arguments)
    assert (code, document["spec"], len(document["failures"])) == (1, "Elsewhere", 2)
