package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/judge"
)

// Lab is a running lab.
type Lab struct {
	Name       string
	Kubeconfig string
	bin        string
	// restarted means that the control plane was interrupted or replaced: no other test gets the lab.
	restarted bool
	// declared is what the test has told the judge.
	declared []judge.Declared
}

// LabOptions are the choices of Up. The zero value is three nodes with fast Leases.
type LabOptions struct {
	Name  string
	Nodes int
	// Flags are passed on to `nodefence-lab up`.
	Flags []string
	// Progress gets what the lab prints while it starts.
	Progress io.Writer
}

// Machine is one simulated machine and its BMC, as the lab reports them.
type Machine struct {
	Name, Power, State, BootID, SystemUUID, BMC, Username, Password, Fault string
	// Outlets are the addresses of the two outlets that feed it.
	Outlets map[string]string
}

// Command is a command that a BMC got.
type Command struct {
	Time     time.Time `json:"time"`
	Command  string    `json:"command"`
	Accepted bool      `json:"accepted"`
}

// Writers is who wrote to which volume.
type Writers struct {
	Records []struct {
		Volume, Machine, Node, Pod string
		From                       time.Time
		To                         *time.Time
	}
	Overlaps []json.RawMessage
}

// Root is the repository's folder, found from the working directory upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(b, []byte("module github.com/nodefence/nodefence\n")) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("not inside the nodefence repository")
		}
		dir = up
	}
}

// Bin is one of the programs that `make build` puts into bin.
func Bin(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	p := filepath.Join(root, "bin", name)
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("bin/%s is missing: run `make build` first", name)
	}
	return p, nil
}

// Up starts a lab and waits until its nodes are Ready.
func Up(ctx context.Context, o LabOptions) (*Lab, error) {
	bin, err := Bin("nodefence-lab")
	if err != nil {
		return nil, err
	}
	args := append([]string{"up", "--name", o.Name}, o.args()...)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it then cleans up
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if o.Progress != nil {
		cmd.Stderr = io.MultiWriter(o.Progress, &msg)
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("start lab %s: %w: %s", o.Name, err, msg.String())
	}
	return &Lab{Name: o.Name, Kubeconfig: strings.TrimSpace(out.String()), bin: bin}, nil
}

// args are the flags of `nodefence-lab up` and `reset`.
func (o LabOptions) args() []string {
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	return append([]string{"--nodes", fmt.Sprint(o.Nodes)}, o.Flags...)
}

// reset takes the lab back to the content that it kept, with new machines.
func (l *Lab) reset(ctx context.Context, o LabOptions) error {
	l.declared = nil
	_, err := l.runFor(ctx, append([]string{"reset"}, o.args()...)...)
	return err
}

// Down ends the lab and removes everything that it has left.
func (l *Lab) Down() error {
	_, err := l.run("down")
	return err
}

// Node makes something happen to a machine: crash, power-loss, partition and so on.
func (l *Lab) Node(node, verb string) error { return l.AtOnce([]string{node}, verb) }

// AtOnce makes something happen to several machines at the same moment.
func (l *Lab) AtOnce(nodes []string, verb string) error {
	_, err := l.run("node", strings.Join(nodes, ","), verb)
	return err
}

// Snapshot saves the content of the cluster to a file.
func (l *Lab) Snapshot(file string) error {
	_, err := l.run("snapshot", file)
	return err
}

// Restore takes the cluster, and nothing else, back to a snapshot, and returns when
// its API server answers again.
func (l *Lab) Restore(file string) error {
	l.restarted = true
	_, err := l.run("restore", file)
	return err
}

// Fault makes a machine's BMC misbehave.
func (l *Lab) Fault(node, fault string) error {
	_, err := l.run("bmc", node, "fault", fault)
	return err
}

// Machines lists the machines.
func (l *Lab) Machines() (map[string]Machine, error) {
	var s struct{ Nodes []Machine }
	if err := l.ask(&s, "status", "-o", "json"); err != nil {
		return nil, err
	}
	all := map[string]Machine{}
	for _, m := range s.Nodes {
		all[m.Name] = m
	}
	return all, nil
}

// ControlPlane is the process of the control plane: etcd, API server, controllers and scheduler.
func (l *Lab) ControlPlane() (*os.Process, error) {
	l.restarted = true
	var s struct {
		Processes []struct {
			Name  string
			PID   int
			Alive bool
		}
	}
	if err := l.ask(&s, "status", "-o", "json"); err != nil {
		return nil, err
	}
	for _, p := range s.Processes {
		if p.Name == "control-plane" && p.Alive {
			return os.FindProcess(p.PID)
		}
	}
	return nil, fmt.Errorf("lab %s has no control plane that runs", l.Name)
}

// Commands are the power commands that a machine's BMC accepted, reads left out.
func (l *Lab) Commands(node string) ([]Command, error) {
	var all, power []Command
	if err := l.ask(&all, "bmc", node, "log", "-o", "json"); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Accepted && c.Command != "status" {
			power = append(power, c)
		}
	}
	return power, nil
}

// Words are the accepted commands by name, in order.
func (l *Lab) Words(node string) (string, error) {
	all, err := l.Commands(node)
	var w []string
	for _, c := range all {
		w = append(w, c.Command)
	}
	return strings.Join(w, " "), err
}

// Writers tells who wrote where. Two writers on one volume are in Overlaps.
func (l *Lab) Writers() (Writers, error) {
	var w Writers
	err := l.ask(&w, "writers", "-o", "json")
	if len(w.Overlaps) > 0 {
		err = nil // the lab exits 1 for the bad news that we have read
	}
	return w, err
}

// OneWriter returns an error if a volume ever had two writers. wrote tells whether anybody has
// written at all, because otherwise the check would mean nothing.
func (l *Lab) OneWriter() (wrote bool, err error) {
	w, err := l.Writers()
	for _, o := range w.Overlaps {
		err = errors.Join(err, fmt.Errorf("two writers on one volume: %s", o))
	}
	return len(w.Records) > 0, err
}

func (l *Lab) ask(into any, args ...string) error {
	out, err := l.run(args...)
	if uerr := json.Unmarshal(out, into); uerr != nil && err == nil {
		err = fmt.Errorf("read what the lab says: %w", uerr)
	}
	return err
}

func (l *Lab) run(args ...string) ([]byte, error) { return l.runFor(context.Background(), args...) }

func (l *Lab) runFor(ctx context.Context, args ...string) ([]byte, error) {
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(ctx, l.bin, append(args, "--name", l.Name)...)
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("nodefence-lab %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(msg.String()))
	}
	return out.Bytes(), nil
}
