package look_test

import (
	"maps"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the machine that tests may have none

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

// TestZones: those of all policies are loaded, but what is no zone, and the machine's own.
func TestZones(t *testing.T) { // S30
	window := func(zone string) api.PauseWindowRule { return api.PauseWindowRule{TimeZone: &zone} }
	policies := make([]api.FencePolicy, 3)
	policies[0].Spec.PauseWindows = []api.PauseWindowRule{{}, window("Europe/Berlin"), window("Mars/Base")}
	policies[2].Spec.PauseWindows = []api.PauseWindowRule{window("Local"), window("Asia/Tokyo")}
	all := look.Zones(policies)
	if d := cmp.Diff([]string{"Asia/Tokyo", "Europe/Berlin"}, slices.Sorted(maps.Keys(all))); d != "" {
		t.Fatal(d)
	}
	if at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).In(all["Europe/Berlin"]); at.Hour() != 14 {
		t.Errorf("noon in UTC is %s", at)
	}
	if look.Zones(policies[1:2]) != nil {
		t.Error("zones that nobody names")
	}
}

// TestAWindowInAZoneHolds: the brakes know the zones that the windows name.
func TestAWindowInAZoneHolds(t *testing.T) {
	for zone, want := range map[string]string{
		"Europe/Berlin": "pause window of policy mine: no fence begins until 2026-05-01T22:00:00Z",
		"Mars/Base":     `policy mine, pauseWindows[0]: time zone "Mars/Base" is not known: use a name of the IANA database, such as Europe/Berlin; no fence begins until that is corrected`,
	} {
		s := &served{objects: map[string]string{ledgerPath: `{}`, policiesPath: `{"items":[{"metadata":{"name":"mine"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseWindows":[{"start":"12:00","duration":"12h","timeZone":"` + zone + `"}]}}]}`}}
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
		f.Status.Decision.Policy.Name, f.Status.Decision.Limits = "mine", []api.ScopedLimits{{Policy: "mine"}}
		f.Status.Decision.Settings = api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot}
		seen := observed.Look{Node: observed.Node{Exists: true}}
		if err := look.Brakes(t.Context(), s.client(t).NewReader(0), f, &seen, false); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, seen.Brakes.Hold(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))); d != "" {
			t.Error(d)
		}
	}
}
