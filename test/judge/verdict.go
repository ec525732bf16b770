package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what a history comes to.
type Verdict struct {
	// Breaches are the promises that were broken, in the order of the rules.
	Breaches []Breach
	// NotJudged says what the logs do not hold enough for, each once.
	NotJudged []string
	// Counts are how many Offs, reservations and so on were judged.
	Counts map[string]int
}

// Breach is a promise that was broken.
type Breach struct {
	// Promise is the number and the words of the promise, such as "S7: one device call at a time for one node".
	Promise string
	Node    string
	// Fence is the fence's number; 0 if the breach is about no fence.
	Fence int64
	// What says in a sentence what happened.
	What string
	// Against are the lines of the logs that contradict the promise.
	Against []Cited
}

// Cited is a line of a log that a Breach rests on.
type Cited struct {
	Line Line
	At   time.Time
	Says string
}

// Err is the breaches as an error; nil if there are none.
func (v *Verdict) Err() error {
	if len(v.Breaches) == 0 {
		return nil
	}
	return fmt.Errorf("%d broken promises:\n%s", len(v.Breaches), v.describeBreaches())
}

// String is the whole verdict, for people.
func (v *Verdict) String() string {
	var b strings.Builder
	b.WriteString(v.describeBreaches())
	for _, why := range v.NotJudged {
		fmt.Fprintf(&b, "not judged: %s\n", why)
	}
	var counts []string
	for what, n := range v.Counts {
		counts = append(counts, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(counts)
	fmt.Fprintf(&b, "judged: %s; %d broken promises\n", strings.Join(counts, ", "), len(v.Breaches))
	return b.String()
}

func (v *Verdict) describeBreaches() string {
	var b strings.Builder
	for i := range v.Breaches {
		b.WriteString(v.Breaches[i].String())
	}
	return b.String()
}

// String names the promise, the node, the fence and the lines.
func (b *Breach) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "broken: %s\n", b.Promise)
	if b.Node != "" {
		fmt.Fprintf(&s, "  node %s", b.Node)
		if b.Fence > 0 {
			fmt.Fprintf(&s, ", fence %d", b.Fence)
		}
		s.WriteString(": ")
	} else {
		s.WriteString("  ")
	}
	s.WriteString(b.What + "\n")
	for _, c := range b.Against {
		fmt.Fprintf(&s, "    %s %s %s\n", c.At.UTC().Format("15:04:05.000"), c.Line, c.Says)
	}
	return s.String()
}

// leave notes that something could not be judged.
func (v *Verdict) leave(format string, args ...any) {
	if why := fmt.Sprintf(format, args...); !slices.Contains(v.NotJudged, why) {
		v.NotJudged = append(v.NotJudged, why)
	}
}

func (v *Verdict) count(what string) {
	if v.Counts == nil {
		v.Counts = map[string]int{}
	}
	v.Counts[what]++
}

// cite is a write as a line that a breach rests on.
func (w *Write) cite(says string) Cited {
	return Cited{w.Line, w.Done, fmt.Sprintf("%s %s %s by %s (%s): %s", w.Verb, w.Resource, w.Name, w.User, w.Agent, says)}
}

// cite is a command as a line that a breach rests on.
func (c *Command) cite() Cited {
	says := fmt.Sprintf("the BMC %s (%s) is told %s", c.Controller, c.Address, c.Command)
	if c.Says != "" {
		says += " and says " + c.Says
	}
	if !c.Accepted {
		says += " and refuses"
	}
	return Cited{c.Line, c.Time, says}
}
