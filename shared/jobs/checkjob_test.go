package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestAnswerOf(t *testing.T) {
	end := func(typ batchv1.JobConditionType, reason string) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: typ, Status: corev1.ConditionTrue, Reason: reason}}}}
	}
	for name, c := range map[string]struct {
		job  *batchv1.Job
		want api.Answer
	}{
		"exit 0":                                  {end(batchv1.JobComplete, ""), api.AnswerActivity},
		"exit 1 seen":                             {end(batchv1.JobFailed, "PodFailurePolicy"), api.AnswerNone},
		"another code, an eviction, no start":     {end(batchv1.JobFailed, "BackoffLimitExceeded"), api.AnswerError},
		"too late":                                {end(batchv1.JobFailed, "DeadlineExceeded"), api.AnswerError},
		"about to fail: its pod may still run":    {end(batchv1.JobFailureTarget, "PodFailurePolicy"), ""},
		"about to succeed: its pod may still run": {end(batchv1.JobSuccessCriteriaMet, ""), ""},
		"running":                                 {&batchv1.Job{}, ""},
	} {
		if got, words := answerOf(c.job); got != c.want {
			t.Errorf("%s: %q (%s)", name, got, words)
		}
	}
}

func TestHarmless(t *testing.T) {
	claim := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/dev/sda"}}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		ok   bool
	}{
		"without volumes": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, true},
		"no container":    {corev1.PodSpec{}, false},
		"a block device":  {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", VolumeDevices: []corev1.VolumeDevice{{Name: "d"}}}}}, false},
		"a block device of an init container": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}},
			InitContainers: []corev1.Container{{Name: "i", VolumeDevices: []corev1.VolumeDevice{{Name: "d"}}}}}, false},
		"the host's disk": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: claim}}}, false},
		"an iSCSI disk": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}}}}}, false},
		"a volume of its own, which would be a new disk": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}}, false},
		"configuration": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}, Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}}, true},
	} {
		err := CheckRunner{}.harmless(t.Context(), &c.spec)
		var no *unfit
		if (err == nil) != c.ok || err != nil && !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJobOfACheck: one try, a deadline, an exit code that counts, and a pod without rights that runs
// on another node than the one in question.
func TestJobOfACheck(t *testing.T) {
	r := CheckRunner{Namespace: "checks", Timeout: 90 * time.Second, Fence: &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}, Spec: api.NodeFenceSpec{NodeName: "n"},
	}}
	j := r.job("name", &corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c"}}})
	got := j.Spec.Template.Spec
	terms := got.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	want := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n"}}}
	if d := cmp.Diff(want, terms[0].MatchFields); d != "" || len(terms) != 1 || got.HostNetwork {
		t.Errorf("%+v %s", got, d)
	}
	if *j.Spec.ActiveDeadlineSeconds != 90 || *j.Spec.BackoffLimit != 0 || *j.Spec.PodFailurePolicy.Rules[0].OnExitCodes.ContainerName != "c" {
		t.Errorf("%+v", j.Spec)
	}
}

// TestACheckAvoidsSilentNodes: no Job is placed on the node in question, or on one whose Lease stands still. Its
// pod has the Job's deadline, so that the ResourceQuota counts it.
func TestACheckAvoidsSilentNodes(t *testing.T) {
	r := CheckRunner{
		Fence: &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}}, Round: &api.CheckRound{Number: 1}, Timeout: 20 * time.Second,
		Target: corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}, Avoid: []string{"s1", "s2"},
	}
	for name, spec := range map[string]*corev1.PodSpec{
		"neighbor": r.neighbor("image", &api.NeighborsSettings{Count: 2, TopologyKey: "zone"}, []string{"192.0.2.1:10250"}),
		"template": {Containers: []corev1.Container{{Name: "c"}}},
	} {
		j := r.job(name, spec)
		var off []string
		for _, term := range j.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, m := range term.MatchFields {
				if m.Key == metav1.ObjectNameField && m.Operator == corev1.NodeSelectorOpNotIn {
					off = append(off, m.Values...)
				}
			}
		}
		if d := cmp.Diff([]string{"s1", "s2", "n"}, off); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if at := j.Spec.Template.Spec.ActiveDeadlineSeconds; at == nil || *at != 50 || *j.Spec.ActiveDeadlineSeconds != 20 {
			t.Errorf("%s: the pod has no deadline of its own: %v", name, at)
		}
	}
}
