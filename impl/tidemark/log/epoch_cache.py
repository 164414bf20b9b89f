"""The leader-epoch cache (LeaderEpochFileCache): at which offset each leader's epoch began in this log.

Entries increase strictly in epoch and in start offset. With it a follower and its leader find where their logs part:
each side asks where the other's last epoch ends (KIP-101, KIP-279).
"""

from __future__ import annotations

from tidemark.common.structs import value
from tidemark.log.storage import EpochEntry, Storage

NO_EPOCH = -1
"""Where an epoch is unknown or there is none."""


@value
class EpochEndOffset:
    """The answer to "where does an epoch end": the largest epoch not above it that the log has, and its end offset.

    Both are -1 when the log cannot tell.
    """

    epoch: int
    end_offset: int


UNDEFINED = EpochEndOffset(NO_EPOCH, -1)


class LeaderEpochCache:
    """The cache of one log; `entries` oldest first, `latest_epoch` -1 when empty."""

    __slots__ = ("_storage", "entries", "latest_epoch")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.entries: list[EpochEntry] = list(storage.epochs)
        self.latest_epoch = self.entries[-1].epoch if self.entries else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Epoch `epoch` begins at `start_offset`; entries that this contradicts are removed first."""
        if epoch == self.latest_epoch:
            return
        entries = self.entries
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self._written()

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that begin at `end_offset` or later."""
        entries = self.entries
        if entries and entries[-1].start_offset >= end_offset:
            while entries and entries[-1].start_offset >= end_offset:
                entries.pop()
            self._written()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Where epoch `epoch` ends in this log, which ends at `log_end_offset`.

        The latest epoch ends at the log's end. An epoch above it, or any in an empty cache, is undefined. One below the
        first entry ends where that begins. Otherwise the largest epoch not above it ends where the next one begins.
        """
        latest = self.latest_epoch
        if epoch == latest and epoch != NO_EPOCH:
            return EpochEndOffset(epoch, log_end_offset)
        if epoch == NO_EPOCH or epoch > latest:
            return UNDEFINED
        entries = self.entries
        following = entries[0]
        if following.epoch > epoch:
            return EpochEndOffset(epoch, following.start_offset)
        index = len(entries) - 1
        while entries[index].epoch > epoch:
            following = entries[index]
            index -= 1
        return EpochEndOffset(entries[index].epoch, following.start_offset)

    def _written(self) -> None:
        entries = self.entries
        self.latest_epoch = entries[-1].epoch if entries else NO_EPOCH
        self._storage.epochs = tuple(entries)
