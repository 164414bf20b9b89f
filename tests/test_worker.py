"""A worker's result for the rows of its partition, without Spark, and the judge that it keeps between tasks."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TwoPhase
from tidemark_conformance.audit import judge as judge_module
from tidemark_conformance.audit import parts
from tidemark_conformance.audit.judge import FAIL, PASS, judge_for
from tidemark_conformance.audit.parts import Job
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.audit.worker import ndjson_ids, ndjson_partition, parquet_partition
from tidemark_conformance.implementation import packages
from tidemark_conformance.implementation.packages import digest
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.spark.shipping import partition_work, unpacked
from tidemark_conformance.tla.ir import HasRule, Lit, Named, Op
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.convert import convert
from trace_lines import header_of, traces_of, write

RULE = "CommitOnlyIfAllPrepared"
Batches = Iterable[pa.RecordBatch]


@pytest.fixture(name="job")
def _job(two_phase: TwoPhase) -> Job:
    header = two_phase.schema.header
    return Job(two_phase.specification, header, ("tm", "r1", "r2", "r3"), False, 0)


@pytest.fixture(name="rows")
def _rows(two_phase: TwoPhase, tmp_path: Path) -> pa.RecordBatch:
    """All traces as `inputs.parquet_rows` has them, the flawed ones behind the good ones."""
    tables = []
    for file in (two_phase.good, two_phase.hasty):
        convert([file], tmp_path / f"{file.stem}.parquet", two_phase.schema)
        table = pq.read_table(tmp_path / f"{file.stem}.parquet")
        named = [f"{file.stem}-{one}" for one in table["trace"].to_pylist()]
        path = pa.array([f"file:/x/{file.stem}.parquet" if one else None for one in table["header"].to_pylist()])
        table = table.set_column(0, "trace", pa.array(named)).append_column("path", path)
        ids = pa.array([abs(hash(one)) for one in named], pa.int64())
        tables.append(table.append_column("id", ids).select(["trace", "steps", "stream", "header", "id", "path"]))
    (batch,) = pa.concat_tables(tables).combine_chunks().to_batches()
    return batch


def told(work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], batches: Batches) -> Tally:
    """The tally of one partition."""
    (batch,) = work(iter(batches))
    tally = pickle.loads(batch.column(0)[0].as_py())
    assert isinstance(tally, Tally)
    return tally


def lines_of(*files: Path, size: int = 7) -> list[pa.RecordBatch]:
    """Rows (value, path), few to a batch."""
    rows = [(line, f"file:{file}") for file in files for line in file.read_text().splitlines()]
    parts = [rows[at : at + size] for at in range(0, len(rows), size)]
    return [pa.record_batch({"value": [row[0] for row in part], "path": [row[1] for row in part]}) for part in parts]


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_batches_of_a_partition_add_up_wherever_they_are_cut(job: Job, rows: pa.RecordBatch) -> None:
    whole = told(parquet_partition(job), [rows])
    assert (whole.traces, int(whole.verdicts.sum()), whole.refused) == (60, 60, {})
    assert 0 < int(whole.verdicts[FAIL]) <= 30
    assert whole.headers == {"/x/good.parquet", "/x/hasty.parquet"}
    cut = told(parquet_partition(job), [rows.slice(0, 11), rows.slice(11, 30), rows.slice(41)])
    assert (cut.traces, cut.steps, cut.verdicts.tolist()) == (60, whole.steps, whole.verdicts.tolist())
    assert (cut.actions.tolist(), cut.failures.keys()) == (whole.actions.tolist(), whole.failures.keys())
    names = {one.trace for group in whole.failures.values() for one in group.examples}
    assert names == {one.trace for group in cut.failures.values() for one in group.examples}
    assert all(name.startswith("hasty-") for name in names)


def test_large_columns_are_read_like_others(job: Job, rows: pa.RecordBatch) -> None:
    stream = rows.schema.get_field_index("stream")
    large = rows.set_column(stream, "stream", rows.column(stream).cast(pa.large_binary())).slice(5)
    small = told(parquet_partition(job), [rows.slice(5)])
    assert told(parquet_partition(job), [large]).verdicts.tolist() == small.verdicts.tolist()


@pytest.mark.parametrize("column", ["trace", "steps", "stream"])
def test_a_row_that_lacks_something_voids_the_audit(column: str, job: Job, rows: pa.RecordBatch) -> None:
    at = rows.schema.get_field_index(column)
    values = [None, *rows.column(at).to_pylist()[1:]]
    damaged = rows.set_column(at, column, pa.array(values, rows.schema.field(at).type))
    tally = told(parquet_partition(job), [damaged, rows])
    assert [sentence for sentence in tally.refused if "without trace id, steps or stream" in sentence]


@pytest.mark.parametrize(
    ("of", "value", "said"), [("nodes", ["tm", "r1"], "other nodes"), ("spec_hash", "0" * 64, "hasty.parquet")]
)
def test_a_part_for_something_else_voids_the_audit(
    of: str, value: Any, said: str, job: Job, rows: pa.RecordBatch
) -> None:
    """Its header is the second of two in the batch."""
    at = rows.schema.get_field_index("header")
    texts = rows.column(at).to_pylist()
    last = max(number for number, text in enumerate(texts) if text)
    texts[last] = json.dumps({**json.loads(texts[last]), of: value})
    tally = told(parquet_partition(job), [rows.set_column(at, "header", pa.array(texts, pa.string()))])
    assert [said in sentence for sentence in tally.refused] == [True]


def test_a_partition_without_rows_says_nothing(job: Job) -> None:
    assert list(parquet_partition(job)(iter(()))) == []
    assert list(ndjson_partition(job)(iter(()))) == []


# --- NDJSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [1, 7, 29, 30, 31])
def test_every_trace_of_every_file_is_judged(
    together: int, job: Job, two_phase: TwoPhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of them at once."""
    wanted = [told(ndjson_partition(job), lines_of(file)) for file in (two_phase.good, two_phase.hasty)]
    monkeypatch.setattr(parts, "LINES_PER_BATCH", together)
    both = told(ndjson_partition(job), lines_of(two_phase.good, two_phase.hasty))
    assert (both.traces, both.steps) == (60, sum(one.steps for one in wanted))
    assert both.verdicts.tolist() == sum(one.verdicts for one in wanted).tolist()  # type: ignore[union-attr]
    assert int(wanted[0].verdicts[PASS]) == 30
    assert int(wanted[1].verdicts[FAIL]) > 0
    assert both.headers == {str(two_phase.good), str(two_phase.hasty)}


def test_a_file_that_is_refused_does_not_hide_the_next(job: Job, two_phase: TwoPhase, tmp_path: Path) -> None:
    header = header_of(two_phase.good)
    other = write(tmp_path / "other.ndjson", {**header, "spec_hash": "0" * 64}, traces_of(two_phase.good))
    tally = told(ndjson_partition(job), lines_of(other, two_phase.hasty))
    assert [str(other) in sentence for sentence in tally.refused] == [True]
    assert (tally.traces, tally.headers) == (30, {str(two_phase.hasty)})
    ids = [one.as_py() for batch in ndjson_ids(job)(iter(lines_of(other, two_phase.hasty))) for one in batch.column(0)]
    assert len(ids) == 60


# --- kept results ----------------------------------------------------------------------------------------------------


def _harmless(specification: Specification, family: str) -> Specification:
    """The same, its first check of a family true of everything, under its own name."""
    first, *rest = getattr(specification, family)
    return dataclasses.replace(specification, **{family: (Named(first.name, Lit(True, "bool"), first.loc), *rest)})


@pytest.mark.deep
@pytest.mark.parametrize(
    "change",
    [
        lambda one: dataclasses.replace(one, specification=with_rules_off(one.specification, frozenset({RULE}))),
        lambda one: dataclasses.replace(one, specification=_harmless(one.specification, "invariants")),
        lambda one: dataclasses.replace(one, specification=_harmless(one.specification, "properties")),
        lambda one: dataclasses.replace(one, specification=_harmless(one.specification, "quiescence")),
        lambda one: dataclasses.replace(one, specification=dataclasses.replace(one.specification, properties=())),
        lambda one: dataclasses.replace(one, wanted=3),
        lambda one: dataclasses.replace(one, snapshot=True),
    ],
    ids=["rules", "invariant", "property", "quiescence", "fewer", "wanted", "snapshot"],
)
def test_a_job_is_judged_by_its_own_specification(change: Callable[[Job], Job], job: Job) -> None:
    """In one process, after another of the same names; and once more by the first."""
    other = change(job)
    for one in (job, other, job):
        specification, judge = one.specification, one.judge()
        assert judge.specification.without == specification.without
        for family in ("invariants", "properties", "quiescence"):
            assert getattr(judge.specification, family) == getattr(specification, family)
        assert (judge._wanted, judge._snapshot) == (one.wanted, one.snapshot)
    assert job.judge() is not other.judge()
    again = pickle.loads(pickle.dumps(job))
    assert again.judge() is again.judge()


def test_a_judge_is_kept_for_one_text_and_one_size(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two specifications of the same names, in the same files, get judges of their own if they differ in anything
    else."""
    monkeypatch.setattr(judge_module, "_loaded", {})
    monkeypatch.setattr(judge_module, "schema_of", lambda _: None)
    monkeypatch.setattr(
        judge_module, "Judge", lambda specification, *_: SimpleNamespace(specification=specification, schema=None)
    )
    one = job.specification
    others = [
        dataclasses.replace(one, hash="0" * 64),
        dataclasses.replace(one, constants={**one.constants, "RM": frozenset()}),
        dataclasses.replace(one, path=one.path.with_name("Other.tla")),
        dataclasses.replace(one, cfg=one.cfg.with_name("Other.cfg")),
    ]
    made = [judge_for(each) for each in (one, *others)]
    assert [each.specification for each in made] == [one, *others]
    assert judge_for(one) is made[0]


def test_judges_by_other_rules_share_a_schema_unless_it_asks_for_rules(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "_loaded", {})
    whole = with_rules_off(job.specification, frozenset())
    less = with_rules_off(job.specification, frozenset(job.specification.module.rules[:1]))
    assert judge_for(whole).schema is judge_for(less).schema
    type_ok = whole.module.type_ok
    for asks, form in [
        (False, Op("and", (type_ok, Lit(True, "bool")))),
        (True, Op("and", (type_ok, HasRule(job.specification.module.rules[0])))),
    ]:
        module = dataclasses.replace(whole.module, type_ok=form)
        one, other = (dataclasses.replace(each, module=module) for each in (whole, less))
        made = SimpleNamespace(specification=one, schema=object())
        monkeypatch.setattr(judge_module, "_loaded", {"by all rules": (None, made)})
        monkeypatch.setattr(judge_module, "schema_of", lambda _: "made anew")
        assert judge_module._schema_for(other) == ("made anew" if asks else made.schema)


def test_an_invariant_that_has_changed_is_judged_as_it_is_now(job: Job, rows: pa.RecordBatch) -> None:
    """An audit, the text of an invariant changed, an audit: with the same worker."""
    judge = judge_for(job.specification)
    at = judge.kernels.checks.index("Consistency")
    assert at in {check for check, _ in told(parquet_partition(job), [rows]).failures}
    (consistency,) = (one for one in job.specification.invariants if one.name == "Consistency")
    true = Named(consistency.name, Lit(True, "bool"), consistency.loc)
    changed = tuple(true if one is consistency else one for one in job.specification.invariants)
    now = dataclasses.replace(job, specification=dataclasses.replace(job.specification, invariants=changed))
    assert at not in {check for check, _ in told(parquet_partition(now), [rows]).failures}


def test_arguments_are_unpacked_once_and_not_taken_for_each_other() -> None:
    packed = [pickle.dumps(("job", number)) for number in range(9)]
    assert len({len(one) for one in packed}) == 1
    assert [unpacked(one) for one in packed] == [("job", number) for number in range(9)]
    assert unpacked(packed[8]) is unpacked(packed[8])


def _count(argument: int) -> Callable[[Any], Any]:
    return lambda batches: [argument, *batches]


def test_work_on_this_machine_has_its_own_argument() -> None:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]"))
    works = [partition_work(session, _count, number) for number in (1, 2)]
    assert [list(work(iter("x"))) for work in works] == [[1, "x"], [2, "x"]]


def test_a_package_is_known_by_the_names_and_contents_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "sources", lambda name: [tmp_path / name])
    (tmp_path / "one" / "inner").mkdir(parents=True)
    file = tmp_path / "one" / "inner" / "work.py"
    file.write_text("A = 1\n")
    seen = [digest("one")]
    (tmp_path / "one" / "__pycache__").mkdir()
    (tmp_path / "one" / "__pycache__" / "work.pyc").write_text("compiled")
    assert digest("one") == seen[0]
    file.write_text("A = 2\n")
    seen.append(digest("one"))
    file.rename(file.with_name("other.py"))
    seen.append(digest("one"))
    (tmp_path / "one" / "data.bin").write_bytes(b"")
    seen.append(digest("one"))
    assert len(set(seen)) == len(seen)
