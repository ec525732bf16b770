package machine_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/clustertest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/device/machine"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "machine", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against:  "machine",
		Secrets:  []string{token, key, secret},
		Identity: provider,
		NoOn:     true,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t)
			s.setFault(t, fault)
			if fault == devicetest.Unreachable {
				s.url, s.ec2 = "http://"+port.Nobody(t), "http://"+port.Nobody(t)
			}
			return devicetest.Machine{
				Driver:   dial(t, s, nil),
				On:       s.on,
				Commands: s.told,
				SetFault: func(fault string) { s.setFault(t, fault) },
				Settle:   s.settle,
			}
		},
	}
}

// TestStateIsTheInstances and never the object's (S2).
func TestStateIsTheInstances(t *testing.T) {
	for name, tc := range map[string]struct {
		instance ec2test.State
		object   string
		want     device.Power
		err      error
	}{
		"it runs":                              {ec2test.Running, object(owned, provider), device.On, nil},
		"it runs, and the object is gone":      {ec2test.Running, "", device.On, nil},
		"it runs, and the object is deleted":   {ec2test.Running, object(`"deletionTimestamp": "2026-01-01T00:00:00Z"`, provider), device.On, nil},
		"it is ending, and the object is gone": {ec2test.ShuttingDown, "", device.Unknown, device.ErrStopping},
		"it has ended":                         {ec2test.Terminated, object(owned, provider), device.Off, nil},
		"it has ended, and the object is gone": {ec2test.Terminated, "", device.Off, nil},
		"it is stopped":                        {ec2test.Stopped, object(owned, provider), device.Off, nil},
		"it is not known any more":             {"", "", device.Unknown, device.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Control(path, func(d clustertest.Doc) {
				clustertest.Meta(d)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				delete(clustertest.Meta(d), "finalizers")
			})
			if tc.object != "" {
				s.Put(t, path, tc.object)
			}
			s.cloud.Hold(true)
			s.cloud.Put(ec2test.Instance{ID: id, State: tc.instance})
			if tc.instance == "" {
				s.cloud.Refuse("DescribeInstances", ec2test.Refusal{Status: 400, Code: "InvalidInstanceID.NotFound", Message: "The instance ID does not exist"})
			}
			r, err := dial(t, s, nil).State(t.Context())
			if r.Power != tc.want || !errors.Is(err, tc.err) || (err == nil) != (r.Identity == provider) {
				t.Errorf("%+v, %v", r, err)
			}
			if len(s.Writes()) > 0 {
				t.Error("it wrote", s.Writes())
			}
		})
	}
}

// TestOff: which Machines are deleted, and which are not.
func TestOff(t *testing.T) {
	const conflict = "device refused in its present state: instance " + provider + ": "
	const second = "/apis/cluster.x-k8s.io/v1beta2/namespaces/capi/machines/worker-7"
	for name, tc := range map[string]struct {
		objects map[string]string
		kinds   []string
		gone    bool
		sent    []string
		err     string
	}{
		"one with an owner":     {objects: map[string]string{path: object(owned, provider)}, sent: []string{path}},
		"deleted already":       {objects: map[string]string{path: object(owned+`, "deletionTimestamp": "2026-01-01T00:00:00Z"`, provider)}},
		"without an owner":      {objects: map[string]string{path: object(`"labels": {}`, provider)}, err: conflict + "Machine openshift-machine-api/worker-7 has no owner that controls it: nobody would make another one in its place"},
		"an owner of no effect": {objects: map[string]string{path: object(`"ownerReferences": [{"kind": "Cluster", "name": "c", "uid": "c"}]`, provider)}, err: conflict + "Machine openshift-machine-api/worker-7 has no owner that controls it: nobody would make another one in its place"},
		"skipped": {objects: map[string]string{path: object(owned+`, "annotations": {"cluster.x-k8s.io/skip-remediation": ""}`, provider)},
			err: conflict + "Machine openshift-machine-api/worker-7 has the annotation cluster.x-k8s.io/skip-remediation"},
		"paused": {objects: map[string]string{path: object(owned+`, "annotations": {"cluster.x-k8s.io/paused": "false"}`, provider)},
			err: conflict + "Machine openshift-machine-api/worker-7 has the annotation cluster.x-k8s.io/paused"},
		"its BMC's": {objects: map[string]string{path: object(owned+`, "annotations": {"machine.openshift.io/remediation-strategy": "external-baremetal"}`, provider)},
			err: conflict + "Machine openshift-machine-api/worker-7 has the annotation machine.openshift.io/remediation-strategy=external-baremetal: it is switched off by its BMC, and not deleted"},
		"another strategy": {objects: map[string]string{path: object(owned+`, "annotations": {"machine.openshift.io/remediation-strategy": "other"}`, provider)}, sent: []string{path}},
		"another instance's (S11)": {objects: map[string]string{path: object(owned, "aws:///eu-west-1a/"+another)},
			err: "device does not know this machine: instance " + provider + ": no Machine has it as its spec.providerID"},
		"none, and the instance has ended": {gone: true},
		"two (S11)": {objects: map[string]string{path: object(owned, provider), second: object(owned, provider)}, kinds: []string{list, newer},
			err: conflict + "2 Machines have it, " + path + " and " + second + " among them; it is not clear which one is meant"},
		"of Cluster API": {objects: map[string]string{second: object(owned, provider)}, kinds: []string{newer, older}, sent: []string{second}},
		"of an older Cluster API": {objects: map[string]string{"/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines/worker-7": object(owned, provider)}, kinds: []string{older},
			sent: []string{"/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines/worker-7"}},
		"no such kind": {objects: map[string]string{path: object(owned, provider)}, kinds: []string{"/none"},
			err: "device does not know this machine: instance " + provider + ": no Machine has it as its spec.providerID"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if tc.kinds != nil {
				s.Kinds = tc.kinds
			}
			s.Changed = nil
			s.Control(path, func(d clustertest.Doc) {
				clustertest.Meta(d)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				delete(clustertest.Meta(d), "finalizers")
			})
			for p, text := range tc.objects {
				s.Put(t, p, rename(p, text))
			}
			if tc.gone {
				s.cloud.Put(ec2test.Instance{ID: id, State: ec2test.Terminated})
			}
			err := dial(t, s, nil).Off(t.Context())
			var sent []string
			for _, w := range s.Writes() {
				sent = append(sent, w.Path)
				pre := clustertest.Part(w.Doc, "preconditions")
				if pre["uid"] == nil || pre["resourceVersion"] == nil {
					t.Errorf("deleted without a precondition: %v", w.Doc)
				}
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]any{tc.sent, tc.err}, []any{sent, text}); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWrittenMeanwhile: a Machine that somebody else touched since it was looked at
// is looked at again, and not deleted.
func TestWrittenMeanwhile(t *testing.T) {
	s := serve(t)
	d := dial(t, s, nil)
	s.Refuse(http.MethodDelete, clustertest.Refusal{Code: 409, Reason: "Conflict", Message: "the ResourceVersion in the precondition does not match"})
	if err := d.Off(t.Context()); !errors.Is(err, device.ErrConflict) {
		t.Errorf("%v, want %v", err, device.ErrConflict)
	}
	if !s.on() {
		t.Error("it has ended")
	}
}

// TestNoDriverOfItsCloud: nothing shows the end of such an instance.
func TestNoDriverOfItsCloud(t *testing.T) {
	s := serve(t)
	d := dial(t, s, map[string]string{"provider_id": "baremetalhost:///openshift-machine-api/worker-7"})
	const want = "device does not support this: instance baremetalhost:///openshift-machine-api/worker-7: no driver of a cloud in this build reads it, so that nothing shows its end; a person can confirm it"
	if r, err := d.State(t.Context()); r != (device.Reading{}) || !errors.Is(err, device.ErrUnsupported) || err.Error() != want {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParams(t *testing.T) {
	k := machine.Kind(nil, clouds()...)
	for name, tc := range map[string]struct {
		more map[string]string
		want string
		err  string
	}{
		"an instance":        {nil, "machine:aws:///eu-west-1a/" + id, ""},
		"its region as well": {map[string]string{"region": "eu-west-1"}, "machine:aws:///eu-west-1a/" + id, ""},
		"another region":     {map[string]string{"region": "us-east-1"}, "", `region is "us-east-1", and the provider ID says "eu-west-1"; leave it out`},
		"in capitals":        {map[string]string{"provider_id": "gce://p-1234/europe-west1-b/Worker-7"}, "machine:gce://p-1234/europe-west1-b/worker-7", ""},
		"no provider ID":     {map[string]string{"provider_id": "worker-7"}, "", `provider_id "worker-7" is no provider ID, such as aws:///eu-west-1a/i-0123456789abcdef0`},
		"none":               {map[string]string{"provider_id": ""}, "", "provider_id is missing; let the node be enrolled with it"},
		"two lines":          {map[string]string{"provider_id": "aws:///a\nb"}, "", `provider_id "aws:///a\nb" is no provider ID, such as aws:///eu-west-1a/i-0123456789abcdef0`},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"provider_id": provider}
			for n, v := range tc.more {
				p[n] = v
			}
			got, err := k.Address(p)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, text}); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := k.Open(map[string]string{"provider_id": provider}); !errors.Is(err, device.ErrNoCluster) {
		t.Errorf("without a cluster: %v", err)
	}
	if _, err := open(t, "http://none.example", "", map[string]string{"provider_id": "openstack:///00112233-4455-6677-8899-aabbccddeeff", "endpoint": ""}); err == nil {
		t.Error("an instance of OpenStack without a Keystone")
	}
	for _, p := range k.Params {
		if p.Machine != (p.Name == "provider_id") || p.Required != p.Machine || p.Default != "" {
			t.Errorf("%+v", p)
		}
	}
	for id, want := range map[string]bool{provider: true, "openstack:///00112233-4455-6677-8899-aabbccddeeff": true, "kind://docker/kind/worker": false} {
		if _, ok := k.Cloud(id); ok != want {
			t.Errorf("%s is known: %v", id, ok)
		}
	}
}

// rename gives an object the namespace of its path.
func rename(path, text string) string {
	if strings.Contains(path, "/capi/") {
		return strings.ReplaceAll(text, "openshift-machine-api", "capi")
	}
	return text
}
