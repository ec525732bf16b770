package kube

import (
	"net/http"
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
