package policystatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

func (s *shown) SaveLedger(_ context.Context, l *api.FenceLedger) (*api.FenceLedger, error) {
	if l.ResourceVersion != s.ledger.ResourceVersion {
		return nil, kube.ErrConflict
	}
	s.ledger = *l
	s.ledger.ResourceVersion += "'"
	return l, nil
}

// pending is a node's fence that waits for a slot.
func pending(node string) api.NodeFence {
	return api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("uid-" + node)},
		Spec:       api.NodeFenceSpec{NodeName: node},
		Status:     api.NodeFenceStatus{FenceNumber: 1, Phase: api.Pending},
	}
}

// TestAStormThatNobodyAsksAboutEnds: at a tick after its nodes have recovered its cool-down
// begins, and at a later tick the storm is gone (S15: a storm is seen as one).
func TestAStormThatNobodyAsksAboutEnds(t *testing.T) {
	s := &shown{}
	s.policy.Name, s.policy.Spec.Limits.StormCoolDown = "p", api.DurationOf(5*time.Minute)
	s.policy.Spec.Limits.MaxUnhealthy = &intstr.IntOrString{} // none
	time0 := metav1.NewMicroTime(now)
	until := metav1.NewMicroTime(now.Add(6 * time.Minute))
	storm := func(until *api.Time) []api.Storm {
		return []api.Storm{{Policy: "p", Since: time0, Message: "1 of 1 nodes are unhealthy, maxUnhealthy is 0 (0)", CoolDownUntil: until}}
	}
	s.ledger = api.FenceLedger{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	s.ledger.Status.Storms = []api.Storm{{Policy: "p", Since: time0, Message: "5 of 9"}}
	at := now
	w := &Writer{Objects: s, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		name    string
		after   time.Duration
		fences  []api.NodeFence
		version string
		want    []api.Storm
	}{
		{"its node is ill", 0, []api.NodeFence{pending("b")}, "1'", storm(nil)},
		{"and has healed", time.Minute, nil, "1''", storm(&until)},
		{"it cools down", 2 * time.Minute, nil, "1''", storm(&until)},
		{"it is over", 6 * time.Minute, nil, "1'''", nil},
		{"nothing is written after that", 7 * time.Minute, nil, "1'''", nil},
	} {
		at, s.fences = now.Add(c.after), c.fences
		observed := metav1.NewMicroTime(at)
		s.ledger.Status.Leases = api.LeasePicture{Since: &api.Time{Time: now.Add(-time.Hour)}, ObservedAt: &observed, Total: 1}
		if err := w.Write(t.Context()); err != nil {
			t.Fatal(c.name, err)
		}
		if d := cmp.Diff(c.want, s.ledger.Status.Storms); d != "" || s.ledger.ResourceVersion != c.version {
			t.Errorf("%s: %s %s", c.name, s.ledger.ResourceVersion, d)
		}
	}
}

// late makes a storm begin right after the nodes were seen healthy.
type late struct{ *shown }

func (l late) Nodes(ctx context.Context) ([]corev1.Node, error) {
	all, err := l.shown.Nodes(ctx)
	l.ledger.ResourceVersion, l.ledger.Status.Storms[0].CoolDownUntil = "2", nil
	l.ledger.Status.Storms[0].Message = "new"
	return all, err
}

// TestAStormThatBeginsMeanwhile: an earlier look does not end it (S14, S15).
func TestAStormThatBeginsMeanwhile(t *testing.T) {
	observed, since, until := metav1.NewMicroTime(now), metav1.NewMicroTime(now.Add(-time.Hour)), metav1.NewMicroTime(now.Add(-time.Second))
	s := late{&shown{}}
	s.policy.Name = "p"
	s.ledger = api.FenceLedger{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	s.ledger.Status = api.FenceLedgerStatus{Storms: []api.Storm{{Policy: "p", CoolDownUntil: &until}}, Leases: api.LeasePicture{Since: &since, ObservedAt: &observed, Total: 1}}
	w := &Writer{Objects: s, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	if err := w.writeLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]api.Storm{{Policy: "p", Message: "new"}}, s.ledger.Status.Storms); d != "" {
		t.Error(d)
	}
}

// unreadable fails one of the reads and writes.
type unreadable struct {
	*shown
	what string
}

func (u unreadable) fails(what string) error {
	if what == u.what {
		return errors.New("forbidden")
	}
	return nil
}

func (u unreadable) Nodes(context.Context) ([]corev1.Node, error)    { return nil, u.fails("nodes") }
func (u unreadable) Fences(context.Context) ([]api.NodeFence, error) { return nil, u.fails("fences") }
func (u unreadable) Policies(context.Context) ([]api.FencePolicy, error) {
	return nil, u.fails("policies")
}
func (u unreadable) Ledger(context.Context) (*api.FenceLedger, error) {
	return u.ledger.DeepCopy(), u.fails("ledger")
}
func (u unreadable) SaveLedger(context.Context, *api.FenceLedger) (*api.FenceLedger, error) {
	return nil, u.fails("save")
}

// TestALedgerThatCannotBeWrittenSaysWhy: what could not be read or written, and what comes of it.
func TestALedgerThatCannotBeWrittenSaysWhy(t *testing.T) {
	for what, want := range map[string]string{
		"nodes":    "read the nodes: forbidden; storms stay on the ledger until the next tick",
		"fences":   "read the fences: forbidden; storms stay on the ledger until the next tick",
		"policies": "read the policies: forbidden; storms stay on the ledger until the next tick",
		"ledger":   "read the ledger: forbidden; its storms and conditions stay as they are until the next tick",
		"save":     "write the ledger's status: forbidden; its storms and conditions stay as they are until the next tick",
	} {
		u := unreadable{&shown{}, what}
		u.ledger.Status.Storms = []api.Storm{{Policy: "p"}}
		w := &Writer{Objects: u, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
		if err := w.writeLedger(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", what, err, want)
		}
	}
}

// TestTheLedgerSaysWhetherItAccepts at the next tick. No tick writes a ledger that is right
// already: each write makes the gates reserve again (S14).
func TestTheLedgerSaysWhetherItAccepts(t *testing.T) {
	s, at := &shown{}, now
	s.ledger = api.FenceLedger{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Generation: 1}}
	w := &Writer{Objects: s, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	watched := func() {
		since, observed := metav1.NewMicroTime(now.Add(-time.Hour)), metav1.NewMicroTime(at)
		s.ledger.Status.Leases = api.LeasePicture{Since: &since, ObservedAt: &observed, Total: 1}
	}
	for _, c := range []struct {
		name          string
		change        func()
		version, want string
	}{
		{"it is new", watched, "1'", "True NothingHoldsAll 1"},
		{"nothing changes", watched, "1'", "True NothingHoldsAll 1"},
		{"a person stops all", func() { watched(); s.ledger.Spec.Stop, s.ledger.Generation = true, 2 }, "1''", "False Stopped 2"},
		{"it stays so", watched, "1''", "False Stopped 2"},
		{"the stop is over, and the source dies", func() { s.ledger.Spec.Stop, s.ledger.Generation = false, 3 }, "1'''", "False LeasePictureOld 3"},
		{"it stays dead", func() {}, "1'''", "False LeasePictureOld 3"},
	} {
		at = at.Add(time.Minute)
		c.change()
		if err := w.Write(t.Context()); err != nil {
			t.Fatal(c.name, err)
		}
		got := ""
		for _, x := range s.ledger.Status.Conditions {
			got += fmt.Sprint(x.Status, " ", x.Reason, " ", x.ObservedGeneration)
		}
		if got != c.want || s.ledger.ResourceVersion != c.version {
			t.Errorf("%s: %s, written %s", c.name, got, s.ledger.ResourceVersion)
		}
	}
}
