package jobs

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/device/job"
)

const (
	// callsOf labels the Jobs and pods of one node's calls.
	callsOf = "nodefence.io/calls-of"
	// callIs and actsUntil annotate a pod: what it does, and from when it can do nothing any
	// more, by the API server's clock, even if nobody sees it end.
	callIs    = "nodefence.io/call"
	actsUntil = "nodefence.io/acts-until"
	// container is the name of the container that runs the agent.
	container = "agent"
)

// job is a call's Job: one try, with the call's deadline, on another node, without any rights.
//
// The pod has a deadline too, which its kubelet enforces without help. It also has a second of
// grace, because a pod without any is removed from the API server before its kubelet has ended
// it, and nobody would ever see its end.
func (j *AgentRunner) job(name string, c job.Call, left time.Duration, stuck []string) *batchv1.Job {
	deadline, grace, no := seconds(c.Limit), int64(1), false
	meta := metav1.ObjectMeta{
		Labels: labelsWith(callsOf, j.callsLabel()),
		Annotations: map[string]string{
			nodeAnnotation: j.Claim.Node, callIs: c.Action,
			actsUntil: j.Client.Clock().Now().Add(left + job.Late(left)).Format(time.RFC3339),
		},
	}
	pod := corev1.PodTemplateSpec{ObjectMeta: *meta.DeepCopy(), Spec: corev1.PodSpec{
		ActiveDeadlineSeconds: &deadline, TerminationGracePeriodSeconds: &grace, EnableServiceLinks: &no,
	}}
	fill(&pod.Spec, name, c.Image)
	meta.Name, meta.Namespace, meta.OwnerReferences = name, j.Namespace, []metav1.OwnerReference{j.Claim.Record}
	return runOnce(meta, j.Claim.Node, seconds(left), pod, stuck...)
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// fill gives a pod its one container. The container reads its call from a file that does not
// exist yet, in its node's memory and nowhere else (S29). The node makes the other folder at
// once, by which the pod sees since when it waits.
func fill(spec *corev1.PodSpec, secret, image string) {
	user, mode := int64(65532), int32(0o444)
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user}
	small := resource.MustParse("16Mi")
	spec.Volumes = []corev1.Volume{
		{Name: "given", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: &mode}}},
		{Name: "accepted", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &small}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &small}}},
	}
	spec.Containers = []corev1.Container{{
		Name: container, Image: image, Args: []string{"agent"}, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath: job.Said, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "given", MountPath: path.Dir(job.Given), ReadOnly: true}, {Name: "accepted", MountPath: job.Accepted, ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
	}}
}

// secret is the call, for one pod of one node. It is deleted with its Job, if nobody deletes it
// before.
func (j *AgentRunner) secret(name string, p *corev1.Pod, c job.Call) (*corev1.Secret, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	yes, no := true, false
	s := &corev1.Secret{Immutable: &yes, Data: map[string][]byte{path.Base(job.Given): text}}
	s.Name, s.Namespace, s.Labels = name, j.Namespace, map[string]string{partOf: "nodefence"}
	for _, o := range p.OwnerReferences {
		if o.Kind == "Job" && o.Name == name {
			o.Controller, o.BlockOwnerDeletion = &no, &no
			s.OwnerReferences = append(s.OwnerReferences, o)
		}
	}
	return s, nil
}
