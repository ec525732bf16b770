package bmc

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// switched is a machine with nothing but power.
type switched struct{ on bool }

func (s *switched) Power() bool { return s.on }
func (s *switched) PowerOff()   { s.on = false }
func (s *switched) PowerOn()    { s.on = true }
func (s *switched) Reset()      {}
func (s *switched) ShutDown()   { s.on = false }

func TestPanel(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   string
		refused bool
		// says is the answer to a read after the command, and is the real power.
		says, is bool
	}{
		"without a fault":                      {fault: None},
		"a BMC that refuses":                   {fault: Refuse, refused: true, says: true, is: true},
		"a BMC that ignores":                   {fault: Ignore, says: true, is: true},
		"a BMC that says what it has not done": {fault: Lie, is: true},
		"a BMC that is slow":                   {fault: "slow=1h", says: true, is: true},
	} {
		t.Run(name, func(t *testing.T) {
			var journal bytes.Buffer
			m := &switched{on: true}
			p := NewPanel("node-0", "10.0.0.1:623", m, &journal, time.Now)
			if _, err := p.SetFault(tc.fault); err != nil {
				t.Fatal(err)
			}
			if err := p.Order("off"); (err != nil) != tc.refused {
				t.Errorf("refused: %v", err)
			}
			if says := p.Read(); says != tc.says || m.on != tc.is {
				t.Errorf("says on: %v, want %v; is on: %v, want %v", says, tc.says, m.on, tc.is)
			}
			if lines := bytes.Count(journal.Bytes(), []byte(`"controller":"node-0","address":"10.0.0.1:623"`)); lines != 3 {
				t.Errorf("%d lines in the journal, want a fault, a command and a read:\n%s", lines, &journal)
			}
			var words []string
			for _, c := range p.Log() {
				words = append(words, c.Command)
			}
			if diff := cmp.Diff([]string{"off", "status"}, words); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPanelRefusesWhatItsBMCCannotPlay(t *testing.T) {
	p := NewPanel("node-0", "10.0.0.1:623", &switched{on: true}, nil, time.Now)
	if _, err := p.SetFault(Reset, Reset); err == nil || p.Fault() != None {
		t.Errorf("fault %s: %v", p.Fault(), err)
	}
	if err := p.Order("explode"); err == nil {
		t.Error("an unknown command was accepted")
	}
}
