"""The cache: keys cover what a result depends on, damage is made anew, others' folders are refused, --no-cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tidemark_conformance import cache, paths
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels import compile_kernels, link, runtime
from tidemark_conformance.tla.spec import load

PACKAGE = "tidemark_conformance"
KINDS = {
    "tables and IR": ("tla.spec",),
    "kernels": ("tla.kernels.runtime", "tla.kernels.link", "tla.python"),
    "TLC's verdicts": ("tlc.verify",),
    "comparisons": ("commands.agree",),
    "the implementation": ("check.compiled",),
}
"""The kept results, and the modules that compute them, as their keys name them."""
NAMED = (
    '---- MODULE Named ----\nCONSTANT Names\nVARIABLE x\nTypeOK == x \\in Names\nInit == x = "a"\n'
    'Take(n) == x\' = n\nNext == \\E n \\in Names : Take(n)\nNeverB == x # "b"\n====\n'
)
CONFIG = 'INIT Init\nNEXT Next\nCONSTANT Names = {"a", "b"}\nINVARIANT TypeOK\n'
CONSUMER = """
import sys
from pathlib import Path
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.kernels import compile_kernels
import numpy as np
spec = load(Path(sys.argv[1]), Path(sys.argv[2]))
kernels = compile_kernels(spec)
states = np.array([[0], [1]], np.int64)
print(spec.hash, kernels.checks, kernels.init_batch(states).tolist(), kernels.invariant("TypeOK", [1]))
print("loaded", *sorted(name for name in sys.modules if name.split(".")[0] in ("tidemark", "tidemark_conformance")))
"""
AGREES = """
import sys
from tidemark_conformance.commands import agree
import argparse
parser = argparse.ArgumentParser()
agree.add_arguments(parser)
arguments = parser.parse_args(["--spec", sys.argv[1], "--config", sys.argv[2]])
arguments.no_cache = False
assert agree.run(arguments) == 0
print("loaded", *sorted(name for name in sys.modules if name.split(".")[0] in ("tidemark", "tidemark_conformance")))
"""
CHECKS = """
import sys, json
from pathlib import Path
from tidemark_conformance.tlc import manifest, verify
folder = Path(sys.argv[1]).parent
model = {"name": "N", "module": "Named.tla", "cfg": "Named.cfg", "kind": "safety", "expected": "holds", "distinct": 2}
(folder / "manifest.json").write_text(json.dumps({"schema": manifest.SCHEMA, "models": [model]}))
outcome, = verify.verify(manifest.load(folder / "manifest.json").models)
assert outcome.ok, outcome
print("loaded", *sorted(name for name in sys.modules if name.split(".")[0] in ("tidemark", "tidemark_conformance")))
"""


def modules(kind: str) -> list[str]:
    return [f"{PACKAGE}.{name}" for name in KINDS[kind]]


def places() -> dict[str, Path]:
    found = {name: cache._place(name) for name in cache.OURS}
    return {name: place for name, place in found.items() if place is not None}


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small specification, and with a cache that has all that is made of it."""
    folder = tmp_path_factory.mktemp("subject")
    (folder / "Named.tla").write_text(NAMED)
    (folder / "Named.cfg").write_text(CONFIG)
    assert run(folder, CONSUMER)
    return folder


def run(folder: Path, program: str, root: str = "cache") -> list[str]:
    """The lines that a program prints of the specification. It runs in a process of its own, which may die of it."""
    environment = {**os.environ, "TIDEMARK_CACHE": str(folder / root)}
    arguments = [sys.executable, "-c", program, str(folder / "Named.tla"), str(folder / "Named.cfg")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


# Keys


def test_what_a_cfg_puts_in_place_of_a_constant_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Up.tla").write_text(
        "---- MODULE Up ----\nEXTENDS Integers\nVARIABLE x\nMost == 5\nOne == 1\nTwo == 2\nTypeOK == x \\in 0..9\n"
        "Init == x = 0\nRise == x < Most /\\ x' = x + 1\nNext == Rise\n====\n"
    )
    found = []
    for name in ("One", "Two", "One"):
        (tmp_path / "Up.cfg").write_text(f"INIT Init\nNEXT Next\nINVARIANT TypeOK\nCONSTANT Most <- {name}\n")
        kernels = compile_kernels(load(tmp_path / "Up.tla", tmp_path / "Up.cfg"))
        found.append([kernels.action("Rise", [], [state], [state + 1]) for state in (0, 1, 2)])
    assert found == [[True, False, False], [True, True, False], [True, False, False]]


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_every_module_of_the_closure_is_in_the_key(kind: str, tmp_path: Path) -> None:
    copies = {name: tmp_path / name for name in places()}
    for name, place in places().items():
        shutil.copytree(place, copies[name], ignore=shutil.ignore_patterns("__pycache__", "_spec"))
    found, _ = cache.closure(modules(kind), copies)
    assert set(found) == set(cache.closure(modules(kind), places())[0])
    before = cache.digest(modules(kind), copies)
    seen = {before}
    for file in found.values():
        text = file.read_bytes()
        file.write_bytes(text + b"# more\n")
        seen.add(cache.digest(modules(kind), copies))
        file.write_bytes(text)
    assert len(seen) == len(found) + 1
    assert cache.digest(modules(kind), copies) == before
    aside = tmp_path / PACKAGE / "unrelated.py"
    aside.write_text("import numpy\n")
    assert cache.digest(modules(kind), copies) == before


def test_kernels_depend_on_the_evaluator_whose_values_are_folded_into_them() -> None:
    found, libraries = cache.closure(modules("kernels"), places())
    assert {f"{PACKAGE}.tla.python.emit", f"{PACKAGE}.tla.python.runtime", f"{PACKAGE}.tla.values"} <= set(found)
    assert {"llvmlite", "numpy"} <= libraries


@pytest.mark.deep
@pytest.mark.parametrize(
    ("program", "kinds"),
    [(CONSUMER, ("tables and IR", "kernels")), (AGREES, ("comparisons",)), (CHECKS, ("TLC's verdicts",))],
    ids=["kernels", "agree", "verify"],
)
def test_no_module_is_loaded_beside_the_closure(program: str, kinds: tuple[str, ...], subject: Path) -> None:
    said = run(subject, program, f"empty-{kinds[0][:3]}")
    loaded = set(next(line for line in said if line.startswith("loaded")).split()[1:])
    known = {name for kind in kinds for name in cache.closure(modules(kind), places())[0]}
    assert len(loaded) > 10
    assert loaded <= known


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.never\nelse:\n    import p.b\n",
        "b": "def f():\n    try:\n        from p import c\n    except ImportError:\n        import p.d as d\n",
        "c": "match 1:\n    case 1:\n        from p.e import f\n",
        "d": "class C:\n    async def f(self):\n        for _ in ():\n            import numpy.linalg, p.g\n",
        "e": "f = 1\n",
        "g": "",
        "never": "",
        "aside": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    found, libraries = cache.closure(["p.a"], {"p": tmp_path})
    assert set(found) == {"p", "p.a", "p.b", "p.c", "p.d", "p.e", "p.g"}
    assert libraries == {"numpy"}


# Damage


damage = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 10**9), st.integers(0, 7)),
    st.tuples(st.just("cut"), st.integers(0, 10**9), st.just(0)),
    st.tuples(st.just("more"), st.integers(0, 255), st.just(0)),
)


def damaged(content: bytes, how: tuple[str, int, int]) -> bytes:
    kind, number, bit = how
    if kind == "more" or not content:
        return content + bytes([number % 256])
    at = number % len(content)
    return content[:at] if kind == "cut" else content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@given(st.binary(max_size=40), damage)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_entry_is_none(tmp_path: Path, content: bytes, how: tuple[str, int, int]) -> None:
    file = tmp_path / "entry"
    cache.keep(file, content)
    assert cache.recall(file, bytes) == content
    assert cache.recall(file, str) is None
    whole = file.read_bytes()
    file.write_bytes(damaged(whole, how))
    assert cache.recall(file, object) is None
    (tmp_path / "other").write_bytes(whole)
    assert cache.recall(tmp_path / "other", object) is None, "an entry is believed under its own name only"


@given(damage, st.sampled_from(["one", "two", "inner/three", cache.SEAL]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_folder_is_not_sealed(tmp_path: Path, how: tuple[str, int, int], which: str) -> None:
    place = tmp_path / "place"
    shutil.rmtree(place, ignore_errors=True)
    (place / "inner").mkdir(parents=True)
    for name in ("one", "two", "inner/three"):
        (place / name).write_text(f"the content of {name}")
    assert not cache.sealed(place)
    cache.seal(place)
    assert cache.sealed(place)
    before = (place / which).read_bytes()
    (place / which).write_bytes(damaged(before, how))
    assert not cache.sealed(place)
    (place / which).write_bytes(before)
    assert cache.sealed(place)
    (place / "more").write_text("")
    assert not cache.sealed(place)
    (place / "more").unlink()
    (place / which).unlink()
    assert not cache.sealed(place)


@pytest.mark.deep
def test_damaged_kernels_are_made_anew(subject: Path) -> None:
    """Each compiled file, and each file that it is compiled from: the process neither dies nor reports anything
    else."""
    whole = run(subject, CONSUMER)[0]
    root = subject / "cache"
    kept = [file for file in sorted(root.rglob("*")) if file.is_file() and file.suffix in (".pickle", ".object")]
    assert {file.parent.name for file in kept} == {"ir", "sany", "programs", "kernels"}
    for number, file in enumerate(kept):
        if file.parent.name == "sany":
            shutil.rmtree(root / "ir")  # it would be found, and nobody would ask for tables
        content = file.read_bytes()
        file.write_bytes(damaged(content, (["flip", "cut"][number % 2], len(content) * 2 // 3, 3)))
        assert run(subject, CONSUMER)[0] == whole
        assert file.read_bytes() != damaged(content, (["flip", "cut"][number % 2], len(content) * 2 // 3, 3))
        assert cache.get(file) is not None


def test_object_code_is_loaded_on_the_processor_that_it_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one makes its own, and does not believe this one's under the name of its own."""
    (tmp_path / "Named.tla").write_text(NAMED)
    (tmp_path / "Named.cfg").write_text(CONFIG)
    named = load(tmp_path / "Named.tla", tmp_path / "Named.cfg")
    made: list[str] = []
    here = runtime.compile_kernels(named, tmp_path, lambda: made.append("here")).place
    monkeypatch.setattr(link, "processor", lambda: "another")
    for name in ("there", "again"):
        monkeypatch.setattr(runtime, "_loaded", {})
        there = runtime.compile_kernels(named, tmp_path, partial(made.append, name)).place
        shutil.copyfile(here, there)
    assert made == ["here", "there", "again"]
    assert here != there


# Others' folders


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777, 0o722])
@pytest.mark.parametrize("which", [".", "ir"])
def test_a_folder_that_others_can_write_is_refused(
    mode: int, which: str, subject: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = subject / "cache" / which
    monkeypatch.setenv("TIDEMARK_CACHE", str(subject / "cache"))
    before = place.stat().st_mode
    try:
        place.chmod(mode)
        command = ["schema", "--spec", str(subject / "Named.tla"), "--config", str(subject / "Named.cfg")]
        assert main(command) == 2
    finally:
        place.chmod(before)
    said = capsys.readouterr().err
    assert "others can write to" in said
    assert "chmod -R go-w" in said
    assert main(command) == 0


def test_another_users_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.keep(tmp_path / "entry", 7)
    assert cache.recall(tmp_path / "entry", int) == 7
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    if us:  # root answers for its own files
        with pytest.raises(Unusable, match=r"belongs to the user \d+.*set TIDEMARK_CACHE to a folder of your own"):
            cache.recall(tmp_path / "entry", int)
        return
    assert cache.recall(tmp_path / "entry", int) == 7
    os.chown(tmp_path / "entry", us + 2, -1)
    with pytest.raises(Unusable, match=r"belongs to the user \d+.*set TIDEMARK_CACHE to a folder of your own"):
        cache.recall(tmp_path / "entry", int)


# --no-cache


@pytest.mark.deep
def test_with_no_cache_nothing_that_was_kept_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Entries of a wrong model, with the right checksums, under the keys of the right one."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    module, config = tmp_path / "Named.tla", tmp_path / "Named.cfg"
    module.write_text(NAMED)
    config.write_text(CONFIG)
    command = ["agree", "--spec", str(module), "--config", str(config), "--backend", "python"]
    assert main(command) == 0
    assert "were compared by an earlier run" not in capsys.readouterr().out
    assert main(command) == 0
    assert "were compared by an earlier run" in capsys.readouterr().out
    right = load(module, config).hash
    other = tmp_path / "other"
    other.mkdir()
    (other / "Named.tla").write_text(NAMED.replace("x' = n", 'x\' = "a"'))
    (other / "Named.cfg").write_text(CONFIG)
    wrong = load(other / "Named.tla", other / "Named.cfg").hash
    for kind in ("ir", "sany"):
        first, second = sorted((tmp_path / "cache" / kind).glob("*"), key=lambda file: file.stat().st_mtime_ns)
        content = cache.get(second)
        assert content is not None
        cache.put(first, content)
    assert load(module, config).hash == wrong, "the poison works"
    with cache.fresh():
        assert load(module, config).hash == right
        inner = subprocess.run(
            [sys.executable, "-c", f"from {PACKAGE}.paths import cache_root; print(cache_root())"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert inner.stdout.strip() == str(paths.cache_root()) != str(tmp_path / "cache")
    assert paths.cache_root() == tmp_path / "cache"
    assert not [*(tmp_path / "cache").glob("fresh-*")]
    assert load(module, config).hash == right, "its entries replace those of before"
    assert main([*command, "--no-cache"]) == 0
    assert "were compared by an earlier run" not in capsys.readouterr().out


@pytest.mark.deep
def test_a_verdict_of_tlc_is_not_believed_without_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Named.tla").write_text(NAMED)
    (tmp_path / "Named.cfg").write_text(CONFIG)
    model = {"name": "N", "module": "Named.tla", "cfg": "Named.cfg", "kind": "safety", "expected": "holds"}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"schema": "tidemark.manifest/1", "models": [{**model, "distinct": 2}]}))
    command = ["check", "--manifest", str(manifest)]
    assert main(command) == 0
    (file,) = (tmp_path / "cache" / "tlc").glob("*.json")
    content = cache.get(file)
    assert content is not None
    document = json.loads(content)
    cache.put(file, json.dumps({**document, "distinct": 3}).encode())
    assert main(command) == 1, "the poison works"
    poisoned = file.read_bytes()
    assert main([*command, "--no-cache"]) == 0
    whole = file.read_bytes()
    assert whole != poisoned
    assert main(command) == 0, "the entry of the run without cache has replaced it"
    assert file.read_bytes() == whole, "and is believed"
    for change in (poisoned.replace(b'"distinct": 3', b'"distinct": 2'), whole[:-9], b"{}", b"[]", b""):
        file.write_bytes(change)
        assert main(command) == 0, "it is made anew"
    for odd in (b"[]", b"7", b'{"verdict": 3}', json.dumps({**document, "coverage": {"A": []}}).encode()):
        cache.put(file, odd)
        assert main(command) == 0, "a document of another shape is made anew"
    assert "Traceback" not in capsys.readouterr().err


def test_the_cache_adopts_what_a_run_without_cache_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file replaces the one of its name, at any depth, and no other. A sealed folder that is there stays."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))

    def make(text: str, folders: tuple[str, ...]) -> None:
        for name in folders:
            (cache.folder("runs", name) / "part").write_text(text)
            cache.seal(cache.folder("runs", name))
        cache.keep(cache.folder("kernels", "programs") / f"{folders[-1]}.pickle", text)
        cache.keep(cache.folder("kernels", "programs") / "both.pickle", text)

    def made() -> dict[str, str]:
        return {file.stem: cache.recall(file, str) or "" for file in cache.folder("kernels", "programs").iterdir()}

    def fail() -> None:
        with cache.fresh():
            make("lost", ("a", "b"))
            raise KeyError

    make("before", ("a",))
    with pytest.raises(KeyError):
        fail()
    assert made() == {"a": "before", "both": "before"}
    with cache.fresh():
        assert made() == {}
        make("after", ("a", "b"))
    assert made() == {"a": "before", "b": "after", "both": "after"}
    for name, text in (("a", "before"), ("b", "after")):
        assert cache.sealed(cache.folder("runs", name))
        assert (cache.folder("runs", name) / "part").read_text() == text
    assert sorted(one.name for one in (tmp_path / "cache").iterdir()) == ["kernels", "runs"]


@pytest.mark.parametrize(
    "command", ["check", "audit", "agree", "explain", "verify", "zoo", "bench", "rule", "simulate"]
)
def test_every_command_has_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "--no-cache" in capsys.readouterr().out
