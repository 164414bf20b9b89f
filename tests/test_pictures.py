"""The pictures of zoo rows: those that the documents link are there, and current."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain import golden
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.report import generated, picture

ROOT = Path(__file__).parent.parent
LINKED = sorted({row for file in generated.documents(ROOT) for row in picture.wanted(file.read_text())})
SVG = "{http://www.w3.org/2000/svg}"


def test_the_readme_has_a_picture() -> None:
    assert picture.wanted((ROOT / "README.md").read_text())


@pytest.mark.deep
@pytest.mark.parametrize("row", LINKED)
def test_a_picture_is_current_and_marks_the_failing_step(row: str) -> None:
    drawn = picture.picture(row)
    assert (picture.folder(ROOT) / f"{row}.svg").read_text() == drawn, "run make docs"
    marked = [rect for rect in ElementTree.fromstring(drawn).iter(f"{SVG}rect") if rect.get("class") == "failing"]
    assert marked


def test_every_protocol_has_a_picture_in_the_documents() -> None:
    """With a strip wherever its diagram has one: the stored state, not only the messages."""
    assert {zoo.one(row).protocol for row in LINKED} == set(protocols.protocols())
    for row in LINKED:
        drawn = ElementTree.fromstring((picture.folder(ROOT) / f"{row}.svg").read_text())
        strips = [group for group in drawn.iter(f"{SVG}g") if (group.get("class") or "").startswith("strip")]
        assert len(strips) > 3, row
        assert ".spacetime .cell.hue0" in next(drawn.iter(f"{SVG}style")).text, row


def test_a_row_without_a_scenario_has_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "golden_root", lambda: tmp_path)
    with pytest.raises(Unusable, match=r"no golden scenario acks-1\.txt"):
        picture.picture("acks-1")
