"""TLC's verdicts on the small specifications that `tidemark prove` is tried on: TLC says which claims are false."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tlc import runner, shared

pytest.importorskip(shared._CLIENT)

MODELS = Path(__file__).parent / "models"
OTHERWISE = {
    "CaseNone": "error",
    **dict.fromkeys(["ChooseError", "ChooseNone", "FoldError", "FoldLazy", "FoldLazyTrue", "SelectError"], "error"),
    "DivErr": "error",
    "FunTuple": "TLC cannot configure FunTuple: The invariant of Inv is equal to FALSE",
    "FreeBox": "holds",
}
"""All others fall. Of FreeBox TLC ignores the subscript of the box, which leaves a variable free."""


@pytest.fixture(scope="module")
def java() -> Iterator[shared.Java]:
    """One Java for all of them."""
    jar = toolchain.find_jar(None)
    server = shared.server_jar(jar)
    assert server is not None
    found = shared.Java(jar, server)
    yield found
    found.close()


def said(folder: Path, java: shared.Java) -> dict[str, str]:
    """TLC's verdict on each specification of a folder, or its refusal."""
    found: dict[str, str] = {}
    for cfg in sorted(folder.glob("*.cfg")):
        library = [folder, spec_root() / "lib"]
        try:
            result = runner.run(cfg.with_suffix(".tla"), cfg, runner.Options(budget_s=60), library=library, java=java)
            found[cfg.stem] = result.verdict
        except Unusable as problem:
            found[cfg.stem] = str(problem)
    return found


@pytest.mark.deep
def test_tlc_finds_each_claim_false_that_is_not_proved(java: shared.Java) -> None:
    found = said(MODELS / "unproved", java)
    assert len(found) > 160
    assert found == {name: OTHERWISE.get(name, "violates") for name in found}


def test_tlc_finds_no_claim_false_that_is_proved(java: shared.Java) -> None:
    found = said(MODELS / "proved", java)
    assert len(found) >= 11
    assert set(found.values()) == {"holds"}
