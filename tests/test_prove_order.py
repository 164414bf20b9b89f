"""The questions of an action do not depend on the actions that were judged before it in the process."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("z3")

from tidemark_conformance.prove import inductive, proving, solving

PROVED = Path(__file__).parent / "models" / "proved"


def asked(monkeypatch: pytest.MonkeyPatch, name: str, actions: Iterable[str] | None) -> dict[str, list[str]]:
    """Action -> the texts of the questions asked of it, the actions judged in this order (None: the reverse of all)."""
    claimed = inductive.read(name, PROVED / f"{name}.tla", PROVED / f"{name}.cfg")
    prover = proving.Prover(claimed)
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    original = solving.Session.ask

    def ask(self: solving.Session, goal: Any, more: Iterable[Any] = (), part: int = 1) -> solving.Answer:
        texts.append(f"{self.solver.sexpr()}\n{goal}")
        return original(self, goal, more, part)

    monkeypatch.setattr(solving.Session, "ask", ask)
    for action in reversed([proving.INIT, *prover.actions(), proving.ALWAYS]) if actions is None else actions:
        texts.clear()
        prover.judge({}, only=lambda lemma, of, action=action: of == action)  # type: ignore[misc]
        found[action] = list(texts)
    monkeypatch.undo()
    return found


@pytest.mark.parametrize("name", ["Picks", "Sifted", "Summed", "Votes"])
def test_an_action_is_asked_the_same_whatever_was_asked_before(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    after_others = asked(monkeypatch, name, None)
    assert any(after_others.values())
    for action, texts in after_others.items():
        assert texts == asked(monkeypatch, name, [action])[action], action
