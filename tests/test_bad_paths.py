"""Output that cannot be written and input that cannot be read: one sentence that names the path, exit code 2."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.report import document

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


@pytest.mark.parametrize(("option", "given", "least"), [("traces", 0, 1), ("steps", 0, 1), ("seed", -1, 0)])
def test_a_number_too_low_to_simulate_is_named(
    option: str, given: int, least: int, tmp_path: Path, capsys: Capture
) -> None:
    assert main([*SIMULATE, str(tmp_path / "x"), f"--{option}", str(given)]) == 2
    said = f"tidemark simulate: --{option} {given} is too low; give {least} or more\n"
    assert capsys.readouterr() == ("", said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["zoo", "KIP-10"],
            "the zoo has no row KIP-10: did you mean KIP-101? (spec/<protocol>/zoo.toml lists them, 1 to ",
        ),
        (["zoo", "999"], "the zoo has no row 999: spec/<protocol>/zoo.toml lists them, 1 to "),
        (["check", "TwoPhas"], "no manifest has a model TwoPhas: did you mean TwoPhase? ("),
        (
            ["check", "Qqqqqqqqq"],
            "no manifest has a model Qqqqqqqqq: spec/<protocol>/manifest.json lists those of a protocol",
        ),
        (["agree", "--model", "TwoPhas"], "no manifest has a model TwoPhas: did you mean TwoPhase? ("),
        (["agree", "--model", "MCTxnMai"], "no manifest has a model MCTxnMai: "),
        ([*SIMULATE, "x", "--flaw", "35"], "one of classic-group: `tidemark simulate classic-group --flaw 35`"),
        ([*SIMULATE, "x", "--flaw", "KIP-394"], "row 35 (KIP-394) is one of classic-group: "),
        ([*SIMULATE, "x", "--flaw", "999"], "the zoo has no row 999: spec/<protocol>/zoo.toml lists them"),
        (["simulate", "nothing", "--traces", "1", "-o", "x"], "classic-group, composed, composed-transactions, "),
        (
            ["simulate", "consumer_group", "--traces", "1", "-o", "x"],
            "no protocol is called consumer_group: did you mean consumer-group? (choose from classic-group, ",
        ),
        (["bench", "Idempotance"], "no protocol is called Idempotance: did you mean idempotence? ("),
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulat"], "tidemark: argument COMMAND: there is no simulat: did you mean simulate? (choose from check, "),
        (["simulate"], "tidemark simulate: the following arguments are required: PROTOCOL, --traces, -o/--output; "),
        ([*SIMULATE, "x", "--nothing"], "tidemark simulate: unrecognized arguments: --nothing; `tidemark simulate "),
        ([*SIMULATE, "x", "--seed", "y"], "tidemark simulate: argument --seed: y cannot be; give a whole number; "),
        ([*SIMULATE, "x", "--format", "csv"], "--format: there is no csv: choose from parquet, ndjson; "),
        (["demo", "exactly_once"], "PROTOCOL: there is no exactly_once: did you mean exactly-once? ("),
        (
            ["demo", "exactly-once", "--seed", "y"],
            "tidemark demo exactly-once: argument --seed: y cannot be; give a whole number; ",
        ),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_arguments_that_cannot_be_used(arguments: list[str], said: str, capsys: Capture) -> None:
    """One sentence, which ends with the command that lists the arguments."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in error
    assert error.count("\n") == 1
    assert error.endswith(" --help` lists the arguments\n")


@contextmanager
def _closed_pipe() -> Iterator[int]:
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    try:
        yield write
    finally:
        os.close(write)


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["doctor"]])
def test_standard_output_that_cannot_be_written(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "tidemark_conformance.cli", *arguments]
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    said = "tidemark: standard output cannot be written (No space left on device); send it to another place\n"
    assert found.stderr == said
    with _closed_pipe() as pipe:
        found = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (found.returncode, found.stderr) == (141, "")


def test_a_document_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, link = tmp_path / "found.json", tmp_path / "link.json"
    link.symlink_to(target)
    document.write({"found": 1}, str(link))
    assert (json.loads(target.read_text()), link.is_symlink()) == ({"found": 1}, True)
    whole = Path.write_text

    def full(self: Path, text: str, **more: Any) -> None:
        whole(self, text[:5], **more)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Unusable, match=r"link\.json cannot be written \(No space left on device\)"):
        document.write({"found": 2}, str(link))
    monkeypatch.undo()
    assert json.loads(target.read_text()) == {"found": 1}
    assert sorted(tmp_path.iterdir()) == [target, link]
    with pytest.raises(Unusable, match=r"/dev/full cannot be written"):
        document.write({"found": 3}, "/dev/full")


@pytest.mark.parametrize("option", ["--json", "--junit", "--sarif"])
@pytest.mark.parametrize("place", ["no/such/folder/x", "."])
def test_no_audit_begins_whose_result_has_no_place(
    option: str, place: str, two_phase: TwoPhase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("tidemark_conformance.commands.audit.run", lambda _: pytest.fail("it has begun"))
    _refused(["audit", str(two_phase.good), option, str(tmp_path / place)], tmp_path / place, capsys)
