package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/golden"
	"github.com/nodefence/nodefence/test/rig"
)

// TestAFenceAgentsRemediationIsAnswered as it is, with both of its strategies: its node is fenced
// with proof, its conditions go through the states that its users know, in their order, and its
// deletion undoes all that was placed. Its node has no other configuration.
func TestAFenceAgentsRemediationIsAnswered(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{far.ResourceDeletion, far.OutOfServiceTaint} {
		t.Run(strategy, func(t *testing.T) {
			w := newWorld(t, 3, quick)
			w.remediations()
			node := w.database(1)
			w.byFAR(node)
			w.start(adopting)
			o := w.far(node, strategy, nil)
			stood := w.followed(o)
			golden.File(t, "testdata/far/conditions.txt", strings.Join(stood, "\n")+"\n")
			f := w.phase(node, api.Finished)
			if f.Status.FenceNumber != 1 || f.Status.Past != nil {
				t.Errorf("it was fenced %d times", f.Status.FenceNumber)
			}
			d := f.Status.Decision
			if is := d.Settings.Release.Strategy; string(is) != strategy {
				t.Errorf("released by %s, want %s", is, strategy)
			}
			if a := d.Devices[0].Adopted; a == nil || a.Kind != far.Kind || a.Name != node || a.UID != o.UID {
				t.Errorf("its device is of %+v", a)
			}
			w.moved("db-0", node)
			w.words(node, "off on")
			w.oneWriter()
			if !w.taintedByFAR(node) {
				t.Error("the object lives, and the node has not its taint")
			}
			for _, reason := range []string{"RemediationStarted", "RemediationFinished"} {
				if says := w.toldFAR(o, reason); !strings.HasPrefix(says, "[remediation] ") {
					t.Errorf("Event %s: %q", reason, says)
				}
			}
			w.farGone(o)
			w.unmarked(node)
			w.words(node, "off on")
		})
	}
}

// TestATemplateIsReadAhead: a node without a device is checked as soon as a template lists it, long before its regular
// check, and not only once it fails. By that device a node is fenced that fails. An object about a node that is not there says so, and goes when it
// is deleted.
func TestATemplateIsReadAhead(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.remediations()
	node := w.database(1)
	w.byFAR(node)
	host, port := w.bmc(node)
	w.start(func(o *local.Options) { adopting(o); o.CheckEvery = time.Hour })
	w.until("the node to have no device", func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, node)
		if ft == nil {
			return false, err
		}
		c := meta.FindStatusCondition(ft.Status.Conditions, "Fenceable")
		return c != nil && c.Reason == string(api.NoBinding), err
	})
	must(t, w.Apply(w.ctx, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: all, namespace: nodefence-system}\nspec: {template: {spec: %s}}\n",
		far.GroupVersion, far.TemplateKind, specText(node, host, port, ""))))
	w.until("its device to be read", func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, node)
		return ft != nil && meta.IsStatusConditionTrue(ft.Status.Conditions, "Fenceable"), err
	})
	w.node(node, "crash")
	f := w.ended(node, api.Recovered)
	if a := f.Status.Decision.Devices[0].Adopted; a == nil || a.Kind != far.TemplateKind || a.Name != "all" {
		t.Errorf("its device is of %+v", a)
	}
	w.words(node, "off on")
	w.oneWriter()

	absent := w.far("nobody", "", nil)
	if got := w.followed(absent); len(got) != 1 || !strings.HasPrefix(got[0], "False False False") || !strings.Contains(got[0], "RemediationFinishedNodeNotFound") {
		t.Errorf("of a node that is not there: %s", got)
	}
	w.farGone(absent)
}

// TestWhatIsWrongWithAFenceAgentsRemediation is said in its condition and an Event, with object and
// field, and no device is touched. The last one is seen when the Secret is read for the first call, and
// fails by the object's own number of tries.
func TestWhatIsWrongWithAFenceAgentsRemediation(t *testing.T) {
	w := newWorld(t, 4, quick)
	w.remediations()
	for i := range 4 {
		w.byFAR(node(i))
	}
	w.start(adopting)
	for i, c := range []struct {
		change func(map[string]any)
		want   string
	}{
		{func(s map[string]any) { s["agent"] = "fence_nobodys" }, "FenceAgentsRemediation nodefence-system/node-0, spec.agent: "},
		{func(s map[string]any) {
			s["nodeparameters"] = map[string]any{"--ip": map[string]any{"node-7": "192.0.2.1"}}
		}, "FenceAgentsRemediation nodefence-system/node-1, spec.nodeparameters[--ip]: node node-1 is missing, and other nodes are listed: add it"},
		{func(s map[string]any) { s["sharedparameters"] = map[string]any{"--zone": "1"} }, "FenceAgentsRemediation nodefence-system/node-2, spec.sharedparameters[--zone]: unknown parameter"},
		{func(s map[string]any) { s["sharedparameters"] = map[string]any{"--cipher": "3"} }, "key --cipher: it is given in spec.sharedparameters[--cipher] of FenceAgentsRemediation nodefence-system/node-3 as well; delete one of them"},
	} {
		o := w.far(node(i), "", c.change)
		stood := w.followed(o)
		if last := stood[len(stood)-1]; !strings.HasPrefix(last, "False False False") || !strings.Contains(last, "FenceAgentFailed") {
			t.Errorf("%s stands at %s", o.Name, stood)
		}
		is, err := w.Fences.FAR(w.ctx, o.Namespace, o.Name)
		must(t, err)
		if words := meta.FindStatusCondition(is.Status.Conditions, "Succeeded").Message; !strings.Contains(words, c.want) {
			t.Errorf("%s says %q, want %q", o.Name, words, c.want)
		}
		reason := "RemediationCannotStart"
		if len(stood) > 1 {
			reason = "RemediationStopped"
		}
		if says := w.toldFAR(o, reason); !strings.HasPrefix(says, "[remediation] ") || !strings.Contains(says, c.want) {
			t.Errorf("the Event says %q", says)
		}
		w.words(o.Name, "")
		if i == 3 {
			if f := w.phase(o.Name, api.Failed, api.Finished); f.Status.Restarts != 0 || f.Status.Decision.Settings.Power.Attempts != 3 {
				t.Errorf("it failed after %d restarts, with %d tries", f.Status.Restarts, f.Status.Decision.Settings.Power.Attempts)
			}
		}
		w.farGone(o)
		w.unmarked(o.Name)
	}
}

// TestFenceAgentsRemediationItselfRuns: as long as its Lease moves its objects are its own; once it
// stands still for its duration they are answered, with one Off. An object that NodeHealthCheck gave
// up is not.
func TestFenceAgentsRemediationItselfRuns(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.remediations()
	first, second := node(1), node(2)
	w.byFAR(first)
	w.byFAR(second)
	leases := w.Kube.CoordinationV1().Leases("default")
	holder, seconds := "far-controller-1", int32(20)
	lease, err := leases.Create(w.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: far.LeaderLease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds}}, metav1.CreateOptions{})
	must(t, err)
	w.start(adopting)
	one, two := w.far(first, "", nil), w.far(second, "", nil)
	renewals := 0
	w.until("both objects to be left alone, and to say so", func() (bool, error) {
		at := metav1.NowMicro()
		lease.Spec.RenewTime = &at
		if lease, err = leases.Update(w.ctx, lease, metav1.UpdateOptions{}); err != nil {
			return false, err
		}
		renewals++
		return renewals > 60 && w.toldOf(one, "RemediationCannotStart") != "" && w.toldOf(two, "RemediationCannotStart") != "", nil
	})
	for _, o := range []*far.Object{one, two} {
		is, err := w.Fences.FAR(w.ctx, o.Namespace, o.Name)
		must(t, err)
		if is.ResourceVersion != o.ResourceVersion {
			t.Errorf("%s was written to: %+v", o.Name, is)
		}
		if says := w.toldFAR(o, "RemediationCannotStart"); says != "[remediation] nodefence leaves this object alone: Fence Agents Remediation runs, its Lease default/cb305759.medik8s.io moves" {
			t.Error(says)
		}
	}
	_, err = w.fars().Patch(w.ctx, two.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"remediation.medik8s.io/nhc-timed-out":"now"}}}`), metav1.PatchOptions{})
	must(t, err)
	if got := w.followed(one); !strings.HasPrefix(got[len(got)-1], "False True True") {
		t.Errorf("taken over it stands at %s", got)
	}
	w.until("the other one to say that it was given up", func() (bool, error) {
		is, err := w.Fences.FAR(w.ctx, two.Namespace, two.Name)
		c := meta.FindStatusCondition(is.Status.Conditions, "Succeeded")
		return c != nil && c.Reason == "RemediationInterruptedByNHC", err
	})
	w.phase(first, api.Finished)
	w.words(first, "off on")
	w.words(second, "")
	w.farGone(one)
	w.farGone(two)
	w.unmarked(first)
	w.unmarked(second)
}

// adopting has nodefence answer FenceAgentsRemediations.
func adopting(o *local.Options) { o.Settings.Adopt = adopt.Kinds{adopt.FAR} }

// remediations installs the kinds, and the shared Secret that users have. A node's own Secret wins over
// its username.
func (w *world) remediations() {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	must(w.t, w.ApplyFile(w.ctx, filepath.Join(root, "test/e2e/testdata/far/crds.yaml")))
	w.until("the kinds to be served", func() (bool, error) {
		_, served, err := w.Fences.FARs(w.ctx, "nodefence-system")
		_, also := w.Fences.FARTemplates(w.ctx, "nodefence-system")
		return served && err == nil && also == nil, nil
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: far.DefaultSecret}, StringData: map[string]string{"--username": "of {{.NodeName}}", "--cipher": "3"}}
	_, err = w.Kube.CoreV1().Secrets("nodefence-system").Create(w.ctx, secret, metav1.CreateOptions{})
	must(w.t, err)
}

// byFAR takes a node's ConfigMap and Secret away, and gives it a Secret as FenceAgentsRemediations
// name them.
func (w *world) byFAR(node string) {
	w.t.Helper()
	machines, err := w.Lab.Machines()
	must(w.t, err)
	w.unbound(node)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "far-" + node}, StringData: map[string]string{"--username": machines[node].Username, "--password": machines[node].Password}}
	_, err = w.Kube.CoreV1().Secrets("nodefence-system").Create(w.ctx, secret, metav1.CreateOptions{})
	must(w.t, err)
}

// unbound takes a node's ConfigMap and Secret away.
func (w *world) unbound(node string) {
	w.t.Helper()
	must(w.t, w.Kube.CoreV1().ConfigMaps("nodefence-system").Delete(w.ctx, "fence-config-node-"+node, metav1.DeleteOptions{}))
	must(w.t, w.Kube.CoreV1().Secrets("nodefence-devices").Delete(w.ctx, "bmc-"+node, metav1.DeleteOptions{}))
}

func (w *world) bmc(node string) (host, port string) {
	w.t.Helper()
	machines, err := w.Lab.Machines()
	must(w.t, err)
	if machines[node].BMC == "" {
		return "192.0.2.1", "623"
	}
	host, port, err = net.SplitHostPort(machines[node].BMC)
	must(w.t, err)
	return host, port
}

// specText is a spec as users write it.
func specText(node, host, port, strategy string) string {
	return fmt.Sprintf(`{agent: fence_ipmilan, retrycount: 3, retryinterval: 1s, timeout: 60s, remediationStrategy: %[1]q, sharedparameters: {"--lanplus": "", "--action": reboot}, nodeparameters: {"--ip": {%[2]s: %[3]q}, "--ipport": {%[2]s: %[4]q}}, nodeSecretNames: {%[2]s: far-%[2]s}}`, strategy, node, host, port)
}

func (w *world) fars() dynamic.ResourceInterface {
	w.t.Helper()
	c, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	return c.Resource(schema.GroupVersionResource{Group: far.Group, Version: "v1alpha1", Resource: "fenceagentsremediations"}).Namespace("nodefence-system")
}

// far creates an object about a node, as a person does.
func (w *world) far(node, strategy string, change func(spec map[string]any)) *far.Object {
	w.t.Helper()
	host, port := w.bmc(node)
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: nodefence-system}\nspec: %s\n", far.GroupVersion, far.Kind, node, specText(node, host, port, strategy))
	if change != nil {
		text = changed(w.t, text, change)
	}
	must(w.t, w.Apply(w.ctx, text))
	return w.farOf(node)
}

// farOf is the object about a node, as it stands.
func (w *world) farOf(node string) *far.Object {
	w.t.Helper()
	o, err := w.Fences.FAR(w.ctx, "nodefence-system", node)
	must(w.t, err)
	return o
}

// followed are the conditions of an object from its creation until the last one, each once: their
// status in the order Processing, FenceAgentActionSucceeded, Succeeded, and their reasons.
func (w *world) followed(o *far.Object) (all []string) {
	w.t.Helper()
	watch, err := w.fars().Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + o.Name, ResourceVersion: o.ResourceVersion})
	must(w.t, err)
	defer watch.Stop()
	for e := range watch.ResultChan() {
		u, is := e.Object.(*unstructured.Unstructured)
		if !is {
			w.t.Fatalf("the watch says %+v", e)
		}
		now := new(far.Object)
		must(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, now))
		if now.Status.LastUpdateTime == nil {
			continue
		}
		if words := conditionsOf(now); !slices.Contains(all, words) {
			all = append(all, words)
		}
		if far.Ended(now) {
			return all
		}
	}
	w.t.Fatalf("the watch of %s has ended: it stood at %s", o.Name, all)
	return nil
}

func conditionsOf(o *far.Object) string {
	return words(o.Status.Conditions, "Processing", "FenceAgentActionSucceeded", "Succeeded")
}

// toldFAR waits for an Event about an object.
func (w *world) toldFAR(o *far.Object, reason string) (says string) {
	w.t.Helper()
	w.until("Event "+reason+" about "+o.Name, func() (bool, error) { says = w.toldOf(o, reason); return says != "", nil })
	return says
}

func (w *world) toldOf(o *far.Object, reason string) string {
	w.t.Helper()
	all, err := w.Kube.CoreV1().Events(o.Namespace).List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(o.UID) + ",reason=" + reason})
	must(w.t, err)
	if len(all.Items) == 0 {
		return ""
	}
	return all.Items[0].Message
}

func (w *world) taintedByFAR(node string) bool {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == far.Taint && t.Effect == corev1.TaintEffectNoSchedule })
}

// farGone deletes an object, and waits until it is gone with its taint and its FenceRequest.
func (w *world) farGone(o *far.Object) {
	w.t.Helper()
	must(w.t, w.fars().Delete(w.ctx, o.Name, metav1.DeleteOptions{}))
	w.until(o.Name+" to be gone", func() (bool, error) {
		is, err := w.Fences.FAR(w.ctx, o.Namespace, o.Name)
		if is != nil || err != nil {
			return false, err
		}
		r, err := w.Fences.FenceRequest(w.ctx, o.Namespace, far.RequestName(o, o.Name))
		if r != nil || err != nil {
			return false, err
		}
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, o.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == far.Taint }), err
	})
}

// changed is an object's text after a change of its spec.
func changed(t *testing.T, text string, change func(spec map[string]any)) string {
	t.Helper()
	var o map[string]any
	must(t, yaml.Unmarshal([]byte(text), &o))
	change(o["spec"].(map[string]any))
	out, err := yaml.Marshal(o)
	must(t, err)
	return string(out)
}
