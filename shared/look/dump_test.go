package look_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

func TestADumpIsLookedForWhereItIsWaitedFor(t *testing.T) {
	const heard = `{"metadata":{"name":"a","annotations":{"nodefence.io/node-uid":"u","nodefence.io/boot-id":"b"}},"spec":{"holderIdentity":"10.0.0.7","acquireTime":"2026-05-01T12:00:00.123456Z","renewTime":"2026-05-01T12:01:00.123456Z","leaseTransitions":3}}`
	want := observed.Dump{NodeUID: "u", BootID: "b", First: noon, Last: noon.Add(time.Minute), Source: "10.0.0.7", Count: 3}
	rule := &api.KdumpSettings{}
	for name, tc := range map[string]struct {
		dec    api.Decision
		status api.NodeFenceStatus
		answer int32
		want   bool
	}{
		"by the policy":             {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, want: true},
		"by the node's ConfigMap":   {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionOff}}, Devices: api.Named(api.Binding{Kdump: true})}, want: true},
		"nobody asked":              {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot}}, Devices: api.Named(api.Binding{})}},
		"no power is cut":           {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionIsolate, Kdump: rule}}}},
		"the power is cut":          {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, status: api.NodeFenceStatus{Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}}}},
		"no right to look: not set": {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, answer: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := &served{objects: map[string]string{dumpPath: heard, nodePath: `{"metadata":{"name":"a","uid":"u"}}`, leasePath: `{}`, ledgerPath: `{}`, policiesPath: `{"items":[]}`}}
			if tc.answer != 0 {
				s.refused = map[string]int32{dumpPath: tc.answer}
			}
			tc.status.Decision, tc.status.FenceNumber, tc.status.Phase = tc.dec, 1, api.Fencing
			var seen observed.Look
			if err := (look.Looker{Client: s.client(t)}).At(t.Context(), &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: tc.status}, &seen, 0); err != nil {
				t.Fatal(err)
			}
			if (seen.Dump != nil) != tc.want {
				t.Errorf("seen %+v", seen.Dump)
			}
			if d := cmp.Diff(&want, seen.Dump); tc.want && d != "" {
				t.Error(d)
			}
		})
	}
}
