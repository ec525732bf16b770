package bringup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"

	"github.com/nodefence/nodefence/test/lab/kubebuild"
	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/process"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// Snapshot saves the content of a lab's cluster to a file.
func Snapshot(ctx context.Context, name, file string, progress io.Writer) error {
	dir, _, err := whole(name)
	if err != nil {
		return err
	}
	kube, err := kubebuild.Ensure(ctx, progress)
	if err != nil {
		return err
	}
	return etcdTool(ctx, kube, "snapshot", controlPlaneFile(dir), file)
}

// Restore ends the control plane of a lab, takes its etcd back to a snapshot, and starts it
// again. Until then the machines do not notice it: what they run, and what was done to them,
// stays. Then they read the cluster again, because after a restore people restart all kubelets: a
// watch would continue from where etcd was before.
func Restore(ctx context.Context, name, file string, progress io.Writer) error {
	dir, record, err := whole(name)
	if err != nil {
		return err
	}
	kube, err := kubebuild.Ensure(ctx, progress)
	if err != nil {
		return err
	}
	next := etcdFolder(dir) + ".next"
	if err := etcdTool(ctx, kube, "restore", controlPlaneFile(dir), file, next); err != nil {
		return errors.Join(err, os.RemoveAll(next)) // and the lab is unchanged
	}
	if record.Starter, err = process.Identify(os.Getpid()); err != nil {
		return err
	}
	record.Ready = false
	s := &starting{progress: progress, dir: dir, record: record, ended: make(chan error, 2)}
	return s.restore(ctx, kube, next)
}

// whole returns a lab that is completely up, and whose cluster can be taken back: the kubelets of real machines
// would not read it anew.
func whole(name string) (labdir.Dir, labdir.Record, error) {
	dir, record, err := labdir.Open(name)
	if err == nil && summary(record).State != StateUp {
		err = fmt.Errorf("lab %q is not up; see \"status --name %s\"", name, name)
	}
	if err == nil && record.Real {
		err = fmt.Errorf("lab %q has real machines, which nothing takes back: end it and start another", name)
	}
	return dir, record, err
}

// etcdTool runs one of the control plane's commands on etcd.
func etcdTool(ctx context.Context, kube string, args ...string) error {
	var msg bytes.Buffer
	cmd := exec.CommandContext(ctx, kube, args...)
	cmd.Stdout, cmd.Stderr = &msg, &msg
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s etcd: %w: %s", args[0], err, bytes.TrimSpace(msg.Bytes()))
	}
	return nil
}

func (s *starting) restore(ctx context.Context, kube, next string) error {
	if err := s.dir.Save(s.record); err != nil {
		return err
	}
	for _, p := range s.record.Processes {
		if p.Name != ControlPlane {
			continue
		}
		if err := p.ID.End(ctx, endLimit); err != nil {
			return fmt.Errorf("end %s of lab %q: %w", p.Name, s.record.Name, err)
		}
	}
	if err := errors.Join(os.RemoveAll(etcdFolder(s.dir)), os.Rename(next, etcdFolder(s.dir))); err != nil {
		return fmt.Errorf("replace etcd's data: %w", err)
	}
	if err := noteRestore(s.dir); err != nil {
		return err
	}
	if err := s.startAgain(kube); err != nil {
		return err
	}
	if _, err := s.answers(ctx); err != nil {
		return err
	}
	if s.record.Nodes > 0 {
		if err := simclient.New(s.dir.Socket()).Relist(ctx); err != nil {
			return err
		}
	}
	s.record.Ready = true
	return s.dir.Save(s.record)
}

// startAgain starts the control plane where it was: kubeconfigs name its port.
func (s *starting) startAgain(kube string) error {
	server, err := url.Parse(s.record.Server)
	if err != nil {
		return fmt.Errorf("find the API server's port: %w", err)
	}
	socket, _, err := listen(server.Host)
	if err != nil {
		return fmt.Errorf("take the API server's port again: %w", err)
	}
	defer socket.Close()
	return s.runControlPlane(kube, socket)
}
