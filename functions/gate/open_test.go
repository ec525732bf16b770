package gate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/open"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/loop"
)

// TestARecordOpensWithItsDevice: what it is asked for, and what stands in the
// record from the beginning.
func TestARecordOpensWithItsDevice(t *testing.T) {
	now := time.Now()
	suspect := events.SourceOf("c").Suspect("a", "1", mark, now, time.Time{}, now)
	bound := &config.Bound{Devices: api.Named(api.Binding{Driver: "mem"}), Over: func(p *api.ResolvedPolicy) { p.Policy.Name += ", and the ConfigMaps" }}
	for name, c := range map[string]struct {
		bound  *config.Bound
		err    error
		policy string
		want   *api.Decision
		asked  int
	}{
		"a device": {bound, nil, `"earlyProbe":{"leaseStillDuration":"12s"},"action":"Reboot",`,
			&api.Decision{Devices: bound.Devices, ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p, and the ConfigMaps"}}}, 9},
		"a configuration that can't be read is read again later": {nil, errors.New("no"), `"earlyProbe":{"leaseStillDuration":"12s"},"action":"Reboot",`,
			&api.Decision{ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}}}, 9},
		"a still Lease that no policy asks for": {nil, nil, "", nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			answers := cluster(now)
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot",` + c.policy + `"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}]}`
			table := kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
				var f api.NodeFence
				_ = json.NewDecoder(r.Body).Decode(&f)
				kubetest.Answer(w, f)
			})
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				table(w, r)
			}))
			g := &Gate{
				Client: client, Log: slog.New(slog.DiscardHandler), Loop: &loop.Loop{Now: client.Clock().Now},
				Bind: func(context.Context, *corev1.Node) (*config.Bound, error) { return c.bound, c.err },
			}
			ctx := t.Context()
			var o open.Result
			noise, err := g.noise.IsNoise(ctx, client, suspect)
			if err == nil && !noise {
				o, err = g.opener().Open(ctx, "a", suspect)
			}
			if err != nil {
				t.Fatal(err)
			}
			var got *api.Decision
			if o.Fence != nil {
				dec := o.Fence.Status.Decision
				got = &api.Decision{Devices: dec.Devices, ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: dec.Policy.Name}}}
			}
			if d := cmp.Diff(c.want, got); d != "" || asked != c.asked {
				t.Error(asked, d)
			}
		})
	}
}
