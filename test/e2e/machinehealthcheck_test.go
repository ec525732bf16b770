package e2e

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions/adopt/healthchecks"
	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/adopt/mhc"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

// checks are the MachineHealthChecks of one namespace.
type checks struct {
	*world
	apiVersion, namespace string
	api                   dynamic.ResourceInterface
	// keep answers them at each look, where nodefence does not run.
	keep func()
	// said has a name, and what that one was seen to say.
	said [][2]string
}

// healthChecks installs the kind, and takes away the policy that would decide for all nodes.
func (w *world) healthChecks(crds, apiVersion, namespace string) *checks {
	w.t.Helper()
	must(w.t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/default").Do(w.ctx).Error())
	crd, err := os.ReadFile("testdata/machinehealthcheck/" + crds)
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, string(crd)))
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	group, version, _ := strings.Cut(apiVersion, "/")
	c := &checks{world: w, apiVersion: apiVersion, namespace: namespace, api: dyn.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "machinehealthchecks"}).Namespace(namespace)}
	w.until("the kind to be served", func() (bool, error) {
		_, err := c.api.List(w.ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	return c
}

// apply writes one as its users do.
func (c *checks) apply(name, labels, spec string) {
	c.t.Helper()
	must(c.t, c.Apply(c.ctx, fmt.Sprintf("{apiVersion: %s, kind: MachineHealthCheck, metadata: {name: %s, namespace: %s, labels: {%s}}, spec: %s}", c.apiVersion, name, c.namespace, labels, spec)))
}

// says is the status of one: healthy of all, how many more, and its condition.
func (c *checks) says(name string) string {
	c.t.Helper()
	if c.keep != nil {
		c.keep()
	}
	o, err := c.api.Get(c.ctx, name, metav1.GetOptions{})
	must(c.t, err)
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	words := fmt.Sprint(status["currentHealthy"], " of ", status["expectedMachines"], ", ", status["remediationsAllowed"], " more")
	for _, is := range conditions {
		is := is.(map[string]any)
		words += fmt.Sprint(", ", is["type"], " ", is["status"], " ", cmp.Or(fmt.Sprint(is["reason"]), ""), " ", is["severity"])
	}
	words = strings.ReplaceAll(words, "<nil>", "-")
	if len(conditions) > 0 {
		c.said = append(c.said, [2]string{name, words})
	}
	return words
}

// stood is what one was seen to say, one after the other.
func (c *checks) stood(name string) (all []string) {
	for _, said := range c.said {
		if said[0] == name {
			all = append(all, said[1])
		}
	}
	return slices.Compact(all)
}

func (c *checks) untilItSays(name, want string) {
	c.t.Helper()
	last := ""
	c.until(name+" to say "+want, func() (bool, error) {
		if now := c.says(name); now != last {
			c.t.Log(name, "says", now)
			last = now
		}
		return last == want, nil
	})
}

// policy is the FencePolicy of one; nil if there is none.
func (c *checks) policy(name string) *api.FencePolicy {
	c.t.Helper()
	p, err := c.Fences.Policy(c.ctx, c.check(name).PolicyName())
	must(c.t, err)
	return p
}

// held tells whether the policy of one is there, and paused by it.
func (c *checks) held(name string) bool {
	c.t.Helper()
	p := c.policy(name)
	return p != nil && slices.Equal(p.Spec.PauseRequests, []string{"MachineHealthCheck " + c.namespace + "/" + name})
}

func (c *checks) check(name string) *mhc.Check {
	k := &mhc.Check{}
	k.APIVersion, k.Namespace, k.Name = c.apiVersion, c.namespace, name
	return k
}

// marked are the nodes with the label of one.
func (c *checks) marked(name string) string {
	c.t.Helper()
	all, err := c.Kube.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{LabelSelector: c.check(name).Label() + "=true"})
	must(c.t, err)
	names := map[string]bool{}
	for _, n := range all.Items {
		names[n.Name] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// events are the reasons of the Events about one.
func (c *checks) events(name string) string {
	c.t.Helper()
	all, err := c.Kube.CoreV1().Events(c.namespace).List(c.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=MachineHealthCheck,involvedObject.name=" + name})
	must(c.t, err)
	reasons := map[string]bool{}
	for _, e := range all.Items {
		reasons[e.Reason] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(reasons)), " ")
}

// adoptingChecks switches the answers on.
func adoptingChecks(o *local.Options) { o.Settings.Adopt = adopt.Kinds{adopt.MHC} }

// unled: no Lease of the objects' own controller was seen for a long time.
func (w *world) unled() {
	w.t.Helper()
	_, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Create(w.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "nodefence-adopt-leases"}, Data: map[string]string{mhc.Leaders[0].Key(): "2026-01-02T03:04:05Z none"},
	}, metav1.CreateOptions{})
	must(w.t, err)
}

// TestMachineHealthCheck: OpenShift's object, as its users apply it. A node that is lost has its
// Machine deleted, through the gate, and its work starts elsewhere only after the cloud says that the
// instance has ended (S1, S2). The object's status says what its own controller would. With the object
// go the policy and the labels.
func TestMachineHealthCheck(t *testing.T) {
	w := newWorld(t, 4, quick)
	m, endpoint := w.instances()
	c := w.healthChecks("openshift.yaml", "machine.openshift.io/v1beta1", machineNamespace)
	w.unled()
	db := w.database(1)
	w.endsByMachine(db, endpoint)
	all, err := m.api.List(w.ctx, metav1.ListOptions{})
	must(t, err)
	for _, o := range all.Items {
		_, err := m.api.Patch(w.ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"role":"worker"}},"status":{"phase":"Running"}}`), metav1.PatchOptions{})
		must(t, err)
		_, err = m.api.Patch(w.ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"status":{"phase":"Running","nodeRef":{"kind":"Node","name":%q}}}`, o.GetName()), metav1.PatchOptions{}, "status")
		must(t, err)
	}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(w.ctx)
	t.Cleanup(func() { stop(); <-done })
	go func() { defer close(done); m.run(ctx) }()
	p := w.start(adoptingChecks)
	must(t, p.Watching(w.ctx))

	c.apply("workers", "", `{selector: {matchLabels: {role: worker}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 2s}, {type: Ready, status: "False", timeout: 300s}], maxUnhealthy: 40%}`)
	c.untilItSays("workers", "4 of 4, 1 more, RemediationAllowed True - -")
	w.until("its policy to select the nodes", func() (bool, error) {
		p := c.policy("workers")
		return p != nil && p.Status.SelectedNodes == 4 && c.marked("workers") == "node-0 node-1 node-2 node-3", nil
	})
	w.until("the instance to be enrolled", func() (bool, error) {
		cm, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName(db), metav1.GetOptions{})
		return err == nil && cm.Data["provider_id"] != "", nil
	})

	w.node(db, "crash")
	w.moved("db-0", db)
	w.oneWriter()
	w.until("the Machine to be gone, and no other", func() (bool, error) {
		_, err := m.api.Get(w.ctx, db, metav1.GetOptions{})
		all, lerr := m.api.List(w.ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err) && lerr == nil && len(all.Items) == 3, lerr
	})
	f := w.phase(db, api.Fenced, api.Recovering, api.Finished)
	if b := f.Status.Decision.Power(0); b == nil || b.Driver != "machine" || f.Status.Power.OffAt == nil || f.Status.Decision.Policy.Name != c.check("workers").PolicyName() {
		t.Errorf("binding %+v, power %+v, policy %+v", b, f.Status.Power, f.Status.Decision.Policy)
	}
	c.untilItSays("workers", "3 of 3, 1 more, RemediationAllowed True - -")
	must(t, w.Kube.CoreV1().Nodes().Delete(w.ctx, db, metav1.DeleteOptions{})) // as a Machine controller does at its end
	w.ended(db, api.NodeGone)

	// Two of three are too many, and one is as many as may be. What is too many is held.
	two := slices.DeleteFunc([]string{"node-0", "node-1", "node-2", "node-3"}, func(n string) bool { return n == db })[:2]
	w.failed(m, two...)
	c.untilItSays("workers", "1 of 3, 0 more, RemediationAllowed False TooManyUnhealthy Warning")
	w.until("its policy to be held", func() (bool, error) {
		return slices.Equal(c.policy("workers").Spec.PauseRequests, []string{"MachineHealthCheck " + machineNamespace + "/workers"}), nil
	})
	for _, node := range two {
		_, err := m.api.Patch(w.ctx, node, types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
		must(t, err)
	}
	c.untilItSays("workers", "3 of 3, 1 more, RemediationAllowed True - -")

	transcribed(t, "testdata/machinehealthcheck/openshift.txt", c.stood("workers"))

	must(t, c.api.Delete(w.ctx, "workers", metav1.DeleteOptions{}))
	w.until("what followed from it to be gone", func() (bool, error) {
		return c.policy("workers") == nil && c.marked("workers") == "", nil
	})
	for _, node := range two {
		w.words(node, "")
	}
}

// failed has Machines be in phase Failed.
func (w *world) failed(m *machines, names ...string) {
	w.t.Helper()
	for _, name := range names {
		_, err := m.api.Patch(w.ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
		must(w.t, err)
	}
}

// endsByMachine has a node's instance be ended by the deletion of its Machine.
func (w *world) endsByMachine(node, endpoint string) {
	w.t.Helper()
	own, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(w.t, err)
	own.Data = map[string]string{
		"config.properties": "node_name=" + node + "\nisolation=mark-unschedulable\npower_management=end\nrecovery=mark-schedulable\n",
		"fence-method-end":  "agent_name=machine\naction=off\nendpoint=" + endpoint + "\naccess_key=AKIAIOSFODNN7EXAMPLE\nsecret_key=none\n",
	}
	_, err = w.Kube.CoreV1().ConfigMaps("nodefence-system").Update(w.ctx, own, metav1.UpdateOptions{})
	must(w.t, err)
}

// TestMachineHealthCheckOfALiveController: nothing follows from an object while the Lease of its own
// controller moves; what can't be mapped is refused by the name of its field. All that is done as the
// account of policystatus, with the component's rights.
func TestMachineHealthCheckOfALiveController(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.instances()
	c := w.healthChecks("openshift.yaml", "machine.openshift.io/v1beta1", machineNamespace)
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, root+"/infra/accounts/rights.yaml"))
	must(t, w.ApplyFile(w.ctx, root+"/infra/knative/components/machinehealthcheck/rights.yaml"))
	account := rest.CopyConfig(w.Config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nodefence-system:nodefence-policystatus", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kube.New(account)
	must(t, err)
	var later time.Duration
	h := &healthchecks.Keeper{Function: "policystatus", Objects: client, Namespace: "nodefence-system", Now: func() time.Time { return client.Clock().Now().Add(later) }, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	now := metav1.NowMicro()
	l, err := w.Kube.CoordinationV1().Leases(machineNamespace).Create(w.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-api-provider-healthcheck-leader"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("a"), RenewTime: &now, LeaseDurationSeconds: new(int32(120))},
	}, metav1.CreateOptions{})
	must(t, err)
	c.apply("workers", "", `{selector: {}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 2s}]}`)
	w.until("the rights to be known", func() (bool, error) { return h.Keep(w.ctx) == nil, nil })
	if says := c.says("workers"); says != "- of -, - more" || c.policy("workers") != nil || c.marked("workers") != "" || c.events("workers") != "LeftToItsController" {
		t.Errorf("something followed: %s, %+v, %s, %s", says, c.policy("workers"), c.marked("workers"), c.events("workers"))
	}

	must(t, w.Kube.CoordinationV1().Leases(machineNamespace).Delete(w.ctx, l.Name, metav1.DeleteOptions{}))
	must(t, h.Keep(w.ctx))
	if c.policy("workers") != nil {
		t.Error("its controller counts as gone as soon as its Lease is")
	}
	later = 7 * time.Minute
	must(t, h.Keep(w.ctx))
	if says := c.says("workers"); says != "0 of 3, 0 more, RemediationAllowed True - -" || c.policy("workers") == nil { // their Machines name no node yet
		t.Errorf("%s, %+v", says, c.policy("workers"))
	}
	_, err = w.Kube.CoreV1().Nodes().Patch(w.ctx, "node-0", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, c.check("workers").Label()), metav1.PatchOptions{})
	must(t, err)
	c.apply("workers", "", `{selector: {}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 500ms}]}`)
	must(t, h.Keep(w.ctx))
	if says := c.says("workers"); says != "0 of 3, 0 more, RemediationAllowed False CannotBeMapped Warning" || !c.held("workers") || c.marked("workers") != "" {
		t.Errorf("%s, %+v, %s", says, c.policy("workers"), c.marked("workers"))
	}
	if got := c.events("workers"); got != "Adopted CannotBeMapped LeftToItsController" {
		t.Errorf("events %s", got)
	}
}

// TestMachineHealthCheckOfClusterAPI: an object whose label says that it is nodefence's is answered in
// the words of its version, for the nodes that are in this cluster. Such an object then has a node that is
// lost fenced, as long as nodefence runs.
func TestMachineHealthCheckOfClusterAPI(t *testing.T) {
	t.Parallel()
	for version, x := range map[string]struct{ spec, refused, allowed, cannot, fences string }{
		"v1beta1": {
			`{clusterName: c, selector: {matchLabels: {pool: a}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}], unhealthyRange: "[1-2]"}`,
			`{clusterName: c, selector: {matchLabels: {pool: a}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}], unhealthyMachineConditions: [{type: X, status: "True", timeout: 1s}]}`,
			"True - -", "False CannotBeMapped Warning",
			`{clusterName: c, selector: {matchLabels: {pool: a}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 2s}], maxUnhealthy: 1}`,
		},
		"v1beta2": {
			`{clusterName: c, selector: {matchLabels: {pool: a}}, checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}, remediation: {triggerIf: {unhealthyInRange: "[1-2]"}}}`,
			`{clusterName: c, selector: {matchLabels: {pool: a}}, checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}], unhealthyMachineConditions: [{type: X, status: "True", timeoutSeconds: 1}]}}`,
			"True RemediationAllowed -", "False CannotBeMapped -",
			`{clusterName: c, selector: {matchLabels: {pool: a}}, checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 2}]}, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 1}}}`,
		},
	} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, 3, quick)
			c := w.healthChecks(version+".yaml", "cluster.x-k8s.io/"+version, "clusters")
			_, err := w.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, metav1.CreateOptions{})
			must(t, err)
			machines := w.capiMachines(version, "clusters")
			h := &healthchecks.Keeper{Function: "policystatus", Objects: w.Fences, Namespaces: []string{"clusters"}, Now: func() time.Time { return w.Fences.Clock().Now().Add(3 * time.Minute) }, Log: slog.New(slog.NewTextHandler(w.log, nil))}
			c.keep = func() { must(t, h.Keep(w.ctx)) }
			c.apply("theirs", "", x.spec)
			c.keep()
			if got := c.events("theirs"); got != "LeftToItsController" {
				t.Errorf("events %s", got)
			}
			must(t, c.api.Delete(w.ctx, "theirs", metav1.DeleteOptions{}))

			c.apply("ours", "cluster.x-k8s.io/watch-filter: nodefence", x.spec)
			refused := strings.ReplaceAll(x.allowed, "True RemediationAllowed", "False TooManyUnhealthy")
			refused = strings.ReplaceAll(refused, "True - -", "False TooManyUnhealthy Warning")
			c.untilItSays("ours", "3 of 3, 0 more, RemediationAllowed "+refused) // fewer than the range
			_, err = machines.Patch(w.ctx, "node-2", types.MergePatchType, []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/remediate-machine":"","x":"y"}}}`), metav1.PatchOptions{})
			must(t, err)
			c.untilItSays("ours", "2 of 3, 1 more, RemediationAllowed "+x.allowed)
			w.until("its policy to select the nodes", func() (bool, error) {
				c.keep()
				p := c.policy("ours")
				return p != nil && c.marked("ours") == "node-0 node-1 node-2" && p.Spec.Limits.MaxUnhealthy.IntVal == 2, nil
			})
			c.apply("ours", "cluster.x-k8s.io/watch-filter: nodefence", x.refused)
			c.untilItSays("ours", "2 of 3, 0 more, RemediationAllowed "+x.cannot)
			w.until("its policy to be held", func() (bool, error) {
				c.keep()
				return c.held("ours") && c.marked("ours") == "", nil
			})
			transcribed(t, "testdata/machinehealthcheck/"+version+".txt", c.stood("ours"))
			must(t, c.api.Delete(w.ctx, "ours", metav1.DeleteOptions{}))
			w.until("what followed from it to be gone", func() (bool, error) {
				c.keep()
				return c.policy("ours") == nil, nil
			})
			_, err = machines.Patch(w.ctx, "node-2", types.MergePatchType, []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/remediate-machine":null}}}`), metav1.PatchOptions{})
			must(t, err)
			c.deletesAMachine(machines, version, x.fences, x.allowed)
		})
	}
}

// capiMachines makes each node of the lab one of Cluster API's, that of a Machine.
func (w *world) capiMachines(version, namespace string) dynamic.ResourceInterface {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	all := dyn.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: version, Resource: "machines"}).Namespace(namespace)
	w.until("Machines to be served", func() (bool, error) {
		_, err := all.List(w.ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	nodes, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	for _, n := range nodes.Items {
		w.ofMachine(n.Name, namespace, n.Name)
		must(w.t, w.Apply(w.ctx, fmt.Sprintf("{apiVersion: cluster.x-k8s.io/%s, kind: Machine, metadata: {name: %s, namespace: %s, labels: {pool: a, cluster.x-k8s.io/cluster-name: c}}, spec: {clusterName: c}}", version, n.Name, namespace)))
		_, err := all.Patch(w.ctx, n.Name, types.MergePatchType, fmt.Appendf(nil, `{"status":{"phase":"Running","nodeRef":{"name":%q}}}`, n.Name), metav1.PatchOptions{}, "status")
		must(w.t, err)
	}
	return all
}
