package power

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestAnInstanceIsAWitness: what the cloud says of an instance is the answer of
// the check of the device, and nothing but reads is asked of it.
func TestAnInstanceIsAWitness(t *testing.T) {
	const id, key, secret = "i-0123456789abcdef0", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	ec2test.Nobody(t)
	for state, want := range map[ec2test.State]api.Answer{
		ec2test.Pending:      api.AnswerNeither,
		ec2test.Running:      api.AnswerNeither,
		ec2test.Stopping:     api.AnswerError,
		ec2test.ShuttingDown: api.AnswerError,
		ec2test.Stopped:      api.AnswerNone,
		ec2test.Terminated:   api.AnswerNone,
	} {
		t.Run(string(state), func(t *testing.T) {
			cloud := &ec2test.Cloud{Secrets: map[string]string{key: secret}}
			cloud.Hold(true)
			cloud.Put(ec2test.Instance{ID: id, State: state, Zone: "eu-west-1a"})
			srv := httptest.NewServer(cloud) // outside the fake clock, which stands while a goroutine of its own awaits a network
			defer srv.Close()
			synctest.Test(t, func(t *testing.T) {
				client := kubetest.SynctestClient(t, kubetest.Table[string](nil, nil))
				p := &Power{Client: client, Open: func(_ context.Context, b *api.Binding, _ Call) (device.Driver, error) {
					return ec2.Kind().Open(b.Params)
				}}
				f := asked(client.Clock().Now())
				f.Status.Decision.Power(0).Params = map[string]string{"instance": id, "region": "eu-west-1", "endpoint": srv.URL, "access_key": key, "secret_key": secret}
				still := f.Status.Lease
				seen := observed.Look{
					Me: "me", Brakes: observed.Brakes{Looked: true, Counted: true}, Lease: observed.Lease{Exists: true, Renewed: still.Renewed, Renewal: time.Second},
					Node: observed.Node{Exists: true, UID: "uid", Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown"}}},
				}
				r, err := p.Act(t.Context(), f, fence.Read, seen)
				seen.Call = r.Call
				st, act := fence.Decide(f, seen, client.Clock().Now())
				got := st.ActivityChecks.Results[0]
				if d := cmp.Diff(want, got.Answer); d != "" || act != fence.None || st.Phase != api.Pending {
					t.Errorf("%s, action %q, %v, %+v: %s", st.Phase, act, err, got, d)
				}
				for _, a := range cloud.Actions() {
					if a.Name != "DescribeInstances" {
						t.Errorf("the cloud was told %+v", a)
					}
				}
			})
		})
	}
}

// asked is a fence whose machine is about to be read as a check.
func asked(now time.Time) *api.NodeFence {
	at, long := metav1.NewMicroTime(now.Add(-time.Second)), metav1.NewMicroTime(now.Add(-time.Minute))
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}, Status: api.NodeFenceStatus{
		FenceNumber: 1, Decision: api.Decision{NodeUID: "uid", Devices: api.Named(api.Binding{Driver: "ec2"}),
			ResolvedPolicy: api.ResolvedPolicy{
				Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot, Mode: api.ModeEnforce, UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
					ActivityChecks: &api.ActivitySettings{
						Checks: []api.CheckSettings{{Type: api.CheckDevice}}, Rounds: 3, FailedRounds: 2,
						Interval: metav1.Duration{Duration: time.Second}, CheckTimeout: metav1.Duration{Duration: time.Minute},
					}},
			},
		},
	}}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		MinReaderVersion: api.Schema, FenceNumber: 1, Phase: api.Probing, OpenedAt: &long, DecidedAt: &at,
		Lease: api.LeaseRecord{Renewed: "r", StillSince: &long},
		Claim: &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, At: at, NotAfter: metav1.NewMicroTime(now.Add(20 * time.Second))},
		ActivityChecks: &api.ActivityRecord{Reading: true, CheckRound: api.CheckRound{
			Number: 1, StartedAt: &at, Since: &long, Results: []api.CheckResult{{Check: facts.DeviceCheck(1)}},
		}},
	}
	return f
}
