package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const deadlock = corev1.NodeConditionType("KernelDeadlock")

// detectorPolicy fences for the condition that node-problem-detector writes, and gives a machine little time to boot:
// a condition of the boot before must not have it cut again.
const detectorPolicy = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 30s, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 3, stormCoolDown: 1s}
unhealthyConditions: [{type: Ready, status: Unknown}, {type: KernelDeadlock, status: "True", duration: 2s}]
`

// TestNodeProblemDetectorFencesByItsCondition: node-problem-detector itself finds a permanent problem, and its node is
// fenced once. The program starts again before the fence, while the node boots, and after the fence, and its condition
// stands in the Node while no monitor runs: nothing is cut again (S3, S18, S26). A problem that it finds in the new boot
// is fenced.
func TestNodeProblemDetectorFencesByItsCondition(t *testing.T) {
	program := detectorProgram(t)
	w := newWorld(t, 3, detectorPolicy)
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	const node = "node-1"
	m := w.monitor(program, node)

	m.start()
	w.condition(node, corev1.ConditionFalse)
	m.logs("task docker:1234 blocked for more than 120 seconds.")
	w.condition(node, corev1.ConditionTrue)
	m.stop()
	m.start()                     // before the fence: it reads its log again
	number := w.powerCut(node, 1) // the start may have cleared the condition for a moment, which ends a fence without a cut
	m.stop()                      // the machine is off, and the log of its kernel with it
	m.forgets()

	first := w.fenceOver(node, number)
	w.words(node, "off on")
	w.condition(node, corev1.ConditionTrue) // nobody has written it since
	if first.Status.Outcome != api.Recovered || first.Status.Restarts != 0 {
		t.Errorf("the fence ended as %s after %d restarts: %s", first.Status.Outcome, first.Status.Restarts, first.Status.Message)
	}
	w.until("the condition of the boot before to be passed by", func() (bool, error) {
		return w.passedBy(node) > 1, nil
	})
	m.start() // after the fence
	w.condition(node, corev1.ConditionFalse)
	m.stop()
	m.start() // and once more
	w.condition(node, corev1.ConditionFalse)
	w.words(node, "off on")

	m.logs("task docker:77 blocked for more than 120 seconds.") // of this boot
	number = w.powerCut(node, number+1)
	m.stop()
	m.forgets()
	w.phase(node, api.Recovering)
	m.start() // during the fence, as the node boots
	w.fenceOver(node, number)
	m.stop()
	m.start()
	w.condition(node, corev1.ConditionFalse)
	w.words(node, "off on off on")
}

// TestNodeProblemDetectorsEventsAskAPerson: three hung tasks, which node-problem-detector itself reports as Events, have
// a person asked. It starts again, repeats its log in new Events while the fence waits and after its end, and nothing is
// cut, or asked again (S18, S20, S26).
func TestNodeProblemDetectorsEventsAskAPerson(t *testing.T) {
	program := detectorProgram(t)
	w := newWorld(t, 2, quick)
	must(t, w.Apply(w.ctx, rig.Problems("problems", "{name: hung, kubernetesEvent: {reason: TaskHung, component: kernel-monitor}, threshold: {count: 3}, action: Ask}")))
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	const node = "node-1"
	m := w.monitor(program, node)
	m.start()
	w.condition(node, corev1.ConditionFalse)
	for i := range 3 {
		m.logs(fmt.Sprintf("task db-%d:%d blocked for more than 120 seconds.", i, i))
	}
	w.asksPerson(node)
	m.stop()
	events := w.hungEvents(node)
	m.start()
	w.until("it to repeat what it reported", func() (bool, error) { return w.hungEvents(node) >= events+3, nil })
	w.asksPerson(node)
	must(t, w.patchWords(node, `{"abort":{"fenceNumber":1,"by":"lab-admin","at":"2026-01-01T00:00:01Z"}}`))
	w.ended(node, api.Aborted)
	m.stop()
	events, before := w.hungEvents(node), bytes.Count(w.log.Bytes(), []byte("reported 0 times of 3"))
	m.start()
	w.until("it to repeat that once more", func() (bool, error) { return w.hungEvents(node) >= events+3, nil })
	w.until("the repetition to be passed by", func() (bool, error) {
		return bytes.Count(w.log.Bytes(), []byte("reported 0 times of 3")) > before, nil
	})
	if f, err := w.Fences.Fence(w.ctx, node); err != nil || f.Status.FenceNumber != 1 || f.Open() {
		t.Errorf("fence %d of %s, open %v, %v", f.Status.FenceNumber, node, f.Open(), err)
	}
	w.words(node, "")
}

// TestTheCustomPluginOfThePageHasItsNodeFenced: the configuration of a custom plugin that POLICY.md shows sets a condition
// of the Node, for which the FencePolicy fences.
func TestTheCustomPluginOfThePageHasItsNodeFenced(t *testing.T) {
	program := detectorProgram(t)
	w := newWorld(t, 2, strings.Replace(detectorPolicy, "KernelDeadlock", "RaidBroken", 1))
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	page, err := os.ReadFile("../../infra/crd/POLICY.md")
	must(t, err)
	_, text, ok := strings.Cut(string(page), "```json\n")
	if !ok {
		t.Fatal("POLICY.md shows no configuration")
	}
	text, _, _ = strings.Cut(text, "```")
	dir := t.TempDir()
	script, broken, as := filepath.Join(dir, "check-raid.sh"), filepath.Join(dir, "broken"), filepath.Join(dir, "raid-monitor.json")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n[ ! -e "+broken+" ]\n"), 0o700))
	text = strings.Replace(strings.Replace(text, "/config/plugin/check-raid.sh", script, 1), `"invoke_interval": "30s"`, `"invoke_interval": "1s"`, 1)
	must(t, os.WriteFile(as, []byte(text), 0o600))
	m := w.monitor(program, "node-1")
	m.flag = "--config.custom-plugin-monitor=" + as
	m.start()
	w.conditionIs("node-1", "RaidBroken", corev1.ConditionFalse)
	must(t, os.WriteFile(broken, nil, 0o600))
	number := w.powerCut("node-1", 1)
	m.stop()
	f := w.fenceOver("node-1", number)
	if c := f.Status.Decision.Trigger.NodeCondition; c == nil || c.Type != "RaidBroken" {
		t.Errorf("fenced for %+v", f.Status.Decision.Trigger)
	}
	w.words("node-1", "off on")
}

// detectorProgram builds node-problem-detector into Go's own cache, and returns the program.
func detectorProgram(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "tool", "-n", "nodeproblemdetector")
	cmd.Dir, cmd.Env = "npd", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("build node-problem-detector: %v\n%s", err, failed.Stderr)
	}
	must(t, err)
	return strings.TrimSpace(string(out))
}

// monitor is node-problem-detector on one node, with a log of the node's kernel.
type monitor struct {
	w                        *world
	program, node, log, flag string
	running                  *exec.Cmd
	said                     bytes.Buffer
}

// monitor prepares the program's configuration, as its own kernel-monitor-filelog.json has it.
func (w *world) monitor(program, node string) *monitor {
	w.t.Helper()
	dir := w.t.TempDir()
	m := &monitor{w: w, program: program, node: node, log: filepath.Join(dir, "kern.log")}
	as := filepath.Join(dir, "kernel-monitor.json")
	m.flag = "--config.system-log-monitor=" + as
	m.forgets()
	text, err := json.Marshal(map[string]any{
		"plugin": "filelog", "logPath": m.log, "lookback": "5m", "bufferSize": 10, "source": "kernel-monitor",
		"pluginConfig": map[string]string{"timestamp": "^.{15}", "message": "kernel: \\[.*\\] (.*)", "timestampFormat": "Jan _2 15:04:05"},
		"conditions":   []any{map[string]string{"type": string(deadlock), "reason": "KernelHasNoDeadlock", "message": "kernel has no deadlock"}},
		"rules": []any{
			map[string]string{"type": "temporary", "reason": "TaskHung", "pattern": "task \\S+:\\w+ blocked for more than \\w+ seconds\\."},
			map[string]string{"type": "permanent", "condition": string(deadlock), "reason": "DockerHung", "pattern": "task docker:\\w+ blocked for more than \\w+ seconds\\."},
		},
	})
	must(w.t, err)
	must(w.t, os.WriteFile(as, text, 0o600))
	w.t.Cleanup(func() {
		m.stop()
		if w.t.Failed() {
			w.t.Logf("node-problem-detector said:\n%s", m.said.String())
		}
	})
	return m
}

func (m *monitor) start() {
	m.w.t.Helper()
	m.running = exec.CommandContext(m.w.ctx, m.program, "--hostname-override="+m.node, m.flag, "--logtostderr",
		"--apiserver-override="+m.w.Config.Host+"?inClusterConfig=false&auth="+m.w.Lab.Kubeconfig, "--port=0", "--prometheus-port=0", "--k8s-exporter-heartbeat-period=5s")
	m.running.Stdout, m.running.Stderr = &m.said, &m.said
	must(m.w.t, m.running.Start())
}

// stop ends the program as a machine that loses its power does.
func (m *monitor) stop() {
	m.w.t.Helper()
	if m.running == nil {
		return
	}
	if err := m.running.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.w.t.Error(err)
	}
	_ = m.running.Wait() // its end by a signal is no error here
	m.running = nil
}

// logs writes a line into the log of the node's kernel.
func (m *monitor) logs(line string) {
	m.w.t.Helper()
	f, err := os.OpenFile(m.log, os.O_APPEND|os.O_WRONLY, 0o600)
	must(m.w.t, err)
	_, err = fmt.Fprintf(f, "%s node kernel: [ 123.456] %s\n", time.Now().Format("Jan _2 15:04:05"), line)
	must(m.w.t, errors.Join(err, f.Close()))
}

// forgets empties the log, as the kernel's own log in memory is empty after a boot.
func (m *monitor) forgets() {
	m.w.t.Helper()
	must(m.w.t, os.WriteFile(m.log, nil, 0o600))
}

// condition waits for the condition of the kernel's monitor to have this status.
func (w *world) condition(node string, want corev1.ConditionStatus) {
	w.t.Helper()
	w.conditionIs(node, deadlock, want)
}

// conditionIs waits for a condition of the Node to have this status.
func (w *world) conditionIs(node string, of corev1.NodeConditionType, want corev1.ConditionStatus) {
	w.t.Helper()
	w.until(fmt.Sprintf("condition %s of %s to be %s", of, node, want), func() (bool, error) {
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == of {
				return c.Status == want, nil
			}
		}
		return false, nil
	})
}

// powerCut waits for a fence of this number, or of a later one, to cut the power of a node, and returns its number.
func (w *world) powerCut(node string, least int64) (number int64) {
	w.t.Helper()
	w.untilFence(node, "the node to be cut", func(f *api.NodeFence) bool {
		number = f.Status.FenceNumber
		return number >= least && f.Status.Power.SwitchedByUs
	})
	return number
}

// fenceOver waits for the end of the fence of this number.
func (w *world) fenceOver(node string, number int64) (f *api.NodeFence) {
	w.t.Helper()
	w.untilFence(node, fmt.Sprintf("fence %d of %s to be over", number, node), func(is *api.NodeFence) bool {
		f = is
		return is.Status.FenceNumber == number && is.Status.Phase == api.Finished
	})
	return f
}

// passedBy is how often the gate has looked at a node and found nothing to fence it for.
func (w *world) passedBy(node string) (n int) {
	for line := range bytes.Lines(w.log.Bytes()) {
		if bytes.Contains(line, []byte("ignored")) && bytes.Contains(line, []byte(node)) && bytes.Contains(line, []byte(string(api.Healthy))) {
			n++
		}
	}
	return n
}

// hungEvents is how many Events about hung tasks there are.
func (w *world) hungEvents(node string) (n int) {
	w.t.Helper()
	all, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=TaskHung"})
	must(w.t, err)
	return len(all.Items)
}
