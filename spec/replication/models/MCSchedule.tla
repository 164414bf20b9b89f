----------------------------- MODULE MCSchedule -----------------------------
(***************************************************************************)
(* One schedule a model: the n-th step of a behaviour is the n-th of a      *)
(* plan. Next is Replication's own, every action in it; the plan is an      *)
(* ACTION_CONSTRAINT, so that the actions keep their names. Where a rule    *)
(* refuses the step, the schedule ends there, or goes on as the plan says.  *)
(*                                                                          *)
(* b1, b2 and b3 are the brokers. No broker is down, and the ISR is full.   *)
(***************************************************************************)
EXTENDS ReplicationProperties, TLC

CONSTANTS
    b1, b2, b3,   \* the brokers, by name
    First         \* who leads first

ScheduleInit == Init /\ Partition.leader = First

\* The number of the step that is about to be taken.
Step == TLCGet("level")

\* The slice is sent; or it was truncated, and the connection is closed.
Sends(l, f) == ReadFetch(l, f) \/ (fetch[f][l].type = "truncated" /\ LoseFetch(f, l))

-----------------------------------------------------------------------------
(* Row 104: b2 validates a slice for b3, is deposed, cuts it and copies other records; then it sends. *)

Row104 ==
    CASE Step = 1 -> AppendRecord(b1, 1, "1")       \* b1 leads epoch 0: two records that nobody else has
      [] Step = 2 -> AppendRecord(b1, 2, "1")
      [] Step = 3 -> ElectLeader(b2)
      [] Step = 4 -> ApplyMetadata(b2, 2)           \* b2 leads epoch 1: two records, the first of them at b3, too
      [] Step = 5 -> AppendRecord(b2, 3, "1")
      [] Step = 6 -> AppendRecord(b2, 4, "1")
      [] Step = 7 -> ApplyMetadata(b3, 2)
      [] Step = 8 -> SendFetch(b3, b2)
      [] Step = 9 -> HandleFetch(b2, b3, 1)
      [] Step = 10 -> FollowerAppend(b3, b2)
      [] Step = 11 -> SendFetch(b3, b2)
      [] Step = 12 -> ValidateFetch(b2, b3, 1)      \* the second one is to be read late
      [] Step = 13 -> ElectLeader(b1)
      [] Step = 14 -> ApplyMetadata(b1, 3)          \* b1 leads epoch 2, and b2 becomes its copy
      [] Step = 15 -> ApplyMetadata(b2, 3)
      [] Step = 16 -> SendFetch(b2, b1)
      [] Step = 17 -> AnswerDiverging(b1, b2)
      [] Step = 18 -> FollowerTruncate(b2, b1)
      [] Step = 19 -> SendFetch(b2, b1)
      [] Step = 20 -> HandleFetch(b1, b2, 1)
      [] Step = 21 -> FollowerAppend(b2, b1)
      [] Step = 22 -> SendFetch(b2, b1)
      [] Step = 23 -> HandleFetch(b1, b2, 1)
      [] Step = 24 -> FollowerAppend(b2, b1)
      [] Step = 25 -> Sends(b2, b3)                 \* of epoch 0, behind a record of epoch 1
      [] Step = 26 -> FollowerAppend(b3, b2)
      [] OTHER -> FALSE

-----------------------------------------------------------------------------
(* Row 139, one epoch further: what is sent late is of an epoch between the follower's tail and its fetch's epoch. *)

Row139 ==
    CASE Step = 1 -> AppendRecord(b1, 1, "1")       \* b1 leads epoch 0: one record, at b2, too
      [] Step = 2 -> SendFetch(b2, b1)
      [] Step = 3 -> HandleFetch(b1, b2, 1)
      [] Step = 4 -> FollowerAppend(b2, b1)
      [] Step = 5 -> ElectLeader(b3)
      [] Step = 6 -> ApplyMetadata(b3, 2)           \* b3 leads epoch 1: two records that nobody else has
      [] Step = 7 -> AppendRecord(b3, 2, "all")
      [] Step = 8 -> AppendRecord(b3, 3, "all")
      [] Step = 9 -> ElectLeader(b1)
      [] Step = 10 -> ApplyMetadata(b1, 3)          \* b1 leads epoch 2: one record, which b2 fetches
      [] Step = 11 -> ApplyMetadata(b2, 3)
      [] Step = 12 -> AppendRecord(b1, 4, "1")
      [] Step = 13 -> SendFetch(b2, b1)
      [] Step = 14 -> ValidateFetch(b1, b2, 1)      \* to be read late
      [] Step = 15 -> ElectLeader(b3)
      [] Step = 16 -> ApplyMetadata(b3, 4)          \* b3 leads epoch 3, and b1 becomes its copy
      [] Step = 17 -> ApplyMetadata(b1, 4)
      [] Step = 18 -> SendFetch(b1, b3)
      [] Step = 19 -> AnswerDiverging(b3, b1)
      [] Step = 20 -> FollowerTruncate(b1, b3)
      [] Step = 21 -> SendFetch(b1, b3)
      [] Step = 22 -> AnswerDiverging(b3, b1)
      [] Step = 23 -> FollowerTruncate(b1, b3)
      [] Step = 24 -> SendFetch(b1, b3)
      [] Step = 25 -> HandleFetch(b3, b1, 2)
      [] Step = 26 -> FollowerAppend(b1, b3)
      [] Step = 27 -> Sends(b1, b2)                 \* of epoch 1, behind a record of epoch 0, to a fetch of epoch 2
      [] Step = 28 -> FollowerAppend(b2, b1)
      [] Step = 29 -> ApplyMetadata(b2, 4)
      [] Step = 30 -> SendFetch(b2, b3)             \* offset 2, last epoch 1: no divergence
      [] Step = 31 -> HandleFetch(b3, b2, 0)
      [] Step = 32 -> SendFetch(b1, b3)
      [] Step = 33 -> HandleFetch(b3, b1, 0)
      [] Step = 34 -> CompleteProduce(b3, 2, 0)
      [] Step = 35 -> ElectLeader(b2)
      [] OTHER -> FALSE
=============================================================================
