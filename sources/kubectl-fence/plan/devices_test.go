package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestSet: a machine with two supplies has two outlets.
func TestSet(t *testing.T) {
	pdu := func(ip string) string {
		return "agent_name=fence_pdu\naction=reboot\nip=" + ip + "\nplug=7\nsecret=bmc-a"
	}
	code, out, problems := running(configMap("fence-config-node-a", "config.properties", "node_name=a\npower_management=one two\nrecovery=uncordon",
		"fence-method-one", pdu("192.0.2.8"), "fence-method-two", pdu("192.0.2.9"))).plan(t, "-o", "json", "a")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, problems)
	}
	const at = "ConfigMap fence-config-node-a, key fence-method-"
	want := &Device{
		Driver: "set", Address: "192.0.2.8#7 and 192.0.2.9#7", Members: []string{"fence_pdu 192.0.2.8#7", "fence_pdu 192.0.2.9#7"},
		Values: []Value{
			{"1.ip", "192.0.2.8", at + "one, line 3"}, {"1.password", "", "Secret bmc-a, key password"}, {"1.plug", "7", at + "one, line 4"},
			{"2.ip", "192.0.2.9", at + "two, line 3"}, {"2.password", "", "Secret bmc-a, key password"}, {"2.plug", "7", at + "two, line 4"},
		},
	}
	if d := cmp.Diff(want, r.Device); d != "" || code != 0 {
		t.Errorf("exit code %d: %s", code, d)
	}
}

// TestLevels: a second way is shown, and tried unless the policy says otherwise.
func TestLevels(t *testing.T) {
	const policies = "/apis/nodefence.io/v1alpha1/fencepolicies"
	pdu := configMap("fence-config-node-a", "config.properties", props+"\npower_management_2=pdu", "fence-method-bmc", bmc,
		"fence-method-pdu", "agent_name=fence_pdu\naction=reboot\nip=192.0.2.9\nplug=7\nsecret=bmc-a")
	for name, tc := range map[string]struct {
		levels string
		calls  int
		notes  []string
	}{
		"one is tried":   {`"power": {"maxLevels": 1},`, 9, []string{"1 further levels", "policy workers tries 1 of 2 levels (power.maxLevels)"}},
		"both are tried": {"", 10, []string{"1 further levels"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := running(pdu)
			body := strings.Replace(string(c[policies].(json.RawMessage)), `"mode"`, tc.levels+`"mode"`, 1)
			code, out, problems := c.with(policies, body).plan(t, "-o", "json", "a")
			var r Report
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err, problems)
			}
			if code != 0 || len(r.Levels) != 1 || r.Levels[0].Address != "192.0.2.9#7" || len(r.Calls) != tc.calls {
				t.Errorf("exit code %d, levels %+v, calls %q", code, r.Levels, r.Calls)
			}
			for i, want := range tc.notes {
				if len(r.Notes) != len(tc.notes) || !strings.HasPrefix(r.Notes[i], want) {
					t.Errorf("notes %q, want %q", r.Notes, tc.notes)
				}
			}
		})
	}
}

// TestNow is what the gate would say this minute.
func TestNow(t *testing.T) {
	stamp := func(ago time.Duration) string {
		return time.Now().UTC().Add(-ago).Format("2006-01-02T15:04:05.000000Z")
	}
	const ledger = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
	picture := `"leases": {"observedAt": "` + stamp(time.Second) + `", "since": "` + stamp(time.Hour) + `", "renewal": "10s", "total": 3}`
	for name, tc := range map[string]struct{ path, body, want string }{
		"all is well": {ledger, `{"status": {` + picture + `}}`, "would begin"},
		"another node is ill": {ledger, `{"status": {` + strings.Replace(picture, `"total": 3`, `"total": 3, "still": [{"nodeName":"b", "renewed": "x", "since": "`+stamp(time.Minute)+`"}]`, 1) + `}}`,
			"would be held: TooManyUnhealthy: policy workers (generation 2): 2 of 3 nodes are unhealthy, maxUnhealthy is 40% (1)"},
		"the stop switch": {ledger, `{"spec": {"stop": true}, "status": {` + picture + `}}`, "would be held: Stopped: the ledger's stop switch is on"},
		"it is being fenced": {"/apis/nodefence.io/v1alpha1/nodefences", `{"items": [{"spec": {"nodeName": "a"}, "status": {"fenceNumber": 1, "phase": "Fencing", "reason": "PowerOffSent", "message": "cutting"}}]}`,
			"a fence is under way: Fencing, PowerOffSent: cutting"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := running(own(bmc)).with(tc.path, tc.body).plan(t, "-o", "json", "a")
			var r Report
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err, problems)
			}
			if d := cmp.Diff(tc.want, r.Now); d != "" || code != 0 {
				t.Errorf("exit code %d: %s", code, d)
			}
		})
	}
}

// TestDetachedFirst: what goes before any pod is told before it.
func TestDetachedFirst(t *testing.T) {
	p := &api.ResolvedPolicy{Settings: api.Settings{Release: api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, DetachFirst: []api.DetachFirst{{PersistentVolumeName: "pv-1"}, {StorageClassName: "fast"}}}}}
	const first = "delete the attachments of PersistentVolume pv-1 or storage class fast and wait until they are gone"
	if got, want := released(p)[0], "API server: set Ready to Unknown, "+first+", force-delete the node's pods, then the attachments of volumes that no pod of it uses any more"; got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := byCut(p)[0], "API server: "+first+", of those that the cut covers; then force-delete the pods all of"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s...", got, want)
	}
	p.Settings.Release.DetachFirst = nil
	if got, want := byCut(p)[0], "API server: force-delete"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s...", got, want)
	}
}
