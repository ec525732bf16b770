package recover

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/loop"
)

// ending is an API server with a fence that is over, the reports of fences, and what was asked of both.
type ending struct {
	record  api.NodeFence
	reports map[string]*api.FenceReport
	asked   []string
	// dies: the process dies before it hears that the report is created.
	dies bool
}

func (s *ending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.Method == http.MethodPost && name == "fencereports":
		var made api.FenceReport
		_ = json.NewDecoder(r.Body).Decode(&made)
		if s.reports[made.Name] != nil {
			kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
		if r := s.record.Status.Report; r == nil || r.Digest != made.Spec.Digest() {
			s.asked = append(s.asked, "not saved before")
		}
		s.asked = append(s.asked, "report")
		s.reports[made.Name] = &made
		if s.dies {
			s.dies = false
			kubetest.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
			return
		}
		kubetest.Answer(w, made)
	case strings.Contains(r.URL.Path, "/fencereports/"):
		if s.reports[name] == nil {
			kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		kubetest.Answer(w, s.reports[name])
	case r.Method == http.MethodPut:
		_ = json.NewDecoder(r.Body).Decode(&s.record)
		s.record.ResourceVersion += "0"
		if s.record.Status.Phase != api.Recovering {
			s.asked = append(s.asked, "save "+string(s.record.Status.Phase))
		}
		kubetest.Answer(w, s.record)
	case r.Method == http.MethodPatch:
		s.record.Finalizers = nil
		s.asked = append(s.asked, "finalizer")
		kubetest.Answer(w, s.record)
	case r.URL.Path == "/api/v1/nodes/a":
		kubetest.Answer(w, `{"metadata":{"name":"a","uid":"u1"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
	default:
		kubetest.Answer(w, s.record)
	}
}

// TestTheReportComesBeforeTheEnd: recover creates the report, tells the broker, and closes the record once it hears of
// that, or once the next look sees the report. A process that dies in between leaves one report. Another report of the
// name stays as it is, and the fence ends all the same (S27, S28).
func TestTheReportComesBeforeTheEnd(t *testing.T) {
	const finished = "io.nodefence.fence.finished.v1"
	for name, c := range map[string]struct {
		taken, dies bool
		want        []string
		replies     []string
		missing     bool
	}{
		"it is written":         {want: []string{"report", "finalizer", "save Finished"}, replies: []string{events.FenceReported, finished}},
		"the process dies":      {dies: true, want: []string{"report", "finalizer", "save Finished"}, replies: []string{"", finished}},
		"another one was there": {taken: true, want: []string{"finalizer", "save Finished"}, replies: []string{finished}, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			at := metav1.NewMicroTime(time.Now().Add(-time.Minute))
			s := &ending{dies: c.dies, reports: map[string]*api.FenceReport{}, record: api.NodeFence{
				ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: "1", Finalizers: []string{api.Finalizer}},
				Spec:       api.NodeFenceSpec{NodeName: "a"},
				Status: api.NodeFenceStatus{FenceNumber: 1, MinReaderVersion: api.Schema, Phase: api.Recovering, PhaseSince: &at, OpenedAt: &at, Outcome: api.Recovered, CutOrReleased: true,
					Decision: api.Decision{NodeUID: "u1", Trigger: api.Trigger{Type: api.TriggerRequest, Since: at}, ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"},
						Settings: api.Settings{Action: api.ActionReboot, Recovery: (*api.Recovery)(nil).Settings(), Power: (*api.Power)(nil).Settings()}}}},
			}}
			if c.taken {
				s.reports["f1-1"] = &api.FenceReport{ObjectMeta: metav1.ObjectMeta{Name: "f1-1"}, Spec: api.FenceReportSpec{NodeName: "forged"}}
			}
			client := kubetest.Client(t, s)
			r := &Recoverer{Client: client, Log: slog.New(slog.DiscardHandler)}
			source := events.SourceOf("c")
			r.Loop = &loop.Loop{
				Function: Name, Owns: Phases, Store: client, Does: r, Reporter: quiet{}, Source: source, Now: client.Clock().Now,
				Elapsed: client.Clock().Elapsed, Me: func() string { return "me" }, Conflict: kube.ErrConflict, Records: &loop.RecordCache{},
			}
			var replies []string
			next := source.Phase(&s.record, time.Now(), time.Now())
			for s.record.Status.Phase != api.Finished && len(replies) < 9 {
				e, err := r.Handle(t.Context(), next)
				if err != nil && !c.dies {
					t.Fatal(err)
				}
				said := event.Event{}
				if e != nil {
					said, next = *e, *e
				}
				if e == nil {
					replies = append(replies, "")
				} else {
					replies = append(replies, said.Type())
				}
			}
			if d := cmp.Diff(c.want, s.asked); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.replies, replies); d != "" {
				t.Error(d)
			}
			if report := s.reports["f1-1"]; (report.Spec.NodeName == "forged") != c.taken || (s.record.Status.Report.Missing != "") != c.missing {
				t.Errorf("%+v, %+v", report.Spec, s.record.Status.Report)
			}
		})
	}
}
