package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/test/rig/port"
)

const (
	cloudKey, cloudSecret = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	// sealed is the security group that lets nothing in or out.
	sealed = "sg-0aaaaaaaaaaaaaaaa"
)

// cloudNetwork is the lab's machines as instances of ec2test, which we wrote
// ourselves: nothing here was ever run against AWS.
type cloudNetwork struct {
	*world
	*ec2test.Cloud
	url string
	mu  sync.Mutex
	// changes are those of security groups, each with the phase of the fence of the
	// node and what its BMC had been told by then.
	changes []string
}

func (w *world) cloudNetwork(n int) *cloudNetwork {
	w.t.Helper()
	c := &cloudNetwork{world: w, Cloud: &ec2test.Cloud{Secrets: map[string]string{cloudKey: cloudSecret}}}
	for i := range n {
		c.Put(c.asUsersMadeIt(i))
	}
	srv := httptest.NewServer(c)
	w.t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

func cloudID(i int) string { return fmt.Sprintf("i-0123456789abcde%02x", i) }

// asUsersMadeIt is an instance with two interfaces, groups and tags of its own.
func (c *cloudNetwork) asUsersMadeIt(i int) ec2test.Instance {
	return ec2test.Instance{
		ID: cloudID(i), State: ec2test.Running, Zone: "eu-west-1a",
		Interfaces: []ec2test.Interface{
			{ID: fmt.Sprintf("eni-0123456789abcde%02x", i), Groups: []string{"sg-0bbbbbbbbbbbbbbbb", "sg-0cccccccccccccccc"}},
			{ID: fmt.Sprintf("eni-0fedcba98765432%02x", i), Groups: []string{"sg-0dddddddddddddddd"}},
		},
		Tags: map[string]string{"Name": node(i), "empty": "", "nodefence.io/security-groups": "somebody else's"},
	}
}

// ServeHTTP notes where a fence stands when security groups are changed.
func (c *cloudNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	if form.Get("Action") == "ModifyNetworkInterfaceAttribute" {
		c.note(form)
	}
	c.Cloud.ServeHTTP(w, r)
}

func (c *cloudNetwork) note(form url.Values) {
	what := "back"
	if form.Get("SecurityGroupId.1") == sealed {
		what = "cut"
	}
	for i := range 9 {
		if !strings.HasSuffix(form.Get("NetworkInterfaceId"), fmt.Sprintf("%02x", i)) {
			continue
		}
		f, err := c.Fences.Fence(c.ctx, node(i))
		words, told := c.Lab.Words(node(i))
		if err != nil || told != nil || f == nil {
			c.t.Errorf("%s is %s without a fence: %v, %v", node(i), what, err, told)
			return
		}
		c.mu.Lock()
		c.changes = append(c.changes, fmt.Sprintf("%s %s, %s, BMC told %q", node(i), what, f.Status.Phase, words))
		c.mu.Unlock()
	}
}

// bind configures that a node is cut off from the network by its instance.
func (c *cloudNetwork) bind(i int, change ...string) {
	c.t.Helper()
	secret := &corev1.Secret{StringData: map[string]string{"access_key": cloudKey, "secret_key": cloudSecret}}
	secret.Name, secret.Annotations = "cloud-"+node(i), map[string]string{"nodefence.io/hosts": "127.0.0.1"}
	_, err := c.Kube.CoreV1().Secrets("nodefence-devices").Create(c.ctx, secret, metav1.CreateOptions{})
	must(c.t, err)
	method := "agent_name=ec2-network\naction=off\nmust_success=yes\ninstance=" + cloudID(i) + "\nregion=eu-west-1\nendpoint=" + c.url +
		"\ngroup=" + sealed + "\nsecret=" + secret.Name + "\n"
	c.cutBy(node(i), "net", strings.NewReplacer(change...).Replace(method))
}

// cutBy adds a method to a node's isolation, or replaces it.
func (w *world) cutBy(node, name, method string) {
	w.t.Helper()
	all := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	own, err := all.Get(w.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(w.t, err)
	if _, there := own.Data["fence-method-"+name]; !there {
		own.Data["config.properties"] = strings.Replace(own.Data["config.properties"], "isolation=", "isolation="+name+" ", 1)
	}
	own.Data["fence-method-"+name] = method
	_, err = all.Update(w.ctx, own, metav1.UpdateOptions{})
	must(w.t, err)
}

// TestFenceCutsTheNetwork: a node hangs. The security groups of its instance are replaced before
// its power is cut, and are the user's own again before its recovery is over.
func TestFenceCutsTheNetwork(t *testing.T) {
	// Each change of a group is held up until the test has asked the lab and the API server.
	w := newWorld(t, 3, quick)
	c := w.cloudNetwork(3)
	for i := range 3 {
		c.bind(i)
	}
	w.start(unhurried)
	db := w.database(1)
	w.node(db, "crash")
	w.moved("db-0", db)
	w.oneWriter()
	f := w.ended(db, api.Recovered)
	checkProof(t, f) // by its power: that its network was cut proves nothing
	w.words(db, "off on")
	w.unmarked(db)
	for k := range 3 {
		if d := cmp.Diff(c.asUsersMadeIt(k), c.InstanceOf(cloudID(k))); d != "" {
			t.Errorf("%s is not as its user made it:\n%s", node(k), d)
		}
	}
	cut, back := db+` cut, Isolating, BMC told ""`, db+` back, Restoring, BMC told "off on"`
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := cmp.Diff([]string{cut, cut, back, back}, c.changes); d != "" {
		t.Error(d)
	}
	c.inOrder(f)
}

// inOrder checks that the groups were saved before any was removed, and that the saved ones were
// deleted after all were given back. Both were seen before the fence continued.
func (c *cloudNetwork) inOrder(f *api.NodeFence) {
	c.t.Helper()
	var told []string
	for _, a := range c.Actions() {
		if a.Name != "DescribeInstances" && a.Instance != "" || a.Interface != "" {
			told = append(told, a.Name)
		}
	}
	change := "ModifyNetworkInterfaceAttribute"
	if d := cmp.Diff([]string{"CreateTags", change, change, change, change, "DeleteTags"}, told); d != "" {
		c.t.Errorf("the cloud was told:\n%s", d)
	}
	var way []api.Reason
	for _, h := range f.Status.History {
		if slices.Contains([]api.Reason{api.AccessCutSent, api.SeenCutOff, api.PowerOffSent, api.SeenOff, api.AccessRestoreSent, api.AccessRestored, api.Recovered}, h.Reason) {
			way = append(way, h.Reason)
		}
	}
	// Either the device shows that the machine is on, or its node becomes Ready. The first of the
	// two moves the fence on, so the expected phases have neither.
	want := []api.Reason{api.AccessCutSent, api.SeenCutOff, api.PowerOffSent, api.SeenOff, api.AccessRestoreSent, api.AccessRestored, api.Recovered}
	if d := cmp.Diff(want, slices.Compact(way)); d != "" {
		c.t.Errorf("the way of the fence:\n%s", d)
	}
}

// TestNodesThatCouldNotBeCutOffAreReported before anything fails: a cloud that does not
// answer, a cloud that refuses the account, an instance that the cloud does not know, and
// an instance that was left cut off. Isolate reads them, and does nothing else. If no
// device switches a node, its storage is read.
func TestNodesThatCouldNotBeCutOffAreReported(t *testing.T) {
	w := newWorld(t, 6, quick)
	c := w.cloudNetwork(6)
	w.csiAddons().start(w)
	dead, err := port.NewClosed()
	must(t, err)
	t.Cleanup(func() { _ = dead.Close() })
	c.bind(0)
	c.bind(1, "endpoint="+c.url, "endpoint=http://"+dead.Addr)
	c.bind(2)
	c.password(2, "wrong")
	c.bind(3, cloudID(3), cloudID(99))
	c.bind(4)
	left := c.asUsersMadeIt(4)
	for k := range left.Interfaces {
		left.Interfaces[k].Groups = []string{sealed}
	}
	c.Put(left)
	c.storageAlone(5)
	p := w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })

	w.target("node-0", "True", api.DeviceAnswers, "")
	w.target("node-1", "False", api.DeviceUnreachable, "isolation 1 of 1, ec2-network ec2-network:eu-west-1/"+cloudID(1))
	w.target("node-2", "False", api.DeviceDenied, "Secret cloud-node-2, key access_key")
	w.target("node-3", "False", api.MachineUnknown, "in ConfigMap fence-config-node-node-3")
	w.target("node-4", "False", api.LeftCutOff, "it says that the machine is cut off, and its node is Ready")
	w.target("node-5", "True", api.DeviceAnswers, "")
	w.unfenceable(p, map[api.Reason]int{api.DeviceUnreachable: 1, api.DeviceDenied: 1, api.MachineUnknown: 1, api.LeftCutOff: 1})
	w.said("node-4", api.LeftCutOff, "this node could not be fenced now: ")
	ft, err := w.Fences.Target(w.ctx, "node-0")
	must(t, err)
	var shown []string
	for _, d := range ft.Status.Devices {
		shown = append(shown, fmt.Sprintf("%s %s %s, checked %v", d.Role, d.Driver, d.State, d.LastChecked != nil))
	}
	if d := cmp.Diff([]string{"Power ipmi PoweredOn, checked true", "Network ec2-network PoweredOn, checked true"}, shown); d != "" || ft.Status.Devices[1].Identity != cloudID(0) {
		t.Error(d, ft.Status.Devices)
	}
	w.columns("node-5", "NAME DEVICE IDENTITY FENCEABLE REASON", "node-5", w.storageOf("node-5"), nil, "True", api.DeviceAnswers)

	c.cutBy(node(1), "net", c.method(0, cloudID(0), cloudID(1), "cloud-node-0", "cloud-node-1"))
	c.password(2, cloudSecret)
	c.cutBy(node(3), "net", c.method(0, cloudID(0), cloudID(3), "cloud-node-0", "cloud-node-3"))
	c.Put(c.asUsersMadeIt(4))
	for i := range 6 {
		w.target(node(i), "True", api.DeviceAnswers, "")
	}
	w.unfenceable(p, nil)
	for _, a := range c.Actions() {
		if a.Name != "DescribeInstances" {
			t.Errorf("the cloud was told %+v", a)
		}
	}
}

// storageOf is the address of the storage of a node that has no other device.
func (w *world) storageOf(node string) string {
	w.t.Helper()
	ft, err := w.Fences.Target(w.ctx, node)
	must(w.t, err)
	return ft.Status.Devices[0].Address
}

func (c *cloudNetwork) password(i int, secret string) {
	c.t.Helper()
	all := c.Kube.CoreV1().Secrets("nodefence-devices")
	s, err := all.Get(c.ctx, "cloud-"+node(i), metav1.GetOptions{})
	must(c.t, err)
	s.Data = maps.Clone(s.Data)
	s.Data["secret_key"] = []byte(secret)
	_, err = all.Update(c.ctx, s, metav1.UpdateOptions{})
	must(c.t, err)
}

// method is a node's method, changed.
func (c *cloudNetwork) method(i int, change ...string) string {
	c.t.Helper()
	own, err := c.Kube.CoreV1().ConfigMaps("nodefence-system").Get(c.ctx, "fence-config-node-"+node(i), metav1.GetOptions{})
	must(c.t, err)
	return strings.NewReplacer(change...).Replace(own.Data["fence-method-net"])
}

// storageAlone leaves a node with no device for its power, only one for its storage.
func (w *world) storageAlone(i int) {
	w.t.Helper()
	all := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	own, err := all.Get(w.ctx, "fence-config-node-"+node(i), metav1.GetOptions{})
	must(w.t, err)
	own.Data = map[string]string{
		"config.properties": "node_name=" + node(i) + "\nisolation=cordon ceph\nrecovery=uncordon\n",
		"fence-method-ceph": "agent_name=networkfence\ncidrs=10.0.0.7\ndriver=rbd.csi.example\ncluster_id=rook\nmust_success=yes\ncsi_drivers=rbd.csi.example\n",
	}
	_, err = all.Update(w.ctx, own, metav1.UpdateOptions{})
	must(w.t, err)
}
