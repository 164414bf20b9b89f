"""The reference evaluator: a specification's checks as Python source, compiled when they are first asked for."""

from tidemark_conformance.tla.python.checks import PythonChecks, compile_python, evaluate_constant
from tidemark_conformance.tla.python.explain import Conjunct
from tidemark_conformance.tla.python.runtime import EvaluationError

__all__ = ["Conjunct", "EvaluationError", "PythonChecks", "compile_python", "evaluate_constant"]
