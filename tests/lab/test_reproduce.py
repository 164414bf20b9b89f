"""`tidemark reproduce`: its list, its documents, what it refuses, and that nothing outlives it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import fake_kafka
import pytest
from tidemark_conformance import cli
from tidemark_conformance.commands import reproduce
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab import releases, runtime, training
from tidemark_conformance.lab.cluster import PORTS, free_ports
from tidemark_conformance.lab.proxy import Proxy
from tidemark_conformance.lab.schedule import files

PATIENCE_S = 60.0


def tidemark(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of `tidemark reproduce`."""
    code = cli.main(["reproduce", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and no network."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(releases.MIRROR, "http://127.0.0.1:9/maven2")
    toolchain._find_java.cache_clear()


def test_the_finds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = tidemark(capsys)
    assert code == 0
    assert all(find in out for find in files())
    assert "needs a JDK of Java 17 or newer" in out
    code, out, _ = tidemark(capsys, "--json", "-")
    assert [one["find"] for one in json.loads(out)["finds"]] == list(files())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["KAFKA-2073"], "no schedule shows KAFKA-2073; did you mean KAFKA-20734? (`tidemark reproduce` lists them)"),
        (["CAND-2", "--kafka", "4.3.7"], "Kafka 4.3.7 cannot be run here; did you mean 4.3.1"),
        (["--control"], "--control and -o are of one find; name it"),
        (["all", "--control"], "all are played with their controls; leave --control out"),
        (["CAND-2", "-o", "."], " is not empty; give another folder with -o"),
    ],
)
def test_what_cannot_be_played_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    code, out, err = tidemark(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_without_java_or_javac_nothing_is_fetched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_kafka.jdk(tmp_path)
    (home / "bin" / "javac").unlink()
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = tidemark(capsys, "CAND-2", "-o", str(tmp_path / "out"))
    assert code == 2
    assert err.startswith(f"tidemark reproduce: no javac was found beside {home}/bin/java or on the PATH")
    monkeypatch.setattr(toolchain, "_wheel_java", lambda: None)
    shutil.rmtree(home)
    toolchain._find_java.cache_clear()
    code, _, err = tidemark(capsys, "CAND-2", "-o", str(tmp_path / "out"))
    assert (code, err) == (2, f"tidemark reproduce: {toolchain.NO_JAVA}\n")
    assert not (tmp_path / "cache" / "kafka").exists()
    assert not (tmp_path / "out").exists()


def test_without_a_network_one_sentence_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = tidemark(capsys, "CAND-2")
    assert code == 2
    assert "http://127.0.0.1:9/maven2/" in err
    assert "cannot be fetched (" in err
    assert "connect to the network, or name a mirror of Maven Central by TIDEMARK_MAVEN" in err
    assert list((tmp_path / "cache" / "kafka" / "4.3.1").iterdir()) == []


def test_a_mirror_s_file_must_be_the_released_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"a/b.jar": hashlib.sha256(b"b").hexdigest(), "a/c.jar": hashlib.sha256(b"c").hexdigest()}
    monkeypatch.setattr(releases, "jars", lambda _: wanted)
    monkeypatch.setenv(releases.MIRROR, f"file://{tmp_path}/mirror/")
    mirror = tmp_path / "mirror" / "a"
    mirror.mkdir(parents=True)
    (mirror / "b.jar").write_bytes(b"b")
    (mirror / "c.jar").write_bytes(b"another")
    with pytest.raises(Unusable, match=r"a/c\.jar is not the released file, for its SHA-256 is not"):
        releases.fetched("4.3.1")
    (mirror / "c.jar").write_bytes(b"c")
    told: list[tuple[int, int]] = []
    folder = releases.fetched("4.3.1", lambda done, total: told.append((done, total)))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"b.jar": b"b", "c.jar": b"c"}
    assert told == [(1, 2), (2, 2)]
    shutil.rmtree(mirror)
    releases.fetched("4.3.1")  # nothing is fetched twice
    (folder / "b.jar").write_bytes(b"damaged")
    with pytest.raises(Unusable, match="cannot be fetched"):
        releases.fetched("4.3.1")


@pytest.mark.parametrize("version", releases.known())
def test_the_list_of_a_release_is_whole(version: str) -> None:
    jars = releases.jars(version)
    assert {
        f"org/apache/kafka/{name}/{version}/{name}-{version}.jar" for name in ("kafka_2.13", "kafka-clients")
    } <= set(jars)
    assert len({Path(path).name for path in jars}) == len(jars)
    assert all(len(checksum) == 64 and int(checksum, 16) for checksum in jars.values())


def test_the_driver_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_kafka.jdk(tmp_path)))
    made = runtime.runtime("4.3.1", tmp_path)
    driver = made.jars[0]
    before = driver.stat().st_mtime_ns
    assert runtime.runtime("4.3.1", tmp_path) == made
    assert driver.stat().st_mtime_ns == before
    driver.write_bytes(b"damaged")
    runtime.runtime("4.3.1", tmp_path)
    assert driver.stat().st_mtime_ns != before
    assert driver.read_bytes() != b"damaged"


def test_a_javac_that_refuses_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_kafka.jdk(tmp_path)
    (home / "bin" / "javac").write_text("#!/bin/sh\necho 'error: invalid flag: --release' >&2\nexit 2\n")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(Unusable, match=r"does not compile Driver\.java \(error: invalid flag: --release\): install"):
        runtime.runtime("4.3.1", tmp_path)
    assert not list((tmp_path / "cache" / "kafka").glob("*driver*"))


def test_an_archive_that_cannot_be_made_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch)
    short = tmp_path / "training.toml"
    short.write_text(training.SCHEDULE.read_text().replace("decisive = true", "decisive = true\nwithin = 0.1"))
    monkeypatch.setattr(training, "SCHEDULE", short)
    assert training.train(kafka) is False
    assert not any(word.startswith("-XX:SharedArchiveFile") for word in kafka.command("kafka.Kafka", 256))


# The command, with a `java` that plays Kafka


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka is played by fake_kafka.py, whose clients say that nothing is read."""
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, read={"ok": ["s"]})
    monkeypatch.setattr(reproduce, "_prepared", lambda version, nodes: kafka)
    monkeypatch.setattr("tidemark_conformance.lab.schedule.golden_root", lambda: tmp_path / "golden")
    folder = tmp_path / "golden" / "replication"
    folder.mkdir(parents=True)
    (folder / "F.toml").write_text(SIMPLE)
    (folder / "G.toml").write_text(SIMPLE.replace('"F"', '"G"').replace("lacks r", "lacks s"))


SIMPLE = """
find = "F"
title = "a record is gone"
shown = ["4.3.1"]
seconds = 1
[cluster]
brokers = ["A"]
topics = [{ name = "t", replicas = ["A"] }]
[control]
text = "it is not read in full"
[[step]]
text = "t is read"
do = ["admin read t read_committed"]
[[step]]
text = "and once more"
decisive = true
do = ["admin read t read_committed as again"]
[[evidence]]
text = "r is gone"
holds = "answer again lacks r"
"""


@pytest.mark.usefixtures("fake")
def test_a_find_is_told_and_its_document_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept, document = tmp_path / "kept", tmp_path / "f.json"
    code, out, _ = tidemark(capsys, "F", "-o", str(kept), "--json", str(document))
    assert code == 0
    assert "F on Kafka 4.3.1: a record is gone" in out
    assert "1. t is read" in out
    assert "yes  r is gone: s" in out
    assert "\noccurred (" in out
    found = json.loads(document.read_text())
    assert found == json.loads((kept / "result.json").read_text())
    assert {key: found[key] for key in ("schema", "ok", "find", "kafka", "control", "verdict", "tries", "void")} == {
        "schema": "tidemark.reproduce/1",
        "ok": True,
        "find": "F",
        "kafka": "4.3.1",
        "control": False,
        "verdict": "occurred",
        "tries": 1,
        "void": [],
    }
    assert found["steps"][0] == {"step": 1, "do": "t is read", "seen": "s"}
    assert found["evidence"] == ["yes: r is gone: s"]
    assert (kept / "try-1" / "answers.ndjson").is_file()
    assert "Kafka Server started" in (kept / "try-1" / "nodes" / "A" / "server.log").read_text()


@pytest.mark.usefixtures("fake")
def test_exit_codes(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """0: as expected, 1: the other verdict, 3: void. A control expects that the find does not occur."""
    assert tidemark(capsys, "G")[0] == 1
    code, out, _ = tidemark(capsys, "F", "--control")
    assert (code, "did not occur (" in out, "control: it is not read in full" in out) == (0, True, True)
    monkeypatch.setenv("ANSWERS", json.dumps({"read": {"error": "TimeoutException", "message": "late"}}))
    document = tmp_path / "f.json"
    code, out, _ = tidemark(capsys, "F", "--json", str(document))
    assert code == 3
    assert "try 3 of 3" in out
    assert "void: step 1: admin read: TimeoutException: late" in out
    found = json.loads(document.read_text())
    assert (found["verdict"], found["tries"], found["ok"], found["evidence"]) == ("void", 3, False, [])
    assert found["void"] == ["step 1: admin read: TimeoutException: late"] * 3


@pytest.mark.usefixtures("fake")
def test_all_are_played_with_their_controls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code, out, err = tidemark(capsys, "all", "-o", str(kept), "--json", "-")
    assert code == 1, "G does not occur"
    found = json.loads(out)
    assert [(one["find"], one["control"], one["verdict"], one["ok"]) for one in found["runs"]] == [
        ("F", False, "occurred", True),
        ("F", True, "did not occur", True),
        ("G", False, "did not occur", False),
        ("G", True, "did not occur", True),
    ]
    rows = [line.split()[:2] for line in err.splitlines() if line.endswith(("yes", "NO"))]
    assert rows == [["F", "schedule"], ["F", "control"], ["G", "schedule"], ["G", "control"]]
    assert sorted(one.name for one in kept.iterdir()) == ["F", "F-control", "G", "G-control"]


INTERRUPTED = """
import sys
from pathlib import Path
from tidemark_conformance import cli
from tidemark_conformance.commands import reproduce
from tidemark_conformance.lab.runtime import Runtime
reproduce._prepared = lambda version, nodes: Runtime(version, Path(sys.argv[1]), (), Path("no.jsa"))
sys.exit(cli.main(["reproduce", "CAND-2"]))
"""


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interruption_ends_every_process(tmp_path: Path, number: signal.Signals) -> None:
    """The signal comes while the first step waits for what the played Kafka never does."""
    mark = uuid.uuid4().hex
    java = fake_kafka.jdk(tmp_path) / "bin" / "java"
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "MARK": mark, "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", INTERRUPTED, str(java)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        end = time.monotonic() + PATIENCE_S
        while len(fake_kafka.marked(mark)) < 7 and time.monotonic() < end:  # ours, controller, brokers, two clients
            time.sleep(0.05)
        one.send_signal(number)
        out, err = one.communicate(timeout=PATIENCE_S)
    assert one.returncode == 128 + number
    assert err.splitlines()[-1] in ("tidemark reproduce: terminated", "tidemark reproduce: interrupted")
    assert "Traceback" not in err
    assert "they serve" in out
    assert fake_kafka.marked(mark) == []
    assert list((tmp_path / "tmp").iterdir()) == []


# Ports, and the proxy


def test_ports_are_free_and_not_those_of_outgoing_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)):
        found = free_ports(50)
    assert len(set(found)) == 50
    assert all(port in PORTS for port in found)
    with socket.create_server(("127.0.0.1", found[0])):
        pass


def test_a_proxy_passes_on_what_is_said_but_while_it_is_mute() -> None:
    outer, inner = free_ports(2)
    with socket.create_server(("127.0.0.1", inner)) as broker:
        proxy = Proxy(outer, inner)
        client = socket.create_connection(("127.0.0.1", outer), timeout=PATIENCE_S)
        accepted, _ = broker.accept()
        client.sendall(b"fetch")
        assert accepted.recv(100) == b"fetch"
        accepted.sendall(b"answer")
        assert client.recv(100) == b"answer"
        proxy.mute()
        client.sendall(b"produce")
        assert accepted.recv(100) == b"produce", "the broker hears the client"
        accepted.sendall(b"lost")
        accepted.close()
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(100)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", outer))
        proxy.speak()
        client.settimeout(PATIENCE_S)
        assert client.recv(100) == b"", "what was lost stays lost"
        again = socket.create_connection(("127.0.0.1", outer), timeout=PATIENCE_S)
        accepted, _ = broker.accept()
        accepted.sendall(b"well")
        assert again.recv(100) == b"well"
        proxy.close()
        assert again.recv(100) == b""


def test_the_arguments_of_the_command() -> None:
    parser = argparse.ArgumentParser()
    reproduce.add_arguments(parser)
    given = parser.parse_args(["CAND-2", "--control"])
    assert (given.find, given.kafka, given.control, given.output) == ("CAND-2", releases.DEFAULT, True, None)
