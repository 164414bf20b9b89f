"""`tidemark logs audit` as the tests of logs run it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tidemark_conformance.cli import main

Capture = pytest.CaptureFixture[str]


def audit(capsys: Capture, *paths: object) -> tuple[int, dict[str, Any], list[str]]:
    """The exit code, the document, and the sentences."""
    code = main(["logs", "audit", *map(str, paths), "--json", "-"])
    said = capsys.readouterr()
    sentences = [line for line in said.err.splitlines() if line.startswith("tidemark logs:")]
    return code, json.loads(said.out), sentences
