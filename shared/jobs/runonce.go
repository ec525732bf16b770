package jobs

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// partOf labels every object that this package makes.
	partOf = "app.kubernetes.io/part-of"
	// nodeAnnotation names the node that a Job is about.
	nodeAnnotation = "nodefence.io/node"
)

// keptSeconds is how long an ended Job is kept, so that its log can be read.
const keptSeconds = int32(600)

// labelsWith returns the labels of a Job and its pod.
func labelsWith(name, value string) map[string]string {
	return map[string]string{partOf: "nodefence", name: value}
}

// runOnce returns a Job about a node. The Job has one try, and a deadline in seconds. It is
// deleted keptSeconds after its end, or with its owner. Its pod has no rights, and keeps off the
// node and off the nodes in avoid.
func runOnce(meta metav1.ObjectMeta, node string, deadline int64, pod corev1.PodTemplateSpec, avoid ...string) *batchv1.Job {
	none, one, ttl := int32(0), int32(1), keptSeconds
	confine(&pod.Spec, append(avoid, node)...)
	return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		BackoffLimit: &none, Completions: &one, Parallelism: &one, ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl, Template: pod,
	}}
}
