"""Bugs in replication for the auditor to find: handlers of brokers and of the controller changed at run time."""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.controller.replication_control import ReplicationControl

# --- catching up ------------------------------------------------------------------------------------------------------


def _unfenced_early(self: ReplicationControl, request: Any, now: int) -> Any:
    registration = self.registrations[request.broker_id]
    early = request.metadata_offset + 1 == registration.offset
    if early and registration.fenced and not request.want_shut_down:  # and the offset of the registration is reached
        self.last_contact_ms[request.broker_id] = now
        return self.unfence_broker(request.broker_id)
    return _original_heartbeat(self, request, now)


_original_heartbeat = ReplicationControl.heartbeat

REPLICATION: dict[str, Bug] = {
    "unfenced_one_offset_early": Bug(
        "the controller unfences a broker that has read all but its own registration",
        ReplicationControl,
        "heartbeat",
        _unfenced_early,
    ),
}
