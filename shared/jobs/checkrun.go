package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// Neighbor checks, with an image of nodefence's own, whether a node's addresses can be
// reached from another node. The first address is that of the node in question.
func (r CheckRunner) Neighbor(ctx context.Context, name, image string, n *api.NeighborsSettings, addresses []string) (api.Answer, string, error) {
	return r.run(ctx, name, func() (*corev1.PodSpec, error) { return r.neighbor(image, n, addresses), nil })
}

// FromTemplate checks with a Job that is made from a PodTemplate.
func (r CheckRunner) FromTemplate(ctx context.Context, name string, j *api.JobCheck) (api.Answer, string, error) {
	return r.run(ctx, name, func() (*corev1.PodSpec, error) {
		t, err := r.Client.PodTemplate(ctx, r.Namespace, j.PodTemplateName)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, &unfit{"there is no PodTemplate " + j.PodTemplateName + " in namespace " + r.Namespace}
		}
		spec := t.Template.Spec.DeepCopy()
		if err := r.harmless(ctx, spec); err != nil {
			return nil, err
		}
		address := ""
		for _, a := range r.Target.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address = a.Address
			}
		}
		since := ""
		if s := r.Round.Since; s != nil {
			since = s.UTC().Format(time.RFC3339)
		}
		spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "NODEFENCE_NODE", Value: r.Fence.Spec.NodeName},
			corev1.EnvVar{Name: "NODEFENCE_ADDRESS", Value: address}, corev1.EnvVar{Name: "NODEFENCE_SINCE", Value: since})
		return spec, nil
	})
}

// run looks at a check's Job, and creates the Job if it does not exist. The name is the
// round's, so that a later process finds this Job and does not create another.
func (r CheckRunner) run(ctx context.Context, name string, spec func() (*corev1.PodSpec, error)) (api.Answer, string, error) {
	kind := "a"
	if r.Storage {
		kind = "s"
	}
	name = fmt.Sprintf("%s-%d-%s%d-%s", r.Fence.UID, r.Fence.Status.FenceNumber, kind, r.Round.Number, name)
	j, err := r.Client.Job(ctx, r.Namespace, name)
	if err != nil {
		return "", "", err
	}
	if j != nil {
		answer, words := answerOf(j)
		return answer, words, nil
	}
	s, err := spec()
	var no *unfit
	if errors.As(err, &no) {
		return api.AnswerError, no.why, nil
	}
	if err != nil {
		return "", "", err
	}
	err = r.Client.CreateJob(ctx, r.job(name, s))
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return api.AnswerError, err.Error(), nil
	}
	if err != nil && !errors.Is(err, kube.ErrConflict) {
		return "", "", err
	}
	return "", "Job " + name, nil
}
