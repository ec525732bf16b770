package policystatus

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine that tests may have none

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

const etcdPods = "/api/v1/namespaces/kube-system/pods"

// etcdPod is a member's static pod as kubeadm makes it.
func etcdPod(node string) string {
	return fmt.Sprintf(`{"metadata":{"name":"etcd-%[1]s","namespace":"kube-system","labels":{"component":"etcd","tier":"control-plane"},"annotations":{"kubernetes.io/config.source":"file"},
		"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"%[1]s","uid":"u","controller":true}]},
		"spec":{"nodeName":"%[1]s","hostNetwork":true,"containers":[{"name":"etcd","image":"registry.k8s.io/etcd:3.5.15-0",
		"command":["etcd","--data-dir=/var/lib/etcd","--name=%[1]s","--initial-cluster=%[1]s=https://192.0.2.1:2380","--listen-peer-urls=https://192.0.2.1:2380"]}]},
		"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True"},{"type":"Ready","status":"True"}]}}`, node)
}

// nodeOf is a Ready node of the control plane.
func nodeOf(name string) string {
	return `{"metadata":{"name":"` + name + `","uid":"u","labels":{"kubernetes.io/hostname":"` + name + `","node-role.kubernetes.io/control-plane":""}},` +
		`"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
}

func items(of func(string) string, names ...string) string {
	var all []string
	for _, n := range names {
		all = append(all, of(n))
	}
	return `{"metadata":{"resourceVersion":"7"},"items":[` + strings.Join(all, ",") + `]}`
}

// TestAnEtcdListThatIsOutOfDateIsSaid in its policy, with both lists, and no longer once
// the two agree. Without a list, no pods are read.
func TestAnEtcdListThatIsOutOfDateIsSaid(t *testing.T) {
	const differ = "False EtcdListDiffers spec.controlPlane.etcdNodeNames and etcd's observed members differ "
	three := []string{"cp-1", "cp-2", "cp-3"}
	for name, c := range map[string]struct {
		listed, nodes, pods []string
		want                string
		reads               int
		fails               string
	}{
		"it is what is observed": {three, three, three, "True Understood every field was understood", 1, ""},
		"it lacks two": {three, append([]string{"cp-5", "cp-4"}, three...), append([]string{"cp-5", "cp-4"}, three...),
			differ + "(observed and not listed: cp-4, cp-5); listed are cp-1, cp-2, cp-3; observed are cp-1, cp-2, cp-3, cp-4, cp-5", 1, ""},
		"a control-plane node runs no etcd": {three, append([]string{"cp-api"}, three...), three,
			differ + "(observed and not listed: cp-api (a control-plane node without a pod of etcd)); listed are cp-1, cp-2, cp-3; observed are cp-1, cp-2, cp-3, cp-api", 1, ""},
		"one that it lists has no Node": {append([]string{"cp-0"}, three...), three, three,
			differ + "(listed and no Node: cp-0); listed are cp-0, cp-1, cp-2, cp-3; observed are cp-1, cp-2, cp-3", 1, ""},
		"one was replaced": {[]string{"cp-1", "cp-2", "cp-0"}, three, three,
			differ + "(observed and not listed: cp-3; listed and no Node: cp-0); listed are cp-0, cp-1, cp-2; observed are cp-1, cp-2, cp-3", 1, ""},
		"a pod is left of a Node that is gone": {three, three[:2], three,
			differ + "(listed and no Node: cp-3); listed are cp-1, cp-2, cp-3; observed are cp-1, cp-2, cp-3", 1, ""},
		"etcd runs where no pod shows it":             {three, three, nil, "True Understood every field was understood", 1, ""},
		"and a name of it has no Node":                {three, three[:2], nil, differ + "(listed and no Node: cp-3); listed are cp-1, cp-2, cp-3; observed are none", 1, ""},
		"nothing is listed, and a member has no Node": {nil, three[:2], three, "True Understood every field was understood", 0, ""},
		"its pods can't be read": {three, three, nil, "Unknown EtcdQuorum etcd's pods in kube-system could not be read: nobody knows whether spec.controlPlane.etcdNodeNames has all members", 1,
			"look at etcd's members: read etcd's pods: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "3", Generation: 2}}
			p.Spec = api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, Action: api.ActionReboot, ControlPlane: api.ControlPlane{EtcdNodeNames: c.listed}}
			p.Spec.PauseWindows = []api.PauseWindowRule{{Start: "12:00", Duration: *api.DurationOf(time.Hour), TimeZone: new("Europe/Berlin")}} // a zone that is not known is said first
			reads, writes := 0, 0
			const group = "/apis/nodefence.io/v1alpha1/"
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == etcdPods {
					if reads++; c.fails != "" {
						kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
						return
					}
				}
				kubetest.Table(map[string]any{
					"/api/v1/nodes": items(nodeOf, c.nodes...), etcdPods: items(etcdPod, c.pods...),
					group + "fencepolicies": api.FencePolicyList{Items: []api.FencePolicy{p}},
					group + "nodefences":    `{"items":[]}`, group + "fencebudgets": `{"items":[]}`,
					group + "fenceledgers/cluster": `{"metadata":{"name":"cluster","resourceVersion":"1"}}`,
				}, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == group+"fencepolicies/p/status" {
						writes++
						var patch api.FencePolicy
						if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
							t.Error(err)
						}
						p.Status = patch.Status
					}
					kubetest.Answer(w, `{"metadata":{"name":"x"}}`)
				})(w, r)
			}))
			w := &Writer{Objects: client, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
			for round := range 2 {
				err := w.Write(t.Context())
				if (err != nil) != (c.fails != "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			if got := acceptedOf(&p); got != c.want || reads != 2*c.reads || writes != 1 || p.Status.SelectedNodes != int32(len(c.nodes)) {
				t.Errorf("%s\nwant %s\nits pods were read %d times, the status was written %d times, %+v", got, c.want, reads, writes, p.Status)
			}
			p.Spec.ControlPlane.EtcdNodeNames = nil
			if err := w.Write(t.Context()); err != nil || acceptedOf(&p) != "True Understood every field was understood" {
				t.Errorf("without a list: %s %v", acceptedOf(&p), err)
			}
		})
	}
}

func acceptedOf(p *api.FencePolicy) string {
	for _, c := range p.Status.Conditions {
		if c.Type == "Accepted" {
			return fmt.Sprint(c.Status, " ", c.Reason, " ", c.Message)
		}
	}
	return ""
}
