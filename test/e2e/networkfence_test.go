package e2e

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/networkfence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

var networkFences = schema.GroupVersionResource{Group: "csiaddons.openshift.io", Version: "v1alpha1", Resource: "networkfences"}

// csiAddons is our own counterpart of csi-addons' controller, by the source of v0.12.0, and of a
// storage system with a list of the clients to which it refuses access.
type csiAddons struct {
	t      *testing.T
	api    dynamic.ResourceInterface
	mu     sync.Mutex
	banned []string
	// done has what was carried out, in order.
	done []string
}

// csiAddons installs the kind.
func (w *world) csiAddons() *csiAddons {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	c := &csiAddons{t: w.t, api: dyn.Resource(networkFences)}
	crd, err := os.ReadFile("testdata/networkfence.yaml")
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, string(crd)))
	w.until("the kind to be served", func() (bool, error) {
		_, err := c.api.List(w.ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	return c
}

// start carries out what objects ask for until the test ends.
func (c *csiAddons) start(w *world) {
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	w.t.Cleanup(func() { stop(); <-done })
	go func() { defer close(done); c.run(ctx) }()
}

// run carries out what changes until ctx ends.
func (c *csiAddons) run(ctx context.Context) {
	seen := map[string]int64{}
	for ctx.Err() == nil {
		w, err := c.api.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue // the kind is not served yet
		}
		for e := range w.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == "DELETED" || seen[string(o.GetUID())] == o.GetGeneration() {
				continue
			}
			if err := c.reconcile(ctx, o); err != nil {
				c.t.Log("csi-addons:", err)
				continue
			}
			seen[string(o.GetUID())] = o.GetGeneration()
		}
	}
}

func (c *csiAddons) reconcile(ctx context.Context, o *unstructured.Unstructured) error {
	if o.GetDeletionTimestamp() != nil {
		o.SetFinalizers(nil)
		_, err := c.api.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}
	o.SetFinalizers([]string{"csiaddons.openshift.io/network-fence"})
	o, err := c.api.Update(ctx, o, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	said := "unfencing operation successful"
	state, _, _ := unstructured.NestedString(o.Object, "spec", "fenceState")
	cidrs, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "cidrs")
	c.mu.Lock()
	c.done = append(c.done, state)
	c.banned = slices.DeleteFunc(c.banned, func(b string) bool { return slices.Contains(cidrs, b) })
	if state == "Fenced" {
		said = "fencing operation successful"
		c.banned = append(c.banned, cidrs...)
	}
	c.mu.Unlock()
	o.Object["status"] = map[string]any{"result": "Succeeded", "message": said}
	_, err = c.api.UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

func (c *csiAddons) holds(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.banned, want) {
		t.Errorf("the storage refuses %q, want %q", c.banned, want)
	}
}

// notServed checks that each call of the driver is refused, and that no state is read.
func (w *world) notServed(d device.Driver) { // S2
	w.t.Helper()
	r, err := d.State(w.ctx)
	if r != (device.Reading{}) {
		w.t.Errorf("without csi-addons it reads %+v", r)
	}
	for call, err := range map[string]error{"state": err, "off": d.Off(w.ctx), "on": d.On(w.ctx)} {
		if !errors.Is(err, device.ErrNotServed) || !strings.Contains(err.Error(), "the CRD of csi-addons is not installed") {
			w.t.Errorf("%s without csi-addons: %v", call, err)
		}
	}
}

// siblingOfNetworkFence installs another kind of csi-addons' group.
func (w *world) siblingOfNetworkFence() {
	w.t.Helper()
	crd, err := os.ReadFile("testdata/networkfence.yaml")
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, strings.NewReplacer("networkfence", "storagefence", "NetworkFence", "StorageFence").Replace(string(crd))))
	w.until("the other kind to be served", func() (bool, error) {
		_, err := w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/csiaddons.openshift.io/v1alpha1/storagefences").DoRaw(w.ctx)
		return err == nil, nil
	})
}

// TestNetworkFence: the driver on a real API server, with only the rights of the component.
func TestNetworkFence(t *testing.T) {
	w := newWorld(t, 1, quick)
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, root+"/infra/knative/components/networkfence/rights.yaml"))
	isolate := rest.CopyConfig(w.Config)
	isolate.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nodefence-system:nodefence-isolate", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kube.New(isolate)
	must(t, err)
	d, err := networkfence.Kind(client.ForDrivers()).Open(map[string]string{
		"driver": "rbd.csi.example", "cluster_id": "rook", "cidrs": "10.0.0.7,fd00::7", "csi_secret_name": "csi", "csi_secret_namespace": "rook",
	})
	must(t, err)
	w.until("the rights to be known", func() (bool, error) {
		_, err := d.State(w.ctx)
		return !errors.Is(err, device.ErrDenied), nil
	})
	w.notServed(d) // its group is not served
	w.siblingOfNetworkFence()
	w.notServed(d) // its group is served, with another kind
	storage := w.csiAddons()
	_, err = d.State(w.ctx)
	must(t, err)

	within := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		return do(ctx)
	}
	says := func(want device.Power) {
		t.Helper()
		must(t, within(func(ctx context.Context) error {
			r, err := d.State(ctx)
			if err == nil && r.Power != want {
				t.Errorf("state is %q, want %q", r.Power, want)
			}
			return err
		}))
	}
	// Nobody carries it out yet: the machine neither is cut off nor has access.
	must(t, within(d.Off))
	brief, end := context.WithTimeout(w.ctx, 6*time.Second) // the call waits for the result until its time ends
	defer end()
	if r, err := d.State(brief); !errors.Is(err, device.ErrStopping) {
		t.Errorf("%v, %v", r, err)
	}
	storage.start(w)
	for range 2 {
		says(device.Off)
		storage.holds(t, "10.0.0.7/32", "fd00::7/128")
		must(t, within(d.Off))
		must(t, within(d.On))
		storage.holds(t)
		says(device.On)
		w.until("a new object to take the old one's place", func() (bool, error) { return within(d.Off) == nil, nil })
	}
	says(device.Off)
	all, err := storage.api.List(w.ctx, metav1.ListOptions{})
	must(t, err)
	if len(all.Items) != 1 {
		t.Fatalf("there are %d", len(all.Items))
	}
	// Somebody else takes over the object.
	mine := &all.Items[0]
	mine.SetLabels(nil)
	_, err = storage.api.Update(w.ctx, mine, metav1.UpdateOptions{})
	must(t, err)
	for name, err := range map[string]error{"off": within(d.Off), "on": within(d.On)} {
		if !errors.Is(err, device.ErrConflict) {
			t.Errorf("%s of another's object: %v", name, err)
		}
	}
	storage.holds(t, "10.0.0.7/32", "fd00::7/128")
}

// networkFence is a method that cuts a machine off from Ceph.
const networkFence = "agent_name=networkfence\naction=off\nmust_success=yes\ndriver=rbd.csi.example\ncidrs=10.0.0.7\ncluster_id=rook\n"

// TestFenceCutsStorage: a node hangs. It is cut off from Ceph before its power is cut, and has
// access again when it is back.
func TestFenceCutsStorage(t *testing.T) {
	// One call gives access back and deletes the object. The test delays most of that call.
	w := newWorld(t, 3, quick)
	storage := w.csiAddons()
	storage.start(w)
	db := w.database(1)
	w.cutBy(db, "ceph", networkFence)
	p := w.start(unhurried)
	must(t, p.Watching(w.ctx))
	w.node(db, "crash")
	w.moved("db-0", db)
	w.oneWriter()
	w.ended(db, api.Recovered)
	w.words(db, "off on")
	w.unmarked(db)
	storage.holds(t)
	storage.mu.Lock()
	done := slices.Clone(storage.done)
	storage.mu.Unlock()
	if !slices.Equal(done, []string{"Fenced", "Unfenced"}) {
		t.Errorf("the storage was told %q", done)
	}
	w.until("its object to be gone", func() (bool, error) {
		all, err := storage.api.List(w.ctx, metav1.ListOptions{})
		return err == nil && len(all.Items) == 0, err
	})
}
