"""`tidemark simulate PROTOCOL`: run an implementation in its simulator and write the traces.

A protocol may come in more sizes than one. `sizes = { 5 = "replication/ReplicationFiveBrokers.cfg" }` in its entry of
`spec/<protocol>/protocol.toml` names a cfg for each. Its simulator's module then has `nodes_for(size)`.

Of a composition (an entry with `parts`) every run is a trace of each part, in a folder of the part's name.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tidemark_conformance.console.progress import Progress, progress
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import Composition, Protocol, compositions, protocol, protocols
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.report import document
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import BAD, GOOD, SOME, Generated, Output, generate, generate_together
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import Schema, schema_of

ON_SPARK = 20_000
"""From this many traces on Spark's workers simulate (fewer are done before it has started)."""

NOUNS = {
    "acknowledged": "acknowledgements that clients got",
    "changing": "steps that change something",
    "healed": "traces in which all faults ended",
}
"""The facts that every simulator may report -> the words printed after their numbers."""

PROFILE = "how the faults come: chaos, calm, ... (the simulator's default); an unknown name is answered with all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark simulate`."""
    names = ", ".join([*protocols(), *compositions()])
    parser.add_argument(
        "protocol", metavar="PROTOCOL", help=f"a protocol or composition of spec/<protocol>/protocol.toml: {names}"
    )
    parser.add_argument("--traces", type=int, required=True, metavar="N", help="how many traces, one per seed")
    parser.add_argument("--steps", type=int, default=50, metavar="S", help="recorded steps per trace, about (50)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="the first seed (0)")
    flawed = parser.add_mutually_exclusive_group()
    flawed.add_argument("--flaw", metavar="ROW", help="a row of the zoo, by id or number: without its rules")
    flawed.add_argument("--without", metavar="RULE[,RULE]", help="without these rules")
    parser.add_argument("--profile", metavar="NAME", help=PROFILE)
    parser.add_argument("--brokers", "--size", dest="size", type=int, metavar="N", help="another size of the protocol")
    parser.add_argument("--format", choices=("parquet", "ndjson"), default="parquet", help="of the traces (parquet)")
    parser.add_argument("--master", help="simulate on Spark, at this master")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="a folder, new or to be finished"
    )


def run(args: argparse.Namespace) -> int:
    """Simulate; 0, or 1 when the simulator's own client found a violation in a run with all rules."""
    for option, given, least in (("--traces", args.traces, 1), ("--steps", args.steps, 1), ("--seed", args.seed, 0)):
        if given < least:
            raise Unusable(f"{option} {given} is too low; give {least} or more")
    composed = compositions()
    together = composed.get(args.protocol)
    if together is not None:
        return _run_together(args, together)
    known = protocol(args.protocol, composed)
    if args.size is not None:
        known = known.sized(args.size)
    specification = load(known.spec, known.config)
    with_rules_off(specification, frozenset(_without(args)))
    _require_own(args.flaw, known)
    schema = schema_of(specification)
    started = time.monotonic()
    with progress(f"simulation of {known.name}") as bar:
        if args.format == "parquet":
            made = _simulate(args, known, schema, args.output, bar)
        else:
            made = _as_ndjson(args, known, schema, bar)
    return _report(args, made, time.monotonic() - started, args.output)


def _require_own(flaw: str | None, known: Protocol) -> None:
    """Raises Unusable for a row of the zoo that is another protocol's; the simulator judges names that are no row."""
    rows = [row for row in zoo.rows() if flaw in (row.id, str(row.number))]
    if rows and known.name not in [row.protocol for row in rows]:
        row = rows[0]
        command = f"tidemark simulate {row.protocol} --flaw {flaw}"
        raise Unusable(f"row {row.number} ({row.id}) is one of {row.protocol}: `{command}`")


def _without(args: argparse.Namespace) -> list[str]:
    """The rules of `--without`, in order."""
    return sorted({rule for rule in (args.without or "").split(",") if rule})


def _simulate(args: argparse.Namespace, known: Protocol, schema: Schema, out: Path, bar: Progress) -> Generated:
    options: dict[str, Any] = {} if args.profile is None else {"profile": args.profile}
    if _without(args):
        options["without"] = _without(args)
    header = schema.with_nodes(known.nodes(args.size))
    simulator = simulators.simulator(known, header, steps=args.steps, flaw=args.flaw, **options)
    settings = {"protocol": known.name, "steps": args.steps, "flaw": args.flaw, **options}
    with _workers(args) as session:
        return generate(
            simulator, _seeds(args), out, header, settings, session=session, progress=bar, packages=known.packages()
        )


def _seeds(args: argparse.Namespace) -> range:
    return range(args.seed, args.seed + args.traces)


def _workers(args: argparse.Namespace) -> Any:
    """Spark where it is asked for, or worth its start; else None."""
    if args.master is None and args.traces < ON_SPARK:
        return nullcontext(None)
    from tidemark_conformance.spark.session import spark_session

    return spark_session(args.master)


def _run_together(args: argparse.Namespace, known: Composition) -> int:
    """Simulate a composition: every run once, a folder for every part."""
    if args.size is not None or args.flaw is not None or args.format != "parquet":
        protocols_of = dict.fromkeys(part.name for part in known.parts.values())
        raise Unusable(
            f"{known.name} is a composition: it comes in one size, without a row's flaw, as Parquet; "
            f"leave those options out, or simulate one of {', '.join(protocols_of)}"
        )
    options: dict[str, Any] = {} if args.profile is None else {"profile": args.profile}
    if _without(args):
        options["without"] = _without(args)
    outputs = {
        name: Output(args.output / name, schema_of(load(part.spec, part.config)).with_nodes(known.nodes(name)))
        for name, part in known.parts.items()
    }
    headers = {name: output.header for name, output in outputs.items()}
    simulator = simulators.composed(
        known, {name: header.to_json() for name, header in headers.items()}, steps=args.steps, **options
    )
    settings = {"protocol": known.name, "steps": args.steps, **options}
    started = time.monotonic()
    with progress(f"simulation of {known.name}") as bar, _workers(args) as session:
        made = generate_together(
            simulator, _seeds(args), outputs, settings, session=session, progress=bar, packages=known.packages()
        )
    seconds = time.monotonic() - started
    return max(_report(args, made[name], seconds, output.folder) for name, output in outputs.items())


def _as_ndjson(args: argparse.Namespace, known: Protocol, schema: Schema, bar: Progress) -> Generated:
    """Simulate to Parquet aside, then convert."""
    from tidemark_conformance.trace.convert import convert

    with writable(args.output):
        args.output.mkdir(parents=True, exist_ok=True)
        if any(args.output.iterdir()):
            raise Unusable(f"{args.output} is not empty, and NDJSON is not continued; choose another folder")
    with temporary_folder("tidemark-simulate-") as temporary:
        aside = temporary / "traces"
        made = _simulate(args, known, schema, aside, bar)
        convert([aside], args.output, schema)
    return made


def _report(args: argparse.Namespace, made: Generated, seconds: float, out: Path) -> int:
    console = document.console()
    kept = f", {made.kept} parts were there" if made.kept else ""
    rules = sorted({*_without(args), *(zoo.one(args.flaw).rules if args.flaw else ())})
    flawed = f" without {', '.join(rules)}" if rules else ""
    console.print(f"{counted(made.traces, 'trace')}{flawed}, {made.steps:,} steps in {seconds:.1f} s in {out}{kept}")
    for name, number in sorted(made.facts.items()):
        if not name.startswith((BAD, GOOD)):
            console.print(f"  {number:,} {NOUNS.get(name, name.removeprefix(SOME))}")
    bad = {name.removeprefix(BAD): number for name, number in made.facts.items() if name.startswith(BAD)}
    for name, number in sorted(bad.items()):
        if number:
            console.print(f"  {number:,} {name}")
    return 1 if any(bad.values()) and args.flaw is None and not _without(args) else 0
