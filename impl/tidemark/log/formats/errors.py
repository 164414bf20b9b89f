"""The exceptions of bytes that are not what their format says, and of values that no bytes of a format stand for."""

from __future__ import annotations

COPY_AGAIN = "copy the file again, or take another replica's"
"""The remedy where bytes are wrong, and no reason is known."""


class Malformed(ValueError):
    """Bytes that a format does not allow.

    `position`: of the first wrong byte in what was read. `problem`: a clause that says what is wrong there. `remedy`: a
    clause that says what to do.
    """

    def __init__(self, position: int, problem: str, remedy: str = COPY_AGAIN) -> None:
        super().__init__(f"at byte {position:,} {problem}; {remedy}")
        self.position = position
        self.problem = problem
        self.remedy = remedy

    def moved(self, base: int, within: str = "") -> Malformed:
        """The same, of bytes that begin at `base` of the file. `within`: a clause about the place, for bytes whose own
        positions mean nothing in the file."""
        if within:
            return type(self)(base, f"{within} is malformed: {self.problem}", self.remedy)
        return type(self)(base + self.position, self.problem, self.remedy)


class Torn(Malformed):
    """The file ends within what was begun, or in zeros: it was copied while it was written, or its broker failed."""


class Unwritable(ValueError):
    """A value that a format has no bytes for. The message names the field."""
