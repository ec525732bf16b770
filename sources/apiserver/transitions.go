package apiserver

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
)

// unhealthy follows the meaning of each condition. A problem condition is healthy when
// False, as node-problem-detector and the kubelet use it. Ready is healthy when True.
func unhealthy(typ, status string) bool {
	if wellWhenTrue(typ) {
		return status != string(corev1.ConditionTrue)
	}
	return status != string(corev1.ConditionFalse)
}

// wellWhenTrue has Ready, the conditions named after it that clouds' own monitors set
// (KernelReady, NetworkingReady), and k3s' condition for a member of etcd. If these counted
// as problem conditions, an event would be sent for every node at every resync.
func wellWhenTrue(typ string) bool {
	for _, good := range []string{"Ready", "Healthy"} {
		if strings.HasSuffix(typ, good) {
			return !strings.HasSuffix(typ, "Not"+good)
		}
	}
	return typ == "EtcdIsVoter"
}

// transitions returns the conditions whose status changed. Without an old view, or with the
// view of an earlier Node object of this name, every unhealthy condition counts as changed.
// A condition also counts as changed if its status is the same but began again while nobody
// watched. That rule does not hold for a node with a fence: there the change comes from
// nodefence or from the dying machine, and is no news.
//
// A kubelet that stops reporting changes all its conditions, and changes them back when it
// returns. Only the change of Ready is sent then. The receiver looks at every condition of
// the node anyway.
func transitions(name string, old *nodeView, now nodeView, fenced bool) []events.ConditionChange {
	if old != nil && old.uid != now.uid {
		old = nil
	}
	var all []events.ConditionChange
	for _, typ := range slices.Sorted(maps.Keys(now.conditions)) {
		if !unchanged(typ, old, now, fenced) && (typ == ready || !toldByReady(typ, old, now)) {
			all = append(all, change(name, now.uid, typ, now.conditions[typ]))
		}
	}
	return all
}

// unchanged reports whether a condition is as it was, or is healthy and was not known
// before.
func unchanged(typ string, old *nodeView, now nodeView, fenced bool) bool {
	c := now.conditions[typ]
	bad := unhealthy(typ, c.status)
	if old == nil {
		return !bad
	}
	was, known := old.conditions[typ]
	if !known {
		return !bad
	}
	return was.status == c.status && (fenced || !bad || was.since.Equal(c.since))
}

// toldByReady reports whether a condition changed only because the kubelet stopped
// reporting, or reports again that the condition is healthy.
func toldByReady(typ string, old *nodeView, now nodeView) bool {
	c, silent := now.conditions[typ], now.conditions[ready].silent()
	if silent && c.silent() {
		return true
	}
	back := old != nil && old.conditions[typ].silent() && old.conditions[ready].silent() && !silent
	return back && !unhealthy(typ, c.status)
}

// presentlyUnhealthy returns the conditions that a resync sends again.
func presentlyUnhealthy(name string, v nodeView) []events.ConditionChange {
	return transitions(name, nil, v, false)
}

// silent reports whether the node lifecycle controller set the condition because the
// kubelet does not report.
func (c condition) silent() bool {
	return c.status == string(corev1.ConditionUnknown) && (c.reason == "NodeStatusUnknown" || c.reason == "NodeStatusNeverUpdated")
}

func change(name, uid, typ string, c condition) events.ConditionChange {
	return events.ConditionChange{
		Node: name, NodeUID: uid, Condition: typ, Status: c.status, Reason: c.reason,
		Since: c.since, Unhealthy: unhealthy(typ, c.status),
	}
}

// wakes reports whether a change of the node is news for its open fence, and since when.
// The time is the transition's own, so that two sources send the same event. It is known to
// the second, and a kubelet that starts says NotReady and Ready within one second. They are a
// microsecond apart, so that no broker takes the second for the first (S19).
func wakes(old, v nodeView, now time.Time) (time.Time, bool) {
	if old.uid != v.uid {
		return now, true
	}
	since := v.conditions[ready].since
	if v.ready() {
		since = since.Add(time.Microsecond)
	}
	return since, old.ready() != v.ready()
}
