package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	// clockSlack bounds the difference between a time in nodefence's records and the same time in a
	// log: nodefence estimates the API server's clock.
	clockSlack = time.Second
	// lookTakes is the longest time from a look at the API server to the save of the decision. A
	// write within lookTakes before the save may not have been seen.
	lookTakes = 5 * time.Second
	// commandTravels is the longest time from the send of a command to the BMC's note of its arrival,
	// on a busy machine.
	commandTravels = 3 * time.Second
)

// version is an object after a write.
type version[T any] struct {
	*Write
	// object is nil if the write deleted the object.
	object *T
}

// versions are the versions of an object, in the order of resourceVersions.
type versions[T any] []version[T]

// lastBefore returns the last version before a write in the order of resourceVersions; nil if the history
// has none.
func (all versions[T]) lastBefore(w *Write) *version[T] {
	var last *version[T]
	for i := range all {
		if v := &all[i]; v.Epoch == w.Epoch && v.precedes(w) {
			last = v
		}
	}
	return last
}

// lastAt returns the last version requested by a time; nil if the history has none.
func (all versions[T]) lastAt(t time.Time) *version[T] {
	for i := range slices.Backward(all) {
		if !all[i].Received.After(t) {
			return &all[i]
		}
	}
	return nil
}

// stoodSince returns the last version before w if it was written by the time since; else nil.
func (all versions[T]) stoodSince(since time.Time, w *Write) *version[T] {
	v := all.lastBefore(w)
	if v == nil || v.Done.After(since) {
		return nil
	}
	return v
}

// precedes orders writes of one epoch by resourceVersion. A write without a resourceVersion is ordered by time.
func (w *Write) precedes(other *Write) bool {
	if w.Version > 0 && other.Version > 0 {
		return w.Version < other.Version
	}
	return w.Done.Before(other.Done)
}

// timeline has the history by objects.
type timeline struct {
	*History
	*Verdict
	fences   map[string]versions[api.NodeFence]
	nodes    map[string]versions[corev1.Node]
	policies map[string]versions[api.FencePolicy]
	ledger   versions[api.FenceLedger]
	// renewals are the writes of each node's Lease.
	renewals map[string][]*Write
	// boots are the boot IDs reported by kubelets.
	boots map[string][]boot
	// told are the commands to each machine's BMC and outlets.
	told map[string][]*Command
}

// boot is a boot ID reported by a kubelet.
type boot struct {
	*Write
	id string
}

func newTimeline(h *History) *timeline {
	t := &timeline{
		History: h, Verdict: &Verdict{NotJudged: slices.Clone(h.Gaps)}, fences: map[string]versions[api.NodeFence]{}, nodes: map[string]versions[corev1.Node]{},
		policies: map[string]versions[api.FencePolicy]{}, renewals: map[string][]*Write{}, boots: map[string][]boot{}, told: map[string][]*Command{},
	}
	for i := range h.Writes {
		t.addWrite(&h.Writes[i])
	}
	sortEach(t.fences)
	sortEach(t.nodes)
	sortEach(t.policies)
	sortVersions(t.ledger)
	for i := range h.Commands {
		c := &h.Commands[i]
		node, _, _ := strings.Cut(c.Controller, ".")
		t.told[node] = append(t.told[node], c)
	}
	return t
}

func (t *timeline) addWrite(w *Write) {
	switch w.Resource {
	case "nodefences", "nodefences/status":
		t.fences[w.Name] = append(t.fences[w.Name], parseObject[api.NodeFence](w))
	case "fenceledgers", "fenceledgers/status":
		t.ledger = append(t.ledger, parseObject[api.FenceLedger](w))
	case "fencepolicies":
		t.policies[w.Name] = append(t.policies[w.Name], parseObject[api.FencePolicy](w))
	case "nodes":
		t.nodes[w.Name] = append(t.nodes[w.Name], parseObject[corev1.Node](w))
	case "nodes/status":
		var n corev1.Node
		if json.Unmarshal(w.Request, &n) == nil && n.Status.NodeInfo.BootID != "" {
			t.boots[w.Name] = append(t.boots[w.Name], boot{w, n.Status.NodeInfo.BootID})
		}
	case "leases":
		if w.Namespace == corev1.NamespaceNodeLease && w.Verb != "delete" {
			t.renewals[w.Name] = append(t.renewals[w.Name], w)
		}
	}
}

// parseObject reads the object of a write.
func parseObject[T any](w *Write) version[T] {
	v := version[T]{Write: w}
	var meta metav1.TypeMeta
	if w.Removes || json.Unmarshal(w.Object, &meta) != nil || meta.Kind == "Status" {
		return v
	}
	o := new(T)
	if json.Unmarshal(w.Object, o) == nil {
		v.object = o
	}
	return v
}

func sortEach[T any](all map[string]versions[T]) {
	for _, v := range all {
		sortVersions(v)
	}
}

func sortVersions[T any](all versions[T]) {
	slices.SortStableFunc(all, func(a, b version[T]) int {
		switch {
		case a.Epoch != b.Epoch:
			return a.Epoch - b.Epoch
		case a.precedes(b.Write):
			return -1
		case b.precedes(a.Write):
			return 1
		}
		return 0
	})
}

// ofNodefence reports whether a function of nodefence has made a write. The functions' clients name the
// function; a test with nodefence's client names none.
func (w *Write) ofNodefence() bool { return strings.HasPrefix(w.Agent, "nodefence/") }

// holdsSlot lists the phases in which a fence counts against maxConcurrent (S14).
func holdsSlot(f *api.NodeFence) bool {
	return f.Status.Awaited == nil && slices.Contains([]api.Phase{api.Probing, api.Isolating, api.Fencing, api.Releasing}, f.Status.Phase)
}

// callLimit is the longest call to a device in a fence.
func callLimit(f *api.NodeFence) time.Duration {
	if limit := f.Status.Decision.DeviceCallTimeout.Duration; limit > 0 {
		return limit
	}
	return 20 * time.Second
}

// longerCalls returns how much longer than usual the calls of a fence may be.
func longerCalls(f *api.NodeFence) time.Duration { return max(0, callLimit(f)-20*time.Second) }

// addressesOf returns the address of a device, or the address of each member of a set.
func addressesOf(b *api.Binding) (all []string) {
	for _, m := range b.Members {
		all = append(all, m.Address)
	}
	if len(all) == 0 {
		all = []string{b.Address}
	}
	return all
}
