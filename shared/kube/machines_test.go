package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/policy"
)

// TestMachinesOfTheKindsThatThereAre: a cluster that has none has no Machines, and one
// that serves two versions of one kind has each Machine once.
func TestMachinesOfTheKindsThatThereAre(t *testing.T) {
	const openshift, capi2, capi1 = "/apis/machine.openshift.io/v1beta1/machines", "/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.x-k8s.io/v1beta1/machines"
	of := func(name string) string {
		return `{"items":[{"metadata":{"name":"` + name + `"},"status":{"nodeRef":{"name":"n"}}}]}`
	}
	for name, c := range map[string]struct {
		served map[string]string
		want   string
	}{
		"neither":              {nil, ""},
		"OpenShift":            {map[string]string{openshift: of("o")}, "machine.openshift.io/v1beta1 Machine o n"},
		"an older Cluster API": {map[string]string{capi1: of("c1")}, "cluster.x-k8s.io/v1beta1 Machine c1 n"},
		"both versions":        {map[string]string{capi1: of("c1"), capi2: of("c2")}, "cluster.x-k8s.io/v1beta2 Machine c2 n"},
		"both kinds":           {map[string]string{openshift: of("o"), capi2: of("c2")}, "machine.openshift.io/v1beta1 Machine o n, cluster.x-k8s.io/v1beta2 Machine c2 n"},
	} {
		api := newFakeAPI(t)
		for path, text := range c.served {
			api.set(path, text)
		}
		all, err := api.Machines(t.Context())
		var got []string
		for _, m := range all {
			got = append(got, m.APIVersion+" "+m.Kind+" "+m.Name+" "+m.Status.NodeRef.Name)
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v %v, want %s", name, got, err, c.want)
		}
	}
}

// TestDeleteMachine: only the one with this UID is deleted, as it was just looked at (S6).
func TestDeleteMachine(t *testing.T) {
	const openshift, older = "/apis/machine.openshift.io/v1beta1", "/apis/cluster.x-k8s.io/v1beta1"
	item := func(more string) string {
		return `{"items":[{"metadata":{"namespace":"m","name":"other","uid":"o","resourceVersion":"1"}},{"metadata":{"namespace":"m","name":"x","uid":"x","resourceVersion":"7"` + more + `}}]}`
	}
	for name, c := range map[string]struct {
		group, list string
		no          error
		code        int
		want        []string
		fails       bool
		conflict    bool
	}{
		"of OpenShift":          {group: openshift, list: item(""), code: 200, want: []string{openshift + "/namespaces/m/machines/x x 7"}},
		"of an old Cluster API": {group: older, list: item(""), code: 200, want: []string{older + "/namespaces/m/machines/x x 7"}},
		"being deleted":         {group: openshift, list: item(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`)},
		"gone":                  {group: openshift, list: `{"items":[]}`},
		"no such kind":          {group: "/none"},
		"something against it":  {group: openshift, list: item(""), no: errors.New("it has a node"), fails: true},
		"changed since":         {group: openshift, list: item(""), code: 409, want: []string{openshift + "/namespaces/m/machines/x x 7"}, fails: true, conflict: true},
		"gone meanwhile":        {group: openshift, list: item(""), code: 404, want: []string{openshift + "/namespaces/m/machines/x x 7"}},
		"without a right":       {group: openshift, list: item(""), code: 403, want: []string{openshift + "/namespaces/m/machines/x x 7"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			f := newFakeAPI(t)
			f.answer[c.group+"/machines"] = func(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, c.list) }
			f.answer[c.group+"/namespaces/m/machines/x"] = func(w http.ResponseWriter, r request) {
				var o metav1.DeleteOptions
				_ = json.Unmarshal([]byte(r.Body), &o)
				asked = append(asked, fmt.Sprintf("%s %s %s", r.Path, *o.Preconditions.UID, *o.Preconditions.ResourceVersion))
				refuse(w, c.code, map[int]string{403: "Forbidden", 404: "NotFound", 409: "Conflict"}[c.code])
			}
			err := f.DeleteMachine(t.Context(), "x", func(*policy.Machine) error { return c.no })
			if (err != nil) != c.fails || errors.Is(err, ErrConflict) != c.conflict {
				t.Error(err)
			}
			if d := cmp.Diff(c.want, asked); d != "" {
				t.Error(d)
			}
		})
	}
}
