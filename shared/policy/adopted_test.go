package policy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestPauses: an adopted policy holds by itself once nobody keeps it up to date.
func TestPauses(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	adopted, at := map[string]string{AdoptedLabel: "x"}, func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		labels map[string]string
		at     string
		held   bool
	}{
		"a person's":                   {nil, "", false},
		"a person's, with a time":      {nil, at(-time.Hour), false},
		"adopted":                      {adopted, at(0), false},
		"adopted, five minutes old":    {adopted, at(-5 * time.Minute), false},
		"adopted, older":               {adopted, at(-5*time.Minute - time.Second), true},
		"adopted, ahead":               {adopted, at(5*time.Minute + time.Second), true},
		"adopted, a little ahead":      {adopted, at(time.Minute), false},
		"adopted, without a time":      {adopted, "", true},
		"adopted, with no time at all": {adopted, "soon", true},
	} {
		p := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Labels: c.labels, Annotations: map[string]string{ComputedAt: c.at}}}
		p.Spec.PauseRequests = append(make([]string, 0, 4), "me")
		got := Pauses(p, now)
		if held := len(got) == 2; held != c.held || got[0] != "me" || held && !strings.Contains(got[1], ComputedAt) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
