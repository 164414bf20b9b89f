"""Output that cannot be written and input that cannot be read: one sentence that names the path, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TwoPhase
from tidemark_conformance.cli import main

Capture = pytest.CaptureFixture[str]
SIMULATE = ["simulate", "replication", "--traces", "1", "-o"]


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """A file, where a folder is needed."""
    path = tmp_path / "file"
    path.write_text("x")
    return path


def _refused(arguments: list[str], path: Path, capsys: Capture) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err.splitlines()
    # The simulation of a trace may show its progress first.
    assert [line.partition(":")[0] for line in said if line.startswith("tidemark ")] == [f"tidemark {arguments[0]}"]
    assert str(path) in said[-1]


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
@pytest.mark.parametrize("inside", ["", "x"])
def test_simulate_into_a_file(form: str, inside: str, file: Path, capsys: Capture) -> None:
    path = file / inside if inside else file
    _refused([*SIMULATE, str(path), "--format", form], path, capsys)


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_simulate_where_nothing_can_be_written(form: str, capsys: Capture) -> None:
    _refused([*SIMULATE, "/proc/x", "--format", form], Path("/proc/x"), capsys)


@pytest.mark.parametrize("name", ["y.parquet", "y.ndjson", "y.ndjson.gz"])
def test_convert_where_nothing_can_be_written(name: str, two_phase: TwoPhase, file: Path, capsys: Capture) -> None:
    for path in (Path("/proc") / name, file / name):
        _refused(["convert", str(two_phase.good), "-o", str(path)], path, capsys)


@pytest.mark.parametrize("name", ["y.parquet", "y.ndjson"])
def test_convert_into_a_folder_of_that_name(name: str, two_phase: TwoPhase, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / name).mkdir()
    _refused(["convert", str(two_phase.good), "-o", str(tmp_path / name)], tmp_path / name, capsys)
    assert list(tmp_path.iterdir()) == [tmp_path / name]


def test_verify_writes_its_documents_into_a_folder(file: Path, capsys: Capture) -> None:
    """Said before anything is run."""
    _refused(["verify", "--json", str(file)], file, capsys)
    _refused(["verify", "--json", str(file / "x")], file / "x", capsys)


def test_verify_of_no_traces_is_refused_before_anything_is_run(capsys: Capture) -> None:
    assert main(["verify", "--traces", "0"]) == 2
    assert capsys.readouterr() == ("", "tidemark verify: --traces 0 is no number of traces; give 1 or more\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["zoo", "KIP-10"], "the zoo has no row KIP-10: did you mean KIP-101? (zoo.toml lists them all, 1 to "),
        (["zoo", "999"], "the zoo has no row 999: zoo.toml lists them all, 1 to "),
        (["check", "TwoPhas"], "manifest.json has no model TwoPhas: did you mean TwoPhase? ("),
        (["check", "Qqqqqqqqq"], "manifest.json has no model Qqqqqqqqq: manifest.json lists them all"),
        (["agree", "--model", "TwoPhas"], "manifest.json has no model TwoPhas: did you mean TwoPhase? ("),
        (["agree", "--model", "MCTxnMai"], "manifest.json has no model MCTxnMai: "),
        ([*SIMULATE, "x", "--flaw", "35"], "one of classic-group: `tidemark simulate classic-group --flaw 35`"),
        ([*SIMULATE, "x", "--flaw", "KIP-394"], "row 35 (KIP-394) is one of classic-group: "),
        ([*SIMULATE, "x", "--flaw", "999"], "the zoo has no row 999: zoo.toml lists them all"),
        (["simulate", "nothing", "--traces", "1", "-o", "x"], "classic-group, composed, composed-transactions, "),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_name_that_is_not_there(arguments: list[str], said: str, capsys: Capture) -> None:
    """One short sentence, whatever there is to choose from."""
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert len(error) < 300
    assert "MCTxnMain" not in error  # `agree` marks no such model
