"""Kernels in machine code: a specification's checks over cell vectors, and the replay of delta streams.

Importing this package loads neither llvmlite nor numpy (`stream` needs neither); `compile_kernels` does.

`expressions` (with `values`, `sets`, `equality`) turns IR into text in a small subset of Python. `program` puts one
function per check together with the replay loop of `driver`. `lower` translates the text to LLVM. `link` makes an
object file of it and links that into the process. `runtime` keeps the object file in the cache, and calls the code
through ctypes without the interpreter's lock.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidemark_conformance.tla.kernels.runtime import Kernels
    from tidemark_conformance.tla.spec import Specification


def compile_kernels(spec: Specification, folder: Path | None = None) -> Kernels:
    """The kernels of a specification, from the cache on disk if it has them (`folder` overrides the cache).

    Raises Unsupported, with module and line, for a construct outside the conventions.
    """
    from tidemark_conformance.tla.kernels import runtime

    return runtime.compile_kernels(spec, folder)
