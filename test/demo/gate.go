package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const stormPolicy = `
unhealthyConditions: [{type: Ready, status: Unknown}]
limits: {maxUnhealthy: "40%", maxConcurrent: 1, stormCoolDown: 5s}
recovery: {readyDuration: 1s}
`

// storm: more nodes die at once than the policy allows.
func storm(ctx context.Context, c *rig.Cluster, _ *rig.Process) error {
	dead, cut := []string{"node-0", "node-1", "node-2"}, []string{"node-3", "node-4"}
	say("ten nodes; the policy begins no fence while more than 40%% are unhealthy")
	if err := errors.Join(all(c, dead, "crash"), all(c, cut, "partition")); err != nil {
		return err
	}
	say("five of them are lost in the same moment: three crash, two are only cut off")
	for _, n := range append(dead, cut...) {
		f, err := held(ctx, c, n, api.TooManyUnhealthy)
		if err != nil {
			return err
		}
		say("  %s  %s: %s", n, f.Status.Reason, f.Status.Message)
	}
	if err := untouched(c, append(dead, cut...)); err != nil {
		return err
	}
	say("no device was touched. The network comes back: two nodes are Ready again")
	if err := all(c, cut, "heal"); err != nil {
		return err
	}
	for _, n := range dead {
		f, err := c.Phase(ctx, n, api.Finished)
		if err != nil {
			return err
		}
		say("  %s  fenced %s after its death, %s", n, f.Status.Proof.At.Sub(f.Status.OpenedAt.Time).Round(time.Second), f.Status.Message)
	}
	return verdictOf(c, dead, cut, "in the storm nobody was fenced; after it the dead were, one at a time; those that came back never")
}

const zonePolicy = `
unhealthyConditions: [{type: Ready, status: Unknown}]
limits: {maxUnhealthy: "60%", perDomain: {topologyKey: topology.kubernetes.io/zone, maxUnhealthy: "40%"}}
recovery: {readyDuration: 1s}
`

// zone: a bad zone does not stop the others.
func zone(ctx context.Context, c *rig.Cluster, _ *rig.Process) error {
	for i := range 10 {
		name := []string{"a", "b"}[i/5]
		patch := fmt.Sprintf(`{"metadata":{"labels":{"topology.kubernetes.io/zone":%q}}}`, name)
		if _, err := c.Kube.CoreV1().Nodes().Patch(ctx, fmt.Sprintf("node-%d", i), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	say("ten nodes in two zones of five; the policy counts by zone")
	lost := []string{"node-5", "node-6", "node-7", "node-8"}
	if err := all(c, lost, "partition"); err != nil {
		return err
	}
	say("a switch dies: four of five nodes of zone b are cut off, and alive")
	for _, n := range lost {
		f, err := held(ctx, c, n, api.TooManyUnhealthy)
		if err != nil {
			return err
		}
		say("  %s  %s: %s", n, f.Status.Reason, f.Status.Message)
	}
	if err := all(c, []string{"node-1"}, "crash"); err != nil {
		return err
	}
	say("then one node of zone a crashes")
	if _, err := c.Phase(ctx, "node-1", api.Finished); err != nil {
		return err
	}
	if err := untouched(c, lost); err != nil {
		return err
	}
	if err := all(c, lost, "heal"); err != nil {
		return err
	}
	say("the switch is mended")
	for _, n := range lost {
		if _, err := c.Phase(ctx, n, api.Finished); err != nil {
			return err
		}
	}
	return verdictOf(c, []string{"node-1"}, lost, "zone a's dead node was fenced while zone b was held; zone b's nodes came back unharmed")
}

const approvePolicy = `
unhealthyConditions: [{type: Ready, status: Unknown}]
mode: RequireApproval
limits: {maxUnhealthy: "40%"}
recovery: {readyDuration: 1s}
`

// approve: nothing is touched before a person approves.
func approve(ctx context.Context, c *rig.Cluster, _ *rig.Process) error {
	say("the policy waits for a person (mode: RequireApproval)")
	if err := all(c, []string{"node-1"}, "crash"); err != nil {
		return err
	}
	f, err := held(ctx, c, "node-1", api.WaitingForApproval)
	if err != nil {
		return err
	}
	say("node-1 crashes, and is held: %s", f.Status.Message)
	if err := untouched(c, []string{"node-1"}); err != nil {
		return err
	}
	me, err := whoami(ctx, c)
	if err != nil {
		return err
	}
	wish := map[string]any{"spec": map[string]any{"requests": map[string]any{"approve": map[string]any{"fenceNumber": f.Status.FenceNumber, "by": me, "at": metav1.Now()}}}}
	patch, err := json.Marshal(wish)
	if err != nil {
		return err
	}
	say("%s approves: kubectl patch nodefence node-1 --type merge -p '%s'", me, patch)
	err = c.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/node-1").Body(patch).Do(ctx).Error()
	if err != nil {
		return err
	}
	told := follow(ctx, c, "node-1")
	if _, err := c.Phase(ctx, "node-1", api.Finished); err != nil {
		return err
	}
	<-told
	return verdictOf(c, []string{"node-1"}, nil, "no device was touched before the approval, and the fence ran to its end after it")
}

func all(c *rig.Cluster, nodes []string, verb string) error {
	var failed error
	for _, n := range nodes {
		failed = errors.Join(failed, c.Lab.Node(n, verb))
	}
	return failed
}

// held waits until the gate holds a node for this reason.
func held(ctx context.Context, c *rig.Cluster, node string, why api.Reason) (f *api.NodeFence, err error) {
	err = rig.Until(ctx, node+" to be held", func() (bool, error) {
		f, err = c.Fences.Fence(ctx, node)
		return err == nil && f != nil && f.Status.Phase == api.Pending && f.Status.Reason == why, nil
	})
	return f, err
}

func untouched(c *rig.Cluster, nodes []string) error {
	for _, n := range nodes {
		if words, err := c.Lab.Words(n); err != nil || words != "" {
			return fmt.Errorf("the BMC of %s was told %q (%w)", n, words, err)
		}
	}
	return nil
}

// verdictOf checks the BMCs' own logs and the volumes' writers.
func verdictOf(c *rig.Cluster, fenced, spared []string, words string) error {
	for _, n := range fenced {
		if told, err := c.Lab.Words(n); err != nil || told != "off on" {
			return fmt.Errorf("the BMC of %s was told %q, not one off and one on (%w)", n, told, err)
		}
	}
	if err := untouched(c, spared); err != nil {
		return err
	}
	if _, err := c.Lab.OneWriter(); err != nil {
		return err
	}
	fmt.Printf("\n%s\nfrom the BMCs' own logs: one off and one on for each of %v, no command for %v\nwriters on a volume at one time: never two\n", words, fenced, spared)
	return nil
}
