package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is the judgement of a history.
type Verdict struct {
	// Breaches are the broken promises, in the order of the rules.
	Breaches []Breach
	// NotJudged names, once each, the questions for which the logs do not hold enough.
	NotJudged []string
	// Counts are how many Offs, reservations and so on were judged.
	Counts map[string]int
}

// Breach is a broken promise.
type Breach struct {
	// Promise is the number and the words of the promise, such as "S22: …".
	Promise string
	Node    string
	// Fence is the fence's number; 0 if the breach is about no fence.
	Fence int64
	// What describes the breach in a sentence.
	What string
	// Against are the lines of the logs against the promise.
	Against []Cited
}

// Cited is a line of a log in a Breach.
type Cited struct {
	Line Line
	At   time.Time
	Says string
}

// Err returns the breaches as an error; nil without breaches.
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
	for _, what := range withoutRule {
		fmt.Fprintf(&b, "no rule: %s\n", what)
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

// leaveOut adds a question to NotJudged.
func (v *Verdict) leaveOut(format string, args ...any) {
	if why := fmt.Sprintf(format, args...); !slices.Contains(v.NotJudged, why) {
		v.NotJudged = append(v.NotJudged, why)
	}
}

func (v *Verdict) countOne(what string) {
	if v.Counts == nil {
		v.Counts = map[string]int{}
	}
	v.Counts[what]++
}

// cite returns a write as a line for a Breach.
func (w *Write) cite(says string) Cited {
	return Cited{w.Line, w.Done, fmt.Sprintf("%s %s %s by %s (%s): %s", w.Verb, w.Resource, w.Name, w.User, w.Agent, says)}
}

// cite returns a command as a line for a Breach.
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
