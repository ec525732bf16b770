package e2e

import (
	"fmt"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARequestInTheSecondOfAnother, which is answered, would be taken for that one. It is refused, with words
// on what to do, and one of the next second is answered. An abort is never refused for that.
func TestARequestInTheSecondOfAnother(t *testing.T) {
	w := newWorld(t, 2, quick+"mode: RequireApproval\n")
	w.start(nil)
	const node = "node-1"
	w.node(node, "crash")
	w.waits(node, 1)
	asks := func(request, at, reason string) error {
		return w.patchWords(node, fmt.Sprintf(`{%q:{"fenceNumber":1,"by":"lab-admin","at":%q,"reason":%q}}`, request, at, reason))
	}
	answered := func(name api.RequestName, at string) {
		t.Helper()
		w.until(string(name)+" of "+at+" to be answered", func() (bool, error) {
			f, err := w.Fences.Fence(w.ctx, node)
			if err != nil {
				return false, err
			}
			a := f.Status.Answer(name)
			return a != nil && a.At.UTC().Format("15:04:05") == at, nil
		})
	}
	must(t, asks("retry", "2026-01-01T00:00:05.25Z", "the first"))
	answered(api.AskedRetry, "00:00:05")
	for _, at := range []string{"2026-01-01T00:00:05Z", "2026-01-01T00:00:05.75Z", "2026-01-01T01:00:05.5+01:00"} {
		if err := asks("retry", at, "another"); err == nil || !strings.Contains(err.Error(), "spec.requests.retry.at is in the same second as that of a retry which is answered already") {
			t.Errorf("%s: %v", at, err)
		}
	}
	must(t, asks("retry", "2026-01-01T00:00:06Z", "the next"))
	answered(api.AskedRetry, "00:00:06")
	must(t, asks("abort", "2026-01-01T00:00:06Z", "a brake"))
	w.finished(node, 1)
}
