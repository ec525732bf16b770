package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/probe"
)

// kept is how long an ended Job stays, for its log to be read.
const kept = int32(600)

// checksOf labels the pods of one fence's checks.
const checksOf = "nodefence.io/checks-of"

// limits are a check's own, where it has none.
var limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}

// neighbors begins a Job on each of so many other nodes. Without an image to make them
// of, each is a check gone wrong: nobody has seen that the node is silent.
func (r *rounding) neighbors(ctx context.Context, name string, n *api.NeighborsSettings) error {
	for i := range n.Count {
		check, job := fmt.Sprintf("%s neighbor %d", name, i+1), fmt.Sprintf("%s-%d", name, i+1)
		if r.answered(check) {
			continue
		}
		if r.NeighborsImage == "" {
			r.say(check, api.AnswerError, "the gate has no image for type Neighbors: set NODEFENCE_NEIGHBORS_IMAGE to nodefence's own")
			continue
		}
		target, beside, err := r.addresses()
		if err != nil {
			r.say(check, api.AnswerError, err.Error())
			continue
		}
		err = r.run(ctx, check, job, func() (*corev1.PodSpec, error) { return r.neighbor(n, append([]string{target}, beside...)), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// neighbor runs `nodefence reach`, away from the node's failure domain and from
// the other neighbors.
func (r *rounding) neighbor(n *api.NeighborsSettings, addresses []string) *corev1.PodSpec {
	spec := &corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "reach", Image: r.NeighborsImage, Args: append([]string{"reach"}, addresses...),
			Env: []corev1.EnvVar{{Name: probe.HostIP, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}},
		}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{checksOf: string(r.fence.UID)}}, TopologyKey: corev1.LabelHostname,
		}}}},
	}
	if domain := r.target.Labels[n.TopologyKey]; domain != "" {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: n.TopologyKey, Operator: corev1.NodeSelectorOpNotIn, Values: []string{domain}},
			}}},
		}}
	}
	return spec
}

// job begins one from a PodTemplate.
func (r *rounding) job(ctx context.Context, check, name string, j *api.JobCheck) error {
	if r.answered(check) {
		return nil
	}
	return r.run(ctx, check, name, func() (*corev1.PodSpec, error) {
		t, err := r.Client.PodTemplate(ctx, r.Checks, j.PodTemplateName)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, &unfit{"there is no PodTemplate " + j.PodTemplateName + " in namespace " + r.Checks}
		}
		spec := t.Template.Spec.DeepCopy()
		if err := r.harmless(ctx, spec); err != nil {
			return nil, err
		}
		address := ""
		for _, a := range r.target.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address = a.Address
			}
		}
		since := ""
		if s := r.round.Since; s != nil {
			since = s.UTC().Format(time.RFC3339)
		}
		spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "NODEFENCE_NODE", Value: r.fence.Spec.NodeName},
			corev1.EnvVar{Name: "NODEFENCE_ADDRESS", Value: address}, corev1.EnvVar{Name: "NODEFENCE_SINCE", Value: since})
		return spec, nil
	})
}

// unfit is a template that no Job is made of.
type unfit struct{ why string }

func (u *unfit) Error() string { return u.why }

// run looks at a check's Job, and begins it if it is not there. Its name is the
// round's, so that whoever comes next finds this one instead of another.
func (r *rounding) run(ctx context.Context, check, name string, spec func() (*corev1.PodSpec, error)) error {
	kind := "a"
	if r.storage {
		kind = "s"
	}
	name = fmt.Sprintf("%s-%d-%s%d-%s", r.fence.UID, r.fence.Status.FenceNumber, kind, r.round.Number, name)
	j, err := r.Client.Job(ctx, r.Checks, name)
	if err != nil {
		return err
	}
	if j != nil {
		answer, words := answerOf(j)
		r.say(check, answer, words)
		return nil
	}
	s, err := spec()
	var no *unfit
	if errors.As(err, &no) {
		r.say(check, api.AnswerError, no.why)
		return nil
	}
	if err != nil {
		return err
	}
	r.say(check, "", "Job "+name)
	err = r.Client.CreateJob(ctx, r.made(name, s))
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		r.results[len(r.results)-1] = api.CheckResult{Check: check, Answer: api.AnswerError, Message: short(err.Error())}
		return nil
	}
	return err
}

// made is the Job: one try, a deadline, and gone some time after its end, or
// with its NodeFence. Exit code 1 must have been seen for an answer of none: it
// alone fails the Job by the rule below, while a pod that was evicted, or could
// not start, fails it for another reason.
func (r *rounding) made(name string, spec *corev1.PodSpec) *batchv1.Job {
	harden(spec, r.fence.Spec.NodeName)
	none, ttl, deadline, no := int32(0), kept, int64(max(1, r.timeout.Seconds())), false
	labels := map[string]string{"app.kubernetes.io/part-of": "nodefence", checksOf: string(r.fence.UID)}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Checks, Labels: labels, Annotations: map[string]string{"nodefence.io/node": r.fence.Spec.NodeName},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.GroupVersion.String(), Kind: "NodeFence", Name: r.fence.Name, UID: r.fence.UID, BlockOwnerDeletion: &no,
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

// answerOf reads a Job's end: exit 0, exit 1 seen, or anything else.
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

// harmless refuses what a check must not have: a block volume, or a volume that
// one node at a time may mount, whose mount here would take it from its owner.
func (r *rounding) harmless(ctx context.Context, spec *corev1.PodSpec) error {
	if len(spec.Containers) == 0 {
		return &unfit{"the PodTemplate has no container"}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if len(c.VolumeDevices) > 0 {
			return &unfit{"container " + c.Name + " has a block device: a check never mounts one"}
		}
	}
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil || v.Secret != nil || v.EmptyDir != nil || v.DownwardAPI != nil {
			continue
		}
		if v.PersistentVolumeClaim == nil {
			return &unfit{"volume " + v.Name + " is not one that many nodes may mount at once: a configMap, secret, emptyDir, downwardAPI, or a claim"}
		}
		c, err := r.Client.Claim(ctx, r.Checks, v.PersistentVolumeClaim.ClaimName)
		if err != nil {
			return err
		}
		if c == nil {
			return &unfit{"there is no PersistentVolumeClaim " + v.PersistentVolumeClaim.ClaimName + " in namespace " + r.Checks}
		}
		if c.Spec.VolumeMode != nil && *c.Spec.VolumeMode != corev1.PersistentVolumeFilesystem {
			return &unfit{"claim " + c.Name + " is a block volume: a check never mounts one"}
		}
		for _, m := range c.Spec.AccessModes {
			if m != corev1.ReadWriteMany && m != corev1.ReadOnlyMany {
				return &unfit{"claim " + c.Name + " is " + string(m) + ": a check mounts only what many nodes may mount at once (ReadWriteMany, ReadOnlyMany)"}
			}
		}
	}
	return nil
}

// harden has the pod run elsewhere, once, and with no rights.
func harden(spec *corev1.PodSpec, node string) {
	yes, no := true, false
	spec.RestartPolicy, spec.NodeName, spec.Tolerations = corev1.RestartPolicyNever, "", nil
	spec.ServiceAccountName, spec.DeprecatedServiceAccount, spec.AutomountServiceAccountToken = "", "", &no
	spec.HostNetwork, spec.HostPID, spec.HostIPC = false, false, false
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	spec.SecurityContext.RunAsNonRoot = &yes
	spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for i := range spec.InitContainers {
		hardenContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		hardenContainer(&spec.Containers[i])
	}
	away(spec, node)
}

func hardenContainer(c *corev1.Container) {
	yes, no := true, false
	user := (*int64)(nil)
	if c.SecurityContext != nil {
		user = c.SecurityContext.RunAsUser
	}
	c.SecurityContext = &corev1.SecurityContext{
		RunAsUser: user, RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if c.Resources.Limits == nil {
		c.Resources.Limits = limits.DeepCopy()
	}
}

// away keeps the pod off the node that it asks about, which may be chosen by any
// one of the terms that are there already.
func away(spec *corev1.PodSpec, node string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := spec.Affinity.NodeAffinity
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchFields = append(terms[i].MatchFields, corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node},
		})
	}
}
