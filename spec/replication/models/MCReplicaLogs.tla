--------------------------- MODULE MCReplicaLogs ----------------------------
(***************************************************************************)
(* Replication beside the reader of two brokers' disks. The reader copies  *)
(* each broker's checkpoint, later its log, at any time; then it reads the *)
(* copies as ReplicaLogs does. A batch is a record. All else that happens  *)
(* after the copies have been taken is left out, and View forgets what the *)
(* brokers were.                                                           *)
(***************************************************************************)
EXTENDS MCSafety

CONSTANTS One, Other   \* the brokers that are copied

VARIABLES
    copy,   \* per side: what has been copied of it, and the step of the copy: 0 nothing, 1 the checkpoint, 2 the log, too
    at,     \* the offset that is read next
    read,   \* the pair that was read last
    apart   \* whether a pair had different epochs

copyVars == <<copy, at, read, apart>>

Sides == {"one", "other"}
Broker(s) == IF s = "one" THEN One ELSE Other
NoBatch == [type |-> "none"]

ReadInit ==
    /\ MCInit
    /\ copy = [s \in Sides |-> [step |-> 0, hw |-> -1, log |-> <<>>, stopped |-> FALSE]]
    /\ at = 0
    /\ read = [s \in Sides |-> NoBatch]
    /\ apart = FALSE

Copied == \A s \in Sides : copy[s].step = 2

CopyCheckpoint(s) ==
    /\ copy[s].step = 0
    /\ copy' = [copy EXCEPT ![s] = [step |-> 1, hw |-> checkpoint[Broker(s)], log |-> <<>>,
                                    stopped |-> status[Broker(s)] = "stopped"]]
    /\ UNCHANGED <<at, read, apart>>

CopyLog(s) ==
    /\ copy[s].step = 1
    /\ copy' = [copy EXCEPT ![s].step = 2, ![s].log = log[Broker(s)], ![s].stopped = @ /\ status[Broker(s)] = "stopped"]
    /\ UNCHANGED <<at, read, apart>>

BatchAt(s) ==
    IF at >= Len(copy[s].log) THEN NoBatch
    ELSE [type |-> "batch", first |-> at, last |-> at, epoch |-> copy[s].log[at + 1].epoch, content |-> copy[s].log[at + 1].value]

Read ==
    /\ Copied
    /\ \E s \in Sides : at < Len(copy[s].log)
    /\ read' = [s \in Sides |-> BatchAt(s)]
    /\ at' = at + 1
    /\ apart' = (apart \/ (read'["one"].type = "batch" /\ read'["other"].type = "batch" /\ read'["one"].epoch # read'["other"].epoch))
    /\ UNCHANGED copy

Reader ==
    /\ (~Copied /\ \E s \in Sides : CopyCheckpoint(s) \/ CopyLog(s)) \/ Read
    /\ UNCHANGED vars

ReadFreeNext    == (~Copied /\ FreeNext /\ UNCHANGED copyVars) \/ Reader
ReadHurriedNext == (~Copied /\ HurriedSafetyNext /\ UNCHANGED copyVars) \/ Reader

View == IF Copied THEN <<copyVars>> ELSE <<copyVars, WithHistory>>

-----------------------------------------------------------------------------
(* Refinement *)

Logs == INSTANCE ReplicaLogs WITH
    MaxOffset     <- MaxLog, MaxContent <- MaxValue,
    start         <- [s \in Sides |-> 0],
    end           <- [s \in Sides |-> Len(copy[s].log)],
    highWatermark <- [s \in Sides |-> copy[s].hw],
    stopped       <- [s \in Sides |-> copy[s].stopped],
    compacted     <- FALSE,
    pair          <- read,
    parted        <- apart

\* From the moment at which all is copied, the reader sees a behaviour of ReplicaLogs.
ReplicaLogsInit  == Copied /\ at = 0 => Logs!Init
ReplicaLogsSteps == [][Copied => Logs!Next]_(Logs!vars)

\* The copied logs part. A model must reach it; this falls.
NeverParted == ~apart
=============================================================================
