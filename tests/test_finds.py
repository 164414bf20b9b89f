"""The finds' data, and their pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_root
from tidemark_conformance.paths import spec_root
from tidemark_conformance.report import finds, generated

ROOT = golden_root().parents[1]
FINDS = finds.read(ROOT)
PAGES = ROOT / "docs" / "finds"
each = pytest.mark.parametrize("one", FINDS, ids=lambda one: one.id)


def test_every_find_has_a_page_and_every_page_a_find() -> None:
    assert len({one.id for one in FINDS}) == len(FINDS) > 30
    assert {one.id for one in FINDS} == {page.stem for page in PAGES.glob("*.md")}


@each
def test_a_page_has_the_head_and_the_ticket_of_its_find(one: finds.Find) -> None:
    page = PAGES / f"{one.id}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {one.id}\n")
    assert generated.blocks(page) == [f"find-{one.id}", f"ticket-{one.id}"]


@each
def test_a_rule_of_a_find_is_in_a_specification(one: finds.Find) -> None:
    """A find without a rule says so, and a rule of the zoo's row is one of the find's or goes with it."""
    texts = "".join(file.read_text(encoding="utf-8") for file in spec_root().glob("*/*.tla"))
    assert all(f'"{rule}"' in texts for rule in one.rules)
    assert "none yet" in finds.head(one) or one.rules
    assert one.row is None or set(one.rules) & set(one.row.rules)


def test_every_schedule_is_that_of_a_find() -> None:
    played = {file.stem for file in golden_root().glob("*/*.toml")}
    assert played == {one.id for one in FINDS if one.schedule}
    assert all(one.runs for one in FINDS if one.schedule)


def test_what_nobody_has_run_is_a_conjecture() -> None:
    silent = next(one for one in FINDS if not one.runs and not one.also)
    assert finds.NOT_RUN in finds.head(silent)
    assert "no broker yet" in finds.ticket(silent)
    shown = next(one for one in FINDS if one.id == "CAND-1")
    assert "6 of 6" in finds.head(shown)
    assert "conjecture" not in finds.head(shown)
    assert "6 of 6" in finds.ticket(shown)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "no list of finds"),
        ("[[find]\n", "no list of finds"),
        ('[[find]]\nid = "X"\n', "find X lacks words, or has others: also, cause"),
    ],
)
def test_damaged_data_is_one_sentence(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / finds.DATA
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Unusable, match=wrong):
        finds.blocks(tmp_path)


def test_a_checkout_without_finds_has_no_blocks(tmp_path: Path) -> None:
    assert finds.blocks(tmp_path) == {}


def test_what_no_broker_has_run_says_so() -> None:
    """A schedule of a log starts none; README's table tells these apart from clusters."""
    rows = [line for line in finds.played(FINDS).splitlines() if "](docs/finds/" in line]
    alone = {one.id for one in FINDS if one.schedule and not one.on_cluster}
    assert {"CAND-23", "CAND-24", "CAND-25"} <= alone < {one.id for one in FINDS if one.schedule}
    assert {one for one in alone if any(f"[{one}]" in row and finds.NO_BROKER in row for row in rows)} == alone
    assert sum(finds.NO_BROKER in row for row in rows) == len(alone)
