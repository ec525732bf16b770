package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// problemWatch watches the Kubernetes Events about Nodes. They are in namespace default. An
// Event in another namespace may come from anybody who can write there, and need not be
// true. Type Normal means that there is no problem.
func (s *Source) problemWatch() watched {
	return watched{
		gv: corev1.SchemeGroupVersion, path: "/api", resource: problems, name: problems, ns: metav1.NamespaceDefault, of: &corev1.Event{},
		slim: slim.Report, handler: s.problemHandler(),
		selector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", "Node"),
			fields.OneTermNotEqualSelector("type", corev1.EventTypeNormal)),
	}
}

func (s *Source) problemHandler() cache.ResourceEventHandler {
	return s.eachReport(func(ev *corev1.Event, more int64, told time.Time) {
		if r, ok := reportOf(ev); ok {
			s.problem(ev, r, api.AboutNode, more, told)
		}
	})
}

// eachReport calls heard each time that an Event's count grows, with the increase, and when that was
// told: when the API server created the Event, or when the source sees its count grow. No time in the
// Event that its sender wrote counts (S18). For an Event that existed before the watch, the times of
// earlier reports are unknown, so it counts as one.
func (s *Source) eachReport(heard func(ev *corev1.Event, more int64, told time.Time)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			ev, told := obj.(*corev1.Event), s.now()
			if created := nodeproblem.ToldAt(ev); created.Before(told) {
				told = created
			}
			heard(ev, 1, told)
		},
		UpdateFunc: func(old, obj any) {
			if was, is := old.(*corev1.Event), obj.(*corev1.Event); nodeproblem.Times(was) != nodeproblem.Times(is) || was.UID != is.UID {
				heard(is, max(1, nodeproblem.Times(is)-nodeproblem.Times(was)), s.now())
			}
		},
	}
}

// problem sends a report of a node that exists.
func (s *Source) problem(ev *corev1.Event, r events.ProblemReport, about api.ProblemAbout, more int64, told time.Time) {
	now := s.now()
	v, ok := s.nodes.get(r.Node)
	if !ok || now.Sub(told) > problemValidity {
		return
	}
	r.NodeUID = v.uid
	is := s.problems.heard(ev, r, about, more, v, told)
	if _, here := s.nodes.get(r.Node); !here {
		s.problems.left(r.Node) // the node was deleted before the report was counted
	}
	if !is {
		return
	}
	s.outbox.Put(outbox.Letter{
		Event: s.o.Source.Problem(r, now), About: "problem/" + r.Report, Among: "problems/" + r.Node,
		Stale: func() bool { return s.now().Sub(told) > problemValidity },
	})
}

// tellAgain sends again the reports for which a policy may ask for a fence, of nodes without an open
// fence. The gate counts the reports itself in the API server, and only those after the
// node's last fence. The caller read the open fences before: when a record is deleted, its
// reports are forgotten first, so that none of them is sent again.
func (s *Source) tellAgain(here map[string]string, open map[string]*api.NodeFence, slot, now time.Time) {
	for of, r := range s.problems.again(here, now) {
		if open[of.node] != nil {
			continue
		}
		s.outbox.Put(outbox.Letter{
			Event: s.o.Source.ProblemAgain(r.ProblemReport, slot, now),
			About: "resync/" + of.node + "/problem/" + string(of.about) + "/" + of.component + "/" + of.reason,
			Stale: func() bool { return s.now().Sub(r.told) > problemValidity },
		})
	}
}
