"""The demonstration in a person's words: its options, the groups of rules that it may go without, and what was counted.
Every input record's result is in the output once, in spite of crashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.demonstration import Counted
from tidemark.exactly_once.sim.demonstration import Demonstration as Run
from tidemark.simulator.demonstration import Demonstrated, Demonstration, Fit, Option, Sizes, Told

OPTIONS = (
    Option("partitions", 6, 1, "of the input"),
    Option("outputs", 2, 1, "partitions of the results"),
    Option("instances", 3, 1, "of the group"),
    Option("records", 50_000, 1, "in the input"),
    Option("crash", 12, 0, "so many processes crash, at least"),
    Option("rebalance", 24, 0, "so many members are thought gone, at least"),
)
ALIASES = {
    "idempotence": ("RecognizeDuplicate", "SequenceIsNext"),
    "fencing": ("CommitOfMember", "MemberOfInstance", "TxnCommitOfCurrentGeneration"),
    "verification": ("VerifyTransaction", "EpochNotOlder"),
    "isolation": ("ReadCommitted",),
}


def fit(sizes: Sizes, constants: Mapping[str, Any]) -> Fit:
    """The workers are those of the cfg, or more. A topic of Delivery is an input partition's results in one output."""
    workers, topics, most = len(constants["Workers"]), len(constants["Topics"]), constants["MaxOffset"]
    needs, ordered = -(-sizes["records"] // sizes["partitions"]), sizes["partitions"] * sizes["outputs"]
    nodes = tuple([f"i{number + 1}" for number in range(max(sizes["instances"], workers))])
    if len(nodes) == workers and ordered <= topics and needs <= most:
        return Fit(nodes, {})
    numbers = ", ".join([str(number) for number in range(max(ordered, topics))])
    return Fit(
        nodes, {"Workers": f"{{{', '.join(nodes)}}}", "Topics": f"{{{numbers}}}", "MaxOffset": str(max(needs, most))}
    )


def run(sizes: Sizes, seed: int, rules: Rules, header: Mapping[str, Any], told: Told) -> Demonstrated:
    """All of it."""
    records, partitions = sizes["records"], sizes["partitions"]
    more = records % partitions
    inputs = [records // partitions + (number < more) for number in range(partitions)]
    made = Run(header, inputs, sizes["outputs"], sizes["instances"], seed, rules, sizes["crash"], sizes["rebalance"])
    return shown(records, made.run(lambda returned: told(min(returned, records), records)))


def shown(records: int, counted: Counted) -> Demonstrated:
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
    bad = ("results missing", "results repeated")
    return Demonstrated(facts, bad, wrong, verdict, counted.stream, counted.steps)


DEMONSTRATED = Demonstration(
    "exactly once: instances consume, transform and produce, with crashes and rebalances",
    counted="records",
    spec="Delivery.tla",
    config="Delivery.cfg",
    options=OPTIONS,
    without=f"without these rules, or without {', '.join(ALIASES)}: what is lost or doubled then is named",
    aliases=ALIASES,
    fit=fit,
    run=run,
)
