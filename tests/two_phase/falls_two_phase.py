"""Two-phase commit: per property a state or a step in which exactly that is wrong."""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table

DECISION_TO_COMMIT = '[type |-> "decision", outcome |-> "committed"]'
DECISION_TO_ABORT = '[type |-> "decision", outcome |-> "aborted"]'
COMMITTED = {"tmState": '"committed"', "messages": f"{{{DECISION_TO_COMMIT}}}"}

TABLE = Table(
    "",
    Path("two_phase/TwoPhase.tla"),
    Path("two_phase/TwoPhase.cfg"),
    [
        Fall(
            "Consistency",
            "one has committed, another has given up",
            {"rmState[r2]": '"aborted"'},
            good={"rmState[r1]": '"committed"'},
        ),
        Fall(
            "OneDecision",
            "both decisions were sent",
            {"messages": f"{{{DECISION_TO_COMMIT}, {DECISION_TO_ABORT}}}"},
            good=COMMITTED,
        ),
        Fall(
            "DecidedOnce",
            "a resource manager has changed its mind",
            {"decided[r1]": '{"committed", "aborted"}'},
            good={"decided[r1]": '{"committed"}'},
        ),
        Fall(
            "OutcomeIsFinal",
            "a resource manager changes its mind",
            {"rmState[r1]": '"aborted"'},
            good={"rmState[r1]": '"committed"'},
            step={"rmState[r2]": '"committed"'},
        ),
        Fall(
            "QuiescentAllDecided",
            "a resource manager has not carried out the decision",
            {"rmState[r3]": '"prepared"'},
            good={
                **COMMITTED,
                "rmState": '(r1 :> "committed" @@ r2 :> "committed" @@ r3 :> "committed")',
            },
        ),
    ],
)
