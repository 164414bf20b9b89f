"""Numba's side of a generated module: lowers its text, links it into numba's library, and compiles the entry point."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba import config, int64, njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from tidemark_conformance.tla.kernels.lower import Lowering

ARGUMENTS = 12
"""Parameters of the entry point, all int64: six addresses (memory, bytes, four tables), then six numbers."""

INLINED = frozenset(
    [
        "bit",
        "copyrows",
        "err",
        "fit",
        "floordiv",
        "invariants",
        "ix",
        "lookup",
        "minus",
        "modulo",
        "need",
        "plus",
        "properties",
        "saverows",
        "shl1",
    ]
)


def lowered(source: str, names: dict[str, int], module: str) -> str:
    """The LLVM assembly of a generated module's text; its entry point is `<module>.main`."""
    lowering = Lowering(module, names)
    defined = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    lowering.add(source, exported=frozenset(["main"]), inlined=INLINED & defined)
    return lowering.text()


def entry_point(folder: Path, module: str) -> Callable[..., Any]:
    """A function for numba's compiler that calls a generated module: kernel.ll in `folder` is read when it compiles."""
    pointers = [ir.IntType(64).as_pointer(), ir.IntType(8).as_pointer(), *[ir.IntType(64).as_pointer()] * 4]

    @intrinsic  # type: ignore[untyped-decorator]
    def run(
        _context: Any,
        a0: Any,
        a1: Any,
        a2: Any,
        a3: Any,
        a4: Any,
        a5: Any,
        a6: Any,
        a7: Any,
        a8: Any,
        a9: Any,
        a10: Any,
        a11: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            parsed = llvm.parse_assembly((folder / "kernel.ll").read_text(encoding="utf-8"))
            parsed.verify()
            context.active_code_library.add_llvm_module(parsed)
            kind = ir.FunctionType(ir.IntType(64), [*pointers, *[ir.IntType(64)] * 6])
            function = cgutils.get_or_insert_function(builder.module, kind, f"{module}.main")
            values = [builder.inttoptr(v, p) for v, p in zip(arguments[:6], pointers, strict=True)]
            return builder.call(function, [*values, *arguments[6:]])

        return types.int64(*[types.int64] * ARGUMENTS), generate

    return run  # type: ignore[no-any-return]


@contextmanager
def _options() -> Iterator[None]:
    """LLVM level 2, and no vectorising of loops that run a handful of times: more costs time and gains nothing.
    Object code is kept beside the entry point, where it is verified, whatever NUMBA_CACHE_DIR says."""
    names = ("LOOP_VECTORIZE", "SLP_VECTORIZE", "OPT", "CACHE_DIR")
    before = [getattr(config, name) for name in names]
    for name, value in zip(names, (0, 0, min(config.OPT, type(config.OPT)(2)), ""), strict=True):
        setattr(config, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(config, name, value)


def compiled(function: Callable[..., int]) -> Callable[..., int]:
    """The numba kernel of an entry point written in Python (in a file, so that numba keeps it on disk)."""
    with _options():
        return njit(int64(*[int64] * ARGUMENTS), nogil=True, cache=True, error_model="numpy")(function)  # type: ignore[no-any-return]
