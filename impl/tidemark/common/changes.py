"""Which parts of a replica changed since somebody last looked.

Every setter of a replica's state marks its part here. Who has to follow the state (a checkpoint writer, a metrics
reporter, a trace recorder) reads `mask`, looks at the marked parts alone and sets it back to 0.
"""

from __future__ import annotations

LOG = 1
"""Records were appended or truncated."""
FLUSHED = 2
"""The flush point moved."""
EPOCHS = 4
"""The leader-epoch cache."""
HIGH_WATERMARK = 8
CHECKPOINT = 16
"""The high watermark in the checkpoint file."""
ROLE = 32
"""Leadership, leader epoch, partition epoch or committed ISR."""
EPOCH_START = 64
"""The leader's log end offset when its epoch began."""
REMOTE = 128
"""What the leader knows of its followers' log ends."""
PENDING = 256
"""The leader's undecided AlterPartition."""
PURGATORY = 512
"""Delayed produces."""
FETCH_STATE = 1024
"""The follower's fetch position."""
PROCESS = 2048
"""The process started, registered or ended."""
REMOTE_EPOCH = 4096
"""What the leader knows of its followers' incarnations."""
PRODUCED = 8192
"""A leader appended what a client sent."""
EVERYTHING = 16383


class Changes:
    """The marks of one replica; `mask` is a sum of the constants of this module."""

    __slots__ = ("mask",)

    def __init__(self) -> None:
        self.mask = EVERYTHING
