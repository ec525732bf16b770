package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodefence/nodefence/shared/adopt/far"
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

// TestSaveFARTemplateStatus: nodes that are not named any more are removed, what nodefence does not know
// stays, and only a writer that has read the latest version writes.
func TestSaveFARTemplateStatus(t *testing.T) {
	f := newFakeAPI(t)
	path := farPath("n", farTemplates) + "/t"
	f.set(path, `{"metadata": {"namespace": "n", "name": "t", "uid": "u"}, "status": {"other": 1, "validationFailed": {"a": "so", "b": "so", "c": "so"}, "validationPassed": {"d": "Success"}}}`)
	is, err := f.FARTemplate(t.Context(), "n", "t")
	if err != nil {
		t.Fatal(err)
	}
	want := far.TemplateStatus{ValidationFailed: map[string]string{"b": "so", "c": "else"}}
	if err := f.SaveFARTemplateStatus(t.Context(), is, want); err != nil {
		t.Fatal(err)
	}
	if got, want := f.text(path), `{"metadata":{"name":"t","namespace":"n","uid":"u"},"status":{"other":1,"validationFailed":{"b":"so","c":"else"}}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if err := f.SaveFARTemplateStatus(t.Context(), is, far.TemplateStatus{}); !errors.Is(err, ErrConflict) {
		t.Errorf("written twice: %v", err)
	}
	writes := f.writes()
	if last := writes[0]; last.Path != path+"/status" || strings.Contains(last.Body, `"b"`) {
		t.Errorf("%s %s %s", last.Method, last.Path, last.Body)
	}
}
