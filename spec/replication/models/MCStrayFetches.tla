--------------------------- MODULE MCStrayFetches ---------------------------
(***************************************************************************)
(* StrayFetches beside MCSafety's bounds: every interleaving of fetches as  *)
(* in FreeNext, and strays that are counted at any time.                    *)
(***************************************************************************)
EXTENDS StrayFetches, MCSafety

StrayMCInit == MCInit /\ StrayInit

StrayNext == (FreeNext /\ stray' = NextStray) \/ (\E l, f \in Brokers : CountStray(l, f))

StrayView == <<NoHistory, stray>>
=============================================================================
