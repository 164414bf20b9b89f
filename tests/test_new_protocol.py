"""A protocol moves in by one folder under each of the four roots: two-phase commit, into a copy of the tree.

Its folders stand in `tests/twophase/protocol/`. Nothing else of the copy is touched, and every command knows it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = Path(__file__).parent / "twophase" / "protocol"
COPIED = ("conformance", "impl", "spec", "tests", "traces/golden")
ROOTS = {
    "spec": "spec/two_phase",
    "impl": "impl/tidemark/two_phase",
    "tests": "tests/two_phase",
    "golden": "traces/golden/two_phase",
}
"""Folder of the protocol -> where it moves in."""
ROWS = {"hasty-commit": "Consistency", "forgotten-decision": "OneDecision"}
"""Row -> the property that falls."""
UNCHANGED = shutil.ignore_patterns("__pycache__", ".*_cache", "snapshots")


def digests(tree: Path) -> dict[str, str]:
    """The digest of every file of a tree, but of what the commands make."""
    files = [file for root in COPIED for file in (tree / root).rglob("*")]
    return {
        str(file.relative_to(tree)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file() and "__pycache__" not in file.parts
    }


class Tree:
    """A copy of the tree with the protocol in it, and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        self.out = folder / "out"
        for root in COPIED:
            shutil.copytree(ROOT / root, self.folder / root, ignore=UNCHANGED)
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        self.before = digests(self.folder)
        for part, place in ROOTS.items():
            shutil.copytree(FOLDERS / part, self.folder / place, ignore=UNCHANGED)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the copy's Python."""
        packages = [str(self.folder / "impl"), str(self.folder / "conformance")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(packages),
            "TIDEMARK_CACHE": str(self.folder.parent / "cache"),
        }
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    def tidemark(self, *arguments: str, status: int = 0) -> str:
        """Run a command of the copy; its output."""
        done = self.python("-m", "tidemark_conformance", *arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def simulated(self, name: str, *arguments: str) -> Path:
        """A folder of new traces."""
        folder = self.out / name
        self.tidemark("simulate", "two-phase", "--steps", "20", *arguments, "-o", str(folder))
        return folder

    def audited(self, traces: Path, status: int) -> dict[str, Any]:
        """The audit's verdict on traces, as a document."""
        file = self.out / f"{traces.name}.json"
        self.tidemark("audit", str(traces), "--json", str(file), status=status)
        found: dict[str, Any] = json.loads(file.read_text())
        return found


@pytest.fixture(scope="module", name="tree")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("moved"))


def test_its_traces_conform_and_show_every_action_and_both_sides_of_every_rule(tree: Tree) -> None:
    found = tree.audited(tree.simulated("right", "--traces", "300"), 0)
    assert (found["spec"], found["verdicts"]) == ("TwoPhaseCommit", {"pass": 300, "fail": 0, "undecided": 0})
    seen = found["coverage"]
    assert len(seen["actions"]) == 6
    assert all(seen["actions"].values())
    assert set(seen["rules"]) == {"CommitOnlyIfAllPrepared", "PreparedWaits", "KeepDecision"}
    assert all(side for sides in seen["rules"].values() for side in sides.values())


@pytest.mark.parametrize(("row", "profile"), [("hasty-commit", "chaos"), ("forgotten-decision", "crashes")])
def test_the_traces_of_a_flaw_are_flagged(tree: Tree, row: str, profile: str) -> None:
    found = tree.audited(tree.simulated(row, "--traces", "200", "--flaw", row, "--profile", profile), 1)
    flagged = {(one["kind"], one["name"]) for one in found["failures"]}
    assert ("invariant", ROWS[row]) in flagged
    assert "not-a-step" in {kind for kind, _ in flagged}


def test_it_is_hunted(tree: Tree) -> None:
    """With all its rules nothing is found; without one its property falls, with no profile made for it."""
    assert "nothing found" in tree.tidemark("hunt", "two-phase", "--steps", "20000", "--seed", "1")
    found = tree.tidemark("hunt", "two-phase", "--flaw", "hasty-commit", "--steps", "2000", "--seed", "1", status=1)
    assert f"{ROWS['hasty-commit']} falls" in found


def test_every_backend_agrees_with_tlc(tree: Tree) -> None:
    assert ", 0 differ" in tree.tidemark("agree", "--model", "TwoPhaseCommit")


def test_the_golden_scenarios_read_as_they_are_written(tree: Tree) -> None:
    assert "2 golden scenarios, 0 not as they should be" in tree.tidemark("golden", "--check", *ROWS)


def test_a_rule_is_shown_in_specification_and_python(tree: Tree) -> None:
    card = tree.tidemark("rule", "CommitOnlyIfAllPrepared", "--no-run").partition("a rule of twophase")[0]
    assert re.search(r"TwoPhaseCommit\.tla:\d+  CommitOnlyIfAllPrepared == ", card)
    assert "def commit_only_if_all_prepared(" in card
    assert "TransactionManager.decide" in card


def test_the_kill_matrix_has_its_rows(tree: Tree) -> None:
    assert "2 of 2 rows as expected" in tree.tidemark("zoo", *ROWS)


def test_the_tests_of_all_protocols_take_it_in(tree: Tree) -> None:
    """Names of rules and actions, the simulator's promises, the floors."""
    chosen = ["tests/test_names.py", "tests/test_simulators.py", "tests/test_floors.py"]
    done = tree.python("-m", "pytest", "-p", "no:cacheprovider", *chosen, "-k", "two-phase or tidemark]")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 25


def test_nothing_else_was_touched(tree: Tree) -> None:
    """By laying the folders, and by all commands that ran since."""
    after = digests(tree.folder)
    assert {name: after.get(name) for name in tree.before} == tree.before
    added = after.keys() - tree.before.keys()
    assert added
    assert [name for name in added if not name.startswith(tuple(f"{place}/" for place in ROOTS.values()))] == []
