"""Delivery, what exactly once promises: per property a state or a step in which exactly that is wrong.

The good state: topic 0 has three records. The results of the first two count, and the first was returned; i1 has
written that of the third, undecided.
"""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table, record

GOOD = {
    "input[0]": "3",
    "open[i1][0]": record({"from": "2", "to": "3"}),
    "committed[0]": "2",
    "delivered[0]": "1",
}
COMMITTED = {"open[i1][0]": record({"from": "0", "to": "0"}), "committed[0]": "3"}
QUIET = {**GOOD, **COMMITTED, "delivered[0]": "3"}

TABLE = Table(
    "",
    Path("exactly_once/Delivery.tla"),
    Path("exactly_once/Delivery.cfg"),
    [
        Fall("DeliveredOnce", "a result was returned again", {"stray[0]": "1"}, good=GOOD),
        Fall("DeliveredIsCommitted", "an undecided result was returned", {"delivered[0]": "3"}, good=GOOD),
        Fall("DeliveredIsCommitted", "what counts has no record", {"committed[0]": "4"}, good=GOOD),
        Fall("OpenIsOfRecords", "a result has no record", {"open[i1][0].to": "4"}, good=GOOD),
        Fall("OpenIsOfRecords", "what is open ends before it begins", {"open[i1][0].from": "4"}, good=GOOD),
        Fall("DeliveryAdvances", "what counts does not any more", {"committed[0]": "1"}, good=GOOD, step=COMMITTED),
        Fall("DeliveryAdvances", "what was returned is not", {"delivered[0]": "0"}, good=GOOD, step=COMMITTED),
        Fall("DeliveryAdvances", "a record comes meanwhile", {"input[0]": "4"}, good=GOOD, step=COMMITTED),
        Fall("QuiescentAllDelivered", "a result was not returned", {"delivered[0]": "2"}, good=QUIET),
    ],
)
