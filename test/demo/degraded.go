package main

import (
	"context"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// A policy's own numbers are 10 checks, 70 percent, 60 s apart, 5 minutes DEGRADED.
const degradedPolicy = `
unhealthyConditions: [{type: Ready, status: Unknown}]
limits: {maxUnhealthy: "40%"}
recovery: {readyDuration: 1s}
activityChecks:
  checks: [{type: Kubelet}]
  rounds: 4
  failedRounds: 3
  interval: 2s
  recheckInterval: 5s
`

// degraded: a node that is lost and alive is left alone; a node that is lost and dead is
// fenced.
func degraded(ctx context.Context, c *rig.Cluster, _ *rig.Process) error {
	say("the policy has activity checks: 3 of 4 connections to the kubelet's port must find silence")
	if err := hostHA(ctx, c, "node-1", api.HostHAAvailable); err != nil {
		return err
	}
	if err := all(c, []string{"node-1"}, "partition"); err != nil {
		return err
	}
	say("node-1 loses its way to the API server, and runs on")
	f, err := held(ctx, c, "node-1", api.ActivitySeen)
	if err != nil {
		return err
	}
	say("node-1 is left alone: %s", f.Status.Message)
	if err := hostHA(ctx, c, "node-1", api.HostHADegraded); err != nil {
		return err
	}
	err = rig.Until(ctx, "node-1 to be checked again", func() (bool, error) {
		f, err = c.Fences.Fence(ctx, "node-1")
		return err == nil && f.Status.ActivityChecks.Degraded && f.Status.ActivityChecks.Number > 2, nil
	})
	if err != nil {
		return err
	}
	say("node-1 was checked again twice, and is still left alone")
	if err := untouched(c, []string{"node-1"}); err != nil {
		return err
	}
	if err := all(c, []string{"node-1"}, "heal"); err != nil {
		return err
	}
	if f, err = c.Phase(ctx, "node-1", api.Finished); err != nil {
		return err
	}
	say("the way is mended: %s", f.Status.Message)
	if f.Status.Outcome != api.HealedBeforeFence {
		return fmt.Errorf("the fence of node-1 ended as %s", f.Status.Outcome)
	}
	if err := all(c, []string{"node-2"}, "crash"); err != nil {
		return err
	}
	struck := time.Now()
	say("node-2 crashes: its power is on, and it says nothing to anybody")
	if _, err = held(ctx, c, "node-2", api.CheckingActivity); err != nil {
		return err
	}
	told := follow(ctx, c, "node-2")
	if f, err = c.Phase(ctx, "node-2", api.Finished); err != nil {
		return err
	}
	<-told
	say("node-2 was proven off %s after its crash", f.Status.Proof.At.Sub(struck).Round(time.Second))
	return verdictOf(c, []string{"node-2"}, []string{"node-1"}, "the node that was lost and alive was left alone; the one that was lost and dead was fenced")
}

// hostHA waits until a node's FenceTarget has that state.
func hostHA(ctx context.Context, c *rig.Cluster, node string, want api.HostHA) error {
	err := rig.Until(ctx, fmt.Sprintf("%s to be %s", node, want), func() (bool, error) {
		ft, err := c.Fences.Target(ctx, node)
		return ft != nil && ft.Status.HostHA == want, err
	})
	if err == nil {
		say("FenceTarget %s: %s", node, want)
	}
	return err
}
