"""`tidemark hunt PROTOCOL`: a search by simulation that needs no profile made for a flaw (docs/hunt.md)."""

from __future__ import annotations

import argparse
import secrets
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tidemark_conformance import cache
from tidemark_conformance.audit.result import HOLDS, VIOLATION
from tidemark_conformance.console.progress import progress, say
from tidemark_conformance.errors import Unusable
from tidemark_conformance.hunt import showing
from tidemark_conformance.hunt.hunting import Hunted, hunt, seed_in
from tidemark_conformance.hunt.rows import Taken, taken
from tidemark_conformance.hunt.target import STEPS, Target, known_as, rules_of, target
from tidemark_conformance.implementation.packages import digest
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import Composition, Protocol, compositions, protocols
from tidemark_conformance.report import document, hunted
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.tla.kernels.runtime import Reach

ALL = "all"
MINUTES = 1.0
ROW_STEPS = 2_000_000
"""The default of `--steps` with `--rows`: of each row."""
ON_SPARK_STEPS, ON_SPARK_MINUTES = 10_000_000, 2.0
"""From so many steps, or minutes, on a hunt is worth the start of Spark."""
FOUND = "found.json"
"""The hunt's document in its folder."""
MOST_EXPLAINED = 3
"""So many findings are shrunk and explained."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark hunt`."""
    names = ", ".join([*protocols(), *compositions()])
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"a protocol or composition, or {ALL}: {names}")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=float, metavar="M", help=f"hunt so long ({MINUTES:g}); of {ALL}, each")
    budget.add_argument("--steps", type=int, metavar="N", help="simulate so many steps; then a seed is one hunt")
    flawed = parser.add_mutually_exclusive_group()
    flawed.add_argument("--without", metavar="RULE[,RULE]", help="without these rules")
    flawed.add_argument("--flaw", metavar="ROW", help="a row of the zoo, by id or number: without its rules")
    flawed.add_argument(
        "--rows",
        nargs="?",
        const="",
        metavar="ROW[,ROW]",
        help="a table: for each row of the zoo, or for these, the steps until its property first falls",
    )
    parser.add_argument("--record", action="store_true", help=f"with --rows: keep them in {hunted.RECORD}")
    parser.add_argument("--seed", type=int, metavar="S", help="of the hunt (default: a new one, which is printed)")
    parser.add_argument("--master", help="hunt on Spark, at this master, with an island for each of its cores")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep the hunt here, to go on with it later")
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Hunt; 1 for any finding, else 0. With `--rows` 1 for a row whose property did not fall, though it need not."""
    _require_sensible(args)
    seed = _seed(args)
    console = document.console(args.json)
    if args.protocol == ALL:
        return _hunt_all(args, seed, console)
    known = known_as(args.protocol, [ALL])
    if args.rows is not None:
        return _rows(args, known, seed, console)
    quarry = target(known, _without(args, known))
    found = _hunt(args, quarry, seed, console, args.output)
    document.write(found, args.json)
    return HOLDS if found["ok"] else VIOLATION


def _seed(args: argparse.Namespace) -> int:
    """The seed that is given, that of the hunt which the folder holds, or a new one."""
    if args.seed is not None:
        return int(args.seed)
    kept = None
    if args.output is not None:
        folders = [args.output / name for name in _all()] if args.protocol == ALL else [args.output]
        kept = next((found for found in map(seed_in, folders) if found is not None), None)
    return secrets.randbelow(1 << 32) if kept is None else kept


def _all() -> list[str]:
    """The protocols and compositions that can be hunted."""
    return [name for name, entry in {**protocols(), **compositions()}.items() if entry.implementation]


def _require_sensible(args: argparse.Namespace) -> None:
    for option, given, wrong, least in (
        (
            "--minutes",
            args.minutes,
            args.minutes is not None and not 0 < args.minutes < 1e6,
            "more than 0, and less than a million",
        ),
        ("--steps", args.steps, args.steps is not None and args.steps < 1, "1 or more"),
        ("--seed", args.seed, args.seed is not None and not 0 <= args.seed < 1 << 63, "0 or more, below 2^63"),
    ):
        if wrong:
            raise Unusable(f"{option} {given} cannot be; give {least}")
    if args.without is not None and not [one for one in args.without.split(",") if one]:
        raise Unusable(f"--without {args.without!r} names no rule; leave the option out, or give rules")
    if args.record and args.rows is None:
        raise Unusable("--record keeps the table of --rows; give that, too")
    if args.rows is not None and (args.minutes is not None or args.output is not None or args.master is not None):
        raise Unusable("--rows takes --steps and --seed; leave --minutes, --master and -o out")
    if args.protocol == ALL and (args.without or args.flaw or args.rows is not None):
        raise Unusable(f"{ALL} are hunted with all their rules; name one protocol for --without, --flaw or --rows")


def _without(args: argparse.Namespace, known: Protocol | Composition) -> tuple[str, ...]:
    if args.flaw is not None:
        return rules_of(zoo.one(args.flaw), known)
    return tuple(sorted({one for one in (args.without or "").split(",") if one}))


def _hunt_all(args: argparse.Namespace, seed: int, console: Console) -> int:
    """All protocols and compositions, one after another, on one session of Spark."""
    documents = []
    with _session(args) as _:
        for name in _all():
            known = known_as(name)
            folder = None if args.output is None else args.output / name
            documents.append(_hunt(args, target(known), seed, console, folder))
    ok = all(one["ok"] for one in documents)
    document.write({"schema": "tidemark.hunts/1", "ok": ok, "seed": seed, "hunts": documents}, args.json)
    return HOLDS if ok else VIOLATION


def _session(args: argparse.Namespace) -> Any:
    """Spark where it is asked for, or worth its start; else None."""
    minutes = MINUTES if args.minutes is None else args.minutes
    large = minutes >= ON_SPARK_MINUTES if args.steps is None else args.steps >= ON_SPARK_STEPS
    if args.master is None and not large:
        return nullcontext(None)
    from tidemark_conformance.spark.session import spark_session

    return spark_session(args.master)


def _hunt(args: argparse.Namespace, quarry: Target, seed: int, console: Console, folder: Path | None) -> dict[str, Any]:
    """One hunt, told to people; returns its document."""
    seconds = None if args.steps is not None else 60 * (MINUTES if args.minutes is None else args.minutes)
    if args.seed is None:
        say(f"hunt of {quarry.known.name}: seed {seed}")
    started = time.monotonic()
    with _session(args) as session, progress(f"hunt of {quarry.known.name}", "steps") as bar:
        islands = 1 if session is None else session.sparkContext.defaultParallelism
        settings = {
            "protocol": quarry.known.name,
            "without": list(quarry.without),
            "seed": seed,
            "islands": islands,
            "steps": STEPS,
            "bitmap": Reach.PLAIN,
            "code": " ".join([*map(digest, quarry.known.packages()), cache.code(hunt.__module__)]),
            "specification": quarry.judged_by,
        }
        found = hunt(
            quarry.job(seed),
            settings,
            steps=args.steps,
            seconds=seconds,
            islands=islands,
            session=session,
            packages=quarry.known.packages(),
            folder=folder,
            progress=bar,
        )
    took = time.monotonic() - started
    with progress("explaining what was found", "findings") as bar:
        results = showing.shown(quarry, found, lambda done: bar.update(done, len(found.total.findings)), MOST_EXPLAINED)
    reached, total = showing.coverage(quarry, found), found.total
    complaints = list(showing.complaints(quarry, total))
    if args.json != "-":
        _render(quarry, found, seed, islands, took, reached, console)
        showing.render(results, console)
        for one in complaints:
            console.print(one, style="bold red")
    result = {
        "schema": "tidemark.hunt/1",
        "ok": not results and not complaints,
        "protocol": quarry.known.name,
        "without": list(quarry.without),
        "seed": seed,
        "islands": islands,
        "steps": total.steps,
        "runs": total.runs,
        "cut": total.cut,
        "healed": total.healed,
        "seconds": round(took, 3),
        "peak_rss_mib": max((round(max(one) / 1024, 1) for one in found.memory), default=0.0),
        "coverage": reached,
        "growth": [{"steps": steps, "features": plain, "shapes": shapes} for steps, plain, shapes in found.growth],
        "rss_mib": [[round(one / 1024, 1) for one in pair] for pair in found.memory],
        "complaints": complaints,
        "findings": [showing.finding_document(one) for one in results],
    }
    if folder is not None:
        document.write(result, str(folder / FOUND))
    return result


def _render(
    quarry: Target, found: Hunted, seed: int, islands: int, took: float, reached: dict[str, Any], console: Console
) -> None:
    total = found.total
    flawed = f" without {', '.join(quarry.without)}" if quarry.without else ""
    where = "" if islands == 1 else f" on {islands} islands"
    verdict = "nothing found" if not total.findings else f"{counted(len(total.findings), 'finding')}"
    console.print(
        f"{quarry.known.name}{flawed}, seed {seed}{where}: {verdict} in {counted(total.runs, 'run')}, "
        f"{total.steps:,} steps, {took:.1f} s"
    )
    sides = sum(bool(one["held"]) + bool(one["blocked"]) for one in reached["rules"].values())
    taken_ = sum(map(bool, reached["actions"].values()))
    console.print(
        f"  reached: {taken_} of {len(reached['actions'])} actions, {sides} of {2 * len(reached['rules'])} sides of "
        f"rules, {reached['features']:,} pairs and changes, {reached['shapes']:,} shapes; {total.healed:,} runs "
        f"healed, {total.cut:,} cut at a capacity"
    )
    if found.memory:
        first, last = (" and ".join(f"{one / 1024:,.0f}" for one in found.memory[at]) for at in (0, -1))
        console.print(f"  MiB of this process and of its largest worker: {first} at first, {last} in the end")
    if len(found.growth) > 1:
        grown = ", ".join(f"{plain:,} + {shapes:,} at {steps:,}" for steps, plain, shapes in found.growth[-5:])
        console.print(f"  growth (pairs and changes + shapes at steps): {grown}")


def _rows(args: argparse.Namespace, known: Protocol | Composition, seed: int, console: Console) -> int:
    """The table of rows."""
    if not isinstance(known, Protocol):
        raise Unusable(f"{known.name} is a composition, and the zoo's rows are of protocols; name one of these")
    rows = [row for row in zoo.rows() if row.protocol == known.name]
    if args.rows:
        rows = [zoo.one(name) for name in args.rows.split(",")]
        for row in rows:
            rules_of(row, known)
    record = CHECKOUT / hunted.RECORD if args.record else None
    if record and record.exists():
        hunted.read(record)  # a damaged one is better known before hours of hunting
    with progress(f"rows of {known.name}", "rows") as bar:
        found = list(taken(known, rows, seed, args.steps or ROW_STEPS, bar))
    ok = all(one.hunted is not None or one.row.simulation.excused for one in found)
    if record:
        hunted.record(map(_row, found), known.name, seed, record)
    document.write(
        {
            "schema": "tidemark.hunt-rows/1",
            "ok": ok,
            "protocol": known.name,
            "seed": seed,
            "rows": [_row(one) for one in found],
        },
        args.json,
    )
    if args.json != "-":
        table = Table(box=None, pad_edge=False)
        for title in ("row", "id", "property", "hunted", "pinned"):
            table.add_column(title, justify="right" if title in ("row", "hunted", "pinned") else "left")
        for one in found:
            steps = f"{one.hunted:,}" if one.hunted is not None else f"not in {one.most:,}"
            pinned = f"{one.pinned:,}" if one.pinned is not None else "never"
            table.add_row(str(one.row.number), one.row.id, one.row.property, steps, pinned)
        console.print(f"{known.name}, seed {seed}: steps until the row's property first falls")
        console.print(table)
    return HOLDS if ok else VIOLATION


def _row(one: Taken) -> dict[str, Any]:
    return {
        "id": one.row.id,
        "number": one.row.number,
        "property": one.row.property,
        "steps": one.hunted,
        "most": one.most,
        "pinned_steps": one.pinned,
        "first": {"world": one.world, "seed": one.seed} if one.hunted is not None else None,
    }
