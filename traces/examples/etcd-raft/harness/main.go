//go:build with_tla

// A raft group of go.etcd.io/raft under loss, duplication, reordering, partitions and crashes, and its traces.
//
//	go run -tags with_tla . -header header.json -out traces.ndjson -runs 1000 -seed 0
//
// One seed gives one trace. Elections are called for by the run itself, since the library's own time-outs are random.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"tidemark.dev/emitter"
)

// chaos does `steps` things that can happen, in any order.
func (g *group) chaos(steps int) {
	for i := 0; i < steps && g.err == nil; i++ {
		n := 1 + g.rng.Intn(size)
		switch dice := g.rng.Intn(100); {
		case dice < 52:
			g.traffic()
		case dice < 72:
			g.persist(n)
		case dice < 80:
			g.tick(n)
		case dice < 90:
			if g.length[n] < maxLog-12 {
				g.propose(n)
			}
		case dice < 95:
			if g.nodes[n].BasicStatus().Term < maxTerm-10 {
				g.campaign(n)
			}
		case dice < 97:
			g.restart(n)
		default:
			g.apart = [size + 1]int{}
			if g.rng.Intn(2) == 0 {
				g.apart[n] = 1
			}
		}
		if g.rng.Intn(3) > 0 {
			g.persist(n)
		}
	}
}

// traffic lets something happen to a message that is under way.
func (g *group) traffic() {
	var ready []int
	for s := 1; s <= slots; s++ {
		if g.wire[s].used && !g.wire[s].held {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		return
	}
	s := ready[g.rng.Intn(len(ready))]
	cut := g.apart[g.wire[s].From] != g.apart[g.wire[s].To]
	switch dice := g.rng.Intn(100); {
	case cut || dice < 8:
		g.lose(s)
	case dice < 16:
		g.duplicate(s)
	default:
		g.deliver(s)
	}
}

// heal lets everything arrive until all have the same log; it says whether they got there.
func (g *group) heal() bool {
	g.apart = [size + 1]int{}
	for round := 0; round < 40 && g.err == nil; round++ {
		leader, latest := 0, uint64(0)
		for n := 1; n <= size; n++ {
			if status := g.nodes[n].BasicStatus(); status.Term >= latest {
				if status.Term > latest {
					leader = 0
				}
				latest = status.Term
				if g.now(n)[name(uint64(n))].(values)["role"] == "leader" {
					leader = n
				}
			}
		}
		switch {
		case leader > 0:
			g.tick(leader)
		case latest < maxTerm-1:
			g.campaign(1 + round%size)
		default:
			return false
		}
		for i := 0; i < 30; i++ {
			for n := 1; n <= size; n++ {
				g.persist(n)
			}
			for s := 1; s <= slots; s++ {
				if g.wire[s].used && !g.wire[s].held {
					g.deliver(s)
				}
			}
		}
		if leader > 0 && g.length[1] == g.length[2] && g.length[2] == g.length[3] &&
			g.commit[1] == g.length[1] && g.commit[2] == g.length[2] && g.commit[3] == g.length[3] {
			return true
		}
	}
	return false
}

// run writes the trace of one seed; what the library says when it panics is returned, too.
func run(seed int64, steps int, header *emitter.Header) (text []byte, panicked string, err error) {
	var out bytes.Buffer
	w, err := emitter.NewWriter(&out, header)
	if err != nil {
		return nil, "", err
	}
	start := out.Len()
	g, err := newGroup(seed, fmt.Sprintf("raft-%d", seed), w)
	if err != nil {
		return nil, "", err
	}
	rest := false
	func() {
		defer func() {
			if problem := recover(); problem != nil {
				panicked = fmt.Sprint(problem)
			}
		}()
		g.chaos(steps)
		rest = g.heal()
	}()
	if g.err == nil {
		g.err = g.trace.End(rest && panicked == "")
	}
	return out.Bytes()[start:], panicked, g.err
}

func main() {
	headerPath := flag.String("header", "header.json", "what `tidemark schema` printed")
	outPath := flag.String("out", "traces.ndjson", "the traces")
	runs := flag.Int("runs", 1000, "how many runs")
	seed := flag.Int64("seed", 0, "the first run's seed")
	steps := flag.Int("steps", 300, "things that happen in a run before it heals")
	flag.Parse()
	if err := write(*headerPath, *outPath, *runs, *seed, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-raft:", err)
		os.Exit(2)
	}
}

func write(headerPath, outPath string, runs int, seed int64, steps int) error {
	file, err := os.Open(headerPath)
	if err != nil {
		return err
	}
	defer file.Close()
	header, err := emitter.ReadHeader(file)
	if err != nil {
		return err
	}
	texts, said, problems := make([][]byte, runs), make([]string, runs), make([]error, runs)
	var group sync.WaitGroup
	places := make(chan struct{}, 64) // the library sleeps a millisecond per message when it logs
	for i := range texts {
		group.Add(1)
		places <- struct{}{}
		go func() {
			defer group.Done()
			texts[i], said[i], problems[i] = run(seed+int64(i), steps, header)
			<-places
		}()
	}
	group.Wait()
	out, err := os.Create(outPath)
	if err != nil {
		return err
	}
	if _, err = emitter.NewWriter(out, header); err != nil {
		return err
	}
	panics, first := 0, ""
	for i, text := range texts {
		if problems[i] != nil {
			return fmt.Errorf("run %d: %w", seed+int64(i), problems[i])
		}
		if said[i] != "" {
			panics++
			if first == "" {
				first = said[i]
			}
		}
		if _, err := io.Copy(out, bytes.NewReader(text)); err != nil {
			return err
		}
	}
	fmt.Printf("%d runs, %d ended by a panic of the library\n%s\n", runs, panics, first)
	return out.Close()
}
