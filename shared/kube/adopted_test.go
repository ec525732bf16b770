package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodefence/nodefence/shared/adopt/far"
)

// TestOfAllOnlyTheMetadata is asked for and kept, because passwords may stand in their specs; and no more
// than so many. A cluster without the kind has none. TestRightsToAdopt of test/e2e has the API server say it.
func TestOfAllOnlyTheMetadata(t *testing.T) {
	for kind, path := range map[string]string{far.Kind: "fenceagentsremediations", far.TemplateKind: "fenceagentsremediationtemplates"} {
		f := newFakeAPI(t)
		if all, err := f.AllFARs(t.Context(), kind); err != nil || len(all) > 0 {
			t.Errorf("without the kind: %v, %v", all, err)
		}
		var accepted string
		f.onRequest = func(r *http.Request) { accepted = r.Header.Get("Accept") }
		f.answer["/apis/"+far.GroupVersion+"/"+path] = func(w http.ResponseWriter, r request) {
			if r.Query.Get("limit") != "500" {
				t.Errorf("the list has no bound: %v", r.Query)
			}
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"a","namespace":"n","uid":"u"},"spec":{"sharedparameters":{"--password":"hunter2"}}}]}`)
		}
		got, err := f.AllFARs(t.Context(), kind)
		if d := cmp.Diff([]metav1.ObjectMeta{{Name: "a", Namespace: "n", UID: "u"}}, got); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
		if accepted != "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" {
			t.Errorf("it accepts %s", accepted)
		}
	}
}

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
