"""The floors of both packages, lowest first: a module imports from its own floor and from those below.

`tests/test_floors.py` holds the packages to them, ARCHITECTURE.md prints them (`tidemark docs`).
"""

from __future__ import annotations

BASE, ENTRY = "(base)", "(entry)"
"""Modules that stand in no folder: the lowest ones, and the entries of the command."""
ENTRIES = frozenset({"cli", "submit", "__main__"})
FLOORS: dict[str, dict[str, str]] = {
    "tidemark": {
        "common": "errors, names, values, the removal of rules",
        "trace": "state -> cells of a trace",
        "simulator": "chance, runs, scenarios, the descriptor of a protocol",
        "log": "a partition's records and epochs",
        "replication": "brokers, the controller, followers",
        "groups": "what all groups share",
        "classic_group": "the classic consumer group",
        "consumer_group": "the consumer group of KIP-848",
        "offsets": "committed offsets, plain and transactional",
        "idempotence": "idempotent producers",
        "transactions": "transactions",
        "producer_batching": "batches of a producer",
        "exactly_once": "consume, transform, produce",
        "compositions": "protocols over replicated logs",
    },
    "tidemark_conformance": {
        BASE: "errors, paths, processes and signals, the cache",
        "console": "progress",
        "java": "Java, the jar, TLA+ modules as files",
        "tla": "TLA+ text -> IR -> Python and kernels",
        "prove": "IR -> Z3 terms; inductive proofs",
        "tlc": "TLC: models, graphs, the oracle, `agree`",
        "trace": "the header, NDJSON, Parquet",
        "implementation": "our implementation, hashed and compiled",
        "registry": "protocols, zoo, specifications",
        "spark": "Spark's session and its workers",
        "simulate": "traces of seeds",
        "audit": "the audit, on Spark and here",
        "explain": "why a trace fails; the shrunk run",
        "lab": "released Kafka on this machine: nodes, clients, schedules of finds",
        "report": "tables, pictures, documents",
        "symbolic": "runs to a violation, by the terms of proofs",
        "logs": "the files of Kafka's log directories",
        "hunt": "the search by simulation",
        "verify": "all that `make check` does",
        "commands": "one module a subcommand",
        ENTRY: "the command line",
    },
}


def floor(package: str, module: str) -> str:
    """The floor of a module, given by its whole name; of a new protocol the name of its folder."""
    first, *rest = module.removeprefix(f"{package}.").split(".")
    if rest or first in FLOORS[package] or BASE not in FLOORS[package]:
        return first
    return ENTRY if first in ENTRIES else BASE


def table() -> str:
    """The floors as a Markdown table, the lowest first."""
    lines = ["| floor | holds |", "|---|---|"]
    for package, floors in FLOORS.items():
        lines.append(f"| **{package}** | |")
        lines += [f"| `{name}` | {holds} |" for name, holds in floors.items()]
    return "\n".join(lines)
