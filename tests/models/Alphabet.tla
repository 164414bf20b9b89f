------------------------------ MODULE Alphabet ------------------------------
\* One variable of every type, and one predicate per construct that specifications may use: what the backends are
\* compared on, state by random state. It models nothing.
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Node, None, Limit, Without
VARIABLES n, flag, who, maybe, set, nums, seq, log, fun, grid, pair, slot, box, msgs, row, deep, hist, total
Ghosts == <<hist, total>>
Has(rule) == rule \notin Without
R1(x) == set # {x}
R2(k) == k > 0
vars == <<n, flag, who, maybe, set, nums, seq, log, fun, grid, pair, slot, box, msgs, row, deep, hist, total>>
Small == 0..3
Rec == [epoch : 0..2, value : 1..3]
Slot == [type : {"idle"}] \cup [type : {"req", "ack"}, from : Node, epoch : -1..2] \cup [type : {"rep"}, recs : BoundedSeq(Rec, 2), epoch : -1..2]
Msg == [type : {"a"}, from : Node] \cup [type : {"b"}, to : Node, ok : BOOLEAN]
TypeOK ==
  /\ n \in -2..5
  /\ flag \in BOOLEAN
  /\ who \in Node
  /\ maybe \in Node \cup {None}
  /\ set \in SUBSET Node
  /\ nums \in SUBSET (0..4)
  /\ seq \in BoundedSeq(0..3, 4)
  /\ log \in [Node -> BoundedSeq(Rec, 3)]
  /\ fun \in [Node -> 0..4]
  /\ grid \in [Node \X Node -> Small]
  /\ pair \in (0..2) \X Node
  /\ slot \in [Node -> Slot]
  /\ box \in [a : Small, b : SUBSET Node, c : BOOLEAN, f : [Node -> Small]]
  /\ msgs \in SUBSET Msg
  /\ row \in [1..3 -> Small]
  /\ deep \in [Node -> [Node -> Small]]
  /\ hist \in BoundedSeq(Node, 4)
  /\ total \in 0..20
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Min2(a, b) == IF a < b THEN a ELSE b
Init == /\ n = 0 /\ flag = FALSE /\ who \in Node /\ maybe = None /\ set = {} /\ nums = {1} /\ seq = <<>>
        /\ log = [x \in Node |-> <<>>] /\ fun = [x \in Node |-> 0] /\ grid = [p \in Node \X Node |-> 0]
        /\ pair \in {<<0, who>>} /\ slot = [x \in Node |-> [type |-> "idle"]]
        /\ box = [a |-> 0, b |-> {}, c |-> FALSE, f |-> [x \in Node |-> 0]] /\ msgs = {} /\ row = <<0, 1, 2>>
        /\ deep = [x \in Node |-> [y \in Node |-> 0]] /\ hist = <<>> /\ total = 0
I01 == n + 2 * n - 3 < 4 \/ n % 3 = 1 \/ n \div 2 = 1 \/ -n > 1
I02 == flag => who \in set
I03 == (flag <=> (n > 0)) \/ maybe = None
I04 == maybe # None /\ maybe = who
I05 == Cardinality(set \cup {who}) <= 2 /\ set \cap {who} # {}
I06 == set \subseteq Node \ {who}
I07 == nums # {} => Max(nums) \in nums
I08 == \A i \in 1..Len(seq) : seq[i] \in nums
I09 == Len(seq) > 1 => Head(seq) = seq[Len(seq)]
I10 == Append(seq, n) = <<0, 1>> \/ Tail(seq \o <<1>>) = seq
I11 == SubSeq(seq, 2, Len(seq)) = <<>> \/ SubSeq(seq, 1, 2) = <<1, 2>>
I12 == \E x \in Node : Len(log[x]) > 0 /\ log[x][1].epoch = 1
I13 == \A x, y \in Node : x # y => log[x] # log[y]
I14 == \A x \in Node, i \in 1..3 : i \in DOMAIN log[x] => log[x][i].value > log[x][i].epoch
I15 == [fun EXCEPT ![who] = @ + 1][who] = 3
I16 == \E x, y \in Node : grid[x, y] = 3 /\ grid[<<y, x>>] = 0
I17 == pair[1] = 0 \/ pair[2] = who
I18 == \A x \in Node : slot[x].type = "req" => slot[x].from # x
I19 == \E x \in Node : slot[x].type = "rep" /\ Len(slot[x].recs) = 2 /\ slot[x].recs[2] = [epoch |-> 1, value |-> 2]
I20 == slot[who].epoch >= 0
I21 == box.c \/ box.a \in {0, 2} \/ box = [a |-> 1, b |-> {who}, c |-> FALSE, f |-> fun]
I22 == [type |-> "a", from |-> who] \in msgs /\ [type |-> "b", to |-> who, ok |-> flag] \notin msgs
I23 == Cardinality({m \in msgs : m.type = "b" /\ m.ok}) = Cardinality({m.from : m \in {k \in msgs : k.type = "a"}})
I24 == row[1] + row[2] = row[3] \/ row[n] = 1
I25 == deep[who] = fun \/ \A x \in Node : deep[x][x] = deep[who][x]
I26 == FoldSet(LAMBDA x, acc : acc + fun[x], 0, set) < 6
I27 == FoldSeq(LAMBDA x, acc : acc * 2 + x, 1, seq) % 3 # 0
I28 == {fun[x] : x \in set} \subseteq nums
I29 == LET m == {fun[x] : x \in Node} top == Max(m) IN top > 1 => top \in m /\ Cardinality(m) > 1
I30 == CASE n < 0 -> flag [] n = 0 -> ~flag [] n > 3 -> set = {}
I31 == (CASE n < 0 -> {} [] n = 1 -> {who} [] OTHER -> set) \subseteq set
I32 == \E s \in SUBSET set : Cardinality(s) = 2 /\ who \in s
I33 == UNION {{x} : x \in set} = set /\ UNION {{fun[x], 0} : x \in Node} # nums
I34 == (CHOOSE x \in Node : fun[x] = 0) \in set
I35 == [x \in set |-> fun[x]] = [x \in {who} |-> 0]
I36 == LET newlog == [log EXCEPT ![who] = Append(@, [epoch |-> 0, value |-> 1])] IN Len(newlog[who]) = 2 /\ newlog[who][2] = newlog[who][1]
I37 == [x \in Node |-> IF x = who THEN fun[x] + 1 ELSE fun[x]] = [fun EXCEPT ![who] = fun[who] + 1]
I38 == seq \in Seq(0..2) /\ n \in Nat
I39 == (IF flag THEN log[who] ELSE SubSeq(log[who], 1, 1)) = <<[epoch |-> 1, value |-> 1]>>
I40 == nums = {x \in 0..4 : x % 2 = 0} \/ nums \cap (1..3) = {1, 2}
I41 == \E i, j \in DOMAIN seq : i < j /\ seq[i] > seq[j]
I42 == Limit > n /\ Limit - 1 >= Cardinality(Node)
I43 == SUBSET set # {{}} /\ {who} \in SUBSET set
I44 == <<n, who>> \in (0..2) \X set
I45 == box \in [a : {0, 1}, b : SUBSET {who}, c : BOOLEAN, f : [Node -> 0..2]]
I46 == fun \in [Node -> {0, 1, 2}]
I47 == slot[who] \in [type : {"req"}, from : set, epoch : 0..1] \cup [type : {"idle"}]
I48 == LET f[x \in Node] == fun[x] + n IN \E x \in Node : f[x] = 3
I49 == [box EXCEPT !.a = 1, !.f[who] = @ + 1].f[who] = box.f[who] + 1
I50 == [seq EXCEPT ![1] = 3] = <<3, 1>>
I51 == [deep EXCEPT ![who][who] = 0, ![who] = [@ EXCEPT ![who] = 1]][who][who] = 1
I52 == [i \in 1..Len(seq) |-> seq[i] + 1] = <<1, 2>>
I53 == \A x \in Node : log[x] # <<>> => \E y \in Node \ {x} : Len(log[y]) >= Len(log[x]) /\ SubSeq(log[y], 1, Len(log[x])) = log[x]
I54 == Has("R1") => R1(who)
I55 == IF Has("R2") /\ R2(n) THEN flag ELSE ~flag
I56 == {<<x, fun[x]>> : x \in set} = {<<who, 1>>}
I57 == \A p \in Node \X set : grid[p] # 2
I58 == nums \ {Min2(n, 2)} = {0}
I59 == {x \in Node : fun[x] > 1} = set
I60 == maybe \in set \/ (maybe = None /\ set = {})
I61 == "idle" = slot[who].type \/ slot[who].type \in {"req", "rep"}
I62 == slot[who] = [type |-> IF flag THEN "req" ELSE "ack", from |-> who, epoch |-> -1]
I63 == Cardinality({slot[x].type : x \in Node}) = 2
I64 == LET S == {x \in Node : slot[x].type = "rep"} IN S # {} => \E x \in S : slot[x].recs # <<>>
I65 == FoldSeq(LAMBDA r, acc : Append(acc, r.epoch), <<>>, log[who]) = <<0, 1>>
I66 == FoldSet(LAMBDA x, acc : acc \cup {fun[x]}, {}, set) = nums
I67 == FoldSet(LAMBDA x, acc : [acc EXCEPT ![x] = 0], fun, set) = fun
I68 == \A i \in 1..Len(seq) - 1 : seq[i] <= seq[i + 1]
I69 == row = [i \in 1..3 |-> i - 1] \/ row = <<1, 2, n>>
I70 == Tail(seq) = <<2>> \/ Head(Tail(seq)) = 2
I71 == DOMAIN seq = nums \/ DOMAIN log = set \/ DOMAIN box = {"a"}
I72 == TRUE \in {flag, n = 1}
I73 == \E m \in msgs : m = [type |-> "b", to |-> who, ok |-> TRUE]
I74 == LET pick == IF flag THEN slot[who] ELSE [type |-> "idle"] IN pick.type = "rep" => pick.epoch = 1
I75 == Cardinality({log[x] : x \in Node}) < 3
I76 == [(IF flag THEN box ELSE [box EXCEPT !.a = 1]) EXCEPT !.c = flag] = [box EXCEPT !.c = TRUE]
I77 == [(IF n > 1 THEN box ELSE [a |-> 0, b |-> set, c |-> flag, f |-> fun]) EXCEPT !.a = 3, !.f[who] = @ + 1].f[who] = box.f[who] + 1
I78 == LET changed == [(CASE n < 0 -> box [] OTHER -> [box EXCEPT !.b = {}]) EXCEPT !.a = 2] IN changed.a = 2 /\ changed.b = set
I79 == [(IF flag THEN fun ELSE [x \in Node |-> 0]) EXCEPT ![who] = @ + 1] = [fun EXCEPT ![who] = 1]
Step(x, k) ==
  /\ fun[x] < k
  /\ Has("R1") => R1(x)
  /\ fun' = [fun EXCEPT ![x] = k]
  /\ log' = [log EXCEPT ![x] = Append(@, [epoch |-> 1, value |-> k + 1])]
  /\ set' = set \cup {x}
  /\ nums' = IF Has("R2") /\ R2(k) THEN nums \cup {k} ELSE nums
  /\ UNCHANGED <<n, flag, who, maybe, seq, grid, pair, slot, box, msgs, row, deep>>
  /\ hist' = Append(hist, x)
  /\ total' = total + k
Swap(x, y, s) ==
  LET old == deep[x] IN
  /\ x # y
  /\ \/ s = {} /\ deep' = [deep EXCEPT ![x] = deep[y], ![y] = old]
     \/ s # {} /\ deep' = [z \in Node |-> IF z \in s THEN deep[x] ELSE deep[z]]
  /\ slot' = [slot EXCEPT ![x] = [type |-> "req", from |-> y, epoch |-> n - 1]]
  /\ grid' = [grid EXCEPT ![x, y] = @ + 1, ![<<y, x>>] = 0]
  /\ box' = [box EXCEPT !.b = s, !.f[x] = fun[y], !.c = ~@]
  /\ UNCHANGED <<n, flag, who, maybe, set, nums, seq, log, fun, pair, msgs, row, hist>>
  /\ total' = FoldSet(LAMBDA z, acc : acc + fun[z], 0, Node)
Other ==
  /\ seq # <<>>
  /\ CASE seq[1] = 0 -> n' = n [] OTHER -> n' = Min2(n + 1, 5)
  /\ flag' = ~flag
  /\ maybe' \in set \cup {None}
  /\ seq' = IF flag THEN Tail(seq) ELSE SubSeq(seq, 1, Len(seq) - 1)
  /\ pair' = <<0, pair[2]>>
  /\ msgs' = (msgs \ {[type |-> "a", from |-> who]}) \cup {[type |-> "b", to |-> z, ok |-> FALSE] : z \in set}
  /\ row' = [row EXCEPT ![2] = row[1]]
  /\ who' = who /\ UNCHANGED <<set, nums, log, fun, grid, slot, box, deep>>
  /\ hist' = IF Len(hist) > 1 THEN SubSeq(hist, 2, Len(hist)) ELSE <<who>>
  /\ UNCHANGED total
Next == \/ \E x \in Node, k \in 0..2 : Step(x, k)
        \/ \E x, y \in Node, s \in SUBSET Node : Swap(x, y, s)
        \/ Other
Spec == Init /\ [][Next]_vars
I80 == /\ \A x \in Node : fun[x] # 3 \/ log[x] = <<>>
       /\ n # 4
       /\ \A x \in Node : fun[x] < 4 \/ flag
I81 == \A x, y \in Node : fun[x] > 2 /\ fun[y] > 2 => x = y
I82 == \A x, y \in Node : fun[x] + 2 < fun[y] => x = y
I83 == \A i, j \in 1..3 : row[i] = row[j] => i = j
I84 == \A x, y \in Node : deep[x][y] = 3 /\ deep[y][y] = 3 => x = y
I85 == \A x \in Node : fun[x] > 3 => \A y \in Node : flag => log[y] = <<>>
I86 == \A x, y \in Node : fun[x] = 4 /\ slot[y].type = "req" => x = y
I87 == \A x, y \in Node : (\E z \in Node : fun[x] = 4 /\ z # x) /\ (\E z \in Node : fun[y] = 4 /\ z # y) => x = y
I88 == Limit > 5
I89 == \A x \in set : fun[x] # 2
Least(S) == CHOOSE x \in S : \A y \in S : x <= y
I90 == LET at == {i \in 1..3 : row[i] > 0} IN at # {} => row[Least(at)] <= row[CHOOSE i \in at : \A j \in at : i >= j]
I91 == Max({n, fun[who], 1}) < 3
I92 == Least({n, total} \ {0}) > 1
I93 == Least(nums) + Least({fun[x] : x \in set \cup {who}}) # 3
I94 == (CHOOSE x \in nums : \A y \in nums : x > y \/ x = y) # 1
I95 == (CHOOSE x \in {total, n, fun[who]} : \A y \in {total, n, fun[who]} : x <= y) # 2
I96 == (CHOOSE x \in {n, fun[who], total} : \A y \in {n, fun[who], total} : y <= x) # 3
I97 == Least(nums \cup {i \in 1..3 : row[i] > 2}) < 2
I98 == (CHOOSE x \in nums : \A y \in 0..n : x >= y) # 2
P1 == [][\A x \in Node : fun'[x] >= fun[x]]_vars
P2 == [][set # set' => Cardinality(set') > Cardinality(set)]_vars
P3 == [][Len(hist') >= Len(hist)]_vars
P4 == [][\A x \in Node : Len(log'[x]) >= Len(log[x]) /\ SubSeq(log'[x], 1, Len(log[x])) = log[x]]_vars
P5 == [][n' = n + 1 \/ UNCHANGED <<seq, flag>>]_vars

Q01 == [][fun' = [fun EXCEPT ![who] = 2]]_vars
Q02 == [][fun' = [fun EXCEPT ![who] = @ + 1, ![CHOOSE x \in Node : x # who /\ \A y \in Node \ {who} : fun[x] >= fun[y] /\ (x = y \/ fun[x] > fun[y])] = 0]]_vars
Q03 == [][log' = [log EXCEPT ![who] = Append(@, [epoch |-> 0, value |-> 1])]]_vars
Q04 == [][log' = [log EXCEPT ![who] = SubSeq(@, 1, Len(@) - 1)]]_vars
Q05 == [][log' = [log EXCEPT ![who] = Tail(@)]]_vars
Q06 == [][log' = [log EXCEPT ![who] = log[who] \o SubSeq(log[who], 1, 1)]]_vars
Q07 == [][seq' = Append(seq, 1)]_vars
Q08 == [][seq' = [seq EXCEPT ![1] = 0]]_vars
Q09 == [][seq' = IF flag THEN Tail(seq) ELSE SubSeq(seq, 1, Len(seq) - 1)]_vars
Q10 == [][set' = set \cup {who}]_vars
Q11 == [][set' = set \ {who}]_vars
Q12 == [][nums' = IF n > 1 THEN nums \cup {1} ELSE nums \ {n}]_vars
Q13 == [][deep' = [deep EXCEPT ![who][who] = 1]]_vars
Q14 == [][deep' = [x \in Node |-> IF x = who THEN [y \in Node |-> IF y = who THEN 0 ELSE deep[x][y]] ELSE deep[x]]]_vars
Q15 == [][slot' = [slot EXCEPT ![who] = [type |-> "idle"]]]_vars
Q16 == [][slot' = [slot EXCEPT ![who] = IF flag THEN [type |-> "rep", recs |-> <<>>, epoch |-> n] ELSE @]]_vars
Q17 == [][box' = [box EXCEPT !.a = 1]]_vars
Q18 == [][box' = [box EXCEPT !.f[who] = 2, !.c = box.c]]_vars
Q19 == [][msgs' = msgs \cup {[type |-> "a", from |-> who]}]_vars
Q20 == [][row' = [row EXCEPT ![2] = 0]]_vars
Q21 == [][pair' = [pair EXCEPT ![1] = 1]]_vars
Q22 == [][grid' = [grid EXCEPT ![who, who] = @ + 1]]_vars
Q23 == [][\E x \in Node : fun' = [fun EXCEPT ![x] = fun[who]]]_vars
Q24 == [][who' \in set \/ who' = who]_vars
Q25 == [][maybe' = IF flag THEN who ELSE maybe]_vars
Q26 == [][LET new == [fun EXCEPT ![who] = 1] IN fun' = new /\ new[who] = 1]_vars
Q27 == [][UNCHANGED <<n, flag>> \/ (n' = n /\ flag' = ~flag) \/ n' > n]_vars
Q28 == [][\A x \in Node \ {who} : log'[x] = log[x] /\ fun'[x] = fun[x]]_vars
Q29 == [][log' = [x \in Node |-> IF x = who THEN <<>> ELSE log[x]]]_vars
Q30 == [][slot'[who].type # slot[who].type => slot' = [slot EXCEPT ![who] = [@ EXCEPT !.epoch = 0]]]_vars
Q31 == [][\A x \in Node : fun'[x] # fun[x] => log'[x] = log[x] /\ n' = n]_vars
Q32 == [][/\ \A x \in Node : fun'[x] >= fun[x] \/ flag
          /\ n' >= n]_vars
Q33 == [][/\ n' < 5
          /\ \A x \in Node : fun'[x] < 4]_vars
Q34 == [][\A x \in Node :
            LET old == slot[x]
                new == slot'[x] IN
            old.type = "req" /\ (new.type = "rep" \/ (new.type = "idle" /\ flag)) => n' > n /\ seq' = seq]_vars
Q35 == [][\A x \in Node : \A i \in (1..Len(log'[x])) \ ((1..Len(log[x])) \cup {3}) : flag /\ set' = set]_vars
Q36 == [][LET high == {y \in Node : fun[y] > 1}
              then == {z \in Node : fun'[z] > 1} IN high # then => n' # n]_vars
Q37 == [][\A x \in Node : slot[x].type \in {"req", "idle"} => (slot'[x].type = "rep" => fun'[x] = fun[x])]_vars
Q38 == [][~\E x \in Node : slot[x].type = "idle" /\ slot'[x].type \in {"req", "rep"} /\ flag]_vars
Q44 == [][\A x \in Node : IF fun'[x] # fun[x] THEN flag' ELSE log'[x] # log[x] => n' > n]_vars
\* The form of these tells nothing, though that of their neighbours does.
Q39 == [][\A x \in Node : slot[x].type = "req" /\ slot'[who].type = "rep" => n' > n]_vars
Q40 == [][\A x \in Node : slot[x].type \in {"req", "rep"} /\ slot'[x].type = "rep" => flag']_vars
Q41 == [][\A x \in Node : \A i \in (1..Len(log'[x])) \ (1..Len(log[who])) : n' > n]_vars
Q42 == [][\A x \in Node : [a |-> fun[x], b |-> n] # [b |-> fun'[x], a |-> n']]_vars
Q43 == [][\A x \in Node : {y \in Node : fun[y] > fun[x]} # {y \in Node : fun'[y] < fun'[x]}]_vars
Q45 == [][\A x \in Node : (slot[x].type = "req" /\ slot'[x].type = "rep") \/ flag' => n' > n]_vars
Q46 == [][\A x \in Node : fun[x] <= fun'[x] => n' > n]_vars
Q47 == [][\A x \in Node : n # total' => fun'[x] > fun[x]]_vars
Q48 == [][\A x \in Node : fun[x] + 1 # fun'[x] - 1 => flag']_vars
Q49 == [][\A x \in Node : fun'[x] # fun[x] \/ fun'[who] # fun[who] => n' > n]_vars
\* What may have no value is asked, whatever the step changes; of a sequence's own indices all have one.
Q50 == [][\A x \in Node : slot'[x].epoch >= slot[x].epoch]_vars
Q51 == [][\A x \in Node : flag \/ log'[x][1] = log[x][1]]_vars
Q52 == [][\A x \in Node : ~(slot[x].epoch > 0 /\ fun'[x] # fun[x])]_vars
Q53 == [][\A x \in Node : Head(seq) > 0 => fun'[x] = fun[x]]_vars
Q54 == [][\A x \in Node : \A i \in 1..Len(log[x]) : log'[x][i].epoch >= log[x][i].epoch]_vars
QuiescentDone == flag => set = Node
=============================================================================
