"""The manifest pins the checks of every model's cfg. A cfg that checks less, more or otherwise fails before TLC
runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger import LEDGER, SOUND
from tidemark_conformance import paths
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tlc import manifest, pins, runner, verify


@pytest.fixture(autouse=True)
def no_tlc(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pin needs a run of TLC."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("TLC ran")

    monkeypatch.setattr(runner, "run", fail)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of spec/."""
    copied = tmp_path_factory.mktemp("tree") / "spec"
    shutil.copytree(paths.spec_root(), copied)
    return copied


MODELS = "replication/models/"
ALTERED = [
    (MODELS + "MCFlush.cfg", r"INVARIANTS(.|\n)*", "", "it has INVARIANTS without TypeOK, "),
    (MODELS + "MCFlush.cfg", r"PROPERTIES(.|\n)*", "PROPERTIES\n", "it has PROPERTIES without "),
    (MODELS + "MCFlush.cfg", r"    HwAgreement\n", "", "has INVARIANTS without HwAgreement; put it back"),
    (MODELS + "MCFlush.cfg", r"    HwAgreement\n", "    HwAgreement\n    Extra\n", "INVARIANTS with Extra; put"),
    (MODELS + "MCFlush.cfg", "SYMMETRY SymmetryOfOthers\n", "", "SYMMETRY nothing in place of SymmetryOfOthers"),
    (MODELS + "MCFlush.cfg", "VIEW WithHistory\n", "", "VIEW nothing in place of WithHistory"),
    (MODELS + "MCFlush.cfg", "Without = {}", 'Without = {"R"}', 'Without = {"R"} in place of {}'),
    (MODELS + "MCFlush.cfg", "MaxEpoch = 3", "MaxEpoch = 2", "MaxEpoch = 2 in place of 3"),
    (MODELS + "MCFlush.cfg", "NEXT HurriedSafetyNext", "NEXT MCNext", "NEXT MCNext in place of HurriedSafetyNext"),
    (MODELS + "MCFlush.cfg", "NEXT Hurr", "CHECK_DEADLOCK FALSE\nNEXT Hurr", "CHECK_DEADLOCK False in place"),
    (MODELS + "MCRow01.cfg", r"\n *StrongIsr\b", "", "nothing that asks for StrongIsr, which must fall"),
    (MODELS + "MCRow01.cfg", r"Without = .*", "Without = {}", "Without = {} in place of"),
    ("replication/models/MCRow01.cfg", r"CONSTRAINT\S*\s+\w+", "", "has CONSTRAINTS without "),
]  # fmt: skip


@pytest.mark.parametrize(("cfg", "old", "new", "said"), ALTERED)
def test_a_cfg_that_checks_otherwise_fails(
    tree: Path, cfg: str, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tree / cfg
    name = file.stem
    before = file.read_text()
    changed = re.sub(old, new, before, count=1)
    assert changed != before
    try:
        file.write_text(changed)
        assert main(["check", name, "--manifest", str(tree / "replication" / "manifest.json")]) == 2
    finally:
        file.write_text(before)
    told = capsys.readouterr().err
    assert said in told
    assert f"pins for {name}" in told
    assert "--pin" in told


def test_our_manifest_pins_every_model_and_nothing_is_to_be_pinned_anew(tree: Path) -> None:
    found = manifest.load()
    for model in found.models:
        assert model.checks is not None
        assert model.checks.get("INVARIANTS") or model.checks.get("PROPERTIES"), model.name
        model.require_checks()
        if model.property is not None:
            assert model.property in (*model.checks.get("INVARIANTS", ()), *model.checks.get("PROPERTIES", ()))
    for file in sorted(tree.glob("*/manifest.json")):
        assert not manifest.pin(file), file


def test_a_known_verdict_is_not_asked_for_before_its_pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(LEDGER, tmp_path)
    (tmp_path / "Holds.cfg").write_text(SOUND.read_text())
    entry = {"name": "Holds", "module": "Ledger.tla", "cfg": "Holds.cfg", "kind": "safety", "expected": "holds"}
    entry = {**entry, "distinct": 210}
    target = tmp_path / "manifest.json"
    target.write_text(json.dumps({"schema": manifest.SCHEMA, "models": [entry], "unreached": {}}))
    (unpinned,) = manifest.load(target).models
    assert unpinned.checks is None
    assert manifest.pin(target)
    assert not manifest.pin(target)
    document = json.loads(target.read_text())
    assert list(document) == ["schema", "models", "unreached", "checks"]
    monkeypatch.setattr(verify, "_recall", lambda _: pytest.fail("a verdict was looked up"))
    text = (tmp_path / "Holds.cfg").read_text()
    (tmp_path / "Holds.cfg").write_text(text[: text.index("INVARIANT")])
    with pytest.raises(Unusable, match="INVARIANTS without TypeOK"):
        verify.verify(manifest.load(target).models)
    assert main(["check", "--pin", "--manifest", str(target)]) == 0
    manifest.load(target).models[0].require_checks()
    document["models"][0].pop("checks")
    target.write_text(json.dumps(document))
    with pytest.raises(Unusable, match="has no 'checks': add it"):
        manifest.load(target)
    for damage in ({"INVARIANTS": ["-Nothing"]}, {"INVARIANTS": ["TypeOK"]}, {"INVARIANT": []}, {"CONSTANTS": 7}):
        document["models"][0]["checks"] = damage
        target.write_text(json.dumps(document))
        with pytest.raises(Unusable, match=r"'checks' that cannot be read .*: run `tidemark check --pin`"):
            manifest.load(target)


NAMES = st.lists(st.sampled_from("ABCDE"), unique=True)
STATED = st.builds(
    lambda lists, singles, constants: (
        {key: value for key, value in {**lists, **singles}.items() if value}
        | ({"CONSTANTS": dict(sorted(constants.items()))} if constants else {})
    ),
    st.fixed_dictionaries(dict.fromkeys(pins.LISTS, NAMES)),
    st.fixed_dictionaries({key: st.sampled_from([None, "S", "T"]) for key in pins.SINGLES}),
    st.dictionaries(st.sampled_from("NMK"), st.sampled_from(["1", "{}", "<- X"])),
)


@given(st.lists(STATED, min_size=1, max_size=5))
def test_what_is_pinned_is_what_the_cfg_states(many: list[pins.Checks]) -> None:
    usual = pins.shared(many)
    for own in many:
        pinned = pins.expanded(usual, pins.change(usual, own))
        assert not list(pins.differences(pinned, own))
        for other in many:
            same = {key: sorted(one) if isinstance(one, list) else one for key, one in own.items()} == {
                key: sorted(one) if isinstance(one, list) else one for key, one in other.items()
            }
            assert same == (not list(pins.differences(pinned, other)))
