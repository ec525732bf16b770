package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// version is what the kubelet says of itself.
const version = "v1.36.3"

// kubelet runs from boot until the power or the kernel goes.
func (m *machine) kubelet(life context.Context, first bool) {
	if !first && !wait(life, boot) {
		return
	}
	m.mu.Lock()
	m.booting = false
	m.mu.Unlock()
	// Kubelets of one rack do not beat in step.
	if !wait(life, time.Duration(rand.Int64N(int64(m.lab.cfg.LeasePeriod/4)))) {
		return
	}
	lease, status := time.NewTicker(m.lab.cfg.LeasePeriod), time.NewTicker(m.lab.cfg.StatusPeriod)
	defer lease.Stop()
	defer status.Stop()
	online := false
	for {
		if net := m.connection(life); net == nil {
			online = false
		} else {
			if !online {
				online = m.register(net) == nil
				m.renew(net)
			}
			m.sync(net)
		}
		select {
		case <-life.Done():
			return
		case <-m.kick:
		case <-lease.C:
			if net := m.connection(life); net != nil {
				m.renew(net)
			}
		case <-status.C:
			if net := m.connection(life); net != nil {
				_ = m.report(net)
			}
		}
	}
}

// register makes the Node and CSINode objects where they are missing, and
// reports: what a kubelet does at boot and when its connection is back.
func (m *machine) register(ctx context.Context) error {
	nodes := m.lab.client.CoreV1().Nodes()
	if _, err := nodes.Get(ctx, m.name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		if _, err := nodes.Create(ctx, m.node(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	} else if err != nil {
		return err
	}
	csi := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: m.name},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: m.name}}},
	}
	if _, err := m.lab.client.StorageV1().CSINodes().Create(ctx, csi, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return m.report(ctx)
}

func (m *machine) node() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: m.name,
		Labels: map[string]string{
			corev1.LabelHostname: m.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", m.index%m.lab.cfg.Zones),
		},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
}

// report writes the node's status as a kubelet does: read, change, write.
func (m *machine) report(ctx context.Context) error {
	nodes := m.lab.client.CoreV1().Nodes()
	n, err := nodes.Get(ctx, m.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n.Status.Capacity, n.Status.Allocatable = room, room
	m.mu.Lock()
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: m.systemUUID, SystemUUID: m.systemUUID, BootID: m.bootID, KubeletVersion: version,
		KernelVersion: "6.1.0-lab", OSImage: "lab", ContainerRuntimeVersion: "lab://1", OperatingSystem: "linux", Architecture: "amd64",
	}
	m.mu.Unlock()
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.name}}
	n.Status.VolumesInUse = m.inUse()
	now := metav1.Now()
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
	} {
		setCondition(&n.Status, c, now)
	}
	_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

func setCondition(s *corev1.NodeStatus, c corev1.NodeCondition, now metav1.Time) {
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	for i := range s.Conditions {
		if s.Conditions[i].Type == c.Type {
			if s.Conditions[i].Status == c.Status {
				c.LastTransitionTime = s.Conditions[i].LastTransitionTime
			}
			s.Conditions[i] = c
			return
		}
	}
	s.Conditions = append(s.Conditions, c)
}

// renew moves the Lease.
func (m *machine) renew(ctx context.Context) {
	m.mu.Lock()
	off := m.leaseOff
	m.mu.Unlock()
	if off {
		return
	}
	leases := m.lab.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	l, err := leases.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		seconds := int32(4 * m.lab.cfg.LeasePeriod / time.Second)
		_, _ = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: m.name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &m.name, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}, metav1.CreateOptions{})
		return
	}
	if err != nil {
		return
	}
	l.Spec.RenewTime = &now
	_, _ = leases.Update(ctx, l, metav1.UpdateOptions{})
}

// inUse are the volumes that the kubelet has or wants mounted.
func (m *machine) inUse() []corev1.UniqueVolumeName {
	var all []corev1.UniqueVolumeName
	for _, p := range m.lab.podsOn(m.name) {
		for _, v := range m.lab.volumesOf(p) {
			name := corev1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^" + v.handle)
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}
