"""How work reaches Spark's workers: as it is on this machine; with the code that it needs on a cluster.

The audit, the kill matrix and simulation all go this way. So none of them needs this package (or a protocol's
simulator) installed on the workers.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tidemark_conformance.implementation import compiled
from tidemark_conformance.implementation.packages import sources
from tidemark_conformance.paths import FRESH, PACKAGE, cache_root
from tidemark_conformance.spark import bootstrap
from tidemark_conformance.spark.bootstrap import Partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Argument = TypeVar("Argument")


def partition_work(
    session: SparkSession, function: Callable[[Argument], Partition], argument: Argument, packages: Iterable[str] = ()
) -> Partition:
    """The function that a partition runs in `mapInArrow`: `function(argument)`, with `function` from one of our
    modules.

    `argument` travels by pickle, and a worker unpacks it once, not once a task. On a cluster our package, its cache and
    `packages` (the names of top-level packages or modules that `argument` needs) travel along. Raises Unusable for a
    package that is not here.
    """
    packed = pickle.dumps(argument)
    if session.sparkContext.master.startswith("local"):
        empty = os.environ.get(FRESH)
        return lambda batches: function(unpacked(packed, empty))(batches)
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(bootstrap)
    archive = _ship(session, packages)
    return bootstrap.shipped(archive, function.__module__, function.__name__, packed)


@lru_cache(maxsize=4)
def unpacked(argument: bytes, empty: str | None = None) -> Any:
    """An argument of `partition_work` in the worker: a specification's syntax is half a megabyte of small objects.

    A simulator among it is loaded as compiled modules, where they are. `empty`: the cache of a run with `--no-cache`.
    """
    if empty is not None:
        os.environ[FRESH] = empty
    compiled.use()
    return pickle.loads(argument)


def _ship(session: SparkSession, packages: Iterable[str]) -> str:
    """Add our package, the compiled kernels, the parsed specifications and `packages` to the session, once for each
    content.

    Returns the name of their archive.
    """
    folder = Path(tempfile.mkdtemp(prefix="tidemark-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Spark fetches the archive until the session ends
    draft = folder / "draft.zip"
    carried = {f"cache/{name}": cache_root() / name for name in ("kernels", "ir")}
    for place in (PACKAGE, *(place for name in sorted(set(packages)) for place in sources(name))):
        carried[f"package/{place.name}"] = place
    bootstrap.pack(carried, draft)
    archive = draft.rename(folder / f"tidemark-{hashlib.sha256(draft.read_bytes()).hexdigest()[:16]}.zip")
    context = session.sparkContext
    if (context.applicationId, archive.name) not in _added:
        context.addFile(str(archive))
        _added.add((context.applicationId, archive.name))
    return archive.name


_added: set[tuple[str, str]] = set()
"""Applications and the archives that they have: Spark refuses a second file of the same name."""
