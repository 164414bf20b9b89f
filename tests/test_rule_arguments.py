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


def functions_of_rules() -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of every protocol's rules.py: the rules, and the computations that depend on one."""
    for file in sorted(IMPLEMENTATION.rglob("rules.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                yield f"{file.parent.name}.{node.name}", node


def test_a_rule_reads_all_that_it_is_given() -> None:
    found = dict(functions_of_rules())
    assert len(found) > 100
    read = {name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} for name, node in found.items()}
    unread = {name: [one.arg for one in node.args.args if one.arg not in read[name]] for name, node in found.items()}
    assert {name: ones for name, ones in unread.items() if ones} == {}


def test_a_rule_answers_yes_or_no() -> None:
    rules = {
        name: node
        for name, node in functions_of_rules()
        if any(isinstance(one, ast.Name) and one.id in ("guard", "case") for one in node.decorator_list)
    }
    assert len(rules) > 100
    answers = {name: ast.unparse(node.returns) if node.returns else "" for name, node in rules.items()}
    assert {name: answer for name, answer in answers.items() if answer != "bool"} == {}
