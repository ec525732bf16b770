package report

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestWhatIsToldOfAFenceRequest: an Event on the object, in its own namespace, for a change of its
// conditions, and no second one for a later look.
func TestWhatIsToldOfAFenceRequest(t *testing.T) {
	h, log := &heard{}, &bytes.Buffer{}
	p := New(slog.New(slog.NewTextHandler(log, nil)), h, prometheus.NewRegistry())
	r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-x", UID: "u"}}
	before := r.Status
	r.Status = ask.Refused(r, api.NoPolicy, strings.Repeat("x", 2000), time.Now())
	p.Remediated(t.Context(), Remediation{Function: "gate", Before: before, Request: r})
	p.Remediated(t.Context(), Remediation{Function: "request", Before: r.Status, Request: r})
	want := []kube.Event{{
		Namespace: "n", Kind: "FenceRequest", APIVersion: "nodefence.io/v1alpha1", Name: "a-x", UID: "u", Topic: "remediation",
		Warning: true, Reason: "RemediationCannotStart", Reporter: "gate",
	}}
	if len(h.events) == 1 {
		message := h.events[0].Message
		h.events[0].Message = ""
		if !strings.HasPrefix(message, "NoPolicy: xxx") || len(message) > longestWords {
			t.Errorf("%d letters: %.40s", len(message), message)
		}
	}
	if d := cmp.Diff(want, h.events); d != "" {
		t.Error(d)
	}
	if lines := strings.Count(log.String(), "namespace=n name=a-x ended=true"); lines != 2 {
		t.Errorf("%d lines in the log: %s", lines, log)
	}
}
