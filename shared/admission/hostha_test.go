package admission_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// TestHostHA: each state of CloudStack's Host HA, and what makes a node be in it.
func TestHostHA(t *testing.T) {
	now := metav1.NewMicroTime(fencetest.Start)
	in := func(p api.Phase, change ...func(*api.NodeFenceStatus)) func(*admission.Host) {
		return func(h *admission.Host) {
			h.Fence = &api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 1, Phase: p}}
			for _, c := range change {
				c(&h.Fence.Status)
			}
		}
	}
	evidence := func(a api.ActivityRecord) func(*api.NodeFenceStatus) {
		return func(st *api.NodeFenceStatus) { st.ActivityChecks = &a }
	}
	spec := func(change func(*api.FencePolicySpec)) func(*admission.Host) {
		return func(h *admission.Host) { change(&h.Policies[0].Spec) }
	}
	is := func(s metav1.ConditionStatus) func(*admission.Host) {
		return func(h *admission.Host) { h.Fenceable = s }
	}
	dryRun := spec(func(s *api.FencePolicySpec) { s.Mode = api.ModeDryRun })
	paused := spec(func(s *api.FencePolicySpec) { s.PauseRequests = []string{"us"} })
	excluded := func(h *admission.Host) { h.Excluded = "label x" }
	asking := evidence(api.ActivityRecord{CheckRound: api.CheckRound{StartedAt: &now}})
	quorum := api.WithQuorum
	for name, c := range map[string]struct {
		want   api.HostHA
		change []func(*admission.Host)
	}{
		"healthy":                            {api.HostHAAvailable, nil},
		"its device was not read yet":        {api.HostHAAvailable, []func(*admission.Host){is(metav1.ConditionUnknown)}},
		"its last fence is over":             {api.HostHAAvailable, []func(*admission.Host){in(api.Finished)}},
		"a person approves":                  {api.HostHAAvailable, []func(*admission.Host){spec(func(s *api.FencePolicySpec) { s.Mode = api.ModeRequireApproval })}},
		"its device does not answer":         {api.HostHAIneligible, []func(*admission.Host){is(metav1.ConditionFalse)}},
		"it is left alone":                   {api.HostHAIneligible, []func(*admission.Host){excluded}},
		"its policy leaves it alone":         {api.HostHAIneligible, []func(*admission.Host){spec(func(s *api.FencePolicySpec) { s.Exclude = &api.ExcludedNodes{NodeNames: []string{"a"}} })}},
		"two policies have the same say":     {api.HostHAIneligible, []func(*admission.Host){func(h *admission.Host) { h.Policies = append(h.Policies, policyNamed("q")) }}},
		"no policy":                          {api.HostHADisabled, []func(*admission.Host){func(h *admission.Host) { h.Policies = nil }}},
		"DryRun":                             {api.HostHADisabled, []func(*admission.Host){dryRun}},
		"DryRun, and its device is silent":   {api.HostHADisabled, []func(*admission.Host){dryRun, is(metav1.ConditionFalse)}},
		"DryRun, and unhealthy":              {api.HostHADisabled, []func(*admission.Host){dryRun, in(api.Pending)}},
		"DryRun, and a fence had begun":      {api.HostHAFencing, []func(*admission.Host){dryRun, in(api.Fencing)}},
		"paused":                             {api.HostHADisabled, []func(*admission.Host){paused}},
		"paused, and it is brought back":     {api.HostHARecovering, []func(*admission.Host){paused, in(api.PoweringOn)}},
		"of a newer nodefence":               {api.HostHADisabled, []func(*admission.Host){func(h *admission.Host) { h.Policies[0].NotUnderstood.Unknown = []string{"spec.brake"} }}},
		"stopped":                            {api.HostHADisabled, []func(*admission.Host){func(h *admission.Host) { h.Stopped = true }}},
		"of the control plane":               {api.HostHADisabled, []func(*admission.Host){func(h *admission.Host) { h.ControlPlane = true }}},
		"of the control plane, under quorum": {api.HostHAAvailable, []func(*admission.Host){func(h *admission.Host) { h.ControlPlane, h.Policies[0].Spec.ControlPlane.Fence = true, &quorum }}},
		"unhealthy":                          {api.HostHASuspect, []func(*admission.Host){in(api.Pending)}},
		"unhealthy, and silent before":       {api.HostHASuspect, []func(*admission.Host){in(api.Pending), is(metav1.ConditionFalse)}},
		"unhealthy, and left alone":          {api.HostHAIneligible, []func(*admission.Host){in(api.Pending), excluded}},
		"unhealthy, and its Node is gone":    {api.HostHASuspect, []func(*admission.Host){in(api.Pending), func(h *admission.Host) { h.Here, h.Policies = false, nil }}},
		"between two rounds":                 {api.HostHASuspect, []func(*admission.Host){in(api.Pending, evidence(api.ActivityRecord{}))}},
		"its checks are asked":               {api.HostHAChecking, []func(*admission.Host){in(api.Pending, asking)}},
		"its device is asked":                {api.HostHAChecking, []func(*admission.Host){in(api.Probing, evidence(api.ActivityRecord{Reading: true}))}},
		"seen alive":                         {api.HostHADegraded, []func(*admission.Host){in(api.Pending, evidence(api.ActivityRecord{Degraded: true}))}},
		"seen alive, and then fenced":        {api.HostHAFencing, []func(*admission.Host){in(api.Isolating, evidence(api.ActivityRecord{Degraded: true}))}},
		"its work is released":               {api.HostHAFencing, []func(*admission.Host){in(api.Releasing)}},
		"it stays off":                       {api.HostHAFenced, []func(*admission.Host){in(api.Fenced)}},
		"it boots":                           {api.HostHARecovering, []func(*admission.Host){in(api.Recovering)}},
		"access is given back":               {api.HostHARecovering, []func(*admission.Host){in(api.Restoring)}},
		"it is Ready again":                  {api.HostHARecovered, []func(*admission.Host){in(api.Recovering, func(st *api.NodeFenceStatus) { st.ReadySince = &now })}},
		"a person is to give it back":        {api.HostHAFenced, []func(*admission.Host){in(api.Recovering, func(st *api.NodeFenceStatus) { st.ReadySince, st.WaitsFor = &now, api.WaitsForUncordon })}},
		"its fence failed":                   {api.HostHAIneligible, []func(*admission.Host){in(api.Failed)}},
	} {
		h := admission.Host{Name: "a", Here: true, Fenceable: metav1.ConditionTrue, Policies: []api.FencePolicy{policyNamed("p")}}
		for _, change := range c.change {
			change(&h)
		}
		if got := admission.HostHA(h); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestToBeFenced: the policies of now say whether a node would be fenced, and no brake that is for a time.
func TestToBeFenced(t *testing.T) {
	quorum := api.WithQuorum
	spec := func(change func(*api.FencePolicySpec)) func(*admission.Host) {
		return func(h *admission.Host) { change(&h.Policies[0].Spec) }
	}
	for name, c := range map[string]struct {
		want   bool
		change func(*admission.Host)
	}{
		"healthy":                            {true, func(*admission.Host) {}},
		"its device does not answer":         {true, func(h *admission.Host) { h.Fenceable = metav1.ConditionFalse }},
		"a person approves":                  {true, spec(func(s *api.FencePolicySpec) { s.Mode = api.ModeRequireApproval })},
		"stopped":                            {true, func(h *admission.Host) { h.Stopped = true }},
		"paused":                             {true, spec(func(s *api.FencePolicySpec) { s.PauseRequests = []string{"us"} })},
		"two policies have the same say":     {true, func(h *admission.Host) { h.Policies = append(h.Policies, policyNamed("q")) }},
		"of a newer nodefence":               {true, func(h *admission.Host) { h.Policies[0].NotUnderstood.Unknown = []string{"spec.brake"} }},
		"of the control plane, under quorum": {true, func(h *admission.Host) { h.ControlPlane, h.Policies[0].Spec.ControlPlane.Fence = true, &quorum }},
		"of the control plane":               {false, func(h *admission.Host) { h.ControlPlane = true }},
		"no policy":                          {false, func(h *admission.Host) { h.Policies = nil }},
		"a policy for other nodes": {false, spec(func(s *api.FencePolicySpec) {
			s.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
		})},
		"DryRun":                     {false, spec(func(s *api.FencePolicySpec) { s.Mode = api.ModeDryRun })},
		"it is left alone":           {false, func(h *admission.Host) { h.Excluded = "label x" }},
		"its policy leaves it alone": {false, spec(func(s *api.FencePolicySpec) { s.Exclude = &api.ExcludedNodes{NodeNames: []string{"a"}} })},
		"its Node is gone":           {false, func(h *admission.Host) { h.Here = false }},
	} {
		h := admission.Host{Name: "a", Here: true, Fenceable: metav1.ConditionTrue, Policies: []api.FencePolicy{policyNamed("p")}}
		if c.change(&h); admission.ToBeFenced(h) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}

func policyNamed(name string) api.FencePolicy {
	return api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.FencePolicySpec{Mode: api.ModeEnforce}}
}
