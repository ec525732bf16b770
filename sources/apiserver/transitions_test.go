package apiserver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
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

func TestWakes(t *testing.T) {
	ready, down := view("1", one("Ready", "True", 3)), view("1", one("Ready", "Unknown", 5))
	for name, c := range map[string]struct {
		old, now nodeView
		due      time.Time
		want     bool
	}{
		"Ready again wakes with its own time": {down, ready, sec(3), true},
		"Ready lost wakes too":                {ready, down, sec(5), true},
		"nothing changed":                     {ready, ready, sec(3), false},
		"bad in another way":                  {down, view("1", one("Ready", "False", 9)), sec(9), false},
		"another node of the name":            {down, view("2", one("Ready", "Unknown", 5)), sec(99), true},
	} {
		if due, got := wakes(c.old, c.now, sec(99)); got != c.want || !due.Equal(c.due) {
			t.Errorf("%s: %v %v", name, due, got)
		}
	}
}
