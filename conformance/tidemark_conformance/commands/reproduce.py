"""`tidemark reproduce [FIND]`: a find on released Kafka, on this machine (docs/reproduce.md)."""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tidemark_conformance.audit.result import HOLDS, UNDECIDED, VIOLATION
from tidemark_conformance.console.progress import progress, say
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab import releases
from tidemark_conformance.lab.play import NOT, OCCURRED, TRIES, VOID, Run, Told, runs
from tidemark_conformance.lab.runtime import Runtime, jdk, runtime
from tidemark_conformance.lab.schedule import Schedule, files, schedule
from tidemark_conformance.lab.training import train
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.report import document
from tidemark_conformance.report.paragraphs import counted

ALL = "all"
NEEDS = f"a JDK of Java {toolchain.OLDEST_JAVA} or newer, 2 GiB of memory, the network once; no root"
RESULT = "result.json"
"""The document of a run, in the folder that keeps it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark reproduce`."""
    parser.add_argument(
        "find", nargs="?", metavar="FIND", help=f"a find, or {ALL} with their controls (default: list them)"
    )
    versions = ", ".join(releases.known())
    parser.add_argument(
        "--kafka", default=releases.DEFAULT, metavar="VERSION", help=f"one of {versions} ({releases.DEFAULT})"
    )
    parser.add_argument("--control", action="store_true", help="without the decisive step: it must not occur")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep what the nodes and clients leave here")
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Play it; 0 if the verdict is the expected one, 1 for the other, 3 if every try was void. For all: the worst."""
    console = document.console(args.json)
    releases.jars(args.kafka)
    if args.find is None:
        return _list(args, console)
    names = list(files()) if args.find == ALL else [args.find]
    chosen = [(schedule(name, control), control) for name in names for control in _controls(args)]
    _require_empty(args.output)
    kafka = _prepared(args.kafka, any(one.cluster.brokers for one, _ in chosen))
    if args.output is not None:
        with writable(args.output):
            args.output.mkdir(parents=True, exist_ok=True)
    documents = []
    for one, control in chosen:
        folder = args.output
        if folder is not None and len(chosen) > 1:
            folder = folder / (f"{one.find}-control" if control else one.find)
        documents.append(_play(one, control, kafka, folder, console))
    if args.find == ALL:
        console.print()
        console.print(_table(documents))
    ok = all(one["ok"] for one in documents)
    whole = {"schema": "tidemark.reproductions/1", "ok": ok, "kafka": args.kafka, "runs": documents}
    document.write(whole if args.find == ALL else documents[0], args.json)
    if ok:
        return HOLDS
    return VIOLATION if any(not one["ok"] and one["verdict"] != VOID for one in documents) else UNDECIDED


def _prepared(version: str, nodes: bool) -> Runtime:
    """The jars and the driver, and for `nodes` the archive of classes, made once."""
    jdk()
    with progress(f"Kafka {version}", "jars") as bar:
        jars = releases.fetched(version, bar.update)
    kafka = runtime(version, jars)
    if nodes and not toolchain.archived(kafka.archive):
        say(f"Kafka {version}: an archive of its classes is made, once")
        train(kafka)
    return kafka


def _controls(args: argparse.Namespace) -> list[bool]:
    if args.find == ALL and args.control:
        raise Unusable(f"{ALL} are played with their controls; leave --control out, or name one find")
    return [False, True] if args.find == ALL else [args.control]


def _list(args: argparse.Namespace, console: Console) -> int:
    if args.control or args.output is not None:
        raise Unusable("--control and -o are of one find; name it (`tidemark reproduce` lists them)")
    listed = [schedule(name) for name in files()]
    table = Table(box=None, pad_edge=False)
    for title in ("find", "what happens", "shown on", "seconds"):
        table.add_column(title, justify="right" if title == "seconds" else "left", overflow="fold")
    for one in listed:
        table.add_row(one.find, one.title, ", ".join(one.shown), f"{one.seconds:g}")
    if args.json != "-":
        console.print(table)
        console.print(f"\neach needs {NEEDS}")
    finds = [
        {
            "find": one.find,
            "title": one.title,
            "protocol": one.protocol,
            "shown": list(one.shown),
            "seconds": one.seconds,
        }
        for one in listed
    ]
    document.write({"schema": "tidemark.finds/1", "finds": finds, "needs": NEEDS}, args.json)
    return HOLDS


def _require_empty(folder: Path | None) -> None:
    """A run leaves evidence, so nothing else is in its folder."""
    if folder is None:
        return
    with writable(folder):
        if folder.exists() and any(folder.iterdir()):
            raise Unusable(f"{folder} is not empty; give another folder with -o")


def _play(one: Schedule, control: bool, kafka: Runtime, output: Path | None, console: Console) -> dict[str, Any]:
    """Play a schedule until it is not void; returns its document, which stands in the folder, too."""
    console.print(f"{one.find}{' (control)' if control else ''} on Kafka {kafka.version}: {one.title}")
    if control:
        console.print(f"control: {one.control}")
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        root = output if output is not None else stack.enter_context(temporary_folder("tidemark-lab-"))
        tried = runs(
            one, kafka, lambda number: root.resolve() / f"try-{number}", lambda number: _teller(console, number)
        )
        result = _document(one, control, kafka.version, tried, time.monotonic() - began)
        _conclude(tried, result, console)
        if output is not None:
            document.write(result, str(output / RESULT))
            console.print(f"evidence: {output}")
    return result


def _teller(console: Console, number: int) -> Told:
    if number > 1:
        console.print(f"try {number} of {TRIES}")

    def tell(seconds: float, line: str, step: bool) -> None:
        console.print(f"{seconds:6.1f}  {line}" if step else f"{seconds:6.1f}      {line}")

    return tell


def _conclude(tried: list[Run], result: dict[str, Any], console: Console) -> None:
    last = tried[-1]
    if last.void:
        console.print(f"void: {last.void}")
    for text, seen in last.evidence:
        console.print(f"  {'yes' if seen.holds else 'no':3}  {text}: {seen.text}")
    times = "" if len(tried) == 1 else f", after {counted(len(tried) - 1, 'void run')}"
    console.print(f"{result['verdict']}{times if not last.void else ''} ({result['seconds']:.0f} s)")


def _document(one: Schedule, control: bool, version: str, tried: list[Run], seconds: float) -> dict[str, Any]:
    last = tried[-1]
    return {
        "schema": "tidemark.reproduce/1",
        "ok": last.verdict == (NOT if control else OCCURRED),
        "find": one.find,
        "title": one.title,
        "kafka": version,
        "control": control,
        "verdict": last.verdict,
        "seconds": round(seconds, 1),
        "tries": len(tried),
        "void": [run.void for run in tried if run.void],
        "steps": [{"step": number, "do": text, "seen": seen} for number, text, seen in last.steps],
        "evidence": [f"{'yes' if seen.holds else 'no'}: {text}: {seen.text}" for text, seen in last.evidence],
    }


def _table(documents: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("find", "run", "verdict", "tries", "seconds", "as expected"):
        table.add_column(title, justify="right" if title in ("tries", "seconds") else "left")
    for one in documents:
        kind = "control" if one["control"] else "schedule"
        table.add_row(
            one["find"], kind, one["verdict"], str(one["tries"]), f"{one['seconds']:.0f}", "yes" if one["ok"] else "NO"
        )
    return table
