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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/step"
)

// TestARecordOpensWithItsDevice: what it is asked for, and what stands in the
// record from the beginning.
func TestARecordOpensWithItsDevice(t *testing.T) {
	now := time.Now()
	suspect := events.SourceOf("c").Suspect("a", "1", mark, now, time.Time{}, now)
	bound := &Bound{Binding: api.Binding{Driver: "mem"}, Over: func(p *api.ResolvedPolicy) { p.Policy.Name += ", and the ConfigMaps" }}
	for name, c := range map[string]struct {
		bound  *Bound
		err    error
		policy string
		want   *api.NodeFenceSpec
		asked  int
	}{
		"a device": {bound, nil, `"earlyProbe":{"leaseStillDuration":"12s"},"action":"Reboot",`,
			&api.NodeFenceSpec{Decision: api.Decision{Binding: &bound.Binding, ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p, and the ConfigMaps"}}}}, 7},
		"a configuration that can't be read is read again later": {nil, errors.New("no"), `"earlyProbe":{"leaseStillDuration":"12s"},"action":"Reboot",`,
			&api.NodeFenceSpec{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}}}}, 7},
		"a still Lease that no policy asks for": {nil, nil, "", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked, made := 0, (*api.NodeFence)(nil)
			answers := cluster(now)
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{` + c.policy + `"unhealthyConditions":[{"type":"Ready","status":"Unknown"}]}}]}`
			table := kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
				made = &api.NodeFence{}
				_ = json.NewDecoder(r.Body).Decode(made)
				kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists) // another gate was faster: nothing more is done
			})
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				table(w, r)
			}))
			g := &Gate{
				Client: client, Log: slog.New(slog.DiscardHandler), Loop: &step.Loop{Now: client.Clock().Now},
				Bind: func(context.Context, *corev1.Node) (*Bound, error) { return c.bound, c.err },
			}
			if _, err := g.Handle(t.Context(), suspect); err != nil {
				t.Fatal(err)
			}
			var got *api.NodeFenceSpec
			if made != nil {
				got = &api.NodeFenceSpec{Decision: api.Decision{Binding: made.Spec.Decision.Binding, ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: made.Spec.Decision.Policy.Name}}}}
			}
			if d := cmp.Diff(c.want, got); d != "" || asked != c.asked {
				t.Error(asked, d)
			}
		})
	}
}
