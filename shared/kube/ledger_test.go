package kube

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

// TestTheLedgerIsMadeOnce: if two gates find it missing at once, both get the same one.
func TestTheLedgerIsMadeOnce(t *testing.T) {
	f := newFakeAPI(t)
	f.before = func(f *fakeAPI) { f.set(ledgerPath, `{"metadata":{"name":"cluster"},"spec":{"stop":true}}`) }
	l, err := f.Ledger(t.Context())
	if err != nil || !l.Spec.Stop {
		t.Errorf("%+v, %v", l, err)
	}
	alone := newFakeAPI(t)
	if l, err = alone.Ledger(t.Context()); err != nil || l.Name != api.LedgerName || l.ResourceVersion == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestALedgerThatIsNotUnderstoodIsLeftAlone: otherwise what a newer program keeps there would be
// lost.
func TestALedgerThatIsNotUnderstoodIsLeftAlone(t *testing.T) {
	f := newFakeAPI(t)
	const stored = `{"metadata":{"name":"cluster"},"status":{"reservations":[{"nodeName":"a","novel":1}]}}`
	f.set(ledgerPath, stored)
	l, err := f.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.SaveLedger(t.Context(), l)
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "status.reservations[0].novel") || f.text(ledgerPath) != stored {
		t.Errorf("%v: %s", err, f.text(ledgerPath))
	}
}

// TestPast: a lower resourceVersion counts only in an answer to a request that was sent after the
// higher one was seen (S16).
func TestPast(t *testing.T) {
	at := func(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(noon.Add(d * time.Microsecond)) }
	for name, c := range map[string]struct {
		answers []answer
		want    *api.Restored
	}{
		"it grows":                {[]answer{{"7", 0, 1, 0}, {"9", 2, 3, 0}, {"10", 4, 5, 0}}, nil},
		"it stays":                {[]answer{{"7", 0, 1, 0}, {"7", 2, 3, 0}}, nil},
		"it went back":            {[]answer{{"10", 0, 1, 0}, {"9", 2, 3, 0}}, &api.Restored{SeenAt: at(3), From: "10", To: "9"}},
		"and has grown since":     {[]answer{{"10", 0, 1, 0}, {"7", 2, 3, 0}, {"8", 4, 5, 0}, {"30", 6, 7, 0}}, &api.Restored{SeenAt: at(3), From: "10", To: "7"}},
		"asked before, not back":  {[]answer{{"10", 1, 2, 0}, {"9", 0, 3, 0}}, nil},
		"asked at once, not back": {[]answer{{"10", 0, 2, 0}, {"9", 2, 3, 0}}, nil},
		"a late answer from before it went back": {[]answer{{"10", 0, 1, 0}, {"7", 3, 4, 0}, {"11", 2, 5, 0}, {"8", 6, 7, 0}},
			&api.Restored{SeenAt: at(4), From: "10", To: "7"}},
		"the ledger tells of it already":            {[]answer{{"10", 0, 1, 0}, {"8", 2, 3, 3}, {"9", 4, 5, 3}}, nil},
		"the ledger tells of it later":              {[]answer{{"10", 0, 1, 0}, {"8", 2, 3, 0}, {"9", 4, 5, 4}}, nil},
		"a second time, to after the first":         {[]answer{{"10", 0, 1, 1}, {"8", 2, 3, 1}}, &api.Restored{SeenAt: at(3), From: "10", To: "8"}},
		"a second time, to before the first":        {[]answer{{"10", 0, 1, 1}, {"8", 2, 3, 0}}, &api.Restored{SeenAt: at(3), From: "10", To: "8"}},
		"a server that gives no number is no proof": {[]answer{{"10", 0, 1, 0}, {"", 2, 3, 0}, {"x", 4, 5, 0}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &restoreWatch{}
			for _, a := range c.answers {
				l := &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{ResourceVersion: a.rv}}
				if a.told > 0 {
					l.Status.Restored = &api.Restored{SeenAt: at(a.told)}
				}
				p.note(l, a.began*time.Microsecond, a.heard*time.Microsecond, noon.Add(a.heard*time.Microsecond))
			}
			if d := cmp.Diff(c.want, p.back); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestARestoreIsToldToAll: the process that has seen it holds at once, the others hold because of
// the ledger, and nobody reports it a second time (S16).
func TestARestoreIsToldToAll(t *testing.T) {
	f := newFakeAPI(t)
	other := f.client()
	read := func(c *Client) *api.FenceLedger {
		t.Helper()
		l, err := c.Ledger(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	f.rv = 100
	f.set(ledgerPath, `{"metadata":{"name":"cluster"}}`)
	if a, b := read(f.Client), read(other); a.Status.Restored != nil || b.Status.Restored != nil {
		t.Fatal("held before anything was restored")
	}
	f.rv = 50
	f.set(ledgerPath, `{"metadata":{"name":"cluster"}}`)
	if _, err := f.SaveSourceView(t.Context(), SourceView{Leases: api.LeasePicture{Total: 2}}, ""); err != nil {
		t.Fatal(err)
	}
	seen := read(f.Client)
	r := seen.Status.Restored
	if r == nil || r.From != "101" || r.To != "52" {
		t.Fatalf("what was seen: %+v", r)
	}
	old := seen.DeepCopy()
	old.ResourceVersion = "51"
	if err := f.SaveWentBack(t.Context(), old); !errors.Is(err, ErrConflict) || f.WentBack() == nil {
		t.Fatalf("kept against another ledger: %v", err)
	}
	if err := f.SaveWentBack(t.Context(), seen); err != nil || f.WentBack() != nil {
		t.Fatalf("kept: %v, %v", err, f.WentBack())
	}
	for who, c := range map[string]*Client{"who saw it": f.Client, "who reads of it": other} {
		l := read(c)
		if d := cmp.Diff(r, l.Status.Restored); d != "" || c.WentBack() != nil || l.Status.Leases.Total != 2 {
			t.Errorf("%s: %s %v %+v", who, d, c.WentBack(), l.Status)
		}
	}
}

// answer is the ledger in one answer: its resourceVersion, when the request began and was
// answered, and the restore that the ledger names.
type answer struct {
	rv           string
	began, heard time.Duration
	told         time.Duration
}
