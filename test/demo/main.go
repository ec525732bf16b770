// Command demo shows nodefence at work on a real control plane, and ends with a
// verdict that it has checked. Its main job: a node dies with its kernel silent
// and its power on, and its StatefulSet pod comes back on another node.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const policy = `
unhealthyConditions: [{type: Ready, status: Unknown}]
limits: {maxUnhealthy: "40%"}
recovery: {readyDuration: 3s}
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	err := choose(ctx, os.Args[1:])
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; nothing is left running")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// tale is one demo.
type tale struct {
	about, policy string
	nodes         int
	run           func(ctx context.Context, c *rig.Cluster, p *rig.Process) error
}

var tales = map[string]tale{
	"crash":    {"a node dies, its pod comes back elsewhere", policy, 3, one(crash)},
	"request":  {"an event asks for the fence of a node that is Ready", policy, 3, one(request)},
	"storm":    {"half of the nodes are lost at once, and none is fenced in the storm", stormPolicy, 10, storm},
	"zone":     {"a bad zone does not stop the fences of another", zonePolicy, 10, zone},
	"early":    {"a power loss is seen before Kubernetes has lost the node", earlyPolicy, 3, early},
	"approve":  {"nothing is touched before a person says so", approvePolicy, 3, approve},
	"degraded": {"a node that is lost and alive is left alone", degradedPolicy, 3, degraded},
}

func choose(ctx context.Context, args []string) error {
	name := "crash"
	if len(args) > 0 {
		name = args[0]
	}
	t, ok := tales[name]
	if !ok {
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(tales)) {
			fmt.Fprintf(&all, "\n  make demo DEMO=%-8s  %s", name, tales[name].about)
		}
		return fmt.Errorf("no demo %q; there are%s", name, all.String())
	}
	return show(ctx, t, labFlags[name]...)
}

func show(ctx context.Context, t tale, flags ...string) (err error) {
	say("a Kubernetes control plane and %d simulated machines, each with a BMC, on loopback", t.nodes)
	lab, err := rig.Up(ctx, rig.LabOptions{Name: fmt.Sprintf("demo-%d", os.Getpid()), Nodes: t.nodes, Flags: flags})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Down()) }()
	c, err := rig.Connect(lab)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nodefence-demo")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := prepare(ctx, c, t.policy); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p, err := c.StartProcess(ctx, filepath.Join(dir, "data"), log)
	if err != nil {
		return err
	}
	defer p.Stop()
	say("nodefence-local runs: source, broker, functions")
	return t.run(ctx, c, p)
}

func prepare(ctx context.Context, c *rig.Cluster, policy string) error {
	machines, err := c.Lab.Machines()
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return c.Install(ctx) },
		func() error { return c.Bind(ctx, machines) },
		func() error { return c.Apply(ctx, rig.Policy("default", policy)) },
		func() error { return c.Apply(ctx, rig.StatefulSet("db", 1)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// story is what is measured during a demo.
type story struct {
	strike         func(context.Context, *rig.Cluster, *rig.Process, *story) error
	victim, target string
	// what caused the fence, and the API server's record of it
	what, lost                           string
	struck, unready, proof, running, end time.Time
}

// one is a demo of a single node; strike is what happens to the node.
func one(strike func(context.Context, *rig.Cluster, *rig.Process, *story) error) func(context.Context, *rig.Cluster, *rig.Process) error {
	return func(ctx context.Context, c *rig.Cluster, p *rig.Process) error {
		s := story{strike: strike}
		return s.tell(ctx, c, p)
	}
}

func (s *story) tell(ctx context.Context, c *rig.Cluster, p *rig.Process) (err error) {
	if s.victim, err = c.PodRunning(ctx, "db-0", ""); err != nil {
		return err
	}
	say("pod db-0 runs on %s and writes to its volume", s.victim)
	s.struck = time.Now()
	told := follow(ctx, c, s.victim)
	if err := s.strike(ctx, c, p, s); err != nil {
		return err
	}
	if s.target, err = c.PodRunning(ctx, "db-0", s.victim); err != nil {
		return err
	}
	s.running = time.Now()
	say("pod db-0 runs on %s", s.target)
	f, err := c.Phase(ctx, s.victim, api.Finished)
	if err != nil {
		return err
	}
	s.end = time.Now()
	<-told
	if f.Status.Proof == nil {
		return errors.New("the record has no proof")
	}
	s.proof = f.Status.Proof.At.Time
	return s.verdict(ctx, c, f)
}

// follow prints the fence's story as it grows, until it ends.
func follow(ctx context.Context, c *rig.Cluster, node string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		told := 0
		_ = rig.Until(ctx, "the fence to end", func() (bool, error) {
			f, err := c.Fences.Fence(ctx, node)
			if err != nil || f == nil {
				return false, nil
			}
			for ; told < len(f.Status.History); told++ {
				h := f.Status.History[told]
				line(h.At.Time, "  %-10s %-18s %s", h.Phase, h.Reason, h.Message)
			}
			return f.Status.Phase == api.Finished, nil
		})
	}()
	return done
}

// verdict checks what has happened, and prints the result.
func (s *story) verdict(ctx context.Context, c *rig.Cluster, f *api.NodeFence) error {
	words, err := c.Lab.Commands(s.victim)
	if err != nil {
		return err
	}
	if len(words) != 2 || words[0].Command != "off" || words[1].Command != "on" {
		return fmt.Errorf("the BMC was told %v, not one off and one on", words)
	}
	if words[1].Time.Before(f.Status.Release.DoneAt.Time) {
		return errors.New("the machine was switched on before its work was released")
	}
	if _, err := c.Lab.OneWriter(); err != nil {
		return err
	}
	all, err := c.Kube.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, a := range all.Items {
		if a.Spec.NodeName != s.target {
			return fmt.Errorf("the volume is attached to %s", a.Spec.NodeName)
		}
	}
	after := func(t time.Time) string { return fmt.Sprintf("%5.1f s", t.Sub(s.struck).Seconds()) }
	fmt.Printf(`
after %s
  %s  %s
  %s  the machine is proven off: read twice, %s apart
  %s  pod db-0 runs on %s, its volume attached there
  %s  the node is back, and nothing of nodefence is left on it
the BMC's own log: one power-off (%s), one power-on (%s) after the release
writers on the volume at one time: never two
`, s.what, after(s.unready), s.lost, after(s.proof), f.Status.Proof.Reads[1].At.Sub(f.Status.Proof.Reads[0].At.Time).Round(100*time.Millisecond),
		after(s.running), s.target, after(s.end), words[0].Time.Local().Format("15:04:05.0"), words[1].Time.Local().Format("15:04:05.0"))
	return nil
}

func say(format string, args ...any) { line(time.Now(), format, args...) }

func line(t time.Time, format string, args ...any) {
	fmt.Printf("%s  %s\n", t.Local().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}
