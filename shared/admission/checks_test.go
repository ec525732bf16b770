package admission_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/test/random"
)

// checked gives a fence a policy whose rounds have so many Jobs.
func checked(f *api.NodeFence, jobs int) {
	p := &api.ActivitySettings{CheckTimeout: metav1.Duration{Duration: time.Minute}}
	for range jobs {
		p.Checks = append(p.Checks, api.CheckSettings{Type: api.CheckJob, Job: &api.JobCheck{PodTemplateName: "x"}})
	}
	f.Status.Decision.Settings.ActivityChecks = p
}

// turn is one of the i-th node's fence.
func turn(i int, jobs int32, at time.Time, lasts time.Duration) api.CheckingFence {
	return api.CheckingFence{NodeName: fmt.Sprintf("n%d", i), FenceUID: types.UID(fmt.Sprintf("f%d", i)), FenceNumber: 1, Jobs: jobs, At: observed.StampOf(at), Until: observed.StampOf(at.Add(lasts))}
}

// began is the record of a first round that began at that time.
func began(at time.Time) *api.ActivityRecord {
	return &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: new(observed.StampOf(at))}}
}

// waiting is the i-th node's fence, which waits for a turn with four Jobs: it was opened before that of n5 if i
// is less.
func waiting(i int) api.NodeFence {
	f, _, _ := checkWorld(4)
	f.Spec.NodeName, f.Name, f.UID = fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), types.UID(fmt.Sprintf("f%d", i))
	opened, next := observed.StampOf(fencetest.Start.Add(time.Duration(i-5)*time.Second)), observed.StampOf(fencetest.Start)
	f.Status.OpenedAt, f.Status.NextLook, f.Status.WaitsFor = &opened, &next, api.WaitsForCheckTurn
	return *f
}

// TestAdmitChecks: a round of checks waits for all that a fence waits for, and for room among the Jobs of the
// whole cluster (S14, S15).
func TestAdmitChecks(t *testing.T) {
	now := fencetest.Start
	long := 30 * time.Second
	for name, c := range map[string]struct {
		jobs   int
		change func(*api.NodeFence, *admission.Picture, *api.FenceLedger)
		want   api.Reason
		// turns are those of the ledger after it: node, and Jobs.
		turns string
	}{
		"nothing else runs": {4, func(*api.NodeFence, *admission.Picture, *api.FenceLedger) {}, "", "n5 4"},
		"it has no Job":     {0, func(*api.NodeFence, *admission.Picture, *api.FenceLedger) {}, "", ""},
		"a storm": {4, func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy, c.Nodes[3].Unhealthy, c.Nodes[4].Unhealthy = true, true, true, true
		}, api.TooManyUnhealthy, ""},
		"everything is stopped": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true }, api.Stopped, ""},
		"no slot is free": {4, func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Fencing))
		}, api.TooManyConcurrent, ""},
		"25 in all": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long)}
		}, "", "n1 21, n5 4"},
		"a gate died with its turn": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long), turn(5, 4, now.Add(-5*time.Second), long)}
		}, "", "n1 21, n5 4"},
		"its last round began before that turn": {4, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.ActivityChecks = began(now.Add(-time.Minute))
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long), turn(5, 4, now.Add(-5*time.Second), long)}
		}, "", "n1 21, n5 4"},
		"its round began by that turn": {4, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.ActivityChecks = began(now.Add(-4 * time.Second))
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long), turn(5, 4, now.Add(-5*time.Second), long)}
		}, api.TooManyChecks, "n1 21, n5 4"},
		"its storage check began by that turn": {4, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.StorageCheck = &began(now.Add(-4 * time.Second)).CheckRound
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long), turn(5, 4, now.Add(-5*time.Second), long)}
		}, api.TooManyChecks, "n1 21, n5 4"},
		"its record has forgotten its rounds": {4, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1}}
			l.Status.Checking = []api.CheckingFence{turn(1, 21, now, long), turn(5, 4, now.Add(-5*time.Second), long)}
		}, api.TooManyChecks, "n1 21, n5 4"},
		"it is held, and its turn stays": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Stop = true
			l.Status.Checking = []api.CheckingFence{turn(5, 4, now.Add(-5*time.Second), long)}
		}, api.Stopped, "n5 4"},
		"26 in all": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 22, now, long)}
		}, api.TooManyChecks, "n1 22"},
		"the ledger allows more": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Checks = &api.ChecksSpec{Concurrent: new(int32(26))}
			l.Status.Checking = []api.CheckingFence{turn(1, 22, now, long)}
		}, "", "n1 22, n5 4"},
		"the ledger allows less than one round": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.Checks = &api.ChecksSpec{Concurrent: new(int32(3))}
		}, api.TooManyChecks, ""},
		"an older fence waits, and both fit": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 17, now, long)}, append(c.Fences, waiting(2))
		}, "", "n1 17, n5 4"},
		"an older fence waits, and only one fits": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, waiting(2))
		}, api.TooManyChecks, "n1 21"},
		"an older fence waits whose round never fits": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			older, _, _ := checkWorld(26)
			g := waiting(2)
			g.Status.Decision = older.Status.Decision
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, g)
		}, "", "n1 21, n5 4"},
		"a younger fence waits, and only one fits": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, waiting(7))
		}, "", "n1 21, n5 4"},
		"an older fence is not looked at any more": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			old, due := waiting(2), observed.StampOf(now.Add(-61*time.Second))
			old.Status.NextLook = &due
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, old)
		}, "", "n1 21, n5 4"},
		"an older fence has its turn": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 17, now, long), turn(2, 4, now, long)}, append(c.Fences, waiting(2))
		}, "", "n1 17, n2 4, n5 4"},
		"an older fence waits for something else": {4, func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			old := waiting(2)
			old.Status.WaitsFor = api.WaitsForBudget
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, old)
		}, "", "n1 21, n5 4"},
		"an older fence has gone on": {4, func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxConcurrent = 9
			old := waiting(2)
			old.Status.Phase = api.Recovering
			l.Status.Checking, c.Fences = []api.CheckingFence{turn(1, 21, now, long)}, append(c.Fences, old)
		}, "", "n1 21, n5 4"},
		"the time of others is over": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 25, now.Add(-time.Minute), 59*time.Second)}
		}, "", "n5 4"},
		"the fence of others has ended, and their Jobs may run": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 25, now.Add(-time.Minute), 61*time.Second)}
		}, api.TooManyChecks, "n1 25"},
		"Jobs of its last round may run": {4, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.ActivityChecks = began(now)
			l.Status.Checking = []api.CheckingFence{turn(5, 22, now, long)}
		}, api.TooManyChecks, "n5 22"},
		"the clock was set back": {4, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Checking = []api.CheckingFence{turn(1, 22, now.Add(time.Hour), long)}
		}, api.TooManyChecks, "n1 22"},
	} {
		f, p, l := checkWorld(c.jobs)
		c.change(f, &p, l)
		v := admission.AdmitChecks(f, p.Fences, p, l, now)
		got := api.Reason("")
		if v != nil {
			got = v.Reason
			if v.Reason == api.TooManyChecks && (!strings.Contains(v.Message, "spec.checks.concurrent of FenceLedger cluster is "+fmt.Sprint(l.Spec.CheckLimit())) || v.Again <= 0) {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if d := cmp.Diff(c.turns, turns(l)); d != "" || got != c.want || len(l.Status.Reservations) > 1 {
			t.Errorf("%s: %q, want %q, %s", name, got, c.want, d)
		}
		for _, is := range l.Status.Checking {
			if is.Until.Sub(now) > facts.ChecksBegin+time.Minute+facts.CheckGrace {
				t.Errorf("%s: its time ends after %s", name, is.Until.Sub(now))
			}
		}
	}
}

// checkWorld is a cluster in which the fence of n5 may begin, with so many Jobs in a round.
func checkWorld(jobs int) (*api.NodeFence, admission.Picture, *api.FenceLedger) {
	f, p, l := fencetest.World(fencetest.Start)
	own := f.Spec.NodeName
	f.Spec.NodeName, f.Name, f.UID = "n5", "n5", "f5"
	opened := observed.StampOf(fencetest.Start)
	f.Status.OpenedAt = &opened
	for i := range p.Nodes {
		p.Nodes[i].Unhealthy = p.Nodes[i].Name == "n5"
	}
	for i := range p.Fences {
		if p.Fences[i].Spec.NodeName == own {
			p.Fences[i] = *f
		}
	}
	checked(f, jobs)
	return f, p, l
}

func turns(l *api.FenceLedger) string {
	var all []string
	for _, t := range l.Status.Checking {
		all = append(all, fmt.Sprint(t.NodeName, " ", t.Jobs))
	}
	return strings.Join(all, ", ")
}

// TestEndChecks: the turn of the round that has ended is given back, and no other.
func TestEndChecks(t *testing.T) {
	f, _, l := checkWorld(4)
	now := fencetest.Start
	l.Status.Checking = []api.CheckingFence{turn(1, 4, now, time.Minute), turn(5, 3, now.Add(-time.Minute), time.Hour), turn(5, 4, now, time.Minute)}
	for range 2 {
		admission.EndChecks(l, f, now.Add(facts.ChecksBegin))
		if turns(l) != "n1 4, n5 3" {
			t.Error(turns(l))
		}
	}
	if admission.EndChecks(l, f, now) || !admission.EndChecks(l, f, now.Add(-time.Minute)) {
		t.Error(turns(l))
	}
}

// TestNeverMoreJobsThanAllowed: fences of random ages and sizes ask in any order, end rounds and die. Jobs that
// may run are never more than the ledger allows, and each fence has its turn at last.
func TestNeverMoreJobsThanAllowed(t *testing.T) {
	for seed := range random.Histories(50) {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		_, p, l := checkWorld(0)
		now, served := fencetest.Start, map[int]bool{}
		running, began := map[int]time.Time{}, map[int]time.Time{}
		fences := make([]*api.NodeFence, 30)
		for i := range fences {
			f, _, _ := checkWorld(1 + r.IntN(20))
			opened := observed.StampOf(fencetest.Start.Add(-time.Duration(r.IntN(100)) * time.Second))
			f.Spec.NodeName, f.UID, f.Status.OpenedAt = fmt.Sprintf("m%d", i), types.UID(fmt.Sprintf("m%d", i)), &opened
			fences[i] = f
		}
		p.Fences = make([]api.NodeFence, len(fences))
		for range 2500 {
			now = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			seen := observed.StampOf(now)
			l.Status.Leases.ObservedAt = &seen
			i := r.IntN(len(fences))
			f, jobs := fences[i], int32(0)
			switch until, runs := running[i]; {
			case runs && r.IntN(3) == 0 && admission.EndChecks(l, f, began[i]), runs && now.After(until):
				delete(running, i)
			case !runs && !served[i]:
				f.Status.WaitsFor, f.Status.NextLook = "", &seen
				if v := admission.AdmitChecks(f, p.Fences, p, l, now); v == nil {
					began[i], served[i] = now, true
					running[i] = now.Add(facts.ChecksBegin + time.Minute + facts.CheckGrace)
				} else if v.Reason != api.TooManyChecks {
					t.Fatalf("%+v", v)
				} else {
					f.Status.WaitsFor = api.WaitsForCheckTurn
				}
				p.Fences[i] = *f
			}
			for i, until := range running {
				if !now.After(until) {
					jobs += admission.CheckJobs(&fences[i].Status.Decision.Settings)
				}
			}
			if jobs > api.ConcurrentChecks {
				t.Fatalf("seed %d: %d Jobs may run", seed, jobs)
			}
		}
		if len(served) != len(fences) {
			t.Errorf("seed %d: only %d of %d had a turn", seed, len(served), len(fences))
		}
	}
}

// TestCheckJobs counts the Jobs of one round: those of one storage check run by themselves.
func TestCheckJobs(t *testing.T) {
	neighbors := api.CheckSettings{Type: api.CheckNeighbors, Neighbors: &api.NeighborsSettings{Count: 3}}
	job := api.CheckSettings{Type: api.CheckJob, Job: &api.JobCheck{}}
	for name, c := range map[string]struct {
		s    api.Settings
		want int32
	}{
		"no checks":        {api.Settings{}, 0},
		"no Jobs":          {api.Settings{ActivityChecks: &api.ActivitySettings{Checks: []api.CheckSettings{{Type: api.CheckKubelet}, {Type: api.CheckDevice}}}, StorageCheck: &api.StorageSettings{Type: api.StorageTCP}}, 0},
		"neighbors, a Job": {api.Settings{ActivityChecks: &api.ActivitySettings{Checks: []api.CheckSettings{neighbors, job}}, StorageCheck: &api.StorageSettings{Type: api.StorageJob}}, 4},
		"the storage":      {api.Settings{StorageCheck: &api.StorageSettings{Type: api.StorageJob}}, 1},
	} {
		if got := admission.CheckJobs(&c.s); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
