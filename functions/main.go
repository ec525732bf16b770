// Package functions is the table of contents: every function, and the only place where
// they are wired together, with the drivers that shared/binding lists.
//
// What a reader must not get wrong: a function knows no driver and no other
// function, and nothing registers itself. What is not in a table does not run.
//
// It is a package rather than a program because three programs serve it: the
// functions' own (cmd/nodefence), the local runner, and what `func` builds.
package functions

import (
	"slices"
	_ "time/tzdata" // for the policies' pause windows: an image has no time zones

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/adopt"
	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/deadletter"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/gate/admit"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/policystatus"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	"github.com/nodefence/nodefence/functions/request"
	"github.com/nodefence/nodefence/functions/resync"
	"github.com/nodefence/nodefence/shared/run"
)

// table names every function and its constructor.
var table = map[string]func(Parts) run.Handler{
	gate.Name: func(p Parts) run.Handler {
		g := &gate.Gate{Client: p.Client, Bind: p.resolver().Bind, Self: p.Self, Namespace: p.Namespace, Checks: p.ChecksNamespace, Networks: p.NodeNetworks, KubeletPort: p.KubeletPort, NeighborsImage: p.NeighborsImage, RequestNamespaces: p.RequestNamespaces, DeviceCall: p.LongestCall(), Remediation: p.remediation(), Log: p.Log, Reporter: p.Reporter, Queue: &admit.Queue{Pause: admit.Jitter}}
		g.Loop = p.loop(gate.Name, gate.Phases, g)
		return g.Handle
	},
	isolate.Name: func(p Parts) run.Handler {
		i := &isolate.Isolator{Client: p.Client, Open: p.resolver().OpenFor, Credentials: p.resolver().CredentialsVersion, Whose: p.resolver().Whose, Self: p.Self, DeviceCall: p.LongestCall(), Checks: p.checker(isolate.Name), Log: p.Log}
		i.Loop = p.loop(isolate.Name, isolate.Phases, i)
		return i.Handle
	},
	power.Name: func(p Parts) run.Handler {
		w := &power.Power{Client: p.Client, Open: p.resolver().OpenFor, Credentials: p.resolver().CredentialsVersion, Whose: p.resolver().Whose, Self: p.Self, DeviceCall: p.LongestCall(), Checks: p.checker(power.Name)}
		w.Loop = p.loop(power.Name, power.Phases, w)
		return w.Handle
	},
	cleanup.Name: func(p Parts) run.Handler {
		c := &cleanup.Cleaner{Client: p.Client, Log: p.Log, Reporter: p.Reporter}
		c.Loop = p.loop(cleanup.Name, cleanup.Phases, c)
		return c.Handle
	},
	recovery.Name: func(p Parts) run.Handler {
		r := &recovery.Recoverer{Client: p.Client, Log: p.Log, Remediation: p.remediation()}
		r.Loop = p.loop(recovery.Name, recovery.Phases, r)
		return r.Handle
	},
	request.Name: func(p Parts) run.Handler {
		return (&request.Requester{Objects: p.Client, Namespaces: p.RequestNamespaces, Now: p.Client.Clock().Now, Log: p.Log, Reporter: p.Reporter}).Handle
	},
	deadletter.Name: func(p Parts) run.Handler {
		return (&deadletter.Reporter{Fence: p.Client.Fence, Lost: p.Reporter.Lost}).Handle
	},
	resync.Name:       func(p Parts) run.Handler { return p.Resyncer().Handle },
	policystatus.Name: func(p Parts) run.Handler { return p.statuses().Handle },
	adopt.Name:        func(p Parts) run.Handler { return p.Adopter().Handle },
}

// ticked are the functions that a clock calls, each on a schedule of its own. No Trigger
// sends them events. adopt runs only where the settings say that something is adopted.
var ticked = []string{resync.Name, policystatus.Name, adopt.Name}

// Takes reports whether a function takes events of this type.
func Takes(function, eventType string) bool {
	if events.IsTick(eventType) {
		return slices.Contains(ticked, function)
	}
	return Owner(eventType) == function
}

// Owner is the function that an event type belongs to. It is empty if no function takes the
// type, and for a tick of a clock. The Triggers say the same, and a test compares the two.
func Owner(eventType string) string {
	switch eventType {
	case events.NodeUnhealthy, events.NodeHealthy, events.NodeProblem, events.NodeSuspect, events.NodeDumping:
		return gate.Name
	case events.NodeMarked, events.FenceReported:
		return recovery.Name
	case events.NodeCheck:
		return power.Name
	case events.NodeCheckIsolation:
		return isolate.Name
	case events.PodsFailing:
		return cleanup.Name
	case events.FenceRequestChanged:
		return request.Name
	}
	if events.Asks(eventType) || events.IsHint(eventType) {
		return gate.Name
	}
	p, _ := events.PhaseOf(eventType)
	return p.Owner()
}
