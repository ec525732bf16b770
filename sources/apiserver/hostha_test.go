package apiserver

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// hostHA is what a FenceTarget says of its node.
func (f *fakeAPI) hostHA(node string) api.HostHA {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, _ := f.objects[targetsURL][node].(map[string]any)
	st, _ := t["status"].(map[string]any)
	is, _ := st["hostHA"].(string)
	return api.HostHA(is)
}

// TestHostHAFollowsTheNode: its fence, its device, its policy, and the ledger's stop; a
// FenceTarget that was not checked yet is left to its first check.
func TestHostHAFollowsTheNode(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(nodesURL, nodeIn("b", "True", 0))
	policy := api.FencePolicy{Spec: api.FencePolicySpec{Mode: api.ModeEnforce, Action: api.ActionOff, Selector: &api.LabelSelector{}}}
	policy.Name, policy.Generation = "p", 1
	f.set(policiesURL, &policy)
	f.set(targetsURL, targetIn("a", string(api.DeviceAnswers), 0))
	unchecked := targetIn("b", string(api.DeviceAnswers), 0)
	unchecked.Status = api.FenceTargetStatus{}
	f.set(targetsURL, unchecked)
	startWith(t, f, Options{Resync: time.Hour, CheckEvery: time.Hour})
	becomes := func(want api.HostHA) {
		t.Helper()
		eventually(t, func() bool { return f.hostHA("a") == want })
	}
	becomes(api.HostHAAvailable)
	f.set(fencesURL, fenceOf("", func(f *api.NodeFence) { f.Status.Phase = api.Pending }))
	becomes(api.HostHASuspect)
	f.set(fencesURL, fenceOf(""))
	becomes(api.HostHAFencing)
	f.remove(fencesURL, "a")
	becomes(api.HostHAAvailable)
	policy.Generation, policy.Spec.Mode = 2, api.ModeDryRun
	f.set(policiesURL, &policy)
	becomes(api.HostHADisabled)
	policy.Generation, policy.Spec.Mode = 3, api.ModeEnforce
	f.set(policiesURL, &policy)
	becomes(api.HostHAAvailable)
	f.mu.Lock()
	l := f.ledger()
	l.Spec.Stop = true
	f.store(ledgerURL, l)
	f.mu.Unlock()
	becomes(api.HostHADisabled)
	if got := f.hostHA("b"); got != "" {
		t.Errorf("b is %s", got)
	}
}

// TestHostHAIsWrittenWhenItChanges, and only then; what was not written is tried again.
func TestHostHAIsWrittenWhenItChanges(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(targetsURL, targetIn("a", string(api.DeviceAnswers), 0))
	f.forbid(targetsURL + "/a/status")
	s, _ := startWith(t, f, Options{Resync: time.Hour, CheckEvery: time.Hour})
	eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.refused > 1 })
	f.forbid("")
	eventually(t, func() bool { return f.hostHA("a") == api.HostHADisabled })
	s.targets.mu.Lock()
	s.targets.doubtAllLocked()
	s.targets.mu.Unlock()
	eventually(t, func() bool {
		s.targets.mu.Lock()
		defer s.targets.mu.Unlock()
		return len(s.targets.hostHA.doubtful) == 0
	})
	f.set(fencesURL, fenceOf(""))
	eventually(t, func() bool { return f.hostHA("a") == api.HostHAFencing })
	n := 0
	for _, w := range f.written() {
		if w == "PATCH a" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d writes of two states", n)
	}
}

// TestAFenceThatMayNotBeginIsToldApart by the policies as they are. They say nothing of a node that is gone.
func TestAFenceThatMayNotBeginIsToldApart(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(fencesURL, fenceOf("", func(f *api.NodeFence) { f.Status.Phase = api.Pending }))
	reg := prometheus.NewRegistry()
	startWith(t, f, Options{Resync: time.Hour, Registerer: reg})
	becomes := func(want string) {
		t.Helper()
		eventually(t, func() bool {
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				if family.GetName() == "nodefence_fences_open" {
					return family.GetMetric()[0].GetLabel()[2].GetValue() == want
				}
			}
			return false
		})
	}
	policy := api.FencePolicy{Spec: api.FencePolicySpec{Action: api.ActionOff, Selector: &api.LabelSelector{}}}
	policy.Name = "p"
	for _, step := range []struct {
		mode api.Mode
		want string
	}{{api.ModeEnforce, "true"}, {api.ModeDryRun, "false"}, {api.ModeRequireApproval, "true"}, {api.ModeDryRun, "false"}} {
		policy.Generation++
		policy.Spec.Mode = step.mode
		f.set(policiesURL, &policy)
		becomes(step.want)
	}
	f.remove(nodesURL, "a")
	becomes("true")
}
