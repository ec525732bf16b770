package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/test/rig"
)

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// markSilent writes what the node controller writes of a kubelet that is heard no more, and
// tells when the API server had it.
func markSilent(ctx context.Context, c *rig.Cluster, node string) (time.Time, error) {
	return patchStatus(ctx, c, node, "", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
}

// markReady writes what a kubelet writes after a boot: it renews its Lease, and reports. It
// tells when the API server had both.
func markReady(ctx context.Context, c *rig.Cluster, node string) (time.Time, error) {
	if err := renewLease(ctx, c, node); err != nil {
		return time.Time{}, err
	}
	return writeReady(ctx, c, node)
}

// renewLease renews a node's Lease, as its kubelet does.
func renewLease(ctx context.Context, c *rig.Cluster, node string) error {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	_, err := c.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, node, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("renew the Lease of %s: %w", node, err)
	}
	return nil
}

// writeReady writes Ready=True and another boot, and returns when the API server had both.
func writeReady(ctx context.Context, c *rig.Cluster, node string) (time.Time, error) {
	boot := "boot-" + time.Now().UTC().Format(time.RFC3339Nano)
	return patchStatus(ctx, c, node, boot, "True", "KubeletReady", "kubelet is posting ready status")
}

func patchStatus(ctx context.Context, c *rig.Cluster, node, boot, ready, reason, message string) (time.Time, error) {
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{}
	var conditions []map[string]string
	for _, kind := range []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		value := ready
		if kind != "Ready" && ready == "True" {
			value = "False"
		}
		conditions = append(conditions, map[string]string{
			"type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": now, "lastHeartbeatTime": now,
		})
	}
	status["conditions"] = conditions
	if boot != "" {
		status["nodeInfo"] = map[string]string{"bootID": boot}
	}
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return time.Time{}, err
	}
	_, err = c.Kube.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if err != nil {
		return time.Time{}, fmt.Errorf("set Ready=%s of %s: %w", ready, node, err)
	}
	return time.Now(), nil
}

// roundTrip measures what a small write costs: a PATCH of a Node's status, a hundred times.
func roundTrip(ctx context.Context, c *rig.Cluster, node string) (all []time.Duration, err error) {
	for i := range 100 {
		body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Bench","status":"False","reason":"Bench","message":"%d"}]}}`, i)
		begun := time.Now()
		if _, err := c.Kube.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status"); err != nil {
			return nil, fmt.Errorf("measure a round trip: %w", err)
		}
		all = append(all, time.Since(begun))
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// renewed waits until a node's kubelet has renewed its Lease again and reports Ready.
func renewed(ctx context.Context, c *rig.Cluster, node string) error {
	from := time.Now()
	err := rig.Until(ctx, "the Lease of "+node+" to move", func() (bool, error) {
		l, err := c.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
		return err == nil && l.Spec.RenewTime.After(from), nil
	})
	if err != nil {
		return err
	}
	return c.Ready(ctx, node, corev1.ConditionTrue)
}

// onePod puts a pod without a volume on a node, and waits until it runs.
func onePod(ctx context.Context, c *rig.Cluster, node string) error {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + node},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "work", Image: "example.invalid/work"}}},
	}
	err := rig.Until(ctx, "a pod to be made on "+node, func() (bool, error) {
		_, err := c.Kube.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, p, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return false, nil // that of the fence before is on its way out
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	_, err = c.PodRunning(ctx, p.Name, "")
	return err
}

// shortSettle shortens what is waited for between an Off and its proof, which is not measured.
const shortSettle = "settle=1s\n"

// settleSoon adds it to what a machine's binding says of its BMC.
func settleSoon(ctx context.Context, c *rig.Cluster, node string) error {
	maps := c.Kube.CoreV1().ConfigMaps(rig.Settings().Namespace)
	cm, err := maps.Get(ctx, "fence-config-node-"+node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for key, text := range cm.Data {
		if strings.HasPrefix(key, "fence-method-") {
			cm.Data[key] = text + shortSettle
		}
	}
	_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
	return err
}

// bindAgent gives a machine to the agent, which does not switch it on again: before an On an
// agent is given half a minute.
func bindAgent(ctx context.Context, c *rig.Cluster, node, ip string) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fence-config-node-" + node, Namespace: rig.Settings().Namespace},
		Data: map[string]string{
			"config.properties":   "node_name=" + node + "\nisolation=mark-unschedulable\npower_management=outlet\nrecovery=mark-schedulable\n",
			"fence-method-outlet": "agent_name=" + agentName + "\naction=off\nip=" + ip + "\nusername=bench\n" + shortSettle,
		},
	}
	_, err := c.Kube.CoreV1().ConfigMaps(cm.Namespace).Create(ctx, cm, metav1.CreateOptions{})
	return err
}

// bmcLog is all that a machine's BMC was told, reads included.
func bmcLog(lab, node string) ([]mark, error) {
	bin, err := rig.Bin("nodefence-lab")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(bin, "bmc", node, "log", "-o", "json", "--name", lab).Output()
	if err != nil {
		return nil, fmt.Errorf("ask the lab what the BMC of %s was told: %w", node, err)
	}
	var said []rig.Command
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("read what the BMC of %s was told: %w", node, err)
	}
	var all []mark
	for _, c := range said {
		text := c.Command
		if !c.Accepted {
			text = strings.TrimSpace(text + " (refused)")
		}
		all = append(all, mark{c.Time, text})
	}
	return all, nil
}
