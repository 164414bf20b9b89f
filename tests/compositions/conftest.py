"""The composition of a group and the log that it writes to, for tests of runs and of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from composing import Composed


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed")


@pytest.fixture(scope="module")
def headers(composed: Composed) -> dict[str, dict[str, Any]]:
    return composed.headers
