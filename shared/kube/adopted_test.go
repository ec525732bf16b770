package kube

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSilentWebhook: a webhook that the API server could not call is named, and no other refusal is
// taken for that. TestItsWebhooksAreLeft of test/e2e has the API server say it.
func TestSilentWebhook(t *testing.T) {
	said := errors.New(`failed calling webhook "v.kb.io": failed to call webhook: Post "https://v.n.svc:443/v?timeout=10s": no endpoints available for service "v"`)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"it was not reached":     {fmt.Errorf("patch /x: %w", apierrors.NewInternalError(said)), "v.kb.io"},
		"another internal error": {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), ""},
		"it said no":             {apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "x", said), ""},
		"the words alone":        {said, ""},
		"no error":               {nil, ""},
	} {
		if got := SilentWebhook(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
