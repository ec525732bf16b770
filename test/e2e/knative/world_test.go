package knative

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// limit bounds one test on a busy machine, a build of Knative included.
const limit = 15 * time.Minute

// cleanUp is time enough to end a lab and the programs.
const cleanUp = 30 * time.Second

// labPrefix and the test's process ID name a lab.
const labPrefix = "knative-"

// settle bounds how long Knative's controllers may take.
const settle = 3 * time.Minute

var labs atomic.Int64

// world is a lab with Knative Eventing in it.
type world struct {
	*rig.Cluster
	*plane.Plane
	t   *testing.T
	ctx context.Context
	dir string
	// env is set for each program that is deployed.
	env []string
	// client reaches Services, as a pod would.
	client *http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if err := plane.Missing(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline(t))
	t.Cleanup(cancel)
	must(t, endStaleLabs())
	c := newLab(ctx, t, 3)
	w := &world{Cluster: c, t: t, ctx: ctx, dir: logDir(t)}
	var err error
	w.Plane, err = plane.Up(ctx, c, plane.Options{Dir: w.dir, Progress: os.Stderr})
	must(t, err)
	t.Cleanup(w.Plane.Down)
	w.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{Proxy: http.ProxyURL(w.Proxy), MaxIdleConnsPerHost: 10}}
	return w
}

func newLab(ctx context.Context, t *testing.T, nodes int) *rig.Cluster {
	t.Helper()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("%s%d-%d", labPrefix, os.Getpid(), labs.Add(1)), Nodes: nodes})
	c.Config.WarningHandler = rest.NoWarnings{} // Knative still looks at Endpoints
	return c
}

// logDir is kept when the test fails.
func logDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "nodefence-knative-")
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of all programs: %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// deadline leaves time to clean up before Go's own, which ends all at once.
func deadline(t *testing.T) time.Time {
	own := time.Now().Add(limit)
	if d, ok := t.Deadline(); ok && d.Add(-cleanUp).Before(own) {
		return d.Add(-cleanUp)
	}
	return own
}

// endStaleLabs ends what an earlier run of these tests left because it was
// killed: labs of this name whose number is no process any more. All else of a
// run goes with its process.
func endStaleLabs() error {
	bin, err := rig.Bin("nodefence-lab")
	if err != nil {
		return err
	}
	out, err := exec.Command(bin, "list").Output()
	if err != nil {
		return fmt.Errorf("list labs: %w", err)
	}
	for l := range strings.Lines(string(out)) {
		var pid, n int
		name, _, _ := strings.Cut(l, " ")
		if _, err := fmt.Sscanf(name, labPrefix+"%d-%d", &pid, &n); err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		if out, err := exec.Command(bin, "down", "--name", name).CombinedOutput(); err != nil {
			return fmt.Errorf("end stale lab %s: %w: %s", name, err, out)
		}
	}
	return nil
}

var (
	brokers  = schema.GroupVersionResource{Group: "eventing.knative.dev", Version: "v1", Resource: "brokers"}
	triggers = schema.GroupVersionResource{Group: "eventing.knative.dev", Version: "v1", Resource: "triggers"}
)

// ready waits until Knative calls every object of a kind Ready.
func (w *world) ready(r schema.GroupVersionResource, namespace string, want int) {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	ctx, cancel := context.WithTimeout(w.ctx, settle)
	defer cancel()
	var last string
	err = rig.Until(ctx, fmt.Sprintf("%d %s of %s to be Ready", want, r.Resource, namespace), func() (bool, error) {
		list, err := dyn.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil
		}
		ready := 0
		last = ""
		for _, u := range list.Items {
			status, why := readyCondition(u)
			if status == "True" {
				ready++
			}
			last += fmt.Sprintf("%s: %s %s\n", u.GetName(), status, why)
		}
		return ready == want && len(list.Items) == want, nil
	})
	if err != nil {
		w.t.Fatalf("%v\n%s", err, last)
	}
}

func readyCondition(u unstructured.Unstructured) (status, why string) {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			return fmt.Sprint(m["status"]), fmt.Sprint(m["reason"], " ", m["message"])
		}
	}
	return "", "no condition Ready yet"
}

// through sends events of a type until a sink has got one. It is not enough that all objects
// are Ready: while its channel is not Ready the dispatcher leaves subscribers out, and still
// reports them as ready. An event of that moment is accepted and lost.
func (w *world) through(namespace, broker, eventType string, to *sink) {
	w.t.Helper()
	n := 0
	w.until("events of type "+eventType+" to get through", func() (bool, error) {
		n++
		err := w.send(namespace, broker, plain(fmt.Sprint(probe, n), eventType, "probe", "{}"))
		return err == nil && len(to.got()) > 0, nil
	})
}

// probe begins the ID of an event that only shows that the way is open.
const probe = "probe-"

// send posts an event to a broker as a pod would.
func (w *world) send(namespace, broker string, e event.Event) error {
	u := url.URL{Scheme: "http", Host: "broker-ingress." + plane.Namespace + ".svc.cluster.local", Path: "/" + namespace + "/" + broker}
	r, err := cehttp.NewHTTPRequestFromEvent(w.ctx, u.String(), e)
	if err != nil {
		return err
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return fmt.Errorf("post event %s: %w", e.ID(), err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("post event %s: %s %s", e.ID(), answer.Status, said)
	}
	return nil
}

// plain is an event about anything.
func plain(id, typ, subject, body string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetType(typ)
	e.SetSource("test")
	e.SetSubject(subject)
	_ = e.SetData(event.ApplicationJSON, []byte(body)) // bytes always encode
	return e
}

func (w *world) until(what string, ok func() (bool, error)) {
	w.t.Helper()
	must(w.t, rig.Until(w.ctx, what, ok))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
