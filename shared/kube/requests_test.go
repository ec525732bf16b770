package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	fencePath  = "/apis/nodefence.io/v1alpha1/nodefences/a"
	ledgerPath = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
)

// TestReadsAreOfAQuorum: the API server answers a read without a resourceVersion from a quorum,
// and one with "0" or a limit from a cache or in part.
func TestReadsAreOfAQuorum(t *testing.T) {
	one, all := `{"metadata":{"name":"x","uid":"u"}}`, `{"items":[{"metadata":{"name":"x"}}]}`
	for name, c := range map[string]struct {
		path, text, query string
		getExisting       func(ctx context.Context, c *Client) (found bool, err error)
	}{
		"node":   {nodePath, one, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Node(ctx, "a"); return o != nil, err }},
		"nodes":  {"/api/v1/nodes", all, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Nodes(ctx); return len(o) == 1, err }},
		"lease":  {leasesPath + "/a", one, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Lease(ctx, "a"); return o != nil, err }},
		"fence":  {fencePath, one, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Fence(ctx, "a"); return o != nil, err }},
		"fences": {fencesPath, all, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Fences(ctx); return len(o) == 1, err }},
		"nodes with a label": {nodesPath, all, "labelSelector=role", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.NodesWith(ctx, "role")
			return len(o) == 1, err
		}},
		"some nodes": {nodesPath + "/a", one, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.NodesNamed(ctx, []string{"a"})
			return len(o) == 1, err
		}},
		"some fences": {fencesPath + "/a", one, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.FencesNamed(ctx, []string{"a"})
			return len(o) == 1, err
		}},
		"policies": {policiesPath, all, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Policies(ctx); return len(o) == 1, err }},
		"policy":   {policiesPath + "/a", one, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Policy(ctx, "a"); return o != nil, err }},
		"budgets": {budgetsPath, all, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.FenceBudgets(ctx)
			return len(o) == 1, err
		}},
		"problems": {problemsPath, all, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.NodeProblemPolicies(ctx)
			return len(o) == 1, err
		}},
		"ledger": {ledgerPath, one, "", func(ctx context.Context, c *Client) (bool, error) { o, err := c.Ledger(ctx); return o != nil, err }},
		"ConfigMap": {"/api/v1/namespaces/n/configmaps/a", one, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.ConfigMap(ctx, "n", "a")
			return o != nil, err
		}},
		"ConfigMaps": {"/api/v1/namespaces/n/configmaps", all, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.ConfigMaps(ctx, "n")
			return len(o) == 1, err
		}},
		"Secret": {"/api/v1/namespaces/n/secrets/a", one, "", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.Secret(ctx, "n", "a")
			return o != nil, err
		}},
		"pods": {"/api/v1/pods", all, "fieldSelector=spec.nodeName%3Da", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.PodsOn(ctx, "a")
			return len(o) == 1, err
		}},
		"etcd's pods": {"/api/v1/namespaces/kube-system/pods", all, "labelSelector=component%3Detcd", func(ctx context.Context, c *Client) (bool, error) { o, err := c.EtcdPods(ctx); return len(o) == 1, err }},
		"the control plane's pods": {"/api/v1/namespaces/kube-system/pods", all, "labelSelector=tier%3Dcontrol-plane", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.ControlPlanePods(ctx, "")
			return len(o) == 1, err
		}},
		"the control plane's pods of a node": {"/api/v1/namespaces/kube-system/pods", all, "fieldSelector=spec.nodeName%3Da&labelSelector=tier%3Dcontrol-plane", func(ctx context.Context, c *Client) (bool, error) {
			o, err := c.ControlPlanePods(ctx, "a")
			return len(o) == 1, err
		}},
		"attachments": {"/apis/storage.k8s.io/v1/volumeattachments", `{"items":[{"spec":{"nodeName":"a"}},{"spec":{"nodeName":"b"}}]}`, "",
			func(ctx context.Context, c *Client) (bool, error) {
				o, err := c.VolumeAttachments(ctx, "a")
				return len(o) == 1, err
			}},
		"cluster": {"/api/v1/namespaces/kube-system", one, "", func(ctx context.Context, c *Client) (bool, error) { id, err := c.ClusterID(ctx); return id == "u", err }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.set(c.path, c.text)
			if found, err := c.getExisting(t.Context(), f.Client); err != nil || !found {
				t.Fatalf("found: %v, %v", found, err)
			}
			for _, r := range f.asked {
				r.Query.Del("timeout")
				if r.Method != http.MethodGet || r.Path != c.path || r.Query.Encode() != c.query {
					t.Errorf("asked %s %s?%s", r.Method, r.Path, r.Query.Encode())
				}
			}
			f.answer[c.path] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusForbidden, "Forbidden") }
			if found, err := c.getExisting(t.Context(), f.Client); err == nil || found {
				t.Errorf("what was refused is found: %v, %v", found, err)
			}
		})
	}
}

func TestWhatIsNotThereIsNoError(t *testing.T) {
	f := newFakeAPI(t)
	n, err := f.Node(t.Context(), "a")
	l, err2 := f.Lease(t.Context(), "a")
	nf, err3 := f.Fence(t.Context(), "a")
	s, err4 := f.Secret(t.Context(), "n", "a")
	if err := errors.Join(err, err2, err3, err4); err != nil || n != nil || l != nil || nf != nil || s != nil {
		t.Errorf("%v %v %v %v %v", n, l, nf, s, err)
	}
	if id, err := f.ClusterID(t.Context()); id != "" || err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("a cluster without kube-system: %q, %v", id, err)
	}
}

// TestWritesAreAgainstWhatWasRead: the second writer gets ErrConflict, and every other failure is
// another error.
func TestWritesAreAgainstWhatWasRead(t *testing.T) {
	type write func(ctx context.Context, c *Client, rv string) error
	cm := func(rv string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "f1", ResourceVersion: rv}}
	}
	nf := func(rv string) *api.NodeFence {
		return &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: rv, Finalizers: []string{"theirs", api.Finalizer}}}
	}
	for name, c := range map[string]struct {
		path, sent string
		do         write
	}{
		"the record": {fencePath, "PATCH " + fencePath, func(ctx context.Context, c *Client, rv string) error {
			_, err := c.ClearRequests(ctx, nf(rv))
			return err
		}},
		"its status": {fencePath, "PUT " + fencePath + "/status", func(ctx context.Context, c *Client, rv string) error {
			_, err := c.SaveFenceStatus(ctx, nf(rv))
			return err
		}},
		"its finalizer": {fencePath, "PATCH " + fencePath, func(ctx context.Context, c *Client, rv string) error {
			_, err := c.DropFinalizer(ctx, nf(rv))
			return err
		}},
		"the ledger": {ledgerPath, "PUT " + ledgerPath + "/status", func(ctx context.Context, c *Client, rv string) error {
			_, err := c.SaveLedger(ctx, &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, UID: "f1", ResourceVersion: rv}})
			return err
		}},
		"a policy's status": {policiesPath + "/a", "PATCH " + policiesPath + "/a/status", func(ctx context.Context, c *Client, rv string) error {
			return c.SavePolicyStatus(ctx, &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: rv}})
		}},
		"a budget's status": {budgetsPath + "/a", "PATCH " + budgetsPath + "/a/status", func(ctx context.Context, c *Client, rv string) error {
			return c.SaveBudgetStatus(ctx, &api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: rv}})
		}},
		"a ConfigMap": {"/api/v1/namespaces/n/configmaps/a", "PUT /api/v1/namespaces/n/configmaps/a",
			func(ctx context.Context, c *Client, rv string) error { return c.SaveConfigMap(ctx, cm(rv)) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.set(c.path, `{"metadata":{"name":"a","uid":"f1"}}`)
			f.set(c.path, `{"metadata":{"name":"a","uid":"f1","labels":{"second":"writer"}}}`)
			if err := c.do(t.Context(), f.Client, "1"); !errors.Is(err, ErrConflict) {
				t.Errorf("a write against an old state: %v", err)
			}
			if !strings.Contains(f.text(c.path), "second") {
				t.Error("the second writer's work is lost")
			}
			if err := c.do(t.Context(), f.Client, "2"); err != nil {
				t.Errorf("a write against the present state: %v", err)
			}
			sent := f.writes()[0]
			if got := sent.Method + " " + sent.Path; got != c.sent || sent.Query.Get("fieldManager") != api.FieldManager {
				t.Errorf("sent %s by %q", got, sent.Query.Get("fieldManager"))
			}
			f.answer[sent.Path] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusForbidden, "Forbidden") }
			if err := c.do(t.Context(), f.Client, "3"); err == nil || errors.Is(err, ErrConflict) {
				t.Errorf("a write that is forbidden: %v", err)
			}
		})
	}
}

func TestCreatingWhatIsThereIsAConflict(t *testing.T) {
	f := newFakeAPI(t)
	for range 2 {
		_, err := f.CreateFence(t.Context(), &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		err2 := f.CreateConfigMap(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}})
		if second := f.rv > 2 || len(f.asked) > 2; errors.Is(err, ErrConflict) != second || errors.Is(err2, ErrConflict) != second {
			t.Errorf("%v, %v", err, err2)
		}
	}
	if got := f.text(fencePath); !strings.Contains(got, `"kind":"NodeFence"`) {
		t.Errorf("made %s", got)
	}
}

func TestPatchesLeaveTheRest(t *testing.T) {
	f := newFakeAPI(t)
	f.set(ledgerPath, `{"metadata":{"name":"cluster"},"status":{"leases":{"since":"2026-05-01T12:00:00.000000Z","still":[{"nodeName":"a","renewed":"x","since":"2026-05-01T12:00:00.000000Z"}],"total":9},"reservations":[{"nodeName":"a","novel":1}]}}`)
	if _, err := f.SaveSourceView(t.Context(), SourceView{Leases: api.LeasePicture{Total: 2}}, ""); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"name":"cluster"},"status":{"leases":{"renewal":"0s","total":2},"reservations":[{"nodeName":"a","novel":1}]}}`
	if d := cmp.Diff(want, f.text(ledgerPath)); d != "" {
		t.Error(d)
	}
	f.set(fencePath, `{"metadata":{"finalizers":["theirs","`+api.Finalizer+`"],"name":"a","uid":"f1"},"spec":{"novel":1}}`)
	nf, err := f.Fence(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.DropFinalizer(t.Context(), nf); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"metadata":{"finalizers":["theirs"],"name":"a","uid":"f1"},"spec":{"novel":1}}`, f.text(fencePath)); d != "" {
		t.Error(d)
	}
}

// TestTheOneThatCannotBeReadIsNamed: one such object keeps the whole kind from being read.
func TestTheOneThatCannotBeReadIsNamed(t *testing.T) {
	f := newFakeAPI(t)
	f.set(fencesPath, `{"items":[{"metadata":{"name":"well"}},{"metadata":{"name":"bad"},"spec":"all"},{"metadata":{"name":"worse"},"spec":1}]}`)
	f.set(targetsPath+"/bad", `{"metadata":{"name":"bad"},"status":{"conditions":"all"}}`)
	const want = `decode /apis/nodefence.io/v1alpha1/%s/bad: json: cannot unmarshal string into Go struct field `
	if _, err := f.Fences(t.Context()); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(want, "nodefences")) {
		t.Errorf("in a list: %v", err)
	}
	if _, err := f.Target(t.Context(), "bad"); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(want, "fencetargets")) {
		t.Errorf("alone: %v", err)
	}
}

// TestKindsThatAreMissing: the error about a missing resource names the file that installs it.
func TestKindsThatAreMissing(t *testing.T) {
	f := newFakeAPI(t)
	f.answer[policiesPath] = func(w http.ResponseWriter, _ request) { w.WriteHeader(http.StatusNotFound) }
	const want = "list /apis/nodefence.io/v1alpha1/fencepolicies: nodefence's kinds are not installed (kubectl apply --server-side -k infra/crd): "
	if _, err := f.Policies(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}
