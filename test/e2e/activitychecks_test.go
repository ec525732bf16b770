package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

const byPort = quick + `
activityChecks:
  checks: [{type: Kubelet}]
  rounds: 4
  failedRounds: 3
  interval: 1s
  recheckInterval: 2s
`

// TestActivityChecksByPort: a node that is cut off from the API server, and answers on its
// kubelet's port, is left alone. A node that has died is silent, and is fenced.
func TestActivityChecksByPort(t *testing.T) {
	w := newWorld(t, 3, byPort)
	w.start(nil)
	victim := w.database(1)
	w.node(victim, "partition")
	f := w.held(victim, api.ActivitySeen)
	if !strings.Contains(f.Status.Message, "answers") {
		t.Errorf("it is held: %s", f.Status.Message)
	}
	w.until("the node to be suspected and seen alive again", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		return err == nil && f.Status.ActivityChecks.Number >= 3 && f.Status.ActivityChecks.Degraded, err
	})
	w.words(victim, "")
	w.node(victim, "heal")
	w.ended(victim, api.HealedBeforeFence)
	w.words(victim, "")
	w.unmarked(victim)

	w.node(victim, "crash")
	w.moved("db-0", victim)
	f = w.finished(victim, 2)
	if !told(f, api.NoActivity, "does not answer") {
		t.Errorf("the history does not say what was not seen: %+v", f.Status.History)
	}
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
}

// TestStorageUnreachable: while the storage is unreachable for everyone no fence begins.
// Two tests that need no lab of their own run here too: the example's objects, and policies
// that make no sense.
func TestStorageUnreachable(t *testing.T) {
	storage, err := port.NewClosed()
	must(t, err)
	t.Cleanup(func() { _ = storage.Close() })
	w := newWorld(t, 3, quick+"storageCheck: {type: TCP, tcp: {address: \""+storage.Addr+"\"}, validDuration: 1s}\n")
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, filepath.Join(root, "infra/examples/activity-checks.yaml")))
	for name, c := range map[string]struct{ spec, says string }{
		"no check":            {"activityChecks: {checks: []}", "checks"},
		"a check of no type":  {"activityChecks: {checks: [{}]}", "type"},
		"the device twice":    {"activityChecks: {checks: [{type: Device}, {type: Device}]}", "write that type once"},
		"no device":           {"action: Isolate\nactivityChecks: {checks: [{type: Device}]}", "no other action switches a machine"},
		"two in one":          {"activityChecks: {checks: [{type: Kubelet, job: {podTemplateName: x}}]}", "job goes with type Job"},
		"a Job of nothing":    {"activityChecks: {checks: [{type: Job}]}", "job goes with type Job"},
		"neighbors of no use": {"activityChecks: {checks: [{type: Device, neighbors: {count: 3}}]}", "neighbors is for type Neighbors"},
		"always rechecked":    {"activityChecks: {checks: [{type: Kubelet}], recheckInterval: 2h}", "recheckInterval (5m unless set) must not be longer"},
		"never dead":          {"activityChecks: {checks: [{type: Kubelet}], rounds: 5}", "failedRounds (8 unless set) must not be more than"},
		"dead of nothing":     {"activityChecks: {checks: [{type: Kubelet}], failedRounds: 0}", "failedRounds"},
		"days":                {"activityChecks: {checks: [{type: Kubelet}], aliveTimeout: 1d}", "write hours, minutes and seconds"},
		"an unknown way on":   {"activityChecks: {checks: [{type: Kubelet}], onAliveTimeout: Wait}", "onAliveTimeout"},
		"early and late":      {"earlyProbe: {leaseStillDuration: 12s}\nactivityChecks: {checks: [{type: Kubelet}]}", "exclude each other"},
		"no storage check":    {"storageCheck: {type: TCP}", "tcp goes with type TCP"},
		"a bad address":       {"storageCheck: {type: TCP, tcp: {address: storage}}", "write storageCheck.tcp.address as host:port"},
		"a dump without end":  {"kdump: {quietDuration: 5m, timeout: 1m}", "quietDuration (30s unless set) must not be longer than"},
	} {
		if err := w.Apply(w.ctx, rig.Policy("bad", c.spec)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/storage-nodes").Do(w.ctx).Error())
	w.start(nil)
	w.node("node-1", "crash")
	w.held("node-1", api.StorageUnreachable)
	w.unmarked("node-1")
	w.words("node-1", "")
	must(t, storage.Open())
	w.phase("node-1", api.Finished)
	w.words("node-1", "off on")
}

const byJobs = quick + `
activityChecks:
  checks:
    - {type: Neighbors, neighbors: {count: 2}}
    - {type: Job, job: {podTemplateName: watcher}}
  rounds: 2
  failedRounds: 2
  interval: 1s
  checkTimeout: 20s
  recheckInterval: 2s
`

const watcher = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared, namespace: nodefence-checks}
spec: {accessModes: [%s], storageClassName: lab, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: watcher, namespace: nodefence-checks}
template:
  spec:
    tolerations: [{operator: Exists}]
    containers:
      - {name: watch, image: example.invalid/watch, volumeMounts: [{name: shared, mountPath: /shared}]}
    volumes: [{name: shared, persistentVolumeClaim: {claimName: shared}}]
`

// TestActivityChecksByJobs: neighbors and a Job of the user's own. The lab has no
// container runtime, so the test sets the exit code of each container. Jobs, scheduling,
// admission and the end of the Jobs are real.
func TestActivityChecksByJobs(t *testing.T) {
	w := newWorld(t, 5, byJobs, "--zones", "2")
	w.start(nil)
	must(t, w.Apply(w.ctx, fmt.Sprintf(watcher, "ReadWriteOnce")))
	victim := w.database(1)
	w.node(victim, "crash")
	w.until("a claim that one node may mount to be refused", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, victim)
		return f != nil && f.Status.ActivityChecks != nil && strings.Contains(f.Status.ActivityChecks.Saw+fmt.Sprint(f.Status.ActivityChecks.Results), "ReadWriteOnce"), err
	})
	must(t, w.Kube.CoreV1().PersistentVolumeClaims("nodefence-checks").Delete(w.ctx, "shared", metav1.DeleteOptions{}))
	w.until("the claim to be gone", func() (bool, error) {
		l, err := w.Kube.CoreV1().PersistentVolumeClaims("nodefence-checks").List(w.ctx, metav1.ListOptions{})
		return err == nil && len(l.Items) == 0, err
	})
	must(t, w.Apply(w.ctx, fmt.Sprintf(watcher, "ReadWriteMany")))

	seen := map[string]corev1.Pod{}
	exits := func(reach, watch int32) func() error {
		return func() error { return w.endContainers(seen, map[string]int32{"reach": reach, "watch": watch}) }
	}
	w.untilActivity(victim, exits(1, 2), "a round that went wrong", func(a *api.ActivityRecord) bool {
		return a.Errored > 0 && strings.Contains(a.Saw, "BackoffLimitExceeded")
	})
	w.untilActivity(victim, exits(1, 0), "one witness of life", func(a *api.ActivityRecord) bool { return a.Degraded })
	w.words(victim, "")
	w.untilActivity(victim, exits(1, 1), "all to see nothing", func(a *api.ActivityRecord) bool { return a.Failed >= 2 })
	w.moved("db-0", victim)
	w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.checkPods(victim, seen)
	w.checkJobs(victim)
}

const byNeighbors = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
activityChecks:
  checks: [{type: Neighbors, neighbors: {count: 4}}]
  rounds: 2
  failedRounds: 2
  interval: 1s
  checkTimeout: 20s
`

// TestChecksAreLimited: ten of 24 nodes are silent. In a storm no Job is begun, and under DryRun none either. Where
// no limit holds, no more Jobs run than the ledger allows, and none of them on a silent node (S14, S15).
func TestChecksAreLimited(t *testing.T) {
	limits := func(most string) string {
		return byNeighbors + "limits: {maxUnhealthy: \"" + most + "\", maxConcurrent: 10, stormCoolDown: 0s}\n"
	}
	w := newWorld(t, 24, limits("20%"))
	var silent []string
	for i := range 10 {
		silent = append(silent, node(i))
	}
	w.allAtOnce(silent, "crash")
	for _, n := range silent {
		must(t, w.Ready(w.ctx, n, corev1.ConditionUnknown))
	}
	w.start(nil)
	for _, held := range []struct {
		policy string
		why    api.Reason
	}{{limits("20%"), api.TooManyUnhealthy}, {limits("60%") + "mode: DryRun\n", api.DryRun}} {
		must(t, w.Apply(w.ctx, rig.Policy("default", held.policy)))
		for _, n := range silent {
			w.held(n, held.why)
		}
		if jobs := w.jobsOfChecks(); len(jobs) != 0 {
			t.Errorf("%s: %d Jobs were begun", held.why, len(jobs))
		}
	}
	must(t, w.Apply(w.ctx, rig.Policy("default", limits("60%"))))
	var jobs []batchv1.Job
	w.until("six fences to be checked, and others to wait", func() (bool, error) {
		waits := 0
		for _, n := range silent {
			f, err := w.Fences.Fence(w.ctx, n)
			if err != nil {
				return false, err
			}
			if f.Status.Reason == api.TooManyChecks {
				waits++
			}
		}
		jobs = slices.DeleteFunc(w.jobsOfChecks(), hasEnded)
		return waits > 0 && len(jobs) == 24, nil
	})
	for _, j := range jobs {
		avoids := fmt.Sprint(j.Spec.Template.Spec.Affinity.NodeAffinity)
		for _, n := range silent {
			if !strings.Contains(avoids, "["+n+"]") {
				t.Errorf("Job %s may be placed on %s", j.Name, n)
			}
		}
	}
}

// hasEnded tells whether no pod of the Job runs any more.
func hasEnded(j batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// jobsOfChecks are those that there are.
func (w *world) jobsOfChecks() []batchv1.Job {
	w.t.Helper()
	l, err := w.Kube.BatchV1().Jobs("nodefence-checks").List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	return l.Items
}

func (w *world) untilActivity(node string, meanwhile func() error, what string, ok func(*api.ActivityRecord) bool) {
	w.t.Helper()
	w.until(what, func() (bool, error) {
		if err := meanwhile(); err != nil {
			return false, err
		}
		f, err := w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.ActivityChecks != nil && ok(f.Status.ActivityChecks), err
	})
}

// endContainers ends the running containers of checks, each with the code of its name.
func (w *world) endContainers(seen map[string]corev1.Pod, code map[string]int32) error {
	pods, err := w.Kube.CoreV1().Pods("nodefence-checks").List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodRunning || len(p.Status.ContainerStatuses) == 0 {
			continue
		}
		seen[p.Name] = p
		name := p.Spec.Containers[0].Name
		phase := corev1.PodFailed
		if code[name] == 0 {
			phase = corev1.PodSucceeded
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase, "containerStatuses": []corev1.ContainerStatus{{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code[name], FinishedAt: metav1.Now()}},
		}}}})
		if err != nil {
			return err
		}
		// The Job may have reached its deadline, and delete the pod meanwhile.
		if _, err = w.Kube.CoreV1().Pods(p.Namespace).Patch(w.ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// play ends the checks' containers until the test is over.
func (w *world) play(code map[string]int32) {
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = rig.Until(ctx, "the end", func() (bool, error) { _ = w.endContainers(map[string]corev1.Pod{}, code); return false, nil })
	}()
	w.t.Cleanup(func() { stop(); <-done })
}

// checkPods: no pod ran on the node, no neighbor was in its zone, and no pod has rights.
func (w *world) checkPods(victim string, seen map[string]corev1.Pod) {
	w.t.Helper()
	zone := func(node string) string {
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
		must(w.t, err)
		return n.Labels[corev1.LabelTopologyZone]
	}
	kinds := map[string]int{}
	for _, p := range seen {
		kind, s := p.Spec.Containers[0].Name, p.Spec.Containers[0].SecurityContext
		kinds[kind]++
		if p.Spec.NodeName == victim || kind == "reach" && zone(p.Spec.NodeName) == zone(victim) {
			w.t.Errorf("%s ran on %s, which is in question or in its zone", p.Name, p.Spec.NodeName)
		}
		if p.Spec.ServiceAccountName != "default" || *p.Spec.AutomountServiceAccountToken || s == nil || !*s.RunAsNonRoot || !*s.ReadOnlyRootFilesystem ||
			p.Spec.Containers[0].Resources.Limits.Memory().IsZero() {
			w.t.Errorf("%s may do more than it must: %+v", p.Name, p.Spec)
		}
		for _, tol := range p.Spec.Tolerations {
			if tol.Operator == corev1.TolerationOpExists && tol.Key == "" {
				w.t.Errorf("%s tolerates everything", p.Name)
			}
		}
	}
	if kinds["reach"] < 2 || kinds["watch"] < 2 {
		w.t.Errorf("too few pods were seen to show anything: %v", kinds)
	}
}

// checkJobs: each Job tries once, has a deadline, and is deleted with its record.
func (w *world) checkJobs(victim string) {
	w.t.Helper()
	var jobs *batchv1.JobList
	w.until("the checks' Jobs to end", func() (_ bool, err error) {
		jobs, err = w.Kube.BatchV1().Jobs("nodefence-checks").List(w.ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(jobs.Items, func(j batchv1.Job) bool { return ended(j) == 0 }), err
	})
	for _, j := range jobs.Items {
		if *j.Spec.BackoffLimit != 0 || j.Spec.ActiveDeadlineSeconds == nil || j.Spec.TTLSecondsAfterFinished == nil || j.OwnerReferences[0].Name != victim {
			w.t.Errorf("%s: %+v", j.Name, j.Spec)
		}
		if ends := ended(j); ends != 1 {
			w.t.Errorf("%s has ended %d times: %+v", j.Name, ends, j.Status)
		}
	}
}

func ended(j batchv1.Job) (n int) {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			n++
		}
	}
	return n
}

// told tells whether the record's history has this sentence.
func told(f *api.NodeFence, why api.Reason, words string) bool {
	for _, h := range f.Status.History {
		if h.Reason == why && strings.Contains(h.Message, words) {
			return true
		}
	}
	return false
}
