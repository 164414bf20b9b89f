"""Audit and explain read the manifest beside simulated traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance import cli
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.registry.specifications import baselines, load_for
from tidemark_conformance.simulate.generate import MANIFEST
from tidemark_conformance.simulate.provenance import beyond, removed_from
from tidemark_conformance.tla.spec import Specification, load

NEITHER: dict[str, Any] = {"baseline": None, "without": None}


@pytest.fixture(scope="module")
def transactions() -> Specification:
    known = protocols()["transactions"]
    return load(known.spec, known.config)


def folder(place: Path, **settings: Any) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / MANIFEST).write_text(json.dumps({"settings": settings}))
    return place


def test_named_sets_of_rules_are_found(transactions: Specification) -> None:
    found = baselines(transactions)
    assert sorted(found) == ["KafkaAsShipped", "TransactionV0", "TransactionV1"]
    assert found["TransactionV1"] == {"ActOnCommitted", "AnswerOfElected", "PersistLastEpoch", "EpochPerTransaction"}


@pytest.mark.parametrize(
    ("protocol", "there"),
    [
        ("transactions", "KafkaAsShipped, TransactionV0, TransactionV1"),
        ("replication", "KafkaAsShipped"),
        ("exactly-once", "KafkaAsShipped"),
    ],
)
@pytest.mark.parametrize("name", ["Foo", "TransactionV2", "States"])
def test_an_unknown_baseline_is_refused_with_those_that_there_are(name: str, protocol: str, there: str) -> None:
    known = protocols()[protocol]
    with pytest.raises(Unusable, match=f"has no baseline {name}; choose from repaired, {there}$"):
        load_for(None, known.spec, known.config, baseline=name)
    assert load_for(None, known.spec, known.config, baseline="KafkaAsShipped")[1] == "KafkaAsShipped"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"flaw": "KIP-890-a"}, "TransactionV1"),
        ({"flaw": "70"}, "TransactionV1"),
        ({"flaw": None, "without": ["EpochPerTransaction"]}, "TransactionV1"),
        ({"flaw": None, "without": ["VerifyTransaction"]}, None),
        ({"flaw": None}, None),
    ],
)
def test_the_baseline_of_another_version_is_told(
    settings: dict[str, Any], named: str | None, transactions: Specification, tmp_path: Path
) -> None:
    said = beyond(folder(tmp_path, protocol="transactions", **settings), transactions, NEITHER)
    assert (f"--baseline {named} judges" in said) if named else said == ""


def test_who_has_chosen_is_told_nothing(transactions: Specification, tmp_path: Path) -> None:
    run = folder(tmp_path, protocol="transactions", flaw="KIP-890-a")
    assert removed_from(run) == {"EpochPerTransaction", "VerifyTransaction"}
    assert beyond(run, transactions, {**NEITHER, "baseline": "KafkaAsShipped"}) == ""
    assert beyond(tmp_path / "none", transactions, NEITHER) == ""


@pytest.mark.parametrize("command", ["audit", "explain"])
def test_a_composition_is_refused_before_anything_is_compiled(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [folder(tmp_path / name, protocol="composed") for name in ("classic-group", "replication")]
    assert cli.main([command, str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error == (
        f"tidemark {command}: {tmp_path} holds the runs of a composition; give one of its parts: "
        f"{parts[0]}, {parts[1]}\n"
    )


@pytest.mark.deep
def test_flawed_traces_are_judged_by_version_1_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recipe of docs/transactions.md: the output of simulate, and then that of explain."""
    out = tmp_path / "traces"
    assert cli.main(["simulate", "transactions", "--flaw", "KIP-890-a", "--traces", "5", "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith("5 traces without EpochPerTransaction, VerifyTransaction, ")
    assert cli.main(["explain", str(out), "--no-shrink"]) == 1
    said = capsys.readouterr().out
    assert "simulated without EpochPerTransaction, VerifyTransaction: --baseline TransactionV1 judges by" in said


def test_the_help_of_demo_leads_to_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["demo", "--help"])
    assert "tidemark demo exactly-once --help" in " ".join(capsys.readouterr().out.split())
