----------------------------- MODULE MCLogAgree -----------------------------
(***************************************************************************)
(* SegmentedLog on full graphs of some thousand states, for `tidemark      *)
(* agree` and for coverage. Next is the specification's own, every action  *)
(* in it. The constraint says which states are expanded; what lies just    *)
(* outside is in the graph, too.                                           *)
(***************************************************************************)
EXTENDS SegmentedLogProperties

CONSTANTS
    Batches,   \* batches that are appended
    Files,     \* segments at a time
    Families   \* what goes on; other actions are taken, and what would follow them is left out

ASSUME Families \subseteq {"down", "dark", "truncate", "flush", "read", "start", "elect", "checkpoint", "commit", "producers"}

On(family) == family \in Families

Bounds ==
    /\ appended <= Batches
    /\ Len(segments) <= Files
    /\ On("down") \/ status \notin {"down", "loading"}
    /\ On("dark") \/ status # "dark"
    /\ On("truncate") \/ appended = 0 \/ status # "running" \/ record[appended - 1] = appended
    /\ On("flush") \/ (scheduled = {} /\ flushed = {})
    /\ On("read") \/ reading = NotReading
    /\ On("start") \/ deleted = 0
    /\ On("elect") \/ Len(epochCache) <= 1
    /\ On("checkpoint") \/ checkpoints = [hw |-> 0, recovery |-> 0, start |-> 0]
    /\ On("commit") \/ highWatermark = 0
    /\ On("producers") \/ producerState = NoState
=============================================================================
