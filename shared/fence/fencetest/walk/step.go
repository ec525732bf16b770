package walk

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// step takes one look, decides, and goes to every end that the action can have.
func (w *walker) step(s *State, l *look) {
	now := s.now.Add(l.dt)
	s.st = s.spec.In(s.st)
	f := w.asked(s, l)
	decided, act := w.decide(f, l.seen, now)
	after := &w.after
	*after = decided
	w.decisions++
	w.met.note(after, act)
	was := s.sh
	was.withdrawn = was.withdrawn || l.withdrawn
	sh := was.saw(s.spec, l.seen, s.st, now)
	sh.witnesses = sh.heard(s, l.seen, sh, now)
	sh.heardDump(s, l.seen, now)
	sh.hearsBoot(s, l, now)
	w.check(s, &sh, f, &l.seen, after, act, now)
	if s.st.Phase != after.Phase {
		w.edges[string(s.st.Phase)+" --> "+string(after.Phase)+": "+string(after.Reason)] = true
	}
	sh.drains(s, &l.seen, after, act, now)
	sh.switched(s, &l.seen, after, act, now)
	sh.provesCut(s, &l.seen, after)
	sh.awaits(s, after)
	sh.keeps(after, &l.seen)
	sh.freedBy(s, after, act)
	sh.counts(s, l, after, act, now)
	sh.works(s, after, act)
	sh.reports(after, act, now)
	sh.entered(s, &l.seen, after, now)
	sh.acted(s, &l.seen, after, act, now)
	next := &w.next
	*next = State{st: *after, now: now, spec: s.spec, sh: sh}
	w.goOn(s, l, next, act)
}

// asked is the record with what people ask of it in this look. It is one for all: made anew
// for each of millions of steps it would cost more than what it is made for.
func (w *walker) asked(s *State, l *look) *api.NodeFence {
	f := &w.record
	f.ObjectMeta, f.Spec, f.Status = metav1.ObjectMeta{Name: "n", UID: "fence-1"}, s.spec.AsSpec(), s.st
	f.Spec.Trust = s.trusts(l)
	at := metav1.NewTime(fencetest.Start)
	if l.withdrawn || s.sh.withdrawn {
		asked := s.spec.Decision.AskedBy
		f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: asked[len(asked)-1].ID}
	}
	if l.abort {
		f.Spec.Requests.Abort = &api.AbortRequest{By: "me", At: at}
	}
	if l.retry {
		f.Spec.Requests.Retry = &api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}
	}
	if l.uncordon {
		f.Spec.Requests.Uncordon = &api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}
	}
	if l.confirm {
		f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}}
	}
	return f
}

// goOn has the walk go on from where a step has come to, unless another walk does.
func (w *walker) goOn(from *State, l *look, next *State, act fence.Action) {
	next.strip()
	settled(next)
	w.goBack(from, next, act)
	w.opensAgain(next)
	w.opensAfterALie(next)
	w.policyTurns(next, act)
	switch {
	case next.st.Phase == api.Finished, climbed(next) && next.st.Restarts > 0:
	case next.like(l), next.pastDump(l), next.pastCut(), next.pastGone(), next.pastMachine(), next.pastHold(), next.pastManual(), next.pastDelay(), next.pastDrain(), next.pastWord(), next.pastLie():
	case next.pastAwaited():
		if w.live && next.sh.cut {
			w.answersAgain(next)
		}
	default:
		w.push(next)
	}
}
