package power

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestAnotherMachineAnswers: what a device says of another machine counts for
// nothing, and the words name the object to mend (S11).
func TestAnotherMachineAnswers(t *testing.T) {
	client := kubetest.Client(t, kubetest.Table[string](nil, nil))
	rack := mem.NewRack(time.Now)
	open := func(_ context.Context, b *api.Binding, _ Call) (device.Driver, error) {
		return rack.Kind().Open(b.Params)
	}
	for name, tc := range map[string]struct {
		identity string
		sources  []api.ConfigSource
		power    string
		wrong    bool
		err      string
	}{
		"its own":            {identity: "seven", power: "On"},
		"nothing enrolled":   {power: "On"},
		"another's":          {identity: "eight", sources: []api.ConfigSource{{Kind: api.KindConfigMap, Name: "fence-config-node-7"}, {Kind: api.KindConfigMap, Name: "rack"}}, wrong: true, err: "device does not know this machine: it answers for seven, enrolled is eight; mend the address of its device, mem seven, in ConfigMap fence-config-node-7 or in those that it names"},
		"another's, by hand": {identity: "eight", wrong: true, err: "device does not know this machine: it answers for seven, enrolled is eight; mend the address of its device"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Power{Client: client, Open: open}
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "7"}, Status: api.NodeFenceStatus{Decision: api.Decision{Devices: api.Named(api.Binding{
				Driver: "mem", Address: "seven", Params: map[string]string{"name": "seven"}, Identity: tc.identity, Sources: tc.sources,
			})}}}
			f.Status.Claim = &api.Claim{Device: "power-1", NotAfter: metav1.NewMicroTime(client.Clock().Now().Add(time.Minute))}
			r, err := p.Act(t.Context(), f, fence.Read, observed.Look{})
			if (err != nil) != tc.wrong || tc.wrong && !errors.Is(err, device.ErrUnknown) {
				t.Error(err)
			}
			got := *r.Call
			want := observed.CallResult{Call: api.CallRead, At: got.At, Identity: "seven", Power: tc.power, Wrong: tc.wrong, Err: tc.err}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
