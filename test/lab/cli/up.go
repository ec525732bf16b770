package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
	"github.com/nodefence/nodefence/test/lab/kubebuild"
	"github.com/nodefence/nodefence/test/lab/labdir"
)

// watchPeriod is how soon an attached "up" sees that its lab has died.
const watchPeriod = time.Second

func newUp(host Host) *cobra.Command {
	o := bringup.Defaults()
	var attach bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and print the path of its kubeconfig",
		Long: `Starts a control plane and simulated machines in the background, waits until
the API server, a default service account and all nodes are ready, and prints
the path of an administrator's kubeconfig. The first time it builds the control
plane, which takes minutes (see "build").

With --real the machines are real nodes: each runs containerd, a kubelet and
kube-proxy in namespaces and cgroups of its own, and OpenIPMI's ipmi_sim is its
BMC. That needs root, cgroup v1 and Debian packages, which the error names if they
are missing. The API server and the BMCs are then in a network of the lab's, in
which this machine has an address.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd, o, attach, host)
		},
	}
	machineFlags(cmd, &o)
	f := cmd.Flags()
	f.DurationVar(&o.Grace, "grace", o.Grace, "silence after which a node is NotReady (upstream: 50s)")
	f.DurationVar(&o.Eviction, "eviction", o.Eviction, "how long pods stay on a node that is NotReady (upstream: 300s)")
	f.BoolVar(&o.Real, "real", o.Real, "real nodes in place of simulated machines")
	f.BoolVar(&o.Fsync, "fsync", o.Fsync, "have etcd write through to the disk")
	f.BoolVar(&attach, "attach", false, "stay, and end the lab on Ctrl-C")
	return cmd
}

// machineFlags are the flags about machines, and not about the control plane.
func machineFlags(cmd *cobra.Command, o *bringup.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", o.Name, "what to call the lab")
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "how many machines; 0 for the control plane alone")
	f.IntVar(&o.Zones, "zones", o.Zones, "over how many zones to spread the nodes")
	f.DurationVar(&o.Lease, "lease", o.Lease, "how often a node renews its Lease (upstream: 10s)")
	f.DurationVar(&o.Status, "status-period", o.Status, "how often a node reports its status")
	f.BoolVar(&o.Outlets, "outlets", o.Outlets, "whether two outlets feed each machine (without: half the sockets, for thousands of nodes)")
	f.StringToStringVar(&o.SystemUUIDs, "system-uuid", nil, "NODE=UUID: what a kubelet reports as its machine's UUID; machine-id as without SMBIOS")
	f.StringToStringVar(&o.BMCUUIDs, "bmc-uuid", nil, "NODE=UUID: what a BMC says its machine is")
}

func up(cmd *cobra.Command, o bringup.Options, attach bool, host Host) error {
	begin := host.Now()
	record, err := bringup.Up(cmd.Context(), o, cmd.ErrOrStderr())
	if err != nil {
		return fmt.Errorf("start lab: %w", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "lab %q is up after %.1fs\n", o.Name, host.Now().Sub(begin).Seconds())
	fmt.Fprintln(cmd.OutOrStdout(), record.Kubeconfig)
	if !attach {
		return nil
	}
	return stay(cmd.Context(), o.Name, cmd.ErrOrStderr())
}

// stay returns when ctx or the lab ends, and leaves nothing of the lab.
func stay(ctx context.Context, name string, stderr io.Writer) error {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	var died error
	for died == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			died = lookFor(name)
		}
	}
	if errors.Is(died, labdir.ErrNotFound) {
		return nil // Somebody else has ended it.
	}
	fmt.Fprintf(stderr, "ending lab %q\n", name)
	return errors.Join(died, bringup.Down(context.WithoutCancel(ctx), name))
}

func lookFor(name string) error {
	_, record, err := labdir.Open(name)
	if err != nil {
		return err
	}
	for _, p := range record.Processes {
		if !p.ID.Alive() && record.Ready { // or it is being restored
			return fmt.Errorf("%s has ended by itself", p.Name)
		}
	}
	return nil
}

func newDown() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove all that it has left",
		Args:  cobra.NoArgs,
	}
	name := nameFlag(cmd)
	all := cmd.Flags().Bool("all", false, "end all labs of this user")
	cmd.MarkFlagsMutuallyExclusive("name", "all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*all {
			return bringup.Down(cmd.Context(), *name)
		}
		names, err := labdir.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			// One that can't be ended must not keep the others alive.
			err = errors.Join(err, bringup.Down(cmd.Context(), name))
		}
		return err
	}
	return cmd
}

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the control plane into the cache and print its path",
		Long: `Builds the control plane's executable, if the cache doesn't hold it already, and
prints its path. Its source is looked for above this executable and above the
working folder, or in the folder that ` + kubebuild.SourceVariable + ` names.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := kubebuild.Ensure(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	}
}
