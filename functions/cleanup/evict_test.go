package cleanup

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/report"
)

// quiet is a Reporter that ignores everything.
type quiet struct{ report.Reporter }

func (quiet) Alerted(_ context.Context, _ report.Refusal, _ string) {}

const (
	nodePath     = "/api/v1/nodes/a"
	fencePath    = "/apis/nodefence.io/v1alpha1/nodefences/a"
	policyPath   = "/apis/nodefence.io/v1alpha1/fencepolicies"
	problemsPath = "/apis/nodefence.io/v1alpha1/nodeproblempolicies"
	ledgerPath   = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
	aboutNode    = "/api/v1/namespaces/default/events"
)

// TestEvictions: Pods are moved only off a healthy node without a fence, and only for
// problems that the API server has (S18: no event is believed).
func TestEvictions(t *testing.T) {
	now := time.Now()
	told := func(pod, message string) corev1.Event {
		return corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: pod, CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod, UID: types.UID(pod)},
			Type:           corev1.EventTypeWarning, Reason: "FailedAttachVolume", Message: message, Count: 1, Source: corev1.EventSource{Component: "attachdetach-controller"},
		}
	}
	moves := func(n int) string {
		var l corev1.EventList
		for i := range n {
			l.Items = append(l.Items, corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
				Reason:     string(api.PodMoved), ReportingInstance: row(nodeproblem.Rule{Policy: "q", Name: "attach"}),
			})
		}
		b, _ := json.Marshal(l)
		return string(b)
	}
	const pod = `{"metadata":{"name":"%s","namespace":"shop","uid":"%[1]s"%s},"spec":{"nodeName":"a","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"%s"}}]}}`
	pods := fmt.Sprintf(pod, "db-0", "", "data") + "," + fmt.Sprintf(pod, "db-1", "", "data") + "," + fmt.Sprintf(pod, "db-2", "", "other")
	with := func(path, old, new string) func(map[string]string) {
		return func(m map[string]string) {
			if !strings.Contains(m[path], old) {
				t.Errorf("%s has no %q", path, old)
			}
			m[path] = strings.Replace(m[path], old, new, 1)
		}
	}
	put := func(path, is string) func(map[string]string) { return func(m map[string]string) { m[path] = is } }
	evicted := func(names ...string) (all []string) {
		for _, n := range names {
			all = append(all, "POST /api/v1/namespaces/shop/pods/"+n+"/eviction")
		}
		return all
	}
	volume := with(problemsPath, `"what":"Pod"`, `"what":"Volume"`)
	for name, c := range map[string]struct {
		told   []corev1.Event
		change []func(map[string]string)
		// refused is how the API server answers each eviction of db-0.
		refused string
		want    []string
		fails   bool
	}{
		"the others, if one is refused": {change: []func(map[string]string){volume}, want: evicted("db-0", "db-1"),
			refused: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"This pod has more than one PodDisruptionBudget"}`},
		"none past a webhook that fails": {change: []func(map[string]string){volume}, want: evicted("db-0"), fails: true,
			refused: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"failed calling webhook"}`},
		"none before the API server is up": {change: []func(map[string]string){volume}, want: evicted("db-0"), fails: true,
			refused: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"etcd is away"}`},
		"the Pod that it was reported of":                   {want: evicted("db-0")},
		"and what shares its volume":                        {change: []func(map[string]string){volume}, want: evicted("db-0", "db-1")},
		"nothing that was not reported":                     {told: []corev1.Event{}},
		"nothing for a volume that another node still has":  {told: []corev1.Event{told("db-0", "Multi-Attach error for volume")}},
		"nothing that is only to be told":                   {change: []func(map[string]string){with(problemsPath, `"action":"Evict"`, `"action":"Alert"`)}},
		"nothing by a rule of a newer version":              {change: []func(map[string]string){with(problemsPath, `"maxPods":2`, `"maxPods":2,"oneByOne":true`)}},
		"nothing of a node that the policy does not select": {change: []func(map[string]string){with(problemsPath, `"selector":{}`, `"selector":{"matchLabels":{"pool":"db"}}`)}},
		"nothing of a node that no FencePolicy selects":     {change: []func(map[string]string){put(policyPath, `{"items":[]}`)}},
		"once, for two rules":                               {change: []func(map[string]string){with(problemsPath, `"rules":[`, `"rules":[{"name":"often","kubernetesEvent":{"about":"Pod","reason":"FailedAttachVolume"},"threshold":{"count":9},"action":"Evict"},`)}, want: evicted("db-0")},
		"nothing under a dry run":                           {change: []func(map[string]string){with(policyPath, `"mode":"Enforce"`, `"mode":"DryRun"`)}},
		"nothing of a paused policy":                        {change: []func(map[string]string){with(policyPath, `"spec":{`, `"spec":{"pauseRequests":["me"],`)}},
		"nothing while the ledger stops everything":         {change: []func(map[string]string){with(ledgerPath, `"spec":{`, `"spec":{"stop":true`)}},
		"nothing of a node that is not Ready":               {change: []func(map[string]string){with(nodePath, `"True"`, `"Unknown"`)}},
		"nothing of a node that is excluded":                {change: []func(map[string]string){with(nodePath, `"labels":{`, `"labels":{"remediation.medik8s.io/exclude-from-remediation":"true"`)}},
		"nothing of a node that is being fenced":            {change: []func(map[string]string){put(fencePath, `{"metadata":{"name":"a"},"spec":{"nodeName":"a"},"status":{"fenceNumber":1,"phase":"Pending"}}`)}},
		"nothing of a node that is gone":                    {change: []func(map[string]string){func(m map[string]string) { delete(m, nodePath) }}},
		"no Pod of a DaemonSet":                             {change: []func(map[string]string){with("/api/v1/pods", `"uid":"db-0"`, `"uid":"db-0","ownerReferences":[{"kind":"DaemonSet","controller":true,"name":"d","uid":"d","apiVersion":"apps/v1"}]`)}},
		"none that ends already":                            {change: []func(map[string]string){with("/api/v1/pods", `"uid":"db-0"`, `"uid":"db-0","deletionTimestamp":"2026-01-01T00:00:00Z"`)}},
		"not more than may be moved in its time":            {change: []func(map[string]string){put(aboutNode, moves(2))}},
		"the last one that may":                             {change: []func(map[string]string){put(aboutNode, moves(1)), volume}, want: evicted("db-0")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.told == nil {
				c.told = []corev1.Event{told("db-0", "timed out")}
			}
			list, err := json.Marshal(corev1.EventList{Items: c.told})
			if err != nil {
				t.Fatal(err)
			}
			spec := `{"selector":{},"mode":"Enforce","action":"Reboot"}`
			rules := `{"name":"attach","kubernetesEvent":{"about":"Pod","reason":"FailedAttachVolume"},"action":"Evict","evict":{"what":"Pod","maxPods":2}}`
			answers := map[string]string{
				nodePath:                                 `{"metadata":{"name":"a","uid":"1","labels":{}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
				policyPath:                               `{"items":[{"metadata":{"name":"p"},"spec":` + spec + `}]}`,
				policyPath + "/p":                        `{"metadata":{"name":"p"},"spec":` + spec + `}`,
				problemsPath:                             `{"items":[{"metadata":{"name":"q"},"spec":{"selector":{},"rules":[` + rules + `]}}]}`,
				ledgerPath:                               `{"metadata":{"name":"cluster"},"spec":{}}`,
				"/api/v1/pods":                           `{"items":[` + pods + `]}`,
				"/api/v1/events":                         string(list),
				aboutNode:                                `{"items":[]}`,
				"/apis/nodefence.io/v1alpha1/nodefences": `{"items":[]}`,
			}
			for _, change := range c.change {
				change(answers)
			}
			var asked []string
			client := kubetest.Client(t, kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/pods/") {
					asked = append(asked, r.Method+" "+r.URL.Path)
				}
				if c.refused != "" && strings.HasSuffix(r.URL.Path, "/db-0/eviction") {
					var status metav1.Status
					_ = json.Unmarshal([]byte(c.refused), &status)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(int(status.Code))
					_, _ = w.Write([]byte(c.refused))
					return
				}
				kubetest.Answer(w, "{}")
			}))
			cleaner := &Cleaner{Client: client, Log: slog.New(slog.DiscardHandler), Reporter: quiet{}}
			source := events.SourceOf("c")
			report := source.Problem(events.ProblemReport{Node: "a", NodeUID: "1", Pod: "shop/db-0", Report: "r", Component: "attachdetach-controller", Reason: "FailedAttachVolume", Count: 1}, now)
			if _, err := cleaner.Handle(t.Context(), source.Failing(report, "a", now)); (err != nil) != c.fails {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, asked); d != "" {
				t.Error(d)
			}
		})
	}
}
