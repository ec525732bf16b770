package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestNothingIsReleasedLate: a process that was stopped starts no deletion of a batch whose
// time is over (S3, S4).
func TestNothingIsReleasedLate(t *testing.T) {
	const pods = 30
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		// left is the batch's remaining time when it begins; this much of it passes at the
		// first deletion that arrives.
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
			server := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete && deleted.Add(1) == 1 {
					passed.Add(int64(c.passes))
				}
				w.Header().Set("Date", noon.Add(time.Duration(passed.Load())).Format(http.TimeFormat))
				kubetest.Answer(w, "{}")
			}))
			client, err := kube.NewAt(server, func() time.Duration { return time.Duration(passed.Load()) })
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ready(t.Context()); err != nil { // learns what time it is
				t.Fatal(err)
			}
			until := metav1.NewMicroTime(client.Clock().Now().Add(c.left))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{NodeUID: "u"}}}
			f.Status.Decision.Settings.Release.Strategy = api.ReleaseResourceDeletion
			f.Status.Release = api.ReleaseRecord{NotAfter: &until, Batch: pods}
			left := &observed.Left{}
			for i := range pods {
				left.Delete = append(left.Delete, observed.Pod{Namespace: "default", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint(i))})
			}
			err = (&Cleaner{Client: client}).release(context.Background(), f, observed.Look{Left: left})
			if n := deleted.Load(); n < c.least || n > c.most {
				t.Errorf("%d pods were deleted, want %d to %d", n, c.least, c.most)
			}
			if got := errors.Is(err, kube.ErrConflict); got != c.late {
				t.Errorf("looks again: %v (%v)", got, err)
			}
		})
	}
}

// TestForADumpOnlyPodsAreDeleted: no taint, no attachment, whatever the policy says (S1).
func TestForADumpOnlyPodsAreDeleted(t *testing.T) {
	for name, strategy := range map[string]api.ReleaseStrategy{"with the taint later": api.ReleaseTaintAndDelete, "pod by pod": api.ReleaseResourceDeletion} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			var mu sync.Mutex
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method != http.MethodGet {
					asked = append(asked, r.Method+" "+r.URL.Path)
				}
				kubetest.Answer(w, "{}")
			}))
			if err := client.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			until := metav1.NewMicroTime(client.Clock().Now().Add(time.Minute))
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{NodeUID: "u"}}}
			f.Status.Decision.Settings.Release.Strategy = strategy
			f.Status.Release = api.ReleaseRecord{NotAfter: &until, Batch: 1}
			left := &observed.Left{Delete: []observed.Pod{{Namespace: "default", Name: "p", UID: "1"}, {Namespace: "default", Name: "q", UID: "2"}}, Detach: []observed.Attachment{{Name: "v", UID: "3"}}}
			if _, err := (&Cleaner{Client: client}).Act(t.Context(), f, fence.DeletePods, observed.Look{Left: left}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"DELETE /api/v1/namespaces/default/pods/p"}, asked); d != "" {
				t.Error(d)
			}
		})
	}
}
