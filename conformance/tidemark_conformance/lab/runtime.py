"""The runtime of a release of Kafka: its jars, the driver of its clients, compiled by javac, and an archive of classes.

All processes have one class path, so that one archive (class-data sharing) serves them all. Without it a node takes
twice the time to start. It is made from the classes that a small cluster has loaded (`lab/training.py`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import uuid
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from tidemark_conformance import cache, paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab import releases

SOURCE, LOG_SOURCE = Path(__file__).with_name("Driver.java"), Path(__file__).with_name("LogDriver.java")
LEAN = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData"]
"""For a process that lives for a minute."""
COMPILING_S = 300.0


@dataclass(frozen=True, slots=True)
class Runtime:
    """A release of Kafka that can be started.

    `java`: of the JDK. `archive`: of classes, which may be missing. `learning`: a folder in which each process lists
    the classes that it loads.
    """

    version: str
    java: Path
    jars: tuple[Path, ...]
    archive: Path
    learning: Path | None = None

    def command(self, main: str, heap_mib: int, *options: str) -> list[str]:
        """The start of a command line that runs class `main`."""
        if self.learning is not None:
            options = (f"-XX:DumpLoadedClassList={self.learning / uuid.uuid4().hex}", *options)
        elif toolchain.archived(self.archive):
            options = (f"-XX:SharedArchiveFile={self.archive}", "-Xlog:disable", *options)
        return [str(self.java), f"-Xmx{heap_mib}m", *LEAN, *options, "-cp", os.pathsep.join(map(str, self.jars)), main]


def jdk() -> tuple[Path, Path]:
    """`java` and `javac` of the JDK in JAVA_HOME, else on the PATH; Unusable without one that is new enough."""
    java = toolchain.find_java().executable
    for beside in (java, java.resolve()):
        if (javac := beside.with_name("javac")).is_file():
            return java, javac
    on_path = shutil.which("javac")
    if on_path is not None and (beside := Path(on_path).resolve().with_name("java")).is_file():
        return beside, Path(on_path)
    raise Unusable(
        f"no javac was found beside {java} or on the PATH, and the driver of Kafka's clients is compiled here: "
        f"install a JDK of Java {toolchain.OLDEST_JAVA} or newer, or name it by JAVA_HOME"
    )


def runtime(version: str, fetched: Path) -> Runtime:
    """The runtime of a release whose jars are in the folder `fetched`. Raises Unusable without a JDK."""
    java, javac = jdk()
    jars = tuple(fetched / Path(path).name for path in releases.jars(version))
    driver = _driver(javac, SOURCE, jars)
    info = java.resolve().stat()
    key = repr((str(java.resolve()), info.st_size, info.st_mtime_ns, str(driver), *map(str, jars), *LEAN))
    name = f"{version}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"
    return Runtime(version, java, (driver, *jars), cache.folder("kafka") / name)


def with_log_driver(one: Runtime) -> Runtime:
    """The same, with the driver of a log behind its jars. Raises Unusable where the release has no such log."""
    _, javac = jdk()
    return replace(one, jars=(*one.jars, _driver(javac, LOG_SOURCE, one.jars)))


def _driver(javac: Path, source: Path, jars: tuple[Path, ...]) -> Path:
    """The jar in the cache with a driver's classes. Raises Unusable where javac refuses, which an old JDK does."""
    key = hashlib.sha256(b"\0".join([source.read_bytes(), *(jar.name.encode() for jar in jars)])).hexdigest()
    place = cache.folder("kafka") / f"driver-{key[:16]}.jar"
    if place.is_file() and cache.sealed(place):
        return place
    with paths.temporary_folder("driver-", cache.folder("kafka")) as room:
        options = ["--release", str(toolchain.OLDEST_JAVA), "-cp", os.pathsep.join(map(str, jars)), "-d", str(room)]
        command = [str(javac), *options, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILING_S, check=False)
        if done.returncode:
            said = (done.stderr.strip() or "it says nothing").splitlines()[0]
            raise Unusable(
                f"{javac} does not compile {source.name} ({said}): install Java {toolchain.OLDEST_JAVA} or newer, "
                "or choose another release by --kafka"
            )
        draft = room / place.name
        with zipfile.ZipFile(draft, "w") as archive:
            for made in sorted(room.glob("*.class")):
                archive.write(made, made.name)
        os.replace(draft, place)
    cache.seal(place)
    return place
