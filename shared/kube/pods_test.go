package kube

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

const aPodPath = "/api/v1/namespaces/n/pods/p"

// TestForceDeleteRemovesOnePodAndNoOther: another pod of its name, which the
// StatefulSet may have made meanwhile, lives on (S6).
func TestForceDeleteRemovesOnePodAndNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		there, left string
		refusal     int
		fails       bool
	}{
		"this pod":             {`{"metadata":{"name":"p","uid":"p1"}}`, "", 0, false},
		"another of its name":  {`{"metadata":{"name":"p","uid":"p2"}}`, `{"metadata":{"name":"p","uid":"p2"}}`, 0, false},
		"none":                 {"", "", 0, false},
		"one that may not go":  {`{"metadata":{"name":"p","uid":"p1"}}`, `{"metadata":{"name":"p","uid":"p1"}}`, http.StatusForbidden, true},
		"a server that is ill": {`{"metadata":{"name":"p","uid":"p1"}}`, `{"metadata":{"name":"p","uid":"p1"}}`, http.StatusInternalServerError, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			if c.there != "" {
				f.set(aPodPath, c.there)
			}
			if c.refusal != 0 {
				f.answer[aPodPath] = func(w http.ResponseWriter, _ request) { refuse(w, c.refusal, http.StatusText(c.refusal)) }
			}
			if err := f.ForceDeletePod(t.Context(), "n", "p", "p1"); (err != nil) != c.fails {
				t.Error(err)
			}
			if d := cmp.Diff(c.left, f.text(aPodPath)); d != "" {
				t.Error(d)
			}
			want := `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"p1"}}`
			if d := cmp.Diff(want, strings.TrimSpace(f.writes()[0].Body)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEvict: a pod is evicted by its UID, so that another one of its name stays (S6). One that its
// disruption budget holds is no error, and it is said by which.
func TestEvict(t *testing.T) {
	status := func(code int, more string) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, _ request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":` + strconv.Itoa(code) + more + `}`))
		}
	}
	const budget = `,"reason":"TooManyRequests","message":"Cannot evict pod as it would violate the pod's disruption budget.","details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget db needs 2 healthy pods and has 2 currently"}]}`
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, request)
		held   string
		fails  bool
	}{
		"it goes":                       {status(201, ""), "", false},
		"its budget holds it":           {status(429, budget), "The disruption budget db needs 2 healthy pods and has 2 currently", false},
		"the API server is busy":        {status(429, `,"reason":"TooManyRequests","message":"too many requests"`), "too many requests", false},
		"a server that says no more":    {status(429, `,"reason":"TooManyRequests"`), "try again later", false},
		"it is gone":                    {status(404, `,"reason":"NotFound"`), "", false},
		"another of its name":           {status(409, `,"reason":"Conflict"`), "", false},
		"two budgets, which it refuses": {status(500, `,"reason":"InternalError","message":"more than one PodDisruptionBudget"`), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.answer[aPodPath+"/eviction"] = c.answer
			held, err := f.EvictPod(t.Context(), "n", "p", "p1")
			if (err != nil) != c.fails || !strings.Contains(held, c.held) || (c.held == "") != (held == "") {
				t.Errorf("held %q, %v", held, err)
			}
			if body := f.writes()[0].Body; len(f.writes()) != 1 || !strings.Contains(body, `"preconditions":{"uid":"p1"}`) || strings.Contains(body, "gracePeriodSeconds") {
				t.Errorf("%d requests, %s", len(f.writes()), body)
			}
		})
	}
}

// TestFailPod: exactly this pod gets a terminal phase (S6). A pod that is gone, or another pod of its name, is
// no error.
func TestFailPod(t *testing.T) {
	const path = aPodPath + "/status"
	for name, c := range map[string]struct {
		answer string
		status int
		fails  bool
	}{
		"this pod":                 {`{}`, http.StatusOK, false},
		"a write at the same time": {`"reason":"Conflict"`, http.StatusConflict, false},
		"another of its name":      {`"reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}]}`, http.StatusUnprocessableEntity, false},
		"a status that it refuses": {`"reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","field":"status.phase"}]}`, http.StatusUnprocessableEntity, true},
		"none":                     {`"reason":"NotFound"`, http.StatusNotFound, false},
		"a right that it lacks":    {`"reason":"Forbidden"`, http.StatusForbidden, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.answer[path] = func(w http.ResponseWriter, _ request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				if c.status != http.StatusOK {
					c.answer = `{"kind":"Status","apiVersion":"v1","status":"Failure",` + c.answer + `,"code":` + strconv.Itoa(c.status) + `}`
				}
				_, _ = w.Write([]byte(c.answer))
			}
			if err := f.FailPod(t.Context(), "n", "p", "p1", "it is off"); (err != nil) != c.fails {
				t.Error(err)
			}
			w := f.writes()[0]
			at := regexp.MustCompile(`"lastTransitionTime":"[^"]+"`)
			const want = `{"metadata":{"uid":"p1"},"status":{"conditions":[{"lastTransitionTime":"then","message":"it is off","reason":"DeletionByNodefence","status":"True","type":"DisruptionTarget"}],"phase":"Failed"}}`
			got := at.ReplaceAllString(w.Body, `"lastTransitionTime":"then"`)
			if d := cmp.Diff([]string{http.MethodPatch, path, string(types.StrategicMergePatchType), want}, []string{w.Method, w.Path, w.Type, got}); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestForceEvictSaysWhatHoldsThePod: a pod whose disruption budget refuses the eviction is not taken for deleted.
func TestForceEvictSaysWhatHoldsThePod(t *testing.T) {
	f := newFakeAPI(t)
	f.answer[aPodPath+"/eviction"] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusTooManyRequests, "not now") }
	if held, err := f.ForceEvictPod(t.Context(), "n", "p", "p1"); err != nil || held == "" {
		t.Errorf("held %q, %v", held, err)
	}
}
