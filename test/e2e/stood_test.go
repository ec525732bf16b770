package e2e

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// missable ends a line of a transcript that is about a state which may pass between two looks.
const missable = " (may be missed)"

// transcribed checks what an object was seen to say, one after the other, against a transcript: each
// line of the file in its order, and nothing else. People and programs that watch the object rely on it.
func transcribed(t *testing.T, file string, stood []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	left := stood
	for line := range strings.Lines(string(text)) {
		line, may := strings.CutSuffix(strings.TrimSuffix(line, "\n"), missable)
		switch {
		case len(left) > 0 && left[0] == line:
			left = left[1:]
		case !may:
			t.Errorf("%s has %q, which was not seen in its turn. Seen:\n%s", file, line, strings.Join(stood, "\n"))
			return
		}
	}
	if len(left) > 0 {
		t.Errorf("%s has not %q, which was seen after the rest. Seen:\n%s", file, left[0], strings.Join(stood, "\n"))
	}
}

// words are conditions of an object in a certain order: their status, then their reasons. One that is
// not there is a dash.
func words(conditions []metav1.Condition, types ...string) string {
	var status, reasons []string
	for _, typ := range types {
		c := meta.FindStatusCondition(conditions, typ)
		if c == nil {
			c = &metav1.Condition{Status: "-", Reason: "-"}
		}
		status, reasons = append(status, string(c.Status)), append(reasons, c.Reason)
	}
	return strings.Join(status, " ") + ": " + strings.Join(reasons, " ")
}
