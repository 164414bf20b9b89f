"""The errors that a command reports to its user in one sentence."""

from __future__ import annotations


class Unusable(Exception):
    """Input or environment that a command cannot work with (exit code 2).

    The message is one sentence that says what is wrong, where, and what to do about it.
    """


class Unsupported(Unusable):
    """A TLA+ construct outside the written conventions; the message names the module and line."""
