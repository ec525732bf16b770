package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// kind is what goes wrong.
type kind string

// The kinds. The first five are of a node, and named as the lab's verbs are.
const (
	crash     kind = "crash"
	powerLoss kind = "power-loss"
	partition kind = "partition"
	leaseStop kind = "lease-stop"
	flap      kind = "flap"
	// bmcAlone is a BMC that misbehaves while its node is well.
	bmcAlone kind = "bmc"
	// kill ends one nodefence-local or both with SIGKILL; they are started again.
	kill kind = "kill"
	// pause stops the control plane's process, and lets it go on.
	pause kind = "pause"
)

// kinds in the order in which they are printed.
var kinds = []kind{crash, powerLoss, partition, leaseStop, flap, bmcAlone, kill, pause}

// longestPause is the longest stop of the control plane.
const longestPause = 6 * time.Second

// lockout is how long nodefence leaves a BMC alone that has refused its password. A run that is
// shorter than lockouts has no wrong passwords.
const lockout, lockouts = 5 * time.Minute, 20 * time.Minute

// fault is one thing that goes wrong.
type fault struct {
	kind kind
	// at is when it begins, from the start of the run.
	at time.Duration
	// node is the number of the node that it is about, -1 if none.
	node int
	// hold is how long it lasts. A crash lasts until the node is fenced.
	hold time.Duration
	// bmc is the fault of the node's BMC meanwhile, empty if none, and bmcHold how long it lasts.
	bmc     string
	bmcHold time.Duration
	// processes are the numbers of the nodefence-local that are killed.
	processes []int
}

// unwell tells whether the node is unhealthy meanwhile.
func (f fault) unwell() bool { return f.node >= 0 && f.kind != bmcAlone }

// takes is how long the plan expects a fault to keep its node, its fence and recovery included.
func (f fault) takes() time.Duration {
	d := map[kind]time.Duration{crash: 45 * time.Second, powerLoss: 45 * time.Second, partition: 30 * time.Second, leaseStop: 5 * time.Second, flap: 30 * time.Second}[f.kind]
	d += f.hold + f.bmcHold
	if f.bmc == "wrong-password" {
		d += lockout
	}
	return d
}

// planner draws a plan.
type planner struct {
	settings
	rng *rand.Rand
	all []fault
	// until is how long each node is taken, and unwell when those that are unwell are well again.
	until  map[int]time.Duration
	unwell []time.Duration
}

// planOf is the plan of a run: the same for the same settings.
func planOf(s settings) []fault {
	p := &planner{settings: s, rng: rand.New(rand.NewPCG(s.seed, 1)), until: map[int]time.Duration{}}
	p.nodeFaults()
	p.kills()
	p.pauses()
	slices.SortStableFunc(p.all, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return p.all
}

// between draws a time.
func (p *planner) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.rng.Int64N(int64(most-least)+1))
}

// nodeFaults draws nodes that fail one after the other, at times. Now and then as many fail in one
// moment as may be unwell, so that more ask for a slot than there are.
func (p *planner) nodeFaults() {
	gap := 60 * time.Second / time.Duration(p.most)
	n := 0
	for at := p.between(0, gap); at < p.length; at += p.between(gap/2, 3*gap/2) {
		if n++; n%(3*p.most) != p.most {
			p.nodeFault(at, singles)
			continue
		}
		for _, until := range p.unwell {
			if until < at+2*time.Minute { // no wave waits for a BMC that is left alone
				at = max(at, until)
			}
		}
		for range p.most {
			p.nodeFault(at, waves)
		}
	}
}

// singles and waves are what nodes fail by, as often as a kind stands there.
var (
	singles = []kind{crash, crash, crash, powerLoss, powerLoss, partition, partition, leaseStop, leaseStop, flap, flap, bmcAlone}
	waves   = []kind{crash, crash, powerLoss, partition}
)

// nodeFault adds one, unless the run is over, as many as are allowed are unwell, or no node is
// free.
func (p *planner) nodeFault(at time.Duration, of []kind) {
	p.unwell = slices.DeleteFunc(p.unwell, func(until time.Duration) bool { return until <= at })
	var free []int
	for i := range p.nodes {
		if p.until[i] <= at {
			free = append(free, i)
		}
	}
	if len(free) == 0 || at >= p.length {
		return
	}
	f := p.draw(at, of)
	f.node = free[p.rng.IntN(len(free))]
	if f.unwell() && len(p.unwell) >= p.most {
		return
	}
	p.until[f.node] = at + f.takes()
	if f.unwell() {
		p.unwell = append(p.unwell, at+f.takes())
	}
	p.all = append(p.all, f)
}

// draw is a fault of a node that is not chosen yet.
func (p *planner) draw(at time.Duration, of []kind) fault {
	f := fault{at: at, kind: of[p.rng.IntN(len(of))]}
	switch f.kind {
	case partition:
		f.hold = p.between(5*time.Second, 60*time.Second)
	case leaseStop:
		f.hold = p.between(5*time.Second, 45*time.Second)
	case flap:
		f.hold = p.between(10*time.Second, 90*time.Second)
	}
	if f.kind == bmcAlone || f.kind != leaseStop && p.rng.IntN(3) == 0 {
		f.bmc, f.bmcHold = p.bmcFault(), p.between(5*time.Second, 40*time.Second)
	}
	return f
}

// bmcFault draws a way to misbehave. A BMC that lies is left out: nobody can see that
// (infra/README.md).
func (p *planner) bmcFault() string {
	all := []string{"hang", "hang", "slow=6s", "early=3s", "refuse", "accept-and-ignore", "reset-connection", "conflict-when-off"}
	if p.length >= lockouts {
		all = append(all, "wrong-password")
	}
	return all[p.rng.IntN(len(all))]
}

// kills draws when processes are killed: in the first quarter of the run, and once near its end.
func (p *planner) kills() {
	add := func(at time.Duration) {
		which := [][]int{{0}, {1}, {0, 1}}[p.rng.IntN(3)]
		p.all = append(p.all, fault{kind: kill, at: at, node: -1, hold: p.between(0, 8*time.Second), processes: which})
	}
	gap := max(15*time.Second, p.length/40)
	for at := p.between(gap/2, gap); at < p.length/4; at += p.between(gap, 2*gap) {
		add(at)
	}
	add(p.length * 19 / 20)
}

// pauses draws when the control plane stands still.
func (p *planner) pauses() {
	for at := p.between(20*time.Second, 40*time.Second); at < p.length; at += p.between(40*time.Second, 2*time.Minute) {
		p.all = append(p.all, fault{kind: pause, at: at, node: -1, hold: p.between(time.Second, longestPause)})
	}
}

// String is the fault in words.
func (f fault) String() string {
	words := string(f.kind)
	switch {
	case f.kind == kill:
		words += fmt.Sprintf(" of nodefence-local %v", f.processes)
	case f.node >= 0:
		words += " of " + name(f.node)
	}
	if f.hold > 0 {
		words += " for " + f.hold.Round(time.Second).String()
	}
	if f.bmc != "" {
		words += fmt.Sprintf(", its BMC %s for %s", f.bmc, f.bmcHold.Round(time.Second))
	}
	return fmt.Sprintf("%s (planned at %s)", words, f.at.Round(time.Second))
}
