package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const earlyPolicy = policy + "earlyProbe: {leaseStillDuration: 12s}\n"

// labFlags are for demos that need other timings than a lab's own: here Kubernetes'
// defaults.
var labFlags = map[string][]string{"early": {"--lease", "10s", "--grace", "50s"}}

// early: the power goes, and work moves before Kubernetes has lost the node; a
// machine that only stops renewing its Lease is left alone.
func early(ctx context.Context, c *rig.Cluster, _ *rig.Process) error {
	victim, err := c.PodRunning(ctx, "db-0", "")
	if err != nil {
		return err
	}
	alive, err := another(ctx, c, victim)
	if err != nil {
		return err
	}
	say("Kubernetes' own timings: a Lease is renewed each 10 s, a node is lost after 50 s of silence")
	say("pod db-0 runs on %s", victim)
	struck := time.Now()
	if err := c.Lab.Node(victim, "power-loss"); err != nil {
		return err
	}
	say("the plug of %s is pulled", victim)
	target, err := c.PodRunning(ctx, "db-0", victim)
	if err != nil {
		return err
	}
	moved := time.Since(struck)
	f, err := c.Phase(ctx, victim, api.Fenced)
	if err != nil {
		return err
	}
	tellAll(f)
	why, err := readyReason(ctx, c, victim)
	switch {
	case err != nil:
		return err
	case why != api.NotReadyReason:
		return fmt.Errorf("node %s was lost to Kubernetes before its work was released (%s)", victim, why)
	}
	say("pod db-0 runs on %s. %s's power returns", target, victim)
	if err := c.Lab.Node(victim, "power-on"); err != nil {
		return err
	}
	if _, err := c.Phase(ctx, victim, api.Finished); err != nil {
		return err
	}
	stood, err := spared(ctx, c, alive)
	if err != nil {
		return err
	}
	if err := untouched(c, []string{victim, alive}); err != nil {
		return err
	}
	if _, err := c.Lab.OneWriter(); err != nil {
		return err
	}
	fmt.Printf("\npod db-0 ran elsewhere %.1f s after the power went; Kubernetes alone notices nothing for 50 s\n"+
		"%s, alive, whose Lease stood still for %s: read, and left alone\nfrom the BMCs' own logs: no command for either\n"+
		"writers on a volume at one time: never two\n", moved.Seconds(), alive, stood.Round(time.Second))
	return nil
}

// spared makes the Lease of a living machine stand still, and checks that the fence for it
// touches and marks nothing, and is called off once the Lease moves again.
func spared(ctx context.Context, c *rig.Cluster, node string) (time.Duration, error) {
	began := time.Now()
	if err := c.Lab.Node(node, "lease-stop"); err != nil {
		return 0, err
	}
	say("%s is alive, and stops renewing its Lease", node)
	f, err := held(ctx, c, node, api.LeaseStandsStill)
	if err != nil {
		return 0, err
	}
	say("  %s  %s: %s", node, f.Status.Reason, f.Status.Message)
	if err := c.Unmarked(ctx, node); err != nil {
		return 0, err
	}
	if err := c.Lab.Node(node, "lease-resume"); err != nil {
		return 0, err
	}
	stood := time.Since(began)
	if f, err = c.Phase(ctx, node, api.Finished); err != nil {
		return 0, err
	}
	if f.Status.Outcome != api.HealedBeforeFence {
		return 0, fmt.Errorf("the fence of %s ended as %s", node, f.Status.Outcome)
	}
	say("its Lease moves again: %s", f.Status.Message)
	return stood, nil
}

func another(ctx context.Context, c *rig.Cluster, not string) (string, error) {
	all, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, n := range all.Items {
		if n.Name != not {
			return n.Name, nil
		}
	}
	return "", errors.New("the lab has one node only")
}

func readyReason(ctx context.Context, c *rig.Cluster, node string) (string, error) {
	n, err := c.Kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Reason, nil
		}
	}
	return "", fmt.Errorf("%s has no Ready condition", node)
}

func tellAll(f *api.NodeFence) {
	for _, h := range f.Status.History {
		line(h.At.Time, "  %-10s %-18s %s", h.Phase, h.Reason, h.Message)
	}
}
