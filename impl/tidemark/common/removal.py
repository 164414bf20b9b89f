"""Protocols with rules removed: how Kafka was, or is, before the fix that each rule stands for.

No mechanism imports this file; a protocol's descriptor does. `rules_without(Rules, {"TruncateByEpoch"})` gives the
rules for the simulator. The specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar, cast

from tidemark.common.naming import EVERY_RULE, camel_case, instead, snake_case
from tidemark.common.rule_kinds import is_guard, is_rule

R = TypeVar("R")


class Variant(NamedTuple):
    """A computation or a setting that is another one without a rule, beside the rule's own answer.

    `rule`: the rule's name in Python. `computation`: the field of the protocol's rules. `flawed`: the computation
    without the rule.
    """

    rule: str
    computation: str
    flawed: Any


def _always(*_: Any) -> bool:
    """The answer of a removed guard: every request may go ahead."""
    return True


def _never(*_: Any) -> bool:
    """The case does not arise."""
    return False


def rules_without(kind: Callable[[], R], names: Iterable[str], variants: Iterable[Variant] = ()) -> R:
    """A protocol's rules with some removed.

    `kind`: the class of the protocol's rules. `names`: the specification's ("TruncateByEpoch") or Python's
    ("truncate_by_epoch"). `variants`: the computations that replace others without some of them.

    Raises ValueError for a name that is no rule.
    """
    rules = kind()
    fields_of_kind = [field.name for field in fields(cast(Any, rules))]
    known = {name: getattr(rules, name) for name in fields_of_kind if is_rule(getattr(rules, name))}
    for name in sorted(names):
        rule = snake_case(name)
        if rule not in known:
            hint = instead(name, map(camel_case, known), EVERY_RULE, snake_case)
            raise ValueError(f"there is no rule {name}: {hint}")
        setattr(rules, rule, _always if is_guard(known[rule]) else _never)
        for variant in variants:
            if variant.rule == rule:
                setattr(rules, variant.computation, variant.flawed)
    return rules
