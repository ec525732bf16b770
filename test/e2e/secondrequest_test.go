package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	w.stop(true) // what is approved stays Accepted meanwhile, and may be corrected
	must(t, asks("approve", "2026-01-01T00:00:07Z", "the first"))
	answered(api.AskedApprove, "00:00:07")
	if err := asks("approve", "2026-01-01T00:00:07Z", "corrected"); err != nil {
		t.Errorf("a correction of what is only Accepted: %v", err)
	}
	must(t, asks("abort", "2026-01-01T00:00:06Z", "a brake"))
	w.finished(node, 1)
}

// TestARequestOfATimeThatCannotBeStored in an answer is refused, an abort too, and bars no later one. Where the
// admission policy is gone it is answered, and the fence goes on (S25, S27).
func TestARequestOfATimeThatCannotBeStored(t *testing.T) {
	w := newWorld(t, 2, quick+"mode: RequireApproval\n")
	w.start(nil)
	const node = "node-1"
	w.node(node, "crash")
	w.waits(node, 1)
	asks := func(request, at string) error {
		return w.patchWords(node, fmt.Sprintf(`{%q:{"fenceNumber":1,"by":"lab-admin","at":%q}}`, request, at))
	}
	answered := func(year int) {
		t.Helper()
		w.until(fmt.Sprintf("a retry of the year %d to be answered", year), func() (bool, error) {
			f, err := w.Fences.Fence(w.ctx, node)
			if err != nil {
				return false, err
			}
			a := f.Status.Answer(api.AskedRetry)
			return a != nil && a.At.UTC().Year() == year, nil
		})
	}
	for _, request := range []string{"abort", "approve", "retry", "uncordon", "confirmOff"} {
		for _, at := range []string{"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00"} {
			if err := asks(request, at); err == nil || !strings.Contains(err.Error(), "spec.requests."+request+".at must be a time of the years 2000 to 9998, and is "+at) {
				t.Errorf("%s of %s: %v", request, at, err)
			}
		}
	}
	bindings := w.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding, err := bindings.Get(w.ctx, "nodefence-requests", metav1.GetOptions{})
	must(t, err)
	must(t, bindings.Delete(w.ctx, binding.Name, metav1.DeleteOptions{}))
	w.until("a request of the zero time to be taken", func() (bool, error) {
		return asks("retry", "0001-01-01T00:00:00Z") == nil, nil
	})
	answered(1)
	binding.ObjectMeta = metav1.ObjectMeta{Name: binding.Name}
	_, err = bindings.Create(w.ctx, binding, metav1.CreateOptions{})
	must(t, err)
	second := 0
	w.until("such a one to be refused again", func() (bool, error) {
		second++ // a request that stands already is not new, and stays writable
		return asks("retry", fmt.Sprintf("0001-01-01T00:00:%02dZ", second%60)) != nil, nil
	})
	must(t, asks("retry", "2026-01-01T00:00:05Z"))
	answered(2026)
	must(t, asks("abort", "2026-01-01T00:00:06Z"))
	w.finished(node, 1)
}
