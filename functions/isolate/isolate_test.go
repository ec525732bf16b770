package isolate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestTheClaimSaysWhichDevice: the call goes to the device that was saved before it, and to no
// other, whatever else is bound (S7).
func TestTheClaimSaysWhichDevice(t *testing.T) {
	client := kubetest.Client(t, kubetest.Table[string](nil, nil))
	now := client.Clock().Now
	for name, c := range map[string]struct {
		device string
		left   time.Duration
		self   string
		cut    map[string]bool
		err    string
	}{
		"the second":                {"network-1", time.Minute, "", map[string]bool{"switch": true}, ""},
		"none is named":             {"", time.Minute, "", nil, "no device is bound to this node"},
		"one that is not there":     {"network-2", time.Minute, "", nil, "no device is bound to this node"},
		"a claim that ran out (S8)": {"storage-1", -time.Second, "", nil, "the time for this call ran out before it was made"},
		"its own machine (S13)":     {"storage-1", time.Minute, "7", nil, "this is the machine that nodefence runs on"},
	} {
		t.Run(name, func(t *testing.T) {
			rack := mem.NewRack(now)
			open := func(_ context.Context, b *api.Binding, _ devicecall.Claim) (device.Driver, error) {
				return rack.Kind().Open(b.Params)
			}
			bound := func(name string, role api.Role) api.Binding {
				return api.Binding{Role: role, Driver: "mem", Address: name, Params: map[string]string{"name": name}}
			}
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "7"}, Status: api.NodeFenceStatus{Decision: api.Decision{Devices: api.Named(bound("power", api.RolePower), bound("san", api.RoleStorage), bound("switch", api.RoleNetwork))}}}
			f.Status.Claim = &api.Claim{NotAfter: metav1.NewMicroTime(now().Add(c.left)), Device: c.device}
			i := &Isolator{Client: client, Open: open, Self: c.self}
			r, err := i.Act(t.Context(), f, fence.Off, observed.Look{})
			if (err != nil) != (c.err != "") {
				t.Error(err)
			}
			want := observed.CallResult{Call: api.CallOff, At: r.Call.At, Err: c.err}
			if d := cmp.Diff(want, *r.Call); d != "" {
				t.Error(d)
			}
			for _, name := range []string{"power", "san", "switch"} {
				d, err := rack.Kind().Open(map[string]string{"name": name})
				if err != nil {
					t.Fatal(err)
				}
				if r, err := d.State(t.Context()); err != nil || (r.Power == device.Off) != c.cut[name] {
					t.Errorf("%s reads %q, %v", name, r.Power, err)
				}
			}
		})
	}
}

// TestTheOutOfServiceTaintIsTakenOff before access is given back: the taint of this fence, and no
// other (S22, S23).
func TestTheOutOfServiceTaintIsTakenOff(t *testing.T) {
	const node = `{"metadata":{"name":"7","uid":"u7","resourceVersion":"1"},"spec":{"taints":[{"key":"nodefence.io/isolated","value":"f1","effect":"NoSchedule"}%s]}}`
	for value, want := range map[string][]string{
		"nodeshutdown":    {`{"metadata":{"resourceVersion":"1","uid":"u7"},"spec":{"taints":[{"key":"nodefence.io/isolated","value":"f1","effect":"NoSchedule"}]}}`},
		"hardwarefailure": {`{"metadata":{"annotations":{"nodefence.io/touched":"true"},"resourceVersion":"1","uid":"u7"},"spec":{}}`, `{"metadata":{"annotations":{"nodefence.io/touched":null},"resourceVersion":"1","uid":"u7"},"spec":{}}`},
	} {
		var got []string
		taint := fmt.Sprintf(`,{"key":"node.kubernetes.io/out-of-service","value":%q,"effect":"NoExecute"}`, value)
		client := kubetest.Client(t, kubetest.Table(map[string]string{"/api/v1/nodes/7": fmt.Sprintf(node, taint)}, func(w http.ResponseWriter, r *http.Request) {
			patch, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			got = append(got, string(patch))
			kubetest.Answer(w, fmt.Sprintf(node, taint))
		}))
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "7"}, Status: api.NodeFenceStatus{
			Decision: api.Decision{NodeUID: "u7"}, Placed: api.Placed{OutOfService: true, OutOfServiceAs: api.NodeShutdown}}}
		if _, err := (&Isolator{Client: client}).Act(t.Context(), f, fence.ClearOutOfService, observed.Look{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", value, d)
		}
	}
}
