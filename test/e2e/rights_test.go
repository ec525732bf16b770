package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/infra/knative"
	"github.com/nodefence/nodefence/infra/local/broker"
	"github.com/nodefence/nodefence/shared/adopt"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/test/rig"
)

// TestRights runs every function as its own account, with the rights of
// infra/accounts/rights.yaml. It checks that each function has all the rights that it needs,
// and that every granted right is used.
func TestRights(t *testing.T) {
	resolved := quick + "activityChecks: {checks: [{type: Job, job: {podTemplateName: watcher}}], rounds: 2, failedRounds: 2, interval: 1s}\ncontrolPlane: {fence: WithQuorum, etcdNodeNames: [elsewhere]}\nmachines: {selector: {}}\nunhealthyConditions: [{type: Ready, status: Unknown}]\n"
	const undrained = "drain: {timeout: 0s}\n" // what a drain does not leave to be released is released too
	// The work of a healthy node that somebody has cut is released before Kubernetes sets Ready to Unknown: cleanup
	// does that itself.
	w := newWorld(t, 5, resolved+undrained, "--grace", "20s")
	must(t, w.Apply(w.ctx, trusting))
	must(t, w.Apply(w.ctx, rig.Problems("problems", "{name: oom, kubernetesEvent: {reason: OOMKilling}}", "{name: mount, kubernetesEvent: {reason: FailedMount, about: Pod}, action: Evict}")))
	root, err := rig.Root()
	must(t, err)
	file := filepath.Join(root, "infra/accounts/rights.yaml")
	must(t, w.ApplyFile(w.ctx, file))
	w.granted(grants(t, file))
	must(t, w.Apply(w.ctx, fmt.Sprintf(watcher, "ReadWriteMany")))
	w.play(map[string]int32{"watch": 1})
	must(t, w.Apply(w.ctx, strings.Replace(asker, "resourceNames: [node-1, node-2], ", "", 1)))
	must(t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster").Do(w.ctx).Error())
	must(t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceBudget\nmetadata: {name: all}\nspec: {selector: {}, maxUnavailable: 2}\n"))
	must(t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceTarget\nmetadata: {name: gone}\n"))
	w.left("gone")
	o := &office{world: w, used: map[right]bool{}, checks: 3 * time.Second}
	o.open()

	// A node dies. A person left its BMC's password in the ConfigMap. No kind of Machine is
	// served here.
	first := w.database(1)
	o.literal(first)
	o.port(first, "password=x")
	w.ofMachine(first, "m", first)
	must(t, w.Apply(w.ctx, strings.Replace(tracked, "      restartPolicy:", "      nodeSelector: {kubernetes.io/hostname: "+first+"}\n      restartPolicy:", 1)))
	w.jobRuns("pfp", "") // its pod is given a terminal phase
	w.node(first, "crash")
	w.phase(first, api.Finished)
	inBackground := metav1.DeletePropagationBackground
	must(t, w.Kube.BatchV1().Jobs(metav1.NamespaceDefault).Delete(w.ctx, "pfp", metav1.DeleteOptions{PropagationPolicy: &inBackground}))
	o.givenBack(first)
	second := w.moved("db-0", first)

	// Somebody asks for the fence of a healthy node, and then of the first node again.
	a := asking{world: w}
	must(t, o.publish(a.request(second, "/me", "1", a.token(second, "1", 600))))
	w.phase(second, api.Finished)
	w.moved("db-0", second)
	must(t, w.Apply(w.ctx, rig.Policy("default", resolved)))
	must(t, o.publish(a.request(first, "/me", "2", a.token(first, "2", 600))))
	w.until("the first node to be fenced again", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, first)
		return f != nil && f.Status.FenceNumber == 2 && f.Status.Phase == api.Finished, err
	})

	// The BMC of a node says off and does nothing, and the boot ID refutes the cut.
	liar := w.besides(4, first, w.moved("db-0", first))
	must(t, w.Lab.Fault(liar, "lie"))
	w.node(liar, "partition")
	w.phase(liar, api.Recovering)
	w.node(liar, "heal")
	must(t, w.trust(liar, "lab-admin", w.ended(liar, api.CutRefuted).Status.Refuted.At))
	must(t, w.Lab.Fault(liar, "none"))

	// An object asks for the fence of a node that is not there, and another one for that of a
	// healthy node, and is withdrawn before anybody approves.
	must(t, w.Apply(w.ctx, rig.Policy("default", resolved+"mode: RequireApproval\n")))
	w.admin("default", "nobody", nil) // where it does not count
	w.lastWord(w.admin("nodefence-system", "nobody", nil))
	withdrawn := w.admin("nodefence-system", second, nil)
	w.until("its fence to wait for approval", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, second)
		return f != nil && f.Status.Reason == api.WaitingForApproval, err
	})
	w.deleted(withdrawn)
	w.ended(second, api.Aborted)

	// From here there are Machines, and their Clusters may be paused.
	kinds, err := os.ReadFile("testdata/machinehealthcheck/v1beta2.yaml")
	must(t, err)
	must(t, w.Apply(w.ctx, string(kinds)))
	w.until("a Machine to be there", func() (bool, error) {
		return w.Apply(w.ctx, "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: default}, spec: {clusterName: c}}") == nil, nil
	})

	// The machine with the work loses its power, the work is released pod by pod, and the
	// Node object is deleted; later another one of the same name replaces it.
	third := w.moved("db-0", "")
	must(t, w.Apply(w.ctx, rig.Policy("default", resolved+"action: PowerOff\nrelease: {strategy: ResourceDeletion, resourceDeletion: {respectDisruptionBudgets: true, detachFirst: [{storageClassName: lab}]}, deleteNode: true}\n")))
	o.port(third, "secret=bmc-"+third)
	w.node(third, "power-loss")
	w.until("its Node object to be deleted", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, third)
		return f != nil && f.Status.Phase == api.Finished && f.Status.Outcome == api.NodeDeleted, err
	})
	o.givenBack(third)
	w.moved("db-0", third)
	w.node(third, "power-on")
	w.until("the new machine to be enrolled", func() (bool, error) {
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, third, metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		cm, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName(third), metav1.GetOptions{})
		return err == nil && cm.Data["node_uid"] == string(n.UID), nil
	})

	// A problem is reported.
	w.report(first, "OOMKilling", "1")
	w.until("the problem to be told", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("node problem")), nil
	})
	w.reportPod("db-0", "FailedMount", "1")
	w.until("the Pod of another to be moved", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("PodMoved")), nil
	})

	// The objects of a node that is gone are deleted too.
	w.until("the FenceTarget of a node that is gone to go", func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, "gone")
		return ft == nil && err == nil, nil
	})
	w.until("its enrolment and its record to go", func() (bool, error) {
		cm, err := w.Fences.ConfigMap(w.ctx, "nodefence-system", kube.EnrolledName("gone"))
		if err != nil || cm != nil {
			return false, err
		}
		f, err := w.Fences.Fence(w.ctx, "gone")
		return f == nil && err == nil, nil
	})

	// The broker gives an event up, and the clocks tick: policystatus counts nodes for a storm
	// that no fence asks about any more.
	e := a.request(first, "/me", "3", "")
	for _, name := range []string{"deadletter", "resync", "policystatus"} {
		if name == "resync" {
			e.SetType(events.Ping)
			storm := `{"status":{"storms":[{"policy":"default","domain":"","message":"as it was","since":"2026-01-01T00:00:00.000000Z"}]}}`
			must(t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster/status").Body([]byte(storm)).Do(w.ctx).Error())
		}
		_, err := o.handlers[name](w.ctx, e)
		must(t, err)
	}
	o.prune(e)
	w.oneWriter()
	granted := slices.DeleteFunc(grants(t, file), func(r right) bool {
		return r.account == "nodefence-isolate" && r.resource == "events" || // it reports only a storm or a pause that came after the reservation
			listedOnlyWithoutCensus(r)
	})
	o.allUsed(granted)
	o.ledgerIsPeoples()
	o.bindingsArePeoples()
}

// TestASkipIsWithdrawnOnceItsFenceWasGivenUp: two ask for one fence, one of them without a drain, and the
// device is dead. That one is withdrawn once the fence was given up, and the other one after it. Each function
// has its own account, and only the gate's may write who has asked: the others save the record all the same,
// and the fence ends with nothing left on the node (S22, S25, S27).
func TestASkipIsWithdrawnOnceItsFenceWasGivenUp(t *testing.T) {
	w := newWorld(t, 3, `
unhealthyConditions: [{type: Ready, status: "Unknown", duration: 1h}]
power: {attempts: 1, retryInterval: 1s, restarts: 0}
limits: {maxUnhealthy: "50%", maxConcurrent: 1}
`)
	root, err := rig.Root()
	must(t, err)
	file := filepath.Join(root, "infra/accounts/rights.yaml")
	must(t, w.ApplyFile(w.ctx, file))
	w.granted(grants(t, file))
	o := &office{world: w, used: map[right]bool{}, checks: time.Minute}
	o.open()
	const node = "node-1"
	must(t, w.Lab.Fault(node, "hang"))
	w.node(node, "crash")
	skip := w.admin("nodefence-system", node+"-skips", map[string]any{"nodeName": node, "drain": "Skip"})
	other := w.admin("nodefence-system", node+"-drains", map[string]any{"nodeName": node})
	var f *api.NodeFence
	w.until("the fence that both ask for to be given up", func() (bool, error) {
		f, err = w.Fences.Fence(w.ctx, node)
		return f != nil && f.Status.Phase == api.Failed && len(f.Status.Decision.AskedBy) == 2, err
	})
	if by := f.Status.Decision.AskedBy; by[0].Served || by[1].Served || by[0].Drain == by[1].Drain {
		t.Fatalf("asked for by %+v", by)
	}
	w.deleted(skip)
	marked, err := w.Fences.Fence(w.ctx, node)
	must(t, err)
	if !slices.Contains(marked.AskersWithdrawn(), string(skip.UID)) {
		t.Fatalf("the record says of what is withdrawn %v", marked.Annotations)
	}
	w.until("the record to be saved after that", func() (bool, error) {
		f, err = w.Fences.Fence(w.ctx, node)
		return err == nil && !f.Status.NextLook.Equal(marked.Status.NextLook), err
	})
	w.deleted(other)
	w.until("the fence to be aborted", func() (bool, error) {
		f, err = w.Fences.Fence(w.ctx, node)
		if err != nil || f.Status.FenceNumber == 1 {
			return err == nil && f.Status.Phase == api.Finished && f.Status.Outcome == api.Aborted, err
		}
		return f.Status.Past[0].Outcome == api.Aborted, nil // the node's condition has opened another one since, which waits
	})
	w.words(node, "")
	w.unmarked(node)
}

// listedOnlyWithoutCensus: the functions of a fence list these if the ledger has no census, or if
// no binding is resolved ahead. Whether that happens here depends on who is faster.
func listedOnlyWithoutCensus(r right) bool {
	return r.verb == "list" && slices.Contains([]string{"nodefence-gate", "nodefence-isolate", "nodefence-power", "nodefence-cleanup"}, r.account) &&
		slices.Contains([]string{"nodes", "nodefences", "fencepolicies", "fencebudgets", "configmaps"}, r.resource)
}

// allUsed waits for calls that are still under way, and says which rights were never used.
func (o *office) allUsed(granted []right) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, time.Minute)
	defer cancel()
	_ = rig.Until(ctx, "all rights to be used", func() (bool, error) { return len(o.unused(granted)) == 0, nil })
	for _, r := range o.unused(granted) {
		o.t.Errorf("granted and never used: %s", r)
	}
}

// left is what is left of a node that has been gone for more than a week: its enrolment,
// as the source marked it, and the record of its last fence.
func (w *world) left(node string) {
	w.t.Helper()
	long := time.Now().Add(-8 * 24 * time.Hour).UTC()
	must(w.t, w.Fences.CreateConfigMap(w.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: kube.EnrolledName(node), Namespace: "nodefence-system", Labels: map[string]string{kube.EnrolledLabel: "true"},
			Annotations: map[string]string{"nodefence.io/node-gone-since": long.Format(time.RFC3339)},
		},
		Data: map[string]string{"node_name": node, "node_uid": "x", "system_uuid": "s", "provider_id": ""},
	}))
	policies, err := w.Fences.Policies(w.ctx)
	must(w.t, err)
	resolved, _ := policy.ResolvePolicy(policies, node, nil)
	must(w.t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: NodeFence\nmetadata: {name: "+node+"}\nspec: {nodeName: "+node+"}\n"))
	stamp := metav1.NewMicroTime(long)
	closed, err := json.Marshal(api.NodeFence{Status: api.NodeFenceStatus{
		MinReaderVersion: 1, FenceNumber: 1, Phase: api.Finished, Outcome: api.Recovered, PhaseSince: &stamp,
		Decision: api.Decision{NodeUID: "x", Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: stamp}, ResolvedPolicy: resolved},
	}})
	must(w.t, err)
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+node+"/status").Body(closed).Do(w.ctx).Error())
}

// right is one thing that an account may do.
type right struct{ account, namespace, group, resource, verb, name string }

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s.%s %s in %q", r.account, r.verb, r.resource, r.group, r.name, r.namespace))
}

// office is nodefence with an account for each part.
type office struct {
	*world
	broker   *broker.Broker
	handlers map[string]run.Handler
	// images are the images that agents' Jobs may run.
	images []string
	// call is how long one call of a device may take; zero is the rig's.
	call functions.CallTimeout
	// checks is how often each node's devices are read while nothing has failed.
	checks time.Duration
	// adopts are the kinds of others that are answered.
	adopts adopt.Kinds
	// ports are devices that cut machines off from a network; this lab has no such network.
	ports *mem.Rack
	mu    sync.Mutex
	used  map[right]bool
}

func (o *office) open() {
	o.t.Helper()
	o.handlers = map[string]run.Handler{}
	o.ports = mem.NewRack(time.Now)
	port := o.ports.Kind()
	port.Name, port.Scope, port.Identity, port.EffectDelay = "port", device.ScopeNetwork, "name", 0
	for _, name := range []string{"gate", "isolate", "power", "cleanup", "recover", "request", "deadletter", "resync", "policystatus"} {
		parts, err := functions.NewParts(o.ctx, o.settings(), o.as(name), o.logger(), freshRegistry())
		must(o.t, err)
		parts.Sender, parts.Drivers = o, maps.Clone(parts.Drivers)
		parts.Drivers["port"] = port
		o.handlers[name] = functions.Handlers(parts)[name]
	}
	triggers, err := broker.Parse("triggers.yaml", knative.Triggers)
	must(o.t, err)
	o.broker, err = broker.Start(o.ctx, broker.Options{Dir: o.t.TempDir(), Triggers: triggers, Handlers: o.handlers, Logger: quiet(), NoSync: true})
	must(o.t, err)
	o.t.Cleanup(func() { _ = o.broker.Close() })
	o.source()
}

func (o *office) settings() functions.Settings {
	s := rig.Settings()
	s.JobImages, s.Adopt = o.images, o.adopts
	s.DeviceCall = cmp.Or(o.call, s.DeviceCall)
	return s
}

func (o *office) source() {
	cfg := o.as("source")
	client, err := kube.New(cfg)
	must(o.t, err)
	id, err := client.ClusterID(o.ctx)
	must(o.t, err)
	src, err := apiserver.New(apiserver.Options{
		Config: cfg, Client: client, Sender: o, Logger: o.logger(), Source: events.SourceOf(id),
		Namespace: "nodefence-system", Identity: "test", Elect: true, CheckEvery: o.checks,
		RequestNamespaces: rig.Settings().RequestNamespaces,
	})
	must(o.t, err)
	ctx, stop := context.WithCancel(o.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = src.Run(ctx) }()
	o.t.Cleanup(func() { stop(); <-done })
}

func (o *office) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(o.log, nil)) }

func (o *office) publish(e event.Event) error { return o.broker.Publish(o.ctx, e) }

// literal writes a BMC's password into the node's ConfigMap.
func (o *office) literal(node string) {
	o.t.Helper()
	machines, err := o.Lab.Machines()
	must(o.t, err)
	maps := o.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(o.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(o.t, err)
	for k, v := range cm.Data {
		cm.Data[k] = strings.Replace(v, "username=", "password="+machines[node].Password+"\nusername=", 1)
		if k == "fence-method-bmc-off" || k == "fence-method-bmc-on" {
			cm.Data[k] = strings.Replace(cm.Data[k], "secret=bmc-"+node+"\n", "", 1)
		}
	}
	_, err = maps.Update(o.ctx, cm, metav1.UpdateOptions{})
	must(o.t, err)
}

// port adds a device to the node's isolation, with its password.
func (o *office) port(node, password string) {
	o.t.Helper()
	maps := o.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(o.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(o.t, err)
	cm.Data["config.properties"] = strings.Replace(cm.Data["config.properties"], "isolation=", "isolation=port ", 1)
	cm.Data["fence-method-port"] = "agent_name=port\naction=off\nmust_success=yes\nname=" + node + "\n" + password + "\n"
	_, err = maps.Update(o.ctx, cm, metav1.UpdateOptions{})
	must(o.t, err)
}

// givenBack checks that the node, which was cut off, has access again.
func (o *office) givenBack(node string) {
	o.t.Helper()
	d, err := o.ports.Kind().Open(map[string]string{"name": node})
	must(o.t, err)
	r, err := d.State(o.ctx)
	must(o.t, err)
	f, err := o.Fences.Fence(o.ctx, node)
	must(o.t, err)
	told := map[api.Reason]bool{}
	for _, h := range f.Status.History {
		told[h.Reason] = true
	}
	if r.Power != device.On || !told[api.AccessCutSent] || !told[api.AccessRestored] {
		o.t.Errorf("port of %s reads %q: %+v", node, r.Power, f.Status.History)
	}
}

// Send lets the source and resync reach the broker.
func (o *office) Send(_ context.Context, e event.Event) error { return o.publish(e) }

// as is the configuration of one account, which records the rights that it uses.
func (o *office) as(name string) *rest.Config {
	o.t.Helper()
	day := int64(86400)
	r, err := o.Kube.CoreV1().ServiceAccounts("nodefence-system").CreateToken(o.ctx, "nodefence-"+name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	must(o.t, err)
	cfg := rest.AnonymousClientConfig(o.Config)
	cfg.BearerToken = r.Status.Token
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			what, ok := rightOf("nodefence-"+name, req)
			if ok && err == nil {
				o.note(what, resp.StatusCode)
			}
			return resp, err
		})
	})
	return cfg
}

func (o *office) note(r right, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if status == http.StatusForbidden && !o.used[r] {
		o.t.Errorf("forbidden: %s", r)
	}
	o.used[r] = true
}

func (o *office) unused(granted []right) (never []right) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range granted {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(o.used)), func(u right) bool { return covers(g, u) }) {
			never = append(never, g)
		}
	}
	return never
}

// covers: a grant without a namespace covers each namespace, and one without a name each name. An account that
// watches must also be able to list, for API servers that do not stream lists. The admission
// policy of infra/crd, and not this test, judges which account that writes a NodeFence may
// decide, which one may abort, and which one may remove its finalizer.
func covers(g, u right) bool {
	if g.resource == "nodefences/finalizers" && g.verb == "update" && u.resource == "nodefences" && u.verb == "patch" {
		g.resource, g.verb = u.resource, u.verb
	}
	verb := g.verb == u.verb || g.verb == "list" && u.verb == "watch" || slices.Contains([]string{"decide", "abort"}, g.verb) && u.verb == "patch"
	return g.account == u.account && g.group == u.group && g.resource == u.resource && verb &&
		(g.namespace == "" || g.namespace == u.namespace) && (g.name == "" || g.name == u.name)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// rightOf is what a request asks to do, as RBAC names it.
func rightOf(account string, r *http.Request) (right, bool) {
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	x := right{account: account}
	switch {
	case len(p) > 2 && p[0] == "api":
		p = p[2:]
	case len(p) > 3 && p[0] == "apis":
		x.group, p = p[1], p[3:]
	default:
		return x, false // /readyz and the like
	}
	if p[0] == "namespaces" && len(p) > 2 {
		x.namespace, p = p[1], p[2:]
	}
	x.resource = p[0]
	if len(p) > 1 {
		x.name = p[1]
	}
	if len(p) > 2 {
		x.resource += "/" + p[2]
	}
	x.verb = map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}[r.Method]
	if r.Method == http.MethodGet && x.name == "" {
		x.verb = "list"
		if field, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "="); field == metav1.ObjectNameField {
			x.name = name // as the API server does for RBAC
		}
		if r.URL.Query().Get("watch") != "" {
			x.verb = "watch"
		}
	}
	return x, true
}

// granted waits until the API server knows these rights: it learns of roles and
// bindings a moment after they are written.
func (w *world) granted(all []right) {
	w.t.Helper()
	for _, r := range all {
		resource, sub, _ := strings.Cut(r.resource, "/")
		w.review("system:serviceaccount:nodefence-system:"+r.account, authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: sub, Name: r.name,
		})
	}
}

// grants are the rights in the manifest, one by one.
func grants(t *testing.T, file string) (all []right) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	rules := map[string][]rbacv1.PolicyRule{}
	for {
		var d struct {
			Kind     string              `json:"kind"`
			Metadata metav1.ObjectMeta   `json:"metadata"`
			Rules    []rbacv1.PolicyRule `json:"rules"`
			RoleRef  rbacv1.RoleRef      `json:"roleRef"`
			Subjects []rbacv1.Subject    `json:"subjects"`
		}
		if err := docs.Decode(&d); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		rules[d.Kind+d.Metadata.Namespace+d.Metadata.Name] = d.Rules // roles stand before their bindings
		for _, s := range d.Subjects {
			for _, rule := range rules[d.RoleRef.Kind+d.Metadata.Namespace+d.RoleRef.Name] {
				all = append(all, expand(s.Name, d.Metadata.Namespace, rule)...)
			}
		}
	}
}

func expand(account, namespace string, r rbacv1.PolicyRule) (all []right) {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, g := range r.APIGroups {
		for _, res := range r.Resources {
			for _, v := range r.Verbs {
				for _, n := range names {
					all = append(all, right{account, namespace, g, res, v, n})
				}
			}
		}
	}
	return all
}
