"""Rules are asked about something: no handler passes literals where a rule wants what the handler knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import tidemark

IMPLEMENTATION = Path(tidemark.__path__[0])


def asked_of_nothing(source: str) -> Iterator[int]:
    """The lines that call something of `rules` or `_rules` with a truth value, or with literals alone."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        holder = node.func.value
        name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        literals = [argument for argument in node.args if isinstance(argument, ast.Constant)]
        truths = any(isinstance(one.value, bool) for one in literals)
        if name.endswith("rules") and (truths or len(literals) == len(node.args)):
            yield node.lineno


def test_no_rule_is_asked_of_nothing() -> None:
    files = sorted(IMPLEMENTATION.rglob("*.py"))
    assert len(files) > 100
    assert [f"{file.name}:{line}" for file in files for line in asked_of_nothing(file.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("self._rules.rewind_after_abort(True)", [1]),
        ("rules.epoch_per_transaction(0, 0)", [1]),
        ("rules.read_committed(position, False)", [1]),
        ("rules.in_sequence(sequence, 0)", []),
        ("self._rules.is_retried(self.batch)", []),
    ],
)
def test_what_counts_as_nothing(source: str, lines: list[int]) -> None:
    assert list(asked_of_nothing(source)) == lines
