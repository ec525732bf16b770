package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/policy"
)

// TestMachineHealthChecks are read of each kind in the first version that is served.
func TestMachineHealthChecks(t *testing.T) {
	const openshift, newer, older = "machine.openshift.io/v1beta1", "cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"
	for _, c := range []struct {
		served []string
		want   string
	}{
		{nil, "=0 =0"},
		{[]string{openshift}, openshift + "=1 =0"},
		{[]string{older}, "=0 " + older + "=1"},
		{[]string{newer, older, openshift}, openshift + "=1 " + newer + "=1"},
	} {
		client := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
			for _, version := range c.served {
				if r.URL.Path == "/apis/"+version+"/machinehealthchecks" {
					_, _ = io.WriteString(w, `{"apiVersion":"other/v1","items":[{"metadata":{"name":"a"}}]}`)
					return
				}
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		})
		var got []string
		for _, kind := range client.MachineHealthChecks(t.Context()) {
			if kind.Err != nil {
				t.Error(kind.Err)
			}
			got = append(got, fmt.Sprint(kind.APIVersion, "=", len(kind.Items)))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.served, got, c.want)
		}
	}
}

// TestOneKindCanNotBeRead: the other one is read all the same, and so are its Machines.
func TestOneKindCanNotBeRead(t *testing.T) {
	client := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/machine.openshift.io/") {
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"a"}}]}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}`)
	})
	all := client.MachineHealthChecks(t.Context())
	if len(all) != 2 || all[0].Err != nil || len(all[0].Items) != 1 || all[1].Err == nil || all[1].APIVersion == "" {
		t.Errorf("%+v", all)
	}
	if m, err := client.MachinesIn(t.Context(), "machine.openshift.io"); err != nil || len(m) != 1 || m[0].APIVersion != "machine.openshift.io/v1beta1" {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := client.MachinesIn(t.Context(), "cluster.x-k8s.io"); err == nil {
		t.Errorf("%+v", m)
	}
}

// TestMachineNamed: a name that could be another path is not asked for.
func TestMachineNamed(t *testing.T) {
	asked := ""
	client := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		_, _ = io.WriteString(w, `{"metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"7"}}`)
	})
	for _, c := range []struct{ version, namespace, name, want string }{
		{"cluster.x-k8s.io/v1beta2", "n", "a", "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/n/machines/a"},
		{"machine.openshift.io/v1beta1", "n", "a.b", "GET /apis/machine.openshift.io/v1beta1/namespaces/n/machines/a.b"},
		{"v1", "n", "a", ""}, {"cluster.x-k8s.io/v1beta2/../..", "n", "a", ""}, {"cluster.x-k8s.io/v1beta2", "n/x", "a", ""}, {"cluster.x-k8s.io/v1beta2", "n", "../a", ""},
	} {
		asked = ""
		m, err := client.MachineNamed(t.Context(), c.version, c.namespace, c.name)
		if err != nil || asked != c.want || (m != nil) != (c.want != "") || m != nil && m.APIVersion != c.version {
			t.Errorf("%+v: asked for %q, %+v, %v", c, asked, m, err)
		}
	}
	m := &policy.Machine{TypeMeta: metav1.TypeMeta{APIVersion: "cluster.x-k8s.io/v1beta2"}, ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", ResourceVersion: "7"}}
	if err := client.SaveMachineConditions(t.Context(), m); err != nil || asked != "PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces/n/machines/a/status" {
		t.Errorf("%s %v", asked, err)
	}
}

// TestLabelNode names the Node by its UID: the label is not set on another Node of that name (S6).
func TestLabelNode(t *testing.T) {
	body := ""
	client := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		_, _ = io.WriteString(w, `{"metadata":{"name":"a"}}`)
	})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
	if err := client.LabelNode(t.Context(), n, map[string]any{"x": "y", "z": nil}); err != nil || body != `{"metadata":{"labels":{"x":"y","z":null},"uid":"u"}}` {
		t.Errorf("%s %v", body, err)
	}
}

// fakeServer is a client of a server that answers like this.
func fakeServer(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
