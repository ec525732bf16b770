package kube

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestListsComeInProtobuf: a LIST of a kind of Kubernetes' own is asked for in protobuf and read from it,
// or from JSON where the server prefers that. nodefence's kinds have no other form than JSON.
func TestListsComeInProtobuf(t *testing.T) {
	f := newFakeAPI(t)
	var accepted string
	f.onRequest = func(r *http.Request) { accepted = r.Header.Get("Accept") }
	want := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u1", Labels: map[string]string{"zone": "z"}}, Spec: corev1.NodeSpec{ProviderID: "ours://a"}}}
	in, err := (&corev1.NodeList{Items: want}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	around := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Raw: in}
	raw, err := around.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	raw = slices.Concat([]byte("k8s\x00"), raw)
	f.answer[nodesPath] = func(w http.ResponseWriter, _ request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(raw)
	}
	got, err := f.Nodes(t.Context())
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if !strings.HasPrefix(accepted, runtime.ContentTypeProtobuf+",") {
		t.Errorf("nodes were asked for as %s", accepted)
	}

	raw = raw[:len(raw)-3]
	if got, err := f.Nodes(t.Context()); err == nil {
		t.Errorf("an answer that was cut off was read as %v", got)
	}

	inJSON := func(w http.ResponseWriter, _ request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"a"}}]}`))
	}
	f.answer[nodesPath], f.answer[policiesPath] = inJSON, inJSON
	if got, err := f.Nodes(t.Context()); err != nil || len(got) != 1 || got[0].Name != "a" {
		t.Errorf("from JSON: %v, %v", got, err)
	}
	if got, err := f.Policies(t.Context()); err != nil || len(got) != 1 || accepted != runtime.ContentTypeJSON {
		t.Errorf("policies were asked for as %s: %v, %v", accepted, got, err)
	}
}
