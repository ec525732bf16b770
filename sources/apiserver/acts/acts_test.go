package acts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// t0 is when everything is seen, and said is when a person says to have acted.
var (
	t0   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	said = metav1.NewMicroTime(t0.Add(-time.Second))
)

// written is what the API server has: acts by name.
type apiServer struct {
	mu    sync.Mutex
	has   map[string]api.FenceAct
	order []string
	// lists and fails are how many further lists and creates fail; tries counts the creates.
	lists, fails, tries int
}

func newAPIServer() *apiServer { return &apiServer{has: map[string]api.FenceAct{}} }

func (s *apiServer) Acts(context.Context) ([]api.FenceAct, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists > 0 {
		s.lists--
		return nil, errors.New("away")
	}
	var all []api.FenceAct
	for _, name := range slices.Backward(s.order) {
		all = append(all, s.has[name])
	}
	return all, nil
}

func (s *apiServer) CreateAct(_ context.Context, a *api.FenceAct) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.fails > 0 {
		s.fails--
		return errors.New("refused by a webhook")
	}
	if _, is := s.has[a.Name]; is {
		return kube.ErrConflict
	}
	a.CreationTimestamp = metav1.NewTime(t0)
	s.has[a.Name] = *a
	s.order = append(s.order, a.Name)
	return nil
}

// words are the acts in the order in which they were written, in words.
func (s *apiServer) words() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, name := range s.order {
		is := s.has[name].Spec
		w := fmt.Sprintf("%s %s: %q -> %q", is.Field, is.Object.Name, is.From, is.To)
		if is.By != "" {
			w += " by " + is.By
		}
		if is.Unnamed {
			w += " unnamed"
		}
		if is.Manager != "" {
			w += " through " + is.Manager
		}
		if is.Reason != "" {
			w += " because " + is.Reason
		}
		if is.Seen {
			w += ", seen"
		}
		if is.MadeBefore {
			w += ", made before"
		}
		if want := map[bool]time.Time{true: t0, false: said.Time}[is.Seen]; !is.At.Time.Equal(want) {
			w += " at " + is.At.String()
		}
		all = append(all, w)
	}
	return all
}

// history is what one source sees, in order, until it ends.
type history []func(s *Store)

// run has sources see these histories, one source after the other, and returns their outbox.
func run(t *testing.T, server *apiServer, lives ...history) *outbox.Outbox {
	t.Helper()
	out := outbox.New(nil, slog.New(slog.DiscardHandler))
	for _, sees := range lives {
		synctest.Test(t, func(t *testing.T) {
			s := New(server, events.SourceOf("c"), out, slog.New(slog.DiscardHandler), func() time.Time { return t0 })
			ctx, end := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); s.Run(ctx) }()
			for _, see := range sees {
				see(s)
			}
			time.Sleep(time.Hour) // of the test's own clock: the tries are over
			end()
			<-done
		})
	}
	return out
}

func stands(generation int64, change func(*api.FenceLedgerSpec), managers ...string) *api.FenceLedger {
	l := &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster", UID: "u-ledger", Generation: generation}}
	change(&l.Spec)
	for _, m := range managers {
		l.ManagedFields = append(l.ManagedFields, metav1.ManagedFieldsEntry{Manager: m, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:stop":{}}}`)})
	}
	return l
}

func is(l *api.FenceLedger) func(*Store)  { return func(s *Store) { s.Ledger(l, false) } }
func was(l *api.FenceLedger) func(*Store) { return func(s *Store) { s.Ledger(l, true) } }
func of(p *api.FencePolicy) func(*Store)  { return func(s *Store) { s.Policy(p, false) } }
func asked(f *api.NodeFence) func(*Store) { return func(s *Store) { s.Fence(f, false) } }
func calm(*api.FenceLedgerSpec)           {}
func bare(s *api.FenceLedgerSpec)         { s.Stop = true }
func by(who string, h int) *api.BrakeChange {
	return &api.BrakeChange{By: who, At: metav1.NewMicroTime(said.Add(time.Duration(h) * time.Hour))}
}

func byAnn(s *api.FenceLedgerSpec) {
	s.Stop, s.StopReason, s.StopChanged = true, "switches", by("ann", 0)
}

// keepsReason is what a bare start leaves of byAnn.
func keepsReason(s *api.FenceLedgerSpec) { s.StopReason, s.StopChanged = "switches", by("ann", 0) }

func paused(generation int64, c *api.BrakeChange, names ...string) *api.FencePolicy {
	return &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers", UID: "u-policy", Generation: generation}, Spec: api.FencePolicySpec{PauseRequests: names, PauseChanged: c}}
}

func fenced(generation int64, change func(*api.NodeFenceSpec)) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: "u-fence", Generation: generation}, Status: api.NodeFenceStatus{FenceNumber: 3}}
	change(&f.Spec)
	return f
}

func nothing(*api.NodeFenceSpec) {}

func request(by string) *api.Request {
	return &api.Request{FenceNumber: 3, By: by, At: metav1.NewTime(said.Time), Reason: "seen dark"}
}

func approved(s *api.NodeFenceSpec) { s.Requests.Approve = request("ann") }

// TestActsOfPeople: each change of a brake, and each word, has one act, with the name where the way to act gave one.
func TestActsOfPeople(t *testing.T) {
	until := metav1.NewMicroTime(t0.Add(time.Hour))
	for name, c := range map[string]struct {
		lives []history
		want  []string
	}{
		"nothing was done": {[]history{{is(stands(1, calm)), is(stands(2, calm)), of(paused(1, nil)), asked(fenced(1, nothing))}}, nil},
		"stop and start by the plugin": {[]history{{was(stands(1, calm)), is(stands(2, byAnn)), is(stands(3, func(s *api.FenceLedgerSpec) { s.StopChanged = &api.BrakeChange{By: "bob", At: said, Reason: "done"} }))}},
			[]string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" by bob because done`}},
		"a bare patch": {[]history{{was(stands(1, calm)), is(stands(2, bare, "kubectl-patch"))}}, []string{`Stop cluster: "false" -> "true" unnamed through kubectl-patch, seen`}},
		"a bare patch under the name of an earlier change": {[]history{{was(stands(1, calm)), is(stands(2, byAnn)), is(stands(3, func(s *api.FenceLedgerSpec) { s.StopChanged = by("ann", 0) }, "kubectl-edit"))}},
			[]string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" unnamed through kubectl-edit, seen`}},
		"the same, and the source began anew": {[]history{{was(stands(1, calm)), is(stands(2, byAnn))}, {was(stands(3, func(s *api.FenceLedgerSpec) { s.StopChanged = by("ann", 0) }, "kubectl-edit"))}},
			[]string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" unnamed through kubectl-edit, seen, made before`}},
		"the source begins anew": {[]history{{was(stands(1, calm)), is(stands(2, byAnn)), of(paused(4, by("bob", 0), "bob")), asked(fenced(2, approved))},
			{was(stands(2, byAnn)), of(paused(4, by("bob", 0), "bob")), asked(fenced(2, approved))}, {was(stands(5, byAnn)), asked(fenced(9, approved))}},
			[]string{`Stop cluster: "false" -> "true" by ann because switches`, `Pause workers: "" -> "bob" by bob`, `Approve node-7: "" -> "fence 3" by ann because seen dark`}},
		"made while no source ran": {[]history{{was(stands(2, byAnn))}, {was(stands(4, bare, "argocd")), is(stands(5, calm, "argocd"))}},
			[]string{`Stop cluster: "false" -> "true" by ann because switches, made before`, `Stop cluster: "true" -> "false" unnamed through argocd, seen`}},
		"stopped and started again while no source ran": {[]history{{was(stands(1, calm))}, {was(stands(3, func(s *api.FenceLedgerSpec) { s.StopChanged = by("bob", 0) }))}},
			[]string{`Stop cluster: "false" -> "false" by bob, made before`}},
		"a name that was taken away, and put back": {[]history{
			{was(stands(1, calm)), is(stands(2, byAnn)), is(stands(3, calm, "m")), is(stands(4, func(s *api.FenceLedgerSpec) { s.Stop, s.StopChanged = true, by("ann", 0) }, "m"))},
			{was(stands(4, func(s *api.FenceLedgerSpec) { s.Stop, s.StopChanged = true, by("ann", 0) }, "m")), is(stands(5, calm, "m"))},
			{was(stands(6, func(s *api.FenceLedgerSpec) { s.StopChanged = by("ann", 0) }, "m"))},
		}, []string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" unnamed through m, seen`,
			`Stop cluster: "false" -> "true" unnamed through m, seen`, `Stop cluster: "true" -> "false" unnamed through m, seen`}},
		"many acts, and the source begins anew": {[]history{{was(stands(1, calm)), is(stands(2, bare)), is(stands(3, calm)), is(stands(4, bare)), is(stands(5, calm))}, {was(stands(6, calm))}},
			[]string{`Stop cluster: "false" -> "true" unnamed, seen`, `Stop cluster: "true" -> "false" unnamed, seen`, `Stop cluster: "false" -> "true" unnamed, seen`, `Stop cluster: "true" -> "false" unnamed, seen`}},
		"a reason of an earlier stop": {[]history{
			{was(stands(1, calm)), is(stands(2, byAnn)), is(stands(3, keepsReason)), is(stands(4, byAnn))},
			{was(stands(5, keepsReason)), is(stands(6, byAnn))},
			{was(stands(7, func(s *api.FenceLedgerSpec) { s.StopChanged = by("bob", 0) })), is(stands(8, func(s *api.FenceLedgerSpec) { s.Stop, s.StopReason = true, "switches" }))},
			{was(stands(9, func(s *api.FenceLedgerSpec) { s.StopChanged = by("bob", 1) }))}, {is(stands(10, func(s *api.FenceLedgerSpec) { s.Stop, s.StopReason = true, "switches" }))},
		}, []string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" unnamed, seen`, `Stop cluster: "false" -> "true" unnamed, seen`,
			`Stop cluster: "true" -> "false" unnamed, seen, made before`, `Stop cluster: "false" -> "true" unnamed, seen`,
			`Stop cluster: "true" -> "false" by bob, made before`, `Stop cluster: "false" -> "true" unnamed because switches, seen`,
			`Stop cluster: "true" -> "false" by bob, made before at 2026-01-02 04:04:04 +0000 UTC`, `Stop cluster: "false" -> "true" unnamed because switches, seen`}},
		"the same, of more than one stop ago": {[]history{
			{was(stands(1, calm)), is(stands(2, byAnn)), is(stands(3, keepsReason)), is(stands(4, byAnn)), is(stands(5, keepsReason))}, {was(stands(6, byAnn))},
		}, []string{`Stop cluster: "false" -> "true" by ann because switches`, `Stop cluster: "true" -> "false" unnamed, seen`, `Stop cluster: "false" -> "true" unnamed, seen`,
			`Stop cluster: "true" -> "false" unnamed, seen`, `Stop cluster: "false" -> "true" unnamed, seen, made before`}},
		"an older view": {[]history{{was(stands(1, calm)), is(stands(3, byAnn)), is(stands(2, calm))}, {was(stands(2, calm))}}, []string{`Stop cluster: "false" -> "true" by ann because switches`}},
		"pauses": {[]history{{of(paused(1, nil)), of(paused(2, by("ann", 0), "upgrade", "ann")), of(paused(3, by("ann", 0), "ann")), of(paused(4, by("ann", 0), "ann", "MachineHealthCheck a/b"))}},
			[]string{`Pause workers: "" -> "ann, upgrade" by ann`, `Pause workers: "ann, upgrade" -> "ann" unnamed, seen`}},
		"words about the cluster": {[]history{{was(stands(1, calm)), is(stands(2, func(s *api.FenceLedgerSpec) {
			s.RestoreConfirmed = &api.RestoreConfirmed{By: "ann", SeenAt: said}
			s.CoolDownEnded = &api.CoolDownEnded{By: "bob", Reason: "replaced", Until: until, AlsoUntil: []api.Time{said}}
			s.Lost = &api.LostNodes{By: "eve", Reason: "burnt", Until: until, Nodes: []api.LostNode{{NodeName: "a"}, {NodeName: "b"}}}
		})), is(stands(3, func(s *api.FenceLedgerSpec) {
			s.RestoreConfirmed = &api.RestoreConfirmed{By: "ann", SeenAt: said}
			s.CoolDownEnded = &api.CoolDownEnded{By: "bob", Reason: "replaced", Until: until, AlsoUntil: []api.Time{said}}
		}))}}, []string{`RestoreConfirmed cluster: "" -> "the restore of 2026-01-02T03:04:04Z" by ann, seen`,
			`EndCoolDown cluster: "" -> "cool-downs until 2026-01-02T04:04:05Z, 2026-01-02T03:04:04Z" by bob because replaced, seen`,
			`Lost cluster: "" -> "until 2026-01-02T04:04:05Z: 2: a, b" by eve because burnt, seen`, `Lost cluster: "until 2026-01-02T04:04:05Z: 2: a, b" -> "" unnamed, seen`}},
		"requests to a fence": {[]history{{asked(fenced(1, nothing)), asked(fenced(2, func(s *api.NodeFenceSpec) {
			s.Requests = api.Requests{Approve: request("ann"), Retry: request("ann"), Uncordon: request("ann"), ConfirmOff: &api.Confirmation{Request: *request("bob")},
				Abort: &api.AbortRequest{By: "eve", At: metav1.NewTime(said.Time)}}
			s.Trust = &api.Trust{By: "eve", At: metav1.NewTime(said.Time), Reason: "mended", RefutedAt: said}
		})), asked(fenced(3, nothing))}}, []string{
			`Approve node-7: "" -> "fence 3" by ann because seen dark`, `Retry node-7: "" -> "fence 3" by ann because seen dark`, `Lift node-7: "" -> "fence 3" by ann because seen dark`,
			`ConfirmOff node-7: "" -> "fence 3" by bob because seen dark`, `Abort node-7: "" -> "the open fence" by eve`, `Trust node-7: "" -> "the cut refuted at 2026-01-02T03:04:04Z" by eve because mended`}},
		"an approval of another person in place of the first": {[]history{{asked(fenced(2, approved)), asked(fenced(3, func(s *api.NodeFenceSpec) { s.Requests.Approve = request("bob") }))}},
			[]string{`Approve node-7: "" -> "fence 3" by ann because seen dark`, `Approve node-7: "fence 3" -> "fence 3" by bob because seen dark`}},
	} {
		server := newAPIServer()
		run(t, server, c.lives...)
		if d := cmp.Diff(c.want, server.words()); d != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, d)
		}
	}
}

// TestAnActIsWrittenOnce, whatever fails: a create that failed is tried again, and one whose answer was lost finds its
// own act. The source's watches wait for none.
func TestAnActIsWrittenOnce(t *testing.T) {
	server := newAPIServer()
	server.lists, server.fails = 2, 2
	life := history{was(stands(1, calm)), is(stands(2, bare, "m"))}
	run(t, server, life)
	if len(server.has) != 1 || server.tries != 3 {
		t.Errorf("%d acts after %d creates", len(server.has), server.tries)
	}
	one := server.has[server.order[0]]
	server.order = nil // the list does not have it yet
	run(t, server, life)
	if len(server.has) != 1 || server.tries != 4 || server.has[one.Name].Spec != one.Spec {
		t.Errorf("%d acts after %d creates", len(server.has), server.tries)
	}
}

// TestSwitchesOfOneKindHaveActsOfTheirOwn: a stop, a start and a stop again through bare patches are three.
func TestSwitchesOfOneKindHaveActsOfTheirOwn(t *testing.T) {
	server := newAPIServer()
	run(t, server, history{was(stands(1, calm)), is(stands(2, bare)), is(stands(3, calm)), is(stands(4, bare))})
	if len(server.has) != 3 {
		t.Errorf("%q", server.words())
	}
}

// TestWhatWaitsIsBounded: too many acts are dropped, and counted.
func TestWhatWaitsIsBounded(t *testing.T) {
	server := newAPIServer()
	out := outbox.New(nil, slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		s := New(server, "", out, slog.New(slog.DiscardHandler), func() time.Time { return t0 })
		s.listed = true
		for i := range int64(mostWaiting + 5) {
			s.Ledger(stands(i+1, []func(*api.FenceLedgerSpec){bare, calm}[i%2]), false)
		}
		var m dto.Metric
		if err := s.counted.WithLabelValues(dropped).Write(&m); err != nil || m.Counter.GetValue() != 5 || len(s.waiting) != mostWaiting {
			t.Errorf("%v dropped, %d wait: %v", m.Counter.GetValue(), len(s.waiting), err)
		}
		s.queue.ShutDown()
	})
}

// TestTheEventOfAnAct is sent after the create, and again by a source that begins soon after: the first one may have
// ended between.
func TestTheEventOfAnAct(t *testing.T) {
	server := newAPIServer()
	first := run(t, server, history{was(stands(2, byAnn))}).Waiting()
	again := run(t, server, history{was(stands(2, byAnn))}).Waiting()
	if len(first) != 1 || len(again) != 1 || first[0].Event.ID() != again[0].Event.ID() || first[0].Event.Type() != events.PersonActed {
		t.Fatalf("%v, then %v", first, again)
	}
	for name, a := range server.has {
		a.CreationTimestamp = metav1.NewTime(t0.Add(-tellAgain))
		server.has[name] = a
	}
	if late := run(t, server, history{was(stands(2, byAnn))}).Waiting(); len(late) != 0 {
		t.Errorf("long after: %v", late)
	}
}

// TestTextsOfPeopleFit: what is longer than a field of an act is shortened, and the act is the same one.
func TestTextsOfPeopleFit(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("%d-%s", i, strings.Repeat("x", 20)))
	}
	server := newAPIServer()
	life := history{of(paused(1, by("ann", 0), many...))}
	run(t, server, life, life)
	for _, a := range server.has {
		if len(a.Spec.To) > api.ActText {
			t.Errorf("%d letters", len(a.Spec.To))
		}
	}
	if len(server.has) != 1 {
		t.Errorf("%d acts", len(server.has))
	}
}
