package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAProcessLooksOnce: an object that it has seen or written less than a second ago is not read
// again by a caller for whom that is new enough, and no other object is taken for it.
func TestAProcessLooksOnce(t *testing.T) {
	const get, patch = "GET ", "PATCH "
	ctx := t.Context()
	look := func(c *fakeAPI, r Reader) *corev1.Node {
		n, err := r.Node(ctx, "a")
		if err != nil {
			c.t.Error(err)
		}
		return n
	}
	recent := func(c *fakeAPI) *corev1.Node { return look(c, c.NewReader(0)) }
	now := func(c *fakeAPI) Reader { return c.NewReader(c.clock.Elapsed()) }
	isolate := func(c *fakeAPI) {
		if err := c.Isolate(ctx, "a", "u1", "", "f1", true); err != nil {
			c.t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(c *fakeAPI)
		want []string
	}{
		"two looks":          {func(c *fakeAPI) { recent(c); recent(c) }, []string{get + nodePath}},
		"two looks of a run": {func(c *fakeAPI) { recent(c); r := now(c); look(c, r); look(c, r) }, []string{get + nodePath, get + nodePath}},
		"in another process": {func(c *fakeAPI) { recent(c); c.cache.all = nil; recent(c) }, []string{get + nodePath, get + nodePath}},
		"one that looks anew keeps no other from what was seen": {func(c *fakeAPI) { recent(c); now(c); recent(c) }, []string{get + nodePath}},
		"S29: a Secret": {func(c *fakeAPI) {
			c.set("/api/v1/namespaces/n/secrets/s", `{"metadata":{"name":"s"}}`)
			if _, err := c.Secret(ctx, "n", "s"); err != nil || len(c.cache.all) > 0 {
				c.t.Error(err, c.cache.all)
			}
		}, []string{get + "/api/v1/namespaces/n/secrets/s"}},
		"the client itself": {func(c *fakeAPI) {
			for range 2 {
				if _, err := c.Node(ctx, "a"); err != nil {
					c.t.Error(err)
				}
			}
			recent(c)
		}, []string{get + nodePath, get + nodePath}},
		"after a second": {func(c *fakeAPI) {
			recent(c)
			was := c.clock.elapsed()
			c.clock.elapsed = func() time.Duration { return was + cacheFor }
			recent(c)
		}, []string{get + nodePath, get + nodePath}},
		"after what takes time": {func(c *fakeAPI) { recent(c); look(c, now(c)) }, []string{get + nodePath, get + nodePath}},
		"what was written is seen": {func(c *fakeAPI) {
			recent(c)
			isolate(c)
			if n := recent(c); !n.Spec.Unschedulable {
				c.t.Error("the cordon is not seen")
			}
		}, []string{get + nodePath, patch + nodePath}},
		"what somebody else wrote meanwhile is read, and written over nowhere": {func(c *fakeAPI) {
			recent(c)
			c.set(nodePath, node("", foreign, ""))
			isolate(c)
			if got := c.text(nodePath); !strings.Contains(got, foreign+","+ours) {
				c.t.Error(got)
			}
		}, []string{get + nodePath, patch + nodePath, get + nodePath, patch + nodePath}},
		"S5: after Ready=Unknown the node is read": {func(c *fakeAPI) {
			recent(c)
			if err := c.SetReadyUnknown(ctx, "a", "u1", "1"); err != nil {
				c.t.Error(err)
			}
			recent(c)
		}, []string{get + nodePath, patch + nodePath + "/status", get + nodePath}},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, node("", "", ""))
			c.do(api)
			var got []string
			for _, r := range api.asked {
				got = append(got, r.Method+" "+r.Path)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWhatIsRecent: each kind of object that may come from the cache does, and nothing from
// before the time that the caller names.
func TestWhatIsRecent(t *testing.T) {
	ctx := t.Context()
	for name, read := range map[string]func(Reader) error{
		"node":     func(r Reader) error { _, err := r.Node(ctx, "a"); return err },
		"Lease":    func(r Reader) error { _, err := r.Lease(ctx, "a"); return err },
		"ledger":   func(r Reader) error { _, err := r.Ledger(ctx); return err },
		"policies": func(r Reader) error { _, err := r.Policies(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeAPI(t)
			for path, object := range map[string]string{
				nodePath: node("", "", ""), leasesPath + "/a": `{"metadata":{"name":"a"}}`, theLedger: `{"metadata":{"resourceVersion":"1"}}`, policiesPath: `{"items":[]}`,
			} {
				c.set(path, object)
			}
			now := func() Reader { return c.NewReader(c.clock.Elapsed()) }
			for i, r := range []func() Reader{now, func() Reader { return c.NewReader(0) }, now} {
				if err := read(r()); err != nil {
					t.Fatal(err)
				}
				if want := []int{1, 1, 2}[i]; len(c.asked) != want {
					t.Errorf("after read %d it was asked for %d times, want %d", i+1, len(c.asked), want)
				}
			}
		})
	}
}

func TestTheFunctionIsNamed(t *testing.T) {
	api := newFakeAPI(t)
	var agents []string
	api.onRequest = func(r *http.Request) { agents = append(agents, r.UserAgent()) }
	_, _ = api.Node(WithFunction(t.Context(), "gate"), "a")
	_, _ = api.Node(t.Context(), "a")
	if d := cmp.Diff("nodefence/gate nodefence", strings.Join(agents, " ")); d != "" {
		t.Error(d)
	}
}

// TestAPolicyIsNotOlderThanItWasSeen: after a read that shows the reason of a decision, no later read of
// the same decision comes from an older cache entry, whether by name or of the list.
func TestAPolicyIsNotOlderThanItWasSeen(t *testing.T) {
	reads := map[string]func(Reader) ([]api.FencePolicy, error){
		"by name": func(r Reader) ([]api.FencePolicy, error) { return r.PoliciesNamed(t.Context(), []string{"p"}) },
		"listed":  func(r Reader) ([]api.FencePolicy, error) { return r.Policies(t.Context()) },
	}
	for old, before := range reads {
		for showing, shows := range reads {
			for name, after := range reads {
				t.Run(old+", then "+showing+", then "+name, func(t *testing.T) {
					status := ""
					s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						one := `{"metadata":{"name":"p","resourceVersion":"1"},"status":{` + status + `}}`
						if r.URL.Path == policiesPath {
							one = `{"items":[` + one + `]}`
						}
						w.Header().Set("Content-Type", "application/json")
						_, _ = w.Write([]byte(one))
					}))
					t.Cleanup(s.Close)
					c, err := New(&rest.Config{Host: s.URL})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := before(c.NewReader(c.clock.Elapsed())); err != nil {
						t.Fatal(err)
					}
					status = `"failedMachines":[{"name":"m"}]`
					for _, read := range []func() ([]api.FencePolicy, error){
						func() ([]api.FencePolicy, error) { return shows(c.NewReader(c.clock.Elapsed())) },
						func() ([]api.FencePolicy, error) { return after(c.NewReader(0)) },
					} {
						if all, err := read(); err != nil || len(all) != 1 || len(all[0].Status.FailedMachines) != 1 {
							t.Errorf("%+v, %v", all, err)
						}
					}
				})
			}
		}
	}
}
