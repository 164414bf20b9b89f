"""The common part of the sticky and the uniform assignors: even loads first, then as few moves as possible.

Three phases. Every owner keeps its partitions, and free partitions go to the least loaded subscriber. Then partitions
move from a fuller member to an emptier one while that makes the two more equal. At the end no single move improves the
balance, and no moved partition could go back to its owner without making the loads less equal. Exchanges, where two
members each have what the other owned, do not arise, because a giver first returns what the taker owned.

Termination: a move that evens out lowers the sum of the squared loads; giving back never raises it and lowers the
number of moved partitions. So the pair (sum, moved) falls with every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidemark.groups.partitions import MemberId, TopicPartition


class Move(NamedTuple):
    """A partition and the member that it goes to."""

    partition: TopicPartition
    taker: MemberId


class Holdings:
    """The holder of each partition while an assignment is being made.

    `topics` names the topics that each member may hold. `owned` names the owner of each partition before, if it may
    hold it still. `formerly` is a preference: the owner of a partition before that one.
    """

    def __init__(
        self,
        topics: Mapping[MemberId, frozenset[str]],
        owned: Mapping[TopicPartition, MemberId],
        formerly: Mapping[TopicPartition, MemberId],
    ) -> None:
        self._topics = topics
        self._owned = owned
        self._formerly = formerly
        self._holder: dict[TopicPartition, MemberId] = {}
        self.held: dict[MemberId, set[TopicPartition]] = {member: set() for member in sorted(topics)}
        for partition, member in owned.items():
            self._give(Move(partition, member))

    def hand_out(self, partitions: Iterable[TopicPartition]) -> None:
        """Give each partition that nobody holds to the least loaded member that may hold it, the first of equals."""
        for partition in partitions:
            takers = [member for member in self.held if partition.topic in self._topics[member]]
            if takers and partition not in self._holder:
                self._give(Move(partition, min(takers, key=self._load)))

    def settle(self) -> None:
        """Even out until nothing improves and nothing was moved for nothing."""
        while move := self._evening_move() or self._needless_move():
            self._give(move)

    def _load(self, member: MemberId) -> int:
        return len(self.held[member])

    def _give(self, move: Move) -> None:
        before = self._holder.get(move.partition)
        if before is not None:
            self.held[before].remove(move.partition)
        self.held[move.taker].add(move.partition)
        self._holder[move.partition] = move.taker

    def _evening_move(self) -> Move | None:
        """A move from the fullest member that can give to the emptiest that can take, if it makes them more equal."""
        by_load = sorted(self.held, key=self._load)
        for giver in reversed(by_load):
            for taker in by_load:
                if self._load(giver) - self._load(taker) < 2:
                    break
                movable = [one for one in self.held[giver] if one.topic in self._topics[taker]]
                if movable:
                    return Move(min(movable, key=lambda one: self._reluctance(one, giver, taker)), taker)
        return None

    def _reluctance(self, one: TopicPartition, giver: MemberId, taker: MemberId) -> tuple[int, bool, int, str]:
        """How much the giver should rather keep a partition: least those that the taker owned, most those that it owned
        itself.

        Among equals the taker gets its former partitions, then high partition numbers go before low ones.
        """
        owner = self._owned.get(one)
        rank = 0 if owner == taker else 1 if owner != giver else 2
        return (rank, self._formerly.get(one) != taker, -one.partition, one.topic)

    def _needless_move(self) -> Move | None:
        """A moved partition whose holder is fuller than its owner: it can go back, and the loads are no less equal."""
        for one, owner in sorted(self._owned.items()):
            holder = self._holder[one]
            if holder != owner and self._load(holder) > self._load(owner):
                return Move(one, owner)
        return None


def balance(
    partitions: Iterable[TopicPartition],
    topics: Mapping[MemberId, frozenset[str]],
    owned: Mapping[TopicPartition, MemberId],
    formerly: Mapping[TopicPartition, MemberId],
) -> dict[MemberId, set[TopicPartition]]:
    """An assignment of all `partitions` somebody subscribes to, handed out in that order; see the module.

    `owned` must name only partitions that exist and members that subscribe to them.
    """
    holdings = Holdings(topics, owned, formerly)
    holdings.hand_out(partitions)
    holdings.settle()
    return holdings.held
