------------------------------- MODULE Kinds -------------------------------
(***************************************************************************)
(* A variable of every kind that a trace can carry, for the test vectors   *)
(* of emitters. Its actions change one or two of them; it is no protocol.  *)
(***************************************************************************)
EXTENDS Integers, Sequences, Bounded

CONSTANTS
    Node,     \* model values
    None,     \* a model value beside them
    Without,  \* the rules that are not in force
    Least, Most,                             \* limits that mean something: of a count it is -Least that is the least
    MaxDigit, MaxList, MaxNumber, MaxSeen    \* capacities

VARIABLES count, flag, owner, word, some, digits, list, named, numbered, paired, record, pair, messages,
    total  \* hidden: no trace carries it

vars == <<count, flag, owner, word, some, digits, list, named, numbered, paired, record, pair, messages, total>>

Hidden == <<total>>

Capacities == {"MaxDigit", "MaxList", "MaxNumber", "MaxSeen"}

\* What a trace may tell of a state beside its variables.
Observed(n) == [total |-> total, word |-> word, mine |-> named[n], list |-> list]

Observers == Node

Words == {"plain", "two words", "quote \" and \\"}
Digits == {d \in 1..MaxDigit : d % 2 = 1}
Counts == (-Least)..Most
Message == [type : {"ping"}, from : Node] \cup [type : {"pong", "pung"}, from : Node, seen : 0..MaxSeen]

TypeOK ==
    /\ count \in Counts
    /\ flag \in BOOLEAN
    /\ owner \in Node \cup {None}
    /\ word \in Words
    /\ some \in SUBSET Node
    /\ digits \in SUBSET Digits
    /\ list \in BoundedSeq([at : 0..Most, by : Node], MaxList)
    /\ named \in [Node -> 0..Most]
    /\ numbered \in [1..MaxNumber -> BOOLEAN]
    /\ paired \in [Node \X {0, 1} -> SUBSET Node]
    /\ record \in [zone : Words, age : 0..Most, inner : [Node -> 0..1]]
    /\ pair \in (0..Most) \X BOOLEAN
    /\ messages \in SUBSET Message
    /\ total \in 0..99

Has(rule) == rule \notin Without

SmallStep(to) == to <= count + 3

Init ==
    /\ count = 0
    /\ flag = FALSE
    /\ owner = None
    /\ word = "plain"
    /\ some = {}
    /\ digits = {}
    /\ list = <<>>
    /\ named = [n \in Node |-> 0]
    /\ numbered = [i \in 1..MaxNumber |-> FALSE]
    /\ paired = [p \in Node \X {0, 1} |-> {}]
    /\ record = [zone |-> "plain", age |-> 0, inner |-> [n \in Node |-> 0]]
    /\ pair = <<0, FALSE>>
    /\ messages = {}
    /\ total = 0

Count(to) ==
    /\ Has("SmallStep") => SmallStep(to)
    /\ count' = to
    /\ flag' = (to > 0)
    /\ UNCHANGED <<owner, word, some, digits, list, named, numbered, paired, record, pair, messages>>
    /\ total' = total + 1

Own(n, w) ==
    /\ owner' = n
    /\ word' = w
    /\ some' = some \cup {n}
    /\ digits' = digits \cup {1, 5}
    /\ UNCHANGED <<count, flag, list, named, numbered, paired, record, pair, messages>>
    /\ total' = total + 1

Extend(n) ==
    /\ list' = list \o <<[at |-> Len(list), by |-> n]>>
    /\ named' = [named EXCEPT ![n] = @ + 1]
    /\ numbered' = [numbered EXCEPT ![2] = TRUE]
    /\ paired' = [paired EXCEPT ![<<n, 1>>] = {n}]
    /\ UNCHANGED <<count, flag, owner, word, some, digits, record, pair, messages>>
    /\ total' = total + 1

Say(m) ==
    /\ messages' = messages \cup {m}
    /\ record' = [record EXCEPT !.age = 7, !.inner = [n \in Node |-> IF n = m.from THEN 1 ELSE 0]]
    /\ pair' = <<3, TRUE>>
    /\ UNCHANGED <<count, flag, owner, word, some, digits, list, named, numbered, paired>>
    /\ total' = total + 1

Next ==
    \/ \E to \in Counts : Count(to)
    \/ \E n \in Node, w \in Words : Own(n, w)
    \/ \E n \in Node : Extend(n)
    \/ \E m \in Message : Say(m)

Spec == Init /\ [][Next]_vars
=============================================================================
