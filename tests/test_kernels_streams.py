"""Damaged, incomplete and foreign streams: each has its reason, none passes, and nothing beyond a stream is read."""

from __future__ import annotations

import random
from dataclasses import replace

import crc32c
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_reference import Subject, alphabet, two_phase
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.driver import REASONS
from tidemark_conformance.tla.kernels.driver.reading import crc_tables
from tidemark_conformance.tla.kernels.stream import End, Malformed, Record, StreamWriter, records
from tidemark_conformance.tla.values import Fn, ModelValue


def initial_cells(subject: Subject) -> list[int]:
    return subject.kernels.layout.encode(subject.initial(), ghosts=False)


def good_writer() -> StreamWriter:
    """r1 prepares, the manager restarts (nothing changes), somebody is refused, nothing happens."""
    subject = two_phase()
    kernels, layout = subject.kernels, subject.kernels.layout
    writer = kernels.writer()
    writer.initial(initial_cells(subject))
    state = layout.decode(initial_cells(subject), ghosts=False)
    first = ModelValue("r1")
    state["rmState"] = Fn({**state["rmState"], first: "prepared"})
    state["messages"] = frozenset({Fn({"type": "prepared", "rm": first})})
    writer.step(kernels.actions.index("RMPrepare"), [0], 1, layout.encode(state, ghosts=False))
    writer.step(kernels.actions.index("TMRestart"), [], 0, layout.encode(state, ghosts=False))
    writer.blocked(kernels.actions.index("RMAbort"), [0], 2)
    writer.stutter()
    return writer


def verdict(stream: bytes, **options: object) -> tuple[int, str]:
    # A guard of other bytes on both sides: a read beyond the stream would be noticed.
    data = np.frombuffer(b"\xff" * 16 + stream + b"\x00" * 16, np.uint8)
    result = two_phase().kernels.check(data, np.array([16, 16 + len(stream)], np.int64), **options)
    return int(result.verdict[0]), REASONS[int(result.reason[0])]


def resealed(stream: bytes) -> bytes:
    """The same bytes with a right checksum."""
    return stream[:-4] + crc32c.crc32c(stream[:-4]).to_bytes(4, "little")


def test_a_good_stream_passes_and_is_counted() -> None:
    """Steps, blocked attempts and both sides of the rule that refused one."""
    stream = good_writer().end()
    kernels = two_phase().kernels
    result = kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)], np.int64))
    assert result.verdict.tolist() == [0]
    assert result.steps.tolist() == [2]
    counted = dict(zip(kernels.actions, result.actions.tolist(), strict=True))
    assert counted["RMPrepare"] == [1, 0]
    assert counted["RMAbort"] == [0, 1]
    rules = dict(zip(kernels.rules, result.rules.tolist(), strict=True))
    assert rules["PreparedWaits"] == [0, 1]
    assert rules["KeepDecision"] == [0, 1]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_truncated_stream_has_no_end_record(cut: int) -> None:
    """Cut anywhere, sealed or not: never a pass."""
    stream = good_writer().end()
    shorter = stream[: max(len(stream) - cut, 0)]
    assert verdict(shorter) in [(2, "no end record"), (2, "bad checksum")]
    if len(shorter) > 4:
        assert verdict(resealed(shorter))[0] == 2


def test_empty_stream() -> None:
    """No bytes at all."""
    assert verdict(b"") == (2, "no end record")


@given(st.integers(min_value=0), st.integers(1, 255))
@settings(max_examples=300)
def test_a_flipped_byte_is_a_bad_checksum(at: int, flip: int) -> None:
    """Any single wrong byte is found by the checksum."""
    stream = bytearray(good_writer().end())
    stream[at % len(stream)] ^= flip
    assert verdict(bytes(stream))[0] == 2


def fails_before_its_damage(stream: bytes) -> bool:
    """Whether records at its beginning, ended properly, are a trace that fails."""
    ended = (stream[:cut] + bytes([3, 0, count, 0, 0, 0, 0]) for cut in range(len(stream)) for count in range(8))
    return any(verdict(resealed(one))[0] == 1 for one in ended)


@pytest.mark.deep
@given(st.lists(st.tuples(st.integers(min_value=0), st.integers(0, 255)), min_size=1, max_size=4))
@example([(16, 0), (27, 129)])
@example([(16, 0), (26, 130)])
@settings(max_examples=500)
def test_rewritten_streams_are_decoded_alike(edits: list[tuple[int, int]]) -> None:
    """A forged stream with a right checksum: kernel and Python decoder agree on whether it is a stream at all."""
    stream = bytearray(good_writer().end())
    for at, byte in edits:
        stream[at % (len(stream) - 4)] = byte
    forged = resealed(bytes(stream))
    kernels = two_phase().kernels
    found, reason = verdict(forged)
    try:
        decoded = list(records(forged, kernels.layout.base_cells, [len(p.names) for p in kernels.parameters.values()]))
    except Malformed:
        # A step that failed stays failed where a value beyond its capacity ends the replay, before the damaged part.
        assert found == 2 or (found == 1 and fails_before_its_damage(forged))
        assert found == 1 or reason in (
            "malformed stream",
            "no end record",
            "unknown action",
            "capacity exceeded",
            "not from Init",
            "parameter out of its domain",
        )
        return
    end = decoded[-1]
    assert isinstance(end, End)
    if found != 2:
        assert end.count_right
        assert not end.capacity or found == 1
        assert isinstance(decoded[0], Record)


def test_missing_steps() -> None:
    """The end record counts more records than there are."""
    writer = good_writer()
    writer._records += 1
    assert verdict(writer.end()) == (2, "missing steps")


def test_capacity_flag_and_bounds() -> None:
    """A writer that met its capacity says so; a cell beyond its bounds is found anyway."""
    assert verdict(good_writer().end(capacity=True)) == (2, "capacity exceeded")
    writer = good_writer()
    writer.step(0, [0], 0, [(0, 99)])
    assert verdict(writer.end()) == (1, "")  # the 99th of three strings


@pytest.mark.parametrize(
    ("variable", "cells", "reason"),
    [
        ("log", {1: 1}, "malformed stream"),  # an element of an empty sequence
        ("log", {0: 1, 1: 1}, "not from Init"),  # a record whose value is 0, and 1 is its least
        ("log", {0: 1, 2: 2, 4: 2}, "malformed stream"),  # an element behind the last
        ("slot", {1: 1}, "malformed stream"),  # a field that the idle slot does not have
    ],
)
def test_cells_of_no_value(variable: str, cells: dict[int, int], reason: str) -> None:
    """Unused cells are 0 and used ones within their own bounds, in sequences and unions too."""
    subject = alphabet()
    place = subject.kernels.layout.by_name[variable]
    state = initial_cells(subject)
    for at, value in cells.items():
        state[place.offset + at] = value
    writer = subject.kernels.writer()
    writer.initial(state)
    stream = writer.end()
    result = subject.kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)], np.int64))
    assert (result.verdict[0], REASONS[result.reason[0]]) == (2, reason)


def test_not_from_init() -> None:
    """A first state that Init does not allow; with snapshot=True it is where the trace starts."""
    kernels = two_phase().kernels
    cells = initial_cells(two_phase())
    cells[kernels.layout.by_name["tmPrepared"].offset] = 1
    writer = kernels.writer()
    writer.initial(cells)
    stream = writer.end()
    assert verdict(stream) == (2, "not from Init")
    assert verdict(stream, snapshot=True) == (0, "")


def test_first_record_and_unknown_things() -> None:
    """A first record with an action, an action, node or parameter that does not exist."""
    kernels = two_phase().kernels
    writer = kernels.writer()
    writer.step(0, [0], 0, initial_cells(two_phase()))
    assert verdict(writer.end()) == (2, "malformed stream")
    writer = good_writer()
    writer.blocked(0, [7], 0)
    assert verdict(writer.end()) == (2, "parameter out of its domain")
    writer = good_writer()
    writer.stutter(node=9)
    assert verdict(writer.end(), nodes=4) == (2, "unknown node")
    writer = good_writer()
    writer._parameters = [*writer._parameters, 0]
    writer.blocked(len(kernels.actions), [], 0)
    assert verdict(writer.end()) == (2, "unknown action")


def test_a_stutter_that_changes_something_is_no_step() -> None:
    """Neither a stutter nor a blocked attempt may change a variable."""
    for kind in (1, 2):
        writer = good_writer()
        if kind == 1:
            writer._record(1, 0, [0], 0)
        else:
            writer._record(2, -1, [], 0)
        writer._delta([(0, 0)])
        stream = writer.end()
        assert verdict(stream) == (1, "")
        kernels = two_phase().kernels
        result = kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)], np.int64))
        assert result.first[0, 0] == writer.records - 1


def test_a_blocked_attempt_that_nothing_blocks_is_no_step() -> None:
    """A refusal is believed only where a guard refuses; a rule that is out of force may be kept all the same."""
    kernels = two_phase().kernels
    for action, index, expected in (("RMPrepare", 1, 1), ("RMAbort", 1, 1), ("RMAbort", 0, 0), ("RMPrepare", 0, 0)):
        writer = good_writer()
        writer.blocked(kernels.actions.index(action), [index], 2)
        assert verdict(writer.end()) == (expected, ""), (action, index)
    writer = good_writer()
    writer.blocked(kernels.actions.index("RMPrepare"), [1], 2)
    stream = writer.end()
    result = kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)], np.int64))
    assert result.first[0].tolist() == [5] + [-1] * (len(kernels.checks) - 1)
    spec = two_phase().spec
    hasty = compile_kernels(replace(spec, constants={**spec.constants, "Without": frozenset({"PreparedWaits"})}))
    for action, index, expected in (("RMPrepare", 1, 1), ("RMAbort", 1, 0), ("RMAbort", 0, 0)):
        writer = good_writer()
        writer.blocked(hasty.actions.index(action), [index], 2)
        stream = writer.end()
        result = hasty.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)], np.int64))
        assert result.verdict.tolist() == [expected], (action, index)


ENDLESS = b"\xff" * 9
"""The first nine bytes of a number of 64 bits and more."""


@pytest.mark.parametrize(
    ("record", "end", "reason"),
    [
        (bytes([2, 0]) + ENDLESS + b"\x01", bytes([3, 0]), "malformed stream"),  # -1 cells changed, as 64 bits go
        (bytes([2, 0]) + b"\x80" * 9 + b"\x02", bytes([3, 0]), "malformed stream"),  # 2^64 cells: none, as they go
        (bytes([2, 0, 0]), bytes([3, 4]), "malformed stream"),
        (bytes([2, 0, 0]), bytes([3, 0x7C]), "malformed stream"),
        (bytes([2, 0, 0]), b"\x03" + ENDLESS + b"\x01", "malformed stream"),
        (bytes([2, 0, 0]), bytes([7, 0]), "malformed stream"),
        (bytes([2, 0, 0]), bytes([3, 0]), ""),
    ],
)
def test_numbers_that_mean_nothing_are_refused(record: bytes, end: bytes, reason: str) -> None:
    """Neither the kernels nor the Python decoder take a count below zero, a longer number, or an unknown flag."""
    kernels = two_phase().kernels
    stream = resealed(good_writer().end()[:-7] + record + end + bytes([6]) + bytes(4))
    assert verdict(stream) == (2 if reason else 0, reason)
    arities = [len(p.names) for p in kernels.parameters.values()]
    if reason:
        with pytest.raises(Malformed):
            list(records(stream, kernels.layout.base_cells, arities))
    else:
        assert list(records(stream, kernels.layout.base_cells, arities))[-1] == End(False, False, 6, True, True)


def test_a_failure_stays_a_failure_when_the_capacity_ends_the_trace() -> None:
    """A failure before the capacity is reached counts; in a damaged stream nothing counts."""
    writer = good_writer()
    writer.step(0, [0], 0, [(1, 0)])
    stream = writer.end(capacity=True)
    assert verdict(stream) == (1, "")
    assert verdict(stream[:-1] + bytes([stream[-1] ^ 1])) == (2, "bad checksum")


def test_streams_side_by_side() -> None:
    """A batch of good and bad streams: each keeps its own verdict, with one thread or several."""
    draw = random.Random(5)
    good, bad = good_writer().end(), good_writer().end()[:-1]
    streams = [draw.choice([good, bad]) for _ in range(50)]
    offsets = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    for threads in (1, 4):
        result = two_phase().kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets, threads=threads)
        assert result.verdict.tolist() == [0 if one is good else 2 for one in streams]


def test_no_streams() -> None:
    """An empty batch."""
    result = two_phase().kernels.check(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    assert result.verdict.shape == (0,)
    assert result.first.shape == (0, len(two_phase().kernels.checks))


@given(st.binary(max_size=40))
def test_checksum_tables(data: bytes) -> None:
    """The kernel's tables are those of CRC32C."""
    value, table = 0xFFFFFFFF, crc_tables()
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    assert value ^ 0xFFFFFFFF == crc32c.crc32c(data)


@given(st.data())
@settings(max_examples=100)
def test_writer_and_reader_are_inverse(data: st.DataObject) -> None:
    """The reader returns the written values, those of any sign and of 62 bits included."""
    cells = data.draw(st.integers(1, 9))
    numbers = st.integers(-(1 << 61), 1 << 61)
    rows = data.draw(st.lists(st.lists(numbers, min_size=cells, max_size=cells), min_size=1, max_size=6))
    writer = StreamWriter(cells, [2, 0])
    writer.initial(rows[0])
    for number, row in enumerate(rows[1:]):
        writer.step(number % 2, [3, number][: 2 if number % 2 == 0 else 0], number, row)
    decoded = list(records(writer.end(quiescent=True), cells, [2, 0]))
    state = [0] * cells
    for row, record in zip(rows, decoded[:-1], strict=True):
        assert isinstance(record, Record)
        for cell, value in record.delta:
            state[cell] = value
        assert state == row
    assert decoded[-1] == End(True, False, len(rows), True, True)
