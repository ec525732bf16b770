package ask

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestOfMachine: only an object that names no node, and has the name of the Machine that owns it, is
// about the node of that Machine. The node is what our status says, and nothing that its author wrote.
func TestOfMachine(t *testing.T) {
	const capi = "cluster.x-k8s.io/v1beta2"
	owner := func(version, kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: "m"}
	}
	for name, c := range map[string]struct {
		owners       []metav1.OwnerReference
		given, noted string
		status       string
		want         string
		unknown      bool
	}{
		"no owner":              {nil, "", "", "", "a", false},
		"a Machine":             {[]metav1.OwnerReference{owner(capi, "Machine", "a")}, "", "", "", "", true},
		"that was looked up":    {[]metav1.OwnerReference{owner(capi, "Machine", "a")}, "", "", "b", "b", false},
		"in v1beta1":            {[]metav1.OwnerReference{owner("cluster.x-k8s.io/v1beta1", "Machine", "a")}, "", "", "b", "b", false},
		"OpenShift's":           {[]metav1.OwnerReference{owner("v1", "X", "x"), owner("machine.openshift.io/v1beta1", "Machine", "a")}, "", "", "b", "b", false},
		"of another name":       {[]metav1.OwnerReference{owner(capi, "Machine", "b")}, "", "", "b", "a", false},
		"of another kind":       {[]metav1.OwnerReference{owner(capi, "MachineSet", "a")}, "", "", "b", "a", false},
		"of another API":        {[]metav1.OwnerReference{owner("example.com/v1", "Machine", "a")}, "", "", "b", "a", false},
		"it names its node":     {[]metav1.OwnerReference{owner(capi, "Machine", "a")}, "a", "", "b", "a", false},
		"its annotation does":   {[]metav1.OwnerReference{owner(capi, "Machine", "a")}, "", "a", "b", "a", false},
		"a status and no owner": {nil, "", "", "b", "a", false},
	} {
		r := one(func(r *api.FenceRequest) {
			r.OwnerReferences, r.Spec.NodeName, r.Status.NodeFence.Name = c.owners, c.given, c.status
			if c.noted != "" {
				r.Annotations = map[string]string{api.NodeNameAnnotation: c.noted}
			}
		})
		if got, err := Node(r); got != c.want || errors.Is(err, ErrOfMachine) != c.unknown {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got := Subject(r); c.unknown && got != "a" {
			t.Errorf("%s: an event is about %q", name, got)
		}
	}
}

// TestHandsBack: only a proven fence that leaves the machine of a Cluster API's Machine off.
func TestHandsBack(t *testing.T) {
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		fence   func(*api.NodeFence)
		want    bool
	}{
		"proven and released":         {asIs, released, true},
		"the machine is switched on":  {asIs, func(f *api.NodeFence) { released(f); f.Status.Decision.Settings.Action = api.ActionReboot }, false},
		"not all was released":        {asIs, func(f *api.NodeFence) { leftOver(f); f.Status.Phase = api.Fenced }, false},
		"it failed":                   {asIs, func(f *api.NodeFence) { cut(f); f.Status.Phase = api.Failed }, false},
		"it is under way":             {asIs, proven, false},
		"it was withdrawn":            {deleted, released, false},
		"OpenShift's":                 {func(r *api.FenceRequest) { r.OwnerReferences[0].APIVersion = "machine.openshift.io/v1beta1" }, released, false},
		"of no Machine":               {func(r *api.FenceRequest) { r.OwnerReferences = nil }, released, false},
		"the record has another one":  {asIs, func(f *api.NodeFence) { released(f); f.UID = types.UID("other") }, false},
		"the record has a later one":  {asIs, func(f *api.NodeFence) { released(f); f.Status.FenceNumber = 7 }, false},
		"nothing is known about both": {asIs, nil, false},
	} {
		r := one(func(r *api.FenceRequest) {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "a", UID: "m"}}
			c.request(r)
		})
		f := record(api.Releasing, by("u"), func(f *api.NodeFence) { f.Status.Decision.Settings.Action = api.ActionOff })
		answered := Decide(Seen{Request: r, Node: "a", Fence: record(api.Fenced, by("u"), released), Now: now}).Status
		if c.fence == nil {
			f, answered = nil, nil
		} else {
			was := f.UID
			c.fence(f)
			if f.UID == was && f.Status.FenceNumber == 2 {
				answered = Decide(Seen{Request: r, Node: "a", Fence: f, Now: now}).Status
			}
		}
		if got := HandsBack(r, answered, f); got != c.want {
			t.Errorf("%s: %v, status %+v", name, got, answered)
		}
	}
}

// TestReplaced: a FenceRequest that is about a Machine is about the Node that the Machine had, not about
// another one of that name (S6: what is fenced is what was asked for).
func TestReplaced(t *testing.T) {
	ofMachine := func(r *api.FenceRequest) {
		r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "a", UID: "m"}}
	}
	r := one(ofMachine)
	r.Status = *Decide(Seen{Request: r, Node: "b", NodeUID: "1", Now: now}).Status
	if again := Decide(Seen{Request: r, Node: "b", NodeUID: "2", Now: now}).Status; again != nil {
		t.Errorf("looked up twice: %+v", again.NodeFence)
	}
	for uid, replaced := range map[types.UID]bool{"1": false, "2": true, "": true} {
		if got := Replaced(r, uid); (got != "") != replaced {
			t.Errorf("%q: %q", uid, got)
		}
	}
	if got := Replaced(one(ofMachine), ""); got == "" {
		t.Error("a Node that nobody noted")
	}
	if got := Replaced(one(asIs), "2"); got != "" {
		t.Errorf("of no Machine: %q", got)
	}
}

// TestAFailedRequestSaysWhatItBlocks: Cluster API's MachineHealthCheck asks for no other Machine as long as the
// object of one exists, so the message of a failed one says so, with both ways on. Every object that can fail says it:
// refused, given up, or ended without success.
func TestAFailedRequestSaysWhatItBlocks(t *testing.T) {
	const blocks = "; while this FenceRequest exists and Machine n/a is unhealthy, Cluster API's MachineHealthCheck asks for no fence of its other Machines: " +
		"delete the FenceRequest once the cause is removed, and this Machine is asked for again too (kubectl -n n delete fencerequest a), " +
		"or have the Machine left out (kubectl -n n annotate machines.cluster.x-k8s.io a cluster.x-k8s.io/skip-remediation=)"
	owned := func(version string) func(*api.FenceRequest) {
		return func(r *api.FenceRequest) {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: "Machine", Name: "a", UID: "m"}}
		}
	}
	refused := func(r *api.FenceRequest) api.FenceRequestStatus { return Refused(r, api.NoPolicy, "no", now) }
	decided := func(f *api.NodeFence) func(*api.FenceRequest) api.FenceRequestStatus {
		return func(r *api.FenceRequest) api.FenceRequestStatus {
			return *Decide(Seen{Request: r, Node: "a", Fence: f, Now: now}).Status
		}
	}
	const v1beta2 = "cluster.x-k8s.io/v1beta2"
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		status  func(*api.FenceRequest) api.FenceRequestStatus
		want    string
	}{
		"refused":                  {owned(v1beta2), refused, "no" + blocks},
		"in v1beta1":               {owned("cluster.x-k8s.io/v1beta1"), refused, "no" + blocks},
		"given up":                 {owned(v1beta2), decided(record(api.Failed, by("u"), nil)), "Failed, WaitingForApproval: waits" + blocks},
		"aborted":                  {owned(v1beta2), decided(record(api.Finished, by("u"), outcome(api.Aborted, nothing))), "Finished, WaitingForApproval: waits" + blocks},
		"under way":                {owned(v1beta2), decided(record(api.Fencing, by("u"), cut)), "Fencing, WaitingForApproval: waits"},
		"it has succeeded":         {owned(v1beta2), decided(record(api.Fenced, by("u"), released)), "the machine was proven off, and its work released"},
		"it waits for a right":     {owned(v1beta2), func(r *api.FenceRequest) api.FenceRequestStatus { return Waits(r, "waits", now) }, "waits"},
		"OpenShift's":              {owned("machine.openshift.io/v1beta1"), refused, "no"},
		"of no Machine":            {asIs, refused, "no"},
		"deleted, and it is going": {both(owned(v1beta2), deleted), refused, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			st := c.status(one(c.request))
			var got []string
			for _, is := range st.Conditions {
				got = append(got, is.Message)
			}
			if d := cmp.Diff([]string{c.want, c.want, c.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
}
