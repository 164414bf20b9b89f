"""Zoo rows in the documents (report/stories.py). test_docs.py checks that the blocks are current."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry import zoo
from tidemark_conformance.report import generated, stories

ROOT = Path(__file__).parent.parent


def test_every_story_is_told_somewhere() -> None:
    told = {name for file in (ROOT / "docs").rglob("*.md") for name in generated.blocks(file)}
    assert set(stories.blocks()) <= told


@pytest.mark.parametrize("row", [row.id for row in zoo.rows() if row.refused])
def test_an_explanation_names_the_property_and_the_run(row: str) -> None:
    said = stories.explained(zoo.one(row))
    assert f"trace {row} (traces/golden/transactions/{row}.txt): FAIL" in said
    assert "TransactionsProperties.tla:" in said
    assert str(ROOT) not in said


@pytest.mark.parametrize(
    ("row", "instead", "error"),
    [
        ("KIP-890-a", "AppendBatch(c1, p1, TRUE)", "INVALID_PRODUCER_EPOCH"),
        ("KAFKA-17754", "AppendEndTxn(b1, c1, TRUE)", "PRODUCER_FENCED"),
    ],
)
def test_what_is_refused_says_by_what(row: str, instead: str, error: str) -> None:
    said = stories.refused(zoo.one(row))
    assert f"why it is not {instead}" in said
    assert error in said


@pytest.mark.parametrize(
    ("row", "refused"), [("KAFKA-5351", "AppendBatch(c1, p1, TRUE)"), ("KIP-890-a", "SendInitProducerId(c1, b1)")]
)
def test_what_nothing_refuses_is_not_told(row: str, refused: str) -> None:
    with pytest.raises(Unusable, match=f"nothing is refused in the golden scenario of row {row}"):
        stories.refused(replace(zoo.one(row), refused=refused))
