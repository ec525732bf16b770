package kube

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
