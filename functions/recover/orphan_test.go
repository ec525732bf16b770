package recover

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// cluster is one node with our taint, and its record. meanwhile happens once, when either of them
// was read for the first time.
type cluster struct {
	mu        sync.Mutex
	version   int
	phase     string
	read      map[string]bool
	meanwhile map[string]func(*cluster)
	cleared   bool
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := fmt.Sprintf(`"resourceVersion":"%d"`, c.version)
	kind, answer := "node", `{"metadata":{"name":"a","uid":"u1",`+version+`},"spec":{"taints":[{"key":"nodefence.io/isolated","value":"f1","effect":"NoSchedule"}]}}`
	if strings.Contains(r.URL.Path, "nodefences") {
		kind, answer = "fence", `{"metadata":{"name":"a","uid":"f1"},"spec":{"nodeName":"a"},"status":{"fenceNumber":1,"phase":"`+c.phase+`"}}`
	}
	if r.Method == http.MethodPatch {
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), version) {
			kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		c.cleared = true
	}
	kubetest.Answer(w, answer)
	if then := c.meanwhile[kind]; then != nil && !c.read[kind] {
		then(c)
	}
	c.read[kind] = true
}

// TestAMarkWithoutARecordIsRemoved, and never the mark of a fence that begins during the look
// (S22): it has the same value, because the record is the same object.
func TestAMarkWithoutARecordIsRemoved(t *testing.T) {
	begins := func(c *cluster) { c.phase, c.version = "Fencing", c.version+1 }
	for name, tc := range map[string]struct {
		phase     string
		meanwhile map[string]func(*cluster)
		cleared   bool
	}{
		"the fence is over":               {phase: "Finished", cleared: true},
		"the fence is under way":          {phase: "Fencing"},
		"it begins after the node's look": {phase: "Finished", meanwhile: map[string]func(*cluster){"node": begins}},
		"it begins after the record's":    {phase: "Finished", meanwhile: map[string]func(*cluster){"fence": begins}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{version: 5, phase: tc.phase, meanwhile: tc.meanwhile, read: map[string]bool{}}
			r := &Recoverer{Client: kubetest.Client(t, c), Log: slog.New(slog.DiscardHandler)}
			now := time.Now()
			_, _ = r.Handle(t.Context(), events.SourceOf("c").Marked("a", "u1", "f1", now, now)) // after an error the event comes again
			if c.cleared != tc.cleared {
				t.Errorf("cleared %v, want %v", c.cleared, tc.cleared)
			}
		})
	}
}
