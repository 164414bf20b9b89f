"""The generated parts of the documents: up to date, and made only of stored results."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from simulated import SIMULATED, Simulated
from test_names import rules_of_specification
from tidemark_conformance.cli import main
from tidemark_conformance.commands import verify
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.report import closing, generated, picture, speed

ROOT = Path(__file__).parent.parent
FILES = [file for file in generated.documents(ROOT) if generated.blocks(file)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_generated_parts_are_up_to_date(file: Path) -> None:
    """If this fails: `make docs`."""
    text = file.read_text(encoding="utf-8")
    assert generated.rewrite(text, generated.cheap(), file.name) == text


def test_a_recorded_run_and_recorded_benches_are_shown() -> None:
    assert "make-check" in generated.blocks(ROOT / "README.md")
    assert "bench" in generated.blocks(ROOT / "docs" / "commands.md")


@pytest.mark.parametrize(("file", "limit"), [("README.md", 3_600), ("ARCHITECTURE.md", 5_000)])
def test_a_document_that_is_read_first_stays_short(file: str, limit: int) -> None:
    """In bytes, without the generated parts."""
    text = (ROOT / file).read_text(encoding="utf-8")
    written = generated.rewrite(text, dict.fromkeys(generated.blocks(ROOT / file), str), file)
    assert len(written.encode()) <= limit


LONGEST = 25
"""Words of a sentence."""


def long_sentences(text: str) -> list[str]:
    """Sentences of a Markdown text beyond the limit. Code, tables, headings and pictures are left out; a code span is
    one word."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?:#|\||<!--|!\[).*$", "", text, flags=re.MULTILINE)
    prose = [part for part in re.split(r"\n\s*\n", text) if not part.startswith("    ")]
    items = [item for part in prose for item in re.split(r"^ *(?:[-*]|\d+\.) ", part, flags=re.MULTILINE)]
    plain = [re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", item)) for item in items]
    sentences = [one for item in plain for one in re.split(r"(?<=[.?!])[\"')*_\]]*\s+", item)]
    return [one for one in sentences if sum(bool(re.search(r"\w", word)) for word in one.split()) > LONGEST]


@pytest.mark.parametrize("file", generated.documents(ROOT), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_sentence_is_short(file: Path) -> None:
    """Outside the generated parts, which quote specifications and runs."""
    text = file.read_text(encoding="utf-8")
    assert long_sentences(generated.rewrite(text, dict.fromkeys(generated.blocks(file), str), file.name)) == []


def test_a_long_sentence_is_found() -> None:
    long, short = ("word " * (LONGEST + 1)).strip() + ".", "`code of many words` [and a link](there)."
    assert (
        long_sentences(f"# {long}\n\n{short}\n{long}\n\n    {long}\n\n| {long} |\n\n- {short}\n- {long}\n")
        == [long] * 2
    )


@pytest.mark.parametrize("protocol", sorted({row.protocol for row in zoo.rows()}))
def test_every_protocol_has_a_page(protocol: str) -> None:
    """With its rules; DIVERGENCES.md is the index of the pages."""
    page = ROOT / "docs" / "protocols" / f"{protocol.replace('-', '_')}.md"
    assert f"rules-{protocol}" in generated.blocks(page)
    assert f"({page.relative_to(ROOT)})" in (ROOT / "DIVERGENCES.md").read_text(encoding="utf-8")


def test_every_protocol_is_in_the_table_of_names() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)`", text, re.MULTILINE) == list(protocols.protocols())


@pytest.mark.parametrize("one", SIMULATED, ids=lambda one: one.protocol)
def test_every_rule_is_in_the_table_of_its_protocols_page(one: Simulated) -> None:
    page = (ROOT / "docs" / "protocols" / f"{one.protocol.replace('-', '_')}.md").read_text(encoding="utf-8")
    table = page.partition(f"<!-- begin: rules-{one.protocol} ")[2].partition("<!-- end:")[0]
    named = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[1:])))
    assert named == set(rules_of_specification(one))


def test_the_words_of_the_table_in_the_readme_are_explained() -> None:
    """On the pages that stand above the table: the constants of the proofs' line, and the words of the others."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    above, _, table = text.partition("<!-- begin: make-check")
    constants = {name for finite in re.findall(r"finite: ([^)]*)\)", table) for name in re.findall(r"(\w+) \d", finite)}
    assert {"LateCounting", "Reading", "RM"} <= constants
    proofs = (ROOT / "docs" / "prove.md").read_text(encoding="utf-8").partition("## Constants")[2].partition("\n## ")[0]
    assert {name for name in constants if f"`{name}`" not in proofs} == set()
    words = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8").partition("## Words")[2].partition("<!-- begin:")[0]
    for word in ("flaw", "row", "kill matrix", "hunt"):
        assert word in table
        assert f"**{word}**" in words
    assert "(docs/zoo.md), [constants](docs/prove.md)" in above


LINK = re.compile(r"\[[^]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


NUMBERED = {row.number for row in zoo.rows()}
OUTSIDE = 900
"""Numbers from here on are of the tests' own examples."""


def test_a_number_without_a_row_is_explained_where_the_zoo_says() -> None:
    """docs/zoo.md names the page of each; no text calls such a number a row."""
    text = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    elsewhere = re.findall(r"^- ([\d, toand]+) on the page of \[[^]]+\]\(([^)]+)\)$", text, flags=re.MULTILINE)
    assert len(elsewhere) == 3
    for numbers, page in elsewhere:
        said = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
            for number in range(int(first), int(last or first) + 1):
                assert number not in NUMBERED
                assert re.search(rf"\b{number}\b", said), (number, page)


GAP = r"\s+(?:\\\*\s*)?"
"""Between two words, also those of a comment of two lines."""
LISTED = rf"\d+(?:(?:,|{GAP}(?:and|or|to)|,{GAP}(?:and|or)){GAP}\d+)*"
"""Numbers in a sentence: 1, 4 to 6 and 9."""


def numbered(text: str) -> set[int]:
    """The numbers of a list in a sentence. The numbers between two are left out: not all of them have a row."""
    return {int(number) for number in re.findall(r"\d+", text)}


def test_a_list_of_rows_is_read_whole() -> None:
    (found,) = re.findall(rf"\b[Rr]ows?{GAP}({LISTED})", "Rows 1, 4 to 6,\n\\* 10 and 11 fall in 3 models.")
    assert numbered(found) == {1, 4, 6, 10, 11}


def test_a_row_that_a_text_names_is_in_the_zoo() -> None:
    for pattern in (
        "docs/**/*.md",
        "spec/*/**/*.tla",
        "spec/*/**/*.cfg",
        "spec/*/**/*.toml",
        "impl/**/*.py",
        "tests/**/*.py",
        "*.md",
    ):
        for file in ROOT.glob(pattern):
            found = re.findall(rf"\b[Rr]ows?{GAP}({LISTED})", file.read_text(encoding="utf-8"))
            named = {number for numbers in found for number in numbered(numbers)}
            assert {number for number in named if number < OUTSIDE} <= NUMBERED, file


@pytest.mark.parametrize("file", generated.documents(ROOT), ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    links = [one for one in LINK.findall(file.read_text(encoding="utf-8")) if "://" not in one]
    assert [one for one in links if not (file.parent / one).exists()] == []


PLACE = re.compile(r"`((?:spec|impl|conformance|tests|traces|docs)/[\w./-]+)`")


@pytest.mark.parametrize("file", generated.documents(ROOT), ids=lambda file: str(file.relative_to(ROOT)))
def test_named_files_are_there(file: Path) -> None:
    """Names that begin with a root of the tree, between backquotes."""
    assert [one for one in PLACE.findall(file.read_text(encoding="utf-8")) if not (ROOT / one).exists()] == []


NAMED = re.compile(r"FALSE .* (\w+\.tla):(\d+)$")


def test_an_explanation_that_a_page_shows_names_the_lines_as_they_are() -> None:
    """A line `FALSE ... File.tla:N` and the next: that is how line N of the file begins."""
    lines = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8").splitlines()
    named = [(one[1], int(one[2]), lines[at + 1]) for at, text in enumerate(lines) if (one := NAMED.search(text))]
    assert len(named) > 1
    for name, number, shown in named:
        (file,) = (ROOT / "spec").glob(f"*/{name}")
        line = file.read_text(encoding="utf-8").splitlines()[number - 1]
        assert shown.split()[:2] == line.replace("/\\", "").split()[:2], (name, number)


def test_recorded_benches_are_shown_a_row_per_protocol(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    speed.record([speed.Measure("b.audit.full.steps_per_s", 2_500_000.0, "steps/s")], file)
    speed.record(
        [
            speed.Measure("a.audit.steps", 10_000_000.0, "steps"),
            speed.Measure("a.audit.full_over_scan", 2.44, "ratio"),
            speed.Measure("a.audit.over_tlc", 6900.4, "ratio"),
        ],
        file,
    )
    assert speed.recorded(file).splitlines() == [
        "    audit  steps audited    steps/s  time of a scan  rate of TLC  MiB  simulated  not compiled",
        "    a         10,000,000          -           2.4 x      6,900 x    -          -             -",
        "    b                  -  2,500,000               -            -    -          -             -",
    ]


def test_a_recorded_run_is_shown_as_it_was_printed(tmp_path: Path) -> None:
    lines = [closing.Line("models", "2 of 2 as expected", True, 12.345), closing.Line("traces", "1 flag", False, 1.0)]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(closing.document(lines, 13.37, deep=False)))
    assert closing.recorded(file).splitlines() == [
        "    make check  found                                seconds",
        "    models      2 of 2 as expected  ok                  12.3",
        "    traces      1 flag              NOT AS EXPECTED      1.0",
        "    not as expected in 13.4 s",
    ]


def test_verify_records_its_closing_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "model_lines", lambda *_: ([closing.Line("models", "1 of 1", True, 2.0)], []))
    monkeypatch.setattr(verify, "_simulates", lambda _: False)
    monkeypatch.setattr(verify, "trace_lines", lambda *_: [closing.Line("traces", "3 flags", False, 1.0)])
    monkeypatch.setattr(verify, "hunt_lines", lambda *_: [])
    monkeypatch.setattr(verify, "proving", lambda _: contextlib.nullcontext(list))
    monkeypatch.setattr(closing, "RECORD", tmp_path / "run.json")
    assert main(["verify", "--record", "--json", str(tmp_path)]) == 1
    assert "3 flags  NOT AS EXPECTED" in closing.recorded(tmp_path / "run.json")
    assert (tmp_path / "verify.json").read_text() == (tmp_path / "run.json").read_text()


@pytest.mark.parametrize("text", ["", "[]", '{"lines": [{"what": "models"}], "seconds": 1}'])
def test_a_damaged_record_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(text)
    with pytest.raises(Unusable, match=r"is no table of make check .* make it anew by `tidemark verify --record`"):
        closing.recorded(file)


@pytest.mark.parametrize(("added", "code"), [("", 0), ("another line\n", 1)])
def test_what_is_out_of_date_fails_the_check_and_stays(added: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.setattr(generated, "rewrite", lambda text, *_: text + added)
    monkeypatch.setattr(picture, "wanted", lambda _: ())
    assert main(["docs", "--check"]) == code
    assert (ROOT / "README.md").read_text(encoding="utf-8") == before
