package kube

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
)

const (
	reviewPath = "/apis/authentication.k8s.io/v1/tokenreviews"
	accessPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
)

func says(text string) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, text) }
}

// TestReview: a token counts for the audience that was asked for, and for no other (S20). No
// error contains the token (S29).
func TestReview(t *testing.T) {
	for name, c := range map[string]struct {
		answer, user string
		fails        bool
	}{
		"a token of this audience":                 {`{"status":{"authenticated":true,"audiences":["us"],"user":{"username":"anna"}}}`, "anna", false},
		"one of several":                           {`{"status":{"authenticated":true,"audiences":["them","us"],"user":{"username":"anna"}}}`, "anna", false},
		"of another audience":                      {`{"status":{"authenticated":true,"audiences":["them"],"user":{"username":"anna"}}}`, "", false},
		"of no audience: who says so knows none":   {`{"status":{"authenticated":true,"user":{"username":"anna"}}}`, "", false},
		"not authenticated":                        {`{"status":{"audiences":["us"],"user":{"username":"anna"}}}`, "", false},
		"an error of the authenticator":            {`{"status":{"error":"bad t0ken"}}`, "", false},
		"an answer that is none":                   {`[]`, "", true},
		"an API server that is not asked that way": {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.answer[reviewPath] = says(c.answer)
			if c.answer == "" {
				f.answer[reviewPath] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusForbidden, "Forbidden") }
			}
			u, why, err := f.ReviewToken(t.Context(), "t0ken", "us")
			if (err != nil) != c.fails || (u == nil) != (c.user == "") || u != nil && u.Username != c.user {
				t.Fatalf("%v, %q, %v", u, why, err)
			}
			if (why == "") != (u != nil || err != nil) {
				t.Errorf("why: %q", why)
			}
			if strings.Contains(why, "t0ken") || err != nil && strings.Contains(err.Error(), "t0ken") {
				t.Errorf("the token is told: %q %v", why, err)
			}
			want := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"t0ken","audiences":["us"]},"status":{"user":{}}}`
			if d := cmp.Diff(want, f.writes()[0].Body); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMayFence(t *testing.T) {
	for name, c := range map[string]struct {
		answer         string
		allowed, fails bool
	}{
		"allowed":                {`{"status":{"allowed":true}}`, true, false},
		"not":                    {`{"status":{}}`, false, false},
		"denied":                 {`{"status":{"allowed":true,"denied":true}}`, false, false},
		"an answer that is none": {`"yes"`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.answer[accessPath] = says(c.answer)
			u := &User{Username: "anna", UID: "7", Groups: []string{"ops"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}}}
			allowed, err := f.MayFence(t.Context(), u, "node-1")
			if allowed != c.allowed || (err != nil) != c.fails {
				t.Errorf("%v, %v", allowed, err)
			}
			want := `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{` +
				`"resourceAttributes":{"verb":"fence","group":"nodefence.io","resource":"nodefences","name":"node-1"},` +
				`"user":"anna","groups":["ops"],"extra":{"scopes":["a","b"]},"uid":"7"},"status":{"allowed":false}}`
			if d := cmp.Diff(want, f.writes()[0].Body); d != "" {
				t.Error(d)
			}
		})
	}
}
