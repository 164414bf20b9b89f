"""The bodies of control records. Those of KRaft begin with their own version."""

from __future__ import annotations

TEXT = """
LeaderChangeMessage 0-1 flexible 0+
    version int16
    leaderId int32
    voters []
        voterId int32
        voterDirectoryId uuid 1+
    grantingVoters []
        voterId int32
        voterDirectoryId uuid 1+

SnapshotHeaderRecord 0 flexible 0+
    version int16
    lastContainedLogTimestamp int64

SnapshotFooterRecord 0 flexible 0+
    version int16

KRaftVersionRecord 0 flexible 0+
    version int16
    kRaftVersion int16

VotersRecord 0 flexible 0+
    version int16
    voters []
        voterId int32
        voterDirectoryId uuid
        endpoints []
            name string
            host string
            port uint16
        kRaftVersionFeature {}
            minSupportedVersion int16
            maxSupportedVersion int16

EndTxnMarker 0
    coordinatorEpoch int32
"""
