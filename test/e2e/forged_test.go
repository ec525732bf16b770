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

// forgedReports: a node's own credentials can report only about that node and its Pods, as
// its kubelet. A monitor's name is reserved for its account. Both hold for both kinds of
// Event (S18, S20).
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

// rewrittenReports: nobody may rewrite a report that he could not have made, whatever the
// new text: the original report would be lost (S18, S20).
func rewrittenReports(t *testing.T, w *world) {
	const kubelet, npd = "system:node:node-1", "system:serviceaccount:kube-system:npd on node-1"
	var (
		ours    = report{"Node", "node-1", "kubelet", "node-1"}
		theirs  = report{"Node", "node-2", "kubelet", "node-2"}
		hung    = report{"Node", "node-1", "kernel-monitor", "node-1"}
		hungToo = report{"Node", "node-2", "kernel-monitor", "node-2"}
		other   = report{"Node", "node-1", "docker-monitor", "node-1"}
		aside   = report{"PersistentVolumeClaim", "data", "kubelet", "node-1"}
		pod     = report{"Pod", "web-0", "kubelet", "node-1"}
		podToo  = report{"Pod", "web-0", "kubelet", "node-2"}
	)
	for what, c := range map[string]struct {
		who      string
		was, now report
		says     string
	}{
		"a kubelet of its node, again":                        {kubelet, ours, ours, ""},
		"a kubelet of a Pod, again":                           {kubelet, pod, pod, ""},
		"a kubelet of something else, of its node":            {kubelet, aside, ours, ""},
		"a kubelet of its node, of something else":            {kubelet, ours, aside, ""},
		"a kubelet of another node, of its own":               {kubelet, theirs, ours, "a node reports of no other Node than itself, which is node-1"},
		"a kubelet of another node, of something else":        {kubelet, theirs, aside, "a node reports of no other Node than itself, which is node-1"},
		"a kubelet of another's Pod, of its own":              {kubelet, podToo, pod, "source.host and reportingInstance of what a node reports must be its own name, node-1"},
		"a kubelet of its node, what a monitor has told":      {kubelet, hung, other, kubelet + " may not report as kernel-monitor"},
		"a monitor's account of its node, again":              {npd, hung, hung, ""},
		"a monitor's account of another node, of its own":     {npd, hungToo, hung, "reports of no other Node than the one its Pod runs on"},
		"somebody, what a monitor has told":                   {"ben", hung, other, "ben may not report as kernel-monitor"},
		"somebody, what a monitor has told, of what is aside": {"ben", hung, aside, "ben may not report as kernel-monitor"},
		"somebody, what another monitor has told":             {"ben", other, aside, ""},
	} {
		got := w.rewrites(c.who, c.was, c.now)
		if d := cmp.Diff(c.says, got); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// report is an Event as far as the tests change it.
type report struct{ kind, of, component, host string }

// event is the report as core/v1 has it, or as events.k8s.io does.
func (r report) event(group string) map[string]any {
	about := map[string]any{"kind": r.kind, "name": r.of, "apiVersion": "v1"}
	if r.kind != "Node" {
		about["namespace"] = "default"
	}
	body := map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"generateName": "r-", "namespace": "default"},
		"involvedObject": about, "source": map[string]any{"component": r.component, "host": r.host},
		"type": "Warning", "reason": "TaskHung", "message": "x", "count": 1,
	}
	if group != "" {
		for old, now := range map[string]string{"involvedObject": "regarding", "source": "", "message": "note", "count": ""} {
			if now != "" {
				body[now] = body[old]
			}
			delete(body, old)
		}
		body["apiVersion"], body["action"], body["eventTime"] = "events.k8s.io/v1", "x", "2026-01-01T00:00:00.000000Z"
		if body["reportingController"], body["reportingInstance"] = r.component, r.host; r.host == "" {
			body["reportingInstance"] = "none"
		}
	}
	return body
}

// reporter is a user, with the node that his Pod runs on.
func (w *world) reporter(who string) rest.Interface {
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
	return client.CoreV1().RESTClient()
}

// reports writes one Event as a user and returns the refusal. The Event is not kept.
func (w *world) reports(who, group, kind, of, component, host string) string {
	w.t.Helper()
	path := "/api/v1"
	if group != "" {
		path = "/apis/events.k8s.io/v1"
	}
	raw, err := json.Marshal(report{kind, of, component, host}.event(group))
	must(w.t, err)
	return refusedWith(w.reporter(who).Post().AbsPath(path+"/namespaces/default/events").Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body(raw).Do(w.ctx).Error())
}

// rewrites changes an Event, as a user, into another Event, and returns the refusal. The first
// Event is by a user who may report it. Nothing is kept.
func (w *world) rewrites(who string, was, now report) string {
	w.t.Helper()
	const path = "/api/v1/namespaces/default/events"
	raw, err := json.Marshal(was.event(""))
	must(w.t, err)
	by := map[string]string{"kubelet": "system:node:" + was.host, "kernel-monitor": "system:serviceaccount:racks:central", "docker-monitor": "ben"}[was.component]
	kept, err := w.reporter(by).Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(raw).Do(w.ctx).Raw()
	must(w.t, err)
	var made struct {
		Metadata struct{ Name, ResourceVersion string }
	}
	must(w.t, json.Unmarshal(kept, &made))
	body := now.event("")
	body["metadata"] = map[string]any{"name": made.Metadata.Name, "namespace": "default", "resourceVersion": made.Metadata.ResourceVersion}
	raw, err = json.Marshal(body)
	must(w.t, err)
	return refusedWith(w.reporter(who).Put().AbsPath(path+"/"+made.Metadata.Name).Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body(raw).Do(w.ctx).Error())
}

func refusedWith(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
