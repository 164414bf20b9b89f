"""The simulated implementation as machine code: the modules of `tidemark`, compiled by mypyc where there is a C
compiler.

Nothing differs but the speed: a seed's trace is the same, byte for byte. The compiled modules are kept in the cache
folder under a digest of the sources (and of this file). So a changed module never runs in its older form. Spark's
workers on this machine use it. Those of a cluster, and processes with `TIDEMARK_INTERPRETED` set, run the modules as
they are.
"""

from __future__ import annotations

import ast
import compileall
import contextlib
import fcntl
import hashlib
import importlib
import importlib.metadata
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from tidemark_conformance import cache, extras
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation.packages import digest, sources
from tidemark_conformance.paths import cache_root, lasting_root, temporary_folder
from tidemark_conformance.processes import started

IMPLEMENTATION = "tidemark"
"""The package."""
INTERPRETED = "TIDEMARK_INTERPRETED"
"""The environment variable that keeps this process, and those that it starts, from using compiled modules."""
AS_THEY_ARE = frozenset({"__init__", "errors", "naming", "structs"})
"""Modules that are not compiled: exceptions are no classes that mypyc makes, and the machinery loads `naming` first."""
NOT_SIMULATED = "formats"
"""The folder of modules that no simulator imports: they are not compiled either."""
UNUSED_S = 3600
"""Seconds after its last use in which modules compiled of other sources are kept."""
OPTIMIZATION = "1"
"""Of the C compiler: 2 takes twice as long and gains nothing that can be measured."""
JOINED_BYTES = 2_000_000
"""The C compiler gets the files that mypyc writes so many bytes at a time. To read the headers anew for each file is a
fourth of its work."""

_BASES = re.compile(r"^class \w+\((.*)\):$", re.MULTILINE)
_SLOTTED = "dataclass(slots=True)"
_SETUP = f"""
import os, sys
from mypyc.build import mypycify
from setuptools import setup
modules = mypycify(sys.argv[1:], opt_level="{OPTIMIZATION}", debug_level="0", multi_file=True)
for module in modules:
    ours = [one for one in module.sources if os.path.basename(one).startswith("__native_")]
    joined, size = [], {JOINED_BYTES}
    for one in ours:
        if size >= {JOINED_BYTES}:
            joined, size = [*joined, f"build/joined_{{len(joined)}}.c"], 0
        with open(joined[-1], "a" if size else "w") as file:
            print(f'#include "{{os.path.basename(one)}}"', file=file)
        size += os.path.getsize(one)
    if len(ours) > 1:
        module.sources = [one for one in module.sources if one not in ours] + joined
setup(name="compiled", ext_modules=modules, script_args=["build_ext", "--inplace"])
"""


def folder() -> Path:
    """Where the implementation, as its sources are now, is or would be kept when it is compiled."""
    makers = [f"{name} {version(name)}" for name in ("mypy", "setuptools")]
    parts = " ".join([cache.code(__name__), digest(IMPLEMENTATION), *makers])
    hashed = hashlib.sha256(parts.encode()).hexdigest()[:16]
    return cache_root() / "compiled" / f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}-{hashed}"


@lru_cache(maxsize=1)
def use() -> bool:
    """Have this process import the compiled modules; whether it does.

    Not where they are not there, where INTERPRETED is set, and where modules of the implementation are loaded already:
    the two kinds do not mix.
    """
    if os.environ.get(INTERPRETED):
        return False
    package = importlib.import_module(IMPLEMENTATION)  # by name: the key of compiled modules has its text already
    home = folder()
    apart = {f"{IMPLEMENTATION}.common", *(f"{IMPLEMENTATION}.common.{name}" for name in AS_THEY_ARE)}
    loaded = {name for name in sys.modules if name.startswith(f"{IMPLEMENTATION}.")}
    if not loaded <= apart or not cache.sealed(home):
        return False
    with contextlib.suppress(OSError):
        os.utime(home)
    sys.path.append(str(home))  # shared parts of the compiled modules stand beside the package
    package.__path__ = [str(home / IMPLEMENTATION)]
    if common := sys.modules.get(f"{IMPLEMENTATION}.common"):  # else what it loads later is source
        common.__path__ = [str(home / IMPLEMENTATION / "common")]
    return True


def avoid() -> None:
    """Have this process, and those that it starts, run the modules as they are. Commands that read their text, or play
    a scenario, need it: a scenario's events are asked for the names of their parameters."""
    os.environ[INTERPRETED] = "1"


def version(distribution: str) -> str:
    """The installed version of a distribution; "" where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def hindrance() -> str:
    """Why nothing can be compiled here, and the remedy; "" if it can."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler}) here; install one"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        return f"Python's headers are not here ({header}); install the package that has them (python3-dev, say)"
    if not extras.installed("mypyc"):
        return f"compiling needs {extras.missing('mypyc')}"
    return ""


def build() -> Path:
    """Compile the implementation, unless that is done; returns its folder. About three minutes of one core.

    Raises Unusable where nothing can be compiled, or where compiling fails.
    """
    home = folder()
    if cache.sealed(home):
        return home
    problem = hindrance()
    if problem:
        raise Unusable(f"the simulators are not compiled: {problem}")
    root = cache.folder("compiled")
    with _alone(root):
        if not cache.sealed(home):  # else somebody else was faster
            _sweep(root)
            shutil.rmtree(home, ignore_errors=True)
            with temporary_folder("draft-", root) as draft:
                _compile(draft)
                cache.seal(draft)
                with contextlib.suppress(OSError):  # a run without cache was faster
                    draft.rename(home)
        if not cache.sealed(home):
            raise Unusable(f"{home} is in the way of the compiled implementation: delete it")
    return home


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """One process of this machine at a time; the others wait, for two would take both cores for twice as long."""
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _sweep(root: Path) -> None:
    """Delete compilations of other sources, and unfinished ones that another process left."""
    for other in root.iterdir():
        with contextlib.suppress(FileNotFoundError):  # somebody else was faster
            if time.time() - other.stat().st_mtime > UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)


def _compile(draft: Path) -> None:
    """The package, compiled, into an empty folder."""
    (source,) = sources(IMPLEMENTATION)
    package = draft / IMPLEMENTATION
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.py"))}
    bases = {name for text in texts.values() for line in _BASES.findall(text) for name in re.findall(r"\w+", line)}
    modules = []
    for file, text in texts.items():
        target = package / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_native(text, bases), encoding="utf-8")
        if file.stem not in AS_THEY_ARE and NOT_SIMULATED not in file.relative_to(source).parts:
            modules.append(target)
    names = [str(one.relative_to(draft)) for one in modules]
    status, said = _run([sys.executable, "-c", _SETUP, "--ignore-missing-imports", *names], draft)
    if status:
        log = lasting_root() / "compiled.log"
        log.write_text(said, encoding="utf-8")
        why = next((line for line in said.splitlines() if re.search(r"\berror\b", line, re.IGNORECASE)), "")
        raise Unusable(f"the simulators could not be compiled ({why.strip()[:200]}); all that was said is in {log}")
    for module in modules:
        module.unlink()
    for left in (draft / "build", draft / ".mypy_cache"):
        shutil.rmtree(left, ignore_errors=True)
    # Else Python would write them when it first imports from there, and the folder would not be as it was sealed.
    for level in (0, 1, 2):
        compileall.compile_dir(
            package,
            quiet=2,
            optimize=level,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            stripdir=str(draft),
        )


def _run(command: list[str], where: Path) -> tuple[int, str]:
    """Run a command in a folder: its exit status, and all that it said. An exception ends the command and all its
    children."""
    with started(
        command,
        cwd=where,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        said, _ = process.communicate()
    return process.returncode, said


def _native(text: str, bases: Collection[str]) -> str:
    """The text of a module as mypyc gets it. Classes with the decorator for values become native classes, with an
    `__init__` written out. A dataclass's own is a Python function: with mypyc 2.4 a value of three fields takes 190 ns
    by it, and 31 ns by the one written out. `bases`: classes that have heirs, and keep their `__init__`."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        if not isinstance(node, ast.ClassDef):
            continue
        if [*map(ast.unparse, node.decorator_list)] not in (["value"], [_SLOTTED]):
            continue
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        decorator = f"@{_SLOTTED}"
        if not node.bases and node.name not in bases and not any(isinstance(one.value, ast.Call) for one in fields):
            decorator = f"@{_SLOTTED[:-1]}, init=False)"
            lines[node.end_lineno : node.end_lineno] = _init(fields)
        lines[node.decorator_list[0].lineno - 1] = decorator
    written = "\n".join(lines) + "\n"
    return written.replace(
        f"from {IMPLEMENTATION}.common.structs import value\n", "from dataclasses import dataclass\n"
    )


def _init(fields: Sequence[ast.AnnAssign]) -> list[str]:
    """The lines of a dataclass's `__init__`."""
    given = [ast.unparse(one).replace(" = ", "=", 1) if one.value else ast.unparse(one) for one in fields]
    names = [ast.unparse(one.target) for one in fields]
    return [f"    def __init__(self, {', '.join(given)}) -> None:", *(f"        self.{one} = {one}" for one in names)]
