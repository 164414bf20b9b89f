"""`tidemark rule`: the card of one rule, the list of all, and the answer to an unknown name."""

from __future__ import annotations

import dataclasses
import inspect
import io
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from simulated import SIMULATED
from tidemark.common.naming import snake_case
from tidemark_conformance import cli
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain import asking
from tidemark_conformance.explain import card as cards
from tidemark_conformance.java import modules
from tidemark_conformance.registry import protocols
from tidemark_conformance.report import rule_card

SNAPSHOTS = Path(__file__).parent / "snapshots"


def rule(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["rule", *arguments]) == 0
    return capsys.readouterr().out


def test_a_card_shows_text_uses_and_counterexample(capsys: pytest.CaptureFixture[str]) -> None:
    text = rule(capsys, "CommitOnlyIfAllPrepared").replace(" (from the verdict cache)", "")
    file = SNAPSHOTS / "rule_CommitOnlyIfAllPrepared.txt"
    if os.environ.get("TIDEMARK_SNAPSHOTS") == "write":
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize(
    ("package", "note"),
    [
        ("tidemark.two_phase", "Nothing here implements two_phase: the rule is the specification's alone."),
        ("tidemark.common", "Nothing here implements two_phase: the rule is the specification's alone."),
        ("tidemark.offsets", "The implementation tidemark.offsets has no rule keep_decision."),
    ],
)
def test_a_card_says_why_it_has_no_python(package: str, note: str, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [dataclasses.replace(one, package=package) for one in cards.homes() if one.protocol == "two_phase"]
    monkeypatch.setattr(cards, "homes", lambda: homes)
    [card] = cards.of_rule("KeepDecision")
    assert card.python is None
    assert card.notes[0] == note


def test_all_rules_are_listed_on_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    lines = rule(capsys).splitlines()
    known = [(cards.heading(home), name) for home in cards.homes() for name in home.specification.module.rules]
    assert lines[0] == "rule - what goes wrong without it (rows of zoo.toml before it)"
    assert lines[1] == "`tidemark rule NAME` shows the whole comment above a rule, and its formula"
    assert "Transactions (tidemark simulate transactions)" in lines
    of, named = "", []
    for line in lines[2:]:
        if line.startswith("  "):
            named.append((of, line.split()[0]))
        elif line:
            of = line
    assert sorted(named) == sorted(known)
    assert not [line for line in lines if line.endswith("…")]
    first = "The decision is on disk before it is sent."
    harm = "Without it a restarted manager forgets that it committed, and aborts."
    assert f"  KeepDecision             {first} {harm}" in lines
    assert "  PreparedWaits            A resource manager that has promised to commit changes its mind." in lines


def test_a_rule_in_the_list_has_all_that_its_harm_speaks_of() -> None:
    """The sentence before it, a second rule that is missing, too, and a comment above two rules."""
    told = {(one.of.partition(" ")[0], one.name): one.told for one in cards.listed()}
    assert told["ClassicGroup", "AnswerSuperseded"].startswith(
        "A later JoinGroup or SyncGroup of the member takes the place of the one that waits, which is answered now. "
        "Without it that one is never answered"
    )
    assert told["Replication", "NoBatchAboveFetchEpoch"].startswith("Without it and SliceNotTruncated a slow response")
    assert told["Replication", "ReadBelowHw"].startswith("Consumers read what is committed. Without it one is given")
    assert told["Replication", "TruncateByEpoch"].startswith("A follower truncates to its own high watermark")
    assert not [text for text in told.values() if text.startswith(("And ", "That one"))]


def test_in_a_terminal_no_sentence_of_the_list_is_cut() -> None:
    shown = io.StringIO()
    rules = cards.listed()
    rule_card.render_list(rules, Console(file=shown, width=80, force_terminal=True, color_system=None))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(shown.getvalue().split())
    assert not [rule.name for rule in rules if " ".join(rule.told.split()) not in words]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CommitOnlyIfPrepared", "did you mean CommitOnlyIfAllPrepared? (`tidemark rule` lists them all)\n"),
        ("prepared_wait", "did you mean PreparedWaits? ("),
        ("FetchEpochNot", "did you mean FetchEpochNotOlder or FetchEpochNotNewer? ("),
        ("79", "row 79 is KAFKA-18660-reply and KAFKA-18660; name one\n"),
        ("Qqqqqqqqq", "`tidemark rule` lists them all"),
    ],
)
def test_an_unknown_rule_is_one_sentence(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", name]) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1


@pytest.mark.deep
@pytest.mark.parametrize("name", ["owned_by_no_other", "42", "KIP-429"])
def test_a_rule_is_found_by_its_python_name_and_by_its_row(name: str) -> None:
    assert [(card.name, cards.heading(card.home)) for card in cards.of_rule(name)] == [
        ("OwnedByNoOther", "ClassicGroup (tidemark simulate classic-group)")
    ]


@pytest.mark.deep
def test_the_list_has_the_rows_of_each_specification_alone() -> None:
    """Rows of transactions and of exactly-once remove rules of this name; neither has the other's."""
    found = [one.rows for one in cards.listed() if one.name == "VerifyTransaction"]
    own = [card.rows for card in cards.of_rule("VerifyTransaction")]
    assert sorted(found) == sorted(tuple(row.id for row in rows) for rows in own)
    assert sorted(map(bool, found)) == [True, True]


@pytest.mark.deep
def test_a_rule_of_two_specifications_has_two_cards_that_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    text = rule(capsys, "CommitOfMember", "--no-run")
    assert text.count("CommitOfMember  a rule of ") == 3
    for card in cards.of_rule("CommitOfMember"):
        own = card.home.specification.sources[card.home.specification.path.stem.removesuffix("Properties")]
        assert {line.file for line in card.definition} == {own.name}
        assert card.removals
        for removal in card.removals:
            assert removal.model is not None
            assert own.stem in modules.closure(removal.model.module)


def test_a_rules_python_is_named_by_its_place_in_the_tree() -> None:
    found = cards.python_rule("tidemark.replication", "ReachedEpochStart")
    assert found is not None
    file, _, line = found.place.partition(":")
    assert file == "impl/tidemark/replication/rules.py"
    text = (Path(__file__).parent.parent / file).read_text().splitlines()
    assert text[int(line) - 1 : int(line) + 1][0] == "@guard"
    assert text[int(line)].startswith("def reached_epoch_start(")


@pytest.mark.parametrize(
    ("rule", "package", "action", "asked"),
    [
        ("ReachedEpochStart", "replication", "expand_isr", "Partition.expand_isr"),
        ("ResetRemoteLeoOnNewLeaderEpoch", "replication", "apply_metadata", "Partition.make_leader"),
        ("AlterOfBrokerEpoch", "replication", "handle_alter_partition", "ReplicationControl._alter_verdict"),
    ],
)
def test_a_card_shows_the_handler_that_asks_the_rule(rule: str, package: str, action: str, asked: str) -> None:
    """The function is the one, its lines are those of the file, and the question is among them."""
    found = asking.asks(f"tidemark.{package}", f"tidemark.{package}.rules", snake_case(rule), {action})
    assert [one.function for one in found] == [asked]
    assert [handler.rpartition(".")[2] for handler in found[0].handlers] == ([] if asked.endswith(action) else [action])
    file, _, line = found[0].place.partition(":")
    text = (Path(__file__).parent.parent / file).read_text().splitlines()
    assert f"rules.{snake_case(rule)}" in text[int(line) - 1]
    assert int(line) in [shown.number for shown in found[0].lines]
    assert [shown.text for shown in found[0].lines] == [text[shown.number - 1] for shown in found[0].lines]


@pytest.mark.deep
def test_every_rule_is_asked_by_the_implementation_of_its_protocol() -> None:
    """None of the questions is a rule of another protocol: it stands in a module that is given these rules. A rule that
    nothing asks decides who serves: without it another node does."""
    homes = {home.specification.path: home for home in cards.homes()}
    registered = protocols.protocols()
    for one in SIMULATED:
        home = homes[registered[one.protocol].spec]
        siblings = home.specification.module.rules
        for rule in siblings:
            module = cards.rules_module(home.package, rule, siblings)
            assert module is not None, (one.protocol, rule)
            asked = asking.asks(home.package, module.__name__, snake_case(rule))
            assert asked or _replaces_a_node(home.package, rule), (one.protocol, rule)


def _replaces_a_node(package: str, rule: str) -> bool:
    """Whether another node stands in its place without the rule."""
    return any(snake_case(rule) in getattr(flaws, "FLAWED", {}) for flaws in protocols.modules(package, "flaws"))


@pytest.mark.deep
def test_a_rule_of_several_protocols_is_asked_by_each_in_its_own_functions() -> None:
    asked = {
        card.home.specification.path.stem: {ask.function for ask in card.asks}
        for card in cards.of_rule("CommitOfMember")
    }
    assert len(asked) == 3
    assert all(asked.values())
    functions = [function for some in asked.values() for function in some]
    assert len(functions) == len(set(functions))


@pytest.mark.deep
def test_a_rule_is_asked_where_it_has_another_name_too() -> None:
    """ExactlyOnce gives its rules to the parts of other protocols, under these protocols' names."""
    [card] = [one for one in cards.of_rule("EpochNotOlder") if one.home.protocol == "exactly_once"]
    asked = {ask.function for ask in card.asks}
    assert {"OffsetCoordinator._txn_commit_error", "TransactionalPartition.is_stale"} <= asked
    [card] = cards.of_rule("SequenceIsNext")
    assert {ask.function for ask in card.asks} == {"ProducerStateManager.validate"}


def test_a_card_shows_the_node_that_stands_in_place_of_a_rules() -> None:
    found = cards.flawed_rules("tidemark.offsets", "ValidateAfterVerification")
    assert [one.text.partition("(")[0].splitlines()[-1] for one in found] == ["def _always", "def verified_on_arrival"]
    found = cards.flawed_rules("tidemark.offsets", "MaterialiseFirst")
    assert [one.text.partition("(")[0].splitlines()[-1] for one in found] == ["def _never", "def handled_marker"]
    assert len(cards.flawed_rules("tidemark.offsets", "FetchOnlyStable")) == 1


def test_what_asks_is_read_off_the_text_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "askers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("class Rules:\n    may_go: object = None\n")
    (package / "other_rules.py").write_text("class OtherRules:\n    may_go: object = None\n")
    (package / "node.py").write_text(
        "from askers.rules import Rules\nfrom askers.other_rules import OtherRules\n\n\n"
        "class Node:\n"
        "    def __init__(self, rules: Rules, others: OtherRules) -> None:\n"
        "        self._rules, self._others = rules, others\n\n"
        "    def handle_go(self) -> bool:\n"
        "        return self._verdict()\n\n"
        "    def _verdict(self) -> bool:\n"
        "        return self._rules.may_go(1)\n\n"
        "    def handle_stop(self) -> bool:\n"
        "        return self._others.may_go(2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = asking.asks("askers", "askers.rules", "may_go", {"handle_go"})
    assert [(one.place, one.function, one.handlers) for one in own] == [
        ("askers/node.py:13", "Node._verdict", ("Node.handle_go",))
    ]
    other = asking.asks("askers", "askers.other_rules", "may_go")
    assert [(one.place, one.function, one.handlers) for one in other] == [("askers/node.py:16", "Node.handle_stop", ())]


def test_every_rule_has_the_python_of_its_protocol() -> None:
    """Specifications of one folder may be implemented in several packages."""
    homes = {home.specification.path: home for home in cards.homes()}
    registered = protocols.protocols()
    for one in SIMULATED:
        home = homes[registered[one.protocol].spec]
        right = one.descriptor.rules_without(())
        siblings = home.specification.module.rules
        for rule in siblings:
            found = cards.python_rule(home.package, rule, siblings)
            assert found is not None, (one.protocol, rule)
            text = inspect.getsource(getattr(right, snake_case(rule)))
            assert found.text == textwrap.dedent(text).rstrip(), (one.protocol, rule)
            assert cards.flawed_rules(home.package, rule, siblings), (one.protocol, rule)


@pytest.mark.deep
def test_what_tlc_is_asked_for_is_told_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict out of the cache is not: there is nothing to wait for."""

    def busy(models: Any, *, listener: Any, **_: object) -> None:
        listener("started", models[0], None)
        listener("done", models[0], None)
        raise Unusable("no Java is here: install one")

    monkeypatch.setattr(cards.verify, "verify", busy)
    assert cli.main(["rule", "CommitOnlyIfAllPrepared"]) == 0
    assert capsys.readouterr().err == "running TLC on TwoPhaseFlawed (once; the texts are above)\n"


@pytest.mark.deep
def test_without_java_the_card_has_its_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise Unusable("no Java is here: install one")

    monkeypatch.setattr(cards.verify, "verify", missing)
    text = rule(capsys, "CommitOnlyIfAllPrepared")
    assert "tmPrepared = RM" in text
    assert "TLC cannot be asked: no Java is here: install one." in text


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("ReachedEpochStart", "reached_epoch_start"),
        ("HwOnlyAtMinIsr", "hw_only_at_min_isr"),
        ("ResetRemoteLeoOnNewLeaderEpoch", "reset_remote_leo_on_new_leader_epoch"),
        ("KIPRule", "kip_rule"),
    ],
)
def test_a_rule_has_one_name_in_two_spellings(name: str, python: str) -> None:
    assert snake_case(name) == python
