"""Sets made of symbolic sets: of numbers without a known end, or listed element by element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from tidemark_conformance.prove.equality import elements, member, merged, unlisted
from tidemark_conformance.prove.sorts import sequence
from tidemark_conformance.prove.terms import Filtered, Listed, Range, Symbolic, Term, UnlistedError, conj, neg

MOST_LISTED = 6
"""The most elements of a set whose subsets are listed, where SUBSET of it is a value."""


def subsets(value: Symbolic) -> Listed:
    """The subsets of a set with few elements. Raises UnlistedError for a set with more."""
    items = elements(value)
    if len(items) > MOST_LISTED:
        raise UnlistedError(f"SUBSET of a set of {len(items)} elements as a value")
    chosen = [[item for at, item in enumerate(items) if number >> at & 1] for number in range(2 ** len(items))]
    return Listed(
        tuple((conj(*(guard for guard, _ in some)), merged((True, one) for _, one in some)) for some in chosen)
    )


def tuples(values: Iterable[Symbolic]) -> Listed:
    """The tuples of sets that can be listed."""
    rows = itertools.product(*map(elements, values))
    return merged((conj(*(guard for guard, _ in row)), sequence([item for _, item in row])) for row in rows)


def union(a: Symbolic, b: Symbolic) -> Symbolic:
    """The set of the elements of both."""
    return merged([*elements(a), *elements(b)])


def _kept(value: Symbolic, base: Range, keeps: Callable[[Term], Term]) -> Filtered:
    """The elements of a set of numbers in this range that `keeps` holds of. It is no error to ask of any."""
    own = value.holds if isinstance(value, Filtered) else lambda k: (True, True)
    return Filtered(base, lambda k: (conj(own(k)[0], keeps(k)), own(k)[1]))


def intersection(a: Symbolic, b: Symbolic) -> Symbolic:
    """The set of the elements that both have."""
    if (base := unlisted(a)) is not None and unlisted(b) is not None:
        return _kept(a, base, lambda k: member(k, b))
    if unlisted(a) is not None:
        a, b = b, a
    return merged((conj(guard, member(item, b)), item) for guard, item in elements(a))


def difference(a: Symbolic, b: Symbolic) -> Symbolic:
    """The set of the elements of a that b does not have."""
    if (base := unlisted(a)) is not None:
        return _kept(a, base, lambda k: neg(member(k, b)))
    return merged((conj(guard, neg(member(item, b))), item) for guard, item in elements(a))
