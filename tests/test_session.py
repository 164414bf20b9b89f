"""A Spark that does not start: one sentence, and nothing of it stays."""

from __future__ import annotations

from typing import Any, NoReturn

import pyspark.sql
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from tidemark_conformance.errors import Unusable
from tidemark_conformance.spark import session


class _Java:
    """A Java exception as Py4J shows it."""

    def __init__(self, message: str) -> None:
        self.message = message

    def getMessage(self) -> str:
        return self.message

    def getCause(self) -> None:
        return None


class _JavaError(Py4JError):
    """A Java exception that cannot be printed once its JVM is gone."""

    def __init__(self, jvm: list[str], message: str) -> None:
        self.jvm = jvm
        self.message = message

    @property
    def java_exception(self) -> _Java:
        self._ask()
        return _Java(self.message)

    def __str__(self) -> str:
        self._ask()
        return self.message

    def _ask(self) -> None:
        if self.jvm:
            raise ConnectionError


@pytest.fixture(name="ended")
def _ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No Spark runs here. The list has everything that was ended of a session that started."""
    ended: list[str] = []
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(session, "_end", ended.append)
    monkeypatch.setattr(session, "_stop", ended.append)
    return ended


def _refusal(master: str) -> str:
    with pytest.raises(Unusable) as refused, session.spark_session(master):
        pass
    return str(refused.value)


def test_a_master_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, ended: list[str]) -> None:
    """The context is made, and has stopped itself by the time that a session wants it."""

    def stopped(context: object) -> NoReturn:
        raise _JavaError(
            ended, "Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was made at:"
        )

    monkeypatch.setattr(session, "_start", lambda master, memory: "context")
    monkeypatch.setattr(pyspark.sql, "SparkSession", stopped)
    said = "spark://127.0.0.1:1 (no master answers there, or none takes the application); run `tidemark doctor`"
    assert said in _refusal("spark://127.0.0.1:1")
    assert ended == ["context"]


def test_what_is_no_master_is_said_in_sparks_words(monkeypatch: pytest.MonkeyPatch, ended: list[str]) -> None:
    """They are asked for before the JVM ends, which alone knows them."""

    def refused(**_: Any) -> NoReturn:
        raise _JavaError(ended, "Could not parse Master URL: 'nothing'")

    monkeypatch.setattr(session, "_gateway", lambda conf, log: "gateway")
    monkeypatch.setattr("pyspark.SparkContext", refused)
    monkeypatch.setattr(refused, "_active_spark_context", None, raising=False)
    assert "with master nothing (Could not parse Master URL: 'nothing'); run `tidemark doctor`" in _refusal("nothing")
    assert ended == ["gateway"]
