package power

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestAWrittenSecretWakesItsFence: while a fence leaves a device alone that refused the account,
// power notices that the account's Secret was written, and the fence is looked at now. The event
// only asks power to look (S18).
func TestAWrittenSecretWakesItsFence(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		err     error
		change  func(*api.NodeFence)
		want    bool
	}{
		"written since":       {was: "v1", is: "v2", want: true},
		"as it was":           {was: "v1", is: "v1"},
		"it can't be read":    {was: "v1", err: errors.New("forbidden")},
		"not known":           {is: "v2"},
		"refused once":        {was: "v1", is: "v2", change: func(f *api.NodeFence) { f.Status.Power.Denied[0].Count = 1 }},
		"bound no more":       {was: "v1", is: "v2", change: func(f *api.NodeFence) { f.Status.Decision.Devices = nil }},
		"the fence is over":   {was: "v1", is: "v2", change: func(f *api.NodeFence) { f.Status.Phase = api.Finished }},
		"a newer nodefence's": {was: "v1", is: "v2", change: func(f *api.NodeFence) { f.Status.MinReaderVersion = api.Schema + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f", ResourceVersion: "3"}, Spec: api.NodeFenceSpec{NodeName: "a"}}
			f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Pending, Decision: api.Decision{Devices: api.Named(api.Binding{Driver: "mem", Address: "seven"})}}
			f.Status.Power.Denied = []api.Denied{{Device: "mem seven", Count: facts.DeniedTries, At: observed.StampOf(time.Now()), Credentials: c.was}}
			if c.change != nil {
				c.change(f)
			}
			var saved *api.NodeFence
			client := kubetest.Client(t, kubetest.Table(map[string]any{"/apis/nodefence.io/v1alpha1/nodefences/a": f}, func(w http.ResponseWriter, r *http.Request) {
				saved = &api.NodeFence{}
				if err := json.NewDecoder(r.Body).Decode(saved); err != nil {
					t.Error(err)
				}
				kubetest.Answer(w, saved)
			}))
			p := &Power{Client: client, Credentials: func(context.Context, *api.Binding) (string, error) { return c.is, c.err }}
			_, err := p.Handle(t.Context(), events.SourceOf("c").CheckCredentials("a", "f", client.Clock().Now()))
			if !errors.Is(err, c.err) || (saved != nil) != c.want {
				t.Fatalf("%v, saved %+v", err, saved)
			}
			if saved != nil && (saved.Status.NextLook == nil || saved.Status.Power.Denied[0].Count != facts.DeniedTries-1 || saved.ResourceVersion != "3") {
				t.Errorf("saved %+v", saved)
			}
		})
	}
}

// TestARefusalSaysOfWhichSecret: the version is read before the call, for a device that has
// refused the account before.
func TestARefusalSaysOfWhichSecret(t *testing.T) {
	client := kubetest.Client(t, kubetest.Table[string](nil, nil))
	for before, want := range map[string]string{"mem seven": "v1", "mem eight": ""} {
		p := &Power{
			Client:      client,
			Open:        func(context.Context, *api.Binding, Call) (device.Driver, error) { return nil, device.ErrDenied },
			Credentials: func(context.Context, *api.Binding) (string, error) { return "v1", nil },
		}
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "7"}, Status: api.NodeFenceStatus{Decision: api.Decision{Devices: api.Named(api.Binding{Driver: "mem", Address: "seven"})}}}
		f.Status.Claim = &api.Claim{Device: "power-1", NotAfter: metav1.NewMicroTime(client.Clock().Now().Add(time.Minute))}
		f.Status.Power.Denied = []api.Denied{{Device: before, Count: 2}}
		r, _ := p.Act(t.Context(), f, fence.Read, observed.Look{})
		if !r.Call.Denied || r.Call.Credentials != want {
			t.Errorf("after a refusal of %s: %+v", before, r.Call)
		}
	}
}
