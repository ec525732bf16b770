package view

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

const (
	// OwnNamespace is the namespace of nodefence unless somebody says otherwise.
	OwnNamespace = "nodefence-system"
	// SourceLease is the Lease by which the sources elect the one that leads, in nodefence's namespace.
	SourceLease = "nodefence-source"
)

// overdueFor is how long the next look of an open fence may be due. Package resync calls the owner of a due fence
// every minute at least.
const overdueFor = 2 * time.Minute

// uncountedFor is how old the statuses of all policies may be: package policystatus writes each one after
// admission.StatusAge, at a tick of a minute at most.
const uncountedFor = 2*admission.StatusAge + time.Minute

// Absent says in one line which part of nodefence does not answer, since when, and what to type; empty if no part is
// known to be absent. Of a ledger that is nil nothing is known.
func (s *Seen) Absent() string {
	source, functions := s.SourceAbsent(), s.functionsAbsent()
	if source == "" && functions == "" {
		return ""
	}
	run := "kubectl get pods -n " + s.namespace()
	if s.leads() && functions == "" {
		run = "kubectl logs -n " + s.namespace() + " deployment/" + SourceLease
	}
	return strings.TrimPrefix(strings.TrimSuffix(source+"; "+functions, "; "), "; ") + ". See: " + run
}

// SourceAbsent says that the source does not look at the cluster, and since when; empty if it looks.
func (s *Seen) SourceAbsent() string {
	if !s.Blind() {
		return ""
	}
	words := "nodefence " + s.lookedLast() + s.ageOf(s.Ledger.Status.Leases.ObservedAt) + ": no fence begins"
	if s.Ledger.Name == "" && s.Ledger.Status.Leases.ObservedAt == nil {
		words = "nodefence has not run in this cluster: it has no FenceLedger, and no fence begins"
	}
	if !s.SourceRead {
		return words
	}
	name := "Lease " + s.namespace() + "/" + SourceLease
	if s.Source == nil {
		return words + "; no source leads: there is no " + name
	}
	holder, renewed := s.holder(), s.Source.Spec.RenewTime
	switch {
	case s.leads() && s.within(s.Source.Spec.AcquireTime):
		return words + "; source " + holder + " leads since " + stamp(s.Source.Spec.AcquireTime.Time) + ", and has yet to look"
	case s.leads():
		return words + "; source " + holder + " leads, and FenceLedger " + api.LedgerName + " does not get what it writes"
	case renewed == nil:
		return words + "; no source leads: nobody holds " + name
	case holder == "":
		return words + "; no source leads: " + name + " was given up at " + stamp(renewed.Time) + s.ageOf(renewed)
	}
	return words + "; no source leads: " + holder + " renewed " + name + " last at " + stamp(renewed.Time) + s.ageOf(renewed)
}

// holder is the source that holds the Lease; empty if none does.
func (s *Seen) holder() string {
	if s.Source == nil || s.Source.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.Source.Spec.HolderIdentity
}

// leads tells whether a source is known to hold the Lease and to renew it.
func (s *Seen) leads() bool { return s.holder() != "" && s.within(s.Source.Spec.RenewTime) }

// within tells whether a time is less than a resync ago.
func (s *Seen) within(at *api.Time) bool { return at != nil && s.Now.Sub(at.Time) <= facts.Resync }

// functionsAbsent says that no function does what is due, and since when; empty if one may.
func (s *Seen) functionsAbsent() string {
	const none = "no function of nodefence answers or may write, or its broker delivers nothing: "
	if f := s.mostOverdue(); f != nil {
		at := f.Status.NextLook
		return none + fmt.Sprintf("fence %d of node %s was to be looked at at %s%s", f.Status.FenceNumber, f.Spec.NodeName, stamp(at.Time), s.ageOf(at))
	}
	if p := s.lastCounted(); p != nil {
		at := cmp.Or(p.Status.ObservedAt, &api.Time{Time: p.CreationTimestamp.Time})
		return none + fmt.Sprintf("the nodes of policy %s were not counted since %s%s", p.Name, stamp(at.Time), s.ageOf(at))
	}
	return ""
}

// mostOverdue is the open fence whose next look has been due for longest, if that is too long; nil if there is
// none. A function works on a fence whose call is under way, or whose record has noted an error
// lately; nobody here may touch a record of a newer nodefence.
func (s *Seen) mostOverdue() (most *api.NodeFence) {
	for i := range s.Fences {
		f := &s.Fences[i]
		st := &f.Status
		switch {
		case !f.Open() || st.NextLook == nil || s.Now.Sub(st.NextLook.Time) <= overdueFor:
		case fence.Foreign(*st):
		case st.Claim != nil && st.Claim.NotAfter.After(s.Now):
		case st.LastError != nil && s.Now.Sub(st.LastError.At.Time) <= overdueFor:
		case most == nil || st.NextLook.Before(most.Status.NextLook):
			most = f
		}
	}
	return most
}

// lastCounted is the policy whose status was written last, if that is too long ago for all; nil if it is not. A new
// policy says nothing.
func (s *Seen) lastCounted() (last *api.FencePolicy) {
	counted := func(p *api.FencePolicy) time.Time {
		if p.Status.ObservedAt != nil {
			return p.Status.ObservedAt.Time
		}
		return p.CreationTimestamp.Time
	}
	for i := range s.Policies {
		p := &s.Policies[i]
		at := counted(p)
		switch {
		case at.IsZero() || p.NotUnderstood.Any():
		case s.Now.Sub(at) <= uncountedFor && p.Status.ObservedAt != nil:
			return nil
		case s.Now.Sub(at) > uncountedFor && (last == nil || at.After(counted(last))):
			last = p
		}
	}
	return last
}

// namespace is nodefence's.
func (s *Seen) namespace() string { return cmp.Or(s.Namespace, OwnNamespace) }

// ageOf is how long ago a time was, in brackets.
func (s *Seen) ageOf(at *api.Time) string {
	if at == nil {
		return ""
	}
	return " (" + duration.HumanDuration(max(0, s.Now.Sub(at.Time))) + " ago)"
}

// age is what ageOf returns.
var age = regexp.MustCompile(` \([0-9a-z]+ ago\)`)

// WithoutAges is a text of this package without the ages that change as time goes by.
func WithoutAges(text string) string { return age.ReplaceAllString(text, "") }
