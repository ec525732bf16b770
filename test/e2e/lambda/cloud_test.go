package lambda

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/kube"
)

// ec2 is the cloud whose instances the lab's machines are.
type ec2 struct {
	*ec2test.Cloud
	nodes map[string]string // by instance
	// cut, if set, ends a connection in mid-request: before the request has had
	// its effect, after it, or not at all.
	cut func(action, node string) when

	mu sync.Mutex
	// asked counts requests that arrived, also those that were cut.
	asked map[string]int
}

type when int

const (
	never when = iota
	before
	after
)

// instance is the ID of a node's: node-3 is i-…3.
func instance(node string) string {
	return fmt.Sprintf("i-%017s", strings.TrimPrefix(node, "node-"))
}

// cloud makes every machine of the lab an instance, as a cloud's own controller
// says it in the Node, and waits until that was enrolled.
func (w *world) cloud() *ec2 {
	w.t.Helper()
	c := &ec2{Cloud: &ec2test.Cloud{StopTakes: 2 * time.Second, StartTakes: time.Second}, nodes: map[string]string{}, asked: map[string]int{}}
	machines, err := w.Lab.Machines()
	must(w.t, err)
	for node := range machines {
		id := instance(node)
		c.nodes[id] = node
		c.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: "eu-central-1a"})
		patch := fmt.Appendf(nil, `{"spec":{"providerID":"aws:///eu-central-1a/%s"}}`, id)
		_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		must(w.t, err)
	}
	c.OnStop = func(id string) { w.switched(c.nodes[id], "power-loss") }
	c.OnStart = func(id string) { w.switched(c.nodes[id], "power-on") }
	server := httptest.NewServer(c)
	w.t.Cleanup(func() {
		server.Close()
		c.Settle() // what is on its way needs the lab's machines
	})
	w.aws["AWS_ENDPOINT_URL_EC2"] = server.URL
	return c
}

// enrolled waits until the source has written down which node is which instance.
func (w *world) enrolled(c *ec2) {
	w.t.Helper()
	w.until("every instance to be enrolled", func() (bool, error) {
		for id, node := range c.nodes {
			cm, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName(node), metav1.GetOptions{})
			if err != nil || !strings.HasSuffix(cm.Data["provider_id"], id) {
				return false, nil
			}
		}
		return true, nil
	})
}

func (w *world) switched(node, verb string) {
	if err := w.Lab.Node(node, verb); err != nil {
		w.t.Errorf("%s %s: %v", node, verb, err)
	}
}

// ServeHTTP passes requests on to the cloud, or cuts them.
func (c *ec2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	form, _ := url.ParseQuery(string(body))
	action, node := form.Get("Action"), c.nodes[form.Get("InstanceId.1")]
	c.mu.Lock()
	c.asked[action+" "+node]++
	c.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r = r.WithContext(context.WithoutCancel(r.Context()))
	cut := never
	if c.cut != nil {
		cut = c.cut(action, node)
	}
	switch cut {
	case before:
		panic(http.ErrAbortHandler)
	case after:
		c.Cloud.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	c.Cloud.ServeHTTP(w, r)
}

// switches are the commands that an instance has carried out.
func (c *ec2) switches(node string) string {
	var all []string
	for _, a := range c.Actions() {
		if a.Instance == instance(node) && a.Name != "DescribeInstances" && a.Refused == "" {
			all = append(all, a.Name)
		}
	}
	return strings.Join(all, " ")
}

// requests is how many of one kind arrived, also those that were cut.
func (c *ec2) requests(action, node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[action+" "+node]
}
