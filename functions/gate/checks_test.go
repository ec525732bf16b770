package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/functions/gate/admit"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/loop"
)

// withJobs gives each fence of a burst a policy whose rounds have so many Jobs.
func withJobs(b *burst, jobs int) {
	for i := range b.fences {
		p := &api.ActivitySettings{CheckTimeout: metav1.Duration{Duration: time.Minute}, Rounds: 1, FailedRounds: 1}
		for range jobs {
			p.Checks = append(p.Checks, api.CheckSettings{Type: api.CheckJob, Job: &api.JobCheck{PodTemplateName: "tpl"}})
		}
		b.fences[i].Status.Decision.Settings.ActivityChecks = p
	}
}

// TestChecksOfManyGates: 40 fences of two processes ask for a round of four Jobs each. Six may run beside each
// other, and the others say why they wait. Those are next that were opened first (S14).
func TestChecksOfManyGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 40, 10)
		withJobs(b, 4)
		another := &Gate{Client: b.gate.Client, Queue: &admit.Queue{}, Log: b.gate.Log}
		waiting := slices.Sorted(maps.Keys(maps.Collect(slices.All(b.fences))))
		for len(waiting) > 0 {
			may, started := make([]bool, 40), time.Now()
			for _, i := range rand.Perm(len(waiting)) {
				i := waiting[i]
				go func() { may[i] = mayCheck(t, []*Gate{b.gate, another}[i%2], &b.fences[i]) }()
			}
			synctest.Wait()
			if want := 4 * int32(min(6, len(waiting))); jobsOf(b) != want {
				t.Errorf("%d Jobs may run, want %d", jobsOf(b), want)
			}
			var got []int
			for i := range may {
				if may[i] {
					got = append(got, i)
					b.gate.checker().EndTurn(t.Context(), &b.fences[i], started)
				}
			}
			if want := waiting[:min(6, len(waiting))]; len(waiting) < 40 && !slices.Equal(got, want) {
				t.Errorf("%v are checked, and %v are the oldest", got, want)
			}
			waiting = slices.DeleteFunc(waiting, func(i int) bool { return may[i] })
			b.wait(t, waiting)
		}
	})
}

// mayCheck asks whether a round of a fence's checks may begin. A no says that the Jobs do not fit.
func mayCheck(t *testing.T, g *Gate, f *api.NodeFence) bool {
	r, err := g.Act(t.Context(), f.DeepCopy(), fence.AskChecks, observed.Look{})
	if err != nil {
		t.Error(err)
	}
	if v := r.Verdict; v != nil && (v.Reason != api.TooManyChecks || !strings.Contains(v.Message, "this round has 4")) {
		t.Errorf("%+v", v)
	}
	return err == nil && r.Verdict == nil
}

// wait has the records of these fences say that they wait for a turn.
func (b *burst) wait(t *testing.T, all []int) {
	for i := range b.fences {
		b.fences[i].Status.WaitsFor = ""
		if slices.Contains(all, i) {
			b.fences[i].Status.WaitsFor, b.fences[i].Status.NextLook = api.WaitsForCheckTurn, stamp(time.Now())
		}
	}
	b.answers[fencesPath] = textOf(t, api.NodeFenceList{Items: b.fences})
}

// TestATurnIsOneStep: another gate gives the last turns between the count and the write of this one (S14).
func TestATurnIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 3, 3)
		withJobs(b, 4)
		once := sync.OnceFunc(func() {
			b.another(func(l *api.FenceLedger) {
				l.Status.Checking = []api.CheckingFence{{NodeName: nameOf(1), FenceUID: b.fences[1].UID, FenceNumber: 1, Jobs: 22, At: *stamp(time.Now()), Until: *stamp(time.Now().Add(time.Minute))}}
			})
		})
		b.before = func(r *http.Request) {
			if r.Method == http.MethodPut {
				once()
			}
		}
		if mayCheck(t, b.gate, &b.fences[0]) || jobsOf(b) != 22 || b.conflicts != 1 {
			t.Errorf("%d Jobs may run, after %d conflicts", jobsOf(b), b.conflicts)
		}
	})
}

// TestATurnEndsByItsTime: the process that took it has died before any Job was begun.
func TestATurnEndsByItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 3, 3)
		withJobs(b, 4)
		b.another(func(l *api.FenceLedger) { l.Spec.Checks = &api.ChecksSpec{Concurrent: new(int32(7))} })
		if !mayCheck(t, b.gate, &b.fences[0]) || mayCheck(t, b.gate, &b.fences[1]) {
			t.Fatalf("%d Jobs may run", jobsOf(b))
		}
		for _, c := range []struct {
			later time.Duration
			may   bool
		}{{facts.ChecksBegin + time.Minute + facts.CheckGrace - time.Second, false}, {2 * time.Second, true}} {
			time.Sleep(c.later)
			b.another(func(*api.FenceLedger) {}) // the Leases are watched
			if _, err := b.gate.Client.Ledger(t.Context()); err != nil {
				t.Fatal(err)
			}
			if may := mayCheck(t, b.gate, &b.fences[1]); may != c.may {
				t.Errorf("%s later it may be checked: %t", c.later, may)
			}
		}
	})
}

// jobsOf is how many Jobs the ledger lets run.
func jobsOf(b *burst) (n int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.ledger.Status.Checking {
		n += t.Jobs
	}
	return n
}

// TestNoChecksInAStorm: none may begin, and the storm stands in the ledger (S15).
func TestNoChecksInAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 10, 10)
		withJobs(b, 4)
		for i := range b.fences {
			stormy(b, &b.fences[i], nil)
			r, err := b.gate.Act(t.Context(), b.fences[i].DeepCopy(), fence.AskChecks, observed.Look{})
			if err != nil || r.Verdict == nil || r.Verdict.Reason != api.TooManyUnhealthy {
				t.Errorf("%v %+v", err, r)
			}
		}
		if len(b.ledger.Status.Storms) != 1 || len(b.ledger.Status.Checking) != 0 {
			t.Errorf("%+v", b.ledger.Status)
		}
	})
}

// TestARoundEndsItsTurn: the Jobs of a round avoid nodes whose Lease stands still. Once the last of them has
// ended, others may run.
func TestARoundEndsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 3, 1)
		withJobs(b, 2)
		b.gate.Checks = "checks"
		jobs := map[string]*batchv1.Job{}
		jobServer(t, b, jobs)
		b.another(func(l *api.FenceLedger) { l.Status.Leases.Still = []api.StillLease{{NodeName: nameOf(1)}} })
		f := b.fences[0].DeepCopy()
		act := func(a fence.Action) loop.Result {
			t.Helper()
			r, err := b.gate.Act(t.Context(), f, a, observed.Look{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		act(fence.AskChecks)
		f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: stamp(time.Now())}}
		said := act(fence.Check).Checked
		if len(jobs) != 2 || jobsOf(b) != 2 {
			t.Fatalf("%d Jobs, %d are counted", len(jobs), jobsOf(b))
		}
		for name, j := range jobs {
			off := fmt.Sprint(j.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			if !strings.Contains(off, nameOf(1)) || !strings.Contains(off, nameOf(0)) || *j.Spec.ActiveDeadlineSeconds != 60 {
				t.Errorf("%s: %s", name, off)
			}
		}
		ended := batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonPodFailurePolicy}}}
		for i, name := range []string{"f-n00-1-a1-1", "f-n00-1-a1-2"} {
			jobs[name].Status = ended
			f.Status.ActivityChecks.Results = said.Results
			said = act(fence.Check).Checked
			if want := int32(2 - 2*i); jobsOf(b) != want {
				t.Errorf("after %d ended, %d Jobs are counted", i+1, jobsOf(b))
			}
		}
	})
}

// jobServer keeps Jobs, and has a PodTemplate.
func jobServer(t *testing.T, b *burst, jobs map[string]*batchv1.Job) {
	t.Helper()
	b.serves = func(w *httptest.ResponseRecorder, r *http.Request) bool {
		folder, name := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch {
		case r.Method == http.MethodPost && name == "jobs":
			var j batchv1.Job
			if err := json.NewDecoder(r.Body).Decode(&j); err != nil {
				t.Error(err)
			}
			jobs[j.Name] = &j
			kubetest.Answer(w, j)
		case strings.HasSuffix(folder, "/jobs") && jobs[name] != nil:
			kubetest.Answer(w, jobs[name])
		case strings.HasSuffix(folder, "/jobs"):
			kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		case strings.HasSuffix(folder, "/podtemplates"):
			kubetest.Answer(w, corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}})
		default:
			return false
		}
		return true
	}
}
