----------------------------- MODULE DurableLog -----------------------------
(***************************************************************************)
(* A log on a disk: it grows, is cut, and after a crash is a part of what  *)
(* it was, from its beginning on.                                          *)
(*                                                                         *)
(* SegmentedLog refines it, and the disk of each broker of Replication     *)
(* does: neither does more to a log. It does not follow that Replication   *)
(* knows all that files do. It does not know Starts with fewer flushed     *)
(* records, after which a second crash takes what the first one left.      *)
(* Left out: log start offsets. A log begins at 0.                         *)
(***************************************************************************)
EXTENDS Integers, Sequences

VARIABLES
    up,             \* the process runs
    log,            \* the records, each with its epoch
    flushed,        \* so many of them survive a crash
    epochCache,     \* leader epochs with their start offsets
    highWatermark,
    checkpoint      \* the high watermark in its file

vars == <<up, log, flushed, epochCache, highWatermark, checkpoint>>

-----------------------------------------------------------------------------
(* Vocabulary *)

\* LeaderEpochFileCache: entries increase in epoch and start.
Extended(cache, e, offset) ==
    IF cache # <<>> /\ cache[Len(cache)].epoch = e THEN cache
    ELSE Append(SelectSeq(cache, LAMBDA entry : entry.epoch < e /\ entry.start < offset), [epoch |-> e, start |-> offset])
Trimmed(cache, end) == SelectSeq(cache, LAMBDA entry : entry.start < end)

IsPrefix(s, t) == Len(s) <= Len(t) /\ s = SubSeq(t, 1, Len(s))

-----------------------------------------------------------------------------
(* A process that runs *)

\* Records are appended, one or several; the cache learns their epochs.
Appends ==
    /\ up /\ up'
    /\ Len(log') > Len(log) /\ IsPrefix(log, log')
    /\ Len(log') = Len(log) + 1 => epochCache' = Extended(epochCache, log'[Len(log')].epoch, Len(log))
    /\ Len(log') > Len(log) + 1 =>
        \A i \in (Len(log) + 1)..Len(log') : \E j \in 1..Len(epochCache') :
            /\ epochCache'[j].epoch = log'[i].epoch /\ epochCache'[j].start < i
            /\ \A k \in 1..Len(epochCache') : epochCache'[k].start < i => k <= j
    /\ highWatermark' <= Len(log')
    /\ flushed' = flushed
    /\ UNCHANGED checkpoint

\* A leader's epoch begins; a leader that is alone commits at once.
BeginsEpoch ==
    /\ up /\ up'
    /\ epochCache' # <<>>
    /\ epochCache' = Extended(epochCache, epochCache'[Len(epochCache')].epoch, Len(log))
    /\ highWatermark' <= Len(log)
    /\ UNCHANGED <<log, flushed, checkpoint>>

Flushes ==
    /\ up /\ up'
    /\ flushed <= flushed' /\ flushed' <= Len(log)
    /\ UNCHANGED <<log, epochCache, highWatermark, checkpoint>>

\* A follower's may fall: it takes that of its leader.
Commits ==
    /\ up /\ up'
    /\ highWatermark' <= Len(log)
    /\ UNCHANGED <<log, flushed, epochCache, checkpoint>>

Checkpoints ==
    /\ up /\ up'
    /\ checkpoint' = highWatermark
    /\ UNCHANGED <<log, flushed, epochCache, highWatermark>>

\* The log is cut. A cut at its end takes epochs without records only.
Truncates ==
    /\ up /\ up'
    /\ IsPrefix(log', log)
    /\ epochCache' = Trimmed(epochCache, Len(log'))
    /\ flushed' = IF flushed < Len(log') THEN flushed ELSE Len(log')
    /\ highWatermark' = IF highWatermark < Len(log') THEN highWatermark ELSE Len(log')
    /\ UNCHANGED checkpoint

-----------------------------------------------------------------------------
(* The end of a process, and the next one *)

\* What is on disk may be less than the log was, and no less than was flushed.
Loses ==
    /\ ~up'
    /\ IsPrefix(log', log) /\ flushed <= Len(log')
    /\ flushed <= flushed' /\ flushed' <= Len(log')
    /\ epochCache' = Trimmed(epochCache, Len(log'))
    /\ highWatermark' = IF checkpoint' < Len(log') THEN checkpoint' ELSE Len(log')

Crashes == up /\ Loses /\ UNCHANGED checkpoint
Stops   == up /\ Loses /\ log' = log /\ checkpoint' = highWatermark
Settles == ~up /\ Loses /\ UNCHANGED checkpoint

\* The next process knows less of what was flushed.
Starts ==
    /\ ~up /\ up'
    /\ flushed' <= Len(log)
    /\ UNCHANGED <<log, epochCache, highWatermark, checkpoint>>

-----------------------------------------------------------------------------
Init ==
    /\ up = TRUE
    /\ log = <<>>
    /\ flushed = 0
    /\ epochCache = <<>> \/ epochCache = <<[epoch |-> 0, start |-> 0]>>    \* the first leader's
    /\ highWatermark = 0
    /\ checkpoint = 0

Next == Appends \/ BeginsEpoch \/ Flushes \/ Commits \/ Checkpoints \/ Truncates \/ Crashes \/ Stops \/ Settles \/ Starts

Spec == Init /\ [][Next]_vars
=============================================================================
