package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// reportServer serves the reports of nodes a and b, one a page. An old one cannot select by node.
type reportServer struct {
	old bool
	// asked are the selectors and pages of the requests.
	asked []string
}

func (s *reportServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.asked = append(s.asked, q.Get("fieldSelector")+"/"+q.Get("continue"))
	w.Header().Set("Content-Type", "application/json")
	if s.old && q.Get("fieldSelector") != "" {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusBadRequest,
			Reason: metav1.StatusReasonBadRequest, Message: "field label not supported: spec.nodeName",
		})
		return
	}
	l := api.FenceReportList{TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceReportList"}}
	node := "a"
	switch {
	case q.Get("continue") != "":
		node = "b"
	case q.Get("fieldSelector") == "":
		l.Continue = "2"
	}
	l.Items = []api.FenceReport{{Spec: api.FenceReportSpec{NodeName: node}}}
	kubetest.Answer(w, l)
}

// TestReportsOfANode are selected by the API server, a page at a time. Where the kind is older, all are read.
func TestReportsOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		node        string
		old         bool
		want, asked []string
	}{
		"all nodes":   {want: []string{"a", "b"}, asked: []string{"/", "/2"}},
		"one node":    {node: "a", want: []string{"a"}, asked: []string{"spec.nodeName=a/"}},
		"an old kind": {node: "a", old: true, want: []string{"a", "b"}, asked: []string{"spec.nodeName=a/", "/", "/2"}},
		"an old, all": {old: true, want: []string{"a", "b"}, asked: []string{"/", "/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &reportServer{old: c.old}
			client, err := New(kubetest.Serve(t, s))
			if err != nil {
				t.Fatal(err)
			}
			all, err := client.Reports(t.Context(), c.node)
			var nodes []string
			for i := range all {
				nodes = append(nodes, all[i].Spec.NodeName)
			}
			if err != nil || !slices.Equal(nodes, c.want) || !slices.Equal(s.asked, c.asked) {
				t.Errorf("reports of %v by the requests %q, want %v by %q: %v", nodes, s.asked, c.want, c.asked, fmt.Sprint(err))
			}
		})
	}
}
