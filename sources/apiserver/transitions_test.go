package apiserver

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func view(uid string, conditions map[string]condition) nodeView {
	return nodeView{uid: uid, conditions: conditions}
}

func one(typ, status string, since float64) map[string]condition {
	return map[string]condition{typ: {status: status, reason: "Why", since: sec(since)}}
}

func changed(typ, status string, since float64, bad bool) events.ConditionChange {
	return events.ConditionChange{Node: "a", NodeUID: "1", Condition: typ, Status: status, Reason: "Why", Since: sec(since), Unhealthy: bad}
}

func TestTransitions(t *testing.T) {
	ready, down := view("1", one("Ready", "True", 0)), view("1", one("Ready", "Unknown", 5))
	for name, c := range map[string]struct {
		old    *nodeView
		now    nodeView
		fenced bool
		want   []events.ConditionChange
	}{
		"a healthy node at start is no news":              {nil, ready, false, nil},
		"an unhealthy node at start is":                   {nil, down, false, []events.ConditionChange{changed("Ready", "Unknown", 5, true)}},
		"Ready lost":                                      {&ready, down, false, []events.ConditionChange{changed("Ready", "Unknown", 5, true)}},
		"Ready lost under a fence is told all the same":   {&ready, down, true, []events.ConditionChange{changed("Ready", "Unknown", 5, true)}},
		"Ready again":                                     {&down, view("1", one("Ready", "True", 9)), false, []events.ConditionChange{changed("Ready", "True", 9, false)}},
		"from one kind of bad to the other":               {&down, view("1", one("Ready", "False", 9)), false, []events.ConditionChange{changed("Ready", "False", 9, true)}},
		"the same again":                                  {&down, down, false, nil},
		"a problem is well when False":                    {nil, view("1", one("KernelDeadlock", "False", 0)), false, nil},
		"a problem that is True is bad":                   {nil, view("1", one("KernelDeadlock", "True", 0)), false, []events.ConditionChange{changed("KernelDeadlock", "True", 0, true)}},
		"a problem that nobody knows of is bad":           {nil, view("1", one("KernelDeadlock", "Unknown", 0)), false, []events.ConditionChange{changed("KernelDeadlock", "Unknown", 0, true)}},
		"a new condition that is well is no news":         {&ready, view("1", map[string]condition{"Ready": ready.conditions["Ready"], "X": {status: "False"}}), false, nil},
		"well and bad and well while nobody looked":       {&ready, view("1", one("Ready", "True", 9)), false, nil},
		"bad and well and bad while nobody looked":        {&down, view("1", one("Ready", "Unknown", 9)), false, []events.ConditionChange{changed("Ready", "Unknown", 9, true)}},
		"a new spell under a fence is the fence's doing":  {&down, view("1", one("Ready", "Unknown", 9)), true, nil},
		"another node of the name, unhealthy":             {&nodeView{uid: "0", conditions: down.conditions}, down, false, []events.ConditionChange{changed("Ready", "Unknown", 5, true)}},
		"another node of the name, healthy, is a new one": {&nodeView{uid: "0", conditions: down.conditions}, ready, false, nil},
		"in the order of their names": {nil, view("1", map[string]condition{
			"Ready": {"False", "Why", sec(1)}, "Disk": {"True", "Why", sec(2)}}), false,
			[]events.ConditionChange{changed("Disk", "True", 2, true), changed("Ready", "False", 1, true)}},
	} {
		if d := cmp.Diff(c.want, transitions("a", c.old, c.now, c.fenced)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestSilenceIsOneNews: for conditions that change because the kubelet stops or resumes
// reporting, only Ready is sent; conditions that change by themselves are sent.
func TestSilenceIsOneNews(t *testing.T) {
	const gone, quiet = "NodeStatusUnknown", "Unknown"
	of := func(ready, pressure, disk condition) nodeView {
		return view("1", map[string]condition{"Ready": ready, "MemoryPressure": pressure, "DiskPressure": disk})
	}
	at := func(status, reason string) condition { return condition{status, reason, sec(1)} }
	well := of(at("True", "KubeletReady"), at("False", "Enough"), at("False", "Enough"))
	silent := of(at(quiet, gone), at(quiet, gone), at(quiet, gone))
	for name, c := range map[string]struct {
		old  *nodeView
		now  nodeView
		want string
	}{
		"the kubelet falls silent":                       {&well, silent, "Ready=Unknown"},
		"at start, and at each resync":                   {nil, silent, "Ready=Unknown"},
		"it is back":                                     {&silent, well, "Ready=True"},
		"it is back, and not ready":                      {&silent, of(at("False", "KubeletNotReady"), at("False", "Enough"), at("False", "Enough")), "Ready=False"},
		"it is back with a full disk":                    {&silent, of(at("True", "KubeletReady"), at("False", "Enough"), at("True", "Full")), "DiskPressure=True Ready=True"},
		"a monitor of its own does not know":             {&well, of(at(quiet, gone), at(quiet, gone), at(quiet, "MonitorGone")), "DiskPressure=Unknown Ready=Unknown"},
		"a condition falls silent, the kubelet does not": {&well, of(at("True", "KubeletReady"), at(quiet, gone), at("False", "Enough")), "MemoryPressure=Unknown"},
		"a condition is back, the kubelet is not":        {&silent, of(at(quiet, gone), at("False", "Enough"), at(quiet, gone)), "MemoryPressure=False"},
		"Ready by our own hand, the rest by Kubernetes":  {&well, of(at(quiet, api.NotReadyReason), at(quiet, gone), at(quiet, gone)), "DiskPressure=Unknown MemoryPressure=Unknown Ready=Unknown"},
	} {
		var got []string
		for _, x := range transitions("a", c.old, c.now, false) {
			got = append(got, x.Condition+"="+x.Status)
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWhichStatusIsWell(t *testing.T) {
	for typ, well := range map[string]string{
		"Ready": "True", "KernelReady": "True", "NetworkingReady": "True", "GPUHealthy": "True", "EtcdIsVoter": "True",
		"KernelDeadlock": "False", "ReadonlyFilesystem": "False", "FrequentKubeletRestart": "False", "CorruptDockerOverlay2": "False",
		"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "NetworkUnavailable": "False",
		"NotReady": "False", "DiskNotHealthy": "False", "Unhealthy": "False", "AnythingAtAll": "False",
	} {
		for _, status := range []string{"True", "False", "Unknown"} {
			if got := unhealthy(typ, status); got != (status != well) {
				t.Errorf("%s=%s: unhealthy %v", typ, status, got)
			}
		}
	}
}

func TestEveryProblemOfANodeIsTold(t *testing.T) {
	well := func(typ string) condition {
		return condition{status: map[bool]string{true: "True", false: "False"}[wellWhenTrue(typ)], reason: "Why", since: sec(0)}
	}
	types := []string{"FrequentKubeletRestart", "KernelDeadlock", "KernelReady", "ReadonlyFilesystem", "Ready", "Unheard"}
	before := view("1", map[string]condition{})
	for _, typ := range types {
		before.conditions[typ] = well(typ)
	}
	if got := presentlyUnhealthy("a", before); got != nil {
		t.Errorf("a node that is well is sent for: %v", got)
	}
	for _, typ := range types {
		for _, status := range []string{"True", "False", "Unknown"} {
			now := view("1", maps.Clone(before.conditions))
			now.conditions[typ] = condition{status: status, reason: "Why", since: sec(1)}
			bad := status != well(typ).status
			var want, again []events.ConditionChange
			if bad {
				want = []events.ConditionChange{changed(typ, status, 1, true)}
				again = []events.ConditionChange{changed(typ, well(typ).status, 2, false)}
			}
			healed := view("1", maps.Clone(before.conditions))
			healed.conditions[typ] = condition{status: well(typ).status, reason: "Why", since: sec(2)}
			for about, d := range map[string]string{
				"transition": cmp.Diff(want, transitions("a", &before, now, false)),
				"at start":   cmp.Diff(want, transitions("a", nil, now, false)),
				"resync":     cmp.Diff(want, presentlyUnhealthy("a", now)),
				"well again": cmp.Diff(again, transitions("a", &now, healed, false)),
			} {
				if d != "" {
					t.Errorf("%s=%s, %s: %s", typ, status, about, d)
				}
			}
		}
	}
}

func TestWakes(t *testing.T) {
	ready, down := view("1", one("Ready", "True", 3)), view("1", one("Ready", "Unknown", 5))
	for name, c := range map[string]struct {
		old, now nodeView
		due      time.Time
		want     bool
	}{
		"Ready again wakes with its own time": {down, ready, sec(3).Add(time.Microsecond), true},
		"Ready lost wakes too":                {ready, down, sec(5), true},
		"nothing changed":                     {ready, ready, sec(3).Add(time.Microsecond), false},
		"bad in another way":                  {down, view("1", one("Ready", "False", 9)), sec(9), false},
		"another node of the name":            {down, view("2", one("Ready", "Unknown", 5)), sec(99), true},
	} {
		if due, got := wakes(c.old, c.now, sec(99)); got != c.want || !due.Equal(c.due) {
			t.Errorf("%s: %v %v", name, due, got)
		}
	}
}
