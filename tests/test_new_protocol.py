"""A protocol moves in by one folder under each of the four roots: two-phase commit, into a copy of the tree.

Its folders stand in `tests/two_phase/protocol/`. The copy's code and tests are not touched, and these commands know it:
simulate, audit, hunt, agree, golden, rule, zoo, check. The tests of `GENERAL` run on it where they ask one protocol or
all. The copy's other tests are not run: they ask Kafka's protocols, or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep
ROOT = Path(__file__).parent.parent
FOLDERS = Path(__file__).parent / "two_phase" / "protocol"
CODE = ("conformance", "impl", "spec", "tests", "traces")
DOCUMENTS = ("docs", "README.md", "DIVERGENCES.md", "ARCHITECTURE.md", "Makefile", "pyproject.toml")
ROOTS = {
    "spec": "spec/two_phase_commit",
    "impl": "impl/tidemark/two_phase_commit",
    "tests": "tests/two_phase_commit",
    "golden": "traces/golden/two_phase_commit",
}
"""Folder of the protocol -> where it moves in."""
GENERAL = (
    "audit_configs",
    "every_conjunct_falls",
    "explain_simulated",
    "floors",
    "golden",
    "names",
    "pins",
    "properties_can_fall",
    "protocols_models",
    "rules_in_traces",
    "script",
    "simulators",
    "unasked_rules",
    "watched_runs",
    "worlds",
    "zoo_rules",
)
"""Files of tests that ask every protocol: `tests/test_<name>.py`."""
OF_DOCUMENTS = ("docs", "pictures", "stored")
"""Those that ask for its page and its picture."""
OF_IT = "two-phase-commit or TwoPhaseCommit or hasty-commit or forgotten-decision"
OF_ALL = "every_protocol or these_protocols or these_are_all or tidemark] or our_manifest or what_is_pinned"
PAGE = "docs/protocols/two_phase_commit.md"
BY_HAND = {
    "DIVERGENCES.md": (
        "| [compositions](docs/protocols",
        f"| [two-phase commit]({PAGE}) | what it leaves out | | |\n",
    ),
    "docs/commands.md": (
        "\n## Baselines",
        "| `two-phase-commit` | `two_phase_commit` | `TwoPhaseCommit` | all | "
        "[two-phase commit](protocols/two_phase_commit.md) |\n",
    ),
}
"""Document -> the text before which a line is put, and that line."""
GENERATED = {"docs/models.md", "docs/zoo.md"}
"""Documents that `tidemark docs` rewrites for it."""
ROWS = {"hasty-commit": "Consistency", "forgotten-decision": "OneDecision"}
"""Row -> the property that falls."""
UNCHANGED = shutil.ignore_patterns("__pycache__", ".*_cache", "snapshots")


def digests(tree: Path) -> dict[str, str]:
    """The digest of every file of a tree, but of what the commands make."""
    files = [file for root in CODE for file in (tree / root).rglob("*")]
    files += [file for root in DOCUMENTS for file in [tree / root, *(tree / root).rglob("*")]]
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
        for root in (*CODE, *DOCUMENTS):
            if (ROOT / root).is_dir():
                shutil.copytree(ROOT / root, self.folder / root, ignore=UNCHANGED)
            else:
                shutil.copy(ROOT / root, self.folder)
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
        self.tidemark("simulate", "two-phase-commit", "--steps", "20", *arguments, "-o", str(folder))
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
    assert "nothing found" in tree.tidemark("hunt", "two-phase-commit", "--steps", "20000", "--seed", "1")
    found = tree.tidemark(
        "hunt", "two-phase-commit", "--flaw", "hasty-commit", "--steps", "2000", "--seed", "1", status=1
    )
    assert f"{ROWS['hasty-commit']} falls" in found


def test_every_backend_agrees_with_tlc(tree: Tree) -> None:
    assert ", 0 differ" in tree.tidemark("agree", "--model", "TwoPhaseCommit")


def test_the_golden_scenarios_read_as_they_are_written(tree: Tree) -> None:
    assert "2 golden scenarios, 0 not as they should be" in tree.tidemark("golden", "--check", *ROWS)


def test_a_rule_is_shown_in_specification_and_python(tree: Tree) -> None:
    card = tree.tidemark("rule", "CommitOnlyIfAllPrepared", "--no-run").partition("a rule of two_phase_commit")[2]
    assert re.search(r"TwoPhaseCommit\.tla:\d+  CommitOnlyIfAllPrepared == ", card)
    assert "def commit_only_if_all_prepared(" in card
    assert "TransactionManager.decide" in card


def test_the_kill_matrix_has_its_rows(tree: Tree) -> None:
    assert "2 of 2 rows as expected" in tree.tidemark("zoo", *ROWS)


def test_its_models_are_as_expected(tree: Tree) -> None:
    models = [model["name"] for model in json.loads((FOLDERS / "spec" / "manifest.json").read_text())["models"]]
    assert f"{len(models)} of {len(models)} models as expected" in tree.tidemark("check", *models)


def passed(tree: Tree, names: Sequence[str], of: str) -> dict[str, int]:
    """How many tests of each file pass; none fails."""
    files = [f"tests/test_{name}.py" for name in names]
    done = tree.python("-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=-vv", *files, "-k", of)
    assert done.returncode == 0, done.stdout + done.stderr
    return Counter(re.findall(r"^tests/test_(\w+)\.py::.* PASSED", done.stdout, re.MULTILINE))


def test_the_tests_of_all_protocols_take_it_in(tree: Tree) -> None:
    found = passed(tree, GENERAL, f"{OF_IT} or {OF_ALL}")
    assert found.keys() == set(GENERAL)
    assert found["simulators"] >= 18
    assert found["names"] >= 10
    assert found["protocols_models"] >= 7
    assert found["properties_can_fall"] >= 7


def test_the_code_and_the_tests_were_not_touched(tree: Tree) -> None:
    """By laying the folders, and by all commands that ran since."""
    after = digests(tree.folder)
    assert {name: after.get(name) for name in tree.before} == tree.before
    added = after.keys() - tree.before.keys()
    assert added
    assert [name for name in added if not name.startswith(tuple(f"{place}/" for place in ROOTS.values()))] == []


def test_its_page_has_its_rules_and_its_picture(tree: Tree) -> None:
    """With a line in two documents by hand; `tidemark docs` writes the rest."""
    shutil.copy(FOLDERS / "docs" / Path(PAGE).name, tree.folder / PAGE)
    for document, (place, line) in BY_HAND.items():
        file = tree.folder / document
        text = file.read_text(encoding="utf-8")
        assert text.count(place) == 1
        file.write_text(text.replace(place, line + place), encoding="utf-8")
    tree.tidemark("docs")
    assert passed(tree, OF_DOCUMENTS, f"{OF_IT} or two_phase_commit or up_to_date or {OF_ALL}").keys() == set(
        OF_DOCUMENTS
    )
    after = digests(tree.folder)
    changed = {name for name in tree.before if after[name] != tree.before[name]}
    assert changed == {*BY_HAND, *GENERATED}
