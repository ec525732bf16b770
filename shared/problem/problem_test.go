package problem

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAReportOfAPodIsNoneOfTheNode: each is named by an entry of its own.
func TestAReportOfAPodIsNoneOfTheNode(t *testing.T) {
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}
	policies[0].Spec.Unhealthy.Problems = []api.NodeProblem{{Reason: "R", Component: "old"}, {Reason: "R", About: api.AboutPod, Component: "new"}}
	var got []string
	for _, about := range []api.ProblemAbout{api.AboutNode, api.AboutPod} {
		for _, component := range []string{"old", "new"} {
			if w, ok := Named(policies, "p", about, "R", component); ok {
				got = append(got, string(about)+" "+w.Component)
			}
		}
	}
	if want := "Node old, Pod new"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
