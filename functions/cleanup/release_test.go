package cleanup

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestAKeptPodGetsATerminalPhase: a pod that a finalizer keeps after its deletion is given the phase that its
// controller waits for (S1, S27), after the deletion. A pod whose disruption budget refuses the eviction stays as
// it is (S24), and so does the phase of a pod that has ended.
func TestAKeptPodGetsATerminalPhase(t *testing.T) {
	const pod = "/api/v1/namespaces/n/pods/p"
	job := []string{"batch.kubernetes.io/job-tracking"}
	for name, c := range map[string]struct {
		pod     observed.Pod
		budgets bool
		refuses int
		want    []string
	}{
		"no finalizer":              {observed.Pod{}, false, 0, []string{"DELETE " + pod}},
		"a finalizer":               {observed.Pod{Finalizers: job}, false, 0, []string{"DELETE " + pod, "PATCH " + pod + "/status"}},
		"a finalizer, and it ended": {observed.Pod{Finalizers: job, Ended: true}, false, 0, []string{"DELETE " + pod}},
		"its budget lets it go":     {observed.Pod{Finalizers: job}, true, 0, []string{"POST " + pod + "/eviction", "PATCH " + pod + "/status"}},
		"its budget holds it":       {observed.Pod{Finalizers: job}, true, http.StatusTooManyRequests, []string{"POST " + pod + "/eviction"}},
		"the deletion is refused":   {observed.Pod{Finalizers: job}, false, http.StatusForbidden, []string{"DELETE " + pod}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			server := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
				if strings.HasPrefix(r.URL.Path, pod) {
					mu.Lock()
					asked = append(asked, r.Method+" "+r.URL.Path)
					mu.Unlock()
				}
				if c.refuses != 0 && r.Method != http.MethodGet {
					w.WriteHeader(c.refuses)
					return
				}
				kubetest.Answer(w, "{}")
			}))
			client, err := kube.New(server)
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Ready(t.Context()); err != nil { // learns what time it is
				t.Fatal(err)
			}
			until := metav1.NewMicroTime(client.Clock().Now().Add(time.Minute))
			how := api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, RespectDisruptionBudgets: c.budgets}
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{
				Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Release: how}}},
				Release:  api.ReleaseRecord{Batch: 1, NotAfter: &until},
			}}
			c.pod.Namespace, c.pod.Name, c.pod.UID = "n", "p", "u"
			seen := observed.Look{Left: &observed.Left{Delete: []observed.Pod{c.pod}}}
			if _, err := (&Cleaner{Client: client}).Act(t.Context(), f, fence.Release, seen); (err != nil) != (c.refuses == http.StatusForbidden) {
				t.Error(err)
			}
			if d := cmp.Diff(c.want, slices.Compact(asked)); d != "" {
				t.Error(d)
			}
		})
	}
}
