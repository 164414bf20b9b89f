"""`tidemark logs show`: the replicas of a partition side by side, in the terminal, as SVG and as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from crafted_logs import REAL, data, directory, transactional
from tidemark.log.formats import compression, records
from tidemark_conformance.cli import main
from tidemark_conformance.logs.picture import LAST, MOST, picture

Capture = pytest.CaptureFixture[str]
SVG = "{http://www.w3.org/2000/svg}"


def show(capsys: Capture, *arguments: object) -> list[str]:
    assert main(["logs", "show", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_real_partition_begins_where_retention_left_it(capsys: Capture) -> None:
    """Two brokers have deleted a segment that the third one still has."""
    assert show(capsys, "trimmed-0", REAL) == [
        "trimmed-0",
        "             0  1  2  3  4  5  6",
        "  broker 1           e0 e0 e0 e2",
        "  broker 2  e0 e0 e0 e0 e0 e0 e2",
        "  broker 3           e0 e0 e0 e2",
        *(f"broker {node}: offsets 4 to 7, high watermark 7" for node in (1, 2, 3)),
    ]


def test_a_directory_that_is_given_twice_is_one_row(capsys: Capture) -> None:
    broker = REAL / "broker1"
    assert show(capsys, "orders-0", broker, broker / "orders-0", REAL) == show(capsys, "orders-0", REAL)


def test_markers_epochs_and_open_transactions_of_a_real_partition(capsys: Capture) -> None:
    said = show(capsys, "orders-0", *sorted(REAL.iterdir()))
    assert " ".join(said[1].split()) == "0 2 … 11 12 … 26 27 … 42 43 44 45 46 47"
    assert " ".join(said[2].split()) == "broker 1 e0 e0C e0A e1 e1C e2C e2A e2 e2C e2 e2A e2"
    assert said[2].split()[2:] == said[3].split()[2:] == said[4].split()[2:]
    assert said[5] == "broker 1: offsets 0 to 48, high watermark 48, open transaction of producer 2001 from offset 47"


def parted(folder: Path) -> list[Path]:
    """Two brokers whose logs part at offset 2; a batch is missing at offset 1 of the second."""
    one = [data(0, 0), data(1, 1), data(2, 2, 2, leader=1), transactional(4, 4)]
    other = [data(0, 0), data(2, 2, leader=2)]
    return [
        directory(folder / "b1", 1, {"orders-0": one}, high_watermark=2),
        directory(folder / "b2", 2, {"orders-0": other}, high_watermark=1),
    ]


def test_what_differs_and_what_is_missing_is_marked(capsys: Capture, tmp_path: Path) -> None:
    assert show(capsys, "orders-0", *parted(tmp_path)) == [
        "orders-0",
        "             0  1    2  4",
        "  broker 1  e0 e0 |e1! e0",
        "  broker 2  e0 |-  e2!",
        "broker 1: offsets 0 to 5, high watermark 2, open transaction of producer 7 from offset 4",
        "broker 2: offsets 0 to 3, high watermark 1",
        "the replicas part at offset 2",
    ]
    assert show(capsys, "orders-0", *parted_only(tmp_path), "--offsets", "0-1")[1].split() == ["0", "1"]


def test_offsets_without_a_batch_are_told(capsys: Capture, tmp_path: Path) -> None:
    paths, none = parted(tmp_path), "no batch of these replicas is at the offsets that are asked for"
    assert show(capsys, "orders-0", *paths, "--offsets", "1000-")[-1] == none
    assert none not in show(capsys, "orders-0", *paths, "--offsets", "4-")
    page = tmp_path / "orders.html"
    show(capsys, "orders-0", *paths, "--offsets", "1000-", "-o", page)
    assert f"<p>{none}</p>" in page.read_text()
    target = tmp_path / "orders.svg"
    assert show(capsys, "orders-0", *paths, "--offsets", "1000-", "-o", target) == [none]


def parted_only(folder: Path) -> list[Path]:
    return [folder / "b1", folder / "b2"]


def classes(root: ElementTree.Element, name: str) -> list[str]:
    return [one.get("class", "") for one in root.iter(f"{SVG}{name}")]


def test_svg_and_page_have_every_cell_bar_and_span(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "orders.svg"
    assert show(capsys, "orders-0", *parted(tmp_path), "-o", target) == []
    root = ElementTree.parse(target).getroot()
    cells = [one for one in classes(root, "rect") if one.startswith("cell")]
    assert cells[:7] == [
        *("cell stored hue0", "cell stored hue0", "cell other hue1", "cell stored hue0"),
        *("cell stored hue0", "cell absent", "cell other hue2"),
    ]
    assert classes(root, "line") == ["bar0", "bar0", "bar0"]  # of two replicas, and of the legend
    assert classes(root, "path") == ["span", "span"]
    said = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    assert {"epoch 0", "high watermark", "open transaction", "differs between replicas", "missing"} <= set(said)
    page = tmp_path / "orders.html"
    show(capsys, "orders-0", *parted_only(tmp_path), "-o", page)
    assert "<p>the replicas part at offset 2</p>" in page.read_text()
    assert "<svg" in page.read_text()


def test_a_long_log_is_folded_around_what_is_told(tmp_path: Path) -> None:
    one = [data(offset, offset) for offset in range(3000)]
    other = [*one[:1500], data(1500, 1500, value=b"forged"), *one[1501:]]
    paths = [directory(tmp_path / f"b{node}", node, {"orders-0": log}) for node, log in ((1, one), (2, other))]
    found = picture("orders-0", paths)
    offsets = [column.offset for column in found.columns]
    assert offsets == [0, 1, 1499, 1500, *range(3000 - LAST, 3000)]
    assert sum(column.folded for column in found.columns) == 3000 - len(offsets)
    assert (found.parts, len(found.columns) <= MOST) == (1500, True)


def test_a_torn_tail_is_told(capsys: Capture, tmp_path: Path) -> None:
    (path, _) = parted(tmp_path)
    log = path / "orders-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-5])
    assert any("and the file ends after" in line for line in show(capsys, "orders-0", path))
    log.write_bytes(b"\xff" * 100 + log.read_bytes())
    assert main(["logs", "show", "orders-0", str(path)]) == 2


def test_records_that_cannot_be_read_are_marked(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a control batch, and of two batches that compaction may have rewritten."""
    garbage = data(0, -1, attributes=32, producer=-1, epoch=-1)
    header = records.batch_header(1, 2, 0, codec=3)
    both = [records.Record(one, 1, b"k", b"v") for one in (1, 2)]
    logs = [[garbage, records.batch_of(header, some)] for some in (both, both[1:])]
    paths = [directory(tmp_path / f"b{one}", one, {"t-0": log}, cleaned=1) for one, log in enumerate(logs)]
    assert main(["logs", "show", "t-0", *map(str, paths)]) == 2
    assert [line.split()[2:] for line in capsys.readouterr().out.splitlines()[2:4]] == [["e0?", "e0"]] * 2
    monkeypatch.setitem(sys.modules, compression.LIBRARY, None)
    assert main(["logs", "show", "t-0", *map(str, paths)]) == 2
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[2:] for line in said[2:4]] == [["e0?", "e0?"]] * 2
    why = "tidemark logs dump --records says why"
    assert said[6:] == [f"unreadable records at offset {at}: {why}" for at in (0, 1)]


def refused(capsys: Capture, *arguments: object) -> str:
    assert main(["logs", "show", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_bad_input_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    assert "no directory has a partition orders-7; they have __cluster_metadata-0," in refused(capsys, "orders-7", REAL)
    with pytest.raises(SystemExit, match="2"):
        main(["logs", "show", "orders-0", str(REAL), "-o", str(tmp_path / "orders.png")])
    assert "orders.png is no name of a picture; give one that ends in .svg or .html" in capsys.readouterr().err
    one = directory(tmp_path / "b1", 1, {"orders-0": [data(0, 0)]}, topic_id="one")
    other = directory(tmp_path / "b2", 2, {"orders-0": [data(0, 0)]}, topic_id="other")
    assert "has the topic ids one, other" in refused(capsys, "orders-0", one, other)
