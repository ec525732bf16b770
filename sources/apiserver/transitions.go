package apiserver

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
)

// unhealthy by the condition's own sense: a problem is well when False, as
// node-problem-detector and the kubelet have it, what is ready when True.
func unhealthy(typ, status string) bool {
	if wellWhenTrue(typ) {
		return status != string(corev1.ConditionTrue)
	}
	return status != string(corev1.ConditionFalse)
}

// wellWhenTrue are Ready and those that are named after it, as a cloud's own
// monitors do (KernelReady, NetworkingReady), and k3s' word for a member of
// etcd. Taken for problems, they would be sent of every node at every resync.
func wellWhenTrue(typ string) bool {
	for _, good := range []string{"Ready", "Healthy"} {
		if strings.HasSuffix(typ, good) {
			return !strings.HasSuffix(typ, "Not"+good)
		}
	}
	return typ == "EtcdIsVoter"
}

// transitions are the conditions whose status changed. Without an old view, or
// with that of another node of this name, all that is unhealthy counts as
// changed. So does a spell of the same status that began anew while nobody
// watched, unless the node is fenced already: then it is nodefence, or the
// machine's death throes, and no news.
//
// A kubelet that falls silent takes all its conditions with it, and brings all
// back: that is one piece of news, and Ready tells it. Whoever gets it looks at
// every condition of the node.
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

// unchanged: it is well and was not known, or is as it was.
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

// toldByReady: the kubelet takes the condition with it, or brings it back well.
func toldByReady(typ string, old *nodeView, now nodeView) bool {
	c, silent := now.conditions[typ], now.conditions[ready].silent()
	if silent && c.silent() {
		return true
	}
	back := old != nil && old.conditions[typ].silent() && old.conditions[ready].silent() && !silent
	return back && !unhealthy(typ, c.status)
}

// presentlyUnhealthy is what a resync sends again.
func presentlyUnhealthy(name string, v nodeView) []events.ConditionChange {
	return transitions(name, nil, v, false)
}

// silent: the node lifecycle controller set it because the kubelet said nothing.
func (c condition) silent() bool {
	return c.status == string(corev1.ConditionUnknown) && (c.reason == "NodeStatusUnknown" || c.reason == "NodeStatusNeverUpdated")
}

const ready = string(corev1.NodeReady)

func change(name, uid, typ string, c condition) events.ConditionChange {
	return events.ConditionChange{
		Node: name, NodeUID: uid, Condition: typ, Status: c.status, Reason: c.reason,
		Since: c.since, Unhealthy: unhealthy(typ, c.status),
	}
}

// wakes tells whether a change of the node is news for its open fence, and
// since when: the transition's own time, so that two sources say one event.
func wakes(old, v nodeView, now time.Time) (time.Time, bool) {
	if old.uid != v.uid {
		return now, true
	}
	return v.conditions[ready].since, old.ready() != v.ready()
}
