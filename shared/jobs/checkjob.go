package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/probe"
)

// kept is how long a Job that has ended is kept, so that its log can be read.
const kept = int32(600)

// checksOf labels the pods of one fence's checks.
const checksOf = "nodefence.io/checks-of"

// CheckRunner runs the Jobs of one round of a fence's checks.
type CheckRunner struct {
	Client *kube.Client
	// Namespace holds the Jobs, and the PodTemplates from which they are made.
	Namespace string
	Fence     *api.NodeFence
	Round     *api.CheckRound
	// Storage: the round belongs to the storage check.
	Storage bool
	// Timeout is a Job's deadline.
	Timeout time.Duration
	// Target is the node that is checked.
	Target corev1.Node
}

// Neighbor checks, with an image of nodefence's own, whether a node's addresses can be
// reached from another node. The first address is that of the node in question.
func (r CheckRunner) Neighbor(ctx context.Context, name, image string, n *api.NeighborsSettings, addresses []string) (api.Answer, string, error) {
	return r.run(ctx, name, func() (*corev1.PodSpec, error) { return r.neighbor(image, n, addresses), nil })
}

// neighbor runs `nodefence reach`, away from the node's failure domain and from
// the other neighbors.
func (r CheckRunner) neighbor(image string, n *api.NeighborsSettings, addresses []string) *corev1.PodSpec {
	spec := &corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "reach", Image: image, Args: append([]string{"reach"}, addresses...),
			Env: []corev1.EnvVar{{Name: probe.HostIP, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}},
		}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{checksOf: string(r.Fence.UID)}}, TopologyKey: corev1.LabelHostname,
		}}}},
	}
	if domain := r.Target.Labels[n.TopologyKey]; domain != "" {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: n.TopologyKey, Operator: corev1.NodeSelectorOpNotIn, Values: []string{domain}},
			}}},
		}}
	}
	return spec
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
	err = r.Client.CreateJob(ctx, r.made(name, s))
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return api.AnswerError, err.Error(), nil
	}
	if err != nil && !errors.Is(err, kube.ErrConflict) {
		return "", "", err
	}
	return "", "Job " + name, nil
}

// made returns the Job: it has one try and a deadline, and is deleted some time after its
// end, or with its NodeFence. "No activity" needs an observed exit code 1: by the rule
// below only that code fails the Job, while a pod that was evicted, or could not start,
// fails it for another reason.
func (r CheckRunner) made(name string, spec *corev1.PodSpec) *batchv1.Job {
	confine(spec, r.Fence.Spec.NodeName)
	none, ttl, deadline, no := int32(0), kept, int64(max(1, r.Timeout.Seconds())), false
	labels := map[string]string{"app.kubernetes.io/part-of": "nodefence", checksOf: string(r.Fence.UID)}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, Labels: labels, Annotations: map[string]string{"nodefence.io/node": r.Fence.Spec.NodeName},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.GroupVersion.String(), Kind: "NodeFence", Name: r.Fence.Name, UID: r.Fence.UID, BlockOwnerDeletion: &no,
			}},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: &none, ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl,
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					ContainerName: &spec.Containers[0].Name, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
				},
			}}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *spec},
		},
	}
}

// answerOf reads a Job's end: exit 0, an observed exit 1, or anything else.
func answerOf(j *batchv1.Job) (api.Answer, string) {
	for _, c := range j.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return api.AnswerActivity, "exit 0"
		case c.Type == batchv1.JobFailed && c.Reason == batchv1.JobReasonPodFailurePolicy:
			return api.AnswerNone, "exit 1"
		case c.Type == batchv1.JobFailed:
			return api.AnswerError, c.Reason + ": " + c.Message
		}
	}
	return "", "Job " + j.Name
}
