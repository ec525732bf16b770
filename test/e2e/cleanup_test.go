package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/test/rig"
)

// removals are the API server's answers to nodefence's deletions.
type removals struct {
	mu  sync.Mutex
	all []removal
}

type removal struct {
	path   string
	at     time.Time
	status int
}

// startWatched runs nodefence, and records its deletions.
func (w *world) startWatched() *removals {
	w.t.Helper()
	r := &removals{}
	w.start(r.watch)
	return r
}

// watch sees each request of a nodefence to the API server.
func (r *removals) watch(o *local.Options) {
	o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			at := time.Now()
			resp, err := next.RoundTrip(req)
			if err == nil && (req.Method == http.MethodDelete || strings.HasSuffix(req.URL.Path, "/eviction")) {
				r.mu.Lock()
				r.all = append(r.all, removal{req.URL.Path, at, resp.StatusCode})
				r.mu.Unlock()
			}
			return resp, err
		})
	})
}

// of are the accepted deletions of objects of this kind.
func (r *removals) of(kind string) (all []removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if strings.Contains(x.path, "/"+kind+"/") && x.status < 300 {
			all = append(all, x)
		}
	}
	return all
}

// forget drops what was recorded before.
func (r *removals) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

// taints watches a node, and tells when the watch ends whether the out-of-service taint was ever
// on it.
func (w *world) taints(node string) (ever func() bool) {
	w.t.Helper()
	watch, err := w.Kube.CoreV1().Nodes().Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + node})
	must(w.t, err)
	seen, done := false, make(chan struct{})
	go func() {
		defer close(done)
		for e := range watch.ResultChan() {
			n, ok := e.Object.(*corev1.Node)
			seen = seen || ok && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.OutOfServiceTaint })
		}
	}()
	return func() bool { watch.Stop(); <-done; return seen }
}

// cleanup sets how the policy releases, from the next fence on.
func (w *world) cleanup(how string) {
	w.t.Helper()
	must(w.t, w.Apply(w.ctx, rig.Policy("default", quick+"release: "+how+"\n")))
}

// finished waits until a node's fence of this number has ended.
func (w *world) finished(node string, number int64) *api.NodeFence {
	w.t.Helper()
	var f *api.NodeFence
	w.until("fence of "+node+" to end", func() (bool, error) {
		var err error
		f, err = w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.FenceNumber == number && f.Status.Phase == api.Finished, nil
	})
	return f
}

// TestCleanupStrategies fences a node under each strategy, and checks who sets the taint, who
// deletes, who detaches, and where the work comes back.
func TestCleanupStrategies(t *testing.T) { // S24
	w := newWorld(t, 3, quick)
	asked := w.startWatched()
	victim := w.database(1)
	numbers := map[string]int64{}
	for _, c := range []struct {
		how                      string
		taint, deletes, detaches bool
		moves                    bool
	}{
		{"{strategy: TaintAndDelete}", true, true, false, true},
		{"{strategy: OutOfServiceTaint}", true, false, false, true},
		{"{strategy: ResourceDeletion, resourceDeletion: {}}", false, true, true, true},
		{"{strategy: None}", false, false, false, false},
	} {
		w.cleanup(c.how)
		asked.forget()
		ever := w.taints(victim)
		w.node(victim, "crash")
		numbers[victim]++
		next := victim
		if c.moves {
			next = w.moved("db-0", victim)
		}
		f := w.finished(victim, numbers[victim])
		if got := ever(); got != c.taint {
			t.Errorf("%s: out-of-service taint seen: %v", c.how, got)
		}
		if n := len(asked.of("pods")); (n > 0) != c.deletes {
			t.Errorf("%s: nodefence deleted %d pods", c.how, n)
		}
		if n := len(asked.of("volumeattachments")); (n > 0) != c.detaches {
			t.Errorf("%s: nodefence detached %d volumes", c.how, n)
		}
		if f.Status.Outcome != api.Recovered || slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Reason == api.ReleaseTimedOut }) {
			t.Errorf("%s: %s\n%s", c.how, f.Status.Outcome, rig.Story(f))
		}
		w.unmarked(victim)
		victim = next
	}
	w.oneWriter()
}

// TestOneStoragesPodsAreReleased: pods that use none of the policy's storage
// classes stay bound to the node, and come back with it.
func TestOneStoragesPodsAreReleased(t *testing.T) { // S24
	w := newWorld(t, 3, quick+"release: {strategy: ResourceDeletion, resourceDeletion: {storageClassNames: [lab]}}\n")
	asked := w.startWatched()
	victim := w.database(1)
	stays := w.bound("bystander", victim)
	ever := w.taints(victim)
	w.node(victim, "crash")
	w.moved("db-0", victim)
	w.phase(victim, api.Finished)
	if p := w.Pod(w.ctx, "bystander"); p == nil || p.UID != stays || p.Spec.NodeName != victim || p.DeletionTimestamp != nil {
		t.Errorf("the pod without such storage is %+v", p)
	}
	if got := asked.of("pods"); len(got) != 1 || !strings.HasSuffix(got[0].path, "/db-0") {
		t.Errorf("nodefence deleted %+v", got)
	}
	if ever() {
		t.Error("the out-of-service taint was set")
	}
	w.oneWriter()
}

// TestVolumesAreDetachedFirst: no pod is deleted, not even a pod without storage, before
// the volume that the policy names is detached and gone. A finalizer delays this.
func TestVolumesAreDetachedFirst(t *testing.T) { // S24
	w := newWorld(t, 3, quick)
	asked := w.startWatched()
	victim := w.database(1)
	w.bound("bystander", victim)
	volume, attached := w.attachment(victim)
	w.cleanup("{strategy: ResourceDeletion, resourceDeletion: {detachFirst: [{persistentVolumeName: " + volume + "}]}}")
	attachments := w.Kube.StorageV1().VolumeAttachments()
	const holds = "example.com/holds"
	hold := func(held bool) {
		t.Helper()
		must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			a, err := attachments.Get(w.ctx, attached, metav1.GetOptions{})
			if err != nil {
				return err
			}
			a.Finalizers = slices.DeleteFunc(a.Finalizers, func(f string) bool { return f == holds })
			if held {
				a.Finalizers = append(a.Finalizers, holds)
			}
			_, err = attachments.Update(w.ctx, a, metav1.UpdateOptions{})
			return err
		}))
	}
	hold(true)
	w.node(victim, "crash")
	w.until("the pods to wait for the volume", func() (bool, error) {
		if got := asked.of("pods"); len(got) > 0 {
			t.Fatalf("nodefence deleted %+v before the volume was gone", got)
		}
		f, err := w.Fences.Fence(w.ctx, victim)
		return err == nil && f != nil && strings.Contains(f.Status.Message, "pod default/db-0 (waits for volume "+volume+" to be detached first)") &&
			strings.Contains(f.Status.Message, "pod default/bystander (waits"), nil
	})
	if got := asked.of("pods"); len(got) > 0 {
		t.Errorf("nodefence deleted %+v before the volume was gone", got)
	}
	hold(false)
	w.moved("db-0", victim)
	f := w.finished(victim, 1)
	detached, deleted := asked.of("volumeattachments"), asked.of("pods")
	if len(detached) == 0 || !strings.HasSuffix(detached[0].path, "/"+attached) || len(deleted) != 2 {
		t.Fatalf("nodefence detached %+v, deleted %+v\n%s", detached, deleted, rig.Story(f))
	}
	for _, p := range deleted {
		if p.at.Before(detached[0].at) {
			t.Errorf("%s was deleted before %s", p.path, detached[0].path)
		}
	}
	w.oneWriter()
}

// attachment returns the database's volume, and the name of the VolumeAttachment on the node. Just after a reset of the
// lab, a volume of the previous test may still be attached to the node.
func (w *world) attachment(node string) (volume, name string) {
	w.t.Helper()
	w.until("the database's volume to be attached to "+node, func() (bool, error) {
		claim, err := w.Kube.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Get(w.ctx, "data-db-0", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		volume = claim.Spec.VolumeName
		all, err := w.Kube.StorageV1().VolumeAttachments().List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, a := range all.Items {
			if of := a.Spec.Source.PersistentVolumeName; a.Spec.NodeName == node && a.Status.Attached && of != nil && *of == volume {
				name = a.Name
			}
		}
		return name != "", nil
	})
	return volume, name
}

// bound runs a pod without volumes on a node, which Kubernetes does not ask to leave.
func (w *world) bound(name, node string) types.UID {
	w.t.Helper()
	p, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "pinned"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}, Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}, {Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists}}},
	}, metav1.CreateOptions{})
	must(w.t, err)
	_, err = w.PodRunning(w.ctx, name, "")
	must(w.t, err)
	return p.UID
}

// TestPodsPerMinute counts by the API server's answers: no minute, wherever it begins, has more
// than the policy allows, and all pods are gone in the end.
func TestPodsPerMinute(t *testing.T) { // S24
	const rate, pods = 2, 3
	w := newWorld(t, 2, quick+"release: {strategy: ResourceDeletion, resourceDeletion: {podsPerMinute: 2}}\n")
	asked := w.startWatched()
	for i := range pods {
		w.bound([]string{"a", "b", "c"}[i], "node-0")
	}
	w.node("node-0", "crash")
	f := w.phase("node-0", api.Finished)
	got := asked.of("pods")
	if len(got) != pods || f.Status.Release.Pods != pods {
		t.Fatalf("%d pods were deleted, %d counted\n%s", len(got), f.Status.Release.Pods, rig.Story(f))
	}
	slices.SortFunc(got, func(a, b removal) int { return a.at.Compare(b.at) })
	// Between two decisions there is a minute of the API server's clock, which is first known to
	// half a second. A request is sent after its decision is saved, at most ActWithin later; a busy
	// machine needs that time.
	begun := f.Status.History[slices.IndexFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Reason == api.ReleaseStarted })].At.Time
	if apart := got[rate].at.Sub(begun); apart < time.Minute-time.Second {
		t.Errorf("the release began at %s, and %s later there were %d deletions", begun, apart, rate+1)
	}
	if apart := got[rate].at.Sub(got[0].at); apart < time.Minute-facts.ActWithin-time.Second {
		t.Errorf("%d deletions within %s", rate+1, apart)
	}
	if !slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Reason == api.PodsPerMinute }) {
		t.Errorf("nothing says why it took so long\n%s", rig.Story(f))
	}
}

// TestDisruptionBudgetsAreRespected: a pod that its budget holds is not deleted, the record says
// so with numbers, and after the deadline the pod comes back with its machine. If the budget lets
// unready pods go, the pod moves.
func TestDisruptionBudgetsAreRespected(t *testing.T) { // S24, S28
	held := quick + "release: {timeout: 15s, strategy: ResourceDeletion, resourceDeletion: {respectDisruptionBudgets: true}}\n"
	w := newWorld(t, 3, held)
	asked := w.startWatched()
	// A pod that Kubernetes has asked to leave already counts for no budget.
	must(t, w.Apply(w.ctx, strings.Replace(rig.StatefulSet("db", 1), "      containers:\n",
		"      tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists}, {key: node.kubernetes.io/not-ready, operator: Exists}]\n      containers:\n", 1)))
	victim := w.moved("db-0", "")
	budgets := w.Kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	one := intstr.FromInt32(1)
	b, err := budgets.Create(w.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	w.until("the budget to be counted", func() (bool, error) {
		b, err = budgets.Get(w.ctx, "db", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 1, err
	})
	before := w.Pod(w.ctx, "db-0").UID

	w.node(victim, "crash")
	f := w.finished(victim, 1)
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.UID != before || len(asked.of("pods")) != 0 {
		t.Errorf("the pod did not stay: %+v", asked.of("pods"))
	}
	for reason, words := range map[api.Reason]string{
		api.DisruptionBudget: "1 pods are held: pod default/db-0 by budget default/db: 0 healthy, 1 wanted, 0 may go; from ",
		api.ReleaseTimedOut:  "1 pods and 1 attachments are left after 15s; held: pod default/db-0 by budget default/db",
	} {
		if !slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Reason == reason && strings.Contains(h.Message, words) }) {
			t.Errorf("nothing says %s: %s\n%s", reason, words, rig.Story(f))
		}
	}

	w.until("the pod to run again", func() (bool, error) {
		b, err = budgets.Get(w.ctx, "db", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 1, err
	})
	// The budget's own controller writes it meanwhile.
	_, err = budgets.Patch(w.ctx, "db", types.MergePatchType, []byte(`{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, w.Apply(w.ctx, rig.Policy("default", strings.Replace(held, "release: 15s", "release: 4m", 1))))
	w.node(victim, "crash")
	w.moved("db-0", victim)
	w.finished(victim, 2)
	if got := asked.of("pods"); len(got) != 1 || !strings.HasSuffix(got[0].path, "/db-0/eviction") {
		t.Errorf("nodefence deleted %+v", got)
	}
	w.oneWriter()
}
