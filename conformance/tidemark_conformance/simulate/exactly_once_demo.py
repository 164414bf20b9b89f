"""`tidemark demo exactly-once`: every input record's result is in the output once, in spite of crashes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidemark.common.naming import snake_case
from tidemark.common.removal import rules_without
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.demonstration import Counted, Demonstration

from tidemark_conformance.console.progress import Progress
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.simulate import demonstration
from tidemark_conformance.simulate.generate import Simulated
from tidemark_conformance.tla import cfg

SPEC, CONFIG = "exactly_once/Delivery.tla", "exactly_once/Delivery.cfg"
ALIASES = {
    "idempotence": ("RecognizeDuplicate", "SequenceIsNext"),
    "fencing": ("CommitOfMember", "MemberOfInstance", "TxnCommitOfCurrentGeneration"),
    "verification": ("VerifyTransaction", "EpochNotOlder"),
    "isolation": ("ReadCommitted",),
}
"""A person's names for groups of rules that belong together."""


class ExactlyOnceDemonstration(demonstration.Demonstration):
    """A group of instances that consume, transform and produce."""

    summary = "exactly once: instances consume, transform and produce, with crashes and rebalances"
    counted = "records"
    without = f"without these rules, or without {', '.join(ALIASES)}: what is lost or doubled then is named"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """How much there is to do, and how much goes wrong."""
        parser.add_argument("--partitions", type=int, default=6, metavar="N", help="of the input (6)")
        parser.add_argument("--outputs", type=int, default=2, metavar="N", help="partitions of the results (2)")
        parser.add_argument("--instances", type=int, default=3, metavar="N", help="of the group (3)")
        parser.add_argument("--records", type=int, default=50_000, metavar="N", help="in the input (50,000)")
        parser.add_argument("--crash", type=int, default=12, metavar="N", help="so many processes crash, at least (12)")
        parser.add_argument(
            "--rebalance", type=int, default=24, metavar="N", help="so many members are thought gone, at least (24)"
        )

    def judged_by(self, args: argparse.Namespace, out: Path) -> tuple[Path, Path]:
        """Delivery with the cfg of the specification's folder, or one of this size, written to `_Delivery.cfg`."""
        for name in ("partitions", "outputs", "instances", "records"):
            if getattr(args, name) < 1:
                raise Unusable(f"--{name} {getattr(args, name)} leaves nothing to do; give 1 or more")
        for name in ("crash", "rebalance"):
            if getattr(args, name) < 0:
                raise Unusable(f"--{name} {getattr(args, name)} is no number of them; give 0 or more")
        _rules(args.without)
        config = spec_root() / CONFIG
        constants = cfg.read(config).constants
        workers, topics, most = constants["Workers"], constants["Topics"], constants["MaxOffset"]
        needs, ordered = -(-args.records // args.partitions), args.partitions * args.outputs
        if args.instances <= len(workers) and ordered <= len(topics) and needs <= most:
            return spec_root() / SPEC, config
        names = ", ".join(_names(max(args.instances, len(workers))))
        numbers = ", ".join(map(str, range(max(ordered, len(topics)))))
        lines = config.read_text().splitlines()
        sizes = {"Workers": f"{{{names}}}", "Topics": f"{{{numbers}}}", "MaxOffset": str(max(needs, most))}
        for number, line in enumerate(lines):
            constant = line.split("=")[0].strip()
            if constant in sizes:
                lines[number] = f"    {constant} = {sizes[constant]}"
        own = out / "_Delivery.cfg"
        with writable(own):
            own.write_text("\n".join(lines) + "\n")
        return spec_root() / SPEC, own

    def nodes(self, args: argparse.Namespace) -> tuple[str, ...]:
        """The workers: those of the cfg."""
        constants = cfg.read(spec_root() / CONFIG).constants
        return tuple(_names(max(args.instances, len(constants["Workers"]))))

    def run(
        self, args: argparse.Namespace, header: Mapping[str, Any], progress: Progress
    ) -> demonstration.Demonstrated:
        """All of it."""
        more = args.records % args.partitions
        inputs = [args.records // args.partitions + (number < more) for number in range(args.partitions)]
        rules = rules_without(Rules, _rules(args.without))
        made = Demonstration(header, inputs, args.outputs, args.instances, args.seed, rules, args.crash, args.rebalance)
        counted = made.run(lambda returned: progress.update(min(returned, args.records), args.records))
        return shown(args.records, args.seed, counted)


def _names(count: int) -> list[str]:
    return [f"i{number + 1}" for number in range(count)]


def _rules(without: str | None) -> list[str]:
    """The rules of `--without`. Raises Unusable for no name, and for one that is no rule and not of ALIASES."""
    names = [one for one in (without or "").split(",") if one]
    if without is not None and not names:
        raise Unusable(f"--without {without!r} names no rule; leave the option out, or give rules, separated by commas")
    rules = sorted({rule for name in names for rule in ALIASES.get(name, (name,))}, key=snake_case)
    try:
        rules_without(Rules, rules)
    except ValueError as problem:
        raise Unusable(f"{problem} (for several at once: {', '.join(ALIASES)})") from problem
    return rules


def shown(records: int, seed: int, counted: Counted) -> demonstration.Demonstrated:
    """The result of a run over so many records, in a person's words."""
    facts = {
        "records in the input": records,
        "results that a read_committed reader got once": counted.once,
        "results missing": len(counted.missing),
        "results repeated": len(counted.repeated),
        **counted.counts,
    }
    wrong = [f"the result of partition {p}, offset {offset}, is missing" for p, offset in counted.missing]
    wrong += [
        f"the result of partition {p}, offset {offset}, is there {number} times"
        for p, offset, number in counted.repeated
    ]
    if wrong:
        verdict = f"NOT exactly once: {len(counted.missing):,} missing, {len(counted.repeated):,} repeated"
    elif counted.converged:
        verdict = f"exactly once: all {records:,} records"
    else:
        verdict = f"does not come to rest, with the results of all {records:,} records there once"
        wrong.append("a transaction is open that nobody ends, or a request is answered by nobody")
    trace = Simulated(f"seed-{seed}", counted.stream, counted.steps)
    bad = ("results missing", "results repeated")
    return demonstration.Demonstrated(facts, bad, wrong, verdict, trace)
