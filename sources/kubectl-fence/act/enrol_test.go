package act

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	bmcSays   = "00112233-4455-6677-8899-aabbccddeeff"
	swapped   = "33221100-5544-7766-8899-aabbccddeeff"
	kubeletID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
)

func aNode(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	n.Status.NodeInfo.SystemUUID = name
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func anEnrolment(node, uuid string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kube.EnrolledName(node), Namespace: "ns", UID: "cm", ResourceVersion: "4", Labels: map[string]string{kube.EnrolledLabel: "true"}},
		Data:       map[string]string{"node_name": node, "node_uid": "uid-" + node, "system_uuid": uuid},
	}
}

// TestEnrol: a named person enrols what the device of a healthy node says, and nothing that may
// be another machine (S11, S20, S28).
func TestEnrol(t *testing.T) {
	at := ann.At.Time
	said := func(m *Machine) *api.TargetDevice { return &m.Target.Status.Devices[0] }
	for name, tc := range map[string]struct {
		change func(*Machine)
		want   string // the error
	}{
		"what its device says": {nil, ""},
		"and another that tells nothing": {func(m *Machine) {
			m.Target.Status.Devices = append(m.Target.Status.Devices, api.TargetDevice{Role: api.RolePower})
		}, ""},
		"an earlier Node was the other machine": {func(m *Machine) { m.Enrolments[1].Data["system_uuid"], m.Nodes[1].UID = bmcSays, "later" }, ""},
		"it is not Ready":                       {func(m *Machine) { m.Node.Status.Conditions[0].Status = corev1.ConditionUnknown }, "it is not Ready"},
		"its Lease stands still":                {func(m *Machine) { m.Now = at.Add(40 * time.Second) }, "its Lease is not renewed"},
		"it has no Lease":                       {func(m *Machine) { m.Lease = nil }, "its Lease is not renewed"},
		"it is being fenced":                    {func(m *Machine) { m.Fence = fence(api.Fencing, api.PowerOffSent) }, "a fence of it is open"},
		"it is being deleted":                   {func(m *Machine) { m.Node.DeletionTimestamp = &metav1.Time{Time: at} }, "it is being deleted"},
		"it was never enrolled":                 {func(m *Machine) { m.Enrolments = m.Enrolments[1:] }, "ConfigMap fence-enrolled-a of this Node does not exist"},
		"its device reads off":                  {func(m *Machine) { said(m).State = api.PoweredOff }, "does not read on"},
		"its device was not read now":           {func(m *Machine) { said(m).LastChecked = &metav1.MicroTime{Time: at.Add(-time.Minute)} }, "was not read now"},
		"its device tells nothing":              {func(m *Machine) { said(m).Identity = "" }, "none of its devices says which machine it switches"},
		"its devices tell two machines": {func(m *Machine) {
			d := *said(m)
			d.Identity = kubeletID
			m.Target.Status.Devices = append(m.Target.Status.Devices, d)
		}, "its devices name two machines"},
		"its device says a factory default":     {func(m *Machine) { said(m).Identity = "03000200-0400-0500-0006-000700080009" }, "is a factory default"},
		"its method names the machine":          {func(m *Machine) { said(m).Enrolled = bmcSays }, "correct identity= there"},
		"it has no FenceTarget":                 {func(m *Machine) { m.Target = nil }, "it has no FenceTarget"},
		"the FenceTarget is of an earlier Node": {func(m *Machine) { m.Target.Status.NodeUID = "0" }, "it has no FenceTarget"},
		"another node reports it":               {func(m *Machine) { m.Nodes[1].Status.NodeInfo.SystemUUID = swapped }, "node b reports that it is machine " + bmcSays},
		"another node was enrolled as it":       {func(m *Machine) { m.Enrolments[1].Data["system_uuid"] = swapped }, "node b was enrolled as machine " + bmcSays},
		"another node was, by a person":         {func(m *Machine) { m.Enrolments[1].Data[kube.EnrolledIdentity] = bmcSays }, "node b was enrolled as machine " + bmcSays},
		"it is enrolled so already":             {func(m *Machine) { m.Enrolments[0].Data[kube.EnrolledIdentity] = bmcSays; said(m).Enrolled = bmcSays }, "it is enrolled as machine " + bmcSays + " already"},
	} {
		t.Run(name, func(t *testing.T) {
			now, renewed, lasts := metav1.NewMicroTime(at), metav1.NewMicroTime(at.Add(-time.Second)), int32(40)
			m := Machine{
				Node: aNode("a"), Now: at, Nodes: []corev1.Node{*aNode("a"), *aNode("b")},
				Lease:      &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &lasts}},
				Enrolments: []corev1.ConfigMap{anEnrolment("a", kubeletID), anEnrolment("b", "other")},
				Target: &api.FenceTarget{Status: api.FenceTargetStatus{NodeUID: "uid-a", CheckNow: &api.CheckNow{At: renewed}, Devices: []api.TargetDevice{{
					Driver: "ipmi", Address: "10.0.0.7:623", Role: api.RolePower, Identity: bmcSays, Enrolled: kubeletID, State: api.PoweredOn, LastChecked: &now, Reason: api.NoIdentity,
				}}}},
			}
			if tc.change != nil {
				tc.change(&m)
			}
			got, err := Enrol(m, ann)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			const want = `{"data":{"identity":"` + bmcSays + `","identity_at":"2026-01-01T12:00:00Z","identity_by":"ann"},"metadata":{"resourceVersion":"4","uid":"cm"}}`
			if d := cmp.Diff("ns/fence-enrolled-a "+want, got.Namespace+"/"+got.Name+" "+patch(t, got)); d != "" {
				t.Error(d)
			}
		})
	}
}
