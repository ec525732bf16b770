package jobs

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// limit is what a call has in these tests.
const limit = 20 * time.Second

// yard is an API server with nothing in it but the Jobs of agents. A test says what happens to
// their pods.
type yard struct {
	mu      sync.Mutex
	jobs    map[string]*batchv1.Job
	secrets map[string]*corev1.Secret
	// earlier are pods of other calls.
	earlier []corev1.Pod
	// play returns a Job's pod as it is now; nil if there is none.
	play func(y *yard, p *corev1.Pod) *corev1.Pod
	// did has the requests other than reads.
	did []string
}

func (y *yard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	y.mu.Lock()
	defer y.mu.Unlock()
	name := path.Base(r.URL.Path)
	var answer any = metav1.Status{Status: "Success"}
	switch what := r.Method + " " + path.Base(path.Dir(r.URL.Path)); {
	case r.Method == http.MethodPost && name == "jobs":
		j := &batchv1.Job{}
		_ = json.NewDecoder(r.Body).Decode(j)
		j.UID = "uid-job"
		y.jobs[j.Name], answer = j, j
		y.did = append(y.did, "make job")
	case r.Method == http.MethodPost && name == "secrets":
		s := &corev1.Secret{}
		_ = json.NewDecoder(r.Body).Decode(s)
		y.secrets[s.Name], answer = s, s
		y.did = append(y.did, "hand over")
	case what == "GET jobs" && y.jobs[name] != nil:
		answer = y.jobs[name]
	case what == "DELETE jobs":
		delete(y.jobs, name)
		y.did = append(y.did, "delete job")
	case what == "DELETE secrets":
		delete(y.secrets, name)
		y.did = append(y.did, "take back")
	case what == "DELETE pods":
		y.did = append(y.did, "end pod "+name)
	case name == "pods":
		answer = corev1.PodList{Items: y.pods(r.URL.Query().Get("labelSelector"))}
	default:
		kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	kubetest.Answer(w, answer)
}

// pods are those of one Job, or those of a node.
func (y *yard) pods(selector string) (all []corev1.Pod) {
	label, value, _ := strings.Cut(selector, "=")
	if label == callsOf {
		return y.earlier
	}
	j := y.jobs[value]
	if j == nil {
		return nil
	}
	p := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: *j.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace = "pod", "jobs"
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID}}
	if p = y.play(y, p); p == nil {
		return nil
	}
	return []corev1.Pod{*p}
}

// accepted is a pod that its node has accepted.
func accepted(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName, p.Status.Phase, p.Status.StartTime = node, corev1.PodPending, &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

// over is a pod whose container has ended.
func over(p *corev1.Pod, node string, code int32, said string) *corev1.Pod {
	p = accepted(p, node)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: said}}}}
	return p
}

func theJobs(t *testing.T, y *yard) *AgentRunner {
	t.Helper()
	y.jobs, y.secrets = map[string]*batchv1.Job{}, map[string]*corev1.Secret{}
	return &AgentRunner{Client: kubetest.SynctestClient(t, y), Namespace: "jobs", Claim: devicecall.Claim{
		Node: "node-7", Holder: "0123456789abcdef", Record: metav1.OwnerReference{Kind: "NodeFence", Name: "node-7", UID: "fence"},
	}}
}

const ours = "call-c346d3879a2150f0-0123456789abcdef-1"

// TestACallInAPod: only what is seen of a pod counts. A call is handed over last, and taken back
// in every case (S10).
func TestACallInAPod(t *testing.T) {
	handed := func(y *yard) bool { return len(y.secrets) > 0 || slices.Contains(y.did, "take back") }
	taken := func(y *yard) bool { return slices.Contains(y.did, "take back") }
	for name, tc := range map[string]struct {
		play func(y *yard, p *corev1.Pod) *corev1.Pod
		want job.End
		err  string
		did  []string
	}{
		"it ends": {
			play: func(y *yard, p *corev1.Pod) *corev1.Pod {
				if handed(y) {
					return over(p, "node-1", 2, "off")
				}
				return accepted(p, "node-1")
			},
			want: job.End{Code: 2, Said: "off"}, did: []string{"make job", "hand over", "take back"},
		},
		"no pod is made": {
			play: func(*yard, *corev1.Pod) *corev1.Pod { return nil },
			err:  "no time is left: its pod was not made; the events of the Job may say why", did: []string{"make job", "delete job"},
		},
		"no node has room": {
			play: func(_ *yard, p *corev1.Pod) *corev1.Pod { return p },
			err:  "no time is left: no node was found for its pod", did: []string{"make job", "delete job"},
		},
		"its node does not accept it": {
			play: func(_ *yard, p *corev1.Pod) *corev1.Pod { p.Spec.NodeName = "node-1"; return p },
			err:  "no time is left: its pod is on node node-1", did: []string{"make job", "delete job"},
		},
		"its node refuses it": {
			play: func(_ *yard, p *corev1.Pod) *corev1.Pod {
				p.Spec.NodeName, p.Status.Phase, p.Status.Reason, p.Status.Message = "node-1", corev1.PodFailed, "OutOfcpu", "no"
				return p
			},
			err: "node node-1 did not run its pod: OutOfcpu no", did: []string{"make job", "delete job"},
		},
		"on the very node (S13)": {
			play: func(_ *yard, p *corev1.Pod) *corev1.Pod { return accepted(p, "node-7") },
			err:  "its pod is on the very node that is to be fenced", did: []string{"make job", "delete job"},
		},
		"an end before it had the call": {
			play: func(_ *yard, p *corev1.Pod) *corev1.Pod { return over(p, "node-1", 2, "off") },
			err:  "its pod ended before it had the call", did: []string{"make job", "delete job"},
		},
		"failed by somebody who did not see its end (S2)": {
			play: func(y *yard, p *corev1.Pod) *corev1.Pod {
				p = accepted(p, "node-1")
				if handed(y) {
					p.Status.Phase = corev1.PodFailed
				}
				return p
			},
			err: "no time is left: its pod is on node node-1; its pod on node node-1 was not seen to end, and may act until",
			did: []string{"make job", "hand over", "take back", "end pod pod"},
		},
		"gone (S2)": {
			play: func(y *yard, p *corev1.Pod) *corev1.Pod {
				if handed(y) {
					return nil
				}
				return accepted(p, "node-1")
			},
			err: "its pod is gone, and was not seen to end", did: []string{"make job", "hand over", "take back"},
		},
		"ended by us, and seen": {
			play: func(y *yard, p *corev1.Pod) *corev1.Pod {
				if taken(y) {
					return over(p, "node-1", 137, "")
				}
				return accepted(p, "node-1")
			},
			want: job.End{Code: 137}, did: []string{"make job", "hand over", "take back"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &yard{play: tc.play}
				j := theJobs(t, y)
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				var late []time.Duration
				j.Claim.Ended = func(d time.Duration) { late = append(late, d) }
				got, err := j.Run(ctx, job.Call{Action: "off", Limit: limit, Delay: time.Minute})
				if seen := slices.Equal(late, []time.Duration{time.Minute}); seen != (err == nil) || len(late) > 1 {
					t.Errorf("it is told to have ended %v, and gives %v", late, err)
				}
				if (err != nil) != (tc.err != "") || err != nil && !strings.HasPrefix(err.Error(), "job "+ours+": "+tc.err) {
					t.Errorf("%v\nwant %s", err, tc.err)
				}
				if d := cmp.Diff([]any{tc.want, tc.did}, []any{got, y.did}); d != "" {
					t.Error(d)
				}
				if len(y.secrets) > 0 {
					t.Errorf("left: %v", slices.Collect(maps.Keys(y.secrets)))
				}
			})
		})
	}
}

// TestEarlierCalls: a new call waits for an earlier one that may still act, but not for a read or
// for one whose time is over. None of their nodes is used again (S7).
func TestEarlierCalls(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // at which each fake clock of synctest begins
	in := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	one := func(action, until string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "jobs", Annotations: map[string]string{callIs: action, actsUntil: until}}}
		return *accepted(&p, "node-2")
	}
	ended := one("off", in(time.Hour))
	over(&ended, "node-2", 0, "")
	nowhere := one("off", in(time.Hour))
	nowhere.Spec.NodeName = ""
	for name, tc := range map[string]struct {
		pod   corev1.Pod
		waits bool
		off   []string
	}{
		"an off that may act":       {pod: one("off", in(time.Hour)), waits: true},
		"an on that may act":        {pod: one("on", in(time.Hour)), waits: true},
		"one that does not say":     {pod: one("off", "soon"), waits: true},
		"an off whose time is over": {pod: one("off", in(-time.Hour)), off: []string{"node-2", "node-7"}},
		"a read":                    {pod: one("status", in(time.Hour)), off: []string{"node-2", "node-7"}},
		"one that has ended":        {pod: ended, off: []string{"node-7"}},
		"one that is on no node":    {pod: nowhere, off: []string{"node-7"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &yard{earlier: []corev1.Pod{tc.pod}, play: func(y *yard, p *corev1.Pod) *corev1.Pod {
					if len(y.secrets) > 0 {
						return over(p, "node-1", 0, "done")
					}
					return accepted(p, "node-1")
				}}
				j := theJobs(t, y)
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				_, err := j.Run(ctx, job.Call{Action: "on", Limit: limit})
				if waits := len(y.jobs) == 0; waits != tc.waits || (err != nil) != tc.waits {
					t.Fatalf("waits %v, want %v: %v", waits, tc.waits, err)
				}
				var off []string
				for _, made := range y.jobs {
					for _, m := range made.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields {
						off = append(off, m.Values...)
					}
				}
				if d := cmp.Diff(tc.off, off); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestTheJob: one try, deadlines, no rights, and no secret in it (S10, S29).
func TestTheJob(t *testing.T) { synctest.Test(t, seeTheJob) }

func seeTheJob(t *testing.T) {
	const secret = "hunter-2"
	y := &yard{}
	y.play = func(y *yard, p *corev1.Pod) *corev1.Pod {
		for _, s := range y.secrets {
			if !strings.Contains(string(s.Data["call"]), secret) || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "uid-job" || !*s.Immutable {
				t.Errorf("the call is handed over as %+v", s)
			}
			return over(p, "node-1", 0, "done")
		}
		return accepted(p, "node-1")
	}
	j := theJobs(t, y)
	var names []string
	j.Claim.Made = func(name string) { names = append(names, name) }
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		_, err := j.Run(ctx, job.Call{Action: "off", Limit: limit, Image: "registry.example/agents:1", Params: map[string]string{"password": secret}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{ours, strings.TrimSuffix(ours, "1") + "2"}, names); d != "" {
		t.Error(d)
	}
	made := y.jobs[ours]
	text, err := json.Marshal(made)
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%v: the Job shows the secret: %s", err, text)
	}
	s, p := made.Spec, made.Spec.Template.Spec
	c := p.Containers[0]
	for limit, got := range map[time.Duration]int64{8 * time.Second: *s.ActiveDeadlineSeconds, 6 * time.Second: *p.ActiveDeadlineSeconds} {
		if want := seconds(limit); got != want {
			t.Errorf("a deadline of %d s, want %d", got, want)
		}
	}
	got := []any{
		*s.BackoffLimit, *s.Completions, *p.TerminationGracePeriodSeconds, p.RestartPolicy,
		*p.AutomountServiceAccountToken, p.ServiceAccountName, len(p.Tolerations), *p.SecurityContext.RunAsNonRoot, *c.SecurityContext.AllowPrivilegeEscalation,
		c.Args, len(c.Env) + len(c.EnvFrom), made.OwnerReferences[0].Name,
	}
	want := []any{
		int32(0), int32(1), int64(1), corev1.RestartPolicyNever, false, "", 0, true, false, []string{"agent"}, 0, "node-7",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
