package jobs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/device/job"
)

// mayAct tells whether a pod that was not seen to end may still switch something. A pod that does
// not say until when may always do so.
func (j *AgentRunner) mayAct(p *corev1.Pod) bool {
	until, err := time.Parse(time.RFC3339, p.Annotations[actsUntil])
	return p.Annotations[callIs] != "status" && (err != nil || j.Client.Clock().Now().Before(until))
}

// where says how far a pod has come.
func where(p *corev1.Pod) string {
	if p == nil {
		return "its pod was not made; the events of the Job may say why"
	}
	if p.Spec.NodeName == "" {
		return "no node was found for its pod"
	}
	words := "its pod is on node " + p.Spec.NodeName
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Waiting != nil {
			words += ", and its container waits: " + s.State.Waiting.Reason + " " + s.State.Waiting.Message
		}
	}
	return words
}

// pod is a Job's own pod; nil if there is none yet, or none any more.
func (j *AgentRunner) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pods, err := j.Client.PodsLabelled(ctx, j.Namespace, "batch.kubernetes.io/job-name", name)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	if len(pods) > 1 {
		return nil, fmt.Errorf("job %s has %d pods, and should have one", name, len(pods))
	}
	return &pods[0], nil
}

// terminated is the end of a pod's container, as its kubelet saw it; nil if it did not. A pod's
// phase does not show that, because controllers set it too.
func terminated(p *corev1.Pod) *job.End {
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && s.Name == container {
			return &job.End{Code: int(t.ExitCode), Said: t.Message}
		}
	}
	return nil
}

// podInterval is the time between two looks at a pod.
const podInterval = 200 * time.Millisecond

// sleep waits until the next look at a pod, or returns the error of ctx.
func sleep(ctx context.Context) error {
	t := time.NewTimer(podInterval)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
