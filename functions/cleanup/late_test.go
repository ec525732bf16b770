package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestNothingIsReleasedLate: a process that stood still begins no deletion of a
// batch whose time is over (S3, S4).
func TestNothingIsReleasedLate(t *testing.T) {
	const pods = 30
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		// left is the batch's time when it is begun; at the first deletion that
		// arrives so much of it passes.
		left, passes time.Duration
		least, most  int64
		late         bool
	}{
		"in time":                      {left: 10 * time.Second, least: pods, most: pods},
		"late from the start":          {left: -time.Second, late: true},
		"it stood still in the middle": {left: 10 * time.Second, passes: 20 * time.Second, least: 1, most: 2 * parallel, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			var deleted, passed atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete && deleted.Add(1) == 1 {
					passed.Add(int64(c.passes))
				}
				w.Header().Set("Date", noon.Add(time.Duration(passed.Load())).Format(http.TimeFormat))
				fmt.Fprint(w, "{}")
			}))
			defer server.Close()
			client, err := kube.NewAt(&rest.Config{Host: server.URL, QPS: -1}, func() time.Duration { return time.Duration(passed.Load()) })
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ready(t.Context()); err != nil { // learns what time it is
				t.Fatal(err)
			}
			until := metav1.NewMicroTime(client.Clock().Now().Add(c.left))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{Node: "a", NodeUID: "u"}}
			f.Spec.Policy.Cleanup.Strategy = api.CleanupResourceDeletion
			f.Status.Release = api.ReleaseRecord{NotAfter: &until, Batch: pods}
			left := &fence.Left{}
			for i := range pods {
				left.Delete = append(left.Delete, fence.Pod{Namespace: "default", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint(i))})
			}
			err = (&Cleaner{Client: client}).release(context.Background(), f, &fence.Seen{Left: left})
			if n := deleted.Load(); n < c.least || n > c.most {
				t.Errorf("%d pods were deleted, want %d to %d", n, c.least, c.most)
			}
			if got := errors.Is(err, kube.ErrConflict); got != c.late {
				t.Errorf("looks again: %v (%v)", got, err)
			}
		})
	}
}
