"""Groups for the tests of assignors: how to write one down, and how Hypothesis makes one up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st
from tidemark.groups.partitions import (
    Assignment,
    StickyUserData,
    Subscription,
    TopicPartition,
)

GENERATION = 7


def parts(text: str) -> tuple[TopicPartition, ...]:
    """`parts("t0p1 t1p0")`, the notation of Kafka's documentation."""
    return tuple(TopicPartition(one.split("p")[0], int(one.split("p")[1])) for one in text.split())


def subscribe(**topics: str) -> dict[str, Subscription]:
    """`subscribe(C0="t0 t1")`: members that own nothing."""
    return {member: Subscription(frozenset(names.split())) for member, names in topics.items()}


def owning(
    subscriptions: Mapping[str, Subscription],
    owned: Mapping[str, Iterable[TopicPartition]],
    generations: Mapping[str, int] | None = None,
) -> dict[str, Subscription]:
    """The same members, each claiming its partitions in `owned`, for eager and cooperative assignors alike."""
    result = {}
    for member, subscription in subscriptions.items():
        generation = GENERATION if generations is None else generations[member]
        partitions = tuple(owned.get(member, ()))
        result[member] = Subscription(
            subscription.topics,
            partitions,
            generation,
            subscription.group_instance_id,
            StickyUserData(partitions, generation),
        )
    return result


def wanted(counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]) -> set[TopicPartition]:
    """The partitions that exist and that somebody subscribes to."""
    topics = set().union(*(subscription.topics for subscription in subscriptions.values()))
    return {TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))}


def given_out(assignment: Assignment) -> list[TopicPartition]:
    """All partitions of an assignment, as often as they are in it."""
    return [one for partitions in assignment.values() for one in partitions]


def loads(assignment: Mapping[str, Iterable[TopicPartition]]) -> dict[str, int]:
    """Member -> number of its partitions."""
    return {member: len(list(partitions)) for member, partitions in assignment.items()}


@dataclass(frozen=True)
class Group:
    """Topics that exist, and members that may subscribe to others too."""

    counts: dict[str, int]
    subscriptions: dict[str, Subscription]


TOPICS = ("t0", "t1", "t2", "t3")
MEMBERS = ("m0", "m1", "m2", "m3", "m4")
counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 6), min_size=1)


@st.composite
def groups(draw: st.DrawFn, *, alike: bool = False) -> Group:
    """A group; `alike`: all members subscribe to the same topics. Some members are static."""
    members = draw(st.permutations(MEMBERS))[: draw(st.integers(1, len(MEMBERS)))]
    topics = st.frozensets(st.sampled_from(TOPICS), min_size=1)
    same = draw(topics)
    subscriptions = {}
    for member in members:
        instance = draw(st.sampled_from([None, None, f"i-{member[::-1]}"]))
        subscriptions[member] = Subscription(same if alike else draw(topics), group_instance_id=instance)
    return Group(draw(counts), subscriptions)


@st.composite
def owners(draw: st.DrawFn, group: Group) -> dict[str, list[TopicPartition]]:
    """Member -> partitions that it owns: each partition one subscriber or nobody."""
    owned: dict[str, list[TopicPartition]] = {member: [] for member in group.subscriptions}
    for one in sorted(wanted(group.counts, group.subscriptions)):
        who = sorted(member for member, its in group.subscriptions.items() if one.topic in its.topics)
        owner = draw(st.sampled_from([*who, None]))
        if owner is not None:
            owned[owner].append(one)
    return owned


@st.composite
def groups_with_owners(draw: st.DrawFn, *, alike: bool = False) -> tuple[Group, dict[str, list[TopicPartition]]]:
    """A group and an ownership without contradictions."""
    group = draw(groups(alike=alike))
    return group, draw(owners(group))


@st.composite
def groups_with_claims(draw: st.DrawFn) -> Group:
    """A group whose members claim anything, of any generation, also partitions that do not exist or that they do not
    subscribe to."""
    group = draw(groups())
    anything = st.builds(TopicPartition, st.sampled_from(TOPICS), st.integers(0, 6))
    claimed = {member: draw(st.lists(anything, unique=True, max_size=6)) for member in group.subscriptions}
    generations = {member: draw(st.integers(-1, 3)) for member in group.subscriptions}
    return Group(group.counts, owning(group.subscriptions, claimed, generations))
