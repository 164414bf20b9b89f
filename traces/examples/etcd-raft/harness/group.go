//go:build with_tla

package main

import (
	"fmt"
	"io"
	"log"
	"math/rand"
	"strconv"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"tidemark.dev/emitter"
)

const (
	size     = 3  // nodes
	slots    = 12 // messages under way
	maxTerm  = 30
	maxLog   = 30
	maxBatch = 3 // entries of a message: MaxSizePerMsg below
)

// A disk keeps what a node has written. The group never changes, so its members need no disk.
type disk struct{ *raft.MemoryStorage }

func (d disk) InitialState() (pb.HardState, pb.ConfState, error) {
	hard, _, err := d.MemoryStorage.InitialState()
	return hard, pb.ConfState{Voters: []uint64{1, 2, 3}}, err
}

// seen is the disk's log, as the terms of its entries.
func (d disk) seen(n int) emitter.Values {
	last, err := d.LastIndex()
	if err != nil {
		panic(err)
	}
	terms := make([]uint64, last)
	for i := range terms {
		if terms[i], err = d.Term(uint64(i + 1)); err != nil {
			panic(err)
		}
	}
	return emitter.Values{name(uint64(n)): emitter.Values{"disk": terms}}
}

// A message under way is in a slot: the first free one when it was sent. Held ones wait for their sender's disk.
type message struct {
	pb.Message
	used, held bool
}

// A group is three nodes in one process. It is also the library's trace logger.
type group struct {
	rng    *rand.Rand
	trace  *emitter.Trace
	nodes  [size + 1]*raft.RawNode
	disks  [size + 1]disk
	wire   [slots + 1]message
	apart  [size + 1]int   // a partition: nodes with the same number reach each other
	sooner [size + 1][]int // slots of the messages that a node has made since its last Ready, in their order
	later  [size + 1][]int // the same of answers, which the library hands out after all others
	length [size + 1]uint64
	commit [size + 1]uint64
	events []raft.TracingEvent
	err    error // the emitter's first
}

func newGroup(seed int64, id string, w *emitter.Writer) (*group, error) {
	g := &group{rng: rand.New(rand.NewSource(seed))}
	var err error
	if g.trace, err = w.Begin(id, nil); err != nil {
		return nil, err
	}
	for n := 1; n <= size; n++ {
		g.disks[n] = disk{raft.NewMemoryStorage()}
		g.start(n)
	}
	g.take() // what starting says
	return g, nil
}

func (g *group) start(n int) {
	node, err := raft.NewRawNode(&raft.Config{ID: uint64(n), ElectionTick: 10, HeartbeatTick: 1, Storage: g.disks[n],
		MaxSizePerMsg: 16, MaxInflightMsgs: 2, Logger: quiet, TraceLogger: g})
	if err != nil {
		panic(err) // our own configuration
	}
	g.nodes[n] = node
}

var quiet = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

// TraceEvent takes an event of the library.
func (g *group) TraceEvent(event *raft.TracingEvent) {
	g.events = append(g.events, *event)
	n, _ := strconv.Atoi(event.NodeID)
	g.length[n] = event.LogSize
}

func name(n uint64) string {
	if n == 0 {
		return "None"
	}
	return "n" + strconv.FormatUint(n, 10)
}

// seen is what an event tells of its node.
func seen(e raft.TracingEvent) emitter.Values {
	vote, _ := strconv.ParseUint(e.State.Vote, 10, 64)
	role := map[string]string{"StateFollower": "follower", "StateCandidate": "candidate", "StateLeader": "leader"}[e.Role]
	return emitter.Values{"n" + e.NodeID: emitter.Values{
		"term": e.State.Term, "vote": name(vote), "role": role, "commit": e.State.Commit, "len": e.LogSize}}
}

// now is the same of a node at a handler's end, but for the log's length, which the library tells in events only.
func (g *group) now(n int) emitter.Values {
	status := g.nodes[n].BasicStatus()
	role := map[raft.StateType]string{raft.StateFollower: "follower", raft.StateCandidate: "candidate",
		raft.StateLeader: "leader"}[status.RaftState]
	return emitter.Values{name(uint64(n)): emitter.Values{
		"term": status.Term, "vote": name(status.Vote), "role": role, "commit": status.Commit}}
}

// emit writes a step.
func (g *group) emit(n int, action string, params, before, after emitter.Values) {
	step := emitter.Step{Action: action, Params: params, Before: before, After: after}
	if n > 0 {
		step.Node = name(uint64(n))
	}
	if err := g.trace.Step(step); err != nil && g.err == nil {
		g.err = fmt.Errorf("%s: %w", action, err)
	}
}

// refuse writes an attempt that a rule has blocked.
func (g *group) refuse(n int, action string, params, before emitter.Values) {
	step := emitter.Step{Node: name(uint64(n)), Action: action, Params: params, Before: before, Blocked: true}
	if err := g.trace.Step(step); err != nil && g.err == nil {
		g.err = fmt.Errorf("%s: %w", action, err)
	}
}

type values = emitter.Values

// place takes the first free slot for a message that n has just made; 0: there is none, and the message is lost.
func (g *group) place(n int, answer bool) int {
	found := 0
	for s := slots; s > 0; s-- {
		if !g.wire[s].used {
			found = s
		}
	}
	if found > 0 {
		g.wire[found] = message{Message: pb.Message{From: uint64(n)}, used: true, held: true}
	}
	if answer {
		g.later[n] = append(g.later[n], found)
	} else {
		g.sooner[n] = append(g.sooner[n], found)
	}
	return found
}

// take gives the events since the last call.
func (g *group) take() []raft.TracingEvent {
	events := g.events
	g.events = nil
	return events
}

// told emits what a handler of n did beside its main step, in the order of the library's events.
func (g *group) told(n int, events []raft.TracingEvent) {
	me := name(uint64(n))
	for i, e := range events {
		before := seen(e)
		switch {
		case e.Name == "BecomeLeader":
			g.emit(n, "Lead", values{"n": me}, nil, seen(events[i+2])) // after Replicate, when the entry is appended
		case e.Name == "Commit" && e.State.Commit > g.commit[n]:
			g.emit(n, "Commit", values{"n": me, "i": e.State.Commit}, nil, before)
		case e.Name == "SendRequestVoteRequest":
			g.emit(n, "RequestVote", values{"n": me, "to": "n" + e.Message.To, "index": e.Message.Index,
				"logTerm": e.Message.LogTerm, "t": g.place(n, false)}, before, nil)
		case e.Name == "SendAppendEntriesRequest" && e.Message.Type == "MsgApp":
			g.emit(n, "SendAppend", values{"n": me, "to": "n" + e.Message.To, "index": e.Message.Index,
				"logTerm": e.Message.LogTerm, "count": e.Message.EntryLength, "t": g.place(n, false)}, before, nil)
		case e.Name == "SendAppendEntriesRequest":
			g.emit(n, "SendHeartbeat", values{"n": me, "to": "n" + e.Message.To, "t": g.place(n, false)}, before, nil)
		}
		g.commit[n] = e.State.Commit
	}
}

// answer is the event of the answer that a handler gave, if it gave one to another node.
func answer(events []raft.TracingEvent) *raft.TracingEvent {
	for i, e := range events {
		if (e.Name == "SendRequestVoteResponse" || e.Name == "SendAppendEntriesResponse") && e.Message.To != e.NodeID {
			return &events[i]
		}
	}
	return nil
}

// deliver hands the message of a slot to its node.
func (g *group) deliver(s int) {
	m := g.wire[s].Message
	n := int(m.To)
	g.wire[s] = message{}
	old := g.nodes[n].BasicStatus()
	_ = g.nodes[n].Step(m)
	events := g.take()
	before, after := seen(events[0]), g.now(n)
	params := values{"n": name(m.To), "s": s}
	if m.Term < old.Term {
		g.emit(n, "Ignore", params, before, after)
		return
	}
	reply := answer(events)
	if m.Type == pb.MsgVote && m.Term == old.Term && old.Vote != raft.None && old.Vote != m.From {
		params["grant"], params["t"] = true, 0
		g.refuse(n, "AnswerVote", params, before)
	}
	if status := g.nodes[n].BasicStatus(); status.RaftState == raft.StateLeader && old.RaftState != raft.StateLeader ||
		status.Commit > old.Commit && status.RaftState == raft.StateLeader {
		after = nil // further steps follow
	}
	if reply == nil && (m.Type == pb.MsgApp || m.Type == pb.MsgHeartbeat) {
		params["t"] = 0 // a second leader of the term does not answer the first
		g.emit(n, map[bool]string{true: "AnswerAppend", false: "AnswerHeartbeat"}[m.Type == pb.MsgApp], params, before, after)
		g.told(n, events)
		return
	}
	switch m.Type {
	case pb.MsgVote:
		params["grant"], params["t"] = !reply.Message.Reject, g.place(n, true)
		g.emit(n, "AnswerVote", params, before, after)
	case pb.MsgVoteResp:
		lost := old.RaftState == raft.StateCandidate && old.Term == m.Term &&
			g.nodes[n].BasicStatus().RaftState == raft.StateFollower
		if lost {
			after = nil
		}
		g.emit(n, "ReadVote", params, before, after)
		if lost {
			g.emit(n, "GiveUp", values{"n": name(m.To)}, nil, g.now(n))
		}
	case pb.MsgApp:
		params["t"] = g.place(n, true)
		g.emit(n, "AnswerAppend", params, before, seen(*reply))
	case pb.MsgHeartbeat:
		params["t"] = g.place(n, false)
		g.emit(n, "AnswerHeartbeat", params, before, seen(*reply))
	case pb.MsgAppResp:
		g.emit(n, "ReadAppend", params, before, after)
	case pb.MsgHeartbeatResp:
		g.emit(n, "ReadHeartbeat", params, before, after)
	}
	if m.Type == pb.MsgApp || m.Type == pb.MsgHeartbeat {
		g.commit[n] = g.nodes[n].BasicStatus().Commit
		return
	}
	g.told(n, events)
}

// persist writes what is ready to the disk, sends the messages that waited for it, and lets the library go on.
func (g *group) persist(n int) {
	if !g.nodes[n].HasReady() {
		return
	}
	ready := g.nodes[n].Ready()
	events := g.take()
	if !raft.IsEmptyHardState(ready.HardState) {
		_ = g.disks[n].SetHardState(ready.HardState)
	}
	if err := g.disks[n].Append(ready.Entries); err != nil {
		panic(err)
	}
	g.emit(n, "Persist", values{"n": name(uint64(n))}, seen(events[len(events)-1]), g.disks[n].seen(n))
	for i, s := range append(g.sooner[n], g.later[n]...) {
		if s > 0 {
			g.wire[s] = message{Message: ready.Messages[i], used: true}
		}
	}
	g.sooner[n], g.later[n] = nil, nil
	g.nodes[n].Advance(ready)
	g.told(n, g.take())
}

func (g *group) campaign(n int) {
	if g.nodes[n].BasicStatus().RaftState == raft.StateLeader {
		return
	}
	_ = g.nodes[n].Campaign()
	events := g.take()
	g.emit(n, "Campaign", values{"n": name(uint64(n))}, nil, seen(events[0]))
	g.told(n, events)
}

func (g *group) propose(n int) {
	if g.nodes[n].BasicStatus().RaftState != raft.StateLeader || g.nodes[n].Propose([]byte("x")) != nil {
		return
	}
	events := g.take()
	g.emit(n, "Propose", values{"n": name(uint64(n))}, seen(events[0]), seen(events[1]))
	g.told(n, events)
}

func (g *group) tick(n int) {
	if g.nodes[n].BasicStatus().RaftState == raft.StateLeader {
		g.nodes[n].Tick()
		g.told(n, g.take())
	}
}

func (g *group) restart(n int) {
	for s := range g.wire {
		if g.wire[s].held && g.wire[s].From == uint64(n) {
			g.wire[s] = message{}
		}
	}
	g.sooner[n], g.later[n] = nil, nil
	g.start(n)
	events := g.take()
	g.emit(n, "Restart", values{"n": name(uint64(n))}, nil, seen(events[len(events)-1]))
	g.commit[n] = events[len(events)-1].State.Commit
}

func (g *group) lose(s int) {
	g.wire[s] = message{}
	g.emit(0, "Lose", values{"s": s}, nil, nil)
}

func (g *group) duplicate(s int) {
	for t := 1; t <= slots; t++ {
		if !g.wire[t].used {
			g.wire[t] = g.wire[s]
			g.emit(0, "Duplicate", values{"s": s, "t": t}, nil, nil)
			return
		}
	}
}
