package e2e

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// terminated does to a pod what its kubelet did before its machine died: the pod was asked to leave, its
// containers ended, and its volumes were still mounted.
func (w *world) terminated(pod string) {
	w.t.Helper()
	pods := w.Kube.CoreV1().Pods(metav1.NamespaceDefault)
	must(w.t, pods.Delete(w.ctx, pod, metav1.DeleteOptions{}))
	_, err := pods.Patch(w.ctx, pod, types.MergePatchType, []byte(`{"status":{"phase":"Failed","reason":"Terminated"}}`), metav1.PatchOptions{}, "status")
	must(w.t, err)
}

// TestAPodThatEndedWhileItWasDeleted: a StatefulSet waits until such a pod is gone from the API. So the fence
// releases it under each strategy, and its successor runs elsewhere (S1, S27).
func TestAPodThatEndedWhileItWasDeleted(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{
		"taint and delete":   "action: PowerOff\n",
		"taint alone":        "action: PowerOff\nrelease: {strategy: OutOfServiceTaint}\n",
		"resource deletion":  "action: PowerOff\nrelease: {strategy: ResourceDeletion, resourceDeletion: {}}\n",
		"one storage's pods": "action: PowerOff\nrelease: {strategy: ResourceDeletion, resourceDeletion: {storageClassNames: [lab]}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, quick+how)
			victim := w.database(1)
			w.node(victim, "crash")
			w.terminated("db-0")
			w.start(nil)
			w.moved("db-0", victim)
			f := w.phase(victim, api.Fenced)
			if f.Status.Release.TimedOut || f.Status.Release.PodsLeft != 0 {
				t.Errorf("%+v\n%s", f.Status.Release, rig.Story(f))
			}
			w.oneWriter()
		})
	}
}

// tracked is a Job whose pods are replaced once they have a terminal phase, and not before.
const tracked = `
apiVersion: batch/v1
kind: Job
metadata: {name: pfp}
spec:
  backoffLimit: 0
  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: example.invalid/x:1}]
`

// TestAJobsPodIsReplaced: the Job controller keeps a deleted pod by its finalizer until the pod has a terminal
// phase, which no kubelet of a machine that is off writes. A pod with a finalizer that nobody removes is named (S27).
func TestAJobsPodIsReplaced(t *testing.T) {
	w := newWorld(t, 3, quick+"action: PowerOff\nrelease: {strategy: ResourceDeletion, resourceDeletion: {}, timeout: 30s}\n")
	must(t, w.Apply(w.ctx, tracked))
	victim := w.jobRuns("pfp", "")
	held := "apiVersion: v1\nkind: Pod\nmetadata: {name: held, finalizers: [example.com/held]}\nspec: {nodeName: " + victim + ", containers: [{name: c, image: example.invalid/x:1}], tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists}, {key: node.kubernetes.io/not-ready, operator: Exists}]}\n" // Kubernetes' own eviction would end it too
	must(t, w.Apply(w.ctx, held))
	w.moved("held", "")
	w.node(victim, "crash")
	w.start(nil)
	if next := w.jobRuns("pfp", victim); next == victim {
		t.Errorf("the pod runs on %s again", next)
	}
	job, err := w.Kube.BatchV1().Jobs(metav1.NamespaceDefault).Get(w.ctx, "pfp", metav1.GetOptions{})
	must(t, err)
	if slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Status == corev1.ConditionTrue }) {
		t.Errorf("the fence counts as a failure of the Job: %+v", job.Status)
	}
	f := w.phase(victim, api.Fenced)
	if !strings.Contains(f.Status.Message, "pod default/held (finalizer example.com/held)") {
		t.Errorf("nothing names what is left: %s\n%s", f.Status.Message, rig.Story(f))
	}
	p := w.Pod(w.ctx, "held")
	if p == nil || p.Status.Phase != corev1.PodFailed || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByNodefence"
	}) {
		t.Errorf("%+v", p)
	}
}

// jobRuns waits until a pod of a Job runs on another node than not, and returns its node.
func (w *world) jobRuns(job, not string) (node string) {
	w.t.Helper()
	w.until("a pod of Job "+job+" to run elsewhere than on "+not, func() (bool, error) {
		pods, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; rig.Running(p) && p.Spec.NodeName != not {
				node = p.Spec.NodeName
			}
		}
		return node != "", nil
	})
	return node
}
