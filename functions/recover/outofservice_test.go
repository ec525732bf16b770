package recover

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// served is a node with the out-of-service taint, its Lease at each look, and its record.
type served struct {
	ready, annotated bool
	leases           []string
	// phase is that of the record; empty if there is none.
	phase string
	// changes says that the node is written by somebody else once its Lease was read.
	changes bool
	version int
	patches []string
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := fmt.Sprintf(`"resourceVersion":"%d"`, s.version)
	switch {
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), version) {
			kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		s.patches = append(s.patches, string(body))
		kubetest.Answer(w, "{}")
	case strings.Contains(r.URL.Path, "nodefences") && s.phase != "":
		kubetest.Answer(w, `{"metadata":{"name":"a","uid":"f1"},"spec":{"nodeName":"a"},"status":{"fenceNumber":1,"phase":"`+s.phase+`"}}`)
	case strings.Contains(r.URL.Path, "leases") && len(s.leases) > 0:
		kubetest.Answer(w, `{"metadata":{"name":"a"},"spec":{"renewTime":"`+s.leases[0]+`"}}`)
		s.leases = s.leases[1:]
		if s.changes && len(s.leases) == 0 {
			s.version++
		}
	case r.URL.Path == "/api/v1/nodes/a":
		ready, annotated := "Unknown", ""
		if s.ready {
			ready = "True"
		}
		if s.annotated {
			annotated = `,"annotations":{"nodefence.io/out-of-service-by":"f1"},"managedFields":[{"manager":"nodefence","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:nodefence.io/out-of-service-by":{}}}}}]`
		}
		kubetest.Answer(w, `{"metadata":{"name":"a","uid":"u1",`+version+annotated+`},"spec":{"taints":[`+theirs+`,{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]},"status":{"conditions":[{"type":"Ready","status":"`+ready+`"}]}}`)
	default:
		kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

const theirs = `{"key":"theirs","effect":"NoExecute"}`

// TestALostRecordLeavesNoNodeOutOfService: where the record is lost, the taint that nodefence placed is
// removed once the node is Ready and its Lease was seen to move (S23). One that a person placed, and
// that of a fence that is under way, stay (S22).
func TestALostRecordLeavesNoNodeOutOfService(t *testing.T) {
	const first, later = "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:10.000000Z"
	removed := []string{`{"metadata":{"annotations":{"nodefence.io/out-of-service-by":null},"resourceVersion":"5","uid":"u1"},"spec":{"taints":[` + theirs + `]}}`}
	moves := []string{first, later}
	for name, tc := range map[string]struct {
		served
		want []string
	}{
		"the node is healthy":             {served{ready: true, annotated: true, leases: moves}, removed},
		"a fence of its is over":          {served{ready: true, annotated: true, leases: moves, phase: "Finished"}, removed},
		"a fence of its is under way":     {served{ready: true, annotated: true, leases: moves, phase: "Releasing"}, nil},
		"the node is not Ready":           {served{annotated: true, leases: moves}, nil},
		"its Lease stands still":          {served{ready: true, annotated: true, leases: []string{first, first}}, nil},
		"its Lease was looked at once":    {served{ready: true, annotated: true, leases: []string{first}}, nil},
		"it has no Lease":                 {served{ready: true, annotated: true}, nil},
		"a person placed it":              {served{ready: true, leases: moves}, nil},
		"the node is changed at the time": {served{ready: true, annotated: true, leases: moves, changes: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.served
			s.version = 5
			r := &Recoverer{Client: kubetest.Client(t, &s), Log: slog.New(slog.DiscardHandler)}
			for range 2 {
				now := time.Now()
				_, _ = r.Handle(t.Context(), events.SourceOf("c").Marked("a", "u1", "f1", now, now)) // after an error the event comes again
			}
			if d := cmp.Diff(tc.want, s.patches); d != "" {
				t.Error(d)
			}
		})
	}
}
