package checks

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/jobs"
	"github.com/nodefence/nodefence/shared/probe"
)

// Check asks the checks of the round under way that have not answered yet. Jobs are created before any
// connection is made, so that they run meanwhile. A Job that has not ended is looked at again in a later call.
func (c *Checker) Check(ctx context.Context, f *api.NodeFence) (*observed.Checked, error) {
	r := rounding{Checker: c, fence: f, said: map[string]api.CheckResult{}}
	var err error
	if s := f.Status.StorageCheck; s != nil && s.StartedAt != nil {
		r.round, r.storage, r.timeout = s, true, f.Status.Decision.Settings.StorageCheck.Timeout.Duration
	} else {
		r.round, r.timeout = &f.Status.ActivityChecks.CheckRound, f.Status.Decision.Settings.ActivityChecks.CheckTimeout.Duration
		if r.target, r.others, err = c.readTargets(ctx, f); err != nil {
			return nil, err
		}
	}
	led, err := c.Client.NewReader(0).Ledger(ctx)
	if err != nil {
		return nil, err
	}
	r.still = admission.StillNodes(led)
	for _, c := range r.round.Results {
		r.said[c.Check] = c
	}
	if err := r.askAll(ctx); err != nil {
		return nil, err
	}
	if r.waits == 0 && r.ends > 0 {
		c.EndTurn(ctx, f, r.round.StartedAt.Time)
	}
	return &observed.Checked{Storage: r.storage, Round: r.round.Number, Results: r.results}, nil
}

// rounding is one look at the checks of a round.
type rounding struct {
	*Checker
	fence   *api.NodeFence
	round   *api.CheckRound
	storage bool
	timeout time.Duration
	target  corev1.Node
	others  []corev1.Node
	// still are the nodes whose Lease stands still: no Job is placed there.
	still   []string
	said    map[string]api.CheckResult
	results []api.CheckResult
	// waits is the number of Jobs that have not ended, ends the number of Jobs that this look has seen ended.
	waits, ends int
}

// askAll asks each check of the round that has not answered. Kubelets are asked last, while the Jobs run.
func (r *rounding) askAll(ctx context.Context) error {
	if r.storage {
		return r.askStorage(ctx, r.fence.Status.Decision.Settings.StorageCheck)
	}
	checks := r.fence.Status.Decision.Settings.ActivityChecks.Checks
	for i, c := range checks {
		var err error
		switch name := strconv.Itoa(i + 1); {
		case c.Type == api.CheckDevice:
			if check := facts.DeviceCheck(i + 1); !r.repeatAnswer(check) {
				r.addResult(check, "", "power reads it when the others have answered")
			}
		case c.Type == api.CheckNeighbors:
			err = r.askNeighbors(ctx, name, c.Neighbors)
		case c.Type == api.CheckJob:
			err = r.askJob(ctx, name+" job "+c.Job.PodTemplateName, name, c.Job)
		}
		if err != nil {
			return err
		}
	}
	for i, c := range checks {
		if c.Type == api.CheckKubelet {
			r.askKubelet(ctx, fmt.Sprintf("%d kubelet", i+1))
		}
	}
	return nil
}

// askStorage asks the storage check.
func (r *rounding) askStorage(ctx context.Context, p *api.StorageSettings) error {
	if p.Type == api.StorageJob {
		return r.askJob(ctx, "job "+p.Job.PodTemplateName, "s", p.Job)
	}
	answer, words := probe.Service(ctx, p.TCP.Address)
	r.addResult("tcp", answer, words)
	return nil
}

// askNeighbors creates a Job on each of n.Count other nodes. Without an image for the Jobs each check goes
// wrong: nobody has seen that the node is silent.
func (r *rounding) askNeighbors(ctx context.Context, name string, n *api.NeighborsSettings) error {
	for i := range n.Count {
		check, job := fmt.Sprintf("%s neighbor %d", name, i+1), fmt.Sprintf("%s-%d", name, i+1)
		if r.repeatAnswer(check) {
			continue
		}
		if r.NeighborsImage == "" {
			r.addJobResult(check, api.AnswerError, "the gate has no image for type Neighbors: set NODEFENCE_NEIGHBORS_IMAGE to nodefence's own")
			continue
		}
		target, beside, err := r.findAddresses()
		if err != nil {
			r.addJobResult(check, api.AnswerError, err.Error())
			continue
		}
		answer, words, err := r.jobRunner().Neighbor(ctx, job, r.NeighborsImage, n, append([]string{target}, beside...))
		if err != nil {
			return err
		}
		r.addJobResult(check, answer, words)
	}
	return nil
}

// askJob creates a Job from a PodTemplate.
func (r *rounding) askJob(ctx context.Context, check, name string, j *api.JobCheck) error {
	if r.repeatAnswer(check) {
		return nil
	}
	answer, words, err := r.jobRunner().FromTemplate(ctx, name, j)
	if err != nil {
		return err
	}
	r.addJobResult(check, answer, words)
	return nil
}

// addJobResult adds the answer of a Job, or the reason why the Job can't be created. A Job without an answer
// has not ended.
func (r *rounding) addJobResult(check string, a api.Answer, words string) {
	if a == "" {
		r.waits++
	} else {
		r.ends++
	}
	r.addResult(check, a, words)
}

// jobRunner creates the Jobs of this round.
func (r *rounding) jobRunner() jobs.CheckRunner {
	return jobs.CheckRunner{
		Client: r.Client, Namespace: r.Namespace, Fence: r.fence, Round: r.round, Storage: r.storage, Timeout: r.timeLeft(), Target: r.target, Avoid: r.still,
	}
}

// timeLeft returns how long a Job that is created now may run: the Jobs of a round end within the time for
// which the ledger counts them.
func (r *rounding) timeLeft() time.Duration {
	ends := r.round.StartedAt.Add(r.timeout + facts.CheckGrace)
	return min(r.timeout, ends.Sub(r.Client.Clock().Now()))
}

// addResult adds the answer of a check.
func (r *rounding) addResult(check string, a api.Answer, words string) {
	r.results = append(r.results, api.CheckResult{Check: check, Answer: a, Message: clipMessage(words)})
}

// repeatAnswer adds the answer that a check has given earlier in this round, and tells whether there is one.
func (r *rounding) repeatAnswer(check string) bool {
	c, ok := r.said[check]
	if ok = ok && c.Answer != ""; ok {
		r.results = append(r.results, c)
	}
	return ok
}

// askKubelet connects to the kubelet of the node, and to kubelets of healthy nodes.
func (r *rounding) askKubelet(ctx context.Context, check string) {
	if r.repeatAnswer(check) {
		return
	}
	target, beside, err := r.findAddresses()
	if err != nil {
		r.addResult(check, api.AnswerError, err.Error())
		return
	}
	answer, words := probe.Machine(ctx, target, beside)
	r.addResult(check, answer, words)
}

// findAddresses returns the address of the node's kubelet, and of the kubelets of the healthy nodes.
func (r *rounding) findAddresses() (target string, beside []string, err error) {
	if target, err = r.kubeletOf(&r.target); err != nil {
		return "", nil, err
	}
	for i := range r.others {
		if a, err := r.kubeletOf(&r.others[i]); err == nil {
			beside = append(beside, a)
		}
	}
	return target, beside, nil
}

// clipMessage shortens a message to what a record takes.
func clipMessage(s string) string { return clip.To(200, s) }
