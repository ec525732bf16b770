package bringup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/process"
)

// keptFile holds the content to which Reset takes a lab back.
func keptFile(dir labdir.Dir) string { return dir.File("kept.json") }

// Keep saves the content of a lab's etcd, once the control plane writes nothing more, for Reset. The
// lab must have no machines: Reset ends them.
func Keep(ctx context.Context, name string) error {
	dir, record, err := whole(name)
	if err != nil {
		return err
	}
	if record.Nodes > 0 {
		return fmt.Errorf("lab %q has machines: start it with \"--nodes 0\"", name)
	}
	client, err := newClient(record.Kubeconfig)
	if err != nil {
		return err
	}
	if err := allowMachines(ctx, client); err != nil {
		return err
	}
	return withStore(ctx, dir, func(ctx context.Context, store *clientv3.Client) error {
		now, err := awaitQuiet(ctx, store)
		if err != nil {
			return err
		}
		return writeJSON(keptFile(dir), now)
	})
}

// Reset ends a lab's machines, takes the content of etcd back to what Keep saved, and starts new
// machines by options. The control plane goes on and sees the change as deletions and updates;
// resourceVersions continue to grow. An error means that the lab is not as it was kept: end it.
func Reset(ctx context.Context, options Options, progress io.Writer) error {
	if err := options.check(); err != nil {
		return err
	}
	dir, record, err := whole(options.Name)
	if err != nil {
		return err
	}
	kept, err := readKept(dir)
	if err != nil {
		return err
	}
	if record.Starter, err = process.Identify(os.Getpid()); err != nil {
		return err
	}
	record.Ready, record.Nodes = false, options.Nodes
	s := &starting{options: options, progress: progress, dir: dir, record: record, ended: make(chan error, 2)}
	if err := s.endMachines(ctx); err != nil {
		return err
	}
	if err := takeBack(ctx, dir, kept); err != nil {
		return fmt.Errorf("take lab %q back to what was kept: %w", options.Name, err)
	}
	if err := emptyAudit(dir); err != nil {
		return err
	}
	client, err := newClient(record.Kubeconfig)
	if err != nil {
		return err
	}
	if err := s.wait(ctx, "nodes deleted", apiLimit, noNodes(client)); err != nil {
		return err
	}
	return s.addNodes(ctx, client)
}

// endMachines ends the machines and removes what they have written.
func (s *starting) endMachines(ctx context.Context) error {
	if err := s.dir.Save(s.record); err != nil {
		return err
	}
	for _, p := range s.record.Processes {
		if p.Name == Machines {
			if err := p.ID.End(ctx, endLimit); err != nil {
				return fmt.Errorf("end %s of lab %q: %w", p.Name, s.record.Name, err)
			}
		}
	}
	return errors.Join(os.RemoveAll(s.dir.File("machines")), os.RemoveAll(s.dir.Socket()))
}
