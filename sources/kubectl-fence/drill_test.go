package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestADrillIsFollowed through answers that say nothing, and no further than its own fence.
func TestADrillIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		record api.NodeFence
		want   string
	}{
		"its own is over": {api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 3, Phase: api.Finished, Outcome: api.Aborted}}, "the drill of node a has failed"},
		"another is open": {api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 4, Phase: api.Pending}}, "fence 3 of node a is over, and fence 4 has begun"},
	} {
		refused := map[string]bool{}
		cfg := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !refused[r.URL.Path] {
				refused[r.URL.Path] = true
				kubetest.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
				return
			}
			if strings.Contains(r.URL.Path, "fencerequests") {
				q := api.FenceRequest{}
				q.Status.NodeFence.FenceNumber = 3
				kubetest.Answer(w, q)
				return
			}
			tc.record.Spec.NodeName = "a"
			kubetest.Answer(w, tc.record)
		}))
		c, err := cluster.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var out, problems strings.Builder
		a := &acting{program: &program{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &problems}}}
		q := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: api.FenceRequestSpec{NodeName: "a"}}
		if err := a.drill(t.Context(), c, q); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(fmt.Sprint(&problems), "goes on"); n != 1 {
			t.Errorf("%s: told %d times: %s", name, n, &problems)
		}
	}
}
