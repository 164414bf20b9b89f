------------------------------- MODULE Ledger -------------------------------
\* A small specification for the tests of the TLC machinery: records in a bounded queue, a lock, two histories, a
\* constraint, an action property on some of the variables, and rules as guard and as effect.
EXTENDS Naturals, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Client,    \* who has an account
    None,      \* nobody
    Max,       \* capacity: money
    MaxQueue,  \* capacity: orders that wait
    Without    \* the safety rules that are not in force

VARIABLES
    balance,  \* per client
    queue,    \* orders that wait
    holder,   \* who holds the lock
    paid,     \* history: per client, how much it ever deposited, at most Max
    served    \* history: the kinds of orders that were ever carried out

vars == <<balance, queue, holder, paid, served>>

Ghosts == <<paid, served>>

Order == [type : {"deposit"}, to : Client, amount : 1..Max] \cup [type : {"move"}, from : Client, to : Client]

TypeOK ==
    /\ balance \in [Client -> 0..Max]
    /\ queue \in BoundedSeq(Order, MaxQueue)
    /\ holder \in Client \cup {None}
    /\ paid \in [Client -> 0..Max]
    /\ served \in SUBSET {"deposit", "move"}

Has(rule) == rule \notin Without

\* Without it the lock goes from one client to another directly.
LockIsFree == holder = None

\* Without it a move from an empty account makes money.
RefuseEmpty(c) == balance[c] = 0

Least(a, b) == IF a < b THEN a ELSE b

Init ==
    /\ balance = [c \in Client |-> 0]
    /\ queue = <<>>
    /\ holder = None
    /\ paid = [c \in Client |-> 0]
    /\ served = {}

NextPaid == [c \in Client |-> IF balance'[c] > balance[c] /\ Head(queue).type = "deposit"
                              THEN Least(Max, paid[c] + balance'[c] - balance[c]) ELSE paid[c]]
NextServed == served \cup {Head(queue).type}

Lock(c) ==
    /\ holder # c
    /\ Has("LockIsFree") => LockIsFree
    /\ holder' = c
    /\ UNCHANGED <<balance, queue, paid, served>>

Unlock ==
    /\ holder # None
    /\ holder' = None
    /\ UNCHANGED <<balance, queue, paid, served>>

AskDeposit(c, n) ==
    /\ holder = c
    /\ Len(queue) < MaxQueue
    /\ queue' = Append(queue, [type |-> "deposit", to |-> c, amount |-> n])
    /\ UNCHANGED <<balance, holder, paid, served>>

AskMove(c, d) ==
    /\ holder = c /\ c # d
    /\ Len(queue) < MaxQueue
    /\ queue' = Append(queue, [type |-> "move", from |-> c, to |-> d])
    /\ UNCHANGED <<balance, holder, paid, served>>

Serve ==
    /\ queue # <<>>
    /\ queue' = Tail(queue)
    /\ LET order == Head(queue) IN
       CASE order.type = "deposit" ->
              balance' = [balance EXCEPT ![order.to] = Least(Max, @ + order.amount)]
         [] order.type = "move" ->
              balance' = IF Has("RefuseEmpty") /\ RefuseEmpty(order.from)
                         THEN balance
                         ELSE [balance EXCEPT ![order.from] = IF @ > 0 THEN @ - 1 ELSE 0, ![order.to] = Least(Max, @ + 1)]
    /\ UNCHANGED holder
    /\ paid' = NextPaid
    /\ served' = NextServed

Next ==
    \/ \E c \in Client : Lock(c)
    \/ Unlock
    \/ \E c \in Client, n \in 1..Max : AskDeposit(c, n)
    \/ \E c \in Client, d \in Client : AskMove(c, d)
    \/ Serve

Spec == Init /\ [][Next]_vars

Sum(f) == FoldSet(LAMBDA c, sum : sum + f[c], 0, Client)

\* Nobody has more than all have paid; falls even with all rules, where more was paid than `paid` can say.
NothingFromNothing == Sum(balance) <= Sum(paid)

\* The lock changes hands through nobody.
ThroughNobody == [][holder = None \/ holder' = None]_holder

QuiescentServed == queue = <<>>

Small == Len(queue) <= 1
=============================================================================
