package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
)

// nodeView is what is kept of a node.
type nodeView struct {
	uid        string
	conditions map[string]condition
	systemUUID string
	providerID string
	// marks are the values of our isolation taint.
	marks []string
}

type condition struct {
	status, reason string
	since          time.Time
}

// unhealthy by the condition's own sense: Ready is well when True, every other
// when False, as node-problem-detector and the kubelet have it.
func unhealthy(typ, status string) bool {
	if typ == string(corev1.NodeReady) {
		return status != string(corev1.ConditionTrue)
	}
	return status != string(corev1.ConditionFalse)
}

// transitions are the conditions whose status changed. Without an old view all
// that is unhealthy counts as changed: at start, and after a re-list.
func transitions(name string, old *nodeView, now nodeView) []events.ConditionChange {
	var all []events.ConditionChange
	for typ, c := range now.conditions {
		bad := unhealthy(typ, c.status)
		if old == nil && !bad {
			continue
		}
		if old != nil && old.uid == now.uid {
			if was, ok := old.conditions[typ]; ok && was.status == c.status {
				continue
			} else if !ok && !bad {
				continue
			}
		}
		all = append(all, change(name, now.uid, typ, c))
	}
	return all
}

// presentlyUnhealthy is what a resync sends again.
func presentlyUnhealthy(name string, v nodeView) []events.ConditionChange {
	return transitions(name, nil, v)
}

func change(name, uid, typ string, c condition) events.ConditionChange {
	return events.ConditionChange{
		Node: name, NodeUID: uid, Condition: typ, Status: c.status, Reason: c.reason,
		Since: c.since, Unhealthy: unhealthy(typ, c.status),
	}
}

func (v nodeView) ready() bool {
	return v.conditions[string(corev1.NodeReady)].status == string(corev1.ConditionTrue)
}
