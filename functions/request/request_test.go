package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

const (
	requestPath = "/apis/nodefence.io/v1alpha1/namespaces/own/fencerequests/a"
	fencePath   = "/apis/nodefence.io/v1alpha1/nodefences/a"
	waits       = `{"metadata":{"name":"a","uid":"f","resourceVersion":"7"},"spec":{"nodeName":"a"},"status":{"fenceNumber":3,"phase":"Pending","decision":{"askedBy":[{"id":"u","source":"/fencerequests/own/a"}]}}}`
	cuts        = `{"metadata":{"name":"a","uid":"f","resourceVersion":"7"},"spec":{"nodeName":"a"},"status":{"fenceNumber":3,"phase":"Fencing","cutOrReleased":true,"power":{"switchedByUs":true},"decision":{"askedBy":[{"id":"u","source":"/fencerequests/own/a"}]}}}`
	others      = `{"metadata":{"name":"a","uid":"f","resourceVersion":"7"},"spec":{"nodeName":"a"},"status":{"fenceNumber":3,"phase":"Finished"}}`
)

var named = events.ObjectReference{Namespace: "own", Name: "a", UID: "u"}

// TestHandle: what is written, in which order, and what is sent. Each write is compared with what
// was read.
func TestHandle(t *testing.T) {
	deleted := func(o *api.FenceRequest) { at := metav1.Now(); o.DeletionTimestamp = &at }
	for name, c := range map[string]struct {
		named    events.ObjectReference
		object   func(*api.FenceRequest)
		fence    string
		conflict string // the write that somebody else was faster than
		want     string
		again    bool
	}{
		"a new one": {object: func(o *api.FenceRequest) { o.Finalizers = nil },
			want: "hold 5, status 6 RemediationStarted, asks"},
		"a new one, changed meanwhile":     {object: func(o *api.FenceRequest) { o.Finalizers = nil }, conflict: requestPath, again: true, want: ""},
		"its status is written meanwhile":  {conflict: requestPath + "/status", again: true, want: ""},
		"one that was answered":            {fence: waits, want: "status 5 RemediationStarted"},
		"withdrawn before the cut":         {object: deleted, fence: waits, want: "abort 7 of 3 by system:me: FenceRequest own/a was deleted, status 5 RemediationStarted"},
		"with another one":                 {object: deleted, fence: strings.Replace(waits, `}]}}}`, `},{"id":"w","source":"/fencerequests/own/w"}]}}}`, 1), want: "abort 7 of 3 by system:me: FenceRequest own/a was deleted, status 5 RemediationStarted"},
		"beside another one":               {object: deleted, fence: strings.Replace(waits, `}]}}}`, `},{"id":"v","source":"/fencerequests/own/v"}]}}}`, 1), want: "mark 7 that u asks no more, status 5 RemediationStarted"},
		"once its fence has cut":           {object: deleted, fence: cuts, want: "mark 7 that u asks no more, status 5 RemediationStarted"},
		"that, and an Off was claimed":     {object: deleted, fence: cuts, conflict: fencePath, again: true, want: ""},
		"that, and wants no drain":         {object: deleted, fence: strings.NewReplacer(`"id":"u"`, `"id":"u","drain":"Skip"`, `}]}}}`, `},{"id":"v","source":"/fencerequests/own/v"}]}}}`).Replace(waits), want: "mark 7 that u asks no more, status 5 RemediationStarted"},
		"beside one that is gone":          {object: deleted, fence: strings.Replace(waits, `}]}}}`, `},{"id":"w","source":"/fencerequests/own/v"}]}}}`, 1), want: "abort 7 of 3 by system:me: FenceRequest own/a was deleted, status 5 RemediationStarted"},
		"beside one from elsewhere":        {object: deleted, fence: strings.Replace(waits, `}]}}}`, `},{"id":"w","source":"/fencerequests/default/w"}]}}}`, 1), want: "mark 7 that u asks no more, status 5 RemediationStarted"},
		"that, and the fence went on":      {object: deleted, fence: waits, conflict: fencePath, again: true, want: ""},
		"withdrawn before it was answered": {object: deleted, fence: others, want: "mark 7 for u, let go 5"},
		"that, and a gate was faster":      {object: deleted, fence: others, conflict: fencePath, again: true, want: ""},
		"withdrawn, without a record":      {object: deleted, want: "let go 5"},
		"names that differ":                {object: func(o *api.FenceRequest) { o.Spec.NodeName = "b" }, want: "status 5 NamesDiffer"},
		"that, and withdrawn":              {object: func(o *api.FenceRequest) { o.Spec.NodeName = "b"; deleted(o) }, want: "let go 5"},
		"another object of this name":      {named: events.ObjectReference{Namespace: "own", Name: "a", UID: "v"}},
		"an object that is not there":      {named: events.ObjectReference{Namespace: "own", Name: "b", UID: "u"}},
		"a namespace that does not count":  {named: events.ObjectReference{Namespace: "default", Name: "a", UID: "u"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a", UID: "u", ResourceVersion: "5", Finalizers: []string{api.RequestFinalizer}}}
			if c.object != nil {
				c.object(o)
			}
			if c.named.UID == "" {
				c.named = named
			}
			v, w := o.DeepCopy(), o.DeepCopy()
			v.Name, v.UID, v.DeletionTimestamp = "v", "v", nil
			w.Name, w.UID = "w", "w"
			answers := map[string]any{requestPath[:len(requestPath)-1] + "v": v, requestPath[:len(requestPath)-1] + "w": w, requestPath: o, strings.Replace(requestPath, "own", "default", 1): o}
			if c.fence != "" {
				answers[fencePath] = c.fence
			}
			var written []string
			client := kubetest.Client(t, kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				switch {
				case strings.HasSuffix(r.URL.Path, "selfsubjectreviews"):
					kubetest.Answer(w, `{"status":{"userInfo":{"username":"system:me"}}}`)
				case r.URL.Path == c.conflict:
					kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
				default:
					written = append(written, words(t, r, raw))
					kubetest.Answer(w, after(t, answers[strings.TrimSuffix(r.URL.Path, "/status")], raw))
				}
			}))
			told := &told{}
			q := &Requester{Objects: client, Namespaces: ask.Namespaces{"own"}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Reporter: told}
			reply, err := q.Handle(t.Context(), events.SourceOf("c").FenceRequestChanged("a", c.named, "1", time.Now()))
			if (err != nil) != c.again || c.again && !errors.Is(err, run.ErrAgain) {
				t.Error(err)
			}
			if reply != nil {
				written = append(written, asks(t, reply))
			}
			if d := cmp.Diff(c.want, strings.Join(written, ", ")); d != "" {
				t.Error(d)
			}
			if saved := strings.Count(c.want, "status"); saved != len(told.all) {
				t.Errorf("%d were saved, and told is %+v", saved, told.all)
			}
		})
	}
}

// told keeps what is reported. Each change was none before it was written.
type told struct{ all []report.Remediation }

func (k *told) Remediated(_ context.Context, r report.Remediation) {
	if len(r.Before.Conditions) > 0 || r.Function != Name {
		panic(fmt.Sprint("told is ", r))
	}
	k.all = append(k.all, r)
}

// words is a write in words, with the resourceVersion that it is compared with.
func words(t *testing.T, r *http.Request, raw []byte) string {
	t.Helper()
	var o api.FenceRequest
	var f api.NodeFence
	if err := errors.Join(json.Unmarshal(raw, &o), json.Unmarshal(raw, &f)); err != nil {
		t.Fatal(err)
	}
	abort := f.Spec.Requests.Abort
	switch {
	case r.URL.Path == requestPath+"/status":
		return fmt.Sprintf("status %s %s", o.ResourceVersion, o.Status.Conditions[0].Reason)
	case r.URL.Path == requestPath && len(o.Finalizers) == 1 && o.Finalizers[0] == api.RequestFinalizer && o.UID == "u":
		return "hold " + o.ResourceVersion
	case r.URL.Path == requestPath && len(o.Finalizers) == 0 && o.UID == "u":
		return "let go " + o.ResourceVersion
	case r.URL.Path == fencePath && abort != nil:
		return fmt.Sprintf("abort %s of %d by %s: %s", f.ResourceVersion, *abort.FenceNumber, abort.By, abort.Reason)
	case r.URL.Path == fencePath:
		if uid := f.Annotations[api.WithdrawnAskersAnnotation]; uid != "" {
			return "mark " + f.ResourceVersion + " that " + uid + " asks no more"
		}
		return "mark " + f.ResourceVersion + " for " + f.Annotations[api.WithdrawnAnnotation]
	}
	return r.Method + " " + r.URL.Path + " " + string(raw)
}

// after is an object after a write.
func after(t *testing.T, was any, raw []byte) map[string]any {
	t.Helper()
	text, is := was.(string)
	if !is {
		b, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	var into, patch map[string]any
	if err := errors.Join(json.Unmarshal([]byte(text), &into), json.Unmarshal(raw, &patch)); err != nil {
		t.Fatal(err)
	}
	into = kubetest.Merge(into, patch)
	into["metadata"].(map[string]any)["resourceVersion"] = "6"
	return into
}

// asks checks the event that asks the gate.
func asks(t *testing.T, e *event.Event) string {
	t.Helper()
	r, err := events.ReadRequest(*e)
	if err != nil || r.FenceRequest == nil || *r.FenceRequest != named || e.Type() != events.RequestFence || e.Subject() != "a" || e.Source() != "/fencerequests/own/a" || !strings.HasPrefix(e.ID(), "u.r") {
		t.Errorf("%v %v", e, err)
	}
	return "asks"
}

// TestAnEventThatNamesNoObject is refused, as no repetition can help.
func TestAnEventThatNamesNoObject(t *testing.T) {
	e := event.New()
	e.SetType(events.FenceRequestChanged)
	if _, err := (&Requester{}).Handle(t.Context(), e); !errors.Is(err, run.ErrMalformed) {
		t.Error(err)
	}
}
