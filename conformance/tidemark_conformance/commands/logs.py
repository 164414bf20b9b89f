"""`tidemark logs dump PATH...`, `audit DIR...`, `show TOPIC-PARTITION DIR...`: log directories of Kafka's brokers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark_conformance.audit.result import HOLDS, UNDECIDED, VIOLATION
from tidemark_conformance.logs.files import Foreign, LogFile, found, printable
from tidemark_conformance.logs.lines import line
from tidemark_conformance.logs.rows import PROBLEM, Row, Selection, of_batch, problem_row, rows
from tidemark_conformance.report import document
from tidemark_conformance.report.paragraphs import counted

if TYPE_CHECKING:
    from tidemark.log.formats.errors import Malformed

    from tidemark_conformance.logs.judging import Audited, Finding
    from tidemark_conformance.logs.traces import Place

UNUSABLE = 2
WHAT = {
    "PartitionLog": ("partition", "partitions"),
    "ProducerLog": ("producer", "producers"),
    "ReplicaLogs": ("pair of replicas", "pairs of replicas"),
    "TransactionLog": ("transactional id", "transactional ids"),
}
"""A trace of each specification, and several."""
SHOWN = 20
"""At most so many things that are not judged are named to people; the document has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark logs`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", help="dump, audit or show")
    dump = actions.add_parser("dump", help="one line a batch, a record or an entry")
    audit = actions.add_parser("audit", help="judge the batches of each partition by the specifications in spec/logs")
    for one in (dump, audit):
        one.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or folders of a log directory")
        one.add_argument("--no-cache", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    dump.add_argument("--records", action="store_true", help="the records of each batch, too")
    dump.add_argument(
        "--offsets", type=_offsets, default=(0, 2**63 - 1), metavar="A-B", help="only these offsets (also A, A-, -B)"
    )
    dump.add_argument("--topic", metavar="NAME", help="the topic, where the folder's name does not say it")
    dump.add_argument(
        "--json", type=document.output, metavar="FILE", help="write one JSON object a row ('-': standard output)"
    )
    document.add_argument(audit)
    show = actions.add_parser("show", help="a picture of a partition's replicas, side by side")
    show.add_argument("partition", metavar="TOPIC-PARTITION", help="as its folder is named: orders-0")
    show.add_argument("paths", nargs="+", type=Path, metavar="DIR", help="the brokers' log directories")
    show.add_argument(
        "--offsets", type=_offsets, default=(0, 2**63 - 1), metavar="A-B", help="only these offsets (also A, A-, -B)"
    )
    show.add_argument("-o", "--output", type=_drawn, metavar="FILE", help="write it as FILE.svg or FILE.html")
    show.add_argument("--no-cache", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Dump, audit or show."""
    return {"dump": _dump, "audit": _audit, "show": _show}[args.action](args)


def _dump(args: argparse.Namespace) -> int:
    """Dump; 2 where anything could not be read, after all that could."""
    wanted = Selection(args.offsets[0], args.offsets[1], args.records)
    code = HOLDS
    with document.lines(args.json) as write:
        for one in found(args.paths, args.topic):
            shown = printable(one.path)
            if args.json != "-" and isinstance(one, LogFile):
                print(_heading(one))
            for row in rows(one, wanted):
                write({"file": shown, **row})
                if row["kind"] == PROBLEM:
                    code = UNUSABLE
                    _complain(shown if isinstance(one, Foreign) else f"{shown}: at byte {row['at']:,}", row)
                elif args.json != "-":
                    print(line(row))
    return code


def _complain(where: str, row: Row) -> None:
    print(f"tidemark logs: {where} {row['problem']}; {row['remedy']}", file=sys.stderr)


def _heading(one: LogFile) -> str:
    status = f", {one.name.status.name.lower()}" if one.name.status.value else ""
    return f"{one.shown}: {one.name.kind.value}{status}"


def _audit(args: argparse.Namespace) -> int:
    """Audit; 1 for a finding, else 2 where anything could not be read, else 3 for an undecided trace. A torn tail is
    none of these."""
    from tidemark_conformance.logs.judging import audited

    told = audited(args.paths)
    document.write(_document(told), args.json)
    faults = _faults(told)
    for path, problem in faults:
        _complain(f"{printable(path)}: at byte {problem.position:,}", problem_row(problem))
    if args.json != "-":
        _print(told)
    if told.findings:
        return VIOLATION
    if faults:
        return UNUSABLE
    return UNDECIDED if told.undecided else HOLDS


def _faults(told: Audited) -> list[tuple[Path, Malformed]]:
    """The files that cannot be read, torn tails apart, each with its problem."""
    logs = [(one.fault.file.path, one.fault.problem) for one in told.slices if one.fault and not one.fault.tail]
    return logs + [(one.path, one.problem) for one in told.unread]


def _print(told: Audited) -> None:
    size = sum(one.size for one in told.slices)
    print(f"{counted(len(told.slices), 'partition')} read, {counted(size, 'byte')} of batches")
    for one in told.judged:
        print(f"{one.specification}: {_traces(one.specification, one.traces)}, {counted(one.steps, 'step')} judged")
    left = list(_not_judged(told))
    for row in left[:SHOWN]:
        print(f"not judged: {row}")
    if len(left) > SHOWN:
        print(f"not judged: {len(left) - SHOWN:,} more, which --json names")
    for finding in told.findings:
        _print_finding(finding)


def _traces(specification: str, number: int) -> str:
    one, several = WHAT[specification]
    return f"{number:,} {one if number == 1 else several}"


def _not_judged(told: Audited) -> Iterator[str]:
    for slices in told.slices:
        if slices.fault is not None:
            why = "a torn tail" if slices.fault.tail else "unreadable"
            yield f"{slices.fault.file.shown} from byte {slices.fault.problem.position:,} on ({why})"
    yield from (f"{printable(one.path)} (unreadable)" for one in told.unread)
    yield from (f"{printable(one.path)} {one.problem}" for one in told.foreign)
    yield from (f"{what} {why}" for what, why in told.left)


def _print_finding(finding: Finding) -> None:
    print(f"FINDING {finding.specification}.{finding.check}: {finding.place.file.shown}")
    _print_place("", finding.place)
    if finding.should:
        print(f"  should be: {finding.should}")
    for other in finding.places[1:]:
        _print_place("before it" if other.file == finding.place.file else f"{other.broker}: {other.file.shown}", other)
    if finding.traces > 1:
        print(f"  {_traces(finding.specification, finding.traces)} in all have a finding of this check")


def _print_place(label: str, place: Place) -> None:
    if label:
        print(f"  {label}")
    print(f"  none at {place.position}" if place.header is None else line(of_batch(place.position, place.header)))
    if place.offset is not None:
        print(f"    | {place.offset}")


def _document(told: Audited) -> dict[str, Any]:
    """The document `tidemark.logs-audit/1`."""
    faults = [one.fault for one in told.slices if one.fault is not None]
    return {
        "schema": "tidemark.logs-audit/1",
        "ok": not (told.findings or told.undecided or _faults(told)),
        "partitions": len(told.slices),
        "bytes": sum(one.size for one in told.slices),
        "judged": [asdict(one) for one in told.judged],
        "not_judged": [
            *({"file": one.file.shown, **problem_row(one.problem), "tail": one.tail} for one in faults),
            *({"file": printable(one.path), **problem_row(one.problem), "tail": False} for one in told.unread),
            *({"file": printable(one.path), "problem": one.problem} for one in told.foreign),
            *({"what": what, "problem": why} for what, why in told.left),
        ],
        "findings": [_finding(one) for one in told.findings],
    }


def _finding(one: Finding) -> dict[str, Any]:
    said = {"check": f"{one.specification}.{one.check}", "should": one.should, "traces": one.traces}
    others = [{"broker": other.broker, **_placed(other)} for other in one.places[1:]]
    return {**said, "brokers": list(one.brokers), **_placed(one.place), "beside": others}


def _placed(place: Place) -> dict[str, Any]:
    """The row of a batch with its file; the byte alone where a batch is missing."""
    row = {"at": place.position, "kind": "none"} if place.header is None else of_batch(place.position, place.header)
    return {"file": place.file.shown, **row, **({} if place.offset is None else {"offset": place.offset})}


def _show(args: argparse.Namespace) -> int:
    """Show; 2 where a log cannot be read to its end, or a batch's records, after all that could. A torn tail is told
    only."""
    from tidemark_conformance.logs import drawing
    from tidemark_conformance.logs.picture import picture
    from tidemark_conformance.report.picture import standalone

    shown = picture(args.partition, args.paths, *args.offsets)
    if args.output is None:
        console = document.console()
        for text in drawing.lines(shown):
            console.print(text)
    else:
        page = args.output.endswith(".html")
        document.write_text(drawing.page(shown) if page else standalone(drawing.svg(shown)), args.output)
        if not shown.columns:
            print(drawing.NOTHING)
    unread = any(row.unread and not row.torn for row in shown.rows) or any(column.unread for column in shown.columns)
    return UNUSABLE if unread else HOLDS


def _drawn(text: str) -> str:
    if not text.endswith((".svg", ".html")):
        raise argparse.ArgumentTypeError(f"{text} is no name of a picture; give one that ends in .svg or .html")
    return document.output(text)


def _offsets(text: str) -> tuple[int, int]:
    """`A`, `A-B`, `A-` or `-B`."""
    if not (read := re.fullmatch(r"(\d*)(-?)(\d*)", text)) or not (read[1] or read[3]):
        raise argparse.ArgumentTypeError(f"{text} is no range of offsets; give A, A-B, A- or -B")
    first = int(read[1] or 0)
    last = int(read[3]) if read[3] else 2**63 - 1 if read[2] else first
    if last < first:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins; give the lower offset first")
    return first, last
