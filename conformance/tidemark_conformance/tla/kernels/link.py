"""LLVM's side of a generated module: lowers its text, makes object code for this processor, and links it to be called.

An object is position-independent and needs nothing but the C library. So it can be kept, and sent to a machine with the
same processor.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from typing import Any, Protocol

import llvmlite.binding as llvm

from tidemark_conformance.tla.kernels.lower import Lowering

ENTRY = "main"
MODULE = "kernels"
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


class Run(Protocol):
    """The entry point of a module: six addresses (memory, bytes, four tables), then six numbers (see `driver.main`).

    The interpreter's lock is released while it runs.
    """

    def __call__(self, *arguments: int) -> int: ...


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
_HOST = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
_LINKER = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
_LINKED: list[Any] = []
_NUMBERS = itertools.count()
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6, *[ctypes.c_int64] * 6)


def lowered(source: str, names: Mapping[str, int]) -> str:
    """The LLVM assembly of a generated module's text, in which `names` stand for numbers."""
    lowering = Lowering(MODULE, names)
    lowering.add(source, exported=frozenset([ENTRY]), inlined=INLINED)
    return lowering.text()


def processor() -> str:
    """LLVM's names of this platform, of its processor and of the features that it has: on no other an object is run."""
    return " ".join(_HOST)


def object_code(assembly: str) -> bytes:
    """The object file of a module in LLVM assembly, at LLVM's level 2.

    Loops are not vectorised: they run a handful of times, so that it costs time and gains nothing.
    """
    triple, cpu, features = _HOST
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="pic", codemodel="small")
    module = llvm.parse_assembly(assembly)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)  # type: ignore[no-any-return]


def load(code: bytes) -> Run:
    """The entry point of an object that `object_code` made on a machine with this processor.

    It stays until the process ends. Raises RuntimeError for bytes that are no such object.
    """
    entry = f"{MODULE}.{ENTRY}"
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(entry)
    linked = library.link(_LINKER, f"{MODULE}-{next(_NUMBERS)}")
    _LINKED.append(linked)
    return _SIGNATURE(linked[entry])
