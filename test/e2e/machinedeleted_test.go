package e2e

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/kube"
)

// deletesAMachine: under an object of Cluster API a node is lost while nodefence runs. Its Machine is
// deleted, its controller ends the instance, and the work starts elsewhere once the cloud says that it has
// ended (S1, S2). The object's status says what its own controller would; with the object go the policy and
// the labels. What policystatus does about the object is called here, with a clock that is ahead: the object
// is left alone for its first two minutes.
func (c *checks) deletesAMachine(all dynamic.ResourceInterface, version, spec, allowed string) {
	c.t.Helper()
	m := &machines{t: c.t, api: all, cloud: &ec2test.Cloud{}}
	set := c.machineSet(c.namespace)
	endpoint := c.onCloud(m.cloud, func(node, provider string) {
		_, err := all.Patch(c.ctx, node, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"finalizers":["machine.cluster.x-k8s.io"],"ownerReferences":[%s]},"spec":{"providerID":%q}}`, set, provider), metav1.PatchOptions{})
		must(c.t, err)
	})
	db := c.database(1)
	c.endsByMachine(db, endpoint)
	done := make(chan struct{})
	ctx, stop := context.WithCancel(c.ctx)
	c.t.Cleanup(func() { stop(); <-done })
	go func() { defer close(done); m.run(ctx) }()
	must(c.t, c.start(nil).Watching(c.ctx))

	c.apply("fences", "cluster.x-k8s.io/watch-filter: nodefence", spec)
	c.untilItSays("fences", "3 of 3, 1 more, RemediationAllowed "+allowed)
	if got := c.marked("fences"); c.policy("fences") == nil || got != "node-0 node-1 node-2" {
		c.t.Errorf("policy %+v, labels on %q", c.policy("fences"), got)
	}
	c.until("the instance to be enrolled", func() (bool, error) {
		cm, err := c.Kube.CoreV1().ConfigMaps("nodefence-system").Get(c.ctx, kube.EnrolledName(db), metav1.GetOptions{})
		return err == nil && cm.Data["provider_id"] != "", nil
	})
	c.node(db, "crash")
	c.untilItSays("fences", "2 of 2, 1 more, RemediationAllowed "+allowed)
	c.moved("db-0", db)
	c.oneWriter()
	f := c.phase(db, api.Fenced, api.Recovering)
	if b := f.Status.Decision.Power(0); b == nil || b.Driver != "machine" || f.Status.Power.OffAt == nil || f.Status.Decision.Policy.Name != c.check("fences").PolicyName() {
		c.t.Errorf("binding %+v, power %+v, policy %+v", b, f.Status.Power, f.Status.Decision.Policy)
	}
	if _, err := all.Get(c.ctx, db, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		c.t.Errorf("its Machine: %v", err)
	}
	must(c.t, c.Kube.CoreV1().Nodes().Delete(c.ctx, db, metav1.DeleteOptions{})) // as a Machine controller does at its end
	c.ended(db, api.NodeGone)
	for _, node := range []string{"node-0", "node-1", "node-2"} {
		c.words(node, "")
	}
	transcribed(c.t, "testdata/machinehealthcheck/"+version+"-deletes.txt", c.stood("fences"))
	must(c.t, c.api.Delete(c.ctx, "fences", metav1.DeleteOptions{}))
	c.until("what followed from it to be gone", func() (bool, error) {
		c.keep()
		return c.policy("fences") == nil && c.marked("fences") == "", nil
	})
}
