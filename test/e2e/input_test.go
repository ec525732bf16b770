package e2e

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

func quiet() *slog.Logger                 { return slog.New(slog.DiscardHandler) }
func freshRegistry() *prometheus.Registry { return prometheus.NewRegistry() }

func get(t *testing.T, url string) []byte {
	t.Helper()
	r, err := http.Get(url)
	must(t, err)
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	must(t, err)
	return b
}

// TestBadInput: invalid input is refused as a whole, with a message, and no device is touched.
func TestBadInput(t *testing.T) {
	w := newWorld(t, 3, quick)
	t.Run("the shipped ledger", func(t *testing.T) { shippedLedger(t, w) })
	p := w.start(nil)
	w.until("nodefence to keep its picture of the Leases in a ledger that it has not made", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		return err == nil && l.Status.Leases.ObservedAt != nil, err
	})
	if !w.stopped("cluster") {
		t.Error("nodefence, as it begins, lets go on what a person has stopped")
	}
	w.stop(false)
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	t.Run("events", func(t *testing.T) { badEvents(t, w, server.URL) })
	t.Run("tables", func(t *testing.T) { tables(t, w) })
	t.Run("left out", func(t *testing.T) { leftOut(t, w) })
	t.Run("warnings", func(t *testing.T) { warned(t, w) })
	t.Run("times", func(t *testing.T) { badTimes(t, w) })
	t.Run("reports", func(t *testing.T) { forgedReports(t, w) })
	t.Run("rewritten reports", func(t *testing.T) { rewrittenReports(t, w) })
	t.Run("bindings", func(t *testing.T) { badBinding(t, w) })
	t.Run("examples", func(t *testing.T) {
		for _, name := range []string{"policies", "budgets"} {
			if err := w.ApplyFile(w.ctx, filepath.Join("..", "..", "infra", "crd", "examples", name+".yaml")); err != nil {
				t.Error(err)
			}
		}
	})
}

func badEvents(t *testing.T, w *world, url string) {
	for name, c := range map[string]struct {
		header map[string]string
		status int
		says   string
	}{
		"an event without a type is refused": {
			map[string]string{"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/x"}, 400, "type"},
		"an event without a version is refused": {
			map[string]string{"ce-type": "x", "ce-id": "1", "ce-source": "/x"}, 400, "specversion"},
		"an unknown type is acknowledged": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "com.example.x", "ce-id": "1", "ce-source": "/x", "ce-subject": "node-1", "ce-time": "2026-01-01T00:00:00Z"}, 202, ""},
		"a request without a time is refused": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.request.fence.v1", "ce-id": "5", "ce-source": "/x", "ce-subject": "node-1"}, 400, "attribute time: missing"},
		"a request without a subject is refused": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.request.fence.v1", "ce-id": "6", "ce-source": "/x", "ce-time": "2026-01-01T00:00:00Z"}, 400, "attribute subject: missing"},
		"a type with a letter too few is refused": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.request.fenc.v1", "ce-id": "7", "ce-source": "/x", "ce-subject": "node-1"}, 400, "did you mean io.nodefence.request.fence.v1?"},
		"a node that does not exist is acknowledged": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.node.unhealthy.v1", "ce-id": "2", "ce-source": "/x", "ce-subject": "node-99"}, 202, ""},
		"a forged report of a healthy node is acknowledged": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.node.unhealthy.v1", "ce-id": "3", "ce-source": "/x", "ce-subject": "node-1"}, 202, ""},
		"a forged phase is acknowledged": {
			map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.fence.fencing.v1", "ce-id": "4", "ce-source": "/x", "ce-subject": "node-1"}, 202, ""},
	} {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(nil))
		must(t, err)
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		r, err := http.DefaultClient.Do(req)
		must(t, err)
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %s %s", name, r.Status, body)
		}
	}
	w.until("the forged events to be handled", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("NoSuchNode")) && bytes.Contains(w.log.Bytes(), []byte(`"reason":"Healthy"`)), nil
	})
	if f, err := w.Fences.Fence(w.ctx, "node-1"); err != nil || f != nil {
		t.Errorf("a forged event opened a record: %v %v", f, err)
	}
	w.words("node-1", "")
}

// warned: a user who writes a limit without effect gets a warning at once.
func warned(t *testing.T, w *world) {
	t.Helper()
	heard := &warnings{}
	cluster := *w.Cluster
	cluster.Config = rest.CopyConfig(w.Config)
	cluster.Config.WarningHandler = heard
	for limit, says := range map[string]string{
		`{maxUnhealthy: 0}`: "limits.maxUnhealthy is 0", `{maxUnhealthy: "0%"}`: "limits.maxUnhealthy is 0", `{maxUnhealthy: "20%"}`: "",
		`{perDomain: {topologyKey: rack, maxUnhealthy: 0}}`: "limits.perDomain.maxUnhealthy is 0", `{maxUnhealthy: 2}`: "", `{}`: "",
	} {
		heard.all = ""
		must(t, cluster.Apply(w.ctx, rig.Policy("limited", "selector: {matchLabels: {of: none}}\nlimits: "+limit)))
		if strings.Contains(heard.all, "maxUnhealthy") != (says != "") || !strings.Contains(heard.all, says) {
			t.Errorf("%s: warned of %q", limit, heard.all)
		}
	}
}

type warnings struct{ all string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.all += text }

// badTimes: if one person's request could not be read by the programs, they could read no NodeFence
// at all.
func badTimes(t *testing.T, w *world) {
	for name, o := range map[string]string{
		"requests.abort.at": `
kind: NodeFence
metadata: {name: node-0}
spec:
  nodeName: node-0
  requests: {abort: {by: "system:admin", at: "2026-11-21T22:48:34"}}`,
		"restoreConfirmed.seenAt": `
kind: FenceLedger
metadata: {name: cluster}
spec: {restoreConfirmed: {by: "system:admin", seenAt: "2026-11-21T22:48:34Z"}}`,
	} {
		err := w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1"+o)
		if err == nil || !strings.Contains(err.Error(), name+" in body should match") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// badBinding: two nodes that name one BMC are both refused (S11).
func badBinding(t *testing.T, w *world) {
	ctx := context.Background()
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	one, err := maps.Get(ctx, "fence-config-node-node-1", metav1.GetOptions{})
	must(t, err)
	two, err := maps.Get(ctx, "fence-config-node-node-2", metav1.GetOptions{})
	must(t, err)
	for k, v := range one.Data {
		two.Data[k] = strings.ReplaceAll(v, "node_name=node-1", "node_name=node-2")
	}
	_, err = maps.Update(ctx, two, metav1.UpdateOptions{})
	must(t, err)
	w.node("node-1", "crash")
	f := w.phase("node-1", api.Failed)
	if f.Status.Reason != api.BindingInvalid || f.Status.Phase != api.Failed || !strings.Contains(f.Status.Message, "node-2") {
		t.Errorf("%s %s: %s", f.Status.Phase, f.Status.Reason, f.Status.Message)
	}
	w.words("node-1", "")
	w.words("node-2", "")
}

// TestUninstallLeavesNoMark: deleting the records undoes the marks that they placed, also if a
// device does not answer, and deleting the requests takes off their finalizer, also if they have
// ended. So the kinds go when nodefence runs no more (S22, S27).
func TestUninstallLeavesNoMark(t *testing.T) {
	w := newWorld(t, 3, quick)
	p := w.start(nil)
	must(t, w.Lab.Fault("node-1", "hang"))
	ended := w.admin("nodefence-system", "node-2", nil)
	w.phase("node-2", api.Finished)
	if r := w.lastWord(ended); !slices.Contains(r.Finalizers, api.RequestFinalizer) {
		t.Fatalf("nothing holds a request that has ended: %v", r.Finalizers)
	}
	w.node("node-1", "crash")
	w.phase("node-1", api.Fencing)
	n, taints, err := w.Marks(w.ctx, "node-1")
	must(t, err)
	if !n.Cordoned || len(taints) != 1 {
		t.Fatalf("the node is not isolated: %v %v", n.Cordoned, taints)
	}
	rest := w.Kube.CoreV1().RESTClient()
	for _, kind := range []string{"fencepolicies", "nodefences"} {
		must(t, rest.Delete().AbsPath("/apis/nodefence.io/v1alpha1/"+kind).Do(w.ctx).Error())
	}
	w.until("the records to be gone", func() (bool, error) {
		all, err := w.Fences.Fences(w.ctx)
		return len(all) == 0, err
	})
	must(t, rest.Delete().AbsPath("/apis/nodefence.io/v1alpha1/namespaces/nodefence-system/fencerequests").Do(w.ctx).Error())
	w.gone(ended)
	p.Stop()
	w.unmarked("node-1")
	w.unmarked("node-2")
	w.words("node-1", "")
	w.kindsGo("nodefences", "fencerequests")
}

// kindsGo deletes kinds, and waits until each is gone: no finalizer holds an object of it.
func (w *world) kindsGo(kinds ...string) {
	w.t.Helper()
	for _, kind := range kinds {
		rest, crd := w.Kube.CoreV1().RESTClient(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+kind+".nodefence.io"
		must(w.t, rest.Delete().AbsPath(crd).Do(w.ctx).Error())
		w.until("the kind "+kind+" to be gone", func() (bool, error) {
			err := rest.Get().AbsPath(crd).Do(w.ctx).Error()
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	}
}
