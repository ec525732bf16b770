package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/kube"
)

// farewell is the part of a call's time that is reserved to end its pod, and to see that it has
// ended.
const farewell = 3 * time.Second

// Run makes one call. It returns when the pod's container was seen to end, or with what is known
// of one that was not.
func (j *AgentRunner) Run(ctx context.Context, c job.Call) (job.End, error) {
	left := c.Limit
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	keep := min(farewell, left/4)
	work, cancel := context.WithTimeout(ctx, left-keep)
	defer cancel()
	c.Limit = left - keep
	stuck, err := j.awaitEarlier(work)
	if err != nil {
		return job.End{}, err
	}
	if err := device.InTime(work); err != nil {
		return job.End{}, err // this process was suspended while it waited (S8)
	}
	j.n++
	name := fmt.Sprintf("%s-%s-%d", j.callsLabel(), j.Claim.Holder, j.n)
	err = j.Client.CreateJob(work, j.job(name, c, left, stuck))
	if err != nil && !errors.Is(err, kube.ErrConflict) { // if it exists, this call has made it
		return job.End{}, fmt.Errorf("make Job %s: %w", name, err)
	}
	if j.Claim.Made != nil {
		j.Claim.Made(name)
	}
	end, handed, err := j.carry(work, name, c)
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), keep)
	defer cancel()
	if handed {
		// If it stays, it is deleted with its Job.
		_ = j.Client.DeleteSecret(rest, j.Namespace, name)
	}
	if err != nil {
		end, err = j.stop(rest, name, handed, err)
	}
	if err == nil && j.Claim.Ended != nil {
		j.Claim.Ended(c.Delay)
	}
	return end, err // the Job stays for a while, so that its log can be read
}

// awaitEarlier waits for earlier calls that may still act: those that returned before their pod
// was seen to end (S7). It does not wait for a read, which changes nothing. It returns the nodes
// that keep a pod from ending, because it makes no sense to use them again.
func (j *AgentRunner) awaitEarlier(ctx context.Context) (stuck []string, err error) {
	var acts *corev1.Pod
	late := func() error {
		return fmt.Errorf("pod %s on node %s, an earlier call (%s), was not seen to end, and may act until %s", acts.Name, acts.Spec.NodeName, acts.Annotations[callIs], acts.Annotations[actsUntil])
	}
	for {
		pods, err := j.Client.PodsLabelled(ctx, j.Namespace, callsOf, j.callsLabel())
		switch {
		case err != nil && ctx.Err() != nil && acts != nil: // the time ended in this look
			return nil, late()
		case err != nil:
			return nil, err
		}
		stuck, acts = nil, nil
		for i := range pods {
			p := &pods[i]
			if terminated(p) != nil || p.Spec.NodeName == "" {
				continue
			}
			stuck = append(stuck, p.Spec.NodeName)
			if j.mayAct(p) {
				acts = p
			}
			if p.DeletionTimestamp == nil {
				if err := j.Client.DeletePod(ctx, p.Namespace, p.Name, p.UID); err != nil {
					return nil, fmt.Errorf("end pod %s: %w", p.Name, err)
				}
			}
		}
		if acts == nil {
			slices.Sort(stuck)
			return slices.Compact(stuck), nil
		}
		if err := sleep(ctx); err != nil {
			return nil, late()
		}
	}
}

// carry brings a Job's pod to its end: it waits until the pod's node accepts it, hands it the
// call, and waits for the result. handed tells that the pod may have the call.
func (j *AgentRunner) carry(ctx context.Context, name string, c job.Call) (end job.End, handed bool, err error) {
	late := func(p *corev1.Pod) error { return fmt.Errorf("no time is left: %s", where(p)) }
	var last *corev1.Pod
	for looked := false; ; looked = true {
		p, err := j.pod(ctx, name)
		switch {
		case err != nil && ctx.Err() != nil && looked: // the time ended in this look
			return end, handed, late(last)
		case err != nil:
			return end, handed, err
		case p == nil && handed:
			return end, handed, errors.New("its pod is gone, and was not seen to end")
		case p == nil:
		case terminated(p) != nil && !handed:
			return end, handed, errors.New("its pod ended before it had the call")
		case terminated(p) != nil:
			return *terminated(p), handed, nil
		case p.Spec.NodeName == j.Claim.Node:
			return end, handed, errors.New("its pod is on the very node that is to be fenced") // S13
		case p.Status.Phase == corev1.PodFailed && !handed:
			return end, handed, fmt.Errorf("node %s did not run its pod: %s %s", p.Spec.NodeName, p.Status.Reason, p.Status.Message)
		case p.Status.StartTime != nil && !handed && p.DeletionTimestamp == nil:
			if handed, err = j.hand(ctx, name, p, c); err != nil {
				return end, handed, err
			}
			last = p
			continue
		}
		if err := sleep(ctx); err != nil {
			return end, handed, late(p)
		}
		last = p
	}
}

// hand gives a pod its call. The pod may have it even if there is no answer.
func (j *AgentRunner) hand(ctx context.Context, name string, p *corev1.Pod, c job.Call) (handed bool, err error) {
	if end, ok := ctx.Deadline(); ok {
		c.Left = time.Until(end)
	}
	secret, err := j.secret(name, p, c)
	if err != nil {
		return false, err
	}
	if err := device.InTime(ctx); err != nil {
		return false, err
	}
	if err := j.Client.CreateSecret(ctx, secret); err != nil && !errors.Is(err, kube.ErrConflict) {
		return true, fmt.Errorf("hand it to the pod: %w", err)
	}
	return true, nil
}

// stop ends a call whose time is over. A pod that did not get its call never does anything, and
// is deleted with its Job. For any other pod stop looks whether it has ended, and reports it if
// it was not seen to end (S10).
func (j *AgentRunner) stop(ctx context.Context, name string, handed bool, why error) (job.End, error) {
	if !handed {
		if made, err := j.Client.Job(ctx, j.Namespace, name); err == nil && made != nil {
			_ = j.Client.DeleteJob(ctx, j.Namespace, name, made.UID) // if it stays, it ends by its own deadline
		}
		return job.End{}, fmt.Errorf("job %s: %w", name, why)
	}
	asked := false
	var last *corev1.Pod
	for {
		p, err := j.pod(ctx, name)
		switch {
		case err != nil && ctx.Err() != nil && last != nil:
			return job.End{}, notSeen(name, why, last)
		case err != nil:
			return job.End{}, fmt.Errorf("job %s: %w; then it was looked for, and not seen to end: %w", name, why, err)
		case p == nil:
			return job.End{}, fmt.Errorf("job %s: %w; its pod is gone, and was not seen to end", name, why)
		case terminated(p) != nil:
			return *terminated(p), nil
		case !asked && p.DeletionTimestamp == nil:
			asked = j.Client.DeletePod(ctx, p.Namespace, p.Name, p.UID) == nil
		}
		if err := sleep(ctx); err != nil {
			return job.End{}, notSeen(name, why, p)
		}
		last = p
	}
}

func notSeen(name string, why error, p *corev1.Pod) error {
	return fmt.Errorf("job %s: %w; its pod on node %s was not seen to end, and may act until %s", name, why, p.Spec.NodeName, p.Annotations[actsUntil])
}
