"""One name in the specification, in the implementation and in the zoo: rules and actions of every protocol.

The parts of a protocol are in `simulated.SIMULATED`. A comment above an action in the specification names the module of
its handler: `\\* SendJoin   who: consumer   code: classic_group/consumer.py`, perhaps with the handler's name behind it
in brackets. An action without code of a node (`who: the network`) is a method of the simulated cluster.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import pytest
from simulated import SIMULATED, Simulated
from tidemark.common.naming import snake_case
from tidemark.common.rule_kinds import is_guard
from tidemark_conformance.registry import zoo
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.ir import Mark, RuleGuard
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.walk import walk

each = pytest.mark.parametrize("one", SIMULATED, ids=lambda one: one.protocol)

HEADING = re.compile(r"^\\\* (\w+)   who: (.*?)(?:   code: (\S+)(?: \((\w+)\))?)?$", re.MULTILINE)
NOTHING_TO_DO = {("replication", "DropFetchResponse")}
"""A response that is dropped is dropped by doing nothing."""
OTHER_NAMES = {
    ("idempotence", "DropLate"): "handle_late",
    ("classic-group", "StartConsumer"): "Consumer",
    ("consumer-group", "StartConsumer"): "AsyncConsumer",
}
"""Actions whose handlers have other names. The handler of late arrivals drops them; a consumer starts by being made."""
PARTS_OF_A_DELIVERY = {
    ("offsets", f"{what}{which}")
    for which, whats in {"TxnOffsetCommit": ("Verify", "Handle", "Reject"), "Marker": ("Handle", "Reject")}.items()
    for what in whats
}
"""The simulated network delivers; the coordinator does the rest."""


def rules_of_specification(one: Simulated) -> list[str]:
    """In the order of the text; the set is the value of `Rules`."""
    return _rules_of(one.protocol)


@functools.cache
def _rules_of(protocol: str) -> list[str]:
    one = next(one for one in SIMULATED if one.protocol == protocol)
    text = one.specification.sources[one.known.spec.stem.removesuffix("Properties")].read_text()
    start = text.index("\nRules ==")
    written = re.findall(r'"(\w+)"', text[start : text.index("\n\n", start)])
    specification = load(one.known.spec, one.known.config, also=("Rules",))
    assert set(written) == compile_python(specification).constant(specification.module.definitions["Rules"].body)
    return written


def module_of_rules(one: Simulated) -> ModuleType:
    """The implementation's, with the rules in force as a dataclass of functions."""
    return importlib.import_module(type(one.descriptor.rules_without(())).__module__)


def names_of_rules(one: Simulated) -> list[str]:
    """The implementation's, in its order; computations that are replaced without a rule are none."""
    computations = getattr(module_of_rules(one), "COMPUTATIONS", ())
    return [field.name for field in fields(one.descriptor.rules_without(())) if field.name not in computations]


def kinds_of_rules(one: Simulated) -> dict[str, set[str]]:
    """How the specification's actions ask each rule's operator: as a guard ("implies"), or as a case ("and")."""
    kinds: dict[str, set[str]] = {}
    for action in one.specification.module.actions:
        for node in walk(action.body):
            if isinstance(node, RuleGuard) and isinstance(node.predicate, Mark) and node.predicate.name == node.rule:
                kinds.setdefault(node.rule, set()).add(node.connective)
    return kinds


class TestRules:
    @each
    def test_they_have_the_same_names(self, one: Simulated) -> None:
        assert [snake_case(rule) for rule in rules_of_specification(one)] == names_of_rules(one)
        assert set(one.specification.module.rules) == set(rules_of_specification(one))
        assert list(module_of_rules(one).RULES) == names_of_rules(one)

    @each
    def test_every_one_says_what_goes_wrong_without_it(self, one: Simulated) -> None:
        rules = one.descriptor.rules_without(())
        said = {rule: " ".join((getattr(rules, rule).__doc__ or "").split()) for rule in names_of_rules(one)}
        assert [rule for rule, words in said.items() if not re.search(r"\bWithout it\b", words)] == []

    @each
    def test_every_one_can_be_removed_and_no_other_changes(self, one: Simulated) -> None:
        right = one.descriptor.rules_without(())
        computed = {variant.rule: variant.computation for variant in one.descriptor.variants}
        for rule in rules_of_specification(one):
            flawed = one.descriptor.rules_without({rule})
            name = snake_case(rule)
            changed = {
                field.name for field in fields(right) if getattr(flawed, field.name) is not getattr(right, field.name)
            }
            assert changed == {name} | ({computed[name]} if name in computed else set())
            everything_may = is_guard(getattr(right, name))  # of a case: it never arises
            if computed.get(name) != name:  # else another computation stands in its place
                assert getattr(flawed, name)() is everything_may

    @each
    def test_guards_and_cases_are_those_of_the_specification(self, one: Simulated) -> None:
        rules = one.descriptor.rules_without(())
        said = {rule: {"implies" if is_guard(getattr(rules, snake_case(rule))) else "and"} for rule in one.rules}
        assert kinds_of_rules(one) == said

    @each
    def test_a_rule_has_its_own_name(self, one: Simulated) -> None:
        """The function in force for each is the one that is called so."""
        rules = one.descriptor.rules_without(())
        assert is_dataclass(rules)
        assert [rule for rule in names_of_rules(one) if getattr(rules, rule).__name__ != rule] == []

    @each
    def test_an_unknown_one_is_refused(self, one: Simulated) -> None:
        with pytest.raises(
            ValueError,
            match=r"no rule Persist: (did you mean [A-Z]\w+|choose from [A-Z]\w+,|`tidemark rule` lists them all$)",
        ):
            one.descriptor.rules_without({"Persist"})

    @each
    def test_the_zoo_knows_no_others(self, one: Simulated) -> None:
        rows = [row for row in zoo.rows() if row.protocol == one.protocol]
        assert rows
        audited = cfg.read(one.known.config)
        quiescence = [named.name for named in one.specification.quiescence]
        for row in rows:
            assert set(row.rules) <= set(rules_of_specification(one)), row.id
            assert row.property in (*audited.invariants, *audited.properties, *quiescence), row.id

    def test_the_zoo_has_rows_of_these_protocols_only(self) -> None:
        assert {row.protocol for row in zoo.rows()} == {one.protocol for one in SIMULATED}


class TestActions:
    @each
    def test_every_one_says_whose_it_is(self, one: Simulated) -> None:
        assert sorted(headings(one)) == sorted(action["name"] for action in one.header["actions"])

    @each
    def test_every_one_has_a_handler_where_the_specification_says(self, one: Simulated) -> None:
        missing = []
        for action, (file, named) in headings(one).items():
            handler = named or OTHER_NAMES.get((one.protocol, action), snake_case(action))
            if (one.protocol, action) not in NOTHING_TO_DO and not handled(one, file, handler):
                missing.append(f"{action}: {file} has no {handler}")
        assert missing == []

    @each
    def test_every_one_is_an_event_of_the_simulated_cluster_or_comes_of_one(self, one: Simulated) -> None:
        """So far as the cluster says so: where all are its methods (offsets), none may be missing."""
        if one.protocol != "offsets":
            return
        events = {snake_case(action) for action in headings(one) if (one.protocol, action) not in PARTS_OF_A_DELIVERY}
        assert [event for event in sorted(events) if not callable(getattr(cluster(one), event, None))] == []


def headings(one: Simulated) -> dict[str, tuple[str, str]]:
    """Per action the file that its comment names, and the handler if it has another name ("" where there is none)."""
    text = one.specification.sources[one.known.spec.stem.removesuffix("Properties")].read_text()
    return {name: (file, handler) for name, _, file, handler in HEADING.findall(text)}


def cluster(one: Simulated) -> type:
    """The class of the simulated cluster."""
    return type(one.run(one.make(one.header), 0).cluster)


def handled(one: Simulated, file: str, handler: str) -> bool:
    """Whether a class or the module of a file has a handler of this name; without a file: the simulated cluster."""
    if not file or file == "sim/":
        return callable(getattr(cluster(one), handler, None))
    try:
        module = importlib.import_module("tidemark." + file.removesuffix(".py").replace("/", "."))
    except ModuleNotFoundError:
        return False
    classes: list[Any] = [found for _, found in inspect.getmembers(module, inspect.isclass)]
    own = [found for found in classes if found.__module__ == module.__name__]
    return any(callable(getattr(owner, handler, None)) for owner in (module, *own))
