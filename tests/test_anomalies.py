"""`spec/anomalies.toml` against the specifications, and where its names are shown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tidemark_conformance.audit.result import AuditResult, Failure
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import Stage, golden_run
from tidemark_conformance.registry import anomalies as table
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.anomalies import anomalies, glossary
from tidemark_conformance.registry.protocols import Protocol, protocols
from tidemark_conformance.report import audit, explanation
from tidemark_conformance.tla.spec import load

SPECIFICATIONS = {load(one.spec, one.config).module.name: one for one in protocols().values()}


@pytest.mark.parametrize("name", glossary().properties)
def test_every_property_is_one_that_the_audit_checks(name: str) -> None:
    specification = load(SPECIFICATIONS[name].spec, SPECIFICATIONS[name].config)
    checked = {one.name for one in (*specification.invariants, *specification.properties, *specification.quiescence)}
    assert set(glossary().properties[name]) <= checked


def test_a_name_is_of_some_property_or_allowed() -> None:
    said = {name for entries in glossary().properties.values() for names in entries.values() for name in names}
    assert said == {one.name for one in glossary().names.values() if not one.allowed}


@pytest.mark.deep
def test_what_rows_lose_or_tear_has_a_name() -> None:
    """Of the harms of the zoo clients see these three. The first property to fall in row 103 is the epoch cache's."""
    silent = [
        row.id
        for row in zoo.rows()
        if row.protocol in ("replication", "idempotence", "transactions")
        and {"LOSS", "DUP", "TEAR"} & set(row.harm.split(", "))
        and not anomalies(_module(protocols()[row.protocol]), [row.property])
    ]
    assert silent == ["KAFKA-18991"]


def _module(protocol: Protocol) -> str:
    return load(protocol.spec, protocol.config).module.name


def test_names_come_once_and_in_order() -> None:
    assert anomalies("Transactions", ["OneOutcome", "MarkerOfDecision"]) == ("torn transaction", "G1a", "lost-write")
    assert anomalies("Transactions", ["TypeOK"]) == ()
    assert anomalies("TwoPhase", ["OneOutcome"]) == ()


def test_an_unknown_name_is_refused(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("spec")
    (folder / table.ANOMALIES).write_text('[anomaly.a]\nmeaning = "m"\n[property.P]\nQ = ["b"]\n')
    monkeypatch.setattr(table, "spec_root", lambda: folder)
    with pytest.raises(Unusable, match=r"is no table of anomalies \(KeyError\('b'\)\)"):
        glossary.__wrapped__()


def result(*failures: Failure) -> AuditResult:
    return AuditResult("Transactions", 5, 9, 1.0, 3, 2, failures, (), {}, {})


def shown(of: AuditResult) -> str:
    said = io.StringIO()
    audit.render(of, Console(file=said, width=160))
    return said.getvalue()


def test_an_audit_tells_them() -> None:
    fallen = Failure("invariant", "ToldIsSo", 2, (("t1", 7),))
    strange = Failure("not-a-step", "ToldIsSo", 1, (("t1", 5),))
    told = result(fallen, strange)
    assert [one["anomalies"] for one in told.document()["failures"]] == [["G1a", "lost-write"], []]
    lines = shown(told).splitlines()
    assert next(line for line in lines if line.startswith("invariant")).rstrip().endswith("7  G1a, lost-write")
    assert next(line for line in lines if line.startswith("not-a-step")).rstrip().endswith("5")
    assert audit.CHECKERS not in shown(result(strange))


def test_an_explanation_tells_them() -> None:
    row = zoo.select(["KIP-98-stable"])[0]
    stage = Stage(row.protocol)
    explainer, run, judgement = stage.judge(golden_run(row, protocols()[row.protocol], stage.header), ())
    found = explainer.explain(run, judgement)
    named = {finding.name: finding.anomalies for finding in found.findings}
    assert named["ReadsCommitted"] == ("G1a", "precommitted-read")
    assert {name for name, names in named.items() if not names} >= {found.findings[0].name}
    sentence = next(text for text in explanation.summary(found) if "history" in text)
    assert sentence == "A client's history may show: G1a, precommitted-read, poll-skip, lost-write, nonmonotonic-poll."
