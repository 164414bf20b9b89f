"""`tidemark convert IN -o OUT`: traces from NDJSON to Parquet and back, without loss."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidemark_conformance.audit.result import HOLDS, UNDECIDED
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.specifications import add_specification_arguments, load_for
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.declared import declared
from tidemark_conformance.trace.files import NDJSON, file_header, form_of, local_files, stem_of
from tidemark_conformance.trace.schema import Schema, schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark convert`."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="IN", help="trace files, or a folder of them")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help=".ndjson, .parquet, or a folder (default: of one file its other form)",
    )
    add_specification_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Convert; 0, or 3 when damaged traces were carried over as they are."""
    files = local_files(args.paths)
    if not files:
        raise Unusable(f"{args.paths[0]} holds no trace file; give a .ndjson or .parquet file, or a folder of either")
    output = args.output or _beside(args.paths, files)
    result = convert(args.paths, output, _schema(args, files[0]))
    print(f"{counted(result.traces, 'trace')} of {counted(result.files, 'file')} converted to {output}")
    for damage, traces in sorted(result.damaged.items()):
        print(f"{traces:,} of them are damaged and stay so: {damage}", file=sys.stderr)
    return UNDECIDED if result.damaged else HOLDS


def _beside(paths: list[Path], files: list[Path]) -> Path:
    """Where one file goes if nobody says: beside it, in the form that it has not."""
    if len(files) > 1 or paths[0].is_dir():
        raise Unusable("several files go into a folder; give its name with -o")
    file = files[0]
    output = file.with_name(stem_of(file.name) + (".parquet" if form_of(file.name) == NDJSON else ".ndjson"))
    if output.exists():
        raise Unusable(f"{output} is there already; give another name, or this one, with -o")
    return output


def _schema(args: argparse.Namespace, first: Path) -> Schema:
    """The schema that the header declares, which is enough for both directions. With --spec or --config, the
    specification's own."""
    header = file_header(first)
    if args.spec is None and args.config is None:
        return declared(header, str(first))
    return schema_of(load_for(header.spec, args.spec, args.config, constants=header.constants)[0])
