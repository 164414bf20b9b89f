"""`tidemark logs dump PATH...`: what the files of a broker's log directories hold."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tidemark_conformance.audit.result import HOLDS
from tidemark_conformance.logs.files import Foreign, LogFile, found, printable
from tidemark_conformance.logs.lines import line
from tidemark_conformance.logs.rows import PROBLEM, Selection, rows
from tidemark_conformance.report import document

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark logs`."""
    parser.add_argument("action", choices=("dump",), help="dump: one line a batch, a record or an entry")
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files, or folders: a partition's, or a whole log directory"
    )
    parser.add_argument("--records", action="store_true", help="the records of each batch, too")
    parser.add_argument(
        "--offsets",
        type=_offsets,
        default=(0, 2**63 - 1),
        metavar="A-B",
        help="only these offsets (also A, A-, -B)",
    )
    parser.add_argument(
        "--topic",
        metavar="NAME",
        help="the topic, where the folder's name does not say it",
    )
    parser.add_argument(
        "--json", type=document.output, metavar="FILE", help="write one JSON object a row ('-': standard output)"
    )


def run(args: argparse.Namespace) -> int:
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
                    where = shown if isinstance(one, Foreign) else f"{shown}: at byte {row['at']:,}"
                    print(f"tidemark logs: {where} {row['problem']}; {row['remedy']}", file=sys.stderr)
                elif args.json != "-":
                    print(line(row))
    return code


def _heading(one: LogFile) -> str:
    status = f", {one.name.status.name.lower()}" if one.name.status.value else ""
    return f"{one.shown}: {one.name.kind.value}{status}"


def _offsets(text: str) -> tuple[int, int]:
    """`A`, `A-B`, `A-` or `-B`."""
    if not (read := re.fullmatch(r"(\d*)(-?)(\d*)", text)) or not (read[1] or read[3]):
        raise argparse.ArgumentTypeError(f"{text} is no range of offsets; give A, A-B, A- or -B")
    first = int(read[1] or 0)
    last = int(read[3]) if read[3] else 2**63 - 1 if read[2] else first
    if last < first:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins; give the lower offset first")
    return first, last
