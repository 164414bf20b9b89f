"""How the values of the core are declared: slotted dataclasses that the type checker holds immutable.

They are not frozen at run time: only the type checker holds them immutable. The simulator makes tens of thousands of
them a second, and a frozen dataclass costs three times as much to build.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """A message, a record or another value: never changed after it is made, shared and never copied."""
    return dataclass(slots=True)(cls)
