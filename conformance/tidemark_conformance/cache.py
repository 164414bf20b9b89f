"""Results that are kept from one run to the next: their keys, how they are written, and when they are trusted.

- A key covers the code that computes a result. `code` hashes the text of its modules and of all that they import within
  our packages, also inside functions. It hashes the versions of Python and of the imported libraries, too.
- An entry is written whole or not at all, and carries a checksum of its name and content. One that does not verify is
  no entry: it is made anew. Nothing is unpickled, and no machine code loaded, before its checksum is verified.
- A checksum keeps no enemy out. So a folder of entries must belong to this user, or to root, and nobody else may write
  there. A sticky bit does not help, for it lets others add files. `trusted` refuses everything else. A container that
  runs as root on a mount of another user is refused, too: give it a folder of its own by TIDEMARK_CACHE.
- `fresh` is `--no-cache`: this process, and all that it starts, work in an empty folder, so that nothing can be found.
  Their entries take the places of those of earlier runs. A folder of entries that is there already stays.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pickle
import platform
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable

OURS = ("tidemark", "tidemark_conformance")
SEAL = "_sums.json"
"""The file of a sealed folder that is written last: the checksums of the others."""

T = TypeVar("T")


# The code that a result depends on


def code(*modules: str) -> str:
    """SHA-256 (hex) of these modules, of all that they import, and of the Python and libraries that run them."""
    places = tuple((name, str(place)) for name in OURS if (place := _place(name)) is not None)
    return _digest(modules, places)


@functools.lru_cache(maxsize=64)
def _digest(modules: tuple[str, ...], places: tuple[tuple[str, str], ...]) -> str:
    return digest(modules, {name: Path(place) for name, place in places})


def digest(modules: Iterable[str], places: Mapping[str, Path]) -> str:
    """The same for packages of ours that stand in other `places`: name -> folder."""
    ours, others = closure(modules, places)
    hashed = hashlib.sha256(" ".join([platform.python_implementation(), sys.version, platform.machine()]).encode())
    for name, file in sorted(ours.items()):
        content = file.read_bytes()
        hashed.update(f"\0{name} {len(content)} ".encode() + content)
    for library in sorted(others):
        hashed.update(f"\0{library} {_version(library)}".encode())
    return hashed.hexdigest()


def closure(modules: Iterable[str], places: Mapping[str, Path]) -> tuple[dict[str, Path], set[str]]:
    """The modules of ours that some reach by imports, themselves and the packages around them included: name -> file.
    The second value has the top-level names of the libraries that these import."""
    ours: dict[str, Path] = {}
    others: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in ours:
            continue
        file = _file(name, places)
        if file is None:
            continue
        ours[name] = file
        waiting.append(name.rpartition(".")[0])
        info = file.stat()
        for found in _imports(str(file), info.st_mtime_ns, info.st_size):
            top = found.partition(".")[0]
            if top in places:
                waiting.append(found)
            elif top not in sys.stdlib_module_names:
                others.add(top)
    return ours, others


def _place(package: str) -> Path | None:
    if package == paths.PACKAGE.name:
        return paths.PACKAGE
    found = importlib.util.find_spec(package)
    return Path(found.origin).parent if found is not None and found.origin else None


def _file(module: str, places: Mapping[str, Path]) -> Path | None:
    """A module's file; None if the name is that of something inside a module."""
    top, _, rest = module.partition(".")
    if top not in places:
        return None
    path = places[top].joinpath(*rest.split(".")) if rest else places[top]
    for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
        if file.is_file():
            return file
    return None


@functools.lru_cache(maxsize=1024)
def _imports(file: str, _modified: int, _size: int) -> frozenset[str]:
    """All that a file imports when it runs, and `module.name` of every `from module import name`."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(Path(file).read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found.update([module, *(f"{module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, (ast.stmt, ast.Module, ast.excepthandler, ast.match_case)):
            waiting.extend(ast.iter_child_nodes(node))
    return frozenset(found)


@functools.lru_cache(maxsize=64)
def _version(library: str) -> str:
    """Of the distribution that a library comes from; "" where it is not here."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(library, [])
        return " ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names)))


# Folders


def folder(*parts: str) -> Path:
    """A folder of the cache, made if it is not there; Unusable if others can write to it, or if it cannot be made."""
    found = paths.cache_root()
    for part in ("", *parts):
        found = found / part
        try:
            if not found.is_dir():
                found.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    found.mkdir(mode=0o700)
        except OSError as problem:
            raise Unusable(
                f"the cache folder {found} cannot be written ({problem.strerror}): set TIDEMARK_CACHE to one that can"
            ) from None
        trusted(found)
    return found


def trusted(place: Path) -> None:
    """Raises Unusable for a folder or file that another user owns or can write to; one that is not there is fine."""
    try:
        found = place.stat()
    except OSError:
        return
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise Unusable(
            f"{place} belongs to the user {found.st_uid}, whose files are not run here: "
            "set TIDEMARK_CACHE to a folder of your own"
        )
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise Unusable(
            f"others can write to {place}, from which code is run: delete it, or run `chmod -R go-w` on it if you know "
            "that nobody did"
        )


def _trusted_way(place: Path) -> None:
    """The same of a place and of the folders around it, up to the cache's own."""
    root = paths.cache_root()
    around = [folder for folder in place.parents if folder.is_relative_to(root)] or [place.parent]
    for one in (*around, place):
        trusted(one)


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """This process and those that it starts find nothing of earlier runs. At the end their entries are adopted by the
    cache (`_adopt`); after an exception they are deleted."""
    before = os.environ.get(paths.FRESH)
    root = folder()
    _sweep(root)
    with paths.temporary_folder(f"fresh-{os.getpid()}-", root) as empty:
        os.environ[paths.FRESH] = str(empty)
        try:
            yield
        finally:
            if before is None:
                del os.environ[paths.FRESH]
            else:
                os.environ[paths.FRESH] = before
        _adopt(empty, root)


def _adopt(made: Path, root: Path) -> None:
    """Move entries from one folder to another. A file replaces the one of its name. A sealed folder that is there
    already stays, for another process may be using it; its name says what is in it.

    An entry that cannot be moved is lost: it costs time only.
    """
    for entry in sorted(made.iterdir()):
        place = root / entry.name
        with contextlib.suppress(OSError, Unusable):
            if entry.is_dir() and not (entry / SEAL).exists():
                _adopt(entry, folder(*place.relative_to(paths.cache_root()).parts))
            elif entry.is_file() or not place.exists():
                os.replace(entry, place)


def _sweep(root: Path) -> None:
    """Delete the folders that runs without cache left behind, if their processes are gone."""
    for left in root.glob("fresh-*-*"):
        number = left.name.split("-")[1]
        if number.isdigit() and not _alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# Entries


def put(file: Path, content: bytes) -> None:
    """Write an entry whole or not at all. Raises Unusable where it cannot be written."""
    root = paths.cache_root()
    if file.is_relative_to(root):
        folder(*file.parent.relative_to(root).parts)
    _write(file, _sum(file.name, content).encode() + b"\n" + content)


def get(file: Path) -> bytes | None:
    """The content of an entry; None if there is none, or if it is damaged. Unusable if another user could write it."""
    _trusted_way(file)
    try:
        checksum, _, content = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if checksum == _sum(file.name, content).encode() else None


def keep(file: Path, found: object) -> None:
    """Write an object as an entry, pickled. Errors as of `put`."""
    put(file, pickle.dumps(found))


def recall(file: Path, kind: type[T]) -> T | None:
    """The object of an entry; None if there is none of this kind."""
    content = get(file)
    if content is None:
        return None
    try:
        found = pickle.loads(content)
    except Exception:  # a class that has another shape now may raise anything
        return None
    return found if isinstance(found, kind) else None


def made(kind: str, root: str, asked: object, cls: type[T], make: Callable[[], T]) -> T:
    """The object for `asked` about the module `root`, made and kept if it is not there; a cache that cannot be used
    costs time only. `repr(asked)` covers all that the object depends on."""
    file = paths.cache_root() / kind / f"{root}-{hashlib.sha256(repr(asked).encode()).hexdigest()[:24]}.pickle"
    kept = recall(file, cls)
    if kept is not None:
        return kept
    new = make()
    with contextlib.suppress(Unusable):
        keep(file, new)
    return new


def seal(place: Path) -> None:
    """Write down the checksums of all files of a folder, or of one file beside it: afterwards it is `sealed`."""
    content = json.dumps(_sums(place), sort_keys=True).encode()
    _write(_seal(place), _sum(SEAL, content).encode() + b"\n" + content)


def sealed(place: Path) -> bool:
    """Whether a folder holds the files that it had when it was sealed, and no other; of a file, whether it is the same.

    Raises Unusable if another user could write there.
    """
    _trusted_way(place)
    try:
        checksum, _, content = _seal(place).read_bytes().partition(b"\n")
        if checksum != _sum(SEAL, content).encode():
            return False
        return bool(json.loads(content) == _sums(place))
    except (OSError, ValueError):
        return False


def _seal(place: Path) -> Path:
    """Under a name that no reader of traces takes for one."""
    return place / SEAL if place.is_dir() else place.with_name(f".{place.name}.sum")


def _sums(place: Path) -> dict[str, str]:
    """File -> checksum, of all but the seal."""
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return {
        str(file.relative_to(place)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file() and file.name != SEAL
    }


def _sum(name: str, content: bytes) -> str:
    return hashlib.sha256(f"{name}\n".encode() + content).hexdigest()


def _write(file: Path, content: bytes) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.chmod(0o644)
        os.replace(draft, file)
    except OSError as problem:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise Unusable(
            f"the cache folder {file.parent} cannot be written ({problem.strerror}): set TIDEMARK_CACHE"
        ) from None
