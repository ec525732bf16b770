package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// activityChecks is the policy's with its defaults, but for how long a node may
// be degraded.
func activityChecks(w *world) {
	s := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
	w.still = start.Add(-45 * time.Second)
	w.record.Status.Decision.Settings.ActivityChecks = &api.ActivitySettings{
		Checks: []api.CheckSettings{{Type: api.CheckKubelet}},
		Rounds: 10, FailedRounds: 8, Interval: s(60), CheckTimeout: s(60), RecheckInterval: s(300), AliveTimeout: s(1200), OnAliveTimeout: api.AliveRequireApproval,
	}
	w.record.Status.Decision.Settings.ApprovalTimeout = s(3600)
}

// check is the round under way: whether the kubelet's port answers, or the storage.
func (w *world) check() *observed.Checked {
	st := w.record.Status
	if r := st.StorageCheck; r != nil && r.StartedAt != nil {
		c := &observed.Checked{Storage: true, Round: r.Number, Results: []api.CheckResult{{Check: "tcp", Answer: api.AnswerActivity, Message: "storage:2049 answers"}}}
		if w.storageDown {
			c.Results[0].Answer, c.Results[0].Message = api.AnswerNone, "storage:2049 does not answer"
		}
		return c
	}
	r := api.CheckResult{Check: "1 kubelet", Answer: api.AnswerNone, Message: "node-7:10250 does not answer"}
	switch {
	case w.checks == "error":
		r.Answer, r.Message = api.AnswerError, "neither do others: it may be we who are cut off"
	case w.on && !w.crashed:
		r.Answer, r.Message = api.AnswerActivity, "node-7:10250 answers"
	}
	return &observed.Checked{Round: st.ActivityChecks.Number, Results: []api.CheckResult{r}}
}

// stillSince is what the source says of a Lease that has not moved since the start.
func (w *world) stillSince() time.Time {
	if w.beats > 0 || w.boot > 0 {
		return time.Time{}
	}
	return w.still
}
