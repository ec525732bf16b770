package model

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/functions/gate"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// roomForOne is a policy under which one fence runs at a time.
func roomForOne(a api.FenceAction) api.FencePolicy {
	most, flow := intstr.FromInt32(10), int32(2)
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	return api.FencePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: api.FencePolicySpec{
			Unhealthy: api.Unhealthy{Conditions: []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}},
			Limits:    api.Limits{MaxUnhealthy: &most, MaxConcurrent: 1, PerNodePerDay: 3},
			Action:    a, Mode: api.Enforce, ControlPlane: api.Never,
			Timeouts: api.Timeouts{DeviceCall: d(20), PowerOff: d(60), Release: d(300), Boot: d(900), HealthyFor: d(1)},
			Retries:  api.Retries{PerStep: 3, Interval: d(5), Flow: &flow},
		},
	}
}

// threeDie is the scenario that is gone through from end to end.
func threeDie() scenario {
	return scenario{
		policy: roomForOne(api.ActionOff), nodes: 6, dead: 3, code: withStandIn(shipped), fine: []string{gate.Name}, procs: 2,
		still: []string{policies, budgets, nodes, leases}, alike: true, until: 10 * time.Minute,
	}
}

func TestEveryInterleaving(t *testing.T) {
	for _, c := range [][3]int{{3,1,0}} {
		start := time.Now()
		sc := threeDie()
		sc.dead, sc.crashes, sc.doubles = c[0], c[1], c[2]
		x := explore(sc)
		t.Log(c, x, time.Since(start))
		if x.watch.broken != "" {
			t.Error(x.watch.broken, x.watch.fault, strings.Join(x.story, "\n\t"))
		}
	}
}
