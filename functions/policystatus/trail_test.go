package policystatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// trail are FenceReports and FenceActs by age, of which some can't be deleted.
type trail struct {
	all     []metav1.ObjectMeta
	acts    []metav1.ObjectMeta
	listed  int
	deleted []string
	refused string
}

func (r *trail) TrailAges(_ context.Context, resource string, atMost int) ([]metav1.ObjectMeta, error) {
	r.listed++
	if resource == kube.FenceActs {
		return slices.Clone(r.acts[:min(len(r.acts), atMost)]), nil
	}
	return slices.Clone(r.all[:min(len(r.all), atMost)]), nil
}

func (r *trail) DeleteOfTrail(_ context.Context, _ string, o *metav1.ObjectMeta) error {
	if o.Name == r.refused {
		return errors.New("forbidden")
	}
	r.deleted = append(r.deleted, o.Name)
	return nil
}

func agedReport(name string, hours int, at time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(-time.Duration(hours) * time.Hour))}
}

// TestTheTrailIsDeletedByAgeAndCount, the oldest first, and of those that can't be deleted it says so.
func TestTheTrailIsDeletedByAgeAndCount(t *testing.T) {
	at := now.Truncate(passEvery)
	few := []metav1.ObjectMeta{agedReport("c", 3, at), agedReport("a", 30*24, at), agedReport("d", 1, at), agedReport("b", 100*24, at)}
	var many []metav1.ObjectMeta
	for i := range 12 {
		many = append(many, agedReport(fmt.Sprintf("r%02d", i), 12-i, at))
	}
	var manyActs []metav1.ObjectMeta
	for i := range 12 {
		manyActs = append(manyActs, agedReport(fmt.Sprintf("u%02d-stop-a", i), 12-i, at))
	}
	two := int32(10)
	for name, c := range map[string]struct {
		all     []metav1.ObjectMeta
		acts    []metav1.ObjectMeta
		spec    *api.ReportsSpec
		after   time.Duration
		refused string
		want    []string
		fails   string
	}{
		"by the default age":          {all: few, want: []string{"b"}},
		"by an age that was set":      {all: few, spec: &api.ReportsSpec{KeepFor: api.DurationOf(2 * time.Hour)}, want: []string{"b", "a", "c"}},
		"by count":                    {all: many, spec: &api.ReportsSpec{AtMost: &two}, want: []string{"r00", "r01"}},
		"not at each tick":            {all: few, after: time.Minute},
		"others where one is refused": {all: few, spec: &api.ReportsSpec{KeepFor: api.DurationOf(2 * time.Hour)}, refused: "a", want: []string{"b", "c"}, fails: "delete one of the old fencereports: forbidden; it stays until a later tick"},
		"acts, but not the newest of a field": {
			acts: []metav1.ObjectMeta{agedReport("u1-stop-a", 110*24, at), agedReport("u1-stop-b", 100*24, at), agedReport("u1-pause-c", 120*24, at), agedReport("u2-stop-d", 1, at)},
			want: []string{"u1-stop-a"},
		},
		"more acts than are kept": {acts: manyActs, spec: &api.ReportsSpec{AtMost: &two}, want: []string{"u00-stop-a", "u01-stop-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := &shown{}, &trail{all: c.all, acts: c.acts, refused: c.refused}
			s.ledger.Spec.Reports = c.spec
			w := &Writer{Objects: s, Trail: r, Now: func() time.Time { return at.Add(c.after) }, Log: slog.New(slog.DiscardHandler)}
			err := w.pruneTrail(t.Context())
			if d := cmp.Diff(c.want, r.deleted); d != "" {
				t.Error(d)
			}
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v, want %q", err, c.fails)
			}
			if (r.listed > 0) != (c.after == 0) {
				t.Errorf("listed %d times", r.listed)
			}
		})
	}
}

// TestAPassDeletesSoMany: what one pass leaves is left to the next one.
func TestAPassDeletesSoMany(t *testing.T) {
	at := now.Truncate(passEvery)
	var all []metav1.ObjectMeta
	for i := range 3 * deletedAtOnce {
		all = append(all, agedReport(fmt.Sprintf("r%03d", i), 3000, at))
	}
	if n := len(listOverdue(all, nil, time.Hour, 5000, at)); n != deletedAtOnce {
		t.Errorf("%d in one pass", n)
	}
}
