package jobs

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/probe"
)

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
	// Avoid are other nodes on which no Job is placed, by name.
	Avoid []string
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

// job returns the Job of a check. "No activity" needs an observed exit code 1: by the rule below only that
// code fails the Job, while a pod that was evicted, or could not start, fails it for another
// reason.
func (r CheckRunner) job(name string, spec *corev1.PodSpec) *batchv1.Job {
	labels := labelsWith(checksOf, string(r.Fence.UID))
	meta := metav1.ObjectMeta{
		Name: name, Namespace: r.Namespace, Labels: labels, Annotations: map[string]string{nodeAnnotation: r.Fence.Spec.NodeName},
		OwnerReferences: []metav1.OwnerReference{devicecall.RecordOf("NodeFence", r.Fence.ObjectMeta)},
	}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *spec}
	deadline := int64(max(1, r.Timeout.Seconds()))
	// The ResourceQuota counts pods with a deadline. The Job's comes first: a check that a kubelet ends may exit with 1,
	// which would be an answer.
	last := deadline + int64(facts.CheckGrace.Seconds())
	pod.Spec.ActiveDeadlineSeconds = &last
	job := runOnce(meta, r.Fence.Spec.NodeName, deadline, pod, r.Avoid...)
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: &spec.Containers[0].Name, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
		},
	}}}
	return job
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
