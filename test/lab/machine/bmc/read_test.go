package bmc

import (
	"regexp"
	"strings"
	"testing"
	"time"

	control "github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/google/go-cmp/cmp"
)

func TestLogTellsWhatWasAccepted(t *testing.T) {
	b := serve(t, &fake{power: true})
	ask(t, b, control.ChassisControlPowerDown)
	if err := b.SetFault("refuse"); err != nil {
		t.Fatal(err)
	}
	ask(t, b, control.ChassisControlPowerUp)
	got := b.Log()
	for i := range got {
		got[i].Time = time.Time{}
	}
	want := []Command{
		{Command: "off", Accepted: true}, {Command: "status", Accepted: true, Says: "off"},
		{Command: "on"}, {Command: "status", Accepted: true, Says: "off"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestTheJournalHasCommandsAndFaults: each line says which BMC, and what it was told, or which fault it was
// given.
func TestTheJournalHasCommandsAndFaults(t *testing.T) {
	var journal strings.Builder
	l := &log{name: "node-0.a", address: "127.0.0.1:623", journal: &journal}
	b := &BMC{log: l, chassis: &chassis{machine: &fake{}}}
	l.add(Command{Command: statusRead, Accepted: true, Says: "on"})
	b.log.addFault(Lie, time.Now())
	at := regexp.MustCompile(`"time":"[^"]*",`)
	want := `{"controller":"node-0.a","address":"127.0.0.1:623","command":"status","accepted":true,"says":"on"}
{"controller":"node-0.a","address":"127.0.0.1:623","command":"","accepted":false,"fault":"lie"}
`
	if diff := cmp.Diff(want, at.ReplaceAllString(journal.String(), "")); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestGUIDIsTheMachines(t *testing.T) {
	c, err := dial(t, serve(t, &fake{}))
	defer hangUp(c)
	if err != nil {
		t.Fatal(err)
	}
	system, err := c.GetSystemGUID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := types.ParseGUID(system.GUID[:], types.GUIDModeSMBIOS)
	if err != nil {
		t.Fatal(err)
	}
	if *got != identity {
		t.Errorf("GUID %s, want %s", got, identity)
	}
	if _, err := c.GetDeviceID(t.Context()); err != nil {
		t.Error(err)
	}
}
