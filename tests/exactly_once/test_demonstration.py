"""A long run that is counted: by itself, and as the command `tidemark demo exactly-once` audits it."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.batching import VALUE
from tidemark.exactly_once.sim.demonstrated import DEMONSTRATED, fit, shown
from tidemark.exactly_once.sim.demonstration import Counted, Demonstration
from tidemark.exactly_once.sim.profiles import BATCHES
from tidemark.idempotence.messages import ProduceRequest
from tidemark.producer_batching import batching_producer
from tidemark.producer_batching.partitioner import partition_for_key
from tidemark.producer_batching.record_sizes import RECORD_BATCH_OVERHEAD, record_size
from tidemark_conformance.cli import main
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.values import Fn
from tidemark_conformance.trace.replay import events
from tidemark_conformance.trace.schema import schema_of

SPEC, CONFIG = (spec_root() / "exactly_once" / one for one in (DEMONSTRATED.spec, DEMONSTRATED.config))
Capture = pytest.CaptureFixture[str]
SMALL = ["--records", "900", "--partitions", "3", "--crash", "3", "--rebalance", "4"]


@cache
def header() -> dict[str, Any]:
    """Of Delivery's traces."""
    schema = schema_of(load(SPEC, CONFIG))
    return schema.with_nodes(tuple(f"i{number}" for number in range(1, 7))).to_json()


def strays(stream: bytes) -> int:
    """How many results a reader got again, before an earlier one, or from a partition that is not theirs."""
    schema = schema_of(load(SPEC, CONFIG))
    *_, last = events(stream, schema)
    stray = last.state["stray"]
    assert isinstance(stray, Fn)
    return sum(int(str(one)) for one in stray.values())


def run(without: frozenset[str] = frozenset(), seed: int = 1, rebalances: int = 4) -> Counted:
    told: list[int] = []
    made = Demonstration(header(), [300, 299, 301], 2, 3, seed, PROTOCOL.rules_without(without), 3, rebalances)
    found = made.run(told.append)
    assert told == sorted(told)
    assert told[-1] >= found.once
    return found


def test_every_result_is_there_once_whatever_happens() -> None:
    found = run()
    assert (found.once, found.missing, found.repeated, found.converged) == (900, [], [], True)
    assert found.counts["crashes"] >= 3
    assert found.counts["members thought gone"] >= 4
    assert found.counts["transactions aborted"] > 0


@pytest.mark.parametrize(("records", "crashes", "rebalances"), [(90, 60, 60), (10, 150, 0)])
def test_as_many_crash_and_are_thought_gone_as_was_asked_for(records: int, crashes: int, rebalances: int) -> None:
    """However few records there are: two at once would befall the same process, and the second nobody."""
    demonstration = Demonstration(header(), [records], 2, 3, 0, Rules(), crashes, rebalances)
    found = demonstration.run(lambda _: None)
    assert (found.once, found.missing, found.repeated, found.converged) == (records, [], [], True)
    assert found.counts["crashes"] >= crashes
    assert found.counts["members thought gone"] >= rebalances


def test_results_go_in_batches_to_the_partitions_of_their_keys() -> None:
    made = Demonstration(header(), [1000, 1000, 1000], 2, 3, 0, PROTOCOL.rules_without(()), 3, 4)
    found, cluster = made.run(lambda _: None), made.cluster
    batches = [
        (number, cluster.results(one.payload))
        for number, output in enumerate(cluster.outputs)
        for one in output.log
        if isinstance(one, ProduceRequest)
    ]
    assert len(batches) == found.counts["batches of results"] < 3000
    assert {number for number, _ in batches} == {0, 1}
    assert all(
        partition_for_key(cluster.key(*record), 2) == number for number, records in batches for record in records
    )
    full = (BATCHES.batch_size - RECORD_BATCH_OVERHEAD) // record_size(0, 0, cluster.key(0, 0), bytes(VALUE))
    assert max(len(records) for _, records in batches) == full
    for happens in ("connections lost", "batches refused for now", "processes that stood still"):
        assert found.counts[happens] > 0


@pytest.mark.deep
def test_a_result_in_another_partition_than_its_keys_is_stray(monkeypatch: pytest.MonkeyPatch) -> None:
    assert strays(run().stream) == 0
    monkeypatch.setattr(batching_producer, "partition_for_key", lambda key, partitions: len(key) % partitions)
    assert strays(run().stream) > 0


@pytest.mark.deep
def test_retries_without_an_order_are_strays() -> None:
    """enable.idempotence=false: a leader that takes any sequence."""
    assert strays(run(frozenset({"SequenceIsNext", "RecognizeDuplicate"}), rebalances=20).stream) > 0


@pytest.mark.deep
def test_one_seed_is_one_run() -> None:
    assert run() == run()
    assert run().stream != run(seed=2).stream


@pytest.mark.parametrize(
    ("without", "missing", "repeated"),
    [
        ({"RecognizeDuplicate", "SequenceIsNext"}, False, True),
        ({"CommitOfMember", "MemberOfInstance", "TxnCommitOfCurrentGeneration"}, False, True),
        ({"RewindAfterAbort"}, True, False),
    ],
)
def test_without_rules_results_are_lost_or_there_twice(without: set[str], missing: bool, repeated: bool) -> None:
    found = run(frozenset(without), rebalances=20)
    assert (bool(found.missing), bool(found.repeated)) == (missing, repeated)
    assert found.once == 900 - len(found.missing) - len(found.repeated)


def test_a_header_of_another_specification_is_refused() -> None:
    other = {**header(), "variables": {}}
    with pytest.raises(ValueError, match="other variables"):
        Demonstration(other, [1], 1, 1, 0, PROTOCOL.rules_without(()), 0, 0)


@pytest.mark.deep
def test_the_command_counts_and_audits(spark: Any, tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", "exactly-once", *SMALL, "-o", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "exactly once: all 900 records" in out
    assert "PASS 1   FAIL 0" in out
    assert main(["audit", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["demo", "exactly-once", *SMALL, "-o", str(tmp_path / "run")]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_the_command_names_what_is_wrong(spark: Any, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "demo.json"
    assert main(["demo", "exactly-once", *SMALL, "--without", "idempotence", "--json", str(target)]) == 1
    out = capsys.readouterr().out
    document = json.loads(target.read_text())
    assert document["ok"] is False
    assert document["facts"]["results repeated"] == len(document["wrong"]) > 0
    assert document["wrong"][0] in out
    assert "NOT exactly once" in out
    assert "not a step of Process" in out
    assert document["audit"]["verdicts"]["fail"] == 1
    fails = [int(step.replace(",", "")) for step in re.findall(r"first fails at step ([\d,]+)", out)]
    assert fails == sorted(fails)
    assert len(fails) > 1
    assert out.endswith("-o DIR keeps the trace, and `tidemark explain DIR` says why\n")


@pytest.mark.deep
def test_the_command_says_how_to_explain_what_it_kept(spark: Any, tmp_path: Path, capsys: Capture) -> None:
    for name, size in (("usual", SMALL), ("wide", ["--records", "140", "--instances", "7", "--crash", "1"])):
        out = tmp_path / name
        assert main(["demo", "exactly-once", *size, "--without", "idempotence", "-o", str(out)]) == 1
        hint = re.search(r"`tidemark (explain [^`]*)` says why\n$", capsys.readouterr().out)
        assert hint is not None
        assert main([*shlex.split(hint[1]), "--no-shrink"]) == 1
        assert "not a step of Process" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("missing", "converged", "verdict"),
    [
        ([], True, "exactly once: all 3 records"),
        ([], False, "does not come to rest"),
        ([(0, 2)], False, "NOT exactly once: 1 missing, 0 repeated"),
    ],
)
def test_the_verdict_says_what_is_amiss(missing: list[tuple[int, int]], converged: bool, verdict: str) -> None:
    found = shown(3, Counted(b"", 0, converged, missing, [], 3 - len(missing), {}))
    assert found.verdict.startswith(verdict)
    assert bool(found.wrong) is not found.verdict.startswith("exactly once")
    assert {name: found.facts[name] for name in found.bad} == {
        "results missing": len(missing),
        "results repeated": 0,
    }


@pytest.mark.parametrize(("instances", "nodes"), [(2, ("i1", "i2", "i3")), (4, ("i1", "i2", "i3", "i4"))])
def test_a_trace_has_the_workers_of_the_cfg_at_least(instances: int, nodes: tuple[str, ...]) -> None:
    constants = {"Workers": {"i1", "i2", "i3"}, "Topics": {0, 1}, "MaxOffset": 9}
    sizes = {"records": 9, "partitions": 1, "outputs": 2, "instances": instances}
    found = fit(sizes, constants)
    assert found.nodes == nodes
    assert bool(found.constants) is (instances > 3)


@pytest.mark.deep
def test_a_run_that_does_not_fit_brings_a_configuration_of_its_own(spark: Any, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    few = ["--records", "70", "--instances", "7", "--crash", "1", "--rebalance", "1"]
    assert main(["demo", "exactly-once", *few, "-o", str(out)]) == 0
    assert "i7}" in (out / "_Delivery.cfg").read_text()
    capsys.readouterr()
    audited = ["audit", str(out), "--spec", str(SPEC), "--config", str(out / "_Delivery.cfg")]
    assert main(audited) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--records", "0"], "--records 0 leaves nothing to do"),
        (["--crash", "-1"], "--crash -1 is no number of them"),
        (["--seed", "-1"], "--seed -1 is no seed"),
        (["--without", "Luck"], "there is no rule Luck"),
        (["--without", ","], "--without ',' names no rule"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["demo", "exactly-once", *arguments]) == 2
    assert said in capsys.readouterr().err
