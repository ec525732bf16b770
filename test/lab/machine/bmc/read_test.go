package bmc

import (
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
		{Command: "off", Accepted: true}, {Command: "status", Accepted: true},
		{Command: "on"}, {Command: "status", Accepted: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
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
