package kube

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestAProcessLooksOnce: what it has seen or written a moment ago is not asked for
// again, and nothing else is taken for it.
func TestAProcessLooksOnce(t *testing.T) {
	const get, patch = "GET ", "PATCH "
	look := func(ctx context.Context, c *fakeAPI) *corev1.Node {
		n, err := c.Node(ctx, "a")
		if err != nil {
			c.t.Error(err)
		}
		return n
	}
	isolate := func(ctx context.Context, c *fakeAPI) {
		if err := c.Isolate(ctx, "a", "u1", "", "f1", true); err != nil {
			c.t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(ctx context.Context, c *fakeAPI)
		want []string
	}{
		"two looks": {func(ctx context.Context, c *fakeAPI) { look(ctx, c); look(ctx, c) }, []string{get + nodePath}},
		"in another invocation": {func(ctx context.Context, c *fakeAPI) { look(ctx, c); look(Begin(ctx, "b"), c) },
			[]string{get + nodePath}},
		"in another process": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			c.cache.all = nil
			look(Begin(ctx, "b"), c)
		}, []string{get + nodePath, get + nodePath}},
		"another invocation has not forgotten it": {func(ctx context.Context, c *fakeAPI) { look(ctx, c); c.Forget(ctx); look(Begin(ctx, "b"), c) },
			[]string{get + nodePath}},
		"S29: a Secret": {func(ctx context.Context, c *fakeAPI) {
			c.set("/api/v1/namespaces/n/secrets/s", `{"metadata":{"name":"s"}}`)
			if _, err := c.Secret(ctx, "n", "s"); err != nil || len(c.cache.all) > 0 {
				c.t.Error(err, c.cache.all)
			}
		}, []string{get + "/api/v1/namespaces/n/secrets/s"}},
		"outside of any": {func(_ context.Context, c *fakeAPI) { look(context.Background(), c); look(context.Background(), c) },
			[]string{get + nodePath, get + nodePath}},
		"after a second": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			was := c.clock.elapsed()
			c.clock.elapsed = func() time.Duration { return was + cacheFor }
			look(ctx, c)
		}, []string{get + nodePath, get + nodePath}},
		"after what takes time": {func(ctx context.Context, c *fakeAPI) { look(ctx, c); c.Forget(ctx); look(ctx, c) }, []string{get + nodePath, get + nodePath}},
		"what was written is seen": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			isolate(ctx, c)
			if n := look(ctx, c); !n.Spec.Unschedulable {
				c.t.Error("the cordon is not seen")
			}
		}, []string{get + nodePath, patch + nodePath}},
		"what somebody else wrote meanwhile is read, and written over nowhere": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			c.set(nodePath, node("", foreign, ""))
			isolate(ctx, c)
			if got := c.text(nodePath); !strings.Contains(got, foreign+","+ours) {
				c.t.Error(got)
			}
		}, []string{get + nodePath, patch + nodePath, get + nodePath, patch + nodePath}},
		"S5: after Ready=Unknown the node is read": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			if err := c.SetReadyUnknown(ctx, "a", "u1", "1"); err != nil {
				c.t.Error(err)
			}
			look(ctx, c)
		}, []string{get + nodePath, patch + nodePath + "/status", get + nodePath}},
		"S5: by another invocation too": {func(ctx context.Context, c *fakeAPI) {
			look(ctx, c)
			if err := c.SetReadyUnknown(ctx, "a", "u1", "1"); err != nil {
				c.t.Error(err)
			}
			look(Begin(ctx, "b"), c)
		}, []string{get + nodePath, patch + nodePath + "/status", get + nodePath}},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, node("", "", ""))
			c.do(Begin(t.Context(), "a"), api)
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

func TestTheFunctionIsNamed(t *testing.T) {
	api := newFakeAPI(t)
	var agents []string
	api.onRequest = func(r *http.Request) { agents = append(agents, r.UserAgent()) }
	_, _ = api.Node(Begin(t.Context(), "gate"), "a")
	_, _ = api.Node(t.Context(), "a")
	if d := cmp.Diff("nodefence/gate nodefence", strings.Join(agents, " ")); d != "" {
		t.Error(d)
	}
}
