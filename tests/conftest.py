"""Fixtures that several test files share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import shown
from hypothesis import settings
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.schema import Schema, schema_of
from tidemark_conformance.verify import clean

PANDAS = "PySpark does not yet fully support pandas >= 3.0.0. Some features may not work correctly."
"""How PySpark's warning of a new pandas begins; we use none of the features that may not work."""
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # processes that tests start write byte code, as users' do
# Java without its optimising compiler, TLC's and Spark's: a process of a second starts a third cheaper.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
sys.path += sorted(str(folder) for folder in Path(__file__).parent.iterdir() if folder.is_dir())
"""A test finds modules beside the tests of another protocol by their names."""
EXAMPLES = Path(__file__).parent.parent / "traces" / "examples"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--compiled`: the implementation as users have it."""
    parser.addoption(
        "--compiled",
        action="store_true",
        help="run the tests that are marked `as_users_have_it` on the implementation as make check compiles it, "
        "where there is a C compiler",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--compiled` the other tests are left out: they reach into the modules.

    No test is both `deep` and `as_users_have_it`, for nothing would run it on the compiled one.

    Files of few tests come first: those tests take longest, and at the end all processes have something small to do.
    """
    for item in items:
        if item.get_closest_marker("deep") and item.get_closest_marker("as_users_have_it"):
            raise pytest.UsageError(f"{item.nodeid} is marked both deep and as_users_have_it: choose one")
    if config.getoption("--compiled"):
        others = [item for item in items if item.get_closest_marker("as_users_have_it") is None]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.get_closest_marker("as_users_have_it") is not None]
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: tests[item.path])


def pytest_configure(config: pytest.Config) -> None:
    """Nothing that a reader of the tests' output could mend is warned of. No example of Hypothesis fails for the time
    that a busy machine takes over it. The implementation runs as the Python that it is, since tests reach into it, or
    with `--compiled` as it is compiled."""
    if config.getoption("--compiled") and not compiled.hindrance():
        if not hasattr(config, "workerinput"):
            compiled.build()
        if not compiled.use():
            raise pytest.UsageError("the implementation was loaded before its compiled modules could be")
    else:
        compiled.avoid()
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    config.addinivalue_line("filterwarnings", f"ignore:{re.escape(PANDAS)}:FutureWarning")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One local Spark session for all tests; the commands under test find it and use it."""
    # Its workers can import the modules beside the tests, as the driver can.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    with spark_session("local[2]") as session:
        yield session


@dataclass(frozen=True)
class TwoPhase:
    """The foreign example: its specification, and traces that its own little program wrote."""

    specification: Specification
    schema: Schema
    header: Path
    good: Path
    hasty: Path


@pytest.fixture(scope="session")
def two_phase(tmp_path_factory: pytest.TempPathFactory) -> TwoPhase:
    """30 transactions as they should be, 30 whose manager commits too early."""
    folder = tmp_path_factory.mktemp("two_phase")
    spec = spec_root() / "two_phase" / "TwoPhase.tla"
    specification, _ = load_for(None, spec, None)
    schema = schema_of(specification)
    header = folder / "header.json"
    header.write_text(schema.with_nodes(["tm", "r1", "r2", "r3"]).text() + "\n")
    example = TwoPhase(specification, schema, header, folder / "good.ndjson", folder / "hasty.ndjson")
    program = [sys.executable, "-I", str(EXAMPLES / "two_phase" / "two_phase.py"), str(header)]
    subprocess.run([*program, str(example.good), "--transactions", "30"], check=True)
    subprocess.run([*program, str(example.hasty), "--transactions", "30", "--hasty"], check=True)
    return example


@pytest.fixture(scope="session")
def specification() -> Specification:
    """Two-phase commit as its clean run is judged (shown.py)."""
    return clean.judging(shown.SHOWN)
