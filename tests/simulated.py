"""What every protocol's simulator is held to: its deltas are all that changed, and one seed is one trace."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tidemark_conformance.tla.kernels.stream import End, Record, records

SEEDS = range(16)

DIGEST = """
import hashlib, json, sys
from {module} import simulate
header = json.load(sys.stdin)
print(hashlib.sha256(b"".join(simulate(seed, table=header).stream for seed in {seeds})).hexdigest())
"""


def assert_deltas_are_all_that_changed(
    stream: bytes, states: Sequence[list[int]], parameters: Sequence[int], where: str
) -> None:
    """`states`: the full abstraction after every record; `parameters`: how many each action has."""
    *found, end = records(stream, len(states[0]), parameters)
    assert isinstance(end, End)
    assert end.count_right
    assert end.checksum_right
    cells = [0] * len(states[0])
    for number, (record, state) in enumerate(zip(found, states, strict=True)):
        assert isinstance(record, Record)
        for cell, value in record.delta:
            assert cells[cell] != value, f"{where}, record {number}: cell {cell} is written and has not changed"
            cells[cell] = value
        assert cells == state, f"{where}, record {number}"
    assert len(found) > 1


def assert_one_seed_is_one_trace(module: str, simulate: Callable[..., Any], header: dict[str, Any]) -> None:
    """`simulate` of `module` makes the same bytes here and in processes of three hash seeds."""
    program = DIGEST.format(module=module, seeds=SEEDS)
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(header),
            text=True,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4711")
    }
    here = hashlib.sha256(b"".join(simulate(seed, table=header).stream for seed in SEEDS)).hexdigest()
    assert digests == {here + "\n"}
