package due

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const resync = 30 * time.Second

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sec(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func fenceOf(rv string, change ...func(*api.NodeFence)) *api.NodeFence {
	f := &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "fence-a", ResourceVersion: rv, Generation: 1},
		Spec:       api.NodeFenceSpec{NodeName: "a"},
		Status:     api.NodeFenceStatus{Decision: api.Decision{NodeUID: "node-a"}, FenceNumber: 1, Phase: api.Fencing},
	}
	for _, c := range change {
		c(f)
	}
	return f
}

func check(at float64) func(*api.NodeFence) {
	return func(f *api.NodeFence) { f.Status.NextLook = &api.Time{Time: sec(at)} }
}
func finished(f *api.NodeFence) { f.Status.Phase = api.Finished }
func reopened(f *api.NodeFence) { f.Status.Phase, f.Status.FenceNumber = api.Pending, 2 }
func wished(f *api.NodeFence)   { f.Spec.Requests.Abort = &api.AbortRequest{By: "ada"} }
func resolved(f *api.NodeFence) { f.Generation++ }
func empty(f *api.NodeFence)    { f.Status = api.NodeFenceStatus{} }
func held(f *api.NodeFence)     { f.Finalizers = []string{api.Finalizer} }
func deleted(f *api.NodeFence)  { now := metav1.NewTime(t0); f.DeletionTimestamp = &now }
func again(f *api.NodeFence)    { f.UID = "fence-b" }

// dueLook is one moment: what is put in, then what is due.
type dueLook struct {
	at  float64
	put *api.NodeFence
}

func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		looks []dueLook
		// want is, for each look, the due times in seconds that are sent.
		want [][]float64
		next float64
	}{
		"without a next check it is due now":                       {[]dueLook{{0, fenceOf("1")}}, [][]float64{{0}}, 30},
		"not before its time":                                      {[]dueLook{{0, fenceOf("1", check(5))}, {4.9, nil}, {5, nil}}, [][]float64{nil, nil, {5}}, 35},
		"overdue at start is due with its own time":                {[]dueLook{{7, fenceOf("1", check(5))}}, [][]float64{{5}}, 35},
		"left unchanged it is sent each resync with another time":  {[]dueLook{{0, fenceOf("1", check(5))}, {5, nil}, {34, nil}, {35, nil}, {66, nil}}, [][]float64{nil, {5}, nil, {35}, {65}}, 95},
		"a long absence is made up for by one wake-up":             {[]dueLook{{0, fenceOf("1")}, {100, nil}}, [][]float64{{0}, {30}}, 120},
		"what is due far ahead is sent within a resync":            {[]dueLook{{0, fenceOf("1", check(300))}, {29, nil}, {30, nil}, {59, nil}}, [][]float64{nil, nil, {30}, nil}, 60},
		"so is what was due before the clock was set back":         {[]dueLook{{600, fenceOf("1", check(605))}, {0, nil}, {29, nil}, {30, nil}}, [][]float64{nil, nil, nil, {30}}, 60},
		"an older one of the same state is no change":              {[]dueLook{{0, fenceOf("1", check(5))}, {5, fenceOf("1", check(5))}, {6, nil}}, [][]float64{nil, {5}, nil}, 35},
		"whoever wrote an overdue one is given time to answer":     {[]dueLook{{0, fenceOf("1", check(0))}, {1, fenceOf("2", check(1))}, {1.9, nil}, {2, nil}}, [][]float64{{0}, nil, nil, {2}}, 32},
		"a new next check replaces the old":                        {[]dueLook{{0, fenceOf("1", check(5))}, {1, fenceOf("2", check(9))}, {8, nil}, {9, nil}}, [][]float64{nil, nil, nil, {9}}, 39},
		"a finished one is not due":                                {[]dueLook{{0, fenceOf("1", finished)}}, [][]float64{nil}, 0},
		"one that finishes is not due any more":                    {[]dueLook{{0, fenceOf("1", check(5))}, {1, fenceOf("2", finished)}, {9, nil}}, [][]float64{nil, nil, nil}, 0},
		"one without a status is no fence":                         {[]dueLook{{0, fenceOf("1", empty)}, {0.9, nil}, {1, nil}}, [][]float64{nil, nil, nil}, 0},
		"nor is one that is deleted with the finalizer, it is due": {[]dueLook{{0, fenceOf("1", empty, deleted, held)}}, [][]float64{{0}}, 30},
		"a reopened one is due when it says":                       {[]dueLook{{0, fenceOf("1", finished)}, {3, fenceOf("2", reopened, check(4))}, {4, nil}}, [][]float64{nil, nil, {4}}, 34},
		"what the gate writes into the record is no person's wish": {[]dueLook{{0, fenceOf("1", check(20))}, {3, fenceOf("2", check(20), resolved)}}, [][]float64{nil, nil}, 20},
		"a person's wish is due now":                               {[]dueLook{{0, fenceOf("1", check(50))}, {3, fenceOf("2", check(50), wished)}}, [][]float64{nil, {3}}, 33},
		"a deletion is due now":                                    {[]dueLook{{0, fenceOf("1", check(50))}, {3, fenceOf("2", check(50), deleted)}}, [][]float64{nil, {3}}, 33},
		"a deletion found at start is due now":                     {[]dueLook{{3, fenceOf("2", check(50), deleted)}}, [][]float64{{3}}, 33},
		"a deletion that is at work keeps its own time":            {[]dueLook{{3, fenceOf("2", check(50), deleted)}, {4, fenceOf("3", check(9), deleted)}, {9, nil}}, [][]float64{{3}, nil, {9}}, 39},
		"another record of the node is another fence":              {[]dueLook{{0, fenceOf("1", check(50))}, {1, fenceOf("1", again)}}, [][]float64{nil, {1}}, 31},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDueList(resync, unlabelled)
			var got [][]float64
			for _, l := range c.looks {
				if l.put != nil {
					d.note(l.put, sec(l.at))
				}
				var sent []float64
				for _, w := range d.take(sec(l.at)) {
					sent = append(sent, w.at.Sub(t0).Seconds())
				}
				got = append(got, sent)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			var want time.Time
			if c.next != 0 {
				want = sec(c.next)
			}
			if next := d.next(); !next.Equal(want) {
				t.Errorf("next at %v, want %v", next, want)
			}
		})
	}
}

func TestTheFirstOfSeveralIsNext(t *testing.T) {
	d := newDueList(resync, unlabelled)
	for node, at := range map[string]float64{"a": 9, "b": 3, "c": 6} {
		f := fenceOf("1", check(at))
		f.Spec.NodeName = node
		d.note(f, t0)
	}
	if !d.next().Equal(sec(3)) {
		t.Errorf("next at %v", d.next())
	}
	d.drop("b")
	if !d.next().Equal(sec(6)) || d.byNode["b"] != nil || d.byNode["a"] == nil {
		t.Errorf("after b is gone: next at %v", d.next())
	}
}

// unlabelled: no node has a label.
func unlabelled(string) map[string]string { return nil }
