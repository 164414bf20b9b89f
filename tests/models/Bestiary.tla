------------------------------ MODULE Bestiary ------------------------------
\* The rarer shapes of types, parameters, folds and choices that specifications may use. It models nothing.
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Node, First, Second, Quorum, Top, Weight, Without
VARIABLES queue, vote, quorum, steps, table, bag, pairs, names, clock, wide, cell, book, tree, seen, history
Ghosts == <<seen, history>>
Has(rule) == rule \notin Without
DefQuorum == {s \in SUBSET Node : 2 * Cardinality(s) > Cardinality(Node)}
DefWeight == [x \in Node |-> CASE x = First -> 1 [] x = Second -> 3 [] OTHER -> 2]
vars == <<queue, vote, quorum, steps, table, bag, pairs, names, clock, wide, cell, book, tree, seen, history>>
Req == [type : {"put"}, key : 0..1, vals : BoundedSeq(0..2, 2)] \cup [type : {"get", "del"}, key : 0..1, by : Node]
Asked == [type : {"put"}, key : 0..1, vals : UNION {[1..m -> 0..2] : m \in 0..1}] \cup [type : {"get", "del"}, key : 0..1, by : Node]
Entry == [term : 0..2, cmd : Req]
WeightOf == [x \in Node |-> IF x = (CHOOSE y \in Node : \A z \in Node : Weight[y] >= Weight[z]) THEN 2 ELSE 1]
TypeOK ==
  /\ queue \in BoundedSeq(Req, 2)
  /\ vote \in [Node -> BoundedSeq(SUBSET Node, 2)]
  /\ quorum \in SUBSET (SUBSET Node)
  /\ steps \in {0, 2, 5}
  /\ table \in [{1, 3} -> [SUBSET {"x", "y"} -> 0..2]]
  /\ bag \in [Node \X {0, 1} -> 0..2]
  /\ pairs \in SUBSET (Node \X (0..2))
  /\ names \in SUBSET {"x", "y", "z"}
  /\ clock \in [0..2 -> [Node -> 0..3]]
  /\ wide \in [0..69 -> BOOLEAN]
  /\ cell \in [1..2 -> [1..2 -> {"x", "o", " "}]]
  /\ book \in [Node -> [log : BoundedSeq(Entry, 2), next : 0..2, peers : [Node -> [ack : 0..2, on : BOOLEAN]]]]
  /\ tree \in BoundedSeq(BoundedSeq(Node \X (0..1), 2), 2)
  /\ seen \in SUBSET (Node \X (0..2))
  /\ history \in [Node -> BoundedSeq(0..2, 3)]
Init ==
  /\ queue = <<>> /\ vote = [x \in Node |-> <<{}>>] /\ quorum = Quorum /\ steps = 0
  /\ table = [i \in {1, 3} |-> [s \in SUBSET {"x", "y"} |-> Cardinality(s)]]
  /\ bag = [p \in Node \X {0, 1} |-> p[2]] /\ pairs = {} /\ names = {"x"}
  /\ clock = [i \in 0..2 |-> [x \in Node |-> i]] /\ wide = [i \in 0..69 |-> i % 2 = 0]
  /\ cell = [i \in 1..2 |-> [j \in 1..2 |-> " "]]
  /\ book = [x \in Node |-> [log |-> <<>>, next |-> 0, peers |-> [y \in Node |-> [ack |-> 0, on |-> x = y]]]]
  /\ tree = <<>> /\ seen = {<<x, 0>> : x \in Node} /\ history = [x \in Node |-> <<0>>]
Max2(a, b) == IF a > b THEN a ELSE b
Sum(f, S) == FoldSet(LAMBDA x, acc : acc + f[x], 0, S)
Last(s) == s[Len(s)]
J01 == queue # <<>> => (Last(queue).type = "put" => Len(Last(queue).vals) < 2)
J02 == \A i \in DOMAIN queue : queue[i].type \in {"get", "del"} => queue[i].by \in Node
J03 == \E x \in Node : vote[x] # <<>> /\ vote[x][1] \in quorum
J04 == \A q, r \in quorum : q \cap r # {}
J05 == quorum \subseteq Quorum \/ {Node} \subseteq quorum
J06 == steps > 1 => steps \in {2, 3}
J07 == table[1][{"x"}] = table[3][names \cap {"x", "y"}]
J08 == \A x \in Node : bag[x, 0] + bag[<<x, 1>>] < 4
J09 == \A p \in pairs : p[2] > 0 \/ <<p[1], 1>> \in pairs
J10 == {p[1] : p \in pairs} = Node \/ Cardinality({p[2] : p \in pairs}) > 1
J11 == clock[0] = clock[1] \/ \E i \in 0..2 : \A x \in Node : clock[i][x] >= i
J12 == wide[7] /\ wide[69] => ~wide[0]
J13 == \E i, j \in 1..2 : cell[i][j] = "x" /\ cell[j][i] = "o"
J14 == \A x \in Node : book[x].next <= Len(book[x].log)
J15 == \A x \in Node : book[x].log # <<>> => Last(book[x].log).cmd.key = 0
J16 == \E x, y \in Node : book[x].peers[y].on /\ book[x].peers[y] = book[y].peers[x]
J17 == LET best == CHOOSE p \in pairs : \A q \in pairs : p[2] >= q[2] IN pairs # {} => best[1] \in Node
J18 == (CHOOSE r \in {[a |-> steps, b |-> names], [a |-> 0, b |-> {}]} : r.a = 2).b # {}
J19 == Sum(clock[1], Node) < 7 /\ Sum(WeightOf, Node) > Top
J20 == FoldSeq(LAMBDA r, acc : acc \o (IF r.type = "put" THEN r.vals ELSE <<>>), <<>>, queue) # <<1, 2>>
J21 == FoldSeq(LAMBDA r, acc : [acc EXCEPT ![r.key] = @ + 1], [k \in 0..1 |-> 0], queue)[0] < 2
J22 == Len(tree) > 0 /\ Len(tree[1]) = 2 => tree[1][1] # tree[1][2]
J23 == \A i \in DOMAIN tree : \A j \in DOMAIN tree[i] : tree[i][j][2] = 0 \/ tree[i][j][1] \in Node
J24 == UNION {vote[x][1] : x \in {y \in Node : vote[y] # <<>>}} = Node
J25 == {s \in SUBSET Node : Cardinality(s) = 2} \cap quorum # {}
J26 == \E f \in {clock[i] : i \in 0..2} : f = [x \in Node |-> 1]
J27 == Cardinality({clock[i] : i \in 0..2}) = 3
J28 == FoldSet(LAMBDA f, acc : Max2(acc, f[CHOOSE x \in Node : TRUE /\ x \in {y \in Node : Weight[y] = 3}]), 0, {clock[i] : i \in 0..2}) > 1
J29 == \A x \in Node : LET mine == book[x] entries == mine.log IN
         entries = <<>> \/ (LET e == entries[Len(entries)] IN e.term <= mine.next \/ e.cmd.type = "put")
J30 == SubSeq(queue, 1, 1) \o SubSeq(queue, 2, 2) = queue
J31 == [queue EXCEPT ![1].key = 1] = queue
J32 == \A x \in Node : [book EXCEPT ![x].peers[x].ack = @ + 1, ![x].log = <<>>][x].peers[x].ack = book[x].peers[x].ack + 1
J33 == [i \in DOMAIN queue |-> queue[i].type] = <<"put", "get">>
J34 == names \cup {"y"} = {"x", "y"} \/ "z" \in names
J35 == \E s \in SUBSET names, x \in Node : Cardinality(s) = 2 /\ <<x, 2>> \in pairs
J36 == (\E x \in Node : <<x, 0>> \in pairs) <=> (0 \in {p[2] : p \in pairs})
J37 == IF steps = 5 THEN cell[1] = <<"x", "x">> ELSE cell[1] # cell[2]
J38 == <<steps, names>> \in {0, 2} \X SUBSET {"x", "y"}
J39 == DOMAIN table = {1, 3} /\ DOMAIN clock[0] = Node /\ DOMAIN queue \subseteq 1..2
J40 == LET g[i \in 0..2] == clock[i][CHOOSE x \in Node : Weight[x] = 1] IN g[0] <= g[1]
J41 == CASE queue = <<>> -> TRUE [] queue # <<>> /\ Head(queue).type = "put" -> Head(queue).vals = <<>> [] OTHER -> Head(queue).key = 1
SelectSeqOf(x) == FoldSeq(LAMBDA e, acc : IF e.term = 1 THEN Append(acc, e) ELSE acc, <<>>, book[x].log)
J42 == \A x \in Node : Len(SelectSeqOf(x)) <= 1
J43 == \A k \in {1, 3} : \A s \in SUBSET {"x", "y"} : table[k][s] # 2 \/ s # {}
J44 == seen \subseteq Node \X (0..2) /\ \A x \in Node : Len(history[x]) < 3
J45 == bag \in [Node \X {0, 1} -> 0..1] \/ pairs \in SUBSET (Node \X {0, 2})
J46 == {<<p[2], p[1]>> : p \in pairs} = {<<0, x>> : x \in Node}
J47 == Cardinality(pairs \ {<<x, 1>> : x \in Node}) = 2
J48 == \E e \in {Head(book[x].log) : x \in {y \in Node : book[y].log # <<>>}} : e.cmd.type = "del"
J49 == steps \div 2 = 1 /\ (steps - 5) \div 2 = -2 /\ (steps - 5) % 2 = 1
Put(x, r, q) ==
  /\ r.type = "put" => r.vals # <<>>
  /\ q \in quorum
  /\ queue' = Append(queue, r)
  /\ vote' = [vote EXCEPT ![x] = <<q>>]
  /\ book' = [book EXCEPT ![x].log = Append(@, [term |-> 1, cmd |-> r]), ![x].peers[x].ack = 2]
  /\ UNCHANGED <<quorum, steps, table, bag, pairs, names, clock, wide, cell, tree>>
  /\ seen' = seen \cup {<<x, r.key>>}
  /\ history' = [history EXCEPT ![x] = Append(@, r.key)]
Move(p, on) ==
  /\ ~on \/ p \notin pairs
  /\ pairs' = IF on THEN pairs \cup {p} ELSE pairs \ {p}
  /\ bag' = [bag EXCEPT ![p[1], 0] = p[2], ![<<p[1], 1>>] = 0]
  /\ tree' = Append(tree, <<<<p[1], 1>>>>)
  /\ wide' = [wide EXCEPT ![3] = on]
  /\ clock' = [i \in 0..2 |-> [clock[i] EXCEPT ![p[1]] = i]]
  /\ UNCHANGED <<queue, vote, quorum, steps, table, names, cell, book>>
  /\ seen' = {s \in seen : s[1] # p[1]}
  /\ history' = [x \in Node |-> IF x = p[1] THEN <<>> ELSE history[x]]
Next == \/ \E x \in Node, r \in Asked, q \in SUBSET Node : Put(x, r, q)
        \/ \E p \in Node \X (0..2), on \in BOOLEAN : Move(p, on)
Spec == Init /\ [][Next]_vars
R01 == [][queue' = Append(queue, [type |-> "put", key |-> 0, vals |-> <<1>>])]_vars
R02 == [][queue' = Tail(queue)]_vars
R03 == [][\E x \in Node : vote' = [vote EXCEPT ![x] = Append(@, {x})]]_vars
R04 == [][quorum' = quorum \cup {Node}]_vars
R05 == [][table' = [table EXCEPT ![1][{}] = 1]]_vars
R06 == [][\E p \in Node \X {0, 1} : bag' = [bag EXCEPT ![p] = 0]]_vars
R07 == [][\E p \in Node \X (0..2) : pairs' = pairs \cup {p}]_vars
R08 == [][wide' = [wide EXCEPT ![5] = ~@]]_vars
R09 == [][\A i \in 0..69 : i # 5 => wide'[i] = wide[i]]_vars
R10 == [][cell' = [cell EXCEPT ![1][2] = "x"]]_vars
R11 == [][\E x, y \in Node : book' = [book EXCEPT ![x].peers[y].on = ~@]]_vars
R12 == [][\E x \in Node : book' = [book EXCEPT ![x].log = SubSeq(@, 1, Len(@) - 1)]]_vars
R13 == [][tree' = [tree EXCEPT ![1] = <<>>]]_vars
R14 == [][\A x \in Node : book'[x].log = book[x].log \/ book'[x].peers = book[x].peers]_vars
R15 == [][clock' = [clock EXCEPT ![1] = [x \in Node |-> 0]]]_vars
R16 == [][\A i \in DOMAIN clock : clock'[i] = clock[i]]_vars
R17 == [][steps' > steps => names' = names]_vars
R18 == [][UNCHANGED wide \/ UNCHANGED <<book, cell>>]_vars
=============================================================================
