package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const reporters = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: report}
rules: [{apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: report}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: report}
subjects: [{kind: Group, name: system:authenticated}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nodefence-monitors, namespace: nodefence-system}
data:
  kernel-monitor: |
    system:serviceaccount:kube-system:npd
    system:serviceaccount:racks:central*
  example.com.disks: system:serviceaccount:kube-system:npd
  kubelet: system:nodes
`

// forgedReports: a node's own credentials report of that node and of Pods as its kubelet
// only, and a monitor's name is kept to its account, by both kinds of Event (S18, S20).
func forgedReports(t *testing.T, w *world) {
	must(t, w.Apply(w.ctx, reporters))
	const kubelet, npd, central = "system:node:node-1", "system:serviceaccount:kube-system:npd", "system:serviceaccount:racks:central"
	w.until("the admission policies to hold", func() (bool, error) {
		return w.reports(npd+" on node-1", "", "Node", "node-1", "kernel-monitor", "node-1") == "" &&
			w.reports("ben", "", "Node", "node-1", "kernel-monitor", "node-1") != "" &&
			w.reports(kubelet, "", "Node", "node-2", "kubelet", "node-1") != "", nil
	})
	const (
		itself = "a node reports of no other Node than itself, which is node-1"
		host   = "source.host and reportingInstance of what a node reports must be its own name, node-1"
		pods   = "of Pods a node reports as the kubelet only"
		name   = " may not report as kernel-monitor: ConfigMap nodefence-monitors in nodefence-system names who may"
		bound  = "reports of no other Node than the one its Pod runs on"
	)
	for what, c := range map[string]struct{ who, kind, of, as, host, says string }{
		"a kubelet of its node":                              {kubelet, "Node", "node-1", "kubelet", "node-1", ""},
		"a kubelet of another node":                          {kubelet, "Node", "node-2", "kubelet", "node-1", itself},
		"a kubelet of another node, as a monitor":            {kubelet, "Node", "node-2", "docker-monitor", "node-1", itself},
		"a kubelet of another node, as that one":             {kubelet, "Node", "node-2", "kubelet", "node-2", itself},
		"a kubelet of its node, as another host":             {kubelet, "Node", "node-1", "kubelet", "node-2", host},
		"a kubelet of its node, as a monitor that is kept":   {kubelet, "Node", "node-1", "kernel-monitor", "node-1", kubelet + name},
		"a kubelet of its node, as a monitor that is not":    {kubelet, "Node", "node-1", "docker-monitor", "node-1", ""},
		"a kubelet of a Pod":                                 {kubelet, "Pod", "web-0", "kubelet", "node-1", ""},
		"a kubelet of a Pod, as another one":                 {kubelet, "Pod", "web-0", "kubelet", "node-2", host},
		"a kubelet of a Pod, as a controller":                {kubelet, "Pod", "web-0", "attachdetach-controller", "node-1", pods},
		"a kubelet of something else":                        {kubelet, "PersistentVolumeClaim", "data", "kubelet", "elsewhere", ""},
		"somebody of a Pod, as the kubelet":                  {"ben", "Pod", "web-0", "kubelet", "node-1", "ben may not report as kubelet"},
		"somebody, as a monitor that is kept":                {"ben", "Node", "node-1", "kernel-monitor", "node-1", "ben" + name},
		"somebody, as one that is kept, with a / in it":      {"ben", "Node", "node-1", "example.com/disks", "node-1", "ben may not report as example.com.disks"},
		"somebody, as a monitor that is not":                 {"ben", "Node", "node-1", "docker-monitor", "", ""},
		"a monitor's account of its node":                    {npd + " on node-1", "Node", "node-1", "kernel-monitor", "node-1", ""},
		"a monitor's account of another node":                {npd + " on node-1", "Node", "node-2", "kernel-monitor", "node-2", bound},
		"a monitor's account of another node, without a Pod": {npd, "Node", "node-2", "kernel-monitor", "node-2", bound},
		"a monitor for all nodes":                            {central, "Node", "node-2", "kernel-monitor", "", ""},
	} {
		for _, group := range []string{"", "events.k8s.io"} {
			got := w.reports(c.who, group, c.kind, c.of, c.as, c.host)
			if d := cmp.Diff(c.says, got); c.says == "" && got != "" || !strings.Contains(got, c.says) {
				t.Errorf("%s (%q): %s", what, group, d)
			}
		}
	}
}

// reports writes one Event as a user, whose Pod runs where he says, and answers with the
// refusal. It is not kept.
func (w *world) reports(who, group, kind, of, component, host string) string {
	w.t.Helper()
	cfg := rest.CopyConfig(w.Config)
	user, node, on := strings.Cut(who, " on ")
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	if strings.HasPrefix(user, "system:node:") {
		cfg.Impersonate.Groups = append(cfg.Impersonate.Groups, "system:nodes")
	}
	if on {
		cfg.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(cfg)
	must(w.t, err)
	about := map[string]any{"kind": kind, "name": of, "apiVersion": "v1"}
	if kind != "Node" {
		about["namespace"] = "default"
	}
	path, body := "/api/v1", map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"generateName": "r-", "namespace": "default"},
		"involvedObject": about, "source": map[string]any{"component": component, "host": host},
		"type": "Warning", "reason": "TaskHung", "message": "x", "count": 1,
	}
	if group != "" {
		path = "/apis/events.k8s.io/v1"
		for old, now := range map[string]string{"involvedObject": "regarding", "source": "", "message": "note", "count": ""} {
			if now != "" {
				body[now] = body[old]
			}
			delete(body, old)
		}
		body["apiVersion"], body["action"], body["eventTime"] = "events.k8s.io/v1", "x", "2026-01-01T00:00:00.000000Z"
		if body["reportingController"], body["reportingInstance"] = component, host; host == "" {
			body["reportingInstance"] = "none"
		}
	}
	raw, err := json.Marshal(body)
	must(w.t, err)
	err = client.CoreV1().RESTClient().Post().AbsPath(path+"/namespaces/default/events").Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body(raw).Do(w.ctx).Error()
	if err == nil {
		return ""
	}
	return err.Error()
}
