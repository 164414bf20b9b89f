"""A cluster of released Kafka on loopback: a controller, brokers and clients, each a process in a folder of its own.

Every process is the leader of its own group, and none outlives the `cluster` block, whatever ends it. Ports are free
ones below those that the system gives to outgoing connections, so that a broker that is started again finds its own.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark_conformance import processes
from tidemark_conformance.errors import Unusable
from tidemark_conformance.lab import schedule, segments
from tidemark_conformance.lab.proxy import Proxy
from tidemark_conformance.lab.recorded import Recorded
from tidemark_conformance.lab.runtime import Runtime, with_log_driver

CONTROLLER, CONTROLLER_ID = "controller", 100
CLUSTER_ID = "dGlkZW1hcmstbGFiLTAwMQ"
HEAP_MIB, SMALL_HEAP_MIB = 256, 96
STARTING_S, ENDING_S = 90.0, 60.0
"""Seconds that a node has to serve, and a process that was told to has to end."""
PORTS = range(20_000, 32_000)
INNER, OUTER = " (for clients)", " (proxy)"
"""Of the ports of a broker whose clients reach it through a proxy: its own, and that of the proxy."""
STARTED = "Kafka Server started"
LOGGING = """status = warn
shutdownHook = disable
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_{stream}
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
"""
SMALL = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.dedupe.buffer.size": 4 << 20,
    "log.index.size.max.bytes": 64 << 10,
    "num.io.threads": 3,
    "num.network.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
"""Settings of every broker that make it small; a schedule may set them, too. All others are Kafka's defaults, but that
Kafka's own topics have no more replicas than there are brokers."""
PATIENT = {"request.timeout.ms": 5000, "default.api.timeout.ms": 15000, "reconnect.backoff.max.ms": 300}
"""Settings of the admin client, which finds the next broker soon."""


class Lost(Exception):
    """A process did not do what a run needs; the message says which, and what. The run is void."""


class Process:
    """A node or a client; `start` may be called again once it has ended."""

    def __init__(self, name: str, stack: contextlib.ExitStack) -> None:
        self.name = name
        self._stack = stack
        self._process: subprocess.Popen[bytes] | None = None

    def running(self) -> bool:
        """Whether its process is there (a stopped one is)."""
        return self._process is not None and self._process.poll() is None

    def send(self, name: str) -> None:
        """A signal: "STOP", "CONT", "TERM" or "KILL", which waits for the end. Raises Lost without a process."""
        if self._process is None or not self.running():
            raise Lost(f"{self.name} does not run, and cannot be sent SIG{name}")
        self._process.send_signal(getattr(signal, f"SIG{name}"))
        if name == "KILL":
            self.ended()

    def ended(self) -> None:
        """Wait until it has ended. Raises Lost if it does not."""
        if self._process is not None:
            try:
                self._process.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                raise Lost(f"{self.name} has not ended in {ENDING_S:g} s") from None

    def _spawn(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        self.ended()
        started = processes.started(command, start_new_session=True, **options)
        self._process = self._stack.enter_context(started)
        return self._process


class Node(Process):
    """A broker or the controller, in the folder `recorded.node(name)`."""

    def __init__(self, name: str, command: list[str], recorded: Recorded, stack: contextlib.ExitStack) -> None:
        super().__init__(name, stack)
        self._command = command
        self._log = recorded.node(name) / "server.log"
        self._mark = 0

    def start(self) -> None:
        """Start it, after the end of its process before; it does not serve yet."""
        self.ended()
        self._mark = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._spawn(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self._log.parent
            )

    def ready(self) -> bool:
        """Whether it serves. Raises Lost if it has ended."""
        with self._log.open("rb") as log:
            log.seek(self._mark)
            said = log.read().decode(errors="replace")
        if STARTED in said:
            return True
        if not self.running():
            errors = [line for line in said.splitlines() if "ERROR" in line or "Exception" in line]
            raise Lost(
                f"{self.name} ended as it started: {(errors or said.splitlines()[-1:] or ['it says nothing'])[0]}"
            )
        return False


class Client(Process):
    """A process of the driver (Driver.java). Its answers come by `answer`."""

    def __init__(
        self, known: schedule.Client, command: list[str], recorded: Recorded, stack: contextlib.ExitStack
    ) -> None:
        super().__init__(known.name, stack)
        self._known = known
        self._command = command
        self._log = recorded.folder / "clients" / f"{known.name}.log"
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._came = threading.Condition()
        self._asked = 0

    def start(self) -> None:
        """Start it, and make it the client that it is. Raises Lost where Kafka's client refuses its settings."""
        self._log.parent.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            process = self._spawn(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        threading.Thread(target=self._read, args=(process,), daemon=True).start()
        made = self.answer(self.ask(self._known.kind, (), {**self._common(), **self._known.settings}), STARTING_S)
        if made is None or "error" in made:
            raise Lost(f"the client {self.name} does not start: {made}")

    def _common(self) -> Mapping[str, Any]:
        match self._known.kind:
            case schedule.ADMIN:
                return PATIENT
            case schedule.LOG:
                return {"dir": self._log.with_name(f"{self.name}-0")}
            case _:
                return {"client.id": self.name}

    def ask(self, name: str, arguments: Sequence[str], settings: Mapping[str, Any] | None = None) -> int:
        """Send a call; returns its number. Starts the client if it has never run. Raises Lost if it has ended."""
        if self._process is None:
            self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._asked += 1
        call = {"id": self._asked, "do": name, "args": list(arguments), "settings": dict(settings or {})}
        try:
            os.write(self._process.stdin.fileno(), json.dumps(call, default=str).encode() + b"\n")
        except OSError as problem:
            raise Lost(f"the client {self.name} has ended before its call {name} ({problem.strerror})") from None
        return self._asked

    def answer(self, number: int, seconds: float) -> Mapping[str, Any] | None:
        """The answer to a call, waited for so long; None if it has not come."""
        end = time.monotonic() + seconds
        with self._came:
            while number not in self._answers and (left := end - time.monotonic()) > 0:
                self._came.wait(left)
            return self._answers.get(number)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Until the process ends: on a thread of its own."""
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(ValueError), self._came:
                found = json.loads(line)
                if "ok" in found:
                    found["ok"] = list(map(segments.brief, found["ok"]))
                self._answers[found.pop("id")] = found
                self._came.notify_all()


class Running:
    """A cluster that is up, and its clients. `proxies`: those between clients and brokers, where there are any."""

    def __init__(self, nodes: Mapping[str, Node], clients: Mapping[str, Client], proxies: Mapping[str, Proxy]) -> None:
        self.nodes = nodes
        self.clients = clients
        self.proxies = proxies

    def process(self, name: str) -> Node | Client:
        """A broker or a client."""
        return self.nodes[name] if name in self.nodes else self.clients[name]


@contextlib.contextmanager
def cluster(wanted: schedule.Cluster, runtime: Runtime, recorded: Recorded) -> Iterator[Running]:
    """A cluster with its topics, in a folder that is empty; all processes are killed at the end. Raises Lost where it
    does not come up, Unusable where Kafka refuses the settings."""
    proxied = [f"{name}{way}" for name in wanted.brokers for way in (INNER, OUTER) if wanted.proxied]
    started = [CONTROLLER, *wanted.brokers] if wanted.brokers else []
    names = [*started, *proxied]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    config = [_logging(recorded.folder, stream) for stream in ("OUT", "ERR")]
    for name in started:
        _configure(wanted, name, ports, recorded.node(name))
    if started:
        _format(started, wanted.features, runtime, recorded, config[0])
    with contextlib.ExitStack() as stack:
        nodes, clients, proxies = {}, {}, {}
        for name in started:
            properties = str(recorded.node(name) / "server.properties")
            command = [*runtime.command("kafka.Kafka", HEAP_MIB, config[0]), properties]
            nodes[name] = Node(name, command, recorded, stack)
        for name in wanted.brokers:
            if wanted.proxied:
                proxies[name] = Proxy(ports[f"{name}{OUTER}"], ports[f"{name}{INNER}"])
                stack.callback(proxies[name].close)
        bootstrap = ",".join(f"127.0.0.1:{ports.get(f'{name}{OUTER}', ports[name])}" for name in wanted.brokers)
        known = ",".join(f"{number}={name}" for name, number in wanted.brokers.items())
        client = runtime.command("Driver", SMALL_HEAP_MIB, config[1])
        for name, one in wanted.clients.items():
            log = one.kind == schedule.LOG
            driver = with_log_driver(runtime).command("LogDriver", SMALL_HEAP_MIB, config[1]) if log else client
            command = [*driver, bootstrap, known]
            clients[name] = Client(one, command, recorded, stack)
        for node in nodes.values():
            node.start()
        for node in nodes.values():
            _until_ready(node)
        running = Running(nodes, clients, proxies)
        for topic in wanted.topics:
            _create(running.clients[schedule.ADMIN], topic)
        yield running


def free_ports(count: int) -> list[int]:
    """So many ports of loopback that nobody listens on. Raises Unusable if there are too few."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(found) == count:
            break
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError as problem:
                if problem.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise Unusable(
                        f"127.0.0.1 cannot be listened on ({problem.strerror}): a cluster needs it"
                    ) from None
                continue
        found.append(port)
    if len(found) < count:
        raise Unusable(f"{count} free ports are needed between {PORTS.start} and {PORTS.stop}: end other programs")
    return found


def _logging(folder: Path, stream: str) -> str:
    file = folder / f"log4j2-{stream.lower()}.properties"
    file.write_text(LOGGING.format(stream=stream), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={file}"


def _configure(wanted: schedule.Cluster, name: str, ports: Mapping[str, int], folder: Path) -> None:
    """Write a node's server.properties."""
    broker = name != CONTROLLER
    listener = f"{'PLAINTEXT' if broker else 'CONTROLLER'}://127.0.0.1:{ports[name]}"
    replicas = min(3, len(wanted.brokers))
    settings = {
        "process.roles": "broker" if broker else "controller",
        "node.id": wanted.brokers[name] if broker else CONTROLLER_ID,
        "controller.quorum.voters": f"{CONTROLLER_ID}@127.0.0.1:{ports[CONTROLLER]}",
        "controller.listener.names": "CONTROLLER",
        "listeners": listener,
        "log.dirs": folder / "data",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        **SMALL,
        **wanted.settings,
    }
    if broker and wanted.proxied:
        inner, outer = ports[f"{name}{INNER}"], ports[f"{name}{OUTER}"]
        settings |= {
            "listeners": f"{listener},CLIENTS://127.0.0.1:{inner}",
            "advertised.listeners": f"{listener},CLIENTS://127.0.0.1:{outer}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }
    folder.mkdir(parents=True)
    text = "".join(f"{key}={value}\n" for key, value in settings.items())
    (folder / "server.properties").write_text(text, encoding="utf-8")


def _format(
    names: Sequence[str], features: Mapping[str, Any], runtime: Runtime, recorded: Recorded, config: str
) -> None:
    """Format the nodes' folders, as kafka-storage.sh does. Unusable where Kafka refuses the settings, Lost if late."""
    levels = ",".join(f"{name}={level}" for name, level in features.items())
    properties = [str(recorded.node(name) / "server.properties") for name in names]
    command = [*runtime.command("Driver", SMALL_HEAP_MIB, config), "format", CLUSTER_ID, levels, *properties]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with processes.started(command, start_new_session=True, **options) as process:
        try:
            said = process.communicate(timeout=STARTING_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise Lost(f"the nodes' folders are not formatted after {STARTING_S:g} s") from None
    if process.returncode:
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith("\tat ")]
        raise Unusable(f"Kafka does not format the folders of its nodes: {(lines or ['it says nothing'])[-1]}")


def _until_ready(node: Node) -> None:
    end = time.monotonic() + STARTING_S
    while not node.ready():
        if time.monotonic() > end:
            raise Lost(f"{node.name} does not serve after {STARTING_S:g} s")
        time.sleep(0.05)


def _create(admin: Client, topic: schedule.Topic) -> None:
    made = admin.answer(admin.ask("create", [topic.name, *topic.replicas], topic.settings), STARTING_S)
    if made is None or "error" in made:
        raise Lost(f"the topic {topic.name} was not created: {made}")
