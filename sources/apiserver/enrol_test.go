package apiserver

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/kube"
)

func enrolmentOf(uid, system string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kube.EnrolledName("a"), Namespace: "ns"},
		Data:       map[string]string{"node_name": "a", "node_uid": uid, "system_uuid": system, "provider_id": "p"},
	}
}

func TestEnrolment(t *testing.T) {
	says := func(uid, system string) nodeView { return nodeView{uid: uid, systemUUID: system, providerID: "p"} }
	cloud := func(system, id string) nodeView { return nodeView{uid: "1", systemUUID: system, providerID: id} }
	bare := func() *corev1.ConfigMap {
		cm := enrolmentOf("1", "x")
		cm.Data["provider_id"] = ""
		return cm
	}
	worker := func(uid string) nodeView {
		return nodeView{uid: uid, systemUUID: "x", providerID: "p", role: "worker"}
	}
	with := func(key, value string) map[string]string {
		d := enrolmentOf("1", "x").Data
		d[key] = value
		return d
	}
	for name, c := range map[string]struct {
		// before stands when the source starts, meanwhile comes before it writes.
		before, meanwhile *corev1.ConfigMap
		says              []nodeView
		want              map[string]string
		writes            []string
		warnings          int
	}{
		"a node is enrolled when it is first seen healthy": {nil, nil, []nodeView{says("1", "x")},
			enrolmentOf("1", "x").Data, []string{"POST fence-enrolled-a"}, 0},
		"once is enough": {nil, nil, []nodeView{says("1", "x"), says("1", "x")},
			enrolmentOf("1", "x").Data, []string{"POST fence-enrolled-a"}, 0},
		"an enrolled node costs nothing": {enrolmentOf("1", "x"), nil, []nodeView{says("1", "x")},
			enrolmentOf("1", "x").Data, nil, 0},
		"a node that says it is another machine stays what it was, and that is said once (S11)": {enrolmentOf("1", "x"), nil,
			[]nodeView{says("1", "y"), says("1", "y")}, enrolmentOf("1", "x").Data, nil, 1},
		"another Node object of the name is enrolled anew": {enrolmentOf("1", "x"), nil, []nodeView{says("2", "y")},
			enrolmentOf("2", "y").Data, []string{"PUT fence-enrolled-a"}, 0},
		"somebody enrolled the same meanwhile": {nil, enrolmentOf("1", "x"), []nodeView{says("1", "x")},
			enrolmentOf("1", "x").Data, nil, 0},
		"somebody enrolled it as another machine meanwhile": {nil, enrolmentOf("1", "x"), []nodeView{says("1", "y")},
			enrolmentOf("1", "x").Data, nil, 1},
		"an older node's enrolment came meanwhile": {nil, enrolmentOf("0", "w"), []nodeView{says("1", "x")},
			enrolmentOf("1", "x").Data, []string{"PUT fence-enrolled-a"}, 0},
		"a provider ID that comes later is added once": {nil, nil, []nodeView{cloud("x", ""), cloud("x", "p"), cloud("x", "p")},
			enrolmentOf("1", "x").Data, []string{"POST fence-enrolled-a", "PUT fence-enrolled-a"}, 0},
		"a provider ID that comes after a restart": {bare(), nil, []nodeView{cloud("x", "p")},
			enrolmentOf("1", "x").Data, []string{"PUT fence-enrolled-a"}, 0},
		"a provider ID is never changed, and that is said once (S11)": {enrolmentOf("1", "x"), nil, []nodeView{cloud("x", "q"), cloud("x", "q")},
			enrolmentOf("1", "x").Data, nil, 1},
		"what is said changes, and is said again": {enrolmentOf("1", "x"), nil, []nodeView{cloud("x", "q"), cloud("x", "r"), cloud("x", "p")},
			enrolmentOf("1", "x").Data, nil, 2},
		"no provider ID for a node that says it is another machine (S11)": {bare(), nil, []nodeView{cloud("y", "p")},
			bare().Data, nil, 1},
		"somebody added a provider ID meanwhile, and another": {bare(), enrolmentOf("1", "x"), []nodeView{cloud("x", "q")},
			enrolmentOf("1", "x").Data, nil, 1},
		"what a node is for is enrolled with it": {nil, nil, []nodeView{worker("1")},
			with("role", "worker"), []string{"POST fence-enrolled-a"}, 0},
		"and added to an enrolment that lacks it": {enrolmentOf("1", "x"), nil, []nodeView{worker("1"), worker("1")},
			with("role", "worker"), []string{"PUT fence-enrolled-a"}, 0},
		"and nothing else, for a node that says it is another machine (S11)": {enrolmentOf("1", "w"), nil, []nodeView{worker("1")},
			func() map[string]string { d := with("role", "worker"); d["system_uuid"] = "w"; return d }(), []string{"PUT fence-enrolled-a"}, 1},
		"a node without a cloud is left in peace": {bare(), nil, []nodeView{cloud("x", ""), cloud("x", "")},
			bare().Data, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			if c.before != nil {
				f.set(mapsURL, c.before)
			}
			var log strings.Builder
			e := &enrolment{client: f.client(), namespace: "ns", log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
			e.begin()
			if c.before != nil {
				e.saw(c.before)
			}
			if c.meanwhile != nil {
				f.set(mapsURL, c.meanwhile)
			}
			for _, v := range c.says {
				e.put("a", v)
				if e.queue.Len() > 0 {
					name, _ := e.queue.Get()
					if err := e.write(context.Background(), name); err != nil {
						t.Error(err)
					}
					e.queue.Done(name)
				}
			}
			if d := cmp.Diff(c.want, f.enrolled("fence-enrolled-a")); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.writes, f.written()); d != "" {
				t.Error(d)
			}
			if n := strings.Count(log.String(), "\n"); n != c.warnings {
				t.Errorf("%d warnings, want %d: %s", n, c.warnings, log.String())
			}
		})
	}
}

// TestANameThatIsTooLongToEnrol is said once, with the remedy, and is not tried for ever.
func TestANameThatIsTooLongToEnrol(t *testing.T) {
	var said strings.Builder
	e := &enrolment{log: slog.New(slog.NewTextHandler(&said, nil))}
	e.begin()
	longest := 253 - len("fence-enrolled-")
	for range 2 {
		e.put(strings.Repeat("a", longest), nodeView{uid: "1"})
		e.put(strings.Repeat("b", longest+1), nodeView{uid: "1"})
	}
	if n := strings.Count(said.String(), "register it under a shorter name"); n != 1 || len(e.todo) != 1 {
		t.Errorf("said %d times, %d to enrol: %s", n, len(e.todo), said.String())
	}
}
