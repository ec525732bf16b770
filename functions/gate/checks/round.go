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
		if r.target, r.others, err = c.targets(ctx, f); err != nil {
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
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	if r.waits == 0 && r.ends > 0 {
		c.EndTurn(ctx, f, r.round.StartedAt.Time)
	}
	return &observed.Checked{Storage: r.storage, Round: r.round.Number, Results: r.results}, nil
}

// rounding is one look at a round's checks.
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
	// waits are how many Jobs have not ended, and ends how many were seen to have ended in this look.
	waits, ends int
}

func (r *rounding) ask(ctx context.Context) error {
	if r.storage {
		return r.askStorage(ctx, r.fence.Status.Decision.Settings.StorageCheck)
	}
	checks := r.fence.Status.Decision.Settings.ActivityChecks.Checks
	for i, c := range checks {
		var err error
		switch name := strconv.Itoa(i + 1); {
		case c.Type == api.CheckDevice:
			if check := facts.DeviceCheck(i + 1); !r.answered(check) {
				r.say(check, "", "power reads it when the others have answered")
			}
		case c.Type == api.CheckNeighbors:
			err = r.neighbors(ctx, name, c.Neighbors)
		case c.Type == api.CheckJob:
			err = r.job(ctx, name+" job "+c.Job.PodTemplateName, name, c.Job)
		}
		if err != nil {
			return err
		}
	}
	for i, c := range checks {
		if c.Type == api.CheckKubelet {
			r.connect(ctx, fmt.Sprintf("%d kubelet", i+1))
		}
	}
	return nil
}

func (r *rounding) askStorage(ctx context.Context, p *api.StorageSettings) error {
	if p.Type == api.StorageJob {
		return r.job(ctx, "job "+p.Job.PodTemplateName, "s", p.Job)
	}
	answer, words := probe.Service(ctx, p.TCP.Address)
	r.say("tcp", answer, words)
	return nil
}

// neighbors begins a Job on each of so many other nodes. Without an image to make them
// of, each is a check gone wrong: nobody has seen that the node is silent.
func (r *rounding) neighbors(ctx context.Context, name string, n *api.NeighborsSettings) error {
	for i := range n.Count {
		check, job := fmt.Sprintf("%s neighbor %d", name, i+1), fmt.Sprintf("%s-%d", name, i+1)
		if r.answered(check) {
			continue
		}
		if r.NeighborsImage == "" {
			r.sayOfJob(check, api.AnswerError, "the gate has no image for type Neighbors: set NODEFENCE_NEIGHBORS_IMAGE to nodefence's own")
			continue
		}
		target, beside, err := r.addresses()
		if err != nil {
			r.sayOfJob(check, api.AnswerError, err.Error())
			continue
		}
		answer, words, err := r.jobs().Neighbor(ctx, job, r.NeighborsImage, n, append([]string{target}, beside...))
		if err != nil {
			return err
		}
		r.sayOfJob(check, answer, words)
	}
	return nil
}

// job asks by a Job that is made of a PodTemplate.
func (r *rounding) job(ctx context.Context, check, name string, j *api.JobCheck) error {
	if r.answered(check) {
		return nil
	}
	answer, words, err := r.jobs().FromTemplate(ctx, name, j)
	if err != nil {
		return err
	}
	r.sayOfJob(check, answer, words)
	return nil
}

// sayOfJob notes what a Job has said, or why it can't be made. A Job without an answer has not ended.
func (r *rounding) sayOfJob(check string, a api.Answer, words string) {
	if a == "" {
		r.waits++
	} else {
		r.ends++
	}
	r.say(check, a, words)
}

func (r *rounding) jobs() jobs.CheckRunner {
	return jobs.CheckRunner{
		Client: r.Client, Namespace: r.Namespace, Fence: r.fence, Round: r.round, Storage: r.storage, Timeout: r.left(), Target: r.target, Avoid: r.still,
	}
}

// left returns how long a Job that begins now may run: the Jobs of a round end within the time for which the
// ledger counts them.
func (r *rounding) left() time.Duration {
	ends := r.round.StartedAt.Add(r.timeout + facts.CheckGrace)
	return min(r.timeout, ends.Sub(r.Client.Clock().Now()))
}

func (r *rounding) say(check string, a api.Answer, words string) {
	r.results = append(r.results, api.CheckResult{Check: check, Answer: a, Message: short(words)})
}

// answered repeats what a check has said in an earlier turn of this round.
func (r *rounding) answered(check string) bool {
	c, ok := r.said[check]
	if ok = ok && c.Answer != ""; ok {
		r.results = append(r.results, c)
	}
	return ok
}

func (r *rounding) connect(ctx context.Context, check string) {
	if r.answered(check) {
		return
	}
	target, beside, err := r.addresses()
	if err != nil {
		r.say(check, api.AnswerError, err.Error())
		return
	}
	answer, words := probe.Machine(ctx, target, beside)
	r.say(check, answer, words)
}

// addresses are where the node's kubelet listens, and those of the others.
func (r *rounding) addresses() (target string, beside []string, err error) {
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

// short keeps words fit for a record.
func short(s string) string { return clip.To(200, s) }
