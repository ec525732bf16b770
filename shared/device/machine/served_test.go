package machine_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/device/clustertest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/device/gce"
	"github.com/nodefence/nodefence/shared/device/machine"
	"github.com/nodefence/nodefence/shared/device/openstack"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	id       = "i-0123456789abcdef0"
	another  = "i-0fedcba9876543210"
	provider = "aws:///eu-west-1a/" + id
	list     = "/apis/machine.openshift.io/v1beta1/machines"
	newer    = "/apis/cluster.x-k8s.io/v1beta2/machines"
	older    = "/apis/cluster.x-k8s.io/v1beta1/machines"
	path     = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines/worker-7"
	token    = "eyJhbGciOiJSUzI1NiIsImtpZCI6InNlY3JldCJ9"
	key      = "AKIAIOSFODNN7EXAMPLE"
	secret   = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

const owned = `"ownerReferences": [{"kind": "MachineSet", "name": "workers", "uid": "set", "controller": true}]`

// served is a cluster with one Machine, whose controller ends its instance at EC2.
type served struct {
	clustertest.Server
	devicetest.Fault
	cloud ec2test.Cloud
	url   string
	ec2   string
	ended chan struct{}
}

// serve ends with t.
func serve(t testing.TB) *served {
	t.Helper()
	ec2test.Nobody(t)
	s := &served{
		Server: clustertest.Server{Kinds: []string{list}, Token: token},
		cloud:  ec2test.Cloud{Secrets: map[string]string{key: secret}}, ended: make(chan struct{}),
	}
	s.cloud.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: "eu-west-1a"})
	s.cloud.Show = s.show
	s.Changed = func(string) { s.reconcile() }
	s.Put(t, path, object(owned, provider))
	api := httptest.NewServer(s.faulty(&s.Server, &clustertest.Server{Kinds: s.Kinds, Token: "another"}))
	cloud := httptest.NewServer(s.faulty(&s.cloud, &ec2test.Cloud{Secrets: map[string]string{key: "another"}}))
	t.Cleanup(func() { close(s.ended); api.Close(); cloud.Close() })
	s.url, s.ec2 = api.URL, cloud.URL
	return s
}

func object(meta, providerID string) string {
	return `{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": {"name": "worker-7", "namespace": "openshift-machine-api", "finalizers": ["machine.machine.openshift.io"], ` + meta + `},
		"spec": {"providerID": "` + providerID + `"}, "status": {"nodeRef": {"name": "worker-7"}}}`
}

// reconcile is a Machine controller: what is deleted loses its instance, and then
// its finalizer.
func (s *served) reconcile() {
	if s.Is(devicetest.AcceptAndIgnore) {
		return
	}
	if o := s.Object(path); o != nil && clustertest.Meta(o)["deletionTimestamp"] != nil {
		s.cloud.Terminate(id)
		s.finish()
	}
}

func (s *served) finish() {
	if s.cloud.StateOf(id) == ec2test.Terminated {
		s.Control(path, func(d clustertest.Doc) { delete(clustertest.Meta(d), "finalizers") })
	}
}

func (s *served) settle() {
	s.cloud.Settle()
	s.finish()
}

func (s *served) setFault(t testing.TB, fault string) {
	t.Helper()
	s.Play(fault)
	s.cloud.Hold(false)
	s.Refuse(http.MethodDelete, clustertest.Refusal{})
	s.Refuse(http.MethodGet, clustertest.Refusal{})
	s.cloud.Refuse("DescribeInstances", ec2test.Refusal{})
	switch fault {
	case devicetest.Refuse:
		s.Refuse(http.MethodDelete, clustertest.Refusal{Code: 422, Reason: "Invalid", Message: "a webhook says:\n no"})
	case devicetest.Mute:
		s.Refuse(http.MethodDelete, clustertest.Refusal{Code: 500, Reason: "InternalError", Message: "an error on the server"})
		s.Refuse(http.MethodGet, clustertest.Refusal{Code: 500, Reason: "InternalError", Message: "an error on the server"})
		s.cloud.Refuse("DescribeInstances", ec2test.Refusal{Status: 500, Code: "InternalError", Message: "An internal error has occurred"})
	case devicetest.Slow, devicetest.Early, devicetest.Lie:
		s.cloud.Hold(true)
	case devicetest.Stopping:
		s.cloud.Hold(true)
		s.cloud.Terminate(id)
	}
}

// show is what EC2 pretends.
func (s *served) show(i ec2test.Instance) ec2test.Instance {
	if s.Is(devicetest.Other) {
		i.ID = another
	}
	if s.Is(devicetest.Early, devicetest.Lie) && i.State == ec2test.ShuttingDown {
		i.State = ec2test.Terminated
	}
	return i
}

// faulty is one of the two servers, or another one that knows nobody.
func (s *served) faulty(api, strict http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.Is(devicetest.Hang):
			devicetest.Silence(r, s.ended)
		case s.Is(devicetest.WrongPassword):
			strict.ServeHTTP(w, r)
		case s.Is(devicetest.ResetConnection) && r.Method == http.MethodDelete:
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case s.Is(devicetest.ConflictWhenOff) && r.Method == http.MethodDelete && !s.on():
			strict.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// on: an instance that is shutting down still runs.
func (s *served) on() bool { return s.cloud.StateOf(id) != ec2test.Terminated }

// told is in the suite's words.
func (s *served) told() []string {
	var words []string
	for _, w := range s.Writes() {
		words = append(words, map[string]string{http.MethodDelete: "off"}[w.Method])
	}
	for _, a := range s.cloud.Actions() {
		if a.Name != "DescribeInstances" {
			words = append(words, a.Name)
		}
	}
	return words
}

func clouds() []device.Kind {
	return []device.Kind{azure.Kind(), ec2.Kind(), gce.Kind(gce.Metadata), openstack.Kind()}
}

func dial(t testing.TB, s *served, more map[string]string) device.Driver {
	t.Helper()
	d, err := open(t, s.url, s.ec2, more)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t testing.TB, url, endpoint string, more map[string]string) (device.Driver, error) {
	t.Helper()
	c, err := kube.New(&rest.Config{Host: url, BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	p := map[string]string{"provider_id": provider, "endpoint": endpoint, "access_key": key, "secret_key": secret}
	maps.Copy(p, more)
	return machine.Kind(c.ForDrivers(), clouds()...).Open(p)
}
