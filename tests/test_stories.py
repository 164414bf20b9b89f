"""What documents tell of zoo rows (report/stories.py); that the blocks are current is test_docs.py's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.report import generated, stories

ROOT = Path(__file__).parent.parent


def test_every_story_is_told_somewhere() -> None:
    told = {name for file in (ROOT / "docs").glob("*.md") for name in generated.blocks(file)}
    assert set(stories.blocks()) <= told


@pytest.mark.parametrize("row", stories.TOLD)
def test_an_explanation_names_the_property_and_the_run(row: str) -> None:
    said = stories.explained(row)
    assert f"trace {row} (traces/golden/{row}.txt): FAIL" in said
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
    said = stories.refused(row)
    assert f"why it is not {instead}" in said
    assert error in said


@pytest.mark.parametrize("row", ["KAFKA-5351", "resume-markers"])
def test_a_row_without_a_latecomer_tells_of_none(row: str) -> None:
    with pytest.raises(Unusable, match=f"nothing is refused in the golden scenario of row {row}"):
        stories.refused(row)
