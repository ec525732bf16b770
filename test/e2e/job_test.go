package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	jobsNamespace = "nodefence-jobs"
	jobImage      = "example.invalid/agents"
)

// TestFenceByJobs: Debian's fence_ipmilan calls a fence's device in Jobs, with the accounts and
// rights of infra/knative. At first no node has room for the pod; then a pod takes its call and is
// not seen to end. The lab has no container runtime: this test runs what a pod's container would
// run, and reports its end. Jobs, scheduling, admission, and Secrets are real.
func TestFenceByJobs(t *testing.T) {
	if _, err := exec.LookPath("/usr/sbin/fence_ipmilan"); err != nil {
		t.Skip("fence_ipmilan is missing: apt-get install fence-agents")
	}
	w := newWorld(t, 4, patient)
	root, err := rig.Root()
	must(t, err)
	rights := filepath.Join(root, "infra/knative/components/jobs/rights.yaml")
	must(t, w.ApplyFile(w.ctx, filepath.Join(root, "infra/accounts/rights.yaml")))
	must(t, w.ApplyFile(w.ctx, rights))
	w.granted(grants(t, rights))
	machines, err := w.Lab.Machines()
	must(t, err)
	for _, m := range machines {
		w.inJobs(m)
	}
	victim := w.database(1)
	o := &office{world: w, used: map[right]bool{}, images: []string{jobImage}, call: functions.CallTimeout(20 * time.Second)} // an agent's Python begins slowly on a busy machine
	o.open()
	k := &containers{world: w, begun: map[types.UID]bool{}}
	k.hang = true
	k.play()

	w.cordoned(victim, true)
	w.node(victim, "crash")
	w.untilFence(victim, "a call for which no node has room", func(f *api.NodeFence) bool {
		return strings.Contains(f.Status.Power.LastError, "no node was found for its pod")
	})
	o.untilUsed(right{"nodefence-power", jobsNamespace, "batch", "jobs", "delete", ""})
	w.cordoned(victim, false)
	w.untilFence(victim, "a pod that is not seen to end", func(f *api.NodeFence) bool {
		return strings.Contains(f.Status.Power.LastError, "was not seen to end")
	})
	o.untilUsed(right{"nodefence-power", jobsNamespace, "", "pods", "delete", ""})
	w.words(victim, "")
	k.behave()
	w.moved("db-0", victim)
	f := w.phase(victim, api.Finished)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
	if n := len(f.Status.Jobs); n < 5 || n > 16 {
		t.Errorf("status.jobs has %d: %q", n, f.Status.Jobs)
	}
	k.check(victim, f.Status.Jobs)
	o.allUsed(grants(t, rights))
	left, err := w.Kube.CoreV1().Secrets(jobsNamespace).List(w.ctx, metav1.ListOptions{})
	must(t, err)
	for _, s := range left.Items {
		t.Errorf("left: Secret %s", s.Name)
	}
}

// untilUsed waits until a right is used: on a busy machine something else, such as the Job's own
// deadline, is sometimes faster.
func (o *office) untilUsed(r right) {
	o.t.Helper()
	o.until(r.String(), func() (bool, error) { return len(o.unused([]right{r})) == 0, nil })
}

// inJobs configures that an agent in pods calls a machine's BMC.
func (w *world) inJobs(m rig.Machine) {
	w.t.Helper()
	host, port, err := net.SplitHostPort(m.BMC)
	must(w.t, err)
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(w.ctx, "fence-config-node-"+m.Name, metav1.GetOptions{})
	must(w.t, err)
	cm.Data = map[string]string{
		"config.properties": "node_name=" + m.Name + "\nisolation=mark-unschedulable\npower_management=bmc\nrecovery=mark-schedulable\n",
		"fence-method-bmc": fmt.Sprintf("agent_name=fence-ipmilan\njob_image=%s\nip=%s\nipport=%s\nlanplus=1\ncipher=3\nusername=%s\nsecret=bmc-%s\n",
			jobImage, host, port, m.Username, m.Name),
	}
	_, err = maps.Update(w.ctx, cm, metav1.UpdateOptions{})
	must(w.t, err)
}

// cordoned keeps new pods off all nodes but one, or lets them in again.
func (w *world) cordoned(but string, is bool) {
	w.t.Helper()
	nodes, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	for _, n := range nodes.Items {
		if n.Name == but {
			continue
		}
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, is)
		_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		must(w.t, err)
	}
}

func (w *world) untilFence(node, what string, ok func(*api.NodeFence) bool) {
	w.t.Helper()
	w.until(what, func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && ok(f), err
	})
}

// containers run what the pods of agents should run, as processes of this machine.
type containers struct {
	*world
	mu    sync.Mutex
	begun map[types.UID]bool
	pods  []corev1.Pod
	// hang makes them take their call and do nothing.
	hang bool
}

func (k *containers) behave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hang = false
}

// play runs them until the test is over.
func (k *containers) play() {
	k.t.Helper()
	bin, err := rig.Bin("nodefence")
	must(k.t, err)
	ctx, stop := context.WithCancel(k.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = rig.Until(ctx, "the end", func() (bool, error) { k.turn(ctx, bin, &wg); return false, nil })
	})
	k.t.Cleanup(func() { stop(); wg.Wait() })
}

func (k *containers) turn(ctx context.Context, bin string, wg *sync.WaitGroup) {
	pods, err := k.Kube.CoreV1().Pods(jobsNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, p := range pods.Items {
		k.mu.Lock()
		skip := p.Status.Phase != corev1.PodRunning || k.begun[p.UID] || p.DeletionTimestamp != nil
		k.mu.Unlock()
		if skip {
			continue
		}
		s, err := k.Kube.CoreV1().Secrets(jobsNamespace).Get(ctx, p.Spec.Volumes[0].Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			continue // a kubelet waits for it, too
		}
		k.mu.Lock()
		k.begun[p.UID] = true
		k.pods = append(k.pods, p)
		hang := k.hang
		k.mu.Unlock()
		if !hang {
			wg.Go(func() {
				if err := k.run(ctx, bin, p, s.Data["call"]); err != nil && ctx.Err() == nil {
					k.t.Errorf("run %s: %v", p.Name, err)
				}
			})
		}
	}
}

// run is one container from its start to its end.
func (k *containers) run(ctx context.Context, bin string, p corev1.Pod, call []byte) error {
	dir, err := os.MkdirTemp("", "pod")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	at, accepted, said := filepath.Join(dir, "call"), filepath.Join(dir, "accepted"), filepath.Join(dir, "said")
	since := p.Status.StartTime.Time
	if err := errors.Join(os.WriteFile(at, call, 0o600), os.Mkdir(accepted, 0o700), os.Chtimes(accepted, since, since)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, bin, append(slices.Clone(p.Spec.Containers[0].Args), at, accepted, said)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	err = cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return err
	}
	words, _ := os.ReadFile(said) // a container may end without one
	code := int32(cmd.ProcessState.ExitCode())
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase, "containerStatuses": []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Message: string(words), FinishedAt: metav1.Now(),
		}},
	}}}})
	if err != nil {
		return err
	}
	_, err = k.Kube.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// check: each pod of this fence ran on another node, was named in the fence's record, and had no
// rights, and no secret in anything that everyone may read (S29). The record keeps the last Jobs
// alone: where it is full, as after many calls that took too long, the first pods are not there.
func (k *containers) check(victim string, jobs []string) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	machines, err := k.Lab.Machines()
	must(k.t, err)
	kept := 0
	if len(jobs) == facts.MaxJobs {
		kept = len(k.pods) - facts.MaxJobs/2
	}
	for i, p := range k.pods {
		if p.Spec.NodeName == victim {
			k.t.Errorf("%s ran on %s, which was to be fenced", p.Name, victim)
		}
		if name := p.Labels["batch.kubernetes.io/job-name"]; i >= kept && !slices.Contains(jobs, name) {
			k.t.Errorf("Job %s is not in the record: %q", name, jobs)
		}
		text, err := json.Marshal(p)
		must(k.t, err)
		if strings.Contains(string(text), machines[victim].Password) {
			k.t.Errorf("%s shows the password", p.Name)
		}
		if *p.Spec.AutomountServiceAccountToken || p.Spec.ServiceAccountName != "default" {
			k.t.Errorf("%s may do something: %+v", p.Name, p.Spec)
		}
	}
}
