// Package lambda tells whole stories on AWS's side: the built program on the
// Lambda Runtime API, a process for each function, EventBridge with the
// template's own rules, and a real control plane with simulated machines.
//
// What a reader must not get wrong: the Runtime API, the bus and EC2 are ours,
// by AWS's public documents. IAM, freezing, limits and delays are not here.
package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/infra/aws"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

// quick makes a fence's own waits short; the proof stays the same.
const quick = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 4, stormCoolDown: 1s}
`

// labs is the pool of the test process.
var labs = rig.NewPool("lambda")

func TestMain(m *testing.M) { os.Exit(labs.Main(m)) }

// world is a lab, and nodefence as on AWS.
type world struct {
	*rig.Cluster
	t   *testing.T
	ctx context.Context
	log *rig.Log
	dir string
	bus *bus
	aws map[string]string
	// stack is the template as it is deployed.
	stack *aws.Stack
}

func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	return newStack(t, nodes, nil)
}

// newStack is a world whose stack has parameters.
func newStack(t *testing.T, nodes int, parameters map[string]string) *world {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	t.Cleanup(cancel)
	c := labs.ForTest(ctx, t, rig.LabOptions{Nodes: nodes})
	must(t, c.Install(ctx))
	root, err := rig.Root()
	must(t, err)
	must(t, c.ApplyFile(ctx, filepath.Join(root, "infra/aws/cluster/rights.yaml")))
	must(t, c.Apply(ctx, rig.Policy("default", quick)))
	template, err := aws.Parse(aws.Template)
	must(t, err)
	stack, err := template.With(parameters)
	must(t, err)
	b, err := newBus(stack)
	must(t, err)
	t.Cleanup(b.Close)
	w := &world{Cluster: c, t: t, ctx: ctx, log: &rig.Log{}, dir: t.TempDir(), bus: b, stack: stack, aws: map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not-a-secret",
		"AWS_SESSION_TOKEN": "session", "AWS_ENDPOINT_URL_EVENTBRIDGE": b.URL,
		"NODEFENCE_BUS": name, "NODEFENCE_CLUSTER": "lab",
	}}
	w.aws["AWS_ENDPOINT_URL_LAMBDA"] = w.api().URL
	t.Cleanup(w.tell)
	return w
}

// tell prints what happened when a test has failed.
func (w *world) tell() {
	if !w.t.Failed() {
		return
	}
	w.Tell(w.t, w.log)
	w.t.Logf("events: %s", strings.Join(w.bus.types(), "\n"))
}

// deploy starts every function of the template, with this many processes each.
func (w *world) deploy(processes int) {
	w.t.Helper()
	bootstrap, err := rig.Bin("nodefence")
	must(w.t, err)
	for id, r := range w.stack.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		var p struct {
			Environment       struct{ Variables map[string]any }
			EventInvokeConfig struct{ MaximumRetryAttempts int }
		}
		raw, err := json.Marshal(r.Properties)
		must(w.t, err)
		must(w.t, json.Unmarshal(raw, &p))
		env := map[string]string{"AWS_LAMBDA_FUNCTION_NAME": name + "-" + strings.ToLower(id)}
		maps.Copy(env, w.everywhere())
		maps.Copy(env, w.aws)
		for k, v := range p.Environment.Variables {
			env[k] = value(v)
		}
		fn := env["NODEFENCE_FUNCTION"]
		env["KUBECONFIG"] = w.kubeconfig("nodefence-"+fn, "nodefence-"+fn)
		f := &function{name: fn, bootstrap: bootstrap, env: env, log: w.log, retries: p.EventInvokeConfig.MaximumRetryAttempts}
		f.failed = func(record []byte) {
			w.bus.route("lambda", "Lambda Function Invocation Result - Failure", record)
		}
		f.scale(processes)
		w.bus.functions[fn] = f
	}
	w.t.Cleanup(w.end)
}

// everywhere is what the stack tells every function, as far as parameters alone say it.
func (w *world) everywhere() map[string]string {
	all := map[string]string{}
	for name, v := range w.stack.Globals.Function["Environment"].(map[string]any)["Variables"].(map[string]any) {
		if text, is := v.(string); is {
			all[name] = text
		}
	}
	return all
}

// value is a variable as the stack's deployment gives it.
func value(v any) string {
	if sub, ok := v.(map[string]any); ok {
		v = strings.ReplaceAll(fmt.Sprint(sub["Fn::Sub"]), "${AWS::StackName}", name)
	}
	return fmt.Sprint(v)
}

// api is Lambda's own, as far as resync uses it: invocations that nobody waits for.
func (w *world) api() *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fn, ok := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/invocations"), "/2015-03-31/functions/"+name+"-")
		f := w.bus.functions[fn]
		payload, err := io.ReadAll(r.Body)
		if !ok || f == nil || err != nil || r.Header.Get("X-Amz-Invocation-Type") != "Event" {
			http.Error(rw, "no such function", http.StatusNotFound)
			return
		}
		f.invoke(payload)
		rw.WriteHeader(http.StatusAccepted)
	}))
	w.t.Cleanup(s.Close)
	return s
}

// end waits for what is under way, logs what the processes have needed, and ends them.
func (w *world) end() {
	for _, f := range w.bus.functions {
		f.close()
	}
	for _, f := range w.bus.functions {
		f.wait()
		for _, p := range f.processes() {
			if peak, err := p.memory(); err == nil {
				w.t.Logf("%-10s first event handled %4d ms after the process's start, %d MiB at most", f.name, p.coldStart().Milliseconds(), peak)
			}
		}
		f.kill()
	}
}

// kubeconfig is the lab's kubeconfig for another user.
func (w *world) kubeconfig(user string, groups ...string) string {
	w.t.Helper()
	cfg, err := clientcmd.LoadFromFile(w.Lab.Kubeconfig)
	must(w.t, err)
	must(w.t, clientcmd.ResolveLocalPaths(cfg))
	for _, a := range cfg.AuthInfos {
		a.Impersonate, a.ImpersonateGroups = user, groups
	}
	path := filepath.Join(w.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
	must(w.t, clientcmd.WriteToFile(*cfg, path))
	return path
}

// source runs nodefence-source as the role that SourceRoleArn names, with its events on the bus, and
// returns how to kill it.
func (w *world) source() (kill func()) {
	w.t.Helper()
	return w.sourceAs("nodefence-source", "nodefence-source")
}

func (w *world) sourceAs(user string, groups ...string) (kill func()) {
	w.t.Helper()
	bin, err := rig.Bin("nodefence-source")
	must(w.t, err)
	addr, err := port.Free()
	must(w.t, err)
	cmd := exec.Command(bin)
	cmd.Stdout, cmd.Stderr = w.log, w.log
	cmd.Env = []string{"LISTEN=" + addr, "POD_NAME=source", "KUBECONFIG=" + w.kubeconfig(user, groups...)}
	for k, v := range w.aws {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	for _, same := range []string{"NODEFENCE_REQUEST_NAMESPACES", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		cmd.Env = append(cmd.Env, same+"="+w.everywhere()[same])
	}
	must(w.t, cmd.Start())
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	w.t.Cleanup(kill)
	w.until("the source to be ready", func() (bool, error) {
		r, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false, nil
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK, nil
	})
	return kill
}

// ticking makes the clock tick until the test ends, faster than AWS's.
func (w *world) ticking() {
	ctx, stop := context.WithCancel(w.ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.bus.tick()
			}
		}
	})
	w.t.Cleanup(func() { stop(); done.Wait() })
}

func (w *world) phase(node string, want ...api.Phase) *api.NodeFence {
	w.t.Helper()
	f, err := w.Phase(w.ctx, node, want...)
	must(w.t, err)
	return f
}

// oneWriter checks that no volume ever had two.
func (w *world) oneWriter() {
	w.t.Helper()
	if wrote, err := w.Lab.OneWriter(); err != nil || !wrote {
		w.t.Errorf("somebody wrote: %v; %v", wrote, err)
	}
}

func (w *world) until(what string, ok func() (bool, error)) {
	w.t.Helper()
	must(w.t, rig.Until(w.ctx, what, ok))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
